"""Stores the tables of a bundle: separability, the plan with its units, reference answers."""

import random
from collections import defaultdict
from collections.abc import Iterator, Mapping
from itertools import groupby, islice
from operator import itemgetter

from annotation.balancing import balanced_bits
from annotation.models import HIT, HITUnit, Place
from annotation.services.planning import free_places
from annotation.services.rating_writer import whole
from studies.data.bundle_import import store
from studies.data.field_checks import check_column, complaint, if_given
from studies.models import (
    Generation,
    Instance,
    SelectedInstance,
    SeparabilityScore,
    Study,
    System,
    Unit,
    UnitText,
)
from tiebreak.formats import Bundle
from tiebreak.formats.design_tables import DesignTables
from tiebreak.formats.errors import Problems
from tiebreak.formats.rows import Row

BATCH = 1000
_UNIT_COLUMNS = {
    "unit": "key",
    **{name: name for name in ("phase", "similarity", "separability", "separability_raw")},
}
_TEXT_COLUMNS = {"sample_a": "sample", "sample_b": "sample"}
_SCORE_COLUMNS = {name: name for name in ("similarity", "samples_a", "samples_b", "truncated")}
# The phase of an instance that was not drawn, because all instances were taken.
NOT_DRAWN = ("", "all")


def table_problems(bundle: Bundle, problems: Problems) -> None:
    """Add a problem for each row of the tables that the models refuse."""
    tables = bundle.tables
    for table, model, columns in (
        (tables.design, Unit, _UNIT_COLUMNS),
        (tables.design, UnitText, _TEXT_COLUMNS),
        (tables.separability, SeparabilityScore, _SCORE_COLUMNS),
    ):
        for column, name in columns.items():
            values = (row[column] for row in table.rows)
            check_column(
                if_given(complaint(model, name)),
                values,
                table.lines,
                file=table.name,
                column=column,
                problems=problems,
            )


class StoredRows:
    """The instances, systems and generations of a study's dataset by their names."""

    def __init__(self, study: Study) -> None:
        self.instances = {i.key: i for i in Instance.objects.filter(dataset=study.dataset_id)}
        self.systems = {s.name: s for s in System.objects.filter(dataset=study.dataset_id)}
        generations = Generation.objects.filter(instance__dataset=study.dataset_id)
        self._generations: dict[tuple[int | None, ...], int] = {
            (instance, system, sample): pk
            for pk, instance, system, sample in generations.values_list(
                "pk", "instance", "system", "sample_index"
            )
        }

    def texts(self, instance: Instance | None, row: Row) -> list[UnitText]:
        """Return the texts of a row's unit: two if system B is named, or only samples are given.

        A single text has no second one, although files may give it a `sample_b`.
        """
        a, b = (self._text(instance, row[f"system_{s}"], whole(row[f"sample_{s}"])) for s in "ab")
        has_samples_only = a.system_id is None and b.sample is not None
        return [a, b] if b.system_id is not None or has_samples_only else [a]

    def _text(self, instance: Instance | None, name: str | None, sample: int | None) -> UnitText:
        system = self.systems.get(name or "")
        system_id = system.pk if system else None
        generation = self._generations.get((instance.pk if instance else None, system_id, sample))
        return UnitText(system_id=system_id, generation_id=generation, sample=sample)


def import_scores(*, tables: DesignTables, stored: StoredRows) -> None:
    """Store the separability scores that the dataset does not have yet.

    Rows without alignments only repeat what the units have.
    """
    rows = (row for row in tables.separability.rows if row["samples_a"] is not None)
    scores = (_score(row, stored) for row in rows)
    while batch := list(islice(scores, BATCH)):
        SeparabilityScore.objects.bulk_create(batch, ignore_conflicts=True)


def _score(row: Row, stored: StoredRows) -> SeparabilityScore:
    return SeparabilityScore(
        instance=stored.instances[row["instance"]],
        system_a=stored.systems[row["system_a"]],
        system_b=stored.systems[row["system_b"]],
        similarity=row["similarity"],
        settings=row["similarity_settings"],
        self_alignment_a=row["self_alignment_a"],
        self_alignment_b=row["self_alignment_b"],
        cross_alignment=row["cross_alignment"],
        delta=row["separability_raw"],
        delta_standard_error=row["separability_standard_error"],
        truncated=row["truncated"] or 0,
        samples_a=row["samples_a"],
        samples_b=row["samples_b"] or 0,
    )


