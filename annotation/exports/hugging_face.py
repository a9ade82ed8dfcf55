"""An export as a Hugging Face dataset, with a card and Croissant metadata about the study."""

import json
from collections.abc import Iterator
from dataclasses import dataclass
from itertools import chain
from pathlib import Path
from typing import Any

from annotation.exports.dataset_description import described
from annotation.exports.ratings import rating_rows
from annotation.exports.tables import (
    comparisons,
    exported_generations,
    exported_instances,
    tables,
)
from annotation.models.rating import RatingQuerySet
from annotation.pilot_doubts import pilot_machine_rows
from studies.models import Study
from tiebreak.formats.dataset_card import DataTable, write_card
from tiebreak.formats.export_columns import (
    ARROW_TYPES,
    GENERATIONS,
    INSTANCES,
    MESSAGES,
    PREFERENCE,
    RATINGS,
    Columns,
)
from tiebreak.formats.preferences import Ties, preference_rows
from tiebreak.formats.rows import Row
from tiebreak.formats.shown_fields import field_columns
from tiebreak.formats.writing import write_in_batches

_ABOUT = {
    "ratings": "one rating per row, flagged ratings included",
    "pilot_ratings": "machine ratings of the pilot by whose doubts instances were drawn, one per row",
    "preference": "one comparison per row, as a prompt with a chosen and a rejected text",
    "instances": "the inputs on which systems were compared",
    "generations": "the systems' texts",
    "separability": "separability δ of each instance and pair of systems",
    "reference_answers": "the expected labels of training, test and gold items",
    "design": "the items, their tasks, and how their instances were drawn",
}


@dataclass(frozen=True)
class _Source:
    columns: Columns
    rows: Iterator[Row]


def write_dataset(
    study: Study, ratings: RatingQuerySet, folder: Path, *, ties: Ties
) -> Iterator[int]:
    """Write the dataset, and yield how many ratings have been written so far.

    Empty tables are left out, because readers cannot infer anything from them.
    """
    written: list[DataTable] = []
    for name, source in _sources(study, ratings, ties).items():
        first = next(source.rows, None)
        if first is None:
            continue
        conversations = {name: MESSAGES for name, value in first.items() if isinstance(value, list)}
        rows, types = chain([first], source.rows), {**ARROW_TYPES, **conversations}
        path, count = folder / "data" / f"{name}.parquet", 0
        for count in write_in_batches(path, rows, source.columns, types=types):
            if name == "ratings":
                yield count
        written.append(DataTable(name, _ABOUT[name], source.columns, count, types))
    folder.mkdir(exist_ok=True)
    write_card(folder, described(study, ratings, written))


def _sources(study: Study, ratings: RatingQuerySet, ties: Ties) -> dict[str, _Source]:
    preferences = preference_rows(comparisons(study, ratings), ties=ties)
    return {
        "ratings": _Source(RATINGS, rating_rows(study, ratings)),
        "pilot_ratings": _Source(RATINGS, pilot_machine_rows(study)),
        "preference": _Source({**PREFERENCE, **field_columns(study.fields)}, preferences),
        "instances": _Source(INSTANCES, map(_row, exported_instances(study))),
        "generations": _Source(GENERATIONS, map(_row, exported_generations(study))),
        **{table.name: _Source(table.columns, table.rows) for table in tables(study)},
    }


def _row(item: Any) -> Row:
    """Return an instance or generation as a row, with what has no fixed columns as JSON."""
    return {
        name: json.dumps(value, ensure_ascii=False) if isinstance(value, dict | list) else value
        for name, value in vars(item).items()
    }
