"""Errors of platforms, with what a refusal or a missing answer means for the caller."""

from tiebreak.errors import DomainError


class PlatformError(DomainError):
    """A platform did not do what it was asked, or did not say that it did.

    `is_retryable`: the same request may succeed later and does no harm if it is repeated.
    `may_be_done`: the request may have arrived, but its result is unknown; check a payment on the
    platform before repeating it. `platform_status` is the platform's HTTP status, None if it did
    not answer; `retry_after_s` is the pause that it asked for.
    """

    def __init__(
        self,
        code: str,
        message: str,
        *,
        status: int = 502,
        is_retryable: bool = False,
        may_be_done: bool = False,
        platform_status: int | None = None,
        retry_after_s: float = 0.0,
    ) -> None:
        super().__init__(code, message, status=status)
        self.is_retryable = is_retryable
        self.may_be_done = may_be_done
        self.platform_status = platform_status
        self.retry_after_s = retry_after_s


class NotConfirmedYet(DomainError):
    """The signing key of a link is unknown, and a worker has to fetch the keys first.

    Until then nobody is admitted, and the IDs in the link are not looked up. See
    `Platform.renew_keys`.
    """

    def __init__(self) -> None:
        super().__init__(
            "entry_not_confirmed_yet",
            "Your link is being checked. Please open the study from the platform again in a"
            " minute.",
            status=503,
        )
