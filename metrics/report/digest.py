"""What the numbers were computed from, as one digest that file, bundle and study share."""

import hashlib
import json
from collections.abc import Iterable, Iterator

import numpy as np

from metrics.report.ratings import CriterionRatings, Named
from studies.formats.table import RatingTable

_TEXTS = ("run", "order", "instance", "system_a", "system_b", "category", "side_a")


def rows_sha256(table: RatingTable, criteria: Iterable[CriterionRatings]) -> str:
    """SHA-256 of the counted rows, sorted, each as a line of JSON.

    Only what the ratings are, not how a file wrote them: labels as the scale reads them, numbers
    as numbers, an absent column like an empty one.
    """
    lines = sorted(line for criterion in criteria for line in _lines(table, criterion))
    digest = hashlib.sha256()
    for line in lines:
        digest.update(line.encode() + b"\n")
    return digest.hexdigest()


def _lines(table: RatingTable, ratings: CriterionRatings) -> Iterator[str]:
    labels = (*ratings.labels, None)
    separability = table.number("separability")[ratings.rows]
    columns: list[Iterable[object]] = [
        (ratings.units.names[code] for code in ratings.unit.tolist()),
        ratings.rater.decoded(),
        ("machine" if machine else "human" for machine in ratings.is_machine.tolist()),
        (labels[code] for code in ratings.label.tolist()),
        *(Named.of(table.text(name), ratings.rows).decoded() for name in _TEXTS),
        (None if np.isnan(value) else value for value in separability.tolist()),
    ]
    for cells in zip(*columns, strict=True):
        yield json.dumps([ratings.name, *cells], ensure_ascii=False, separators=(",", ":"))
