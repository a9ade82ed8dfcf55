"""What is known about each annotator of a study, and about annotators' first, second, … task."""

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from statistics import fmean
from typing import Any

import numpy as np
from numpy.typing import NDArray

from annotation.models import Participation
from annotation.services.exclusion import OUT
from annotation.services.screening import CheckRecord, check_records
from metrics.results.contested_items import Contested, contested
from studies.models import Study
from tiebreak.report.criterion import Codes, Criterion, read_criteria
from tiebreak.report.model.report import CriterionSection
from tiebreak.report.sections.raters.bias import first_shown
from tiebreak.report.serialization import from_json, to_json
from tiebreak.report.source import Source
from tiebreak.stats import Estimate, undefined
from tiebreak.stats.core.bootstrap import CONFIDENCE_LEVEL
from tiebreak.stats.core.independence import EXACT, SHARE, exact_interval

Json = dict[str, Any]
# Where they are in a criterion's section of a report, and in its rows of pages.
PATHS: tuple[tuple[str, ...], ...] = (
    ("raters",),
    ("self_consistency", "raters"),
    ("dawid_skene", "raters"),
)


def take_out(sections: Mapping[str, Json]) -> Json:
    """Take the parts out of the sections, and return them by criterion and path."""
    taken: Json = {}
    for name, section in sections.items():
        taken[name] = {}
        for path, holder in _holders(section):
            taken[name][".".join(path)], holder[path[-1]] = (
                holder[path[-1]],
                type(holder[path[-1]])(),
            )
    return taken


def put_back(sections: Mapping[str, Json], taken: Mapping[str, Json]) -> None:
    """Put the parts back into the sections that they were taken from."""
    for name, section in sections.items():
        for path, holder in _holders(section):
            holder[path[-1]] = taken.get(name, {}).get(".".join(path), holder[path[-1]])


def _holders(section: Json) -> Iterator[tuple[tuple[str, ...], Json]]:
    for path in PATHS:
        holder: Any = section
        for key in path[:-1]:
            holder = holder.get(key) or {}
        if path[-1] in holder:
            yield path, holder


MIN_ANNOTATORS, MAX_RATERS = 2, 80
NO_AGREEMENT = "The report has no agreement of this annotator."
NO_CHECKS = CheckRecord(0, 0)


@dataclass(frozen=True)
class RaterFacts:
    """One annotator's ratings of one criterion, apart from what the report has.

    `seconds` is the geometric mean time per answer, which a long pause hardly changes.
    `first_preferred` is the share of preferences for the text shown first, without ties.
    """

    name: str
    ratings: int
    checks_right: int
    checks: int
    seconds: float | None = None
    first_preferred: float | None = None

    @property
    def record(self) -> CheckRecord:
        return CheckRecord(self.checks_right, self.checks - self.checks_right)


@dataclass(frozen=True)
class RaterRow:
    """What is known about one annotator, with the agreement with the others from the report."""

    facts: RaterFacts
    agreement: Estimate

    @property
    def cells(self) -> tuple[str | int | float | None, ...]:
        """The row in the order of the figure's columns."""
        facts = self.facts
        agreement = self.agreement.value if self.agreement.is_defined else None
        checks = (facts.checks_right, facts.checks) if facts.checks else (None, None)
        return (
            facts.name,
            facts.ratings,
            agreement,
            self.agreement.n,
            facts.seconds,
            facts.first_preferred,
            *checks,
        )


def excluded_people(study: Study) -> list[tuple[Participation, CheckRecord]]:
    """Return who is left out of all numbers, with their gold checks."""
    out = study.participations.filter(status__in=OUT, assignments__status="excluded")
    people = list(out.select_related("rater").order_by("pk").distinct()[:MAX_RATERS])
    raters = [person.rater_id for person in people]
    records = check_records(study.pk, raters=raters) if raters else {}
    return [(person, records.get(person.rater_id, NO_CHECKS)) for person in people]


@dataclass(frozen=True)
class TaskSpeed:
    """The typical time per answer in the n-th task of annotators."""

    task: int
    seconds: float
    annotators: int


