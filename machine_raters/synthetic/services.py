"""Testing judges on synthetic sets."""

from django.contrib.auth.models import User

from jobs.models import Job
from machine_raters.messages import JUDGE_HAS_NO_SYNTHETIC_ITEMS
from machine_raters.models import Judge, SyntheticSet
from machine_raters.services.machine_raters import start_job_of
from machine_raters.services.raters import check_in_use
from machine_raters.synthetic.checking_job import SyntheticCheckJob
from tiebreak.errors import DomainError


def check_judge(*, judge: Judge, made: SyntheticSet, by: User | None = None) -> Job:
    """Queue a job that asks a judge about the items of a set that it has not answered yet."""
    check_in_use(made)
    names = list(judge.questions.values_list("criterion__name", flat=True))
    if not made.items.filter(labels__has_any_keys=names).exists():
        sentence = JUDGE_HAS_NO_SYNTHETIC_ITEMS.format(criterion=", ".join(names))
        raise DomainError("no_synthetic_items", sentence)
    options = {"synthetic_set": made.public_id, "name": f"{judge.name}, {made.name}"}
    return start_job_of(judge, SyntheticCheckJob, by=by, **options)
