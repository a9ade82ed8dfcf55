"""Participants through the API: the functions of the pages, with the same rights and refusals."""

import pytest

from annotation.models import Participation
from annotation.services.participations import finish_participation
from recruitment.models import Payment
from studies.models import Membership
from tests.api.clients import at, problem_of, program
from tests.recruitment.platforms.test_prolific import LONG
from tests.recruitment.services.test_participants import submitted
from tests.recruitment.views.test_ledger import complete, paying_study
from tests.studies.factories import make_participation

pytestmark = [pytest.mark.django_db, pytest.mark.enable_socket]


@pytest.fixture
def study(ruth):
    study = paying_study(member=ruth)
    for name in ("ann", "bob"):
        person = make_participation(study, name)
        complete(person)
        finish_participation(participation=person)
    make_participation(study, "eve")
    return study


def on_prolific(fake_prolific, ruth) -> Participation:
    channel, (ann,) = submitted(fake_prolific)
    Membership.objects.create(study=channel.study, user=ruth)
    return ann


def post(client, name: str, study: str, *ids: str, **body):
    return client.post(at(name, study, *ids), body, content_type="application/json")


def one(client, name: str, participation: Participation, **body):
    return post(client, name, participation.study_id, participation.public_id, **body)


def test_they_are_listed_under_pseudonyms_page_by_page(ruth, study):
    client = program(ruth)
    first = client.get(at("participant-list", study.pk), {"limit": 2}).json()
    second = client.get(first["next"]).json()
    rows = first["results"] + second["results"]
    assert [row["hits"] for row in rows] == [1, 1, 0]
    assert [row["owed"] for row in rows] == ["2.00", "2.00", "0.00"]
    assert second["next"] is None
    assert not {"ann", "bob", "eve"} & set(str(rows).split("'"))


def test_those_who_await_payment_are_paid_for_the_sum_that_was_stated(ruth, study):
    client = program(ruth)
    rows = client.get(at("participant-list", study.pk), {"awaiting": "true"}).json()["results"]
    assert len(rows) == 2
    assert problem_of(post(client, "participant-pay", study.pk, total="2.00")) == (
        409,
        "total_differs",
    )
    chosen = [rows[0]["id"]]
    paid = post(client, "participant-pay", study.pk, total="2.00", participants=chosen).json()
    assert paid == {"recorded": 1, "requested": 0}
    assert post(client, "participant-pay", study.pk, total="2.00").json()["recorded"] == 1
    again = post(client, "participant-pay", study.pk, total="2.00")
    assert problem_of(again) == (409, "nobody_awaits_payment")
    assert Payment.objects.count() == 2
    assert study.events.filter(verb="pay", by=ruth).count() == 2


def test_a_repeated_request_pays_no_second_bonus(ruth, fake_prolific):
    ann, client = on_prolific(fake_prolific, ruth), program(ruth)
    bonus = {"amount": "0.50", "reason": "Thank you.", "request_key": "bonus-1"}
    assert one(client, "participant-bonus", ann, **bonus).status_code == 200
    assert problem_of(one(client, "participant-bonus", ann, **bonus)) == (409, "paid_already")
    assert fake_prolific.submissions[ann.submission_id]["bonus_payments"] == [50]
    detail = client.get(at("participant-detail", ann.study_id, ann.public_id)).json()
    assert [(row["kind"], row["amount"]) for row in detail["payments"]] == [("bonus", "0.50")]


def test_a_submission_is_rejected_with_a_reason(ruth, fake_prolific):
    ann, client = on_prolific(fake_prolific, ruth), program(ruth)
    short = one(client, "participant-reject", ann, category="OTHER", message="No.")
    assert problem_of(short) == (400, "message_length")
    answer = one(client, "participant-reject", ann, category="LOW_EFFORT", message=LONG)
    assert answer.json()["status"] == "rejected"
    assert fake_prolific.messages == [(ann.submission_id, LONG)]


@pytest.mark.parametrize(
    ("name", "body"),
    [
        ("participant-bonus", {"amount": "0.50", "reason": "Thanks.", "request_key": "k"}),
        ("participant-reject", {"category": "OTHER", "message": LONG}),
    ],
)
def test_what_no_platform_can_do_is_refused(ruth, study, name, body):
    ann = study.participations.first()
    assert problem_of(one(program(ruth), name, ann, **body)) == (409, "no_platform")


def test_excluding_and_reinstating(ruth, study):
    client, ann = program(ruth), study.participations.first()
    row = one(client, "participant-exclude", ann, reason="Failed the checks.").json()
    assert (row["status"], row["ratings"]) == ("excluded", 0)
    assert study.events.get(verb="exclude").details["reason"] == "Failed the checks."
    assert one(client, "participant-reinstate", ann).json()["ratings"] == 1


def test_evidence_is_told_and_undefined_is_null(ruth, study):
    eve = study.participations.last()
    detail = program(ruth).get(at("participant-detail", study.pk, eve.public_id)).json()
    assert {sign["value"] for sign in detail["evidence"]["signs"]} == {None}


@pytest.mark.parametrize("role", ["editor", "analyst", "viewer"])
def test_only_owners_move_money(omar, study, role):
    Membership.objects.create(study=study, user=omar, role=role)
    client, ann = program(omar), study.participations.first()
    statuses = {
        problem_of(post(client, "participant-pay", study.pk, total="4.00")),
        *(
            problem_of(one(client, name, ann))
            for name in ("participant-bonus", "participant-reject")
        ),
    }
    assert statuses == {(403, "role_forbids")}
    assert not Payment.objects.exists()


@pytest.mark.sampled(2)
@pytest.mark.parametrize("name", ["bonus", "reject", "exclude", "reinstate"])
def test_people_of_another_study_do_not_exist(ruth, omar, study, name):
    other = paying_study(member=omar)
    ann = study.participations.first()
    stranger = program(omar)
    assert problem_of(one(stranger, f"participant-{name}", ann)) == (404, "unknown_study")
    foreign = post(stranger, f"participant-{name}", other.pk, ann.public_id)
    assert problem_of(foreign) == (404, "no_such_participant")


@pytest.mark.parametrize("total", ["NaN", "-1", "1e999", "much", "4.001"])
def test_an_odd_total_is_refused(ruth, study, total):
    answer = post(program(ruth), "participant-pay", study.pk, total=total)
    assert problem_of(answer) == (400, "invalid")
    assert not Payment.objects.exists()
