"""Writes a validated table of ratings: raters, assignments, ratings and tallies.

An import of a whole study and an upload of machine ratings to a study use it.
"""

import math
from collections import Counter
from collections.abc import Container, Iterable, Iterator, Mapping
from dataclasses import dataclass, field

from annotation.models import HIT, Assignment, Rater, Rating, Tally
from annotation.services.tallies import TallyKey, tally_key
from jobs.clock import database_now
from studies.data.bundle_import import store
from studies.models import Study, Unit
from studies.services import record_version
from tiebreak.formats import RatingTable
from tiebreak.formats.rating_cells import FLAGS, label_probabilities, parse_timestamp
from tiebreak.scales import Scale

BATCH = 1000
# A HIT's key, and the rater, run and presentation order.
AssignmentKey = tuple[int, str, str, str]


def provider_of(study: Study) -> str:
    """Return the provider of raters whose ratings were imported into the study."""
    return f"import:{study.pk}"


def create_raters(study: Study, kinds: Mapping[str, str]) -> dict[str, Rater]:
    """Create a rater for each name, with its kind. The names are the pseudonyms."""
    raters = [
        Rater(kind=kind, pseudonym=name, provider=provider_of(study), external_id=name)
        for name, kind in kinds.items()
    ]
    Rater.objects.bulk_create(raters, batch_size=BATCH)
    return {rater.pseudonym: rater for rater in raters}


def create_tallies(counts: Counter[TallyKey]) -> None:
    rows = (
        Tally(unit_id=unit, criterion_id=criterion, rater_id=rater, label=label, n=n)
        for (unit, criterion, rater, label), n in counts.items()
    )
    for _ in store(Tally, rows):
        pass


@dataclass
class Counts:
    """Numbers of counted first answers, per assignment and per tally."""

    by_assignment: Counter[int] = field(default_factory=Counter)
    by_tally: Counter[TallyKey] = field(default_factory=Counter)


class RatingWriter:
    """Writes the rows of one table into one study, whose units, HITs and raters exist."""

    def __init__(
        self,
        study: Study,
        table: RatingTable,
        *,
        units: Mapping[str, Unit],
        hits: Mapping[str, HIT],
        raters: Mapping[str, Rater],
        hit_of_row: Mapping[int, HIT] | None = None,
    ) -> None:
        self.table, self.units, self.hits, self.raters = table, units, hits, raters
        # Rows whose HIT is not their unit's HIT, by their index.
        self.hit_of_row = hit_of_row or {}
        self.version = record_version(study=study)
        self.criteria = {c.name: c for c in study.criteria.all()}
        self.scales = {name: criterion.parsed_scale for name, criterion in self.criteria.items()}
        self.now = database_now()

    def keys(self) -> Iterator[AssignmentKey]:
        """Yield each row's assignment."""
        columns = (self.table[name] for name in ("unit", "rater", "run", "order"))
        for i, (unit, rater, run, order) in enumerate(zip(*columns, strict=True)):
            hit = self.hit_of_row.get(i) or self.hits[unit]
            yield hit.pk, rater, run, order

    def create_assignments(
        self, *, known: Container[AssignmentKey] = (), position: Counter[str] | None = None
    ) -> dict[AssignmentKey, Assignment]:
        """Create the assignments that are not known, counting each rater's on from `position`.

        In an import, which has no `position`, the file may say at which position each one was.
        """
        row_of = {key: i for i, key in reversed(list(enumerate(self.keys()))) if key not in known}
        keys = sorted(row_of, key=row_of.__getitem__)
        at = self.table["hit_position"] if position is None else None
        position = Counter() if position is None else position
        assignments = []
        for hit, rater, run, order in keys:
            told = None if at is None else whole(at[row_of[hit, rater, run, order]])
            position[rater] = position[rater] + 1 if told is None else told
            assignments.append(
                Assignment(
                    hit_id=hit,
                    rater=self.raters[rater],
                    study_version=self.version,
                    status=Assignment.Status.ABANDONED,
                    position=position[rater],
                    run=run,
                    order=order,
                )
            )
        Assignment.objects.bulk_create(assignments, batch_size=BATCH)
        return dict(zip(keys, assignments, strict=True))

    def create_ratings(self, assignments: Mapping[AssignmentKey, Assignment]) -> Counts:
        """Store all rows, and return the counts of those in the statistics."""
        counts = Counts()
        for i, rating in enumerate(store(Rating, self._ratings(assignments))):
            if rating.is_counted and rating.repeat == 0:
                counts.by_assignment[rating.assignment_id] += i not in self.hit_of_row
            if rating.is_tallied:
                counts.by_tally[tally_key(rating)] += 1
        return counts

    def _ratings(self, assignments: Mapping[AssignmentKey, Assignment]) -> Iterable[Rating]:
        for i, key in enumerate(self.keys()):
            row = {name: self.table.value(name, i) for name in _COLUMNS}
            label, scale = row["label"], self.scales[row["criterion"]]
            yield Rating(
                assignment=assignments[key],
                rater=self.raters[row["rater"]],
                unit=self.units[row["unit"]],
                criterion=self.criteria[row["criterion"]],
                repeat=int(row["repeat"]),
                study_version=self.version,
                label=None if label is None else str(scale.parse_label(label)),
                nonresponse=row["nonresponse"],
                reason=row["reason"],
                raw=row["raw"],
                probabilities=stored_probabilities(row["probabilities"], scale),
                side_a=row["side_a"],
                layout=row["layout"],
                position=whole(row["position"]),
                duration_ms=whole(row["duration_ms"]),
                client_key=f"import-{i}",
                created_at=parse_timestamp(row["created_at"]) or self.now,
                excluded_reason=row["excluded_reason"],
                **{flag: bool(row[flag]) for flag in FLAGS},
            )


def stored_probabilities(cell: str, scale: Scale) -> dict[str, float] | None:
    """Return the probabilities in a cell of a ratings file by the labels' canonical texts."""
    if not cell:
        return None
    return {str(label): share for label, share in label_probabilities(cell, scale).items()}


_COLUMNS = (
    "unit",
    "rater",
    "criterion",
    "repeat",
    "label",
    "nonresponse",
    "reason",
    "raw",
    "probabilities",
    "side_a",
    "layout",
    "position",
    "duration_ms",
    "created_at",
    "excluded_reason",
    *FLAGS,
)


def whole(number: float | None) -> int | None:
    return None if number is None or math.isnan(number) else int(number)
