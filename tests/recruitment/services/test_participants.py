"""What researchers do about participants: money moves once, and refusals say why."""

from decimal import Decimal
from io import StringIO

import pytest
from django.core.management import CommandError, call_command
from django.test import Client
from django.urls import reverse

from annotation.models import Participation, Rating
from annotation.services.exclusion import exclude_work
from annotation.services.participations import finish_participation
from recruitment.confirmations import paying_all
from recruitment.costs import plan_counts, spending_of
from recruitment.ledger import ledger
from recruitment.models import Channel, Payment, Submission
from recruitment.participant_confirmations import paying, paying_awaiting
from recruitment.services.participants import (
    Chosen,
    awaiting_payment,
    pay_awaiting,
    pay_bonus,
    pay_participant,
    reinstate_participant,
    reject_submission,
)
from recruitment.services.platform_actions import enqueue_action
from recruitment.services.platform_sync import sync_channel
from studies.models import Study, StudyEvent, Unit
from tests.confirming import post_confirmed
from tests.pages import codes_on, levels_on, numbers_in
from tests.recruitment.platforms.fake_prolific import FakeProlific
from tests.recruitment.platforms.openapi import check_request
from tests.recruitment.platforms.test_prolific import LONG, on_prolific, participant, work
from tests.recruitment.views.test_ledger import complete, paying_study
from tests.refusals import refused
from tests.studies.factories import make_participation

pytestmark = [pytest.mark.django_db, pytest.mark.enable_socket]
BONUS = {"amount": Decimal("0.50"), "reason": "For the time it took.", "request_key": "k1"}


def two_who_completed(**design):
    study = paying_study(**design)
    people = [make_participation(study, name) for name in ("ann", "bob")]
    for person in people:
        complete(person)
        finish_participation(participation=person)
    return study, people


def submitted(
    fake_prolific: FakeProlific, names=("p1",), **design
) -> tuple[Channel, list[Participation]]:
    """A study on Prolific whose participants completed everything and submitted."""
    channel = on_prolific(fake_prolific, **design)
    for name in names:
        browser, submission, _ = participant(fake_prolific, channel, name)
        work(browser)
        fake_prolific.complete(submission, channel.settings["codes"]["completed"])
    sync_channel(channel=channel)
    return channel, list(Participation.objects.order_by("pk"))


def approvals(fake_prolific: FakeProlific) -> list[list[str]]:
    requests = [one for one in fake_prolific.requests if one.path.endswith("/bulk-approve/")]
    for request in requests:
        check_request(request.method, request.path, request.body)
    return [request.body["submission_ids"] for request in requests]


def test_all_who_await_payment_are_marked_as_paid_once():
    study, people = two_who_completed()
    assert pay_awaiting(study=study, total=Decimal("4.00")).recorded == 2
    with refused("nobody_awaits_payment"):
        pay_awaiting(study=study, total=Decimal("4.00"))
    with refused("not_awaiting_payment"):
        pay_awaiting(study=study, chosen=Chosen((people[0].public_id,)), total=Decimal("2.00"))
    assert [str(payment.amount) for payment in Payment.objects.all()] == ["2.00", "2.00"]
    assert study.events.get(verb=StudyEvent.Verb.PAY).details["amount"] == "4.00"


def test_nobody_is_paid_if_the_sum_is_not_the_one_that_was_seen():
    study, people = two_who_completed()
    with refused("total_differs"):
        pay_awaiting(study=study, total=Decimal("2.00"))
    with refused("nobody_selected"):
        pay_awaiting(study=study, chosen=Chosen(()), total=Decimal(0))
    with refused("not_awaiting_payment"):
        chosen = Chosen((people[0].public_id, "somebody"))
        pay_awaiting(study=study, chosen=chosen, total=Decimal("2.00"))
    assert not Payment.objects.exists()


