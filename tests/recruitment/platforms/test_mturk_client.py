import json
import re
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from datetime import UTC, datetime, timedelta, timezone
from decimal import Decimal
from html import unescape
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from threading import Thread
from types import SimpleNamespace
from typing import Any
from urllib.parse import parse_qs, urlsplit
from xml.etree import ElementTree

import boto3
import httpx
import pytest
from botocore import exceptions
from botocore.config import Config
from botocore.stub import Stubber

from annotation.models import Participation, Rater
from recruitment.identities import UnusableId
from recruitment.models import Channel, Payment
from recruitment.platforms.base import PlatformEntry, PlatformReport, SubmissionStatus
from recruitment.platforms.mturk import PLATFORM, PREVIEW, read_frame_entry
from recruitment.platforms.mturk.client import (
    LONG_AGO,
    XMLNS,
    HandledBefore,
    MTurkClient,
    MTurkError,
    external_question,
)
from tests.recruitment.platforms.fake_mturk import MTurkSimulator
from tiebreak.errors import DomainError

ENDPOINT = "https://mturk.example"
PUBLIC_ORIGINS = ("https://www.mturk.com", "https://workersandbox.mturk.com")
ACCESS, SECRET = "ACCESSKEY0123456789X", "secret/of+the/requester"
ENTRY = "https://study.example/crowd/mturk?study=7&lang=en"
HIT: dict[str, Any] = {
    "title": "Compare answers",
    "description": "Read two answers & choose",
    "keywords": "text, compare",
    "reward": Decimal("1.5"),
    "max_assignments": 3,
    "lifetime": timedelta(days=2),
    "duration": timedelta(hours=1),
    "entry_url": ENTRY,
    "token": "study-7-hit-1",
}


@pytest.fixture(scope="module")
def session() -> boto3.session.Session:
    """One session for all clients, so that the model of the service is read once."""
    return boto3.session.Session()


@pytest.fixture
def stub(session: boto3.session.Session) -> Iterator[tuple[MTurkClient, Stubber]]:
    inner = session.client(
        "mturk",
        endpoint_url=ENDPOINT,
        region_name="us-east-1",
        aws_access_key_id=ACCESS,
        aws_secret_access_key=SECRET,
        config=Config(retries={"total_max_attempts": 1}),
    )
    with Stubber(inner) as stubber:
        yield make_client(client=inner), stubber
        stubber.assert_no_pending_responses()


def make_client(**options: Any) -> MTurkClient:
    keys = {"endpoint_url": ENDPOINT, "access_key": ACCESS, "secret_key": SECRET}
    return MTurkClient(**{**keys, **options})


def refused(stub: tuple[MTurkClient, Stubber], code: str, message: str, **options: Any):
    """The error that an approval raises when the service answers with this one."""
    client, stubber = stub
    stubber.add_client_error("approve_assignment", code, message, **options)
    with pytest.raises(MTurkError) as caught:
        client.approve("ASSIGNMENT1")
    return caught.value


# The requests


def test_a_hit_is_created(stub):
    client, stubber = stub
    expected = {
        "Title": "Compare answers",
        "Description": "Read two answers & choose",
        "Keywords": "text, compare",
        "Reward": "1.50",
        "MaxAssignments": 3,
        "LifetimeInSeconds": 172800,
        "AssignmentDurationInSeconds": 3600,
        "AutoApprovalDelayInSeconds": 604800,
        "Question": external_question(ENTRY),
        "UniqueRequestToken": "study-7-hit-1",
    }
    stubber.add_response("create_hit", {"HIT": {"HITId": "HIT1"}}, expected)
    assert client.create_hit(**HIT) == "HIT1"


def test_an_answer_without_a_hit_is_an_error(stub):
    client, stubber = stub
    stubber.add_response("create_hit", {})
    with pytest.raises(MTurkError) as caught:
        client.create_hit(**HIT)
    assert caught.value.code == "mturk_answer"


def test_the_question_is_xml_that_holds_the_address_unchanged():
    url = "https://study.example/?a=1&b=<x>&c=]]>&d='\"&e=é"
    root = ElementTree.fromstring(external_question(url).encode())
    assert root.tag == f"{{{XMLNS}}}ExternalQuestion"
    assert [child.tag for child in root] == [f"{{{XMLNS}}}ExternalURL", f"{{{XMLNS}}}FrameHeight"]
    assert root[0].text == url
    assert root[1].text == "800"


