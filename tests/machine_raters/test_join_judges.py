"""The upgrade that joins judges of one model and one set of settings, which had one criterion each."""

from importlib import import_module

import pytest
from django.apps import apps
from django.utils import timezone

from annotation.exports.ratings import rating_rows
from annotation.models import Assignment, Rater, Rating
from jobs.models import Job
from machine_raters.judging.services import try_judge
from machine_raters.models import Judge, JudgeFailure, Jury, Verdict
from machine_raters.services.machine_raters import exclude_machine_rater, start_machine_rater
from metrics.models import Licence
from studies.models import StudyEvent
from tests.annotation.tallies import recount, stored_tallies
from tests.machine_raters.judging.scripted import model
from tests.machine_raters.machines import create, settings_of
from tests.machine_raters.synthetic.rag import make_rag_study
from tiebreak.gateway import Failed, GatewayError

pytestmark = pytest.mark.django_db
__all__ = ["model"]
FIRST, SECOND = "faithfulness", "answer relevance"
PASSES = 8


@pytest.fixture
def study():
    return make_rag_study(protocol="rag-pairs")


def judge_of(study, name, criterion, **changes):
    return create(study, "judge", settings_of("judge", name) | {"criteria": [criterion]} | changes)


def join() -> None:
    import_module("machine_raters.migrations.0005_join_judges").join_judges(apps, None)


def facts(study) -> set[tuple]:
    """Every rating with what it says, but who gave it."""
    names = ("pk", "unit", "criterion__name", "label", "assignment__order", "assignment__run")
    return {*Rating.objects.filter(unit__study=study).values_list(*names)}


def test_judges_of_each_criterion_become_one_with_all_their_answers(study, model):
    judges = [judge_of(study, f"gpt: {name}", name) for name in (FIRST, SECOND)]
    model(lambda request: "A")
    for judge in judges:
        try_judge(judge=judge)
        start_machine_rater(machine=judge)
    raters = [judge.rater for judge in judges]
    criterion = study.criteria.get(name=FIRST)
    jury = Jury.objects.create(study=study, kind="jury", name="jury", criterion=criterion)
    jury.members.set(raters)
    licence = Licence.objects.create(
        study=study,
        criterion=study.criteria.get(name=SECOND),
        rater=raters[1],
        valid_until=timezone.now().date(),
        granted_at=timezone.now(),
        evidence={},
    )
    study.main_machine = judges[1].name
    study.save(update_fields=["main_machine"])
    before = facts(study)
    join()
    joined = Judge.objects.get()
    assert (joined.name, joined.rater.pseudonym, joined.rater.external_id) == ("gpt",) * 3
    assert [one.criterion.name for one in joined.questions.all()] == [FIRST, SECOND]
    assert (joined.pk, joined.public_id) == (judges[0].pk, judges[0].public_id)
    assert facts(study) == before
    assert {row["rater"] for row in rating_rows(study)} == {"gpt"}
    assert Verdict.objects.filter(judge=joined).count() == 2 * PASSES
    assert not Rater.objects.filter(pk=raters[1].pk).exists()
    assert not Assignment.objects.exclude(rater=joined.rater).exists()
    assert stored_tallies(study=study) == recount(study=study)
    licence.refresh_from_db()
    study.refresh_from_db()
    assert (licence.rater, study.main_machine) == (joined.rater, "gpt")
    assert [*Jury.objects.get(pk=jury.pk).members.all()] == [joined.rater]
    about = Job.objects.filter(kind__in=("judging", "judge-dry-run")).values_list(
        "options", flat=True
    )
    assert {options["rater"] for options in about} == {joined.public_id}
    event = StudyEvent.objects.get(verb=StudyEvent.Verb.JOIN_MACHINES)
    assert event.study == study
    assert event.details == {"judge": "gpt", "joined": [f"gpt: {FIRST}", f"gpt: {SECOND}"]}
    models = model(lambda request: "A")
    start_machine_rater(machine=joined)
    assert models.asked == []


def test_what_failed_is_asked_again_by_the_joined_one(study, model):
    model(lambda request: Failed(request.id, GatewayError("too_long", "Too long.")))
    for name in (FIRST, SECOND):
        start_machine_rater(machine=judge_of(study, name, name))
    join()
    [joined] = Judge.objects.all()
    # Names without anything in common: the model's.
    assert joined.name == "tiny"
    assert JudgeFailure.objects.filter(judge=joined).count() == 2 * PASSES
    models = model(lambda request: "A")
    start_machine_rater(machine=joined)
    assert (len(models.asked), JudgeFailure.objects.count()) == (2 * PASSES, 0)


@pytest.mark.parametrize(
    "changes",
    [{"seed": 1}, {"language_model": "other"}, {"temperature": 0.5}, {"with_reasons": True}],
)
def test_judges_that_were_asked_in_other_ways_stay_apart(study, model, changes):
    both = {"with_reasons": True} if "with_reasons" in changes else {}
    judge_of(study, f"gpt: {FIRST}", FIRST, **both)
    judge_of(study, f"gpt: {SECOND}", SECOND, **changes)
    join()
    assert Judge.objects.count() == 2
    assert not StudyEvent.objects.filter(verb=StudyEvent.Verb.JOIN_MACHINES).exists()


def test_an_excluded_judge_and_one_at_work_stay_apart(study, model, monkeypatch):
    model(lambda request: "A")
    one, other = (judge_of(study, f"gpt: {name}", name) for name in (FIRST, SECOND))
    exclude_machine_rater(machine=one, reason="a fault")
    join()
    assert Judge.objects.count() == 2
    Judge.objects.update(excluded=False, excluded_reason="")
    monkeypatch.setattr("jobs.services.enqueue", lambda *_, **__: None)
    start_machine_rater(machine=other)
    join()
    assert Judge.objects.count() == 2
    Job.objects.update(status="stopped")
    join()
    assert Judge.objects.count() == 1


def test_of_two_judges_by_the_same_criterion_those_of_one_name_are_joined(study, model):
    for stem in ("a", "b"):
        for name in (FIRST, SECOND):
            judge_of(study, f"{stem}: {name}", name)
    judge_of(study, "again", FIRST)
    join()
    assert [*Judge.objects.order_by("pk").values_list("name", flat=True)] == ["a", "b", "again"]


def test_a_name_that_is_taken_gets_a_number(study, model):
    create(study, "baseline", settings_of("baseline", "gpt"))
    for name in (FIRST, SECOND):
        judge_of(study, f"gpt: {name}", name)
    join()
    assert Judge.objects.get().name == "gpt (2)"
