"""Stopping between two HITs: completed HITs count, and are paid where the channel pays per HIT."""

from datetime import timedelta
from decimal import Decimal

import pytest
from django.test import Client
from django.urls import reverse
from django.utils import timezone

from annotation.models import Assignment, Participation, Place, Rating
from annotation.selectors import worksheet
from annotation.services.exclusion import exclude_work, reinstate_work
from annotation.services.places import find_work, lock_places
from annotation.services.screening import check_record, unanswered_checks
from recruitment.admission import maximum
from recruitment.ledger import ledger
from recruitment.models import Channel, Payment
from recruitment.people_table import people_on
from recruitment.platforms import get_platform
from recruitment.services.leaving import leave_early
from recruitment.services.lifecycle import close_study
from recruitment.terms import owed
from studies.models import ComprehensionQuestion, Study
from tests.annotation.annotators import Annotator, annotator, form_of
from tests.annotation.services.test_screening import answer_all, study_with
from tests.annotation.test_gold_checks import study_with_checks
from tests.confirming import post_confirmed
from tests.pages import codes_on, numbers_in, page_of, prose_of
from tests.refusals import refused
from tests.studies.factories import make_open_study, make_participation

pytestmark = pytest.mark.django_db


def a_study(**design):
    design = {"instances": 6, "comparisons_per_hit": 1, "reward": Decimal("2.00"), **design}
    return make_open_study(**design)


def html(response) -> str:
    return response.content.decode()


def offers_to_stop(ann: Annotator, page=None) -> bool:
    return f'href="{ann.at("stop")}"' in html(page or ann.here())


def test_it_works(client, django_user_model):
    ada = django_user_model.objects.create_user("ada", is_staff=True)
    study = a_study(hits_per_annotator=4, member=ada)
    ann = annotator(study)
    assert offers_to_stop(ann)
    ann.choose()
    assert offers_to_stop(ann)
    asked = prose_of(ann.client.get(ann.at("stop")))
    assert {"1", "0.50"} <= numbers_in(asked)
    assert ann.participation.status == "active"
    assert ann.client.post(ann.at("stop"))["Location"] == ann.at()
    assert ann.participation.status == "left"
    end = ann.here()
    assert (page_of(end), end.context["done"], end.context["is_completed"]) == ("end", 1, True)
    assert ann.participation.submission.completion_code in html(end)
    assert not Place.objects.filter(completed_at=None, lease_until__isnull=False).exists()
    client.force_login(ada)
    assert "0.50 GBP" in html(client.get(reverse("recruitment:ledger", args=[study.pk])))
    post_confirmed(
        client,
        reverse(
            "recruitment:ledger-action", args=[study.pk, ann.participation.public_id, "approve"]
        ),
    )
    assert Payment.objects.get().amount == Decimal("0.50")
    assert not ledger(study).rows_on("awaiting_payment")


def test_who_left_has_left():
    ann = annotator(a_study(hits_per_annotator=4))
    ann.choose()
    ann.client.post(ann.at("stop"))
    assert ann.at("again") not in html(ann.here())
    ann.client.post(ann.at("again"))
    ann.client.post(ann.at("stop"))
    assert ann.participation.status == "left"
    assert owed(ann.participation) == Decimal("0.50")


def test_what_is_owed_stands_whatever_becomes_of_the_study_or_of_them():
    study = a_study(hits_per_annotator=4)
    ann = annotator(study)
    ann.choose()
    ann.client.post(ann.at("stop"))
    Study.objects.filter(pk=study.pk).update(hits_per_annotator=10, reward=Decimal("9.00"))
    exclude_work(participation=ann.participation, status="excluded")
    assert owed(ann.participation) == Decimal("0.50")
    reinstate_work(participation=ann.participation)
    assert (ann.participation.status, owed(ann.participation)) == ("left", Decimal("0.50"))
    assert [owed(row.participation) for row in ledger(study).rows_on("awaiting_payment")] == [
        Decimal("0.50")
    ]


