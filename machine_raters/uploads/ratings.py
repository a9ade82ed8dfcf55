"""Adds the ratings of machines to a study that people rate, or have rated."""

from collections import Counter
from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass, field
from itertools import islice
from pathlib import Path
from typing import Any

import numpy as np
from django.db import DataError, IntegrityError, transaction
from django.db.models import Q

from annotation.imports.rating_checks import rating_problems
from annotation.models import HIT, Assignment, HITUnit, Rater, Rating, Tally
from annotation.services.rating_writer import (
    AssignmentKey,
    RatingWriter,
    create_raters,
    create_tallies,
    provider_of,
    stored_probabilities,
)
from annotation.services.tallies import TallyKey, apply_tally_deltas
from machine_raters.messages import ADD_TO_DRAFT
from studies.models import Study, Unit, texts_of
from tiebreak.errors import DomainError, InvalidInput
from tiebreak.formats import FormatError, RatingTable, read_ratings
from tiebreak.formats.errors import Problems
from tiebreak.formats.limits import LIMITS, Limits
from tiebreak.formats.rating_cells import EXCLUDING_FLAGS
from tiebreak.scales import Scale

# PostgreSQL allows 65,535 parameters per statement.
LOT = 5_000
MAX_RATERS = 1_000
MACHINE = Rater.Kind.MACHINE
# Rater, run, order, unit, criterion and repeat: each has one current rating.
RatingKey = tuple[str, str, str, str, str, int]


@dataclass(frozen=True)
class AddedRatings:
    """How many ratings were stored, how many had been stored before, and whose they are."""

    added: int
    known: int
    raters: tuple[str, ...] = field(default=(), compare=False)


def add_machine_ratings(*, study: Study, path: Path, limits: Limits = LIMITS) -> AddedRatings:
    """Read a ratings file and store all of its machine ratings, or nothing.

    A rating that is stored already, by rater, run, order, unit, criterion and repeat, is skipped if
    its answer is the same. Raises a `FormatError` that lists every bad row, rows of humans included,
    and `DomainError` for a draft. Locks the study so that two uploads cannot add the same ratings.
    """
    problems = Problems()
    table = read_ratings(path, limits=limits, problems=problems)
    return store_machine_ratings(study, table, problems)


def store_machine_ratings(study: Study, table: RatingTable, problems: Problems) -> AddedRatings:
    """Store machine ratings that were read with these problems: all of them, or nothing.

    Raises as `add_machine_ratings` does, and locks the study.
    """
    rating_problems(table, problems)
    problems.check()
    try:
        return _add(study, table)
    except (DataError, IntegrityError) as error:
        # The checks report errors by line. An error that they miss must not store a part.
        reason = f"the database refused the ratings: {str(error).splitlines()[0]}"
        raise FormatError.of(table.name, None, "refused_by_database", reason) from error


@transaction.atomic
def _add(study: Study, table: RatingTable) -> AddedRatings:
    study = Study.objects.select_for_update(no_key=True).get(pk=study.pk)
    if study.status == Study.Status.DRAFT:
        raise DomainError("study_is_draft", ADD_TO_DRAFT)
    checks = _Checks(study, table)
    checks.run()
    new = table.select(np.array(checks.new, dtype=np.int64))
    if len(new):
        _write(study, new, checks)
    return AddedRatings(len(new), len(table) - len(new), tuple(checks.names))


