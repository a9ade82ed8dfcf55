"""A study on Prolific from publishing to paying, against a platform that speaks real HTTP."""

import base64
import time
from datetime import timedelta
from decimal import Decimal

import pytest
from django.test import Client
from django.urls import reverse
from django.utils import timezone

from annotation.models import Participation, Place, Rating
from annotation.services.planning import plan_hits
from jobs.clock import database_now
from recruitment.ledger import ledger
from recruitment.messages import NO_RESULT
from recruitment.models import Channel, Payment, PlatformEvent, Submission
from recruitment.platforms import PlatformReport, SubmissionStatus
from recruitment.platforms.errors import PlatformError
from recruitment.platforms.prolific.client import ProlificClient
from recruitment.services.channels import save_channel
from recruitment.services.entry import Entrant, give_consent
from recruitment.services.payments import approve, pay, reject, settle_payment
from recruitment.services.platform_actions import ACTIONS, enqueue_action
from recruitment.services.platform_sync import (
    apply_reports,
    confirm_participation,
    publish,
    sync_channel,
    transition_platform_study,
)
from recruitment.tasks import platform_action_task, sync_channels_task
from studies.models import Study
from tests.annotation.annotators import Annotator, form_of
from tests.annotation.tallies import recount, stored_tallies
from tests.pages import codes_on, page_of
from tests.recruitment.platforms.fake_prolific import FakeProlific
from tests.recruitment.platforms.openapi import check_request
from tests.refusals import refused
from tests.studies.factories import make_open_study, make_study, open_knowingly

pytestmark = [pytest.mark.django_db, pytest.mark.enable_socket]

LONG = (
    "We are sorry: the answers to both attention checks were wrong, so we cannot count this work."
    * 2
)


@pytest.fixture
def fake(fake_prolific):
    return fake_prolific


def on_prolific(
    fake: FakeProlific,
    *,
    is_secure: bool = True,
    places: int = 10,
    screen_out_reward: str = "",
    **design,
) -> Channel:
    design = {"comparisons_per_hit": 1, "hits_per_annotator": 2, **design}
    study = make_study(
        instances=4, reward=Decimal("1.50"), minutes_per_hit=5, currency="GBP", **design
    )
    plan_hits(study=study)
    study = open_knowingly(study)
    channel = Channel(
        study=study,
        provider="prolific",
        settings={
            "is_secure": is_secure,
            "description": "Compare texts.",
            "workspace": "w1",
            "screen_out_reward": screen_out_reward,
        },
    )
    save_channel(channel=channel, token=fake.token)
    entry = f"http://testserver{reverse('recruitment:arrive', args=[study.pk, 'prolific'])}"
    from recruitment.platforms import get_platform

    entry += "?" + get_platform("prolific").entry_parameters
    publish(channel=channel, participants=places, entry_url=entry)
    transition_platform_study(channel=channel, action="publish")
    return channel


def asked(channel: Channel, action: str, **arguments: str) -> Channel:
    """Press a button; tasks run at once here."""
    enqueue_action(channel=channel, action=action, **arguments)
    channel.refresh_from_db()
    return channel


class Participant(Annotator):
    """A browser that follows Prolific's own link."""

    def follow(self, url: str):
        return self.client.get(url.replace("http://testserver", ""), follow=True)

    def agree(self):
        version = self.study.versions.count()
        self.client.post(f"/s/{self.study.pk}/", {"choice": "agree", "version": version})
        return self.client.post(self.at("guidelines"), follow=True)


def participant(fake: FakeProlific, channel: Channel, name: str = "p1"):
    submission = fake.reserve(channel.external_id, name)
    url = fake.start(submission)
    browser = Participant(channel.study)
    browser.follow(url)
    browser.agree()
    return browser, submission, url


def work(browser: Annotator, hits: int = 2):
    for _ in range(hits):
        browser.choose()
    return browser.here()


def test_it_works(fake):
    channel = on_prolific(fake)
    browser, submission, _ = participant(fake, channel)
    end = work(browser).content.decode()
    code = channel.settings["codes"]["completed"]
    assert f"https://app.prolific.com/submissions/complete?cc={code}" in end
    assert fake.complete(submission, code) == "AWAITING REVIEW"
    assert sync_channel(channel=channel) == 1
    participation = Participation.objects.get()
    assert (participation.submission.platform_status, participation.submission.entered_code) == (
        "AWAITING REVIEW",
        code,
    )
    approve(participations=[participation])
    payment = Payment.objects.get()
    assert (payment.kind, payment.amount, payment.status) == ("reward", Decimal("1.50"), "paid")
    for request in fake.requests:
        if request.path.startswith("/api/"):
            check_request(request.method, request.path, request.body)


