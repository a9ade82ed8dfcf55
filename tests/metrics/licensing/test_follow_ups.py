"""Follow-up studies of licences: small drafts whose labels and verdicts the test of drift compares."""

import pytest
from django.urls import reverse

from annotation.models import Assignment, Rater, Rating
from annotation.services.planning import plan_hits
from annotation.services.rating_writer import create_raters
from jobs.clock import database_now
from machine_raters.models import Judge, Verdict
from machine_raters.services.machine_raters import create_machine_rater
from metrics.export_files import licence_rows
from metrics.licensing.follow_ups import instances_for, make_follow_up
from metrics.licensing.services import check_licences, revoke_licence
from metrics.models import FollowUp, Licence
from studies.models import SelectedInstance, Study, StudyEvent
from tests.architecture.test_roles import member
from tests.machine_raters.judging.scripted import SERVERS
from tests.metrics.licensing.studies import EASY
from tests.metrics.licensing.test_licences import grant, page_of, requests, stored, study
from tests.pages import codes_on
from tests.refusals import refused

pytestmark = pytest.mark.django_db
__all__ = ["requests", "stored", "study"]


def opened(follow_up: FollowUp) -> Study:
    plan_hits(study=follow_up.study)
    Study.objects.filter(pk=follow_up.study_id).update(status=Study.Status.OPEN)
    follow_up.study.refresh_from_db()
    return follow_up.study


def rate(study: Study, *, human: str, machine: str = "1") -> None:
    """Let a new annotator and the licensed machine rater rate each item."""
    labels = {"new": human, "judge": machine}
    kinds = {"new": Rater.Kind.HUMAN, "judge": Rater.Kind.MACHINE}
    raters = create_raters(study, kinds)
    for hit in study.hits.main():
        for name, label in labels.items():
            assignment = Assignment.objects.create(
                hit=hit, rater=raters[name], status=Assignment.Status.COMPLETED
            )
            for unit in hit.units.all():
                Rating.objects.create(
                    assignment=assignment,
                    rater=raters[name],
                    unit=unit,
                    criterion=study.criteria.get(),
                    label=label,
                    client_key=f"{name}-{unit.pk}",
                    created_at=database_now(),
                )


def test_a_follow_up_is_a_draft_of_few_items_that_are_rated_once(study):
    Study.objects.filter(pk=study.pk).update(further_share=0.5)
    licence = grant(study)
    made = make_follow_up(licence=licence, instances=10).study
    plan = plan_hits(study=made)
    assert (made.status, made.ratings_per_hit, made.seed) == (Study.Status.DRAFT, 1, study.seed)
    assert made.title != study.title
    assert (plan.instances, plan.places) == (10, 10)
    items = set(study.units.filter(instance__category=EASY).values_list("key", flat=True))
    units = list(made.units.all())
    assert {unit.instance.category for unit in units} == {EASY}
    assert {unit.instance.key for unit in units} <= {key.split("/")[0] for key in items}
    assert {(unit.phase, unit.inclusion_probability) for unit in units} == {("control", 10 / 40)}
    event = study.events.get(verb=StudyEvent.Verb.FOLLOW_UP)
    assert event.details["instances"] == 10


@pytest.mark.parametrize("instances", [10, 40])
def test_what_was_drawn_for_the_study_is_not_drawn_for_the_follow_up(study, instances):
    a, b = study.ordered_systems()
    SelectedInstance.objects.bulk_create(
        SelectedInstance(
            study=study,
            instance=instance,
            system_a=a,
            system_b=b,
            phase="design",
            inclusion_probability=0.5,
        )
        for instance in study.dataset.instances.all()
    )
    made = opened(make_follow_up(licence=grant(study), instances=instances))
    assert made.units.values("instance").distinct().count() == instances
    assert set(made.units.values_list("instance__category", "phase")) == {(EASY, "control")}


def test_another_follow_up_has_other_instances(study):
    licence = grant(study)
    drawn = []
    for _ in range(2):
        made = opened(make_follow_up(licence=licence, instances=10))
        drawn.append(set(made.units.values_list("instance", flat=True)))
    assert drawn[0] != drawn[1]


def test_single_texts_are_not_drawn(study):
    Study.objects.filter(pk=study.pk).update(unit_kind=Study.UnitKind.GENERATION)
    made = make_follow_up(licence=grant(study), instances=5).study
    assert not made.selected.exists()
    event = study.events.get(verb=StudyEvent.Verb.FOLLOW_UP)
    assert event.details["instances"] == 40


def test_both_orders_need_two_places(study):
    Study.objects.filter(pk=study.pk).update(pairing=Study.Pairing.SYMMETRIC, ratings_per_hit=4)
    assert make_follow_up(licence=grant(study), instances=5).study.ratings_per_hit == 2


