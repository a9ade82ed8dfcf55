"""Limits on how many unverified annotators may join from one internet address.

Only a keyed hash of the address is stored, and only for participations that no platform confirms.
For all other participations the address is empty, and these limits do not apply.
"""

from datetime import datetime, timedelta

from django.db.models import Exists, OuterRef, QuerySet

from annotation.messages import TOO_MANY_ENTRIES, TOO_MANY_PEOPLE
from annotation.models import Assignment, Participation
from studies.models import Study
from tiebreak.errors import DomainError

HOUR = timedelta(hours=1)


def check_entry(study: Study, address: str, *, external_id: str, now: datetime) -> None:
    """Raise `DomainError` if a newcomer may not enter from this address. Stores nothing."""
    if not address:
        return
    hourly_limit = study.entries_per_address_per_hour
    recent = _participations_from(study, address).filter(created_at__gt=now - HOUR)
    others = recent.exclude(rater__external_id=external_id).values("rater").distinct()
    if hourly_limit is not None and others.count() >= hourly_limit:
        raise DomainError("too_many_entries", TOO_MANY_ENTRIES, status=429)
    limit = study.annotators_per_address
    if limit is not None and _raters_from(study, address).count() >= limit:
        raise DomainError("too_many_from_address", TOO_MANY_PEOPLE)


def has_room(study: Study, *, address: str, rater_id: int) -> bool:
    """Whether this annotator may start working from their address, or has worked from it before.

    Locks the study so that two newcomers cannot both get the last slot. Must run in a transaction.
    """
    limit = study.annotators_per_address
    if not address or limit is None:
        return True
    if _raters_from(study, address).filter(rater_id=rater_id).exists():
        return True
    # `no_key` does not block inserts of rows that only reference the study.
    Study.objects.select_for_update(no_key=True).get(pk=study.pk)
    return _raters_from(study, address).count() < limit


def _participations_from(study: Study, address: str) -> QuerySet[Participation]:
    return Participation.objects.filter(study=study, address=address)


def _raters_from(study: Study, address: str) -> QuerySet[Participation, int]:
    """Return the raters who ever had an assignment (or training or test) from this address."""
    assignments = Assignment.objects.filter(participation=OuterRef("pk"))
    working = _participations_from(study, address).filter(Exists(assignments)).order_by()
    return working.values_list("rater_id", flat=True).distinct()
