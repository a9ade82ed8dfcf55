"""The researcher's side of Prolific: studies, submissions, payments and hooks, over HTTP.

The token has full power and never expires: it goes to httpx and stands in no message and no repr,
and no httpx error is chained to ours, because those carry the request.
"""

import re
import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from datetime import UTC, datetime
from decimal import Decimal
from email.utils import parsedate_to_datetime
from itertools import count
from math import ceil, isfinite, sqrt
from types import TracebackType
from typing import Self, TypeVar

import httpx
from tenacity import (
    RetryCallState,
    Retrying,
    retry_if_exception,
    stop_after_attempt,
    wait_exponential,
    wait_random,
)

from annotation.crowd.errors import PlatformError
from studies.errors import DomainError

BASE_URL = "https://api.prolific.com/api/v1/"
PAGE_SIZE = 100
APPROVAL_LIMIT = 1000
BONUS_LIMIT = 200
REJECTION_LENGTH = 100
REJECTION_CATEGORIES = frozenset(
    {
        "TOO_QUICKLY",
        "TOO_SLOWLY",
        "FAILED_INSTRUCTIONS",
        "INCOMP_LONGITUDINAL",
        "FAILED_CHECK",
        "LOW_EFFORT",
        "MALINGERING",
        "NO_CODE",
        "BAD_CODE",
        "NO_DATA",
        "UNSUPP_DEVICE",
        "OTHER",
    }
)
# What a study may be once the action is done, as far as Prolific documents it.
OUTCOMES = {
    "PUBLISH": ("PUBLISHING", "ACTIVE"),
    "PAUSE": ("PAUSED",),
    "START": ("ACTIVE",),
    "STOP": ("COMPLETED", "AWAITING REVIEW"),
}
# Whoever is told to wait longer is not kept: the caller gets the error, with the time.
LONGEST_PAUSE_S = 30.0

Data = dict[str, object]
T = TypeVar("T")


@dataclass(frozen=True)
class Submission:
    """One participant's turn; `status` is Prolific's word as it came, known to us or not."""

    id: str
    participant: str
    study: str
    status: str
    entered_code: str | None = None
    started_at: datetime | None = None
    completed_at: datetime | None = None
    time_taken_s: float | None = None


@dataclass(frozen=True)
class StudyState:
    """What Prolific says of a study; `places_taken` is None where it does not say."""

    id: str
    status: str
    total_places: int
    places_taken: int | None = None


@dataclass(frozen=True)
class Subscription:
    """A hook, and the secret that confirms it."""

    id: str
    hook_secret: str = field(repr=False)


@dataclass(frozen=True)
class CompletionCode:
    """A code, what it sets off, and who may enter it; `options` are what the action needs."""

    code: str
    code_type: str
    action: str = "MANUALLY_REVIEW"
    actor: str = "participant"
    options: Mapping[str, str | int] = field(default_factory=dict)

    def payload(self) -> Data:
        return {
            "code": self.code,
            "code_type": self.code_type,
            "actions": [{"action": self.action, **self.options}],
            "actor": self.actor,
        }


@dataclass(frozen=True, kw_only=True)
class StudyDraft:
    """A study to be made: times in minutes, the reward in pence or cents."""

    name: str
    internal_name: str
    description: str
    external_study_url: str
    completion_codes: Sequence[CompletionCode]
    estimated_completion_time: int
    maximum_allowed_time: int
    reward: int
    total_available_places: int
    prolific_id_option: str = "url_parameters"
    is_external_study_url_secure: bool = False
    device_compatibility: Sequence[str] = ()
    peripheral_requirements: Sequence[str] = ()
    content_warnings: Sequence[str] = ()
    content_warning_details: str = ""
    filters: Sequence[Mapping[str, object]] = ()
    project: str = ""
    metadata: str = ""

    def payload(self) -> Data:
        """The body that creates the study; what was left empty and is optional is not sent."""
        always = {
            "name": self.name,
            "internal_name": self.internal_name,
            "description": self.description,
            "external_study_url": self.external_study_url,
            "prolific_id_option": self.prolific_id_option,
            "is_external_study_url_secure": self.is_external_study_url_secure,
            "completion_codes": [code.payload() for code in self.completion_codes],
            "estimated_completion_time": self.estimated_completion_time,
            "maximum_allowed_time": self.maximum_allowed_time,
            "reward": self.reward,
            "total_available_places": self.total_available_places,
            "device_compatibility": list(self.device_compatibility),
            "peripheral_requirements": list(self.peripheral_requirements),
            "filters": [dict(one) for one in self.filters],
        }
        optional = {
            "content_warnings": list(self.content_warnings),
            "content_warning_details": self.content_warning_details,
            "project": self.project,
            "metadata": self.metadata,
        }
        return always | {name: value for name, value in optional.items() if value}


