"""Imports a study with ratings that were collected elsewhere."""

from collections import Counter, defaultdict
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
from django.contrib.auth.models import User
from django.db import DataError, IntegrityError, transaction

from annotation.imports.plan_import import PlanImport, StoredRows, import_scores, table_problems
from annotation.imports.rating_checks import columns_not_stored, rating_problems
from annotation.models import HIT, Assignment, HITUnit, Place, Rater
from annotation.services.rating_writer import (
    AssignmentKey,
    RatingWriter,
    create_raters,
    create_tallies,
)
from jobs.clock import database_now
from studies.data.bundle_import import KnownDataset, design_problems, import_design, store
from studies.models import Study, Unit
from tiebreak.formats import Bundle, FormatError, RatingTable, read_bundle
from tiebreak.formats.bundle import FILES, PILOT_RATINGS
from tiebreak.formats.errors import Problems
from tiebreak.formats.limits import LIMITS, Limits
from tiebreak.formats.ratings import UNIT_FACTS, is_known

BATCH = 1000
# The units of a plan, and their HITs, by the units' names.
Planned = tuple[dict[str, Unit], dict[str, HIT]]


@dataclass(frozen=True)
class Imported:
    """The result of an import. `not_stored` lists, by file, the columns that were not stored.

    `notes` are sentences on what the bundle was made from.
    """

    study: Study
    instances: int
    generations: int
    ratings: int
    dataset_was_known: bool
    not_stored: dict[str, tuple[str, ...]]
    notes: tuple[str, ...] = ()

    @property
    def remarks(self) -> list[str]:
        """Sentences that the researcher should read in addition to the counts."""
        remarks = [*self.notes]
        dataset = self.study.dataset
        if self.dataset_was_known and dataset is not None:
            remarks.append(
                f"This dataset was imported before, so the study uses “{dataset.name}”, imported"
                f" on {dataset.created_at:%Y-%m-%d at %H:%M} UTC."
            )
        for name, columns in self.not_stored.items():
            where = "files of the bundle" if name == FILES else f"columns of {name}"
            remarks.append(f"These {where} were not stored: {', '.join(columns)}.")
        return remarks


def import_study(
    *,
    path: Path,
    owner: User | None = None,
    limits: Limits = LIMITS,
    known_dataset: KnownDataset = "use",
    then: Callable[[Study], None] | None = None,
) -> Imported:
    """Read a bundle and store all of it, or nothing.

    The study becomes a draft if the bundle has no ratings, and closed if it has ratings. An export
    also has separability scores, the plan and reference answers, which are stored as they are. Before
    anything is written, raises a `FormatError` that lists every bad row, or `DomainError` if the
    owner already has this dataset and `known_dataset` is "refuse". ``then`` is called in the
    transaction in which the study is stored.
    """
    bundle = read_bundle(path, limits=limits, check=_check)
    try:
        return _store(bundle, owner, known_dataset, then)
    except (DataError, IntegrityError) as error:
        # The checks report errors by line. An error that they miss must not leave a partial import.
        reason = f"the database refused the import: {str(error).splitlines()[0]}"
        raise FormatError.of(path.name, None, "refused_by_database", reason) from error


def _check(bundle: Bundle, problems: Problems) -> None:
    design_problems(bundle, problems)
    table_problems(bundle, problems)
    if bundle.ratings is not None:
        rating_problems(bundle.ratings, problems)


@transaction.atomic
def _store(
    bundle: Bundle,
    owner: User | None,
    known_dataset: KnownDataset,
    then: Callable[[Study], None] | None,
) -> Imported:
    made = import_design(bundle=bundle, owner=owner, known_dataset=known_dataset)
    study = made.study
    stored, tables = StoredRows(study), bundle.tables
    import_scores(tables=tables, stored=stored)
    plan = PlanImport(study, tables, stored) if tables.design.is_present else None
    planned = plan.run() if plan is not None else None
    if _was_opened(bundle):
        assert bundle.ratings is not None
        _RatingsImport(study, bundle.ratings, stored, planned).run()
        study.status = Study.Status.CLOSED
        study.opened_at = study.closed_at = database_now()
        study.save(update_fields=["status", "opened_at", "closed_at"])
    if plan is not None:
        plan.add_places()
    if then is not None:
        then(study)
    return Imported(
        study,
        len(bundle.instances),
        len(bundle.generations),
        0 if bundle.ratings is None else len(bundle.ratings),
        made.dataset_was_known,
        _not_stored(bundle),
    )


def _was_opened(bundle: Bundle) -> bool:
    """Whether ratings were collected: the export of a draft has its design, and no rating."""
    is_planned = bundle.tables.design.is_present
    return bundle.ratings is not None and (len(bundle.ratings) > 0 or not is_planned)


def _not_stored(bundle: Bundle) -> dict[str, tuple[str, ...]]:
    left_out = dict(bundle.unread)
    if bundle.ratings is not None:
        columns = columns_not_stored(bundle.ratings) + bundle.ratings.unread
        if columns:
            left_out[bundle.ratings.name] = columns
    if bundle.pilot_ratings is not None:
        # They belong to another study, which may be imported by itself.
        left_out[FILES] = (*left_out.get(FILES, ()), PILOT_RATINGS)
    return left_out