@pytest.mark.parametrize(
    "url", ["", "study.example", "javascript:alert(1)", "https://a.example/\x00", "https://a /"]
)
def test_an_entry_address_must_be_plain(url):
    with pytest.raises(MTurkError) as caught:
        external_question(url)
    assert caught.value.code == "mturk_entry_url"


@pytest.mark.parametrize("amount", ["-1", "0.975", "NaN", "Infinity", "-1E+40", "1E-40"])
def test_amounts_are_in_whole_cents(stub, amount):
    with pytest.raises(MTurkError) as caught:
        stub[0].create_hit(**{**HIT, "reward": Decimal(amount)})
    assert caught.value.code == "mturk_amount"


@pytest.mark.parametrize(("amount", "sent"), [("2", "2.00"), ("1E+1", "10.00"), ("0.10", "0.10")])
def test_amounts_are_sent_as_dollars_and_cents(stub, amount, sent):
    client, stubber = stub
    expected = {
        "WorkerId": "A1",
        "AssignmentId": "ASSIGNMENT1",
        "BonusAmount": sent,
        "Reason": "Thank you",
        "UniqueRequestToken": "bonus-1",
    }
    stubber.add_response("send_bonus", {}, expected)
    client.bonus("A1", "ASSIGNMENT1", Decimal(amount), "Thank you", "bonus-1")


@pytest.mark.parametrize("amount", ["0", "-0.01", "0.001", "NaN", "Infinity"])
def test_a_bonus_is_a_cent_at_least(stub, amount):
    with pytest.raises(MTurkError) as caught:
        stub[0].bonus("A1", "ASSIGNMENT1", Decimal(amount), "Thank you", "bonus-1")
    assert caught.value.code == "mturk_amount"


def assignment_answer(number: int, **changes: Any) -> dict[str, Any]:
    fields = {
        "AssignmentId": f"ASSIGNMENT{number}",
        "WorkerId": f"A{number}",
        "HITId": "HIT1",
        "AssignmentStatus": "Submitted",
        "SubmitTime": datetime(2026, 5, 1, 14, number, tzinfo=timezone(timedelta(hours=2))),
    }
    return {key: value for key, value in {**fields, **changes}.items() if value is not None}


def test_assignments_come_from_every_page(stub):
    client, stubber = stub
    first, second = assignment_answer(1), assignment_answer(2, AssignmentStatus="Unheard")
    asked = {"HITId": "HIT1", "MaxResults": 100}
    stubber.add_response(
        "list_assignments_for_hit", {"Assignments": [first], "NextToken": "more"}, asked
    )
    stubber.add_response(
        "list_assignments_for_hit", {"Assignments": [second]}, {**asked, "NextToken": "more"}
    )
    assert list(client.assignments("HIT1")) == [
        report(1, "Submitted", SubmissionStatus.SUBMITTED),
        report(2, "Unheard", SubmissionStatus.UNKNOWN),
    ]


def report(number: int, status: str, ours: SubmissionStatus) -> PlatformReport:
    ids = f"ASSIGNMENT{number}", f"A{number}"
    return PlatformReport(*ids, status, ours, completed_at=noon(number))


def noon(minute: int) -> datetime:
    return datetime(2026, 5, 1, 12, minute, tzinfo=UTC)


def test_a_hit_without_assignments_and_one_without_a_time(stub):
    client, stubber = stub
    stubber.add_response("list_assignments_for_hit", {"NumResults": 0})
    assert list(client.assignments("HIT1")) == []
    answer = {"Assignments": [assignment_answer(1, SubmitTime=None)]}
    stubber.add_response("list_assignments_for_hit", answer)
    assert [assignment.completed_at for assignment in client.assignments("HIT1")] == [None]


