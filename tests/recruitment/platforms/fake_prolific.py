"""Prolific as a researcher's program sees it, over real HTTP on the loopback.

Paths, statuses and errors are the documented ones; participants, faults and hooks are scripted.
"""

import base64
import hashlib
import hmac
import json
import re
import time
from collections import deque
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from datetime import UTC, datetime
from functools import cache
from http import HTTPStatus
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from itertools import count
from math import sqrt
from threading import RLock, Thread
from types import TracebackType
from typing import Any, Self
from urllib.parse import parse_qs, parse_qsl, urlencode, urlsplit, urlunsplit

import httpx
import jwt
from cryptography.hazmat.primitives.asymmetric import rsa

Data = dict[str, Any]

TOKEN = "fake-prolific-token-0123456789"
STUDY_NEEDS = (
    "name",
    "description",
    "external_study_url",
    "prolific_id_option",
    "completion_codes",
    "total_available_places",
    "estimated_completion_time",
    "reward",
)
TRANSITIONS = {
    ("UNPUBLISHED", "PUBLISH"): "ACTIVE",
    ("ACTIVE", "PAUSE"): "PAUSED",
    ("ACTIVE", "STOP"): "COMPLETED",
    ("PAUSED", "START"): "ACTIVE",
    ("PAUSED", "STOP"): "COMPLETED",
}
FREES_THE_PLACE = ("RETURNED", "REJECTED", "TIMED-OUT", "SCREENED OUT")
AFTER_ACTION = {
    "AUTOMATICALLY_APPROVE": "APPROVED",
    "MANUALLY_REVIEW": "AWAITING REVIEW",
    "FIXED_SCREEN_OUT_PAYMENT": "SCREENED OUT",
    "DYNAMIC_PAYMENT": "PARTIALLY APPROVED",
}
FILTERS: tuple[Data, ...] = (
    {
        "filter_id": "fluent-languages",
        "title": "Fluent languages",
        "question": "Which of the following languages are you fluent in?",
        "type": "select",
        "choices": {"19": "English", "58": "Spanish", "3": "Arabic"},
        "data_type": "ChoiceID",
    },
    {
        "filter_id": "current-country-of-residence",
        "title": "Current country of residence",
        "question": "In what country do you currently reside?",
        "type": "select",
        "choices": {"0": "United Kingdom", "1": "United States"},
        "data_type": "ChoiceID",
    },
    {
        "filter_id": "approval_rate",
        "title": "Approval rate",
        "type": "range",
        "min": 0,
        "max": 100,
        "data_type": "integer",
    },
    {
        "filter_id": "date-of-birth",
        "title": "Date of birth",
        "type": "range",
        "min": "1900-01-01",
        "max": "2010-12-31",
        "data_type": "date",
    },
)
GARBAGE = {
    "html": b"<html><body>Down for maintenance</body></html>",
    "truncated": b'{"id": "65',
    "list": b"[]",
    "shape": b'{"unexpected": true}',
    "types": b'{"id": 7, "status": null, "results": "none", "total_available_places": "many"}',
    "empty": b"",
}


class Refusal(Exception):
    """An error that the API answers with, in the documented structure."""

    def __init__(self, status: int, detail: Any, *, is_bare: bool = False) -> None:
        super().__init__(detail)
        title = HTTPStatus(status).phrase
        error = {"status": status, "error_code": 140000 + status, "title": title, "detail": detail}
        self.status = status
        self.data = error if is_bare else {"error": error}


@dataclass(frozen=True)
class Request:
    """What arrived: `path` without the query, `body` as JSON or None."""

    method: str
    path: str
    body: Any
    query: Mapping[str, str]


@dataclass(frozen=True)
class Answer:
    status: int
    body: bytes
    headers: Mapping[str, str] = field(default_factory=dict)


@dataclass(frozen=True)
class Fault:
    """A fault in one request; with `is_done` the request is carried out nevertheless."""

    status: int | None = None
    headers: Mapping[str, str] = field(default_factory=dict)
    hang_s: float = 0.0
    body: bytes | None = None
    is_cut: bool = False
    is_done: bool = False