class PlanImport:
    """Writes the plan of a bundle's design into one study: units, HITs, draws."""

    def __init__(self, study: Study, tables: DesignTables, stored: StoredRows) -> None:
        self.study, self.rows, self.stored = study, tables.design.rows, stored
        self.answers: dict[str, dict[str, str]] = defaultdict(dict)
        self.explanations: dict[str, str] = {}
        self.further: set[int] = set()
        scales = {c.name: c.parsed_scale for c in study.criteria.all()}
        for row in tables.reference_answers.rows:
            label = scales[row["criterion"]].parse_label(row["expected"])
            self.answers[row["unit"]][row["criterion"]] = str(label)
            self.explanations[row["unit"]] = row["explanation"]

    def run(self) -> tuple[dict[str, Unit], dict[str, HIT]]:
        """Store everything, and return the units and the HITs of units by the units' names."""
        units = {unit.key: unit for unit in store(Unit, map(self._unit, self.rows))}
        hits = self._hits(units)
        SelectedInstance.objects.bulk_create(self._selected(), batch_size=BATCH)
        return units, hits

    def add_places(self) -> None:
        """Create the places that no imported work fills so that every HIT has all its places."""
        rng = random.Random(f"{self.study.seed}:plan")
        filled: dict[int, int] = defaultdict(int)
        for hit in Place.objects.filter(study=self.study).values_list("hit", flat=True):
            filled[hit] += 1
        places = [
            place
            for hit in self.study.hits.main().order_by("number")
            for place in free_places(
                self.study, hit, range(filled[hit.pk], self._places_of(hit.pk in self.further)), rng
            )
        ]
        Place.objects.bulk_create(places, batch_size=BATCH)
        self.study.places.recount_remaining(most=self.study.most_ratings)

    def _places_of(self, has_further: int) -> int:
        return self.study.most_ratings if has_further else self.study.ratings_per_hit

    def _unit(self, row: Row) -> Unit:
        instance = self.stored.instances.get(row["instance"] or "")
        same = ("role", "phase", "similarity")
        numbers = (
            *("inclusion_probability", "conditional_inclusion_probability"),
            *("separability_raw", "separability"),
        )
        return Unit.of(
            self.stored.texts(instance, row),
            study=self.study,
            key=row["unit"],
            instance=instance,
            known_labels=self.answers.get(row["unit"], {}),
            explanation=self.explanations.get(row["unit"], ""),
            **{name: row[name] for name in (*same, *numbers)},
        )

    def _hits(self, units: Mapping[str, Unit]) -> dict[str, HIT]:
        """Create the HITs with their units, whose sides are balanced as in planning."""
        rows = [row for row in self.rows if row["hit"] is not None]
        of_hit: dict[tuple[str, int], set[int | None]] = defaultdict(set)
        for row in rows:
            of_hit[row["role"], row["hit"]].add(units[row["unit"]].instance_id)
        hits: dict[tuple[str, int], HIT] = {}
        # The last number of a kind says how many there are, so there may be none missing.
        in_order = groupby(sorted(of_hit), key=itemgetter(0))
        numbers = {hit: n for _, kind in in_order for n, hit in enumerate(kind, start=1)}
        for (role, number), instances in of_hit.items():
            is_of_one = role == Unit.Role.MAIN and len(instances) == 1
            instance = next(iter(instances)) if is_of_one else None
            hits[role, number] = HIT(
                study=self.study, kind=role, number=numbers[role, number], instance_id=instance
            )
        HIT.objects.bulk_create(hits.values(), batch_size=BATCH)
        by_unit = {row["unit"]: hits[row["role"], row["hit"]] for row in rows}
        self.further = {by_unit[row["unit"]].pk for row in rows if row["further"]}
        for _ in store(HITUnit, self._hit_units(rows, units, by_unit)):
            pass
        return by_unit

    def _hit_units(
        self, rows: list[Row], units: Mapping[str, Unit], hits: Mapping[str, HIT]
    ) -> Iterator[HITUnit]:
        edges = []
        for row in rows:
            unit, parity = units[row["unit"]], self._places_of(row["further"]) % 2
            edges.append((hits[unit.key].pk, (unit.system_ids, parity)))
        bits = balanced_bits(edges, random.Random(f"{self.study.seed}:plan"))
        for row, bit in zip(rows, bits, strict=True):
            unit = units[row["unit"]]
            for repeat in range(row["repeats"] + 1):
                yield HITUnit(
                    hit=hits[unit.key], unit=unit, repeat=repeat, side_bit=bool(bit) != bool(repeat)
                )

    def _selected(self) -> list[SelectedInstance]:
        """Return the draw: one row for each instance and pair of systems."""
        drawn: dict[tuple[str, str, str], SelectedInstance] = {}
        for row in self.rows:
            key = (row["instance"], row["system_a"], row["system_b"])
            has_draw = row["phase"] not in NOT_DRAWN and row["inclusion_probability"] is not None
            if row["role"] == Unit.Role.MAIN and has_draw and None not in key:
                drawn.setdefault(key, self._selected_instance(row))
        return list(drawn.values())

    def _selected_instance(self, row: Row) -> SelectedInstance:
        return SelectedInstance(
            study=self.study,
            instance=self.stored.instances[row["instance"]],
            system_a=self.stored.systems[row["system_a"]],
            system_b=self.stored.systems[row["system_b"]],
            phase=row["phase"],
            inclusion_probability=row["inclusion_probability"],
            conditional_inclusion_probability=row["conditional_inclusion_probability"],
        )