def test_an_error_on_a_later_page_and_an_assignment_without_an_id(stub):
    client, stubber = stub
    page = {"Assignments": [assignment_answer(1)], "NextToken": "more"}
    stubber.add_response("list_assignments_for_hit", page)
    stubber.add_client_error("list_assignments_for_hit", "ServiceFault", "Try again")
    assignments = client.assignments("HIT1")
    assert next(assignments).submission_id == "ASSIGNMENT1"
    with pytest.raises(MTurkError) as caught:
        next(assignments)
    assert caught.value.is_retryable
    stubber.add_response("list_assignments_for_hit", {"Assignments": [{"HITId": "HIT1"}]})
    with pytest.raises(MTurkError) as caught:
        list(client.assignments("HIT1"))
    assert caught.value.code == "mturk_answer"


def test_approval_rejection_and_expiry(stub):
    client, stubber = stub
    assignment = {"AssignmentId": "ASSIGNMENT1"}
    stubber.add_response("approve_assignment", {}, assignment)
    client.approve("ASSIGNMENT1")
    stubber.add_response(
        "reject_assignment", {}, {**assignment, "RequesterFeedback": "No answer was given."}
    )
    client.reject("ASSIGNMENT1", "No answer was given.")
    stubber.add_response("update_expiration_for_hit", {}, {"HITId": "HIT1", "ExpireAt": LONG_AGO})
    client.expire("HIT1")
    stubber.assert_no_pending_responses()


# The errors

DONE_BEFORE = 'The idempotency token "x" has already been processed. (1626172412406)'


def test_a_refusal_quotes_the_platform(stub):
    error = refused(
        stub,
        "RequestError",
        "Assignment ASSIGNMENT1 does\n not exist.",
        http_status_code=400,
        modeled_fields={"TurkErrorCode": "AWS.MechanicalTurk.AssignmentDoesNotExist"},
    )
    assert isinstance(error, DomainError)
    assert error.code == "mturk_refused"
    assert error.message.endswith("Assignment ASSIGNMENT1 does not exist.")  # on one line
    assert not error.is_retryable
    assert not isinstance(error, HandledBefore)


@pytest.mark.parametrize(
    ("code", "http_status"),
    [("ServiceFault", 400), ("ThrottlingException", 400), ("Anything", 429), ("Anything", 503)],
)
def test_a_busy_platform_may_be_asked_again(stub, code, http_status):
    error = refused(stub, code, "Wait", http_status_code=http_status)
    assert (error.code, error.status, error.is_retryable) == ("mturk_busy", 503, True)
    assert error.may_be_done


def test_wrong_keys_are_named_but_not_quoted(stub):
    error = refused(stub, "UnrecognizedClientException", f"{ACCESS} is unknown")
    assert error.code == "mturk_keys"
    assert not error.is_retryable
    assert ACCESS not in error.message


def test_secrets_stand_in_no_message_and_no_chained_error(stub):
    error = refused(stub, "RequestError", f"Credential={ACCESS}, key={SECRET}" + "x" * 999)
    assert ACCESS not in str(error)
    assert SECRET not in str(error)
    assert len(error.message) < 400
    assert error.__cause__ is None
    assert error.__suppress_context__


def test_secrets_stand_in_no_repr():
    client = make_client(endpoint_url="https://user:word@mturk.example/path")
    assert repr(client) == "MTurkClient(host='mturk.example')"


def test_a_repeated_bonus_says_so(stub):
    client, stubber = stub
    stubber.add_client_error("send_bonus", "RequestError", DONE_BEFORE)
    with pytest.raises(HandledBefore) as caught:
        client.bonus("A1", "ASSIGNMENT1", Decimal(1), "Thank you", "x")
    assert caught.value.may_be_done
    assert not caught.value.is_retryable


def test_a_bonus_has_a_token_that_no_other_server_uses(monkeypatch):
    """The platform calls a bonus repeated that has the token of another, and does not pay it."""
    silent = SimpleNamespace(bonus=lambda *_: None)
    monkeypatch.setattr("recruitment.platforms.mturk._client", lambda _: silent)
    participation = Participation(rater=Rater(external_id="A1"), submission_id="ASSIGNMENT1")
    here, there = (Payment(pk=7, participation=participation, amount=1) for _ in range(2))
    tokens = [PLATFORM.pay(Channel(), payment) for payment in (here, there, here)]
    assert tokens[0] == tokens[2] != tokens[1]
    assert max(map(len, tokens)) <= 64


