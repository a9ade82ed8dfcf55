"""The planned instances of each pair of systems, in the random order drawn at planning.

Places are handed out by the numbers drawn for them at planning (`Place.draw`), so the lowest number of
a task's places is its position in that order, which no answer changes. An instance is complete once
all its planned ratings are there.
"""

from collections import defaultdict
from collections.abc import Iterable
from dataclasses import dataclass, field

from django.db.models import Count, Min, Q

from annotation.models import HIT, HITUnit, Place, Rating
from studies.models import Criterion, Study
from tiebreak.report.sections.planning.stopping import PlannedPair
from tiebreak.scales import BAD, Scale
from tiebreak.stats.core.results import NAN
from tiebreak.stats.design.selection import CONTROL

WHOLE_PHASES = {"", "all"}
Names = tuple[str, str]


@dataclass(frozen=True)
class _Turn:
    """The number drawn for a task, and whether all its planned places are completed."""

    draw: int
    is_complete: bool


@dataclass
class _Instance:
    """An instance of one pair of systems: its tasks, its units, and whether A comes first by name."""

    draw: tuple[int, int]
    is_complete: bool = True
    units: list[int] = field(default_factory=list)
    is_flipped: bool = False


# Of a unit: the sum of A's shares, where a tie counts as ½, and the number of ratings.
_Scores = dict[int, tuple[float, int]]


def planned_pairs(study: Study, criterion: Criterion, *, ratings_per_hit: int) -> list[PlannedPair]:
    """Return what a criterion's ratings say about each pair of systems, by their names.

    Only places that were planned when the study opened, with this R, count. Of instances that were
    drawn with probabilities, only the control sample is uniform, so only it enters. An instance all of whose ratings call both texts bad is left out.
    """
    scores = _scores(study, criterion, ratings_per_hit)
    instances, is_drawn = _instances(study, _turns(study, ratings_per_hit))
    return [
        _planned(names, by_key.values(), scores, is_dataset=not is_drawn)
        for names, by_key in sorted(instances.items())
    ]


def _planned_places(study: Study, ratings_per_hit: int, place: str = "") -> Q:
    """Return the condition of places planned with this R; raising it added as many to each task."""
    planned = Q(**{f"{place}number__lt": ratings_per_hit})
    if study.further_share:
        most = ratings_per_hit + study.further_ratings
        drawn = HIT.objects.with_further_ratings(study)
        planned |= Q(**{f"{place}number__lt": most, f"{place}hit__in": drawn})
    return planned


def _turns(study: Study, ratings_per_hit: int) -> dict[int, _Turn]:
    planned = Place.objects.filter(_planned_places(study, ratings_per_hit), study=study).order_by()
    rows = planned.values_list("hit").annotate(
        draw=Min("draw"), n=Count("pk"), completed=Count("completed_at")
    )
    return {hit: _Turn(draw, n == completed) for hit, draw, n, completed in rows}


def _instances(
    study: Study, turns: dict[int, _Turn]
) -> tuple[dict[Names, dict[int, _Instance]], bool]:
    """Return the instances of each pair by key, and whether they were drawn with probabilities."""
    planned = HITUnit.objects.filter(hit__in=study.hits.main(), repeat=0)
    rows = planned.filter(unit__text_b__system__isnull=False)
    columns = ("hit", "unit", "unit__instance", "unit__phase")
    systems = ("unit__text_a__system__name", "unit__text_b__system__name")
    pairs: dict[Names, dict[int, _Instance]] = defaultdict(dict)
    is_drawn = False
    for hit, unit, instance, phase, a, b in rows.order_by("unit").values_list(*columns, *systems):
        is_drawn = is_drawn or phase not in WHOLE_PHASES
        if hit not in turns or phase not in {*WHOLE_PHASES, CONTROL}:
            continue
        names = (a, b) if a < b else (b, a)
        turn = turns[hit]
        # Units are stored in random order, so they order the instances of one task.
        row = pairs[names].setdefault(instance, _Instance((turn.draw, unit)))
        row.draw = min(row.draw, (turn.draw, unit))
        row.is_complete &= turn.is_complete
        row.is_flipped = names != (a, b)
        row.units.append(unit)
    return pairs, is_drawn


def _scores(study: Study, criterion: Criterion, ratings_per_hit: int) -> _Scores:
    """Return the ratings of completed planned places, summed by unit in the database."""
    rows = (
        Rating.objects.in_statistics()
        .filter(
            _planned_places(study, ratings_per_hit, "place__"),
            criterion=criterion,
            unit__study=study,
            rater__kind="human",
            place__completed_at__isnull=False,
        )
        .order_by()
        .values_list("unit", "label")
        .annotate(n=Count("pk"))
    )
    scores: _Scores = {}
    for unit, label, n in rows:
        share = _share_of_a(criterion.parsed_scale, label)
        if share is not None:
            total, count = scores.get(unit, (0.0, 0))
            scores[unit] = (total + share * n, count + n)
    return scores


def _share_of_a(scale: Scale, text: str | None) -> float | None:
    label = BAD if text is None else scale.parse_label(text)
    return None if label == BAD else (1 - scale.side_of(label)) / 2


def _planned(
    names: Names, instances: Iterable[_Instance], scores: _Scores, *, is_dataset: bool
) -> PlannedPair:
    means, ratings = [], []
    for row in sorted(instances, key=lambda row: row.draw):
        of_units = [scores.get(unit, (0.0, 0)) for unit in row.units]
        n = sum(count for _, count in of_units)
        if row.is_complete and not n:
            continue
        mean = sum(total for total, _ in of_units) / n if row.is_complete else NAN
        means.append(1 - mean if row.is_flipped else mean)
        ratings.append(n)
    return PlannedPair(names, means, ratings, is_dataset=is_dataset)