@dataclass(frozen=True)
class Event:
    """An event that Prolific reports; `at` is when it happened."""

    id: str
    payload: Data
    at: datetime


class FakeProlific:
    """`with FakeProlific() as fake:` and give `fake.base_url` and `fake.token` to the client.

    Every change of a submission or a study is an event in `fake.events`; nothing is sent before
    `fake.deliver` is called, so a test orders, repeats and drops them as it likes.
    """

    def __init__(self, *, token: str = TOKEN, page_cap: int = 100) -> None:
        self.token = token
        self.page_cap = page_cap
        self.requests: list[Request] = []
        self.studies: dict[str, Data] = {}
        self.submissions: dict[str, Data] = {}
        self.bonuses: dict[str, Data] = {}
        self.secrets: dict[str, str] = {}
        self.subscriptions: dict[str, Data] = {}
        self.events: list[Event] = []
        self.filters: list[Data] = [dict(one) for one in FILTERS]
        self.pool = 200_000
        self.has_test_mode = True
        self.test_participants: list[str] = []
        self.messages: list[tuple[str, str]] = []
        self.lock = RLock()
        self._faults: deque[Fault] = deque()
        self._ids = count(1)
        self._server = _Server(("127.0.0.1", 0), _Handler)
        self._server.fake = self
        self._thread = Thread(target=self._server.serve_forever, args=(0.05,), daemon=True)
        self.origin = f"http://127.0.0.1:{self._server.server_address[1]}"
        self.base_url = f"{self.origin}/api/v1/"
        self.jwks_url = f"{self.origin}/.well-known/study/jwks.json"

    def __enter__(self) -> Self:
        self._thread.start()
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        traceback: TracebackType | None,
    ) -> None:
        self._server.shutdown()
        self._server.server_close()
        self._thread.join()

    # Faults, each for the next requests in turn.

    def fail_next(
        self,
        status: int,
        times: int = 1,
        retry_after: int | str | None = None,
        *,
        is_done: bool = False,
    ) -> None:
        headers = {} if retry_after is None else {"Retry-After": str(retry_after)}
        self._faults.extend([Fault(status=status, headers=headers, is_done=is_done)] * times)

    def hang_next(self, seconds: float, times: int = 1, *, is_done: bool = True) -> None:
        self._faults.extend([Fault(hang_s=seconds, is_done=is_done)] * times)

    def garble_next(self, kind: str = "html", times: int = 1) -> None:
        """One of GARBAGE, or "cut" for a connection that ends in the middle of the answer."""
        is_cut = kind == "cut"
        body = GARBAGE["truncated" if is_cut else kind]
        self._faults.extend([Fault(body=body, is_cut=is_cut, is_done=True)] * times)

    def calm(self) -> None:
        self._faults.clear()

    # What participants do.

    def reserve(self, study: str, participant: str) -> str:
        """Hold a place; return the submission's id, which is the SESSION_ID."""
        with self.lock:
            state = self.studies[study]
            if state["status"] != "ACTIVE":
                raise Refusal(400, "This study is not active.")
            if self.places_taken(study) >= state["total_available_places"]:
                raise Refusal(400, "This study is full.")
            submission = self.new_id()
            self.submissions[submission] = {
                "id": submission,
                "study_id": study,
                "participant": participant,
                "status": "RESERVED",
                "started_at": _stamp(datetime.now(UTC)),
                "completed_at": None,
                "entered_code": None,
                "return_requested": None,
                "bonus_payments": [],
            }
            self.announce_submission(submission)
            return submission

    def start(self, submission: str) -> str:
        """Go to the study; return the address that the participant's browser opens."""
        self.set_status(submission, "ACTIVE")
        return self.entry_url(submission)

    def complete(self, submission: str, code: str = "NOCODE") -> str:
        """Come back with a code, known or not; return the status that follows."""
        with self.lock:
            state = self.submissions[submission]
            state["entered_code"] = code
            state["completed_at"] = _stamp(datetime.now(UTC))
            known = self.code(state["study_id"], code)
            is_theirs = known is not None and known.get("actor", "participant") == "participant"
            self.set_status(submission, _after(known) if known and is_theirs else "AWAITING REVIEW")
            return str(state["status"])

    def return_(self, submission: str) -> None:
        self.set_status(submission, "RETURNED")

    def time_out(self, submission: str) -> None:
        self.set_status(submission, "TIMED-OUT")

    def set_status(self, submission: str, status: str) -> None:
        """Set any status, including undocumented ones."""
        with self.lock:
            self.submissions[submission]["status"] = status
            self.announce_submission(submission)

    def places_taken(self, study: str) -> int:
        mine = [one for one in self.submissions.values() if one["study_id"] == study]
        return sum(one["status"] not in FREES_THE_PLACE for one in mine)

    # The entry link and its signature.

    def entry_url(self, submission: str) -> str:
        state = self.submissions[submission]
        study = self.studies[state["study_id"]]
        url = study["external_study_url"]
        filled = {
            "{{%PROLIFIC_PID%}}": state["participant"],
            "{{%STUDY_ID%}}": state["study_id"],
            "{{%SESSION_ID%}}": submission,
        }
        for name, value in filled.items():
            url = url.replace(name, value)
        if not study.get("is_external_study_url_secure"):
            return str(url)
        signed = dict(parse_qsl(urlsplit(url).query))
        token = self.entry_token(study["external_study_url"], submission, prolific=signed)
        return _with_query(url, prolific_token=token)

    def entry_token(
        self, study_url: str, submission_id: str, *, now: datetime | None = None, **claims: Any
    ) -> str:
        """A token as Prolific signs it; ``claims`` replace the standard ones."""
        issued = int((now or datetime.now(UTC)).timestamp())
        standard = {
            "iss": "https://www.prolific.com",
            "iat": issued,
            "exp": issued + 120,
            "aud": study_url,
            "sub": submission_id,
            "prolific": {"workspace_id": "workspace"},
        }
        return jwt.encode(
            standard | claims, signing_key(), algorithm="RS256", headers={"kid": KEY_ID}
        )

    # Hooks.

    def announce(self, event_type: str, resource_id: str, **payload: Any) -> Event:
        with self.lock:
            data = {"event_type": event_type, "resource_id": resource_id, **payload}
            event = Event(self.new_id(), data, datetime.now(UTC))
            self.events.append(event)
            return event

    def announce_submission(self, submission: str) -> None:
        state = self.submissions[submission]
        self.announce(
            "submission.status.change",
            submission,
            status=state["status"],
            participant_id=state["participant"],
            study_id=state["study_id"],
        )

    def event(
        self,
        event: Event,
        *,
        secret: str | None = None,
        sent_at: datetime | None = None,
    ) -> tuple[dict[str, str], bytes]:
        """Headers and body of an event, signed with the workspace's secret or the given one."""
        key = secret if secret is not None else next(iter(self.secrets.values()))
        body = json.dumps(event.payload).encode()
        timestamp = str(int((sent_at or datetime.now(UTC)).timestamp()))
        digest = hmac.new(key.encode(), timestamp.encode() + body, hashlib.sha256).digest()
        headers = {
            "Content-Type": "application/json",
            "X-Prolific-Request-Timestamp": timestamp,
            "X-Prolific-Request-Signature": base64.b64encode(digest).decode(),
            "X-Event-ID": event.id,
            "X-Timestamp": str(int(event.at.timestamp())),
        }
        return headers, body

    def deliver(
        self, url: str, events: Sequence[Event] | None = None, *, secret: str | None = None
    ) -> list[int]:
        """Post these events, by default all, in order, and return the statuses."""
        chosen = self.events if events is None else events
        signed = [self.event(one, secret=secret) for one in chosen]
        return [
            httpx.post(url, headers=headers, content=body, timeout=10).status_code
            for headers, body in signed
        ]

    # Inside.

    def new_id(self) -> str:
        return f"{next(self._ids):024x}"

    def code(self, study: str, code: str) -> Data | None:
        codes = self.studies[study]["completion_codes"]
        return next((one for one in codes if one["code"] == code), None)

    def answer(self, request: Request, authorization: str) -> tuple[Answer, Fault]:
        with self.lock:
            self.requests.append(request)
            fault = self._faults.popleft() if self._faults else Fault(is_done=True)
            answer = self._handle(request, authorization) if fault.is_done else Answer(200, b"{}")
        if fault.status is not None:
            told = Refusal(fault.status, "Something went wrong.")
            answer = Answer(fault.status, json.dumps(told.data).encode(), fault.headers)
        if fault.body is not None:
            answer = Answer(answer.status, fault.body)
        return answer, fault

    def _handle(self, request: Request, authorization: str) -> Answer:
        try:
            if request.path == "/.well-known/study/jwks.json":
                return _json(200, jwks())
            if authorization != f"Token {self.token}":
                raise Refusal(401, f"Invalid token: {authorization}")
            for method, pattern, verb in ROUTES:
                match = re.fullmatch(pattern, request.path)
                if method == request.method and match:
                    return verb(self, request, *match.groups())
            raise Refusal(404, "Not found")
        except Refusal as refusal:
            return _json(refusal.status, refusal.data)