def test_a_payment_that_was_recorded_meanwhile_keeps_nobody_else_from_being_paid(monkeypatch):
    study, people = two_who_completed()
    rows = ledger(study).rows_on("awaiting_payment")
    pay_participant(participation=people[0])
    monkeypatch.setattr("recruitment.services.participants.payable", lambda _: rows)
    assert pay_awaiting(study=study, total=Decimal("4.00")).recorded == 1
    assert Payment.objects.count() == 2


def test_the_platform_approves_all_in_one_request(fake_prolific):
    channel, people = submitted(fake_prolific, ("p1", "p2"))
    assert pay_awaiting(study=channel.study, total=Decimal("3.00")).requested == 2
    assert approvals(fake_prolific) == [[one.submission_id for one in people]]
    assert {one["status"] for one in fake_prolific.submissions.values()} == {"APPROVED"}
    assert [payment.status for payment in Payment.objects.all()] == ["paid", "paid"]
    with refused("nobody_awaits_payment"):
        pay_awaiting(study=channel.study, total=Decimal("3.00"))
    assert len(approvals(fake_prolific)) == 1


def test_a_second_press_while_the_first_is_under_way_pays_nobody(fake_prolific):
    channel, _ = submitted(fake_prolific)
    Channel.objects.filter(pk=channel.pk).update(pending="pay-many", pending_at="2999-01-01T00:00Z")
    with refused("action_pending"):
        pay_awaiting(study=channel.study, total=Decimal("1.50"))
    assert approvals(fake_prolific) == []
    assert not channel.study.events.filter(verb=StudyEvent.Verb.PAY).exists()


def test_what_cannot_be_approved_is_paid_as_a_bonus_beside_the_others(fake_prolific):
    channel, (ann, bob) = submitted(fake_prolific, ("p1", "p2"))
    Participation.objects.filter(pk=bob.pk).update(status="timed_out")
    pay_awaiting(study=channel.study, total=Decimal("3.00"))
    assert approvals(fake_prolific) == [[ann.submission_id]]
    kinds = Payment.objects.order_by("participation").values_list("kind", "status")
    assert list(kinds) == [("reward", "paid"), ("owed", "paid")]
    assert fake_prolific.submissions[bob.submission_id]["bonus_payments"] == [150]


def test_a_bonus_is_not_taken_for_the_reward(fake_prolific):
    channel, (ann,) = submitted(fake_prolific)
    pay_bonus(participation=ann, **BONUS)
    pay_awaiting(study=channel.study, total=Decimal("1.50"))
    assert approvals(fake_prolific) == [[ann.submission_id]]
    studies = Study.objects.annotate(**plan_counts())
    spent = spending_of(studies)[channel.study.pk]
    assert (spent.paid.total, spent.committed.total) == (Decimal("2.00"), Decimal("7.50"))


def test_a_refused_approval_keeps_nobody_else_from_being_paid(fake_prolific):
    channel, (_, bob) = submitted(fake_prolific, ("p1", "p2"))
    Participation.objects.filter(pk=bob.pk).update(status="timed_out")
    fake_prolific.fail_next(400)
    pay_awaiting(study=channel.study, total=Decimal("3.00"))
    channel.refresh_from_db()
    assert channel.problem
    assert [payment.kind for payment in Payment.objects.all()] == ["owed"]


def test_an_amount_that_the_platform_would_not_pay_is_refused(fake_prolific):
    _, (ann,) = submitted(fake_prolific)
    with refused("amount_is_fixed"):
        pay_participant(participation=ann, amount=Decimal("9.00"))
    assert approvals(fake_prolific) == []


def test_a_bonus_is_paid_once_for_each_key(fake_prolific):
    channel, (ann,) = submitted(fake_prolific)
    pay_bonus(participation=ann, **BONUS)
    with refused("paid_already"):
        pay_bonus(participation=ann, **BONUS)
    # As a request would do that began before the first one had ended.
    arguments = {name: str(value) for name, value in BONUS.items()}
    enqueue_action(
        channel=channel, action="pay", participation=ann.public_id, kind="bonus", **arguments
    )
    assert fake_prolific.submissions[ann.submission_id]["bonus_payments"] == [50]
    pay_bonus(participation=ann, **{**BONUS, "request_key": "k2"})
    assert fake_prolific.submissions[ann.submission_id]["bonus_payments"] == [50, 50]
    assert Payment.objects.filter(kind="bonus", reason=BONUS["reason"]).count() == 2
    assert study_log(channel, "bonus")[0]["reason"] == BONUS["reason"]


