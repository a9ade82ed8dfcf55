"""Actions on judges only: several together, copies, trials, and tests on synthetic sets."""

from typing import Any

from django.contrib.auth.models import User
from django.db import transaction

from jobs.models import Job
from machine_raters.forms import JUDGE_SETTINGS
from machine_raters.judging.example_sets import add_example_set
from machine_raters.judging.injection_job import JudgeInjectionJob
from machine_raters.judging.job import JudgeDryRunJob, questions_of
from machine_raters.judging.kind import add_criterion, check_items
from machine_raters.messages import JUDGE_HAS_NO_SYNTHETIC_ITEMS
from machine_raters.models import Judge, MachineRater, SyntheticSet
from machine_raters.services.machine_raters import create_machine_rater, start_job_of
from machine_raters.services.raters import check_in_use
from machine_raters.synthetic.checking_job import SyntheticCheckJob
from studies.models import Criterion, Study
from tiebreak.errors import DomainError

KIND = MachineRater.Kind.JUDGE


@transaction.atomic
def create_judges(
    *, study: Study, by: User | None = None, criterion: Criterion | None = None, **settings: Any
) -> list[Judge]:
    """Create a judge of a criterion, or one of each criterion, whose names end with the criterion.

    All judges of a study read its guidelines, and each the question of its criterion. Raises
    `DomainError` if a name is taken; none is created then.
    """
    name, each = settings.pop("name"), criterion is None
    return [
        create_machine_rater(
            study=study,
            kind=KIND,
            by=by,
            criterion=one,
            name=f"{name}: {one.name}" if each else name,
            **settings,
        )
        for one in ([criterion] if criterion is not None else study.criteria.all())
    ]


@transaction.atomic
def copy_judge(*, judge: Judge, study: Study, by: User | None = None) -> Judge:
    """Create a judge with the same name and settings in a clone of its study, with its examples."""
    settings = {name: getattr(judge, name) for name in JUDGE_SETTINGS if name != "criterion"}
    if chosen := judge.example_set:
        settings["example_set"] = add_example_set(
            study=study, name=chosen.name, items=chosen.items, by=by
        )
    criteria = {one.name: one for one in study.criteria.all()}
    first, *others = questions_of(judge)
    criterion = criteria[first.criterion.name]
    copy: Judge = create_machine_rater(
        study=study, kind=KIND, by=by, criterion=criterion, **settings
    )
    for other in others:
        add_criterion(copy, criteria[other.criterion.name])
    for own, copied in zip([first, *others], copy.questions.all(), strict=True):
        copied.steps, copied.steps_prompt = own.steps, own.steps_prompt
        copied.save(update_fields=["steps", "steps_prompt"])
    return copy


def try_judge(*, judge: Judge, by: User | None = None) -> Job:
    """Queue a job that asks the judge about five items and stores no ratings."""
    check_items(judge)
    return start_job_of(judge, JudgeDryRunJob, by=by)


def try_injections(*, judge: Judge, by: User | None = None) -> Job:
    """Queue a job that counts which answers change when a text hides an instruction."""
    check_items(judge)
    return start_job_of(judge, JudgeInjectionJob, by=by)


def check_judge(*, judge: Judge, made: SyntheticSet, by: User | None = None) -> Job:
    """Queue a job that asks a judge about the items of a set that it has not answered yet."""
    check_in_use(made)
    names = list(judge.questions.values_list("criterion__name", flat=True))
    if not made.items.filter(labels__has_any_keys=names).exists():
        sentence = JUDGE_HAS_NO_SYNTHETIC_ITEMS.format(criterion=", ".join(names))
        raise DomainError("no_synthetic_items", sentence)
    options = {"synthetic_set": made.public_id, "name": f"{judge.name}, {made.name}"}
    return start_job_of(judge, SyntheticCheckJob, by=by, **options)