def _create_study(fake: FakeProlific, request: Request) -> Answer:
    body = request.body
    _check_study(body)
    study = {"id": fake.new_id(), "status": "UNPUBLISHED", **body}
    fake.studies[study["id"]] = study
    return _json(201, _shown(fake, study))


def _check_study(body: Data) -> None:
    missing = {name: ["This field is required."] for name in STUDY_NEEDS if name not in body}
    if missing:
        raise Refusal(400, missing, is_bare=True)
    codes = [one["code"] for one in body["completion_codes"]]
    if not codes or len(set(codes)) != len(codes):
        raise Refusal(400, {"completion_codes": ["Codes must be unique."]}, is_bare=True)
    estimated = body["estimated_completion_time"]
    least = 2 + 2 * estimated + 2 * sqrt(estimated)
    if body.get("maximum_allowed_time", least) < least:
        raise Refusal(400, {"maximum_allowed_time": ["Too short."]}, is_bare=True)


def _get_study(fake: FakeProlific, request: Request, study: str) -> Answer:
    return _json(200, _shown(fake, _known(fake.studies, study)))


def _update_study(fake: FakeProlific, request: Request, study: str) -> Answer:
    state, body = _known(fake.studies, study), request.body
    is_published = state["status"] != "UNPUBLISHED"
    if is_published and set(body) - {"internal_name", "total_available_places"}:
        raise Refusal(400, "A published study cannot be changed.")
    places = body.get("total_available_places", state["total_available_places"])
    if is_published and places < state["total_available_places"]:
        raise Refusal(400, {"total_available_places": ["Places can only be increased."]})
    if state["status"] == "COMPLETED" and places > state["total_available_places"]:
        state["status"] = "ACTIVE"
    state.update(body)
    return _json(200, _shown(fake, state))