def test_a_repeated_hit_says_so(stub):
    client, stubber = stub
    fields = {"TurkErrorCode": "AWS.MechanicalTurk.HitAlreadyExists"}
    stubber.add_client_error("create_hit", "RequestError", "HIT1", modeled_fields=fields)
    with pytest.raises(HandledBefore):
        client.create_hit(**HIT)


def test_a_hit_that_was_expired_before_is_expired(stub):
    client, stubber = stub
    stubber.add_client_error("update_expiration_for_hit", "RequestError", DONE_BEFORE)
    client.expire("HIT1")
    stubber.add_client_error("update_expiration_for_hit", "RequestError", "No such HIT.")
    with pytest.raises(MTurkError):
        client.expire("HIT1")


@pytest.mark.parametrize(
    ("raised", "code", "is_retryable"),
    [
        (exceptions.ConnectTimeoutError(endpoint_url=ENDPOINT), "mturk_unreachable", True),
        (exceptions.ReadTimeoutError(endpoint_url=ENDPOINT), "mturk_unreachable", True),
        (
            exceptions.EndpointConnectionError(endpoint_url=ENDPOINT, error="no"),
            "mturk_unreachable",
            True,
        ),
        (
            exceptions.SSLError(endpoint_url=ENDPOINT, error="expired"),
            "mturk_unreachable",
            False,
        ),
        (exceptions.NoCredentialsError(), "mturk_request", False),
    ],
)
def test_a_request_without_an_answer(stub, raised, code, is_retryable):
    client, _ = stub

    def fail(**rest: Any) -> None:
        raise raised

    client._client.meta.events.register("provide-client-params.mturk.ApproveAssignment", fail)
    with pytest.raises(MTurkError) as caught:
        client.approve("ASSIGNMENT1")
    assert (caught.value.code, caught.value.is_retryable) == (code, is_retryable)


def test_a_request_that_the_service_model_does_not_know_is_not_sent():
    with pytest.raises(MTurkError) as caught:
        make_client().create_hit(**{**HIT, "max_assignments": "three"})
    assert caught.value.code == "mturk_request"
    assert "ParamValidationError" in caught.value.message


def test_settings_that_boto3_cannot_use():
    with pytest.raises(MTurkError) as caught:
        make_client(endpoint_url="not an address")
    assert caught.value.code == "mturk_settings"


def test_time_outs_and_retries_are_set():
    config = make_client()._client.meta.config
    assert (config.connect_timeout, config.read_timeout) == (5, 30)
    assert config.retries == {"mode": "standard", "total_max_attempts": 4}


# Real HTTP


@contextmanager
def answering(*answers: tuple[int, bytes]) -> Iterator[tuple[str, list[dict[str, Any]]]]:
    """A service that gives these answers in turn, and the requests that it received."""
    got: list[dict[str, Any]] = []
    left = list(answers)

    class Handler(BaseHTTPRequestHandler):
        def do_POST(self) -> None:
            body = self.rfile.read(int(self.headers["Content-Length"]))
            got.append({"target": self.headers["X-Amz-Target"], "body": json.loads(body)})
            status, content = left.pop(0)
            self.send_response(status)
            self.send_header("Content-Length", str(len(content)))
            self.end_headers()
            self.wfile.write(content)

        def log_message(self, *args: object) -> None: ...

    server = ThreadingHTTPServer(("127.0.0.1", 0), Handler)
    thread = Thread(target=server.serve_forever, args=(0.05,), daemon=True)
    thread.start()
    yield f"http://127.0.0.1:{server.server_address[1]}", got
    server.shutdown()
    server.server_close()
    thread.join()


def failed(request: Callable[[], object]) -> MTurkError:
    with pytest.raises(MTurkError) as caught:
        request()
    return caught.value


def test_a_lost_answer_is_asked_for_again_under_the_same_token(monkeypatch):
    monkeypatch.setattr("time.sleep", lambda seconds: None)
    created = json.dumps({"HIT": {"HITId": "HIT1"}}).encode()
    with answering((500, b"{}"), (200, created)) as (address, got):
        assert make_client(endpoint_url=address).create_hit(**HIT) == "HIT1"
    assert [request["target"] for request in got] == [
        "MTurkRequesterServiceV20170117.CreateHIT"
    ] * 2
    assert got[0]["body"] == got[1]["body"]


