"""Actions on judges only: copies, trials, and tests on synthetic sets."""

from django.contrib.auth.models import User
from django.db import transaction

from jobs.models import Job
from machine_raters.forms import JUDGE_CRITERIA, JUDGE_SETTINGS
from machine_raters.judging.again_job import AskAgainJob
from machine_raters.judging.example_sets import add_example_set
from machine_raters.judging.injection_job import JudgeInjectionJob
from machine_raters.judging.job import JudgeDryRunJob, questions_of
from machine_raters.judging.kind import check_items
from machine_raters.messages import JUDGE_HAS_NO_SYNTHETIC_ITEMS, NOTHING_TO_ASK_AGAIN
from machine_raters.models import Judge, MachineRater, SyntheticSet
from machine_raters.services.machine_raters import create_machine_rater, start_job_of
from machine_raters.services.raters import check_in_use
from machine_raters.synthetic.checking_job import SyntheticCheckJob
from studies.models import Study
from tiebreak.errors import DomainError

KIND = MachineRater.Kind.JUDGE


@transaction.atomic
def copy_judge(*, judge: Judge, study: Study, by: User | None = None) -> Judge:
    """Create a judge with the same name and settings in a clone of its study, with its examples."""
    names = [name for name in JUDGE_SETTINGS if name not in JUDGE_CRITERIA]
    settings = {name: getattr(judge, name) for name in names}
    if chosen := judge.example_set:
        settings["example_set"] = add_example_set(
            study=study, name=chosen.name, items=chosen.items, by=by
        )
    questions, there = questions_of(judge), {one.name: one for one in study.criteria.all()}
    settings["criteria"] = [there[one.criterion.name] for one in questions]
    copy: Judge = create_machine_rater(study=study, kind=KIND, by=by, **settings)
    for own, copied in zip(questions, copy.questions.all(), strict=True):
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


def ask_again(*, judge: Judge, by: User | None = None) -> Job:
    """Queue a job that sends a sample of the judge's answered prompts again, as a test of its server."""
    if not judge.verdicts.filter(rating__superseded=False).exists():
        raise DomainError("nothing_to_ask_again", NOTHING_TO_ASK_AGAIN)
    return start_job_of(judge, AskAgainJob, by=by)


def check_judge(*, judge: Judge, made: SyntheticSet, by: User | None = None) -> Job:
    """Queue a job that asks a judge about the items of a set that it has not answered yet."""
    check_in_use(made)
    names = list(judge.questions.values_list("criterion__name", flat=True))
    if not made.items.filter(labels__has_any_keys=names).exists():
        sentence = JUDGE_HAS_NO_SYNTHETIC_ITEMS.format(criterion=", ".join(names))
        raise DomainError("no_synthetic_items", sentence)
    options = {"synthetic_set": made.public_id, "name": f"{judge.name}, {made.name}"}
    return start_job_of(judge, SyntheticCheckJob, by=by, **options)
