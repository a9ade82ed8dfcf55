"""Ratings that others collected, into the database: units, HITs, raters and their answers."""

import math
from collections import Counter, defaultdict
from dataclasses import dataclass
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

from django.contrib.auth.models import User
from django.db import transaction
from django.utils import timezone

from annotation.models import HIT, Assignment, HITUnit, Place, Rater, Rating, Tally
from annotation.services.tallies import TallyKey, tally_key
from studies.formats import Bundle, RatingTable, read_bundle
from studies.importing import import_design
from studies.models import Criterion, Generation, Instance, Study, System, Unit
from studies.services import record_version

BATCH = 1000


@dataclass(frozen=True)
class Imported:
    """What a bundle became."""

    study: Study
    instances: int
    generations: int
    ratings: int


@transaction.atomic
def import_study(*, path: Path, owner: User | None = None) -> Imported:
    """Read a bundle and store it: all of it, or nothing.

    Without ratings the study is a draft, to be planned. With ratings it is closed: they were
    collected elsewhere. Raises `FormatError` with every bad row before anything is written.
    """
    bundle = read_bundle(path)
    study = import_design(bundle=bundle, owner=owner)
    if bundle.ratings is not None:
        _RatingsImport(study, bundle.ratings).run()
        study.status = Study.Status.CLOSED
        study.opened_at = study.closed_at = timezone.now()
        study.save(update_fields=["status", "opened_at", "closed_at"])
    return _imported(study, bundle)


def _imported(study: Study, bundle: Bundle) -> Imported:
    ratings = 0 if bundle.ratings is None else len(bundle.ratings)
    return Imported(study, len(bundle.instances), len(bundle.generations), ratings)


