"""Imports a study with ratings that were collected elsewhere."""

from collections import Counter, defaultdict
from collections.abc import Callable, Iterable
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
from django.contrib.auth.models import User
from django.db import DataError, IntegrityError, transaction
from django.utils import timezone

from annotation.import_checks import columns_not_stored, rating_problems
from annotation.models import HIT, Assignment, HITUnit, Place, Rater
from annotation.services.rating_writer import (
    AssignmentKey,
    RatingWriter,
    create_raters,
    create_tallies,
    whole,
)
from studies.importing import KnownDataset, Stored, design_problems, import_design, store
from studies.models import Generation, Instance, Study, System, Unit
from tiebreak.formats import Bundle, FormatError, RatingTable, read_bundle
from tiebreak.formats.bundle import FILES
from tiebreak.formats.errors import Problems
from tiebreak.formats.limits import LIMITS, Limits
from tiebreak.formats.ratings import UNIT_FACTS, is_known

BATCH = 1000


@dataclass(frozen=True)
class Imported:
    """The result of an import. `not_stored` lists, by file, the columns that were not stored."""

    study: Study
    instances: int
    generations: int
    ratings: int
    dataset_was_known: bool
    not_stored: dict[str, tuple[str, ...]]

    @property
    def remarks(self) -> list[str]:
        """Sentences that the researcher should read in addition to the counts."""
        remarks = []
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

    The study becomes a draft if the bundle has no ratings, and closed if it has ratings. Before
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
    if bundle.ratings is not None:
        _RatingsImport(study, bundle.ratings).run()
        study.status = Study.Status.CLOSED
        study.opened_at = study.closed_at = timezone.now()
        study.save(update_fields=["status", "opened_at", "closed_at"])
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


def _not_stored(bundle: Bundle) -> dict[str, tuple[str, ...]]:
    left_out = dict(bundle.unread)
    if bundle.ratings is not None:
        columns = columns_not_stored(bundle.ratings) + bundle.ratings.unread
        if columns:
            left_out[bundle.ratings.name] = columns
    return left_out


class _RatingsImport:
    """Imports one table of ratings into one study.

    The units of one instance and system pair form a HIT. Each human rater's complete work on a HIT
    fills a place; machine raters take no places.
    """

    def __init__(self, study: Study, table: RatingTable) -> None:
        self.study, self.table = study, table
        assert study.dataset is not None
        self.instances = {i.key: i for i in Instance.objects.filter(dataset=study.dataset)}
        self.systems = {s.name: s for s in System.objects.filter(dataset=study.dataset)}
        self.criteria = study.criteria.count()
        generations = Generation.objects.filter(instance__dataset=study.dataset)
        self.generations = {
            (instance, system, sample): pk
            for pk, instance, system, sample in generations.values_list(
                "pk", "instance", "system", "sample_index"
            )
        }
        self.now = timezone.now()

    def run(self) -> None:
        units = self._units()
        hits = self._hits(units)
        raters = self._raters()
        writer = RatingWriter(self.study, self.table, units=units, hits=hits, raters=raters)
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
            self._unit(key, self.table["role"][i], {n: facts[n].get(key) for n in facts})
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
        a, b = self.systems.get(facts["system_a"]), self.systems.get(facts["system_b"])
        instance = self.instances.get(facts["instance"])
        sample_a, sample_b = whole(facts["sample_a"]), whole(facts["sample_b"])
        return Unit(
            study=self.study,
            key=key,
            role=role if role != "repeat" else Unit.Role.MAIN,
            instance=instance,
            system_a=a,
            system_b=b,
            generation_a_id=self._generation(instance, a, sample_a),
            generation_b_id=self._generation(instance, b, sample_b),
            sample_a=sample_a,
            sample_b=sample_b,
            phase=facts["phase"] or "",
            inclusion_probability=facts["inclusion_probability"],
            separability=facts["separability"],
            separability_raw=facts["separability_raw"],
            similarity=facts["similarity"] or "",
        )

    def _generation(
        self, instance: Instance | None, system: System | None, sample: int | None
    ) -> int | None:
        if instance is None or system is None or sample is None:
            return None
        return self.generations.get((instance.pk, system.pk, sample))

    def _hits(self, units: dict[str, Unit]) -> dict[str, HIT]:
        """Create a HIT per instance and pair, or per unit without an instance.

        Return the HITs by unit.
        """
        groups: dict[tuple[Any, ...], list[Unit]] = defaultdict(list)
        for unit in units.values():
            alone = unit.key if unit.instance_id is None else ""
            groups[unit.instance_id, unit.system_a_id, unit.system_b_id, alone].append(unit)
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
        _store_all(
            HITUnit,
            (HITUnit(hit=of_unit[key], unit=units[key], repeat=repeat) for key, repeat in in_order),
        )
        return of_unit

    def _raters(self) -> dict[str, Rater]:
        kinds = dict(zip(self.table["rater"], self.table["kind"], strict=True))
        return create_raters(self.study, kinds)

    def _places(
        self,
        hits: dict[str, HIT],
        assignments: dict[AssignmentKey, Assignment],
        counted: Counter[int],
    ) -> None:
        """Create a place for each human with counted ratings on all units and criteria of a HIT."""
        units = Counter(hit.pk for hit in hits.values())
        complete = [
            a
            for a in assignments.values()
            if a.rater.kind == Rater.Kind.HUMAN and counted[a.pk] == units[a.hit_id] * self.criteria
        ]
        number: Counter[int] = Counter()
        places = []
        for assignment in complete:
            assignment.status, assignment.completed_at = Assignment.Status.COMPLETED, self.now
            assignment.parity = number[assignment.hit_id] % 2
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
        Assignment.objects.bulk_update(complete, ["status", "completed_at", "parity"], BATCH)
        Place.objects.bulk_create(places, batch_size=BATCH)


def _store_all(model: type[Stored], rows: Iterable[Stored]) -> None:
    for _ in store(model, rows):
        pass
