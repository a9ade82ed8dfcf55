"""The researcher's side of Prolific's API: studies, submissions, payments and webhooks.

The token grants full access and never expires. It is therefore passed to httpx only and appears in
no message or repr. No httpx error is chained to ours, because httpx errors contain the request.
"""

import re
import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from decimal import Decimal
from functools import cache
from itertools import count
from ssl import SSLContext
from typing import Any, Self, TypeVar

import httpx
from tenacity import (
    RetryCallState,
    Retrying,
    retry_if_exception,
    stop_after_attempt,
    wait_exponential,
    wait_random,
)

from recruitment.platforms.base import OfferedFilter
from recruitment.platforms.errors import PlatformError
from recruitment.platforms.prolific.errors import (
    MOVED,
    REFUSALS,
    detail_of,
    overloaded,
    unclear,
    unreachable,
)
from recruitment.platforms.prolific.responses import (
    Data,
    ProlificSubmission,
    StudyState,
    read_count,
    read_filter,
    read_id,
    read_object,
    read_rows,
    read_study,
    read_submission,
    read_subscription_id,
    read_text,
)
from tiebreak.errors import DomainError

BASE_URL = "https://api.prolific.com/api/v1/"
PAGE_SIZE = 100
APPROVAL_LIMIT = 1000
BONUS_LIMIT = 200
# The documented statuses of a study after each action.
OUTCOMES = {
    "PUBLISH": ("PUBLISHING", "ACTIVE"),
    "PAUSE": ("PAUSED",),
    "START": ("ACTIVE",),
    "STOP": ("COMPLETED", "AWAITING REVIEW"),
}
# What of a draft decides where people come from and what they are paid with: it stays.
FIXED = {"external_study_url", "completion_codes", "total_available_places", "internal_name"}
# If Retry-After exceeds this, fail the request instead of sleeping.
MAX_PAUSE_S = 30.0

T = TypeVar("T")