def test_the_study_on_the_platform_says_what_ours_promises(fake):
    channel = on_prolific(fake)
    made = fake.studies[channel.external_id]
    assert (made["reward"], made["estimated_completion_time"]) == (150, 10)
    assert made["maximum_allowed_time"] >= 2 + 20 + 2 * 10**0.5
    assert {code["code_type"] for code in made["completion_codes"]} == {
        "COMPLETED",
        "FAILED_ATTENTION_CHECK",
        "NO_CONSENT",
        "SCREENED_OUT",
        "OTHER",
    }
    assert len({code["code"] for code in made["completion_codes"]}) == 5
    publish(channel=channel, participants=12, entry_url="")
    assert fake.studies[channel.external_id]["total_available_places"] == 12
    with refused("fewer_places"):
        publish(channel=channel, participants=3, entry_url="")


def test_a_signed_link_lets_in_once_and_a_reload_needs_it_no_more(fake):
    channel = on_prolific(fake)
    browser, _, url = participant(fake, channel)
    assert form_of(browser.here()).choices
    assert form_of(browser.follow(url)).choices  # reloaded: still in, at the same place
    thief = Participant(channel.study)
    answer = thief.follow(url)
    assert answer.status_code == 403
    assert codes_on(answer) == {"entry_replayed"}
    assert Participation.objects.count() == 1


def test_expired_forged_and_missing_signatures_reserve_nothing(fake):
    channel = on_prolific(fake)
    submission = fake.reserve(channel.external_id, "p1")
    url = fake.start(submission)
    entry = channel.settings["entry_url"]
    plain, token = url.split("&prolific_token=")
    old = fake.entry_token(entry, submission, now=timezone.now() - timedelta(minutes=5))
    another = fake.entry_token(entry, "f" * 24)
    for bad, code in (
        (f"{plain}&prolific_token={old}", "entry_expired"),
        (f"{plain}&prolific_token={another}", "entry_forged"),
        (plain, "entry_unsigned"),
    ):
        answer = Participant(channel.study).follow(bad)
        assert (answer.status_code, codes_on(answer)) == (403, {code})
    changed = token[:-6] + ("AAAAAA" if not token.endswith("AAAAAA") else "BBBBBB")
    assert Participant(channel.study).follow(f"{plain}&prolific_token={changed}").status_code == 403
    assert not Participation.objects.exists()
    assert not Place.objects.exclude(assignment=None).exists()


def test_without_a_signature_the_platform_is_asked_before_a_place_is_taken(fake):
    channel = on_prolific(fake, is_secure=False)
    submission = fake.reserve(channel.external_id, "p1")
    browser = Participant(channel.study)
    browser.follow(fake.entry_url(submission))  # not started: reserved only
    assert page_of(browser.agree()) == "waiting"
    assert not Place.objects.exclude(assignment=None).exists()
    fake.start(submission)
    Submission.objects.update(asked_platform_at=None)
    browser.here()
    browser.client.post(browser.at("guidelines"))
    assert form_of(browser.here()).choices


def test_random_ids_wait_for_ever(fake):
    channel = on_prolific(fake, is_secure=False)
    entry = reverse("recruitment:arrive", args=[channel.study_id, "prolific"])
    for n in range(5):
        browser = Participant(channel.study)
        ids = f"PROLIFIC_PID=p{n}&STUDY_ID={channel.external_id}&SESSION_ID=s{n}"
        browser.follow(f"{entry}?{ids}")
        browser.agree()
        Submission.objects.update(asked_platform_at=None)
        assert page_of(browser.here()) == "waiting"
    assert not Place.objects.exclude(assignment=None).exists()
    elsewhere = Participant(channel.study).follow(
        f"{entry}?PROLIFIC_PID=p&STUDY_ID=other&SESSION_ID=s"
    )
    assert codes_on(elsewhere) == {"other_study"}