def maximum_allowed_minutes(estimated: int) -> int:
    """The least `maximum_allowed_time` that Prolific accepts for an estimate in minutes."""
    return ceil(2 + 2 * estimated + 2 * sqrt(estimated))


class ProlificClient:
    """One account. Every method raises `PlatformError` where Prolific does not do as asked."""

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
        """Connect nothing yet; `wait` and `sleep` are tenacity's, between the attempts."""
        if not re.fullmatch(r"[!-~]+", token):
            raise DomainError(
                "bad_token",
                "This is no Prolific token: please copy it once more from Prolific's settings.",
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
        )

    def __repr__(self) -> str:
        return f"ProlificClient(base_url={str(self._http.base_url)!r})"

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        self.close()

    def close(self) -> None:
        self._http.close()

    def create_study(self, draft: StudyDraft) -> StudyState:
        """Make an unpublished study. Never repeated where the first request may have made one."""
        return self._ask(_study, "POST", "studies/", body=draft.payload(), is_repeatable=False)

    def study(self, study_id: str) -> StudyState:
        return self._ask(_study, "GET", f"studies/{_checked(study_id)}/")

    def transition_study(self, study_id: str, action: str) -> StudyState:
        """PUBLISH, PAUSE, START or STOP; a study that is there already is left as it is.

        So a repeated request is no failure where the first one did it and its answer was lost.
        """
        if action not in OUTCOMES:
            known = ", ".join(OUTCOMES)
            raise DomainError("unknown_action", f"A study can be told {known}, not “{action}”.")
        path = f"studies/{_checked(study_id)}/transition/"
        try:
            return self._ask(_study, "POST", path, body={"action": action})
        except PlatformError as refusal:
            if refusal.platform_status != httpx.codes.BAD_REQUEST:
                raise
            state = self.study(study_id)
            if state.status not in OUTCOMES[action]:
                raise
            return state

    def increase_places(self, study_id: str, total: int) -> StudyState:
        """Set the number of places, which can grow but not shrink."""
        state = self.study(study_id)
        if total < state.total_places:
            raise DomainError(
                "fewer_places",
                f"The study has {state.total_places} places on Prolific, and their number can only"
                " grow. Stop the study if no more people are wanted.",
            )
        if total == state.total_places:
            return state
        body: Data = {"total_available_places": total}
        return self._ask(_study, "PATCH", f"studies/{_checked(study_id)}/", body=body)

    def submissions(self, study_id: str) -> Iterator[Submission]:
        """Every submission of a study, oldest first, each once.

        Pages are asked for until one brings nothing new: what is documented has no last page.
        """
        _checked(study_id)
        seen: set[str] = set()
        for page in count(1):
            new = [one for one in self._page(study_id, page) if one.id not in seen]
            if not new:
                return
            seen.update(one.id for one in new)
            yield from new

    def _page(self, study_id: str, page: int) -> list[Submission]:
        params = {
            "study": study_id,
            "ordering": "started_at",
            "page": str(page),
            "page_size": str(PAGE_SIZE),
        }
        try:
            return self._ask(
                lambda data: [_submission(row, study_id) for row in _rows(data)],
                "GET",
                "submissions/",
                params=params,
            )
        except PlatformError as error:
            if page > 1 and error.platform_status == httpx.codes.NOT_FOUND:
                return []
            raise

    def submission(self, submission_id: str) -> Submission:
        return self._ask(_submission, "GET", f"submissions/{_checked(submission_id)}/")

    def approve(self, ids: Sequence[str]) -> None:
        """Approve submissions, which pays them; Prolific does so in its own time."""
        checked = [_checked(one) for one in ids]
        for start in range(0, len(checked), APPROVAL_LIMIT):
            body: Data = {"submission_ids": checked[start : start + APPROVAL_LIMIT]}
            self._send("POST", "submissions/bulk-approve/", body=body)

    def reject(self, submission_id: str, message: str, category: str) -> Submission:
        """Refuse to pay, with a message to the participant."""
        if len(message.strip()) < REJECTION_LENGTH:
            raise DomainError(
                "message_too_short",
                f"A rejection needs a message of at least {REJECTION_LENGTH} characters that tells"
                " the participant why: please say more.",
                status=400,
            )
        if category not in REJECTION_CATEGORIES:
            known = ", ".join(sorted(REJECTION_CATEGORIES))
            raise DomainError(
                "unknown_category",
                f"“{category}” is no category of Prolific: please choose one of {known}.",
                status=400,
            )
        return self._transition(
            submission_id, {"action": "REJECT", "message": message, "rejection_category": category}
        )

    def complete(self, submission_id: str, completion_code: str) -> Submission:
        """Complete for the participant, with a code whose actor is the researcher."""
        return self._transition(
            submission_id, {"action": "COMPLETE", "completion_code": completion_code}
        )

    def screen_out(self, submission_id: str, completion_code: str) -> Submission:
        """Screen out, with the code that the study has for it."""
        return self._transition(
            submission_id, {"action": "SCREEN_OUT", "completion_code": completion_code}
        )

    def _transition(self, submission_id: str, body: Data) -> Submission:
        path = f"submissions/{_checked(submission_id)}/transition/"
        return self._ask(_submission, "POST", path, body=body)

    def request_return(self, submission_id: str, reasons: Sequence[str]) -> None:
        """Ask the participant to return the submission; a repeated request asks them again."""
        path = f"submissions/{_checked(submission_id)}/request-return/"
        body: Data = {"request_return_reasons": list(reasons)}
        self._send("POST", path, body=body, is_repeatable=False)

    def create_bonuses(self, study_id: str, amounts: Mapping[str, Decimal]) -> str:
        """Set up bonuses by submission or participant, in the currency; return the id to pay.

        Nothing is paid yet. Keep the id before paying: paying it twice pays people twice.
        """
        if not 0 < len(amounts) <= BONUS_LIMIT:
            raise DomainError(
                "bonus_limit",
                f"Bonuses are set up for 1 to {BONUS_LIMIT} people at once, not {len(amounts)}:"
                " please split the list.",
                status=400,
            )
        lines = [f"{_checked(one)},{_money(amount)}" for one, amount in amounts.items()]
        body: Data = {"study_id": _checked(study_id), "csv_bonuses": "\n".join(lines) + "\n"}
        path = "submissions/bonus-payments/"
        return self._ask(_id, "POST", path, body=body, is_repeatable=False)

    def pay_bonuses(self, bulk_id: str) -> None:
        """Pay what `create_bonuses` set up. Each call that arrives pays, however often."""
        path = f"bulk-bonus-payments/{_checked(bulk_id)}/pay/"
        self._send("POST", path, is_repeatable=False)

    def create_secret(self, workspace_id: str) -> str:
        """A new secret that signs the workspace's hooks; the one before ends."""
        body: Data = {"workspace_id": workspace_id}
        return self._ask(lambda data: _text(data, "value"), "POST", "hooks/secrets/", body=body)

    def subscribe(self, workspace_id: str, event_type: str, target_url: str) -> Subscription:
        """Ask for events of a type at an address; none come before it is confirmed."""
        body: Data = {
            "workspace_id": workspace_id,
            "event_type": event_type,
            "target_url": target_url,
        }
        response = self._send("POST", "hooks/subscriptions/", body=body, is_repeatable=False)
        secret = response.headers.get("X-Hook-Secret", "")
        return _read(
            response, lambda data: Subscription(_subscription_id(data, body), secret), False
        )

    def confirm_subscription(self, subscription_id: str, hook_secret: str) -> None:
        path = f"hooks/subscriptions/{_checked(subscription_id)}/"
        self._send("POST", path, body={"secret": hook_secret})

    def _ask(
        self,
        reader: Callable[[Data], T],
        method: str,
        path: str,
        *,
        body: Data | None = None,
        params: Mapping[str, str] | None = None,
        is_repeatable: bool = True,
    ) -> T:
        response = self._send(method, path, body=body, params=params, is_repeatable=is_repeatable)
        return _read(response, reader, is_repeatable)

    def _send(
        self,
        method: str,
        path: str,
        *,
        body: Data | None = None,
        params: Mapping[str, str] | None = None,
        is_repeatable: bool = True,
    ) -> httpx.Response:
        retrying = Retrying(
            retry=retry_if_exception(_may_repeat),
            stop=stop_after_attempt(self._attempts),
            wait=self._pause,
            sleep=self._sleep,
            reraise=True,
        )
        request = self._http.build_request(method, path, json=body, params=params)
        return retrying(self._attempt, request, is_repeatable)

    def _attempt(self, request: httpx.Request, is_repeatable: bool) -> httpx.Response:
        try:
            response = self._http.send(request)
        except (httpx.ConnectError, httpx.ConnectTimeout, httpx.PoolTimeout):
            failure: PlatformError | None = _unreachable()
        except httpx.HTTPError:
            failure = _unanswered(is_repeatable)
        else:
            failure = self._failure(response, is_repeatable)
        if failure is not None:
            raise failure
        return response

    def _pause(self, state: RetryCallState) -> float:
        error = state.outcome.exception() if state.outcome else None
        asked = error.retry_after_s if isinstance(error, PlatformError) else 0.0
        return max(asked, float(self._wait(state)))

    def _failure(self, response: httpx.Response, is_repeatable: bool) -> PlatformError | None:
        if response.is_success:
            return None
        status = response.status_code
        if status == httpx.codes.TOO_MANY_REQUESTS or response.is_server_error:
            return _overloaded(response, is_repeatable)
        if response.is_redirect:
            return PlatformError(*MOVED, platform_status=status)
        code, sentence = REFUSALS.get(status, ("platform_refused", "Prolific refused the request."))
        if status not in REFUSALS:
            sentence = self._quote(response) or sentence
        return PlatformError(code, sentence, platform_status=status)

    def _quote(self, response: httpx.Response) -> str:
        said = " ".join(_detail(response).replace(self._token, "…").split())[:300].rstrip(".")
        return said and f"Prolific refused the request: {said}. Please correct it and try again."