def study_log(channel: Channel, verb: str) -> list[dict]:
    return [event.details for event in channel.study.events.filter(verb=verb)]


@pytest.mark.sampled(2)
@pytest.mark.parametrize(
    ("change", "code"),
    [
        ({"amount": Decimal("0")}, "no_amount"),
        ({"amount": Decimal("NaN")}, "no_amount"),
        ({"reason": "  "}, "no_reason"),
        ({"reason": "x" * 1001}, "no_reason"),
        ({"request_key": ""}, "no_request_key"),
        ({"request_key": "x" * 65}, "no_request_key"),
    ],
)
def test_a_bad_bonus_is_refused(fake_prolific, change, code):
    _, (ann,) = submitted(fake_prolific)
    with refused(code):
        pay_bonus(participation=ann, **{**BONUS, **change})
    assert not fake_prolific.bonuses


def test_where_no_platform_pays_nothing_is_rejected_and_no_bonus_paid():
    study, (ann, bob) = two_who_completed()
    channel = Channel.objects.create(study=study, provider="panel", secret="signs links")
    Submission.objects.filter(participation=bob).update(channel=channel)
    bob = Participation.objects.get(pk=bob.pk)
    for participation, code in ((ann, "no_platform"), (bob, "platform_cannot")):
        with refused(code):
            pay_bonus(participation=participation, **BONUS)
        with refused(code):
            reject_submission(participation=participation, category="OTHER", message=LONG)


def test_a_rejection_is_asked_of_the_platform_and_takes_the_ratings_out(fake_prolific):
    channel, (ann,) = submitted(fake_prolific)
    reject_submission(participation=ann, category="FAILED_CHECK", message=LONG)
    assert fake_prolific.submissions[ann.submission_id]["status"] == "REJECTED"
    assert fake_prolific.messages == [(ann.submission_id, LONG)]
    assert not Rating.objects.counted().exists()
    assert study_log(channel, "reject")[0]["category"] == "FAILED_CHECK"


def test_what_was_paid_or_not_submitted_is_not_rejected(fake_prolific):
    channel = on_prolific(fake_prolific)
    participant(fake_prolific, channel)
    sync_channel(channel=channel)
    ann = Participation.objects.get()
    with refused("not_submitted"):
        reject_submission(participation=ann, category="OTHER", message=LONG)
    Payment.objects.create(
        participation=ann,
        kind="reward",
        amount=1,
        currency="GBP",
        created_at="2026-01-01T00:00Z",
    )
    with refused("paid_not_rejected"):
        reject_submission(participation=ann, category="OTHER", message=LONG)
    assert not fake_prolific.messages


def test_reinstating_is_logged_as_excluding_is(django_user_model):
    study, (ann, _) = two_who_completed()
    ada = django_user_model.objects.create_user("ada")
    exclude_work(participation=ann, status="excluded", by=ada)
    assert reinstate_participant(participation=ann, by=ada) == 1
    assert [event.by for event in study.events.filter(verb="reinstate")] == [ada]


def pay_many(study) -> str:
    return reverse("recruitment:pay-many", args=[study.pk])