def test_while_the_platform_does_not_answer_the_page_waits(fake):
    channel = on_prolific(fake, is_secure=False)
    submission = fake.reserve(channel.external_id, "p1")
    fake.start(submission)
    browser = Participant(channel.study)
    browser.follow(fake.entry_url(submission))
    fake.fail_next(400, times=1)
    assert page_of(browser.agree()) == "waiting"
    Submission.objects.update(asked_platform_at=None)
    assert page_of(browser.here()) == "waiting"  # asked, and answered this time
    assert form_of(browser.here()).choices


def test_the_last_page_has_its_code_while_the_platform_is_away(fake):
    channel = on_prolific(fake)
    browser, _, _ = participant(fake, channel)
    fake.hang_next(20, times=5)
    begun = time.monotonic()
    assert channel.settings["codes"]["completed"] in work(browser).content.decode()
    assert time.monotonic() - begun < 15
    assert len(fake._faults) == 5  # it was not asked


def test_each_ending_has_its_own_code(fake):
    channel = on_prolific(fake)
    codes = channel.settings["codes"]
    submission = fake.reserve(channel.external_id, "p1")
    decliner = Participant(channel.study)
    decliner.follow(fake.start(submission))
    declined = decliner.client.post(
        f"/s/{channel.study_id}/", {"choice": "decline", "version": 1}
    ).content.decode()
    assert codes["no_consent"] in declined
    assert not Participation.objects.exists()
    browser, _, _ = participant(fake, channel, "p2")
    browser.here()
    for status, ending in (("screened_out", "screened_out"), ("stopped", "failed_check")):
        Participation.objects.update(status=status)
        page = browser.here().content.decode()
        assert codes[ending] in page
        assert codes["completed"] not in page


@pytest.mark.parametrize("status", ["RETURNED", "TIMED-OUT", "REJECTED"])
def test_what_leaves_on_the_platform_leaves_here_at_once_and_comes_back(fake, status):
    channel = on_prolific(fake)
    browser, submission, _ = participant(fake, channel)
    work(browser)
    study = channel.study
    assert Place.objects.filter(completed_at__isnull=False).count() == 2
    fake.set_status(submission, status)
    sync_channel(channel=channel)
    assert Place.objects.filter(completed_at__isnull=False).count() == 0
    assert Rating.objects.filter(excluded=True).count() == 2
    assert stored_tallies(study=study) == +recount(study=study)
    fake.set_status(submission, "AWAITING REVIEW")
    sync_channel(channel=channel)
    assert Place.objects.filter(completed_at__isnull=False).count() == 2
    assert Rating.objects.counted().count() == 2
    assert stored_tallies(study=study) == +recount(study=study)


def test_a_replacement_takes_the_place_that_a_return_freed(fake):
    channel = on_prolific(fake, ratings_per_hit=1, hits_per_annotator=4)
    browser, submission, _ = participant(fake, channel)
    work(browser, 4)
    fake.return_(submission)
    sync_channel(channel=channel)
    other, _, _ = participant(fake, channel, "p2")
    work(other, 4)
    fake.set_status(submission, "ACTIVE")
    sync_channel(channel=channel)
    counted = Rating.objects.counted()
    assert set(counted.values_list("rater__external_id", flat=True)) == {"p2"}
    assert Rating.objects.filter(surplus=True, rater__external_id="p1").count() == 4


def test_unknown_words_of_the_platform_change_nothing_here(fake):
    channel = on_prolific(fake)
    browser, submission, _ = participant(fake, channel)
    work(browser)
    fake.set_status(submission, "SOMETHING NEW")
    sync_channel(channel=channel)
    assert Participation.objects.get().submission.platform_status == "SOMETHING NEW"
    assert Rating.objects.counted().count() == 2


def test_webhooks_are_let_in_by_their_signature_and_only_say_where_to_look(
    fake, live_server, django_capture_on_commit_callbacks
):
    channel = on_prolific(fake)
    browser, submission, _ = participant(fake, channel)
    work(browser)
    from recruitment.services.platform_sync import subscribe_webhook

    address = reverse("recruitment:event", args=[channel.study_id, "prolific"])
    subscribe_webhook(channel=channel, events_url=f"http://testserver{address}")
    fake.return_(submission)
    fake.set_status(submission, "AWAITING REVIEW")  # taken back in the meantime
    returned, back = fake.events[-2:]

    def post(event, **signing):
        headers, body = fake.event(event, **signing)
        with django_capture_on_commit_callbacks(execute=True):
            return (
                Client()
                .post(address, body, content_type="application/json", headers=headers)
                .status_code
            )

    assert post(returned, secret="guessed") == 403
    assert post(returned, sent_at=timezone.now() - timedelta(hours=1)) == 403
    assert not PlatformEvent.objects.exclude(event_id__startswith="entry:").exists()
    # Out of order and twice, because only the platform's current state counts.
    at = timezone.now()
    assert [post(event, sent_at=at) for event in (back, returned, returned)] == [204, 204, 204]
    assert PlatformEvent.objects.exclude(event_id__startswith="entry:").count() == 2
    assert Participation.objects.get().submission.platform_status == "AWAITING REVIEW"
    assert Rating.objects.counted().count() == 2
    fake.return_(submission)
    assert post(fake.events[-1], sent_at=timezone.now() + timedelta(seconds=1)) == 204
    assert Rating.objects.counted().count() == 0