class _Checks:
    """Compares each row with the study, and finds the rows that are not stored yet."""

    def __init__(self, study: Study, table: RatingTable) -> None:
        self.study, self.table = study, table
        self.names = list(dict.fromkeys(table["rater"]))
        if len(self.names) > MAX_RATERS:
            reason = f"the file has {len(self.names):,} raters, but the limit is {MAX_RATERS:,}"
            raise FormatError.of(table.name, None, "too_many_raters", reason)
        self.scales: dict[str, Scale] = {c.name: c.parsed_scale for c in study.criteria.all()}
        self.units: dict[str, Unit] = {}
        self.hits: dict[str, HIT] = {}
        self.repeats: set[tuple[str, int]] = set()
        self._load_units()
        here = Q(participations__study=self.study) | Q(provider=provider_of(self.study))
        humans = Rater.objects.exclude(kind=MACHINE).filter(here, pseudonym__in=self.names)
        self.humans = set(humans.values_list("pseudonym", flat=True))
        self.stored = self._stored()
        self.new: list[int] = []

    def run(self) -> None:
        """Raise a `FormatError` that lists every row that cannot be added."""
        problems = Problems()
        for i, line in enumerate(self.table.lines):
            with problems.at(self.table.name, int(line)):
                self._check(i)
                if not self._is_stored(i):
                    self.new.append(i)
        problems.check()

    def _load_units(self) -> None:
        main = HITUnit.objects.filter(
            hit__study=self.study, hit__kind=HIT.Kind.MAIN, unit__role=Unit.Role.MAIN
        ).select_related("hit", "unit__instance")
        main = main.prefetch_related(texts_of("unit__texts"))
        for keys in _lots(dict.fromkeys(self.table["unit"])):
            for row in main.filter(unit__key__in=keys):
                self.units[row.unit.key], self.hits[row.unit.key] = row.unit, row.hit
                self.repeats.add((row.unit.key, row.repeat))

    def _stored(self) -> dict[RatingKey, tuple[str | None, str, str, dict[str, float] | None]]:
        rows = Rating.objects.filter(
            unit__study=self.study,
            rater__provider=provider_of(self.study),
            rater__external_id__in=self.names,
            superseded=False,
        ).values_list(
            *("rater__external_id", "assignment__run", "assignment__order"),
            *("unit__key", "criterion__name", "repeat"),
            *("label", "nonresponse", "raw", "probabilities"),
        )
        return {row[:6]: row[6:] for row in rows.iterator(chunk_size=2000)}

    def _check(self, i: int) -> None:
        cell = self._cell(i)
        _check_kind(cell)
        if cell("rater") in self.humans:
            raise InvalidInput(
                "rater_is_human",
                f"{cell('rater')} is the pseudonym of an annotator of this study; give the machine"
                " another name",
            )
        if (cell("unit"), int(cell("repeat"))) not in self.repeats:
            raise InvalidInput(
                "unknown_unit",
                f"unit {cell('unit')} with repeat {int(cell('repeat'))} is not a main unit of this"
                " study's plan; use the units of its export",
            )
        _check_facts(cell, self.units[cell("unit")])
        if cell("criterion") not in self.scales:
            names = ", ".join(self.scales)
            raise InvalidInput(
                "unknown_criterion",
                f"criterion {cell('criterion')!r} is not one of this study's: {names}"[:300],
            )

    def _is_stored(self, i: int) -> bool:
        """Whether this very answer is stored. Refuses another answer to the same question."""
        cell = self._cell(i)
        scale, label = self.scales[cell("criterion")], cell("label")
        label = None if label is None else str(scale.parse_label(label))
        shares = stored_probabilities(cell("probabilities"), scale)
        key = (
            *(cell(n) for n in ("rater", "run", "order", "unit", "criterion")),
            int(cell("repeat")),
        )
        if key not in self.stored:
            return False
        stored_label, stored_nonresponse, stored_raw, stored_shares = self.stored[key]
        is_other = (stored_label, stored_nonresponse) != (label, cell("nonresponse"))
        is_other |= label is None and stored_raw != cell("raw")
        if is_other or shares not in (None, stored_shares):
            raise InvalidInput(
                "rating_differs",
                f"rater {cell('rater')} has already given another answer to unit {cell('unit')}, and"
                " ratings never change; give a new pass of the machine its own run",
            )
        return True

    def _cell(self, i: int) -> Callable[[str], Any]:
        return lambda column: self.table.value(column, i)


def _check_kind(cell: Callable[[str], Any]) -> None:
    if cell("kind") != MACHINE:
        raise InvalidInput(
            "human_rating",
            "kind is human, but only ratings of machines can be added; people rate on the study's"
            " pages",
        )
    if cell("role") not in ("main", "repeat"):
        raise InvalidInput("not_a_main_unit", f"role is {cell('role')}, but must be main or repeat")
    if any(cell(flag) for flag in EXCLUDING_FLAGS) or cell("excluded_reason"):
        raise InvalidInput("flagged_rating", "a new rating cannot have a flag; leave flags empty")


def _check_facts(cell: Callable[[str], Any], unit: Unit) -> None:
    system_a, system_b = unit.system_names
    instance = unit.instance.key if unit.instance else ""
    facts = {"instance": instance, "system_a": system_a, "system_b": system_b}
    for name, value in facts.items():
        if cell(name) not in ("", value):
            raise InvalidInput(
                "contradicts_unit",
                f"{name} is {cell(name)}, but unit {unit.key} has {value or 'empty'}"[:300],
            )


def _write(study: Study, table: RatingTable, checks: _Checks) -> None:
    names = list(dict.fromkeys(table["rater"]))
    rows = Rater.objects.filter(provider=provider_of(study), external_id__in=names)
    raters = {rater.external_id: rater for rater in rows}
    raters |= create_raters(study, {name: MACHINE for name in names if name not in raters})
    writer = RatingWriter(study, table, units=checks.units, hits=checks.hits, raters=raters)
    known, position = _assignments(study, raters)
    assignments = known | writer.create_assignments(known=known, position=position)
    _add_to_tallies(study, raters, writer.create_ratings(assignments).by_tally)


def _assignments(
    study: Study, raters: dict[str, Rater]
) -> tuple[dict[AssignmentKey, Assignment], Counter[str]]:
    """Return the raters' assignments in the study, and how many each of them has."""
    rows = Assignment.objects.filter(hit__study=study, rater__in=raters.values())
    known = {
        (row.hit_id, row.rater.external_id, row.run, row.order): row
        for row in rows.select_related("rater")
    }
    return known, Counter(rater for _, rater, _, _ in known)


def _add_to_tallies(study: Study, raters: dict[str, Rater], counts: Counter[TallyKey]) -> None:
    """Add to the tallies of these machines. New ones are inserted in bulk."""
    rows = Tally.objects.filter(unit__study=study, rater__in=raters.values())
    known = set(rows.values_list("unit_id", "criterion_id", "rater_id", "label"))
    apply_tally_deltas(Counter({key: n for key, n in counts.items() if key in known}))
    create_tallies(Counter({key: n for key, n in counts.items() if key not in known}))


def _lots(keys: Iterable[str]) -> Iterator[list[str]]:
    remaining = iter(keys)
    while lot := list(islice(remaining, LOT)):
        yield lot
