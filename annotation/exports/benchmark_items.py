"""A study's items with what people and machines answered, for the formats of benchmarks."""

import json
from array import array
from collections.abc import Iterator
from dataclasses import asdict
from itertools import groupby
from pathlib import Path

from annotation.exports.ratings import rating_rows
from annotation.models.rating import RatingQuerySet
from studies.models import Study, Unit
from tiebreak.formats.rows import Row
from tiebreak.formats.writers import JudgedItem, WrittenFormat

BATCH = 500
ABOUT = "about.json"


def judged_items(study: Study, ratings: RatingQuerySet) -> Iterator[JudgedItem]:
    """Yield each main unit with its ratings in the statistics, once for every criterion.

    The ratings of some units at a time are in memory.
    """
    scales = {criterion.name: criterion.parsed_scale for criterion in study.criteria.all()}
    main = study.units.filter(role=Unit.Role.MAIN).order_by("pk")
    keys = array("q", main.values_list("pk", flat=True).iterator(BATCH))
    counted = ratings.in_statistics()
    for first in range(0, len(keys), BATCH):
        some = counted.filter(unit__in=keys[first : first + BATCH])
        rows = sorted(rating_rows(study, some, with_texts=True), key=_unit_and_criterion)
        for (_, criterion), group in groupby(rows, key=_unit_and_criterion):
            yield JudgedItem.of_rows(list(group), scales[criterion])


def write_about(folder: Path, written: WrittenFormat) -> None:
    """Write next to the files how many rows each has, and what the format cannot carry."""
    text = json.dumps(asdict(written), ensure_ascii=False, indent=1)
    (folder / ABOUT).write_text(f"{text}\n", encoding="utf-8")


def _unit_and_criterion(row: Row) -> tuple[str, str]:
    return row["unit"], row["criterion"]