class _RatingsImport:
    """Imports one table of ratings into one study.

    The units of one instance and system pair form a HIT. Each human rater's complete work on a HIT
    fills a place; machine raters take no places.
    """

    def __init__(
        self, study: Study, table: RatingTable, stored: StoredRows, planned: Planned | None
    ) -> None:
        self.study, self.table, self.stored, self.planned = study, table, stored, planned
        self.criteria = study.criteria.count()
        self.now = database_now()

    def run(self) -> None:
        if self.planned is None:
            units = self._units()
            hits = self._hits(units)
        else:
            units, hits = self.planned
        kinds = dict(zip(self.table["rater"], self.table["kind"], strict=True))
        raters = create_raters(self.study, kinds)
        writer = RatingWriter(
            self.study,
            self.table,
            units=units,
            hits=hits,
            raters=raters,
            hit_of_row=self._hits_of_checks(hits),
        )
        assignments = writer.create_assignments()
        counts = writer.create_ratings(assignments)
        self._places(hits, assignments, counts.by_assignment)
        create_tallies(counts.by_tally)

    def _units(self) -> dict[str, Unit]:
        """Create one unit per id. Each fact about it comes from the first row that has the fact."""
        rows: dict[str, int] = {}
        for i, key in enumerate(self.table["unit"]):
            rows.setdefault(key, i)
        facts = {name: self._first_known(name) for name in UNIT_FACTS}
        made = (
            self._unit(key, self.table.value("role", i), {n: facts[n].get(key) for n in facts})
            for key, i in rows.items()
        )
        return {unit.key: unit for unit in store(Unit, made)}

    def _first_known(self, name: str) -> dict[str, Any]:
        column, units = self.table[name], self.table["unit"]
        known: dict[str, Any] = {}
        for i in np.flatnonzero(is_known(column)):
            known.setdefault(units[i], column[i])
        return known

    def _unit(self, key: str, role: str, facts: dict[str, Any]) -> Unit:
        instance = self.stored.instances.get(facts["instance"])
        return Unit.of(
            self.stored.texts(instance, facts),
            study=self.study,
            key=key,
            role=role if role != "repeat" else Unit.Role.MAIN,
            instance=instance,
            phase=facts["phase"] or "",
            inclusion_probability=facts["inclusion_probability"],
            separability=facts["separability"],
            separability_raw=facts["separability_raw"],
            similarity=facts["similarity"] or "",
        )

    def _hits_of_checks(self, hits: Mapping[str, HIT]) -> dict[int, HIT]:
        """Return the HIT of each row about a gold check, which is mixed into HITs of others.

        It is the HIT that the annotator had at the same position. Rows without a position share
        a separate HIT.
        """
        columns = [self.table[name] for name in ("rater", "participation", "hit_position")]
        at, units = list(zip(*columns, strict=True)), self.table["unit"]
        known = {at[i]: hits[unit] for i, unit in enumerate(units) if unit in hits}
        checks = [i for i, unit in enumerate(units) if unit not in hits]
        others = None
        if any(at[i] not in known for i in checks):
            last = self.study.hits.main().order_by("number").last()
            others = HIT.objects.create(study=self.study, number=last.number + 1 if last else 1)
        of_check = {i: known.get(at[i], others) for i in checks}
        return {i: hit for i, hit in of_check.items() if hit is not None}

    def _hits(self, units: dict[str, Unit]) -> dict[str, HIT]:
        """Create a HIT per instance and pair, or per unit without an instance.

        Return the HITs by unit.
        """
        groups: dict[tuple[Any, ...], list[Unit]] = defaultdict(list)
        for unit in units.values():
            alone = unit.key if unit.instance_id is None else ""
            groups[unit.instance_id, unit.system_ids, alone].append(unit)
        hits = [
            HIT(study=self.study, instance=group[0].instance, number=number)
            for number, group in enumerate(groups.values(), start=1)
        ]
        HIT.objects.bulk_create(hits, batch_size=BATCH)
        of_unit = {
            unit.key: hit
            for hit, group in zip(hits, groups.values(), strict=True)
            for unit in group
        }
        hit_units = {
            (key, int(repeat))
            for key, repeat in zip(self.table["unit"], self.table["repeat"], strict=True)
        }
        in_order = sorted(hit_units, key=lambda hit_unit: (units[hit_unit[0]].pk, hit_unit[1]))
        rows = (HITUnit(hit=of_unit[key], unit=units[key], repeat=n) for key, n in in_order)
        for _ in store(HITUnit, rows):
            pass
        return of_unit

    def _places(
        self,
        hits: dict[str, HIT],
        assignments: dict[AssignmentKey, Assignment],
        counted: Counter[int],
    ) -> None:
        """Create a place for each human with counted ratings on all units and criteria of a HIT."""
        units = Counter(hit.pk for hit in hits.values() if hit.kind == HIT.Kind.MAIN)
        complete = [
            a
            for a in assignments.values()
            if a.rater.kind == Rater.Kind.HUMAN
            and a.hit_id in units
            and counted[a.pk] == units[a.hit_id] * self.criteria
        ]
        number: Counter[int] = Counter()
        of_parity: dict[int, list[int]] = {0: [], 1: []}
        places = []
        for assignment in complete:
            of_parity[number[assignment.hit_id] % 2].append(assignment.pk)
            places.append(
                Place(
                    study=self.study,
                    hit_id=assignment.hit_id,
                    number=number[assignment.hit_id],
                    draw=0,
                    assignment=assignment,
                    completed_at=self.now,
                )
            )
            number[assignment.hit_id] += 1
        # All rows of a parity become alike: a statement with a case for each row takes far longer.
        for parity, ids in of_parity.items():
            for start in range(0, len(ids), BATCH):
                Assignment.objects.filter(pk__in=ids[start : start + BATCH]).update(
                    status=Assignment.Status.COMPLETED, completed_at=self.now, parity=parity
                )
        Place.objects.bulk_create(places, batch_size=BATCH)
