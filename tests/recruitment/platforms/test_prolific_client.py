import logging
import socket
import traceback
from collections.abc import Iterator
from datetime import UTC, datetime, timedelta
from decimal import Decimal
from math import ceil, sqrt

import httpx
import pytest

from recruitment.platforms.errors import PlatformError
from recruitment.platforms.prolific.client import BONUS_LIMIT, MAX_PAUSE_S, ProlificClient
from recruitment.platforms.prolific.payloads import maximum_allowed_minutes
from recruitment.platforms.prolific.responses import Unreadable, read_study
from tests.recruitment.platforms.fake_prolific import FakeProlific, Refusal
from tests.recruitment.platforms.openapi import check_request
from tests.recruitment.platforms.prolific_study import active_study, connect, draft
from tests.refusals import refused

REASON = "You answered every item within a second, and both attention checks were wrong. " * 2


@pytest.fixture
def fake() -> Iterator[FakeProlific]:
    with FakeProlific() as running:
        yield running


@pytest.fixture
def pauses() -> list[float]:
    return []


@pytest.fixture
def client(fake: FakeProlific, pauses: list[float]) -> Iterator[ProlificClient]:
    with connect(fake, sleep=pauses.append) as connected:
        yield connected


def check_all(fake: FakeProlific) -> None:
    assert fake.requests
    for request in fake.requests:
        check_request(request.method, request.path, request.body)


class TestStudies:
    def test_it_works(self, fake: FakeProlific, client: ProlificClient) -> None:
        made = client.create_study(draft(project="p1", content_warnings=["sensitive"]))
        assert (made.status, made.total_places) == ("UNPUBLISHED", 3)
        assert client.transition_study(made.id, "PUBLISH").status == "ACTIVE"
        fake.reserve(made.id, "ann")
        assert client.transition_study(made.id, "PAUSE").status == "PAUSED"
        assert client.transition_study(made.id, "START").status == "ACTIVE"
        assert client.transition_study(made.id, "STOP").status == "COMPLETED"
        check_all(fake)

    def test_an_action_done_before_is_no_failure(
        self, fake: FakeProlific, client: ProlificClient
    ) -> None:
        study = client.create_study(draft()).id
        fake.fail_next(502, is_done=True)
        assert client.transition_study(study, "PUBLISH").status == "ACTIVE"

    def test_an_action_that_the_state_forbids_is_refused(self, client: ProlificClient) -> None:
        study = client.create_study(draft()).id
        with refused("platform_refused") as told:
            client.transition_study(study, "PAUSE")
        assert told.value.platform_status == 400
        assert not told.value.is_retryable

    def test_an_unknown_action_is_not_sent(
        self, fake: FakeProlific, client: ProlificClient
    ) -> None:
        with refused("unknown_action"):
            client.transition_study("s1", "DELETE")
        assert not fake.requests

    def test_places_grow(self, fake: FakeProlific, client: ProlificClient) -> None:
        study = active_study(client)
        assert client.increase_places(study, 5).total_places == 5
        assert fake.requests[-1].body == {"total_available_places": 5}
        check_all(fake)

    def test_places_do_not_shrink(self, fake: FakeProlific, client: ProlificClient) -> None:
        study = active_study(client)
        with refused("fewer_places"):
            client.increase_places(study, 2)
        client.increase_places(study, 3)
        assert all(request.method != "PATCH" for request in fake.requests)

    def test_a_refusal_names_the_field(self, client: ProlificClient) -> None:
        with refused("platform_refused") as told:
            client.create_study(draft(maximum_allowed_time=5))
        assert "maximum_allowed_time" in told.value.message

    @pytest.mark.parametrize(
        ("estimated", "least"), [(1, 6), (4, 14), (9, 26), (10, 29), (20, 51), (60, 138)]
    )
    def test_the_least_time_allowed(self, estimated: int, least: int) -> None:
        assert maximum_allowed_minutes(estimated) == least
        assert least == ceil(2 + 2 * estimated + 2 * sqrt(estimated))