def test_a_refusal_of_the_service_keeps_its_code():
    answer = {"__type": "RequestError", "Message": "No.", "TurkErrorCode": "AWS.X"}
    with answering((400, json.dumps(answer).encode())) as (address, _):
        error = failed(lambda: make_client(endpoint_url=address).approve("ASSIGNMENT1"))
    assert error.code == "mturk_refused"


def test_a_page_that_is_no_service_is_an_error():
    with answering((200, b"<html>Welcome</html>")) as (address, _):
        error = failed(lambda: make_client(endpoint_url=address).create_hit(**HIT))
    assert error.code == "mturk_answer"


# The protocol

WORK = {
    "assignmentId": "ASSIGNMENT1",
    "hitId": "HIT1",
    "workerId": "A1",
    "turkSubmitTo": "https://www.mturk.com",
}


def entry(**changes: Any) -> PlatformEntry | None:
    parameters = {**WORK, **changes}
    present = {name: value for name, value in parameters.items() if value is not None}
    return read_frame_entry(present, allowed_origins=PUBLIC_ORIGINS)


@pytest.mark.parametrize("origin", PUBLIC_ORIGINS)
@pytest.mark.parametrize("end", ["", "/"])
def test_a_worker_enters(origin, end):
    extra = {"target": f"{origin}/mturk/externalSubmit", "assignment": "ASSIGNMENT1"}
    assert entry(turkSubmitTo=origin + end) == PlatformEntry("A1", "ASSIGNMENT1", extra=extra)


@pytest.mark.parametrize("worker", [None, "", "A1"])
@pytest.mark.parametrize("origin", [None, "https://www.mturk.com"])
def test_a_preview_needs_no_worker_and_no_target(worker, origin):
    assert entry(assignmentId=PREVIEW, workerId=worker, turkSubmitTo=origin) is None


@pytest.mark.parametrize("name", ["assignmentId", "hitId", "workerId"])
@pytest.mark.parametrize(
    "value", [None, "", "a b", "a-b", "a\n", "a\x00", "é", "٣", "x" * 65, PREVIEW.lower(), "<b>"]
)
def test_an_id_must_be_there_and_plain(name, value):
    with pytest.raises(DomainError) as caught:
        entry(**{name: value})
    assert isinstance(caught.value, UnusableId)
    assert caught.value.status == 400
    assert name in caught.value.message


def test_an_id_may_have_64_characters():
    assert entry(workerId="A" * 64).external_id == "A" * 64


@pytest.mark.parametrize("changes", [{"hitId": None}, {"workerId": "a b"}])
def test_a_preview_has_its_rules_too(changes):
    with pytest.raises(DomainError):
        entry(assignmentId=PREVIEW, **changes)


ATTACKS = [
    None,
    "",
    "/",
    "https://evil.example",
    "https://www.mturk.com.evil.example",
    "https://evil.example/https://www.mturk.com",
    "https://www.mturk.com@evil.example",
    "https://worker:word@www.mturk.com",
    "https://www.mturk.com\\@evil.example",
    "javascript:alert(1)",
    "javascript://www.mturk.com/%0aalert(1)",
    "data:text/html,x",
    "//evil.example",
    "//www.mturk.com",
    "www.mturk.com",
    "http://www.mturk.com",
    "https://mturk.com",
    "https://evil.www.mturk.com",
    "https://www.mturk.com./",
    "https://www.mturk.com//",
    "https://www.mturk.com/path",
    "https://www.mturk.com/../",
    "https://www.mturk.com/mturk/externalSubmit",
    "https://www.mturk.com?x=1",
    "https://www.mturk.com#x",
    "https://www.mturk.com:443",
    "https://www.mturk.com:8443",
    "https://www.mturk.com:",
    "HTTPS://www.mturk.com",
    "https://WWW.mturk.com",
    "https://www.mturk.com\x00",
    "https://www.mturk.com\x00.evil.example",
    "https://www.mturk.com\n",
    "\thttps://www.mturk.com",
    " https://www.mturk.com",
    "https:/www.mturk.com",
    "https://wwwxmturk.com",
    "https://www.mturk。com",
]


