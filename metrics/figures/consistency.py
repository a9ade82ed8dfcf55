"""Figures of rating sets: consistency by separability, and the shares of extreme sets."""

from collections.abc import Callable, Iterator

from django.utils.safestring import SafeString

from metrics.charts.curves import Series, range_chart
from metrics.charts.svg import Kind
from metrics.figures.figure import (
    ESTIMATE_COLUMNS,
    Cell,
    Figure,
    empty_figure,
    estimate_cells,
)
from metrics.findings import (
    consistency_sets,
    separability_finding,
    sets_finding,
    why_no_consistency,
)
from metrics.messages import RATING_SET
from tiebreak.report.model import CriterionSection, RaterSets
from tiebreak.stats import Estimate
from tiebreak.stats.rating_sets import SeparabilityRange

CONSISTENCY_READING = (
    f"{RATING_SET} A mark is the mean consistency of the sets in one range of separability (δ), and"
    " the line its 95% interval. If consistency rises with δ, annotators contradict themselves less"
    " where the systems' texts are easier to tell apart, as separability predicts (Ghosh et al."
    " 2024)."
)
SHARES_READING = (
    "Filled marks are the share of rating sets with consistency 0 (contradictory, or ties only), and"
    " hollow marks the share with consistency 1, in each range of separability (δ)."
)
COLUMNS = ("separability", "series", *ESTIMATE_COLUMNS)
X_LABEL = "separability (δ) of the instance"
Value = Callable[[SeparabilityRange], Estimate]
OPEN: dict[Kind, Kind] = {"human": "human-open", "machine": "machine-open"}


def consistency_figure(section: CriterionSection) -> Figure:
    """Return the mean consistency of humans and machines by range of separability."""
    sets = consistency_sets(section)
    if sets is None:
        return empty_figure("consistency", "Consistency", why_no_consistency(section))
    finding, sentence = separability_finding(sets)
    series = [
        _series(kind, name, of_rater, lambda row: row.consistency)
        for kind, name, of_rater in _raters(section)
    ]
    return Figure(
        "consistency",
        finding,
        sentence,
        _drawn(series, sets, finding),
        COLUMNS,
        tuple(_cells(series)),
        CONSISTENCY_READING,
        _legend(series),
        title="Consistency by separability",
    )


def set_shares_figure(section: CriterionSection) -> Figure:
    """Return the shares of inconsistent and of perfectly consistent sets by separability."""
    sets = consistency_sets(section)
    if sets is None:
        return empty_figure("set-shares", "Rating sets", why_no_consistency(section))
    finding, sentence = sets_finding(sets)
    series = []
    for kind, name, of_rater in _raters(section):
        zero = _series(kind, f"{name}, consistency 0", of_rater, lambda row: row.zero)
        one = _series(OPEN[kind], f"{name}, consistency 1", of_rater, lambda row: row.perfect)
        series += [zero, one]
    return Figure(
        "set-shares",
        finding,
        sentence,
        _drawn(series, sets, finding),
        COLUMNS,
        tuple(_cells(series)),
        SHARES_READING,
        _legend(series),
        title="Rating sets",
    )


def _raters(section: CriterionSection) -> Iterator[tuple[Kind, str, RaterSets]]:
    sets = section.rating_sets
    if sets is not None:
        yield "human", "annotators", sets
        for machine, of_machine in sorted(sets.machines.items()):
            yield "machine", machine, of_machine


def _series(kind: Kind, name: str, sets: RaterSets, value: Value) -> Series:
    points = tuple(((row.low + row.high) / 2, value(row)) for row in sets.by_separability)
    return Series(kind, name, points)


def _drawn(series: list[Series], sets: RaterSets, finding: str) -> SafeString:
    ranges = sets.by_separability
    edges = [row.low for row in ranges] + [row.high for row in ranges[-1:]]
    return range_chart(series, edges or [0, 1], finding=finding, x_label=X_LABEL)


def _legend(series: list[Series]) -> tuple[tuple[Kind, str], ...]:
    return tuple((one.kind, one.name) for one in series if one.drawn)


def _cells(series: list[Series]) -> Iterator[tuple[Cell, ...]]:
    for one in series:
        for middle, estimate in one.points:
            yield (middle, one.name, *estimate_cells(estimate))