class TestSubmissions:
    def test_one(self, fake: FakeProlific, client: ProlificClient) -> None:
        study = active_study(client)
        own_submission = fake.reserve(study, "ann")
        assert client.submission(own_submission).status == "RESERVED"
        fake.start(own_submission)
        fake.complete(own_submission, "DONE1")
        answer = client.submission(own_submission)
        assert (answer.submission_id, answer.external_id) == (own_submission, "ann")
        assert answer.study == study
        assert (answer.status, answer.entered_code) == ("APPROVED", "DONE1")
        assert answer.started_at is not None
        assert answer.started_at.tzinfo is not None
        check_all(fake)

    @pytest.mark.parametrize("cap", [2, 100])
    def test_all_pages(self, cap: int) -> None:
        with FakeProlific(page_cap=cap) as fake, connect(fake) as client:
            study = active_study(client, total_available_places=5)
            turns = [fake.reserve(study, f"person{n}") for n in range(5)]
            submissions = list(client.submissions(study))
            assert [one.submission_id for one in submissions] == turns
            assert {one.study for one in submissions} == {study}
            assert submissions[0].external_id == "person0"
            check_all(fake)

    def test_no_page_after_the_last(self, fake: FakeProlific, client: ProlificClient) -> None:
        study = active_study(client)
        fake.reserve(study, "ann")
        submissions = client.submissions(study)
        assert next(submissions).external_id == "ann"
        fake.fail_next(404)
        assert list(submissions) == []

    def test_an_unknown_study_is_an_error(self, client: ProlificClient) -> None:
        with refused("platform_unknown"):
            list(client.submissions("nowhere"))

    def test_unknown_statuses_are_kept(self, fake: FakeProlific, client: ProlificClient) -> None:
        study = active_study(client)
        own_submission = fake.reserve(study, "ann")
        fake.set_status(own_submission, "ON THE MOON")
        assert client.submission(own_submission).status == "ON THE MOON"
        assert [one.status for one in client.submissions(study)] == ["ON THE MOON"]

    @pytest.mark.parametrize("wrong", ["", "../studies", "a/b", "a?b=c", "a\n", "x" * 65])
    def test_an_id_that_is_none_is_not_sent(
        self, fake: FakeProlific, client: ProlificClient, wrong: str
    ) -> None:
        with refused("bad_platform_id"):
            client.submission(wrong)
        assert not fake.requests

    def test_what_frees_a_place(self, fake: FakeProlific, client: ProlificClient) -> None:
        study = active_study(client, total_available_places=1)
        for leave in (fake.return_, fake.time_out):
            leave(fake.reserve(study, "ann"))
        assert fake.places_taken(study) == 0


class TestSettling:
    def test_approve_in_chunks(self, fake: FakeProlific, client: ProlificClient) -> None:
        study = active_study(client, total_available_places=2001)
        turns = [fake.reserve(study, f"person{n}") for n in range(2001)]
        client.approve(turns)
        sent = [len(request.body["submission_ids"]) for request in fake.requests[-3:]]
        assert sent == [1000, 1000, 1]
        assert {one["status"] for one in fake.submissions.values()} == {"APPROVED"}
        check_all(fake)

    def test_approve_nobody(self, fake: FakeProlific, client: ProlificClient) -> None:
        client.approve([])
        assert not fake.requests

    def test_reject(self, fake: FakeProlific, client: ProlificClient) -> None:
        own_submission = fake.reserve(active_study(client), "ann")
        fake.complete(own_submission)
        assert client.reject(own_submission, REASON, "FAILED_CHECK").status == "REJECTED"
        assert fake.messages == [(own_submission, REASON)]
        check_all(fake)

    def test_screen_out(self, fake: FakeProlific, client: ProlificClient) -> None:
        own_submission = fake.reserve(active_study(client), "ann")
        assert client.screen_out(own_submission, "OUT1").status == "SCREENED OUT"
        check_all(fake)

    def test_request_a_return(self, fake: FakeProlific, client: ProlificClient) -> None:
        own_submission = fake.reserve(active_study(client), "ann")
        client.request_return(own_submission, ["Withdrew consent"])
        assert fake.messages == [(own_submission, "Withdrew consent")]
        check_all(fake)

    def test_bonuses(self, fake: FakeProlific, client: ProlificClient) -> None:
        study = active_study(client)
        own_submission = fake.reserve(study, "ann")
        fake.reserve(study, "bob")
        bulk = client.create_bonuses(
            study, {own_submission: Decimal("1.5"), "bob": Decimal("0.25")}
        )
        assert fake.requests[-1].body["csv_bonuses"] == f"{own_submission},1.50\nbob,0.25\n"
        assert fake.bonuses[bulk]["paid"] == 0
        client.pay_bonuses(bulk)
        assert fake.bonuses[bulk]["paid"] == 1
        assert fake.submissions[own_submission]["bonus_payments"] == [150]
        check_all(fake)

    @pytest.mark.parametrize("amount", ["0", "-1", "1.005", "NaN", "Infinity"])
    def test_a_bad_amount_is_not_sent(
        self, fake: FakeProlific, client: ProlificClient, amount: str
    ) -> None:
        with refused("bad_amount"):
            client.create_bonuses("study", {"ann": Decimal(amount)})
        assert not fake.requests

    def test_the_list_of_bonuses_is_bounded(self, client: ProlificClient) -> None:
        many = {f"p{n}": Decimal(1) for n in range(BONUS_LIMIT + 1)}
        for amounts in ({}, many):
            with refused("bonus_limit"):
                client.create_bonuses("study", amounts)

    def test_who_did_not_take_part_gets_no_bonus(self, client: ProlificClient) -> None:
        with refused("platform_refused") as told:
            client.create_bonuses(active_study(client), {"eve": Decimal(1)})
        assert "eve" in told.value.message