def test_a_share_is_rounded_up_and_the_ledger_takes_no_more_queries(django_assert_num_queries):
    study = a_study(hits_per_annotator=6, reward=Decimal("0.02"))
    for _ in range(3):
        ann = annotator(study)
        ann.choose()
        ann.client.post(ann.at("stop"))
    assert owed(ann.participation) == Decimal("0.01")
    with django_assert_num_queries(3):
        assert len(ledger(study).rows_on("awaiting_payment")) == 3


def test_where_no_other_hit_is_left_the_completed_ones_are_owed():
    study = a_study(hits_per_annotator=4, instances=2, ratings_per_hit=1)
    ann, bob = annotator(study), annotator(study)
    ann.choose()
    bob.here()
    assert numbers_in(prose_of(ann.client.get(ann.at("stop")))) == {"1", "0.50"}
    leave_early(participation=ann.participation)
    assert owed(ann.participation) == Decimal("0.50")


def test_a_visit_is_paid_for_its_own_hits():
    study = a_study()
    Channel.objects.create(
        study=study,
        provider="panel",
        settings={"person_parameter": "pid", "submission_parameter": "visit"},
    )
    ann = Annotator(study)
    for visit in ("one", "two"):
        ann.client.get(f"/s/{study.pk}/via/panel/?pid=ann&visit={visit}")
        ann.enter()
        if visit == "one":
            ann.choose()
            ann.client.post(ann.at("stop"))
    assert owed(Participation.objects.get(submission_id="one")) == Decimal("2.00")
    assert not ann.client.get(ann.at("stop")).context["owed"]
    Place.objects.filter(completed_at=None).delete()
    end = ann.here()
    assert (end.context["done"], end.context["is_completed"]) == (0, False)
    assert Participation.objects.get(submission_id="two").submission.completion_code not in html(
        end
    )


def test_who_fell_silent_between_two_hits_is_paid_too():
    study = a_study()
    ann, bob = annotator(study), annotator(study)
    ann.choose()
    now = timezone.now()
    assert not ledger(study, now).rows_on("awaiting_payment")
    later = now + timedelta(minutes=study.lease_minutes + 1)
    assert [e.participation for e in ledger(study, later).rows_on("awaiting_payment")] == [
        ann.participation
    ]
    bob.here()
    assert [e.participation for e in ledger(study, later).rows_on("stuck")] == [bob.participation]


def test_nothing_is_offered_in_a_closed_study():
    ann = annotator(a_study())
    assert offers_to_stop(ann)
    close_study(study=ann.study)
    assert not offers_to_stop(ann)


def test_a_hit_in_work_is_kept_as_a_fragment_and_given_away():
    ann = annotator(a_study(instances=2, comparisons_per_hit=2))
    for _ in range(3):
        ann.choose()
    assert offers_to_stop(ann)
    ann.client.post(ann.at("stop"))
    assert Rating.objects.filter(partial=True).count() == 1
    assert Rating.objects.counted().count() == 2
    assert not Place.objects.filter(completed_at=None, lease_until__isnull=False).exists()


def test_each_page_after_the_consent_offers_to_stop():
    study = study_with(training=1, test=1, pass_mark=1)
    question = ComprehensionQuestion.objects.create(
        study=study, text="Why?", choices="a\nb", answer=1
    )
    ann, steps = Annotator(study), []
    ann.client.post(f"/s/{study.pk}/", {"choice": "agree", "version": 1})
    for address, sent in (("guidelines", {}), ("questions", {f"question-{question.pk}": "1"})):
        assert offers_to_stop(ann)
        steps += [page_of(ann.here())]
        ann.client.post(ann.at(address), sent)
    for _ in range(2):
        assert offers_to_stop(ann)
        steps += [ann.here().context["progress"].stage]
        answer_all(ann.participation.assignments.get(status="active"))
    assert steps == ["guidelines", "comprehension", "training", "qualification"]
    assert offers_to_stop(ann)