def rater_rows(raters: tuple[RaterFacts, ...], section: CriterionSection) -> list[RaterRow]:
    """Return the annotators with their agreement, the lowest first."""
    rows = []
    for facts in raters:
        known = section.raters.get(facts.name)
        agreement = (known and known.leave_one_out) or undefined(NO_AGREEMENT)
        rows.append(RaterRow(facts, _with_interval(agreement)))
    return sorted(rows, key=lambda row: (not row.agreement.is_defined, row.agreement.value))


def _with_interval(agreement: Estimate) -> Estimate:
    """Return a share of items with its exact interval, which treats them as independent."""
    if not agreement.is_defined or agreement.has_interval:
        return agreement
    low, high = exact_interval(agreement.value, agreement.n, SHARE, CONFIDENCE_LEVEL)
    return replace(agreement, low=low, high=high, method=EXACT, reason=None)


def mean_agreement(rows: Sequence[RaterRow]) -> float | None:
    """Return the mean over the annotators whose agreement is known."""
    known = [row.agreement.value for row in rows if row.agreement.is_defined]
    return fmean(known) if known else None


def rater_facts(criterion: Criterion, records: Mapping[str, CheckRecord]) -> tuple[RaterFacts, ...]:
    """Return the annotators with ratings in the statistics; ``records`` are their gold checks."""
    is_human = criterion.is_human
    rows = criterion.rows.select(is_human)
    names, rater = np.unique(rows["rater"].astype(str), return_inverse=True)
    ratings = np.bincount(rater, minlength=len(names))
    seconds = _typical_seconds(rater, rows["duration_ms"], len(names))
    first = _first_preferred(criterion, rater, len(names))
    checks = [records.get(name, NO_CHECKS) for name in names.tolist()]
    return tuple(
        RaterFacts(name, int(n), record.right, record.of, _known(time), _known(share))
        for name, n, record, time, share in zip(
            names.tolist(), ratings, checks, seconds, first, strict=True
        )
    )


def task_speeds(criterion: Criterion) -> tuple[TaskSpeed, ...]:
    """Return the typical time per answer by the annotators' first, second and later tasks."""
    timed = criterion.is_human & ~np.isnan(criterion.rows["duration_ms"])
    rows = criterion.rows.select(timed & ~np.isnan(criterion.rows["hit_position"]))
    positions, task = np.unique(rows["hit_position"], return_inverse=True)
    seconds = _typical_seconds(task, rows["duration_ms"], len(positions))
    _, rater = np.unique(rows["rater"].astype(str), return_inverse=True)
    pairs = np.unique(np.stack([task, rater]), axis=1)
    annotators = np.bincount(pairs[0], minlength=len(positions))
    usable = np.flatnonzero(annotators >= MIN_ANNOTATORS)
    return tuple(
        TaskSpeed(number, float(seconds[k]), int(annotators[k]))
        for number, k in enumerate(usable, start=1)
    )


def _typical_seconds(
    group: Codes, milliseconds: NDArray[np.float64], n: int
) -> NDArray[np.float64]:
    """Return the geometric mean time of each group in seconds, or NaN if no time is known."""
    known = ~np.isnan(milliseconds)
    logs = np.log(np.maximum(milliseconds[known], 1))
    times = np.bincount(group[known], minlength=n)
    means = _ratio(np.bincount(group[known], logs, minlength=n), times)
    return np.asarray(np.exp(means) / 1000, dtype=float)


def _first_preferred(criterion: Criterion, rater: Codes, n: int) -> NDArray[np.float64]:
    """Return how often each annotator prefers the text shown first, or NaN if that is unknown."""
    if criterion.scale.kind != "preference":
        return np.full(n, np.nan)
    is_human = criterion.is_human
    signs = np.nan_to_num(np.sign(criterion.strength[is_human]))
    side = signs * first_shown(criterion.rows.select(is_human))
    first = np.bincount(rater[side > 0], minlength=n)
    return _ratio(first, first + np.bincount(rater[side < 0], minlength=n))


def _ratio(part: NDArray[np.float64 | np.int64], of: NDArray[np.int64]) -> NDArray[np.float64]:
    ratio = np.full(len(of), np.nan)
    np.divide(part, of, out=ratio, where=of > 0)
    return ratio


def _known(number: float) -> float | None:
    return None if np.isnan(number) else float(number)


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