@pytest.mark.parametrize("target", ATTACKS)
def test_only_an_allowed_origin_is_submitted_to(target):
    with pytest.raises(DomainError) as caught:
        entry(turkSubmitTo=target)
    assert (caught.value.code, caught.value.status) == ("mturk_origin", 400)


@pytest.mark.parametrize("target", [target for target in ATTACKS if target])
def test_a_preview_submits_to_no_other_origin_either(target):
    with pytest.raises(DomainError):
        entry(assignmentId=PREVIEW, turkSubmitTo=target)


@pytest.mark.parametrize(
    "allowed", ["", "/", "javascript:alert(1)", "https://a.example/path", "https://u@a.example"]
)
def test_what_is_no_origin_allows_nothing(allowed):
    with pytest.raises(DomainError):
        read_frame_entry({**WORK, "turkSubmitTo": allowed}, allowed_origins=[allowed])


def test_a_private_installation_may_have_a_port():
    sent = {**WORK, "turkSubmitTo": "http://localhost:8080"}
    entered = read_frame_entry(sent, allowed_origins=["http://localhost:8080"])
    assert entered.extra["target"] == "http://localhost:8080/mturk/externalSubmit"


# The simulator


@pytest.fixture
def simulator() -> Iterator[MTurkSimulator]:
    with MTurkSimulator() as running:
        yield running


def framed(page: str) -> dict[str, str]:
    """The parameters on the address in the page's frame."""
    frame = re.search(r'<iframe [^>]*src="([^"]*)"', page)
    assert frame is not None
    source = unescape(frame[1])
    assert source.startswith("https://study.example/crowd/mturk?")
    return {name: values[0] for name, values in parse_qs(urlsplit(source).query).items()}


def test_the_work_page_frames_an_entry_that_can_be_read(simulator):
    sent = framed(httpx.get(simulator.work_url(ENTRY, worker="A7")).text)
    assert sent["study"] == "7"
    assert sent["lang"] == "en"
    extra = {"target": simulator.submit_url, "assignment": "ASSIGNMENT1"}
    entered = read_frame_entry(sent, allowed_origins=[simulator.origin])
    assert entered == PlatformEntry("A7", "ASSIGNMENT1", extra=extra)


def test_the_preview_page_names_no_worker(simulator):
    sent = framed(httpx.get(simulator.preview_url(ENTRY)).text)
    assert "workerId" not in sent
    assert read_frame_entry(sent, allowed_origins=[simulator.origin]) is None


def test_a_form_is_recorded(simulator):
    form = {"assignmentId": "ASSIGNMENT1", "code": "x&y", "choice": ["a", "b"]}
    answer = httpx.post(simulator.submit_url, data=form)
    assert answer.status_code == 200
    assert "submitted" in answer.text
    assert simulator.submitted == [{"assignmentId": "ASSIGNMENT1", "code": "x&y", "choice": "a|b"}]


@pytest.mark.parametrize(
    "form",
    [
        {},
        {"assignmentId": "ASSIGNMENT1"},
        {"assignmentid": "ASSIGNMENT1", "code": "x"},
        {"AssignmentId": "ASSIGNMENT1", "code": "x"},
        {"assignmentId": "", "code": "x"},
        {"assignmentId": PREVIEW, "code": "x"},
        {"code": "x", "more": "y"},
    ],
)
def test_a_form_that_the_platform_would_refuse_is_refused(simulator, form):
    assert httpx.post(simulator.submit_url, data=form).status_code == 400
    assert simulator.submitted == []


def test_a_submission_is_a_post_and_other_pages_are_none(simulator):
    assert httpx.get(simulator.submit_url).status_code == 405
    assert httpx.get(f"{simulator.origin}/work").status_code == 400
    assert httpx.get(f"{simulator.origin}/other").status_code == 404
    assert httpx.post(f"{simulator.origin}/other", data={"a": "b"}).status_code == 404


def test_an_address_cannot_break_out_of_the_frame(simulator):
    page = httpx.get(simulator.preview_url('https://a.example/"><script>x</script>')).text
    assert "<script>" not in page