@pytest.mark.parametrize("begins", [True, False])
def test_whoever_leaves_without_a_task_gives_the_place_to_the_next_at_once(begins):
    study = a_study(reward=Decimal("2.00"))
    Channel.objects.create(study=study, provider="open-link", settings={"most_people": 1})
    ann = annotator(study)
    form = form_of(ann.here()).filled() if begins else None
    assert codes_on(Client().get(f"/s/{study.pk}/")) == {"channel_full"}
    assert not ann.client.get(ann.at("stop")).context["owed"]
    ann.client.post(ann.at("stop"))
    assert (ann.participation.status, owed(ann.participation)) == ("left", 0)
    bob = annotator(study)
    bob.choose()
    if form:  # from a tab that stayed open; nobody could pay for it
        assert codes_on(ann.send(form)) == {"left"}
    assert (sum(row.hits for row in ledger(study).rows), maximum(study).people) == (1, 1)


def test_an_answer_that_completes_the_task_meanwhile_counts_and_keeps_the_place(monkeypatch):
    study = a_study(hits_per_annotator=4)
    ann = annotator(study)
    ann.here()
    assignment = ann.participation.assignments.get()

    def answered_before_the_lock(**given):
        monkeypatch.undo()
        answer_all(Assignment.objects.get(pk=assignment.pk))
        return lock_places(**given)

    monkeypatch.setattr("annotation.services.exclusion.lock_places", answered_before_the_lock)
    leave_early(participation=ann.participation)
    assert owed(ann.participation) == Decimal("0.50")
    assert Place.objects.filter(assignment=assignment, completed_at__isnull=False).exists()
    assert (Rating.objects.counted().count(), maximum(study).people) == (1, 1)


@pytest.mark.parametrize(
    ("provider", "limit", "may"),
    [
        ("open-link", 5, True),
        ("invitation", 5, True),
        ("panel", 5, False),
        ("panel", None, True),
        ("mturk", 5, False),
        ("mturk", None, True),
        ("prolific", 5, False),
        ("prolific", None, False),
    ],
)
def test_one_sum_for_all_is_not_paid_for_a_part(provider, limit, may):
    study = a_study(hits_per_annotator=limit)
    participation = make_participation(study)
    participation.paid_per = get_platform(provider).paid_per
    participation.consented_version = study.versions.get()
    participation.study.hits_per_annotator = None if limit else 5  # not what they agreed to
    assert participation.may_leave_early == may
    if not may:
        with refused("one_payment_for_all"):
            leave_early(participation=participation)


def test_where_one_sum_is_paid_the_pages_offer_no_stop():
    study = a_study(hits_per_annotator=4)
    Channel.objects.create(study=study, provider="panel", settings={"person_parameter": "pid"})
    ann = Annotator(study)
    ann.client.get(f"/s/{study.pk}/via/panel/?pid=ann")
    ann.enter().choose()
    assert not offers_to_stop(ann)
    assert codes_on(ann.client.post(ann.at("stop"))) == {"one_payment_for_all"}
    assert Participation.objects.get().status == "active"


def test_of_a_reward_for_any_number_of_hits_nothing_is_taken_off():
    ann = annotator(a_study())
    ann.choose()
    asked = ann.client.get(ann.at("stop"))
    assert asked.context["owed"] == Decimal("2.00")
    assert numbers_in(prose_of(asked)) == {"1", "2.00"}


@pytest.mark.parametrize(("reward", "counts"), [(None, False), (Decimal(2), True)])
def test_where_checks_are_mixed_in_only_pay_by_task_tells_tasks(reward, counts):
    study = study_with_checks(gold=4, n=1, instances=4, hits_per_annotator=4, reward=reward)
    ann = annotator(study)
    while ann.participation.assignments.filter(status="completed").count() < 2:
        ann.choose()
    asked = ann.client.get(ann.at("stop"))
    assert asked.context["counts_tasks"] == counts
    assert ({"2"} <= numbers_in(prose_of(asked))) == counts