def _transition_study(fake: FakeProlific, request: Request, study: str) -> Answer:
    state, action = _known(fake.studies, study), request.body.get("action")
    if (state["status"], action) not in TRANSITIONS:
        raise Refusal(400, f"A study that is {state['status']} cannot {action}.")
    state["status"] = TRANSITIONS[state["status"], action]
    fake.announce("study.status.change", study, status=state["status"])
    return _json(200, _shown(fake, state))


def _list_submissions(fake: FakeProlific, request: Request) -> Answer:
    study = request.query.get("study")
    if study is None:
        raise Refusal(400, {"study": ["This field is required."]}, is_bare=True)
    _known(fake.studies, study)
    size = min(int(request.query.get("page_size", "20")), fake.page_cap)
    start = (int(request.query.get("page", "1")) - 1) * size
    mine = [_short(one) for one in fake.submissions.values() if one["study_id"] == study]
    return _json(200, {"results": mine[start : start + size]})


def _study_submissions(fake: FakeProlific, request: Request, study: str) -> Answer:
    _known(fake.studies, study)
    mine = [_short(one) for one in fake.submissions.values() if one["study_id"] == study]
    return _json(200, {"results": mine})


def _get_submission(fake: FakeProlific, request: Request, submission: str) -> Answer:
    return _json(200, _known(fake.submissions, submission))


