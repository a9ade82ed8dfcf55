"""What pages show next to the report: annotators, tasks and units.

Computing it reads every rating, so it is stored with the report, and covers the same ratings.
"""

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

from annotation.services.screening import CheckRecord
from metrics.results.contested_items import Contested, contested
from metrics.results.rater_rows import RaterFacts, TaskSpeed, rater_facts, task_speeds
from tiebreak.report.criterion import read_criteria
from tiebreak.report.serialization import from_json, to_json
from tiebreak.report.source import Source


@dataclass(frozen=True)
class PageRows:
    """The rows of one criterion's pages."""

    annotators: int = 0
    raters: tuple[RaterFacts, ...] = ()
    speeds: tuple[TaskSpeed, ...] = ()
    contested: Contested = field(default_factory=Contested)


def page_rows(source: Source, records: Mapping[str, CheckRecord]) -> dict[str, Any]:
    """Return the rows of each criterion as JSON, from the ratings of a report.

    ``records`` are the annotators' gold checks by their pseudonyms.
    """
    criteria, _ = read_criteria(source.table, source.scales, None, source.order)
    rows = {}
    for criterion in criteria:
        raters, speeds = rater_facts(criterion, records), task_speeds(criterion)
        found = PageRows(len(raters), raters, speeds, contested(criterion))
        rows[criterion.name] = to_json(found)
    return rows


def rows_of(stored: Mapping[str, Any], criterion: str) -> PageRows:
    """Return the stored rows of a criterion."""
    rows: PageRows = from_json(PageRows, stored.get(criterion, {}))
    return rows
