"""Creating, trying, starting and deleting judges."""

from typing import Any

from django.contrib.auth.models import User
from django.db import transaction
from django.db.models import Count, Q, QuerySet

from annotation.services.planning import ensure_plan
from jobs.models import Job
from jobs.services import start_job
from machine_raters.judging.answers import MAX_SIGNS, allowed_answers, has_signs
from machine_raters.judging.example_sets import add_example_set, check_examples, fix_examples
from machine_raters.judging.injection_job import JudgeInjectionJob
from machine_raters.judging.job import JudgeDryRunJob, JudgingJob
from machine_raters.judging.passes import items_of
from machine_raters.messages import (
    JUDGE_ASKS_ALL,
    JUDGE_ASKS_TWICE,
    JUDGE_HAS_ONE_PROBABILITY,
    JUDGE_HAS_RATINGS,
    JUDGE_IN_DRAFT,
    JUDGE_NO_ITEMS,
    JUDGE_NO_MODEL,
    JUDGE_OF_NUMBERS,
    JUDGE_REPEATS_ITSELF,
    JUDGE_WITHOUT_LABELS,
    JUDGE_WRITES_NOTHING,
    NO_SUCH_JUDGE,
)
from machine_raters.models import Judge
from machine_raters.services.exclusion import unfinished_jobs
from machine_raters.services.raters import create_machine_rater, unused_raters
from studies.model_servers import check_model
from studies.models import Criterion, Study, StudyEvent
from studies.services import record_event
from tiebreak.errors import DomainError


def judges_of(study: Study) -> QuerySet[Judge]:
    """Return the study's judges, with how many answers are stored and how many were unreadable."""
    return study.judges.select_related("criterion", "rater", "example_set").annotate(
        answers=Count("verdicts"),
        unparsed=Count("verdicts", filter=Q(verdicts__rating__label__isnull=True)),
    )


def judge_named(study: Study, public_id: str) -> Judge:
    """Return a judge of the study. Raises `DomainError` if there is none with this id."""
    judge = judges_of(study).filter(public_id=public_id).first()
    if judge is None:
        raise DomainError("no_such_judge", NO_SUCH_JUDGE, status=404)
    return judge


@transaction.atomic
def create_judge(*, study: Study, by: User | None = None, **settings: Any) -> Judge:
    """Create a judge with its machine rater. Raises `DomainError` if its name is taken."""
    judge = Judge(study=study, **settings)
    _check_settings(judge)
    # Whether the name is free is checked when the rater is created.
    fix_examples(judge)
    judge.full_clean(exclude=["rater"], validate_constraints=False)
    judge.rater = create_machine_rater(study, judge.name)
    judge.save()
    details = {"judge": judge.name, "model": judge.language_model, "server": judge.server}
    record_event(study=study, verb=StudyEvent.Verb.CREATE_JUDGE, by=by, details=details)
    return judge


@transaction.atomic
def create_judges(
    *, study: Study, by: User | None = None, criterion: Criterion | None = None, **settings: Any
) -> list[Judge]:
    """Create a judge of a criterion, or one of each criterion, whose names end with the criterion.

    All judges of a study read its guidelines, and each the question of its criterion. Raises
    `DomainError` if a name is taken; none is created then.
    """
    if criterion is not None:
        return [create_judge(study=study, by=by, criterion=criterion, **settings)]
    name = settings.pop("name")
    return [
        create_judge(study=study, by=by, criterion=one, name=f"{name}: {one.name}", **settings)
        for one in study.criteria.all()
    ]


@transaction.atomic
def copy_judge(*, judge: Judge, study: Study, by: User | None = None) -> Judge:
    """Create a judge with the same name and settings in a clone of its study, with its examples."""
    settings = {
        field.name: getattr(judge, field.name)
        for field in Judge._meta.concrete_fields
        if field.editable and not field.primary_key
    }
    settings |= {"criterion": study.criteria.get(name=judge.criterion.name), "study": study}
    if chosen := judge.example_set:
        settings["example_set"] = add_example_set(
            study=study, name=chosen.name, items=chosen.items, by=by
        )
    copy = create_judge(by=by, **settings)
    copy.steps, copy.steps_prompt = judge.steps, judge.steps_prompt
    copy.save(update_fields=["steps", "steps_prompt"])
    return copy


def _check_settings(judge: Judge) -> None:
    check_model(judge.server, judge.language_model, advice=JUDGE_NO_MODEL)
    if judge.is_by_probability and not has_signs(judge.criterion.parsed_scale):
        message = JUDGE_WITHOUT_LABELS.format(most=MAX_SIGNS)
        raise DomainError("too_many_labels", message, status=400)
    if judge.comparisons == Judge.Schedule.ALL and judge.budget is not None:
        raise DomainError("budget_of_all", JUDGE_ASKS_ALL, status=400)
    if judge.comparisons == Judge.Schedule.SYMMETRIC and (judge.budget or 0) % 2:
        raise DomainError("odd_budget", JUDGE_ASKS_TWICE, status=400)
    if judge.is_constrained and judge.is_by_probability:
        raise DomainError("nothing_to_constrain", JUDGE_WRITES_NOTHING, status=400)
    if judge.is_constrained and not allowed_answers(judge.criterion.parsed_scale):
        raise DomainError("no_labels", JUDGE_OF_NUMBERS, status=400)
    if judge.is_by_probability and judge.runs > 1:
        raise DomainError("equal_answers", JUDGE_HAS_ONE_PROBABILITY, status=400)
    if judge.runs > 1 and judge.temperature == 0:
        raise DomainError("equal_answers", JUDGE_REPEATS_ITSELF, status=400)


def start_judging(*, judge: Judge, by: User | None = None) -> Job:
    """Queue a job that asks for all ratings of the judge that are not stored yet."""
    if judge.study.status == Study.Status.DRAFT:
        raise DomainError("study_is_draft", JUDGE_IN_DRAFT)
    check_examples(judge)
    _check_items(judge)
    return _start(judge, JudgingJob.name, by)


def try_judge(*, judge: Judge, by: User | None = None) -> Job:
    """Queue a job that asks the judge about five items and stores no ratings."""
    _check_items(judge)
    return _start(judge, JudgeDryRunJob.name, by)


def try_injections(*, judge: Judge, by: User | None = None) -> Job:
    """Queue a job that counts which answers change when a text hides an instruction."""
    _check_items(judge)
    return _start(judge, JudgeInjectionJob.name, by)


def _check_items(judge: Judge) -> None:
    """Raise `DomainError` if there is nothing to rate. Items of a draft exist once it is planned."""
    ensure_plan(study=judge.study)
    if not items_of(judge.study).exists():
        raise DomainError("no_items", JUDGE_NO_ITEMS)


def _start(judge: Judge, kind: str, by: User | None) -> Job:
    return start_job(
        kind=kind,
        owner=judge.study_id,
        exclusive_key=f"{kind}:{judge.public_id}",
        options={"judge": judge.public_id, "name": judge.name},
        by=by,
    )


@transaction.atomic
def delete_judge(*, judge: Judge, by: User | None = None) -> None:
    """Delete a judge that has not rated, with its rater. Ratings are never deleted."""
    judge = Judge.objects.select_for_update().get(pk=judge.pk)
    if unfinished_jobs(judge.public_id).exists() or judge.verdicts.exists():
        raise DomainError("judge_has_ratings", JUDGE_HAS_RATINGS)
    details = {"judge": judge.name}
    record_event(study=judge.study, verb=StudyEvent.Verb.DELETE_JUDGE, by=by, details=details)
    judge.delete()
    unused_raters(judge.study, judge.name).delete()