def test_strangers_and_forged_requests_stop_nobody():
    ann = annotator(a_study())
    ann.choose()
    assert Client().post(ann.at("stop"))["Location"] == f"/s/{ann.study.pk}/"
    strict = Client(enforce_csrf_checks=True)
    strict.cookies = ann.client.cookies
    assert strict.post(ann.at("stop")).status_code == 403
    assert ann.participation.status == "active"


def at_a_check(**design) -> Annotator:
    """Return somebody who answered all items of a task but its gold check, which is the last one."""
    design = {"reward": Decimal("2.00"), "hits_per_annotator": 4, **design}
    study = study_with_checks(gold=4, n=1, **design)
    for _ in range(20):
        ann = annotator(study)
        ann.here()
        assignment = ann.participation.assignments.get()
        *own, last = worksheet(assignment).hit_units.values()
        if last.unit_id == assignment.check_unit_id:
            for _ in own:
                ann.choose()
            return ann
        leave_early(participation=ann.participation)
    raise AssertionError("Of twenty tasks, none ends with its check.")


def test_a_task_counts_and_is_paid_without_its_gold_check_which_still_comes_before_the_next_task():
    ann = at_a_check()
    assignment = ann.participation.assignments.get()
    assert (assignment.status, Rating.objects.counted().count()) == ("active", 1)
    assert Place.objects.get(assignment=assignment).completed_at
    ann.choose()
    assignment.refresh_from_db()
    assert (assignment.status, check_record(ann.participation).of) == ("completed", 1)
    assert Place.objects.filter(completed_at__isnull=False).count() == 1
    assert {place.remaining for place in assignment.hit.places.all()} == {
        ann.study.most_ratings - 1
    }


def test_who_leaves_at_a_gold_check_is_paid_for_the_task_and_researchers_see_the_check():
    ann = at_a_check()
    asked = ann.client.get(ann.at("stop")).context
    assert (asked["done"], asked["items"], asked["owed"]) == (1, 1, Decimal("0.50"))
    ann.client.post(ann.at("stop"))
    assignment = ann.participation.assignments.get()
    assert (assignment.status, owed(ann.participation)) == ("completed", Decimal("0.50"))
    assert Rating.objects.filter(partial=True).count() == 0
    assert Rating.objects.counted().count() == 1
    people = Participation.objects.annotate(unanswered=unanswered_checks())
    assert people.get(pk=ann.participation.pk).unanswered == 1
    (row,) = people_on(ledger(ann.study), people.filter(pk=ann.participation.pk))
    assert row.participation.unanswered == 1
    end = ann.here()
    assert (end.context["done"], end.context["items"], end.context["is_completed"]) == (1, 1, True)


def test_a_task_without_its_check_is_nobody_elses_when_its_time_runs_out():
    ann = at_a_check(ratings_per_hit=1, hits_per_annotator=1)
    later = timezone.now() + timedelta(minutes=ann.study.lease_minutes + 1)
    own = ann.participation.assignments.get().hit_id
    n = ann.study.hits.main().count() - 1
    others = [make_participation(ann.study, f"other-{i}") for i in range(n)]
    taken = {find_work(participation=one, now=later).assignment.hit_id for one in others}
    assert len(taken) == len(others)
    assert own not in taken


@pytest.mark.parametrize("left", [False, True])
def test_a_task_without_its_check_counts_again_after_an_exclusion_was_undone(left):
    ann = at_a_check()
    if left:
        leave_early(participation=ann.participation)
    exclude_work(participation=ann.participation, status="returned")
    assert not Place.objects.filter(completed_at__isnull=False).exists()
    reinstate_work(participation=ann.participation)
    assert Rating.objects.counted().count() == 1
    assert Place.objects.filter(completed_at__isnull=False).count() == 1
    assert ann.participation.assignments.get().status == ("completed" if left else "active")
