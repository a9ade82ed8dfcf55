"""Tallies as they are stored, and as they follow from the ratings."""

from collections import Counter

from django.db.models import Count

from annotation.models import Rater, Rating, Tally
from annotation.services.tallies import TallyKey
from studies.models import Study


def recount(*, study: Study) -> Counter[TallyKey]:
    """Return the tallies computed from the ratings, which the stored tallies must always equal."""
    rows = (
        Rating.objects.counted()
        .filter(unit__study=study, repeat=0, nonresponse="")
        .values_list("unit_id", "criterion_id", "rater__kind", "rater_id", "label")
        .annotate(n=Count("id"))
        .order_by()
    )
    counts: Counter[TallyKey] = Counter()
    for unit, criterion, kind, rater, label, n in rows:
        machine = rater if kind == Rater.Kind.MACHINE else None
        counts[(unit, criterion, machine, label or "")] += n
    return counts


def stored_tallies(*, study: Study) -> Counter[TallyKey]:
    """Return the stored tallies without zeros."""
    rows = Tally.objects.filter(unit__study=study, n__gt=0)
    return Counter({(t.unit_id, t.criterion_id, t.rater_id, t.label): t.n for t in rows})