class _RatingsImport:
    """One table of ratings on its way into one study.

    Units of one instance and system pair make a HIT; each human's work on it fills a place if
    it is complete. Machines take no place.
    """

    def __init__(self, study: Study, table: RatingTable) -> None:
        self.study, self.table = study, table
        self.version = record_version(study=study)
        assert study.dataset is not None
        self.instances = {i.key: i for i in Instance.objects.filter(dataset=study.dataset)}
        self.systems = {s.name: s for s in System.objects.filter(dataset=study.dataset)}
        self.criteria: dict[str, Criterion] = {c.name: c for c in study.criteria.all()}
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
        assignments = self._assignments(hits, raters)
        ratings = self._ratings(units, hits, raters, assignments)
        self._places(hits, assignments, ratings)
        self._tallies(ratings)

    def _units(self) -> dict[str, Unit]:
        """One unit per id, described by its first row."""
        rows: dict[str, int] = {}
        for i, key in enumerate(self.table["unit"]):
            rows.setdefault(key, i)
        units = [self._unit(key, i) for key, i in rows.items()]
        Unit.objects.bulk_create(units, batch_size=BATCH)
        return {unit.key: unit for unit in units}

    def _unit(self, key: str, i: int) -> Unit:
        row = self._row(i)
        a, b = self.systems.get(row["system_a"]), self.systems.get(row["system_b"])
        instance = self.instances.get(row["instance"])
        sample_a, sample_b = _whole(row["sample_a"]), _whole(row["sample_b"])
        role = row["role"] if row["role"] != "repeat" else Unit.Role.MAIN
        return Unit(
            study=self.study,
            key=key,
            role=role,
            instance=instance,
            system_a=a,
            system_b=b,
            generation_a_id=self._generation(instance, a, sample_a),
            generation_b_id=self._generation(instance, b, sample_b),
            sample_a=sample_a,
            sample_b=sample_b,
            phase=row["phase"],
            inclusion_probability=_known(row["inclusion_probability"]),
            separability=_known(row["separability"]),
            separability_raw=_known(row["separability_raw"]),
            similarity=row["similarity"],
        )

    def _generation(
        self, instance: Instance | None, system: System | None, sample: int | None
    ) -> int | None:
        if instance is None or system is None or sample is None:
            return None
        return self.generations.get((instance.pk, system.pk, sample))

    def _hits(self, units: dict[str, Unit]) -> dict[str, HIT]:
        """The HIT of each unit's key: one per instance and pair, or per unit without instance."""
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
        seats = {
            (key, int(repeat))
            for key, repeat in zip(self.table["unit"], self.table["repeat"], strict=True)
        }
        HITUnit.objects.bulk_create(
            (
                HITUnit(hit=of_unit[key], unit=units[key], repeat=repeat)
                for key, repeat in sorted(seats, key=lambda seat: (units[seat[0]].pk, seat[1]))
            ),
            batch_size=BATCH,
        )
        return of_unit

    def _raters(self) -> dict[str, Rater]:
        kinds = dict(zip(self.table["rater"], self.table["kind"], strict=True))
        raters = [
            Rater(
                kind=kind,
                pseudonym=name,
                provider=f"import:{self.study.pk}",
                external_id=name,
            )
            for name, kind in kinds.items()
        ]
        Rater.objects.bulk_create(raters, batch_size=BATCH)
        return {rater.pseudonym: rater for rater in raters}

    def _assignment_key(self, i: int, hits: dict[str, HIT]) -> tuple[int, str, str, str]:
        row = self._row(i)
        return hits[row["unit"]].pk, row["rater"], row["run"], row["order"]

    def _assignments(
        self, hits: dict[str, HIT], raters: dict[str, Rater]
    ) -> dict[tuple[int, str, str, str], Assignment]:
        keys = dict.fromkeys(self._assignment_key(i, hits) for i in range(len(self.table)))
        position: Counter[str] = Counter()
        assignments = []
        for hit, rater, run, order in keys:
            position[rater] += 1
            assignments.append(
                Assignment(
                    hit_id=hit,
                    rater=raters[rater],
                    study_version=self.version,
                    status=Assignment.Status.ABANDONED,
                    position=position[rater],
                    run=run,
                    order=order,
                )
            )
        Assignment.objects.bulk_create(assignments, batch_size=BATCH)
        return dict(zip(keys, assignments, strict=True))

    def _ratings(
        self,
        units: dict[str, Unit],
        hits: dict[str, HIT],
        raters: dict[str, Rater],
        assignments: dict[tuple[int, str, str, str], Assignment],
    ) -> list[Rating]:
        ratings = []
        for i in range(len(self.table)):
            row = self._row(i)
            ratings.append(
                Rating(
                    assignment=assignments[self._assignment_key(i, hits)],
                    rater=raters[row["rater"]],
                    unit=units[row["unit"]],
                    criterion=self.criteria[row["criterion"]],
                    repeat=int(row["repeat"]),
                    study_version=self.version,
                    label=self._label(row),
                    raw=row["raw"],
                    side_a=row["side_a"],
                    layout=row["layout"],
                    position=_whole(row["position"]),
                    duration_ms=_whole(row["duration_ms"]),
                    client_key=f"import-{i}",
                    created_at=_moment(row["created_at"]) or self.now,
                    excluded_reason=row["excluded_reason"],
                    **{flag: bool(row[flag]) for flag in _FLAGS},
                )
            )
        Rating.objects.bulk_create(ratings, batch_size=BATCH)
        return ratings

    def _label(self, row: dict[str, Any]) -> str | None:
        if row["label"] is None:
            return None
        return str(self.criteria[row["criterion"]].parsed_scale.parse_label(row["label"]))

    def _places(
        self,
        hits: dict[str, HIT],
        assignments: dict[tuple[int, str, str, str], Assignment],
        ratings: list[Rating],
    ) -> None:
        """Whoever counts on every unit and criterion of a HIT fills a place of it."""
        wanted = Counter(hit.pk for hit in hits.values())
        given: Counter[int] = Counter(
            r.assignment_id for r in ratings if r.is_counted and r.repeat == 0
        )
        complete = [
            a
            for a in assignments.values()
            if a.rater.kind == Rater.Kind.HUMAN
            and given[a.pk] == wanted[a.hit_id] * len(self.criteria)
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

    def _tallies(self, ratings: list[Rating]) -> None:
        counts: Counter[TallyKey] = Counter(
            tally_key(rating) for rating in ratings if rating.is_counted and rating.repeat == 0
        )
        Tally.objects.bulk_create(
            (
                Tally(unit_id=unit, criterion_id=criterion, rater_id=rater, label=label, n=n)
                for (unit, criterion, rater, label), n in counts.items()
            ),
            batch_size=BATCH,
        )

    def _row(self, i: int) -> dict[str, Any]:
        return {name: column[i] for name, column in self.table.columns.items()}


_FLAGS = ("surplus", "superseded", "partial", "late", "excluded", "simulated")


def _whole(number: float) -> int | None:
    return None if math.isnan(number) else int(number)


def _known(number: float) -> float | None:
    return None if math.isnan(number) else float(number)


def _moment(text: str) -> datetime | None:
    try:
        moment = datetime.fromisoformat(text)
    except ValueError:
        return None
    return moment if moment.tzinfo else moment.replace(tzinfo=UTC)