class ProlificClient:
    """One Prolific account. Every method raises `PlatformError` if the request fails."""

    def __init__(
        self,
        token: str,
        *,
        base_url: str = BASE_URL,
        attempts: int = 4,
        timeout_s: float = 10.0,
        wait: Callable[[RetryCallState], float] | None = None,
        sleep: Callable[[float], None] = time.sleep,
    ) -> None:
        """Open no connection yet; `wait` and `sleep` are tenacity's, between the attempts."""
        if not re.fullmatch(r"[!-~]+", token):
            raise DomainError(
                "bad_token",
                "The token contains spaces or other characters that no Prolific token has. Please"
                " copy it again from Prolific's settings.",
                status=400,
            )
        self._token = token
        self._attempts = attempts
        self._wait = wait or wait_exponential(multiplier=0.5, max=20) + wait_random(0, 1)
        self._sleep = sleep
        self._http = httpx.Client(
            base_url=base_url,
            headers={"Authorization": f"Token {token}", "Accept": "application/json"},
            timeout=httpx.Timeout(timeout_s, connect=min(timeout_s, 5.0)),
            follow_redirects=False,
            verify=_certificates(),
        )

    def __repr__(self) -> str:
        return f"ProlificClient(base_url={str(self._http.base_url)!r})"

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self._http.close()

    def check_token(self) -> None:
        """Raise `PlatformError` unless Prolific accepts the token."""
        self._ask(read_id, "GET", "users/me/")

    def filters(self, workspace_id: str) -> list[OfferedFilter]:
        """Return the filters by which participants can be chosen."""
        params = {"workspace_id": _checked(workspace_id)} if workspace_id else None

        def reader(data: Data) -> list[OfferedFilter]:
            return [read_filter(row) for row in read_rows(data)]

        return self._ask(reader, "GET", "filters/", params=params)

    def count_eligible(self, filters: Sequence[Data], workspace_id: str) -> int:
        """Return how many participants pass all filters; Prolific says 0 for fewer than 25."""
        body: Data = {"filters": list(filters)}
        body |= {"workspace_id": _checked(workspace_id)} if workspace_id else {}
        return self._ask(read_count, "POST", "eligibility-count/", json=body)

    def create_test_participant(self, email: str) -> str:
        """Create a participant who takes part in test studies only, and return their ID."""
        return self._ask(
            lambda data: read_text(data, "participant_id"),
            "POST",
            "researchers/participants/",
            json={"email": email},
            is_repeatable=False,
        )

    def test_study(self, study_id: str) -> tuple[str, str]:
        """Publish a copy of a draft to test participants, and return its ID and address."""
        return self._ask(
            lambda data: (read_text(data, "study_id"), read_text(data, "study_url")),
            "POST",
            f"studies/{_checked(study_id)}/test-study",
            is_repeatable=False,
        )

    def update_draft(self, study_id: str, draft: Data) -> StudyState:
        """Change what participants are told about an unpublished study, and who may take part."""
        return self._patch(
            study_id, {name: value for name, value in draft.items() if name not in FIXED}
        )

    def create_study(self, draft: Data) -> StudyState:
        """Create an unpublished study. Not repeated if the first request may have created one."""
        return self._ask(read_study, "POST", "studies/", json=draft, is_repeatable=False)

    def study(self, study_id: str) -> StudyState:
        return self._ask(read_study, "GET", f"studies/{_checked(study_id)}/")

    def transition_study(self, study_id: str, action: str) -> StudyState:
        """PUBLISH, PAUSE, START or STOP a study, unless it already has that status.

        A repeated request therefore succeeds if the first did and only its response was lost.
        """
        if action not in OUTCOMES:
            known = ", ".join(OUTCOMES)
            raise DomainError(
                "unknown_action",
                f"An action on a study must be one of {known}; this is “{action}”.",
            )
        path = f"studies/{_checked(study_id)}/transition/"
        try:
            return self._ask(read_study, "POST", path, json={"action": action})
        except PlatformError as refusal:
            if refusal.platform_status != httpx.codes.BAD_REQUEST:
                raise
            state = self.study(study_id)
            if state.status not in OUTCOMES[action]:
                raise
            return state

    def increase_places(self, study_id: str, total: int) -> StudyState:
        """Set the number of places, which can only increase."""
        state = self.study(study_id)
        if total < state.total_places:
            raise DomainError(
                "fewer_places",
                f"The study has {state.total_places} places on Prolific, and their number can only"
                " increase. Stop the study if you need no more participants.",
            )
        if total == state.total_places:
            return state
        return self._patch(study_id, {"total_available_places": total})

    def _patch(self, study_id: str, changes: Data) -> StudyState:
        return self._ask(read_study, "PATCH", f"studies/{_checked(study_id)}/", json=changes)

    def submissions(self, study_id: str) -> Iterator[ProlificSubmission]:
        """Yield every submission of a study once, oldest first.

        Pages are requested until one contains nothing new, because the documentation defines no
        last page.
        """
        _checked(study_id)
        seen: set[str] = set()
        for page in count(1):
            new = [row for row in self._page(study_id, page) if row.submission_id not in seen]
            if not new:
                return
            seen.update(row.submission_id for row in new)
            yield from new

    def _page(self, study_id: str, page: int) -> list[ProlificSubmission]:
        params = {
            "study": study_id,
            "ordering": "started_at",
            "page": str(page),
            "page_size": str(PAGE_SIZE),
        }
        try:
            return self._ask(
                lambda data: [read_submission(row, study_id) for row in read_rows(data)],
                "GET",
                "submissions/",
                params=params,
            )
        except PlatformError as error:
            if page > 1 and error.platform_status == httpx.codes.NOT_FOUND:
                return []
            raise

    def submission(self, submission_id: str) -> ProlificSubmission:
        return self._ask(read_submission, "GET", f"submissions/{_checked(submission_id)}/")

    def approve(self, ids: Sequence[str]) -> None:
        """Approve submissions, which pays them; Prolific processes this asynchronously."""
        checked = [_checked(submission_id) for submission_id in ids]
        for start in range(0, len(checked), APPROVAL_LIMIT):
            body = {"submission_ids": checked[start : start + APPROVAL_LIMIT]}
            self._send("POST", "submissions/bulk-approve/", json=body)

    def reject(self, submission_id: str, message: str, category: str) -> ProlificSubmission:
        """Reject a submission without payment, with a message to the participant."""
        return self._transition(
            submission_id, {"action": "REJECT", "message": message, "rejection_category": category}
        )

    def screen_out(self, submission_id: str, completion_code: str) -> ProlificSubmission:
        """Screen the participant out, with the study's code for this."""
        return self._transition(
            submission_id, {"action": "SCREEN_OUT", "completion_code": completion_code}
        )

    def _transition(self, submission_id: str, body: Data) -> ProlificSubmission:
        path = f"submissions/{_checked(submission_id)}/transition/"
        return self._ask(read_submission, "POST", path, json=body)

    def request_return(self, submission_id: str, reasons: Sequence[str]) -> None:
        """Ask the participant to return the submission; a repeated request asks them again."""
        path = f"submissions/{_checked(submission_id)}/request-return/"
        body = {"request_return_reasons": list(reasons)}
        self._send("POST", path, json=body, is_repeatable=False)

    def create_bonuses(self, study_id: str, amounts: Mapping[str, Decimal]) -> str:
        """Set up bonuses by submission or participant, in the study's currency. Return their ID.

        Nothing is paid yet. Store the ID before paying: paying it twice pays people twice.
        """
        if not 0 < len(amounts) <= BONUS_LIMIT:
            raise DomainError(
                "bonus_limit",
                f"One request can set up bonuses for 1 to {BONUS_LIMIT} people; this one is for"
                f" {len(amounts)}. Please split the list.",
                status=400,
            )
        lines = [f"{_checked(id_)},{_money(amount)}" for id_, amount in amounts.items()]
        body = {"study_id": _checked(study_id), "csv_bonuses": "\n".join(lines) + "\n"}
        path = "submissions/bonus-payments/"
        return self._ask(read_id, "POST", path, json=body, is_repeatable=False)

    def pay_bonuses(self, bulk_id: str) -> None:
        """Pay the bonuses set up by `create_bonuses`. Every call pays again."""
        path = f"bulk-bonus-payments/{_checked(bulk_id)}/pay/"
        self._send("POST", path, is_repeatable=False)

    def create_secret(self, workspace_id: str) -> str:
        """Create the secret that signs the workspace's webhooks, replacing the previous one."""
        body = {"workspace_id": workspace_id}
        return self._ask(lambda data: read_text(data, "value"), "POST", "hooks/secrets/", json=body)

    def subscribe(self, workspace_id: str, event_type: str, target_url: str) -> str:
        """Subscribe an address to a type of events, confirm that, and return the subscription's ID.

        Prolific sends no event before it is confirmed, with a secret of the first answer.
        """
        body: Data = {
            "workspace_id": workspace_id,
            "event_type": event_type,
            "target_url": target_url,
        }
        response = self._send("POST", "hooks/subscriptions/", json=body, is_repeatable=False)
        subscription_id = _read(response, lambda data: read_subscription_id(data, body), False)
        self.confirm_subscription(subscription_id, response.headers.get("X-Hook-Secret", ""))
        return subscription_id

    def confirm_subscription(self, subscription_id: str, hook_secret: str) -> None:
        path = f"hooks/subscriptions/{_checked(subscription_id)}/"
        self._send("POST", path, json={"secret": hook_secret})

    def _ask(
        self,
        reader: Callable[[Data], T],
        method: str,
        path: str,
        *,
        is_repeatable: bool = True,
        **content: Any,
    ) -> T:
        response = self._send(method, path, is_repeatable=is_repeatable, **content)
        return _read(response, reader, is_repeatable)

    def _send(
        self, method: str, path: str, *, is_repeatable: bool = True, **content: Any
    ) -> httpx.Response:
        """Send a request whose content httpx is given: its `json` or `params`."""
        retrying = Retrying(
            retry=retry_if_exception(_may_repeat),
            stop=stop_after_attempt(self._attempts),
            wait=self._pause,
            sleep=self._sleep,
            reraise=True,
        )
        request = self._http.build_request(method, path, **content)
        return retrying(self._attempt, request, is_repeatable)

    def _attempt(self, request: httpx.Request, is_repeatable: bool) -> httpx.Response:
        try:
            response = self._http.send(request)
        except (httpx.ConnectError, httpx.ConnectTimeout, httpx.PoolTimeout):
            failure: PlatformError | None = unreachable()
        except httpx.HTTPError:
            failure = unclear("platform_unanswered", "Prolific did not answer.", is_repeatable)
        else:
            failure = self._failure(response, is_repeatable)
        if failure is not None:
            raise failure
        return response

    def _pause(self, state: RetryCallState) -> float:
        error = state.outcome.exception() if state.outcome else None
        retry_after_s = error.retry_after_s if isinstance(error, PlatformError) else 0.0
        return max(retry_after_s, float(self._wait(state)))

    def _failure(self, response: httpx.Response, is_repeatable: bool) -> PlatformError | None:
        if response.is_success:
            return None
        status = response.status_code
        if status == httpx.codes.TOO_MANY_REQUESTS or response.is_server_error:
            return overloaded(response, is_repeatable)
        if response.is_redirect:
            return PlatformError(*MOVED, platform_status=status)
        code, sentence = REFUSALS.get(status, ("platform_refused", "Prolific refused the request."))
        if status not in REFUSALS:
            sentence = self._quote(response) or sentence
        return PlatformError(code, sentence, platform_status=status)

    def _quote(self, response: httpx.Response) -> str:
        detail = " ".join(detail_of(response).replace(self._token, "…").split())[:300].rstrip(".")
        return (
            detail and f"Prolific refused the request: {detail}. Please correct it and try again."
        )


