"""Leaves out of the results what machines made by mistake, and brings it back.

Nothing is deleted by it: an exclusion is a flag with a reason.
"""

from django.db.models import QuerySet

from annotation.models import Rater, Rating
from annotation.models.rating import RatingQuerySet
from annotation.services.tallies import set_flags
from jobs.models import UNFINISHED, Job
from machine_raters.messages import EXCLUSION_NO_REASON, MACHINE_AT_WORK, REASON_TOO_LONG
from machine_raters.models.exclusion import MAX_REASON, Excludable
from tiebreak.errors import DomainError

# PostgreSQL allows 65,535 parameters per statement.
LOT = 5_000


def unfinished_jobs(public_id: str) -> QuerySet[Job]:
    """Return the unfinished jobs of a judge, a baseline or a synthetic set."""
    return Job.objects.filter(exclusive_key__contains=f":{public_id}", status__in=UNFINISHED)


def check_idle(public_id: str) -> None:
    """Raise `DomainError` if a job of this judge, baseline or synthetic set is unfinished."""
    if unfinished_jobs(public_id).exists():
        raise DomainError("job_unfinished", MACHINE_AT_WORK)


def checked_reason(reason: str) -> str:
    """Return a reason without spaces around it. Raises `DomainError` if it is empty or too long."""
    reason = reason.strip()
    if not reason:
        raise DomainError("no_reason", EXCLUSION_NO_REASON, status=400)
    if len(reason) > MAX_REASON:
        raise DomainError("reason_too_long", REASON_TOO_LONG.format(most=MAX_REASON), status=400)
    return reason


def mark(thing: Excludable, *, excluded: bool, reason: str = "") -> None:
    thing.excluded, thing.excluded_reason = excluded, reason
    thing.save(update_fields=["excluded", "excluded_reason"])


def exclude_ratings(rater: Rater, reason: str) -> int:
    """Flag all ratings of a machine rater as excluded, and return how many were not flagged before."""
    ratings = Rating.objects.filter(rater=rater, superseded=False, excluded=False)
    return _flag(ratings, excluded=True, excluded_reason=reason)


def reinstate_ratings(rater: Rater, reason: str) -> int:
    """Undo `exclude_ratings` with this reason, and return how many ratings count again."""
    ratings = Rating.objects.filter(
        rater=rater, superseded=False, excluded=True, excluded_reason=reason
    )
    return _flag(ratings, excluded=False, excluded_reason="")


def _flag(ratings: RatingQuerySet, **flags: bool | str) -> int:
    keys = list(ratings.order_by("pk").values_list("pk", flat=True))
    for start in range(0, len(keys), LOT):
        lot = Rating.objects.filter(pk__in=keys[start : start + LOT])
        set_flags(ratings=lot, **flags)
    return len(keys)