REFUSALS = {
    401: (
        "platform_token_refused",
        "Prolific does not accept the token: please enter a new one in the settings.",
    ),
    403: (
        "platform_forbidden",
        "Prolific does not allow this with this token: please look at its rights there.",
    ),
    404: (
        "platform_unknown",
        "Prolific does not know this study or submission: please check that it is of this account.",
    ),
}
MOVED = (
    "platform_moved",
    "Prolific sent the request elsewhere, where the token does not go: please check its address in"
    " the settings.",
)
MAY_BE_DONE = " It may have been done all the same: please look on Prolific before trying again."
LATER = " Please try again in some minutes."


def _unreachable() -> PlatformError:
    return PlatformError(
        "platform_unreachable", "Prolific cannot be reached." + LATER, is_retryable=True
    )


def _unanswered(is_repeatable: bool) -> PlatformError:
    advice = LATER if is_repeatable else MAY_BE_DONE
    return PlatformError(
        "platform_unanswered",
        "Prolific did not answer." + advice,
        is_retryable=is_repeatable,
        may_be_done=True,
    )


def _overloaded(response: httpx.Response, is_repeatable: bool) -> PlatformError:
    """429 was surely not done, so it may be asked again whatever it was."""
    is_busy = response.status_code == httpx.codes.TOO_MANY_REQUESTS
    can_repeat = is_busy or is_repeatable
    said = "Prolific asks us to wait." if is_busy else "Prolific has a fault of its own."
    return PlatformError(
        "platform_busy" if is_busy else "platform_broken",
        said + (LATER if can_repeat else MAY_BE_DONE),
        status=503,
        is_retryable=can_repeat,
        may_be_done=not is_busy,
        platform_status=response.status_code,
        retry_after_s=_retry_after_s(response.headers.get("Retry-After", "")),
    )