def test_the_page_pays_the_selected_after_showing_the_sum(researcher_client):
    study, (ann, bob) = two_who_completed(member=researcher_client.researcher)
    asked = researcher_client.post(pay_many(study), {"participant": [bob.public_id]})
    question = asked.context["question"]
    assert "2.00" in question.title
    assert question.button == "Mark 1 participant as paid"  # no platform transfers anything
    assert not Payment.objects.exists()
    confirmed = {"participant": [bob.public_id], "confirmed": asked.context["token"]}
    assert levels_on(researcher_client.post(pay_many(study), confirmed, follow=True)) == ["success"]
    # A double click sends the same form again.
    again = researcher_client.post(pay_many(study), confirmed, follow=True)
    assert codes_on(again) == {"not_awaiting_payment"}
    assert [payment.participation for payment in Payment.objects.all()] == [bob]
    assert levels_on(post_confirmed(researcher_client, pay_many(study), {"list": "all"})) == [
        "success"
    ]
    assert Payment.objects.get(participation=ann).amount == Decimal("2.00")


def test_each_page_before_a_payment_names_who_is_paid_and_how_much():
    study, people = two_who_completed()
    channel = Channel.objects.create(study=study, provider="prolific", secret="x")
    Submission.objects.update(channel=channel)
    named = {
        f"{one.rater.pseudonym}, completion code {one.submission.completion_code}: 2.00 GBP"
        for one in people
    }
    awaiting = awaiting_payment(study)
    assert set(paying_awaiting(study, awaiting).listed) == named
    assert set(paying_all(channel).listed) == named
    assert {paying(one, None).listed for one in awaiting} == {(one,) for one in named}


def test_a_payment_counts_the_ratings_in_the_statistics_and_none_of_a_test():
    _, (ann, _) = two_who_completed()
    mine = Rating.objects.filter(rater=ann.rater)
    assert numbers_in(paying(ann, None).sentences[-1]) == {str(mine.count())}
    Unit.objects.filter(ratings__in=mine).update(role=Unit.Role.QUALIFICATION)
    assert numbers_in(paying(ann, None).sentences[-1]) == {"0"}


def test_who_came_to_await_payment_meanwhile_is_not_paid_unseen(researcher_client):
    study, _ = two_who_completed(member=researcher_client.researcher, ratings_per_hit=3)
    asked = researcher_client.post(pay_many(study), {"list": "all"})
    eve = make_participation(study, "eve")
    complete(eve)
    finish_participation(participation=eve)
    confirmed = {"list": "all", "confirmed": asked.context["token"]}
    again = researcher_client.post(pay_many(study), confirmed)
    assert again.context["has_changed"]
    assert not Payment.objects.exists()


def test_the_pages_of_money_check_the_csrf_token(researcher_client, django_user_model):
    study, (ann, _) = two_who_completed(member=researcher_client.researcher)
    strict = Client(enforce_csrf_checks=True)
    strict.force_login(researcher_client.researcher)
    acts = [
        reverse("recruitment:ledger-action", args=[study.pk, ann.public_id, verb])
        for verb in ("approve", "bonus", "reject", "exclude")
    ]
    statuses = {strict.post(path, {"list": "all"}).status_code for path in (pay_many(study), *acts)}
    assert statuses == {403}


def run(study, *arguments: str) -> str:
    out = StringIO()
    call_command("participants", study.pk, *arguments, stdout=out)
    return out.getvalue()


def test_the_command_does_what_the_page_does():
    study, (ann, bob) = two_who_completed()
    name = ann.rater.pseudonym
    assert bob.rater.pseudonym in run(study, "list")
    with pytest.raises(CommandError, match="total_differs"):
        run(study, "pay", "--total", "1")
    run(study, "pay", name, "--total", "2")
    assert [payment.participation for payment in Payment.objects.all()] == [ann]
    run(study, "exclude", name, "--reason", "Failed the checks.")
    assert study.events.get(verb="exclude").details["reason"] == "Failed the checks."
    run(study, "reinstate", name)
    assert Rating.objects.counted().count() == 2
    with pytest.raises(CommandError, match="no_platform"):
        run(study, "bonus", name, "--amount", "1", "--reason", "Thanks.", "--key", "k")
    with pytest.raises(CommandError, match="no_platform"):
        run(study, "reject", name, "--message", LONG)
    with pytest.raises(CommandError):
        run(study, "exclude", "nobody")
