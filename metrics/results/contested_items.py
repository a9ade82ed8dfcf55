"""The units on which annotators disagree most, with their texts and all answers."""

from collections import defaultdict
from collections.abc import Iterable, Sequence
from dataclasses import dataclass

import numpy as np
from django.db.models import Count, Q

from annotation.models import Rater, Rating
from annotation.models.rating import RatingQuerySet
from annotation.views.unit_presentation import Turn, turns_of
from studies.models import Study, Unit
from tiebreak.report.criterion import Criterion
from tiebreak.scales import Label, Scale

PER_PAGE = 10
# So many units are listed, because nobody reads more; the others are found by searching.
MAX_LISTED = 1_000
MIN_RATINGS = 2


@dataclass(frozen=True)
class UnitAgreement:
    """How many human ratings a unit has, and how many of them give its most frequent label."""

    unit: str
    n: int
    top: int

    @property
    def share(self) -> float:
        return self.top / self.n

    @property
    def is_contested(self) -> bool:
        """Whether no label has more than half of the ratings."""
        return 2 * self.top <= self.n


@dataclass(frozen=True)
class Contested:
    """Units with the least agreement first, and whether others are left out."""

    units: tuple[UnitAgreement, ...] = ()
    is_cut: bool = False


@dataclass(frozen=True)
class Answer:
    rater: str
    is_machine: bool
    words: str
    seconds: float | None
    reason: str = ""


@dataclass(frozen=True)
class ContestedUnit:
    """A unit with its texts and answers."""

    unit: Unit
    agreement: UnitAgreement
    turns: tuple[Turn, ...]
    texts: tuple[tuple[str, str], ...]
    answers: tuple[Answer, ...]


def contested(criterion: Criterion) -> Contested:
    """Return the units with at least two human ratings, those with the least agreement first."""
    is_human = criterion.is_human
    labels, label = np.unique(criterion.parsed[is_human].astype(str), return_inverse=True)
    pairs, times = np.unique(criterion.unit[is_human] * len(labels) + label, return_counts=True)
    unit, n_units = pairs // max(len(labels), 1), criterion.n_units
    n = np.bincount(unit, times, minlength=n_units).astype(int)
    top = np.zeros(n_units, dtype=int)
    np.maximum.at(top, unit, times)
    rated = np.flatnonzero(n >= MIN_RATINGS)
    order = rated[np.lexsort([-n[rated], top[rated] / n[rated]])][:MAX_LISTED]
    keys = criterion.rows["unit"][criterion.first_row]
    units = (UnitAgreement(keys[k], int(n[k]), int(top[k])) for k in order)
    return Contested(tuple(units), is_cut=len(rated) > MAX_LISTED)


def search_contested(study: Study, ratings: RatingQuerySet, search: str) -> Contested:
    """Return the units that match, in the same order, from ``ratings`` of one criterion.

    Only as many matches are looked at as are listed so that a search takes no longer in a large
    study.
    """
    named = Q(key__icontains=search) | Q(instance__key__icontains=search)
    named |= Q(instance__source__icontains=search)
    matches = study.units.filter(named, role=Unit.Role.MAIN).order_by("pk")
    keys = dict(matches.values_list("pk", "key")[: MAX_LISTED + 1])
    units = _by_agreement(ratings, dict(list(keys.items())[:MAX_LISTED]))
    return Contested(units, is_cut=len(keys) > MAX_LISTED)


def _by_agreement(ratings: RatingQuerySet, keys: dict[int, str]) -> tuple[UnitAgreement, ...]:
    of_people = ratings.in_statistics().filter(unit__in=keys, rater__kind=Rater.Kind.HUMAN)
    times: dict[int, list[int]] = defaultdict(list)
    counted = of_people.order_by().values_list("unit", "label").annotate(Count("pk"))
    for unit, _, n in counted:
        times[unit].append(n)
    units = [UnitAgreement(keys[pk], sum(n), max(n)) for pk, n in sorted(times.items())]
    rated = (unit for unit in units if unit.n >= MIN_RATINGS)
    return tuple(sorted(rated, key=lambda unit: (unit.share, -unit.n)))


def contested_units(
    study: Study, ratings: RatingQuerySet, scale: Scale, listed: Sequence[UnitAgreement]
) -> list[ContestedUnit]:
    """Return the units with their texts and answers, with a fixed number of queries."""
    keys = [agreement.unit for agreement in listed]
    units = {unit.key: unit for unit in study.units.filter(key__in=keys).with_texts()}
    answers = _answers(ratings, scale, units.values())
    return [
        ContestedUnit(
            unit=(unit := units[agreement.unit]),
            agreement=agreement,
            turns=turns_of(unit.instance),
            texts=_texts(unit),
            answers=tuple(answers[unit.pk]),
        )
        for agreement in listed
        if agreement.unit in units
    ]


def _texts(unit: Unit) -> tuple[tuple[str, str], ...]:
    texts = ((text.system, text.generation) for text in unit.text_list)
    return tuple((system.name, shown.text) for system, shown in texts if system and shown)


def _answers(
    ratings: RatingQuerySet, scale: Scale, units: Iterable[Unit]
) -> dict[int, list[Answer]]:
    by_pk = {unit.pk: unit for unit in units}
    of_units = ratings.in_statistics().filter(unit__in=by_pk).select_related("rater")
    answers = defaultdict(list)
    for rating in of_units.order_by("pk"):
        seconds = None if rating.duration_ms is None else rating.duration_ms / 1000
        is_machine = rating.rater.kind == Rater.Kind.MACHINE
        words = _words(rating, by_pk[rating.unit_id], scale)
        answer = Answer(rating.rater.pseudonym, is_machine, words, seconds, rating.reason)
        answers[rating.unit_id].append(answer)
    return answers


def _words(rating: Rating, unit: Unit, scale: Scale) -> str:
    if rating.label is None:
        return "not parsed"
    return label_in_words(scale.parse_label(rating.label), unit.system_names, scale)


def label_in_words(label: Label, sides: tuple[str, str], scale: Scale) -> str:
    """Return a label in words, in which the two sides have these names."""
    preferred = dict(zip((-1, 1), sides, strict=True)).get(scale.side_of(label))
    if not preferred:
        return scale.short_name(label)
    strength = abs(int(label))
    return preferred if strength == 1 else f"{preferred} (strength {strength})"