def _bulk_approve(fake: FakeProlific, request: Request) -> Answer:
    ids = request.body.get("submission_ids", [])
    if not 0 < len(ids) <= 1000:
        raise Refusal(400, "Between 1 and 1000 submissions, please.", is_bare=True)
    unknown = [one for one in ids if one not in fake.submissions]
    if unknown:
        raise Refusal(400, {"submission_ids": unknown}, is_bare=True)
    for one in ids:
        fake.set_status(one, "APPROVED")
    return _json(200, "The request to bulk approve has been made successfully.")


def _transition_submission(fake: FakeProlific, request: Request, submission: str) -> Answer:
    state, body = _known(fake.submissions, submission), request.body
    verb = SUBMISSION_ACTIONS.get(body.get("action"))
    if verb is None:
        raise Refusal(400, {"action": ["Not a valid choice."]})
    status = verb(fake, state, body)
    if status != state["status"]:
        fake.set_status(submission, status)
    keys = ("id", "status", "participant", "study_id", "started_at", "completed_at", "entered_code")
    return _json(200, {key: state[key] for key in keys})


def _approve(fake: FakeProlific, state: Data, body: Data) -> str:
    return "APPROVED"


def _reject(fake: FakeProlific, state: Data, body: Data) -> str:
    if len(body.get("message", "")) < 100 or "rejection_category" not in body:
        raise Refusal(400, {"message": ["At least 100 characters, and a category."]})
    if state["status"] not in ("AWAITING REVIEW", "REJECTED"):
        raise Refusal(400, f"A submission that is {state['status']} cannot be rejected.")
    fake.messages.append((state["id"], body["message"]))
    return "REJECTED"


def _screen_out(fake: FakeProlific, state: Data, body: Data) -> str:
    state["entered_code"] = _researchers_code(fake, state, body)["code"]
    return "SCREENED OUT"


def _researchers_code(fake: FakeProlific, state: Data, body: Data) -> Data:
    known = fake.code(state["study_id"], body.get("completion_code", ""))
    if known is None or known.get("actor") != "researcher":
        raise Refusal(400, {"completion_code": ["No code of this study for its researcher."]})
    return known


def _request_return(fake: FakeProlific, request: Request, submission: str) -> Answer:
    state = _known(fake.submissions, submission)
    reasons = request.body.get("request_return_reasons")
    if not reasons:
        raise Refusal(400, {"request_return_reasons": ["This field is required."]})
    state["return_requested"] = _stamp(datetime.now(UTC))
    fake.messages.append((submission, "; ".join(reasons)))
    keys = ("id", "status", "participant", "return_requested")
    return _json(200, {key: state[key] for key in keys})


def _create_bonuses(fake: FakeProlific, request: Request) -> Answer:
    study = request.body["study_id"]
    _known(fake.studies, study)
    pairs = [line.split(",") for line in request.body["csv_bonuses"].splitlines()]
    mine = [one for one in fake.submissions.values() if one["study_id"] == study]
    took_part = {one[key] for one in mine for key in ("id", "participant")}
    unknown = [one for one, _ in pairs if one not in took_part]
    if unknown:
        raise Refusal(400, f"These did not take part: {', '.join(unknown)}")
    amounts = {one: round(float(amount) * 100) for one, amount in pairs}
    bulk = {"id": fake.new_id(), "study": study, "total_amount": sum(amounts.values())}
    fake.bonuses[bulk["id"]] = {**bulk, "amounts": amounts, "paid": 0}
    return _json(201, bulk)


def _pay_bonuses(fake: FakeProlific, request: Request, bulk: str) -> Answer:
    """As documented, each request pays once more."""
    bonus = _known(fake.bonuses, bulk)
    bonus["paid"] += 1
    for one in fake.submissions.values():
        amount = bonus["amounts"].get(one["id"]) or bonus["amounts"].get(one["participant"])
        if amount and one["study_id"] == bonus["study"]:
            one["bonus_payments"].append(amount)
    return _json(202, "The request to pay the bonuses has been made successfully.")


