"""Counts per unit and label, updated in the transaction that changes a rating."""

from collections import Counter
from itertools import groupby

from django.db import connection, transaction
from django.db.models import F, Q

from annotation.models import Rater, Rating, Tally
from annotation.models.rating import RatingQuerySet
from studies.freshness import note_change

# The ids of the unit, the criterion and the machine rater (None for humans), and the label.
TallyKey = tuple[int, int, int | None, str]


def tally_key(rating: Rating) -> TallyKey:
    is_machine = rating.rater.kind == Rater.Kind.MACHINE
    machine = rating.rater_id if is_machine else None
    return (rating.unit_id, rating.criterion_id, machine, rating.label or "")


def apply_tally_deltas(deltas: Counter[TallyKey]) -> None:
    """Add to tallies, always in the same order so that two transactions cannot deadlock."""
    changed = [(key, n) for key, n in sorted(deltas.items(), key=_in_order) if n]
    for upsert, rows in groupby(changed, key=_upsert_of):
        if upsert:
            with connection.cursor() as cursor:
                cursor.executemany(upsert, [(*key, n) for key, n in rows])
            continue
        for (unit, criterion, machine, label), n in rows:
            rater = Q(rater__isnull=True) if machine is None else Q(rater=machine)
            tallies = Tally.objects.filter(rater, unit=unit, criterion=criterion, label=label)
            tallies.update(n=F("n") + n)


def _in_order(item: tuple[TallyKey, int]) -> tuple[int, int, int, str]:
    unit, criterion, machine, label = item[0]
    return unit, criterion, machine or 0, label


def _upsert_of(item: tuple[TallyKey, int]) -> str:
    """Return the statement that inserts or increments a tally, or "" for one that shrinks.

    The ORM's upsert cannot increment.
    """
    (_, _, machine, _), n = item
    return "" if n < 0 else _ADD_HUMAN if machine is None else _ADD_MACHINE


_ADD_HUMAN = """
INSERT INTO annotation_tally (unit_id, criterion_id, rater_id, label, n)
VALUES (%s, %s, %s, %s, %s)
ON CONFLICT (unit_id, criterion_id, label) WHERE rater_id IS NULL
DO UPDATE SET n = annotation_tally.n + excluded.n
"""
_ADD_MACHINE = """
INSERT INTO annotation_tally (unit_id, criterion_id, rater_id, label, n)
VALUES (%s, %s, %s, %s, %s)
ON CONFLICT (unit_id, criterion_id, rater_id, label) WHERE rater_id IS NOT NULL
DO UPDATE SET n = annotation_tally.n + excluded.n
"""


@transaction.atomic
def set_flags(*, ratings: RatingQuerySet, **flags: bool | str) -> int:
    """Flag the ratings, except superseded ones, and update the tallies.

    Repeats never enter the tallies. Returns the number of ratings. Records a change for each study
    whose report is affected.
    """
    deltas: Counter[TallyKey] = Counter()
    changed: set[str] = set()
    rows = ratings.filter(superseded=False).select_related("rater", "unit")
    current = list(rows.order_by("pk"))
    for rating in current:
        was_tallied = rating.is_tallied
        if any(getattr(rating, flag) != value for flag, value in flags.items()):
            changed.add(rating.unit.study_id)
        for flag, value in flags.items():
            setattr(rating, flag, value)
        deltas[tally_key(rating)] += int(rating.is_tallied) - int(was_tallied)
    Rating.objects.filter(pk__in=[rating.pk for rating in current]).update(**flags)
    apply_tally_deltas(deltas)
    for study_id in changed:
        note_change(study_id)
    return len(current)