@cache
def _certificates() -> SSLContext:
    """Return what certificates are checked by, which takes longer to read than a request to send."""
    return httpx.create_ssl_context()


def _may_repeat(error: BaseException) -> bool:
    return (
        isinstance(error, PlatformError)
        and error.is_retryable
        and error.retry_after_s <= MAX_PAUSE_S
    )


def _checked(platform_id: str) -> str:
    """Check an ID, because it may come from a made-up URL and goes into paths and CSV."""
    if not re.fullmatch(r"[A-Za-z0-9_-]{1,64}", platform_id):
        raise DomainError(
            "bad_platform_id",
            f"“{platform_id[:64]}” is not a Prolific ID. An ID has 1 to 64 letters, digits,"
            " hyphens or underscores.",
            status=400,
        )
    return platform_id


def _money(amount: Decimal) -> str:
    if not (amount.is_finite() and amount > 0 and amount == round(amount, 2)):
        raise DomainError(
            "bad_amount",
            f"A bonus must be greater than 0 and have at most two decimals; this one is {amount}.",
            status=400,
        )
    return f"{amount:.2f}"


def _read(response: httpx.Response, reader: Callable[[Data], T], is_repeatable: bool) -> T:
    try:
        return reader(read_object(response.json()))
    except (ValueError, RecursionError):
        pass
    sentence = "Prolific sent an answer that cannot be read."
    raise unclear("platform_nonsense", sentence, is_repeatable, response.status_code)