class TestHooks:
    def test_secret_subscription_confirmation(
        self, fake: FakeProlific, client: ProlificClient
    ) -> None:
        assert client.create_secret("w1") == fake.secrets["w1"]
        made = client.subscribe("w1", "submission.status.change", "https://study.example/hook")
        assert fake.subscriptions[made]["is_enabled"]
        check_all(fake)

    def test_a_wrong_hook_secret_is_refused(
        self, fake: FakeProlific, client: ProlificClient
    ) -> None:
        client.create_secret("w1")
        made = client.subscribe("w1", "study.status.change", "https://study.example/hook")
        with refused("platform_refused"):
            client.confirm_subscription(made, "guess")


class TestFaults:
    def test_429_waits_as_long_as_asked(
        self, fake: FakeProlific, client: ProlificClient, pauses: list[float]
    ) -> None:
        fake.fail_next(429, times=2, retry_after=7)
        assert client.create_study(draft()).status == "UNPUBLISHED"
        assert pauses == [7, 7]
        assert len(fake.studies) == 1

    def test_retry_after_can_be_a_date(
        self, fake: FakeProlific, client: ProlificClient, pauses: list[float]
    ) -> None:
        at = datetime.now(UTC) + timedelta(seconds=20)
        fake.fail_next(429, retry_after=at.strftime("%a, %d %b %Y %H:%M:%S GMT"))
        fake.fail_next(429, retry_after="soon")
        fake.fail_next(429, retry_after="Mon, 01 Jan 99999999999 00:00:00 GMT")
        client.create_study(draft())
        assert 15 < pauses[0] <= 20
        assert pauses[1:] == [0, 0]

    def test_nobody_is_kept_for_long(
        self, fake: FakeProlific, client: ProlificClient, pauses: list[float]
    ) -> None:
        fake.fail_next(429, retry_after=600)
        with pytest.raises(PlatformError) as busy:
            client.study("s1")
        assert busy.value.retry_after_s == 600 > MAX_PAUSE_S
        assert busy.value.is_retryable
        assert not pauses

    def test_429_for_ever(self, fake: FakeProlific, client: ProlificClient) -> None:
        fake.fail_next(429, times=9)
        with refused("platform_busy") as busy:
            client.study("s1")
        assert busy.value.is_retryable
        assert busy.value.platform_status == 429
        assert busy.value.status == 503
        assert len(fake.requests) == 4

    def test_the_default_wait_grows(self, fake: FakeProlific) -> None:
        waits: list[float] = []
        fake.fail_next(503, times=9)
        with (
            ProlificClient(fake.token, base_url=fake.base_url, sleep=waits.append) as patient,
            pytest.raises(PlatformError),
        ):
            patient.study("s1")
        assert len(waits) == 3
        assert 0.5 <= waits[0] < 1.5
        assert 2 <= waits[2] < 3

    def test_5xx_is_tried_again_where_that_is_harmless(
        self, fake: FakeProlific, client: ProlificClient
    ) -> None:
        study = client.create_study(draft()).id
        fake.fail_next(502, times=2)
        assert client.study(study).id == study

    def test_a_study_is_not_made_twice(self, fake: FakeProlific, client: ProlificClient) -> None:
        fake.fail_next(502, is_done=True)
        with refused("platform_broken") as broken:
            client.create_study(draft())
        assert broken.value.may_be_done
        assert not broken.value.is_retryable
        assert len(fake.requests) == len(fake.studies) == 1

    def test_nobody_is_paid_twice(self, fake: FakeProlific, client: ProlificClient) -> None:
        study = active_study(client)
        own_submission = fake.reserve(study, "ann")
        bulk = client.create_bonuses(study, {own_submission: Decimal(1)})
        fake.hang_next(1.5)
        with (
            connect(fake, timeout_s=0.5) as hasty,
            refused("platform_unanswered") as silent,
        ):
            hasty.pay_bonuses(bulk)
        assert silent.value.may_be_done
        assert not silent.value.is_retryable
        assert fake.bonuses[bulk]["paid"] == 1

    def test_a_bonus_is_not_set_up_twice(self, fake: FakeProlific, client: ProlificClient) -> None:
        study = active_study(client)
        own_submission = fake.reserve(study, "ann")
        fake.garble_next("cut")
        with refused("platform_unanswered"):
            client.create_bonuses(study, {own_submission: Decimal(1)})
        assert len(fake.bonuses) == 1

    def test_a_time_out_is_tried_again(self, fake: FakeProlific, client: ProlificClient) -> None:
        study = client.create_study(draft()).id
        fake.hang_next(1.5)
        with connect(fake, timeout_s=0.5) as hasty:
            assert hasty.study(study).id == study
        assert len(fake.requests) > 2

    def test_silence_for_ever(self, fake: FakeProlific) -> None:
        fake.hang_next(1.0, times=2)
        with (
            connect(fake, timeout_s=0.2, attempts=2) as client,
            refused("platform_unanswered") as silent,
        ):
            client.study("s1")
        assert silent.value.is_retryable
        assert silent.value.platform_status is None
        assert len(fake.requests) == 2

    def test_nobody_there(self, fake: FakeProlific) -> None:
        with socket.socket() as free:
            free.bind(("127.0.0.1", 0))
            address = f"http://127.0.0.1:{free.getsockname()[1]}/"
        pauses: list[float] = []
        with (
            connect(fake, base_url=address, sleep=pauses.append) as client,
            refused("platform_unreachable") as gone,
        ):
            client.create_study(draft())
        assert gone.value.is_retryable
        assert len(pauses) == 3

    @pytest.mark.parametrize("kind", ["html", "truncated", "list", "shape", "types", "empty"])
    def test_garbage(self, fake: FakeProlific, client: ProlificClient, kind: str) -> None:
        study = active_study(client)
        own_submission = fake.reserve(study, "ann")
        asked = [
            lambda: client.study(study),
            lambda: client.submission(own_submission),
            lambda: list(client.submissions(study)),
            lambda: client.transition_study(study, "PAUSE"),
            lambda: client.create_secret("w1"),
        ]
        for ask in asked:
            fake.garble_next(kind)
            with refused("platform_nonsense") as garbled:
                ask()
            assert garbled.value.is_retryable

    @pytest.mark.parametrize("kind", ["html", "shape", "types"])
    def test_garbage_after_what_may_be_done(
        self, fake: FakeProlific, client: ProlificClient, kind: str
    ) -> None:
        fake.garble_next(kind)
        with refused("platform_nonsense") as garbled:
            client.create_study(draft())
        assert garbled.value.may_be_done
        assert not garbled.value.is_retryable
        assert len(fake.requests) == 1

    def test_a_connection_cut_off_is_tried_again(
        self, fake: FakeProlific, client: ProlificClient
    ) -> None:
        study = client.create_study(draft()).id
        fake.garble_next("cut")
        assert client.study(study).id == study

    def test_a_redirect_is_not_followed(self, fake: FakeProlific, client: ProlificClient) -> None:
        fake.fail_next(302)
        with refused("platform_moved"):
            client.study("s1")
        assert len(fake.requests) == 1

    @pytest.mark.parametrize(
        ("status", "code"),
        [(401, "platform_token_refused"), (403, "platform_forbidden"), (404, "platform_unknown")],
    )
    def test_refusals_are_not_repeated(
        self, fake: FakeProlific, client: ProlificClient, status: int, code: str
    ) -> None:
        fake.fail_next(status)
        with refused(code) as told:
            client.study("s1")
        assert told.value.platform_status == status
        assert len(fake.requests) == 1