def _nonsense(is_repeatable: bool, status: int) -> PlatformError:
    advice = LATER if is_repeatable else MAY_BE_DONE
    return PlatformError(
        "platform_nonsense",
        "Prolific answered with something that cannot be read." + advice,
        is_retryable=is_repeatable,
        may_be_done=True,
        platform_status=status,
    )


def _may_repeat(error: BaseException) -> bool:
    return (
        isinstance(error, PlatformError)
        and error.is_retryable
        and error.retry_after_s <= LONGEST_PAUSE_S
    )


def _retry_after_s(header: str) -> float:
    """Seconds, or a date; 0 for what is neither."""
    if re.fullmatch(r"[0-9]{1,9}", header.strip()):
        return float(header)
    try:
        moment = parsedate_to_datetime(header)
    except ValueError:
        return 0.0
    return max(0.0, (_aware(moment) - datetime.now(UTC)).total_seconds())


def _detail(response: httpx.Response) -> str:
    """What Prolific says is wrong: a sentence, a list, or lists by field."""
    try:
        data = response.json()
    except (ValueError, RecursionError):
        return ""
    error = data.get("error", data) if isinstance(data, dict) else None
    return _flat(error.get("detail", "")) if isinstance(error, dict) else ""


def _flat(detail: object) -> str:
    if isinstance(detail, dict):
        return "; ".join(f"{name}: {_flat(value)}" for name, value in detail.items())
    if isinstance(detail, list):
        return ", ".join(_flat(value) for value in detail)
    return str(detail)


