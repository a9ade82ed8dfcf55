"""What a platform's refusal or silence means for the one who asked."""

from tiebreak.errors import DomainError


class PlatformError(DomainError):
    """A platform did not do what it was asked, or did not say that it did.

    `is_retryable`: the same request may succeed later and does no harm if it is made again.
    `may_be_done`: it arrived, or may have, and nobody said what came of it. Of money that means:
    look it up before asking again. `platform_status` is the platform's own HTTP status, None if it
    did not answer; `retry_after_s` how long it asked to be left alone.
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
    """The signing key is unknown here until a worker has fetched the keys: `Provider.renew_keys`.

    Until then nobody is let in, and nothing is looked up by what the link says.
    """

    def __init__(self) -> None:
        super().__init__(
            "entry_not_confirmed_yet",
            "Your link is being checked. Please open the study from the platform once more in a"
            " minute.",
            status=503,
        )