class TestToken:
    def test_a_wrong_token_is_refused_without_showing_it(
        self, fake: FakeProlific, caplog: pytest.LogCaptureFixture
    ) -> None:
        caplog.set_level(logging.DEBUG)
        with connect(fake, token="wrong-token-123") as client:
            assert "wrong-token-123" not in repr(client)
            with refused("platform_token_refused") as told:
                client.study("s1")
        assert "wrong-token-123" not in caplog.text
        assert_hidden("wrong-token-123", told.value)

    def test_an_error_that_quotes_the_token(self, fake: FakeProlific) -> None:
        """A study's name with the token in it comes back in the refusal."""
        with connect(fake) as client, refused("platform_refused") as told:
            client.create_bonuses(active_study(client), {fake.token: Decimal(1)})
        assert_hidden(fake.token, told.value)

    @pytest.mark.parametrize("fault", ["hang", "cut", "refused", "broken"])
    def test_no_failure_shows_it(self, fake: FakeProlific, fault: str) -> None:
        faults = {
            "hang": lambda: fake.hang_next(0.6),
            "cut": lambda: fake.garble_next("cut"),
            "refused": lambda: fake.fail_next(400),
            "broken": lambda: fake.fail_next(500),
        }
        faults[fault]()
        with (
            connect(fake, attempts=1, timeout_s=0.2) as client,
            pytest.raises(PlatformError) as told,
        ):
            client.study("s1")
        assert_hidden(fake.token, told.value)

    @pytest.mark.parametrize("token", ["", "two words", "line\nbreak", "schlüssel"])
    def test_what_cannot_be_a_token(self, token: str) -> None:
        with refused("bad_token") as told:
            ProlificClient(token)
        assert not token or token not in str(told.value)