def _checked(platform_id: str) -> str:
    """Ids come from URLs that anybody can write, and go into paths and CSV lines."""
    if not re.fullmatch(r"[A-Za-z0-9_-]{1,64}", platform_id):
        raise DomainError("bad_platform_id", "This is no id of Prolific.", status=400)
    return platform_id


def _money(amount: Decimal) -> str:
    if not (amount.is_finite() and amount > 0 and amount == round(amount, 2)):
        raise DomainError(
            "bad_amount",
            f"A bonus is an amount above 0 with at most two decimals, not {amount}.",
            status=400,
        )
    return f"{amount:.2f}"


class _Unreadable(ValueError):
    """An answer without what it must have."""


def _read(response: httpx.Response, reader: Callable[[Data], T], is_repeatable: bool) -> T:
    try:
        return reader(_object(response.json()))
    except (ValueError, RecursionError):
        pass
    raise _nonsense(is_repeatable, response.status_code)


def _object(data: object) -> Data:
    if not isinstance(data, dict):
        raise _Unreadable
    return data


def _rows(data: Data) -> list[Data]:
    rows = data.get("results")
    if not isinstance(rows, list):
        raise _Unreadable
    return [_object(row) for row in rows]


def _text(data: Data, *names: str) -> str:
    value = next((data[name] for name in names if data.get(name) is not None), None)
    if not isinstance(value, str) or not value:
        raise _Unreadable
    return value


def _id(data: Data) -> str:
    return _text(data, "id")


def _optional_text(data: Data, *names: str) -> str | None:
    is_given = any(data.get(name) not in (None, "") for name in names)
    return _text(data, *names) if is_given else None


def _moment(data: Data, name: str) -> datetime | None:
    text = _optional_text(data, name)
    return _aware(datetime.fromisoformat(text)) if text else None


def _aware(moment: datetime) -> datetime:
    return moment if moment.tzinfo else moment.replace(tzinfo=UTC)


def _number(data: Data, name: str) -> float | None:
    value = data.get(name)
    if value is None:
        return None
    if isinstance(value, bool) or not isinstance(value, int | float) or not isfinite(value):
        raise _Unreadable
    return value


def _study(data: Data) -> StudyState:
    total, taken = _number(data, "total_available_places"), _number(data, "places_taken")
    if total is None:
        raise _Unreadable
    return StudyState(
        id=_id(data),
        status=_text(data, "status"),
        total_places=int(total),
        places_taken=None if taken is None else int(taken),
    )


def _submission(data: Data, study_id: str = "") -> Submission:
    """One by itself and one of a list have other names for the same."""
    started, completed = _moment(data, "started_at"), _moment(data, "completed_at")
    taken = _number(data, "time_taken")
    if taken is None and started and completed:
        taken = (completed - started).total_seconds()
    return Submission(
        id=_id(data),
        participant=_optional_text(data, "participant", "participant_id") or "",
        study=_optional_text(data, "study_id") or study_id,
        status=_text(data, "status"),
        entered_code=_optional_text(data, "entered_code", "study_code"),
        started_at=started,
        completed_at=completed,
        time_taken_s=taken,
    )


def _subscription_id(data: Data, asked: Data) -> str:
    """The reference documents a list as the answer, the guide the subscription itself."""
    if "results" not in data:
        return _id(data)
    same = [row for row in _rows(data) if asked.items() <= row.items()]
    if not same:
        raise _Unreadable
    return _id(same[-1])