def test_who_never_came_but_stands_on_the_platform_is_known_by_the_ledger(fake):
    channel = on_prolific(fake)
    submission = fake.reserve(channel.external_id, "ghost")
    fake.start(submission)
    fake.complete(submission, "NOCODE")
    sync_channel(channel=channel)
    ghost = Participation.objects.get()
    assert (ghost.consented_at, ghost.submission.entered_code) == (None, "NOCODE")


def test_rejecting_follows_the_platforms_rules_and_changes_nothing_before(fake):
    channel = on_prolific(fake)
    browser, submission, _ = participant(fake, channel)
    work(browser)
    fake.complete(submission, channel.settings["codes"]["completed"])
    participation = Participation.objects.get()
    for message, category, code in (
        ("x" * 99, "OTHER", "message_length"),
        (" " * 200, "OTHER", "message_length"),
        ("x" * 1001, "OTHER", "message_length"),
        (LONG, "BORING", "unknown_category"),
    ):
        with refused(code):
            reject(participation=participation, message=message, category=category)
    assert fake.submissions[submission]["status"] == "AWAITING REVIEW"
    assert Rating.objects.counted().count() == 2
    reject(participation=participation, message=LONG, category="FAILED_CHECK")
    assert fake.submissions[submission]["status"] == "REJECTED"
    assert Rating.objects.counted().count() == 0


def test_a_bonus_is_paid_once_and_a_lost_answer_is_not_paid_again(fake):
    channel = on_prolific(fake)
    browser, submission, _ = participant(fake, channel)
    work(browser)
    fake.complete(submission, channel.settings["codes"]["completed"])
    participation = Participation.objects.get()
    bonus = pay(participation=participation, kind=Payment.Kind.BONUS, amount=Decimal("0.50"))
    assert (bonus.status, len(fake.bonuses)) == ("paid", 1)
    # The set-up fails, so nobody was paid, and the payment may be requested again.
    fake.fail_next(500)
    with refused("platform_broken"):
        pay(participation=participation, kind=Payment.Kind.BONUS, amount=Decimal("0.70"))
    assert len(fake.bonuses) == 1
    assert Payment.objects.get(amount=Decimal("0.70")).status == "refused"
    with refused("no_amount"):
        pay(participation=participation, kind=Payment.Kind.BONUS, amount=Decimal(0))


def test_a_platform_that_fails_is_said_and_asked_again(fake):
    channel = on_prolific(fake)
    participant(fake, channel)
    fake.garble_next("html", times=9)
    with refused("platform_nonsense") as garbled:
        sync_channel(channel=channel)
    assert channel.sync_problem == garbled.value.message
    channel.problem = NO_RESULT
    channel.save()
    fake.calm()
    sync_channel(channel=channel)
    channel.refresh_from_db()
    assert channel.sync_problem == ""
    assert channel.problem == NO_RESULT  # it is of something else


def test_the_token_is_unreadable_in_the_database(fake):
    channel = on_prolific(fake)
    stored = Channel.objects.values_list("secret", flat=True).get()
    assert fake.token not in stored
    assert channel.secret == stored


def test_the_study_is_not_entered_by_the_open_link(fake):
    channel = on_prolific(fake)
    answer = Client().get(f"/s/{channel.study_id}/")
    assert answer.status_code == 404
    assert codes_on(answer) == {"no_such_channel"}
    assert Study.objects.count() == 1