def assert_hidden(token: str, error: PlatformError) -> None:
    text = "".join(traceback.format_exception(error)) + repr(error) + str(vars(error))
    assert token not in text
    assert error.__cause__ is None
    assert not isinstance(error.__context__, httpx.HTTPError)


class TestFake:
    def test_events_out_of_order_and_twice(
        self, fake: FakeProlific, client: ProlificClient
    ) -> None:
        study = active_study(client)
        own_submission = fake.reserve(study, "ann")
        fake.start(own_submission)
        fake.complete(own_submission, "CHECK1")
        mine = [one for one in fake.events if one.payload["resource_id"] == own_submission]
        statuses = [one.payload["status"] for one in mine]
        assert statuses == ["RESERVED", "ACTIVE", "AWAITING REVIEW"]
        client.create_secret("w1")
        with FakeProlific() as target:
            chosen = [mine[2], mine[0], mine[2]]
            assert fake.deliver(f"{target.origin}/hook", chosen) == [401, 401, 401]
            came = [request.body["status"] for request in target.requests]
        assert came == ["AWAITING REVIEW", "RESERVED", "AWAITING REVIEW"]

    def test_a_full_study_takes_nobody(self, fake: FakeProlific, client: ProlificClient) -> None:
        study = active_study(client, total_available_places=1)
        own_submission = fake.reserve(study, "ann")
        with pytest.raises(Refusal):
            fake.reserve(study, "bob")
        fake.return_(own_submission)
        fake.reserve(study, "bob")

    def test_requests_that_are_not_documented_are_seen(self) -> None:
        with pytest.raises(AssertionError, match="everything"):
            check_request("DELETE", "/api/v1/everything/", None)
        with pytest.raises(AssertionError, match="action"):
            check_request("POST", "/api/v1/studies/s1/transition/", {})
        with pytest.raises(AssertionError, match="now"):
            check_request("POST", "/api/v1/studies/s1/transition/", {"action": "STOP", "now": 1})


@pytest.mark.parametrize("number", [True, "5", float("nan"), float("inf"), 10**400])
def test_a_number_that_is_none_is_an_unreadable_answer(number):
    answer = {"id": "s1", "status": "ACTIVE", "total_available_places": number}
    with pytest.raises(Unreadable):
        read_study(answer)
