"""The requester's side of Mechanical Turk: HITs, assignments and payments, through boto3.

botocore checks every request against its own model of the service before sending it. The keys are
passed to boto3 only and appear in no message. No botocore error is chained to ours, because some
of them quote the keys.
"""

import re
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from datetime import UTC, datetime, timedelta
from decimal import Decimal
from html import escape
from importlib import import_module
from typing import Any
from urllib.parse import urlsplit

from recruitment.platforms.base import PlatformReport, SubmissionStatus
from recruitment.platforms.errors import PlatformError

XMLNS = (
    "http://mechanicalturk.amazonaws.com/"
    "AWSMechanicalTurkDataSchemas/2006-07-14/ExternalQuestion.xsd"
)
REGION = "us-east-1"
FRAME_HEIGHT = 800
AUTO_APPROVAL = timedelta(days=7)
CONNECT_TIMEOUT = timedelta(seconds=5)
READ_TIMEOUT = timedelta(seconds=30)
ATTEMPTS = 4
PAGE_SIZE = 100

# A fixed time in the past expires a HIT immediately, whatever the clocks on either side say.
LONG_AGO = datetime(2015, 1, 1, tzinfo=UTC)


STATUSES = {
    "Submitted": SubmissionStatus.SUBMITTED,
    "Approved": SubmissionStatus.APPROVED,
    "Rejected": SubmissionStatus.REJECTED,
}


class MTurkError(PlatformError):
    """Mechanical Turk did not do what it was asked."""


class HandledBefore(MTurkError):
    """A request with this token was handled before; check its result instead of repeating it."""


class MTurkClient:
    """One requester's account at one endpoint."""

    def __init__(
        self, *, endpoint_url: str, access_key: str, secret_key: str, client: Any = None
    ) -> None:
        """Open no connection yet; `client` replaces the boto3 client, in tests."""
        self._endpoint = endpoint_url
        self._secrets = tuple(key for key in (access_key, secret_key) if key)
        self._client = client or _connect(endpoint_url, access_key, secret_key)

    def __repr__(self) -> str:
        return f"MTurkClient(host={urlsplit(self._endpoint).hostname!r})"

    def create_hit(
        self,
        *,
        title: str,
        description: str,
        keywords: str,
        reward: Decimal,
        max_assignments: int,
        lifetime: timedelta,
        duration: timedelta,
        entry_url: str,
        token: str,
    ) -> str:
        """Publish a HIT that shows `entry_url` in a frame, and return its ID.

        `keywords` are separated by commas. Requests that time out are repeated with one `token`,
        which creates one HIT only; pass the same token to repeat the request within 24 hours.
        """
        response = self._call(
            "create_hit",
            Title=title,
            Description=description,
            Keywords=keywords,
            Reward=_dollars(reward),
            MaxAssignments=max_assignments,
            LifetimeInSeconds=_seconds(lifetime),
            AssignmentDurationInSeconds=_seconds(duration),
            AutoApprovalDelayInSeconds=_seconds(AUTO_APPROVAL),
            Question=external_question(entry_url),
            UniqueRequestToken=token,
        )
        with _expecting_fields():
            return str(response["HIT"]["HITId"])

    def assignments(self, hit_id: str) -> Iterator[PlatformReport]:
        """Yield every submitted assignment of the HIT, including approved and rejected ones."""
        with self._translated():
            paginator = self._client.get_paginator("list_assignments_for_hit")
            pages = paginator.paginate(HITId=hit_id, PaginationConfig={"PageSize": PAGE_SIZE})
            for page in pages:
                yield from [_read_assignment(item) for item in page.get("Assignments", [])]

    def approve(self, assignment_id: str) -> None:
        """Pay the reward. Refused if the assignment was already approved or rejected."""
        self._call("approve_assignment", AssignmentId=assignment_id)

    def reject(self, assignment_id: str, reason: str) -> None:
        """Reject the assignment without payment, and tell the worker why."""
        self._call("reject_assignment", AssignmentId=assignment_id, RequesterFeedback=reason)

    def bonus(
        self, worker: str, assignment_id: str, amount: Decimal, reason: str, token: str
    ) -> None:
        """Pay the worker a bonus, once for each `token` of up to 64 characters.

        A token that was used in the last 24 hours raises `HandledBefore`; the caller has to find
        out whether the first request paid.
        """
        dollars = _dollars(amount)
        if amount == 0:
            raise MTurkError("mturk_amount", "A bonus must be at least $0.01, not 0.", status=400)
        self._call(
            "send_bonus",
            WorkerId=worker,
            AssignmentId=assignment_id,
            BonusAmount=dollars,
            Reason=reason,
            UniqueRequestToken=token,
        )

    def expire(self, hit_id: str) -> None:
        """Offer the HIT to no further workers. Those who accepted it may still submit."""
        # The service identifies the request by HIT and time, so a HIT may have expired before.
        with suppress(HandledBefore):
            self._call("update_expiration_for_hit", HITId=hit_id, ExpireAt=LONG_AGO)

    def _call(self, operation: str, **parameters: Any) -> Any:
        with self._translated():
            return getattr(self._client, operation)(**parameters)

    @contextmanager
    def _translated(self) -> Iterator[None]:
        botocore: Any = import_module("botocore.exceptions")
        try:
            yield
        except botocore.ClientError as error:
            raise _refusal(error.response, self._secrets) from None
        except botocore.BotoCoreError as error:
            raise _failure(error, botocore) from None