def test_who_is_complete_on_the_platform_and_not_here_is_named_and_not_paid(fake):
    channel = on_prolific(fake)
    worker, submission, _ = participant(fake, channel)
    work(worker)
    code = channel.settings["codes"]["completed"]
    fake.complete(submission, code)
    idle = fake.reserve(channel.external_id, "idle")
    fake.start(idle)
    fake.complete(idle, code)  # told by the first one
    sync_channel(channel=channel)
    asked(channel, "approve-all")
    assert fake.submissions[submission]["status"] == "APPROVED"
    assert fake.submissions[idle]["status"] == "AWAITING REVIEW"
    assert [e.participation.rater.external_id for e in ledger(channel.study).rows_on("stuck")] == [
        "idle"
    ]
    ghost = Participation.objects.get(rater__external_id="idle")
    asked(channel, "ask-to-return", participation=ghost.public_id)
    assert any(path.endswith("/request-return/") for path in (r.path for r in fake.requests))


def test_codes_differ_between_studies_and_cannot_be_guessed(fake):
    first, second = on_prolific(fake), on_prolific(fake)
    codes = [*first.settings["codes"].values(), *second.settings["codes"].values()]
    assert len(set(codes)) == 12
    assert all(len(code) == 8 for code in codes)


def submitted(fake, channel: Channel, name: str = "p1") -> Participation:
    browser, submission, _ = participant(fake, channel, name)
    work(browser)
    fake.complete(submission, channel.settings["codes"]["completed"])
    return Participation.objects.get(submission_id=submission)


def test_money_that_nobody_knows_of_stays_asked_until_somebody_looked(fake, monkeypatch):
    channel = on_prolific(fake)
    participation = submitted(fake, channel)
    pay_bonuses = ProlificClient.pay_bonuses

    def lost(client, bulk):
        fake.fail_next(500, is_done=True)  # paid, and the answer never came
        pay_bonuses(client, bulk)

    monkeypatch.setattr(ProlificClient, "pay_bonuses", lost)
    with pytest.raises(PlatformError) as caught:
        pay(participation=participation, kind=Payment.Kind.BONUS, amount=Decimal("0.70"))
    assert caught.value.may_be_done
    payment = Payment.objects.get()
    assert payment.status == "asked"
    assert payment.external_id in fake.bonuses
    assert ledger(channel.study).money.rewards == Decimal("0.70")
    settle_payment(payment=payment, was_paid=False)
    assert ledger(channel.study).money.rewards == 0
    with refused("settled_already"):
        settle_payment(payment=payment, was_paid=True)


def test_a_message_that_comes_again_pays_nobody_again(fake, monkeypatch):
    channel = on_prolific(fake)
    participation = submitted(fake, channel)
    sent = []
    monkeypatch.setattr(platform_action_task, "apply_async", lambda args, queue: sent.append(args))
    bonus = {"participation": participation.public_id, "kind": "bonus", "amount": "0.50"}
    enqueue_action(channel=channel, action="pay", **bonus)
    with refused("action_pending"):
        enqueue_action(channel=channel, action="pay", **bonus)
    for _ in range(3):
        platform_action_task(*sent[0])
    assert len(fake.bonuses) == Payment.objects.count() == 1
    channel.refresh_from_db()
    assert (channel.pending, channel.problem) == ("", "")


def test_a_worker_that_died_blocks_the_platform_no_longer_than_its_timeout(fake, monkeypatch):
    channel = on_prolific(fake)
    monkeypatch.setattr(platform_action_task, "apply_async", lambda args, queue: None)
    enqueue_action(channel=channel, action="sync")
    with refused("action_pending"):
        enqueue_action(channel=channel, action="sync")
    Channel.objects.update(pending_at=timezone.now() - timedelta(minutes=11))
    enqueue_action(channel=channel, action="sync")
    assert Channel.objects.get().pending == "sync"


def test_who_was_screened_out_is_paid_for_it_once(fake):
    channel = on_prolific(fake, screen_out_reward="0.20")
    _, submission, _ = participant(fake, channel)
    fake.complete(submission, channel.settings["codes"]["screened_out"])
    Participation.objects.update(status="screened_out")
    participation = Participation.objects.get()
    assert [e.participation for e in ledger(channel.study).rows_on("screened_out")] == [
        participation
    ]
    once = {"kind": "screen_out", "amount": "0.20", "participation": participation.public_id}
    assert asked(channel, "pay", **once).problem == ""
    assert fake.submissions[submission]["status"] == "SCREENED OUT"
    assert ledger(channel.study).rows_on("screened_out") == []
    with refused("paid_already") as again:
        pay(participation=participation, kind=Payment.Kind.SCREEN_OUT, amount=Decimal("0.20"))
    assert asked(channel, "pay", **once).problem == again.value.message
    sync_channel(channel=channel)
    assert (Payment.objects.get().status, Payment.objects.get().amount) == ("paid", Decimal("0.20"))