def _create_secret(fake: FakeProlific, request: Request) -> Answer:
    workspace = request.body["workspace_id"]
    fake.secrets[workspace] = f"secret-{fake.new_id()}"
    value = fake.secrets[workspace]
    return _json(201, {"id": fake.new_id(), "value": value, "workspace_id": workspace})


def _subscribe(fake: FakeProlific, request: Request) -> Answer:
    if request.body["workspace_id"] not in fake.secrets:
        raise Refusal(400, "Create a secret for this workspace first.")
    subscription = {"id": fake.new_id(), "is_enabled": False, **request.body}
    secret = f"hook-{fake.new_id()}"
    fake.subscriptions[subscription["id"]] = {**subscription, "hook_secret": secret}
    return _json(201, subscription, {"X-Hook-Secret": secret})


def _confirm(fake: FakeProlific, request: Request, subscription: str) -> Answer:
    state = _known(fake.subscriptions, subscription)
    if request.body["secret"] != state["hook_secret"]:
        raise Refusal(400, {"secret": ["This is not the secret."]})
    state["is_enabled"] = True
    return _json(200, {key: value for key, value in state.items() if key != "hook_secret"})


def _list_filters(fake: FakeProlific, request: Request) -> Answer:
    return _json(200, {"results": fake.filters})


def _count_eligible(fake: FakeProlific, request: Request) -> Answer:
    """Each filter halves the pool."""
    known = {one["filter_id"] for one in fake.filters}
    unknown = [one["filter_id"] for one in request.body["filters"] if one["filter_id"] not in known]
    if unknown:
        raise Refusal(400, f"Unknown filters: {', '.join(unknown)}")
    return _json(200, {"count": fake.pool >> len(request.body["filters"])})


def _create_test_participant(fake: FakeProlific, request: Request) -> Answer:
    if not fake.has_test_mode:
        raise Refusal(403, "This feature is not enabled for your workspace.")
    participant = fake.new_id()
    fake.test_participants.append(participant)
    return _json(201, {"participant_id": participant})


def _test_study(fake: FakeProlific, request: Request, study: str) -> Answer:
    """Publish a copy of a draft to the test participants."""
    state = _known(fake.studies, study)
    if not fake.has_test_mode:
        raise Refusal(403, "This feature is not enabled for your workspace.")
    if state["status"] != "UNPUBLISHED" or not fake.test_participants:
        raise Refusal(400, "A test study needs a draft and a test participant.")
    copy = {**state, "id": fake.new_id(), "status": "ACTIVE"}
    fake.studies[copy["id"]] = copy
    url = f"https://app.prolific.com/studies/{copy['id']}"
    return _json(200, {"study_id": copy["id"], "study_url": url})


SUBMISSION_ACTIONS: dict[Any, Callable[[FakeProlific, Data, Data], str]] = {
    "APPROVE": _approve,
    "REJECT": _reject,
    "SCREEN_OUT": _screen_out,
}
ROUTES: list[tuple[str, str, Callable[..., Answer]]] = [
    ("GET", "/api/v1/users/me/", lambda fake, _: _json(200, {"id": "researcher1"})),
    ("POST", "/api/v1/studies/", _create_study),
    ("GET", "/api/v1/filters/", _list_filters),
    ("POST", "/api/v1/eligibility-count/", _count_eligible),
    ("POST", "/api/v1/researchers/participants/", _create_test_participant),
    ("POST", "/api/v1/studies/([^/]+)/test-study", _test_study),
    ("GET", "/api/v1/studies/([^/]+)/", _get_study),
    ("PATCH", "/api/v1/studies/([^/]+)/", _update_study),
    ("POST", "/api/v1/studies/([^/]+)/transition/", _transition_study),
    ("GET", "/api/v1/studies/([^/]+)/submissions/", _study_submissions),
    ("GET", "/api/v1/submissions/", _list_submissions),
    ("POST", "/api/v1/submissions/bulk-approve/", _bulk_approve),
    ("POST", "/api/v1/submissions/bonus-payments/", _create_bonuses),
    ("GET", "/api/v1/submissions/([^/]+)/", _get_submission),
    ("POST", "/api/v1/submissions/([^/]+)/transition/", _transition_submission),
    ("POST", "/api/v1/submissions/([^/]+)/request-return/", _request_return),
    ("POST", "/api/v1/bulk-bonus-payments/([^/]+)/pay/", _pay_bonuses),
    ("POST", "/api/v1/hooks/secrets/", _create_secret),
    ("POST", "/api/v1/hooks/subscriptions/", _subscribe),
    ("POST", "/api/v1/hooks/subscriptions/([^/]+)/", _confirm),
]


