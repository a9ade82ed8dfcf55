"""The synthetic set that a job is about, which must still be in use."""

from jobs.models import Job
from machine_raters.messages import NO_SUCH_SYNTHETIC_SET, SYNTHETIC_EXCLUDED
from machine_raters.models import SyntheticSet
from tiebreak.errors import DomainError


def set_of(job: Job) -> SyntheticSet:
    """Return a job's set. Raises `DomainError` if it was deleted or excluded in the meantime."""
    sets = SyntheticSet.objects.select_related("study")
    return _in_use(sets.filter(public_id=job.options["synthetic_set"], study=job.owner).first())


def lock_set(made: SyntheticSet) -> SyntheticSet:
    """Lock a set, so that it is neither deleted nor excluded while something of it is stored.

    Raises as `set_of` does.
    """
    return _in_use(SyntheticSet.objects.select_for_update().filter(pk=made.pk).first())


def check_in_use(made: SyntheticSet) -> None:
    if made.excluded:
        raise DomainError("synthetic_set_excluded", SYNTHETIC_EXCLUDED)


def _in_use(made: SyntheticSet | None) -> SyntheticSet:
    if made is None:
        raise DomainError("no_such_synthetic_set", NO_SUCH_SYNTHETIC_SET, status=404)
    check_in_use(made)
    return made