def test_who_is_screened_out_where_nothing_was_promised_is_not_paid(fake):
    channel = on_prolific(fake)
    participant(fake, channel)
    Participation.objects.update(status="screened_out")
    assert ledger(channel.study).rows_on("screened_out") == []
    with refused("no_screen_out_pay"):
        pay(
            participation=Participation.objects.get(),
            kind=Payment.Kind.SCREEN_OUT,
            amount=Decimal("0.20"),
        )
    assert Payment.objects.get().status == "refused"


def with_old_keys(channel: Channel, age: timedelta = timedelta(hours=1)) -> None:
    """As if Prolific had changed its keys since they were fetched."""
    channel.refresh_from_db()
    for key in channel.settings["keys"]:
        key["kid"] = "old"
    channel.settings["keys_at"] = (timezone.now() - age).isoformat()
    channel.save(update_fields=["settings"])


def asked_for_keys(fake: FakeProlific) -> int:
    return sum("jwks" in request.path for request in fake.requests)


def looked_up(fake: FakeProlific) -> list[str]:
    return [r.path for r in fake.requests if r.method == "GET" and "/submissions/" in r.path]


def test_new_keys_of_prolific_lock_nobody_out_and_nothing_is_looked_up_by_id(fake):
    channel = on_prolific(fake)
    with_old_keys(channel)
    submission = fake.reserve(channel.external_id, "p1")
    url = fake.start(submission)
    browser = Participant(channel.study)
    first = browser.follow(url)
    assert page_of(first) == "checking_link"
    assert not browser.client.cookies  # not in yet
    browser.follow(url)  # as the page does by itself: the worker has fetched the keys
    browser.agree()
    assert Participation.objects.get().confirmed_at
    assert form_of(browser.here()).choices
    assert looked_up(fake) == []


def test_an_unknown_key_lets_nobody_in_by_ids(fake):
    channel = on_prolific(fake)
    submission = fake.reserve(channel.external_id, "p1")
    plain = fake.start(submission).split("&prolific_token=")[0]
    entry = channel.settings["entry_url"]
    token = fake.entry_token(entry, submission)
    _, claims, signature = token.split(".")
    unknown = base64.urlsafe_b64encode(b'{"alg":"RS256","kid":"unknown"}').decode().rstrip("=")
    forged = f"{plain}&prolific_token={unknown}.{claims}.{signature}"
    with_old_keys(channel)
    thief = Participant(channel.study)
    answers = [thief.follow(forged) for _ in range(4)]
    assert [answer.status_code for answer in answers] == [200, 403, 403, 403]  # waits, then refused
    assert asked_for_keys(fake) <= 2  # when it was published, and once more
    assert thief.client.get(f"/s/{channel.study_id}/").status_code == 404
    assert not Participation.objects.exists()
    assert looked_up(fake) == []


def test_while_the_keys_cannot_be_fetched_the_link_waits_and_no_id_is_looked_up(fake, settings):
    channel = on_prolific(fake)
    with_old_keys(channel)
    settings.TIEBREAK_PROLIFIC_KEYS_URL = "http://127.0.0.1:9/none"
    submission = fake.reserve(channel.external_id, "p1")
    url = fake.start(submission)
    browser = Participant(channel.study)
    for _ in range(2):
        assert page_of(browser.follow(url)) == "checking_link"
    assert not Participation.objects.exists()
    assert looked_up(fake) == []


def test_an_old_link_with_an_unknown_key_does_not_wait_for_ever(fake, settings):
    channel = on_prolific(fake)
    with_old_keys(channel)
    settings.TIEBREAK_PROLIFIC_KEYS_URL = "http://127.0.0.1:9/none"
    submission = fake.reserve(channel.external_id, "p1")
    plain = fake.start(submission).split("&prolific_token=")[0]
    at = timezone.now() - timedelta(minutes=5)
    old = fake.entry_token(channel.settings["entry_url"], submission, now=at)
    for token in (old, "nonsense", "a.b.c"):
        answer = Participant(channel.study).follow(f"{plain}&prolific_token={token}")
        assert answer.status_code == 403


