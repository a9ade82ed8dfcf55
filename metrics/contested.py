"""The units on which annotators disagree most, with their texts and all answers."""

from collections import defaultdict
from dataclasses import dataclass
from typing import Any, cast

from django.core.paginator import Page, Paginator
from django.db.models import F, FloatField, Max, Q, QuerySet, Sum
from django.db.models.functions import Cast

from annotation.models import Rater, Rating
from annotation.views.unit_presentation import Turn, turns_of
from studies.models import Study, Unit
from tiebreak.scales import Scale

PER_PAGE = 10


@dataclass(frozen=True)
class Answer:
    rater: str
    is_machine: bool
    words: str
    seconds: float | None


@dataclass(frozen=True)
class ContestedUnit:
    """One unit: how many ratings it has, the share of its most frequent label, and its answers."""

    unit: Unit
    n: int
    share: float
    turns: tuple[Turn, ...]
    texts: tuple[tuple[str, str], ...]
    answers: tuple[Answer, ...]


def contested_page(
    study: Study, criterion: str, *, search: str, number: str | None
) -> "Page[Unit]":
    """Return one page of the units, those with the least agreement first."""
    return Paginator(_by_agreement(study, criterion, search), PER_PAGE).get_page(number)


def contested_units(criterion: str, scale: Scale, rows: list[Unit]) -> list[ContestedUnit]:
    """Return the units with their texts and answers, with a fixed number of queries."""
    answers = _answers(criterion, scale, rows)
    return [
        ContestedUnit(
            unit=unit,
            n=cast(Any, unit).n,
            share=cast(Any, unit).share,
            turns=turns_of(unit.instance),
            texts=_texts(unit),
            answers=tuple(answers[unit.pk]),
        )
        for unit in rows
    ]


def _by_agreement(study: Study, criterion: str, search: str) -> QuerySet[Unit]:
    """Annotate units with the number of human ratings and the share of the most frequent label."""
    of_people = Q(tallies__rater__isnull=True, tallies__criterion__name=criterion)
    units = study.units.filter(of_people, role=Unit.Role.MAIN)
    if search:
        named = Q(key__icontains=search) | Q(instance__key__icontains=search)
        units = units.filter(named | Q(instance__source__icontains=search))
    return (
        units.annotate(n=Sum("tallies__n"), top=Max("tallies__n"))
        .filter(n__gte=2)
        .annotate(share=Cast(F("top"), FloatField()) / Cast(F("n"), FloatField()))
        .select_related("instance", "generation_a", "generation_b", "system_a", "system_b")
        .order_by("share", "-n", "pk")
    )


def _texts(unit: Unit) -> tuple[tuple[str, str], ...]:
    sides = ((unit.system_a, unit.generation_a), (unit.system_b, unit.generation_b))
    return tuple((system.name, text.text) for system, text in sides if system and text)


def _answers(criterion: str, scale: Scale, units: list[Unit]) -> dict[int, list[Answer]]:
    by_pk = {unit.pk: unit for unit in units}
    ratings = (
        Rating.objects.in_statistics()
        .filter(unit__in=by_pk, criterion__name=criterion)
        .select_related("rater")
        .order_by("pk")
    )
    answers = defaultdict(list)
    for rating in ratings:
        answers[rating.unit_id].append(_answer(rating, by_pk[rating.unit_id], scale))
    return answers


def _answer(rating: Rating, unit: Unit, scale: Scale) -> Answer:
    seconds = None if rating.duration_ms is None else rating.duration_ms / 1000
    is_machine = rating.rater.kind == Rater.Kind.MACHINE
    return Answer(rating.rater.pseudonym, is_machine, _words(rating, unit, scale), seconds)


def _words(rating: Rating, unit: Unit, scale: Scale) -> str:
    """Return a label in words, in which systems have their names."""
    if rating.label is None:
        return "not parsed"
    label = scale.parse_label(rating.label)
    preferred = {-1: unit.system_a, 1: unit.system_b}.get(scale.side_of(label))
    if preferred is None:
        return scale.short_name(label)
    strength = abs(int(label))
    return preferred.name if strength == 1 else f"{preferred.name} (strength {strength})"
