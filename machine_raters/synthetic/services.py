"""Having synthetic sets made, testing judges on them, and removing sets made by mistake."""

from typing import Any

from django.contrib.auth.models import User
from django.db import transaction
from django.db.models import Count, Q, QuerySet

from jobs.models import Job
from jobs.services import start_job
from machine_raters.messages import (
    FEW_PASSAGES,
    JUDGE_HAS_NO_SYNTHETIC_ITEMS,
    NO_EXAMPLE_QUESTIONS,
    NO_SUCH_SYNTHETIC_SET,
    NO_SYNTHETIC_CRITERIA,
    SYNTHETIC_HAS_ANSWERS,
    SYNTHETIC_NAME_TAKEN,
    SYNTHETIC_NO_MODEL,
)
from machine_raters.models import Judge, SyntheticSet, SyntheticText, SyntheticVerdict
from machine_raters.services.exclusion import check_idle, checked_reason, mark
from machine_raters.synthetic.checking_job import SyntheticCheckJob
from machine_raters.synthetic.items import CRITERIA, tested_criteria
from machine_raters.synthetic.making_job import SyntheticJob
from machine_raters.synthetic.passages import passages_of
from machine_raters.synthetic.sets import check_in_use
from studies.model_servers import check_model
from studies.models import Study, StudyEvent
from studies.services import record_event
from tiebreak.errors import DomainError


def synthetic_sets_of(study: Study) -> QuerySet[SyntheticSet]:
    """Return the study's synthetic sets, with the numbers of their questions and items."""
    questions = Q(texts__kind=SyntheticText.Kind.QUESTION)
    return study.synthetic_sets.annotate(
        questions=Count("texts", filter=questions, distinct=True),
        kept=Count("texts", filter=questions & Q(texts__rank=1), distinct=True),
        n_items=Count("items", distinct=True),
    )


def synthetic_set_named(study: Study, public_id: str) -> SyntheticSet:
    """Return a synthetic set of the study. Raises `DomainError` if there is none with this id."""
    made = synthetic_sets_of(study).filter(public_id=public_id).first()
    if made is None:
        raise DomainError("no_such_synthetic_set", NO_SUCH_SYNTHETIC_SET, status=404)
    return made


def add_synthetic_set(*, study: Study, by: User | None = None, **settings: Any) -> SyntheticSet:
    """Create a synthetic set, and queue the job that has it made.

    Raises `DomainError` if the study has no criterion or too few passages for it.
    """
    if not tested_criteria(study):
        sentence = NO_SYNTHETIC_CRITERIA.format(names=", ".join(CRITERIA))
        raise DomainError("no_synthetic_criteria", sentence)
    made = SyntheticSet(study=study, **settings)
    _check_passages(made)
    check_model(made.server, made.language_model, advice=SYNTHETIC_NO_MODEL)
    if study.synthetic_sets.filter(name=made.name).exists():
        raise DomainError("name_taken", SYNTHETIC_NAME_TAKEN.format(name=made.name))
    with transaction.atomic():
        made.full_clean()
        made.save()
        details = {"set": made.name, "model": made.language_model, "server": made.server}
        record_event(study=study, verb=StudyEvent.Verb.ADD_SYNTHETIC, by=by, details=details)
    continue_synthetic_set(made=made, by=by)
    return made


def _check_passages(made: SyntheticSet) -> None:
    """Raise `DomainError` if the study lacks passages, or questions that are to be examples."""
    passages = passages_of(made.study)
    if len(passages) < 2:
        raise DomainError("few_passages", FEW_PASSAGES)
    if made.examples and not any(passage.question for passage in passages):
        raise DomainError("no_example_questions", NO_EXAMPLE_QUESTIONS)


def continue_synthetic_set(*, made: SyntheticSet, by: User | None = None) -> Job:
    """Queue a job that asks for the texts of a set that are not stored yet."""
    check_in_use(made)
    return start_job(
        kind=SyntheticJob.name,
        owner=made.study_id,
        exclusive_key=f"{SyntheticJob.name}:{made.public_id}",
        options={"synthetic_set": made.public_id, "name": made.name},
        by=by,
    )


def check_judge(*, judge: Judge, made: SyntheticSet, by: User | None = None) -> Job:
    """Queue a job that asks a judge about the items of a set that it has not answered yet."""
    check_in_use(made)
    if not made.items.filter(labels__has_key=judge.criterion.name).exists():
        sentence = JUDGE_HAS_NO_SYNTHETIC_ITEMS.format(criterion=judge.criterion)
        raise DomainError("no_synthetic_items", sentence)
    return start_job(
        kind=SyntheticCheckJob.name,
        owner=judge.study_id,
        exclusive_key=f"{SyntheticCheckJob.name}:{made.public_id}:{judge.public_id}",
        options={
            "judge": judge.public_id,
            "synthetic_set": made.public_id,
            "name": f"{judge.name}, {made.name}",
        },
        by=by,
    )


@transaction.atomic
def delete_synthetic_set(*, made: SyntheticSet, by: User | None = None) -> None:
    """Delete a set on which no judge was tested, with its texts. Answers are kept."""
    made = _locked(made)
    check_idle(made.public_id)
    if answers_about(made).exists():
        raise DomainError("synthetic_set_has_answers", SYNTHETIC_HAS_ANSWERS)
    _record(made, StudyEvent.Verb.DELETE_SYNTHETIC, by)
    made.delete()


@transaction.atomic
def exclude_synthetic_set(*, made: SyntheticSet, reason: str, by: User | None = None) -> bool:
    """Leave a set out of what judges are asked and of the accuracies. Nothing is deleted.

    Returns False if it is excluded already; nothing changes then, not even the reason.
    """
    reason, made = checked_reason(reason), _locked(made)
    check_idle(made.public_id)
    if made.excluded:
        return False
    mark(made, excluded=True, reason=reason)
    _record(made, StudyEvent.Verb.EXCLUDE_SYNTHETIC, by, reason=reason)
    return True


@transaction.atomic
def reinstate_synthetic_set(*, made: SyntheticSet, by: User | None = None) -> bool:
    """Undo `exclude_synthetic_set`. Returns False if the set is not excluded."""
    made = _locked(made)
    if not made.excluded:
        return False
    mark(made, excluded=False)
    _record(made, StudyEvent.Verb.REINSTATE_SYNTHETIC, by)
    return True


def answers_about(made: SyntheticSet) -> QuerySet[SyntheticVerdict]:
    """Return the answers of judges about the set's items."""
    return SyntheticVerdict.objects.filter(item__synthetic_set=made)


def _locked(made: SyntheticSet) -> SyntheticSet:
    return SyntheticSet.objects.select_for_update().get(pk=made.pk)


def _record(made: SyntheticSet, verb: StudyEvent.Verb, by: User | None, **details: str) -> None:
    record_event(study=made.study, verb=verb, by=by, details={"set": made.name, **details})