def test_who_agreed_unsigned_is_not_looked_up_once_links_must_be_signed(fake):
    channel = on_prolific(fake)
    submission = fake.reserve(channel.external_id, "p1")
    url = fake.start(submission)
    give_consent(
        study=channel.study,
        entrant=Entrant(
            provider="prolific",
            external_id="p1",
            submission_id=submission,
            channel=channel,
            is_confirmed=False,
        ),
    )
    waiting = Participation.objects.get()
    assert confirm_participation(participation=waiting) is False
    assert looked_up(fake) == []
    Participant(channel.study).follow(url)  # signed, it proves who they are
    waiting.refresh_from_db()
    assert waiting.confirmed_at


def test_keys_out_of_reach_stop_no_round(fake, settings):
    channel = on_prolific(fake)
    _, submission, _ = participant(fake, channel)
    channel.refresh_from_db()
    channel.settings["keys_at"] = (timezone.now() - timedelta(hours=13)).isoformat()
    channel.save(update_fields=["settings"])
    settings.TIEBREAK_PROLIFIC_KEYS_URL = "http://127.0.0.1:9/none"
    fake.return_(submission)
    sync_channel(channel=channel)
    assert Participation.objects.get().status == "returned"


def test_one_odd_error_does_not_end_the_round(monkeypatch, caplog):
    for n in range(3):
        Channel.objects.create(
            study=make_open_study(instances=1), provider="prolific", external_id=f"x{n}"
        )
    seen = []

    def sync(channel):
        seen.append(channel.external_id)
        if channel.external_id == "x0":
            raise ValueError("odd")

    monkeypatch.setattr("recruitment.tasks.sync_channel", sync)
    sync_channels_task()
    assert seen == ["x0", "x1", "x2"]
    assert "ValueError" in caplog.text


def test_what_took_too_long_leaves_what_was_asked_since_alone(fake, monkeypatch):
    channel, sent = on_prolific(fake), []
    monkeypatch.setattr(platform_action_task, "apply_async", lambda args, queue: sent.append(args))
    enqueue_action(channel=channel, action="approve-all")

    def slow(channel, _arguments):
        Channel.objects.update(pending_at=timezone.now() - timedelta(minutes=11))
        enqueue_action(channel=channel, action="pause")

    monkeypatch.setitem(ACTIONS, "approve-all", slow)
    for message in sent:
        platform_action_task(*message)
    channel.refresh_from_db()
    assert fake.studies[channel.external_id]["status"] == "PAUSED"
    assert (channel.pending, channel.problem) == ("", "")


def test_who_claims_another_persons_submission_first_keeps_nobody_out(fake):
    channel = on_prolific(fake, is_secure=False)
    claims = {"provider": "prolific", "submission_id": "v9", "channel": channel}
    for person in ("eve", "bob"):
        entrant = Entrant(external_id=person, is_confirmed=False, **claims)
        assert give_consent(study=channel.study, entrant=entrant).rater.external_id == person
    report = PlatformReport("v9", "bob", "ACTIVE", SubmissionStatus.WORKING)
    apply_reports(channel=channel, reports=[report], now=database_now())
    reported = Submission.objects.get(platform_status="ACTIVE")
    assert reported.participation.rater.external_id == "bob"


def test_settings_saved_during_a_round_stay(fake):
    channel = on_prolific(fake)
    read_before = Channel.objects.get()
    channel.settings["fee_percent"] = "20"
    save_channel(channel=channel)
    read_before.settings["keys_at"] = ""
    sync_channel(channel=read_before)
    assert Channel.objects.get().settings["fee_percent"] == "20"
    assert Channel.objects.get().external_id


def test_whom_a_round_met_before_they_agreed_is_confirmed_by_their_signature(fake):
    channel = on_prolific(fake)
    submission = fake.reserve(channel.external_id, "p1")
    fake.start(submission)
    sync_channel(channel=channel)
    met = Participation.objects.get()
    assert (met.consented_at, met.confirmed_at) == (None, None)
    participation = give_consent(
        study=channel.study,
        entrant=Entrant(
            provider="prolific",
            external_id="p1",
            submission_id=submission,
            channel=channel,
            is_confirmed=True,
        ),
    )
    assert participation.pk == met.pk
    assert participation.confirmed_at
    assert participation.consented_at