def test_labels_of_a_follow_up_that_contradict_the_machine_end_the_licence(study):
    licence = grant(study)
    rate(opened(make_follow_up(licence=licence, instances=30)), human="-1")
    assert check_licences(study=study) == [licence]
    licence.refresh_from_db()
    assert licence.ending == Licence.Ending.DRIFT
    assert licence.checked["labels"] == 30


def test_a_machine_that_answers_otherwise_now_ends_its_licence(study):
    licence = grant(study)
    rate(opened(make_follow_up(licence=licence, instances=30)), human="1", machine="-1")
    assert check_licences(study=study) == [licence]


def test_labels_that_agree_keep_the_licence_and_are_read_once(study, monkeypatch):
    licence = grant(study)
    assert check_licences(study=study) == []
    made = opened(make_follow_up(licence=licence, instances=30))
    rate(made, human="1")
    assert check_licences(study=study) == []
    licence.refresh_from_db()
    assert (licence.checked["labels"], licence.checked["agreement"]) == (30, 1)
    monkeypatch.setattr("metrics.licensing.drift.source_of", None)
    assert check_licences(study=study) == []


def test_a_draft_is_not_compared(study):
    licence = grant(study)
    made = make_follow_up(licence=licence, instances=30).study
    plan_hits(study=made)
    rate(made, human="-1")
    assert check_licences(study=study) == []
    licence.refresh_from_db()
    assert licence.checked["labels"] == 0


@pytest.mark.thorough
def test_its_labels_are_in_no_result_of_the_study(study):
    before = Rating.objects.filter(unit__study=study).count()
    rate(opened(make_follow_up(licence=grant(study), instances=30)), human="-1")
    assert Rating.objects.filter(unit__study=study).count() == before


def test_what_cannot_be_followed_up_is_refused(study):
    licence = grant(study)
    with refused("too_many"):
        make_follow_up(licence=licence, instances=len(instances_for(licence)) + 1)
    make_follow_up(licence=licence, instances=5)
    with refused("follow_up_is_draft"):
        make_follow_up(licence=licence, instances=5)
    FollowUp.objects.get().study.delete()
    revoke_licence(licence=licence)
    with refused("licence_ended"):
        make_follow_up(licence=licence, instances=5)
    assert not FollowUp.objects.exists()


def test_a_judge_comes_along_and_asks_anew(study, settings):
    settings.TIEBREAK_MODEL_SERVERS = SERVERS
    licence, rater = grant(study), Rater.objects.get(pseudonym="judge")
    rater.pseudonym = rater.external_id = "other"
    rater.save()
    judge = create_machine_rater(
        kind="judge",
        study=study,
        name="judge",
        criteria=[study.criteria.get()],
        server="here",
        language_model="tiny",
        instructions="Compare. {answers}",
        temperature=0.5,
    )
    judge.questions.update(steps="First read.", steps_prompt="Which steps?")
    licence.rater = judge.rater
    licence.save()
    made = make_follow_up(licence=licence, instances=5).study
    copy = Judge.objects.get(study=made)
    names = ("name", "server", "language_model", "instructions", "temperature", "seed")
    assert [getattr(copy, n) for n in names] == [getattr(judge, n) for n in names]
    question = copy.questions.get()
    assert (question.criterion, question.steps) == (made.criteria.get(), "First read.")
    assert copy.rater_id != judge.rater_id
    assert not Verdict.objects.filter(judge=copy).exists()


def test_an_editor_makes_it_on_the_page_which_leads_to_it(study):
    licence, editor = grant(study), member(study, "editor")
    address = reverse("metrics:follow-up", args=[study.pk, licence.public_id])
    page = editor.get(page_of(study)).content.decode()
    assert address in page
    assert 'value="40"' in page
    answer = editor.post(address, {"instances": "7"})
    made = FollowUp.objects.get().study
    assert answer["Location"] == reverse("recruitment:launch", args=[made.pk])
    assert editor.get(answer["Location"]).status_code == 200
    assert answer["Location"] in editor.get(page_of(study)).content.decode()
    again = editor.post(address, {"instances": "7"}, follow=True)
    assert "follow_up_is_draft" in codes_on(again)
    assert "no_number" in codes_on(editor.post(address, {"instances": "0"}, follow=True))
    assert editor.get(address).status_code == 405


@pytest.mark.parametrize("role", ["viewer", "analyst"])
def test_who_may_not_change_a_study_makes_none(study, role):
    licence, client = grant(study), member(study, role)
    address = reverse("metrics:follow-up", args=[study.pk, licence.public_id])
    assert client.post(address, {"instances": "7"}).status_code == 403
    assert address not in client.get(page_of(study)).content.decode()


def test_exports_name_the_follow_ups_of_a_licence(study, admin_user):
    made = make_follow_up(licence=grant(study), instances=6, by=admin_user).study
    (row,) = licence_rows(study)
    assert row["follow_ups"] == [made.pk]
