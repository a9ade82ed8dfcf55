"""How many people one address may stand for, where no platform says who they are.

An address is known by its keyed hash only, and stands with a participation that nobody vouches
for; it is "" with all others, to whom nothing here applies.
"""

from datetime import datetime, timedelta

from django.db.models import Exists, OuterRef, QuerySet

from annotation.models import Assignment, Participation
from studies.models import Study
from tiebreak.errors import DomainError

HOUR = timedelta(hours=1)


def check_entry(study: Study, address: str, *, external_id: str, now: datetime) -> None:
    """Of newcomers, before anything is kept of them. Raises `DomainError`."""
    if not address:
        return
    most = study.entries_per_address_per_hour
    lately = _from(study, address).filter(created_at__gt=now - HOUR)
    others = lately.exclude(rater__external_id=external_id).values("rater").distinct()
    if most is not None and others.count() >= most:
        raise DomainError("too_many_entries", TOO_MANY_ENTRIES, status=429)
    limit = study.annotators_per_address
    if limit is not None and _workers(study, address).count() >= limit:
        raise DomainError("too_many_from_address", TOO_MANY_PEOPLE)


def has_room(study: Study, *, address: str, rater_id: int) -> bool:
    """Whether this annotator may begin to work from their address, or did so before.

    Newcomers take turns by a lock on the study, so that no two take the last turn. Runs in a
    transaction.
    """
    limit = study.annotators_per_address
    if not address or limit is None:
        return True
    if _workers(study, address).filter(rater_id=rater_id).exists():
        return True
    # Not against inserts that only name the study.
    Study.objects.select_for_update(no_key=True).get(pk=study.pk)
    return _workers(study, address).count() < limit


TOO_MANY_ENTRIES = (
    "Many people came to this study from your internet address within the last hour, so nobody new"
    " is let in from there just now. Please try again in an hour; if you sit in one room with"
    " others, whoever invited you can raise this limit."
)
TOO_MANY_PEOPLE = (
    "As many people as may take part from one internet address have done so from yours. If you took"
    " part before, please go on in the browser that you began in; if you share the address with"
    " others, whoever invited you can raise this limit."
)


def _from(study: Study, address: str) -> QuerySet[Participation]:
    return Participation.objects.filter(study=study, address=address)


def _workers(study: Study, address: str) -> QuerySet[Participation, int]:
    """All raters who ever had work from there, also in training or a test."""
    work = Assignment.objects.filter(participation=OuterRef("pk"))
    worked = _from(study, address).filter(Exists(work)).order_by()
    return worked.values_list("rater_id", flat=True).distinct()