def external_question(entry_url: str) -> str:
    """Return the XML document that makes the platform show an address in a frame."""
    is_plain = entry_url.isprintable() and " " not in entry_url
    if urlsplit(entry_url).scheme not in {"http", "https"} or not is_plain:
        raise MTurkError(
            "mturk_entry_url",
            "The entry address must be an http or https URL without spaces or control characters.",
            status=400,
        )
    return (
        '<?xml version="1.0" encoding="UTF-8"?>'
        f'<ExternalQuestion xmlns="{XMLNS}">'
        f"<ExternalURL>{escape(entry_url, quote=False)}</ExternalURL>"
        f"<FrameHeight>{FRAME_HEIGHT}</FrameHeight>"
        "</ExternalQuestion>"
    )


def _connect(endpoint_url: str, access_key: str, secret_key: str) -> Any:
    boto3: Any = import_module("boto3.session")
    config: Any = import_module("botocore.config")
    exceptions: Any = import_module("botocore.exceptions")
    options = config.Config(
        connect_timeout=CONNECT_TIMEOUT.total_seconds(),
        read_timeout=READ_TIMEOUT.total_seconds(),
        retries={"mode": "standard", "total_max_attempts": ATTEMPTS},
    )
    try:
        return boto3.Session().client(
            "mturk",
            endpoint_url=endpoint_url,
            region_name=REGION,
            aws_access_key_id=access_key,
            aws_secret_access_key=secret_key,
            config=options,
        )
    except (ValueError, exceptions.BotoCoreError):  # a bad address, or another setting
        raise MTurkError(
            "mturk_settings",
            "The address or region of Mechanical Turk is not valid. Ask the server's administrator to"
            " correct the settings.",
            status=400,
        ) from None


def _read_assignment(item: Any) -> PlatformReport:
    submitted_at = item.get("SubmitTime")
    with _expecting_fields():
        return PlatformReport(
            submission_id=item["AssignmentId"],
            external_id=item["WorkerId"],
            status=item["AssignmentStatus"],
            submission_status=STATUSES.get(item["AssignmentStatus"], SubmissionStatus.UNKNOWN),
            completed_at=submitted_at and submitted_at.astimezone(UTC),
        )


@contextmanager
def _expecting_fields() -> Iterator[None]:
    """Check that fields exist: another server at this address might answer 200 to anything."""
    try:
        yield
    except KeyError:
        raise MTurkError(
            "mturk_answer",
            "Mechanical Turk sent an answer that cannot be read. Ask the server's administrator to"
            " check the platform's address.",
            may_be_done=True,
        ) from None


def _dollars(amount: Decimal) -> str:
    dollars = f"{amount:.2f}"
    if not amount.is_finite() or amount < 0 or Decimal(dollars) != amount:
        raise MTurkError(
            "mturk_amount",
            f"An amount must be in whole cents and at least 0, not {amount}.",
            status=400,
        )
    return dollars


def _seconds(length: timedelta) -> int:
    return int(length.total_seconds())


BUSY = {"ServiceFault", "InternalFailure", "ServiceUnavailable", "RequestTimeout"}
UNKNOWN_KEYS = {
    "AccessDeniedException",
    "IncompleteSignature",
    "InvalidClientTokenId",
    "InvalidSignatureException",
    "MissingAuthenticationToken",
    "MissingAuthenticationTokenException",
    "OptInRequired",
    "SignatureDoesNotMatch",
    "UnrecognizedClientException",
}
REPEATED = re.compile(r"already been processed|HITAlreadyExists|DuplicateCall", re.IGNORECASE)


def _refusal(response: Any, secrets: tuple[str, ...]) -> MTurkError:
    error = response.get("Error", {})
    code = str(error.get("Code", ""))
    status = int(response.get("ResponseMetadata", {}).get("HTTPStatusCode") or 400)
    if status >= 500 or status == 429 or code in BUSY or "Throttl" in code:
        return MTurkError(
            "mturk_busy",
            "Mechanical Turk is busy. Please try again in a few minutes.",
            status=503,
            is_retryable=True,
            # boto3 repeats requests by itself, so an earlier one may have been carried out.
            may_be_done=True,
        )
    if code in UNKNOWN_KEYS:
        return MTurkError(
            "mturk_keys",
            "Mechanical Turk did not accept the keys. Check them on the recruitment page.",
        )
    detail = _without(str(error.get("Message") or code), secrets)
    sentence = f"Mechanical Turk refused the request: {detail}"
    if REPEATED.search(f"{response.get('TurkErrorCode')} {detail}"):
        return HandledBefore("mturk_refused", sentence, may_be_done=True)
    return MTurkError("mturk_refused", sentence)


def _failure(error: Exception, botocore: Any) -> MTurkError:
    """Return the error for a request that got no answer or that botocore did not send."""
    if isinstance(error, botocore.SSLError):
        return MTurkError(
            "mturk_unreachable",
            "The TLS certificate at Mechanical Turk's address is not valid. Ask the server's"
            " administrator to check the address.",
        )
    if isinstance(error, (botocore.HTTPClientError, botocore.ConnectionError)):
        return MTurkError(
            "mturk_unreachable",
            "Mechanical Turk did not answer, so it is unknown whether the request was carried out."
            " Please try again in a few minutes.",
            status=503,
            is_retryable=True,
            may_be_done=True,
        )
    return MTurkError(
        "mturk_request",
        f"The request to Mechanical Turk could not be made ({type(error).__name__})."
        " Check the values and the channel's settings.",
        status=400,
    )


def _without(text: str, secrets: tuple[str, ...]) -> str:
    """Return the text on one line of at most 300 characters, with all keys hidden."""
    for secret in secrets:
        text = text.replace(secret, "[hidden]")
    return " ".join(text.split())[:300]