def _known(things: dict[str, Data], key: str) -> Data:
    if key not in things:
        raise Refusal(404, "Not found")
    return things[key]


def _shown(fake: FakeProlific, study: Data) -> Data:
    return {**study, "places_taken": fake.places_taken(study["id"])}


def _short(submission: Data) -> Data:
    """A submission in a list has other field names than a single one."""
    same = ("id", "status", "started_at", "completed_at", "return_requested")
    return {key: submission[key] for key in same} | {
        "participant_id": submission["participant"],
        "study_code": submission["entered_code"],
        "has_siblings": False,
    }


def _after(code: Data) -> str:
    actions = [one["action"] for one in code["actions"]]
    return next((AFTER_ACTION[one] for one in actions if one in AFTER_ACTION), "AWAITING REVIEW")


def _json(status: int, data: Any, headers: Mapping[str, str] | None = None) -> Answer:
    return Answer(status, json.dumps(data).encode(), headers or {})


def _stamp(moment: datetime) -> str:
    return moment.isoformat().replace("+00:00", "Z")


def _with_query(url: str, **parameters: str) -> str:
    parts = urlsplit(url)
    query = urlencode([*parse_qsl(parts.query), *parameters.items()])
    return urlunsplit(parts._replace(query=query))


KEY_ID = "fake-key-1"


@cache
def signing_key() -> rsa.RSAPrivateKey:
    return rsa.generate_private_key(public_exponent=65537, key_size=2048)


def jwks() -> Data:
    public = jwt.algorithms.RSAAlgorithm.to_jwk(signing_key().public_key(), as_dict=True)
    header = {"kid": KEY_ID, "alg": "RS256", "use": "sig", "key_ops": ["verify"]}
    return {"keys": [public | header]}


class _Server(ThreadingHTTPServer):
    fake: FakeProlific
    daemon_threads = True
    # A handler that hangs on purpose is not waited for.
    block_on_close = False
    request_queue_size = 128


class _Handler(BaseHTTPRequestHandler):
    server: _Server
    protocol_version = "HTTP/1.1"
    # An answer is two writes, and with Nagle's algorithm the second would wait for the first.
    disable_nagle_algorithm = True

    def _serve(self) -> None:
        length = int(self.headers.get("Content-Length") or 0)
        raw = self.rfile.read(length)
        parts = urlsplit(self.path)
        query = {name: values[0] for name, values in parse_qs(parts.query).items()}
        request = Request(self.command, parts.path, json.loads(raw) if raw else None, query)
        answer, fault = self.server.fake.answer(request, self.headers.get("Authorization", ""))
        time.sleep(fault.hang_s)
        try:
            self._write(answer, is_cut=fault.is_cut)
        except ConnectionError:
            self.close_connection = True

    def _write(self, answer: Answer, *, is_cut: bool) -> None:
        self.send_response(answer.status)
        self.send_header("Content-Type", "application/json")
        self.send_header("Content-Length", str(len(answer.body) + (100 if is_cut else 0)))
        for name, value in answer.headers.items():
            self.send_header(name, value)
        self.end_headers()
        self.wfile.write(answer.body)
        self.close_connection = self.close_connection or is_cut

    do_GET = do_POST = do_PATCH = _serve  # noqa: N815

    def log_message(self, format: str, *args: object) -> None:
        """Nothing: the requests are in `fake.requests`."""
