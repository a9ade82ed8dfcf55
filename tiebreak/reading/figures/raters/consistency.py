"""Figures of rating sets: consistency by separability, and the shares of extreme sets."""

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass

from tiebreak.digits import in_digits
from tiebreak.reading.charts.chart import Chart
from tiebreak.reading.charts.curves import Series, range_chart
from tiebreak.reading.charts.svg import Kind, kinds_of, open_kind
from tiebreak.reading.figures.figure import (
    ESTIMATE_COLUMNS,
    Cell,
    Figure,
    Simple,
    empty_figure,
    estimate_cells,
)
from tiebreak.reading.findings import (
    consistency_sets,
    separability_finding,
    sets_finding,
    why_no_consistency,
)
from tiebreak.reading.messages import RATING_SET
from tiebreak.report.model.raters import RaterSets
from tiebreak.report.model.report import CriterionSection
from tiebreak.stats import Estimate
from tiebreak.stats.raters.rating_sets import SeparabilityRange

CONSISTENCY_READING = (
    f"{RATING_SET} A mark is the mean consistency of the sets in one range of separability (δ), and"
    " the line its 95% interval. If consistency rises with δ, preferences are less mixed"
    " where the systems' texts are easier to tell apart, as separability predicts (Ghosh et al."
    " 2024)."
)
SHARES_READING = (
    "Filled marks are the share of rating sets with consistency 0 (mixed, or ties only), and"
    " hollow marks the share with consistency 1, in each range of separability (δ)."
)
STRENGTH_READING = (
    "A mark is the mean preference of the sets in one range of separability (δ), and the line its 95%"
    " interval: −1 if the first system of each pair is always preferred at full strength, 1 if the"
    " second one is, and 0 if neither is. With several pairs of systems, preferences for different"
    " systems can cancel each other."
)
COLUMNS = ("separability", "series", *ESTIMATE_COLUMNS)
X_LABEL = "separability (δ) of the instance"
Value = Callable[[SeparabilityRange | RaterSets], Estimate]
ALL_SETS = "all sets"
STRENGTH_TITLE = "Preference strength by separability"


def consistency_figure(section: CriterionSection) -> Figure:
    """Return the mean consistency of humans and machines by range of separability."""
    sets = consistency_sets(section)
    if sets is None:
        return empty_figure("consistency", "Consistency", why_no_consistency(section))
    finding, sentence = separability_finding(sets)
    series = [
        _series(kind, name, of_rater, lambda row: row.consistency)
        for kind, name, of_rater in _raters(section, section.simple_raters)
    ]
    return Figure(
        "consistency",
        finding,
        sentence,
        _drawn(series, sets, finding, "mean consistency"),
        COLUMNS,
        tuple(_cells(series)),
        CONSISTENCY_READING,
        title="Consistency by separability",
    )


def set_shares_figure(section: CriterionSection) -> Figure:
    """Return the shares of mixed and of perfectly consistent sets by separability."""
    sets = consistency_sets(section)
    if sets is None:
        return empty_figure("set-shares", "Rating sets", why_no_consistency(section))
    finding, sentence = sets_finding(sets)
    series = []
    for kind, name, of_rater in _raters(section):
        zero = _series(kind, f"{name}, consistency 0", of_rater, lambda row: row.zero)
        one = _series(open_kind(kind), f"{name}, consistency 1", of_rater, lambda row: row.perfect)
        series += [zero, one]
    return Figure(
        "set-shares",
        finding,
        sentence,
        _drawn(series, sets, finding, "share of rating sets"),
        COLUMNS,
        tuple(_cells(series)),
        SHARES_READING,
        title="Rating sets",
    )


def strength_figure(section: CriterionSection) -> Figure:
    """Return the mean preference of humans and machines by separability."""
    sets = consistency_sets(section)
    if sets is None:
        return empty_figure("preference-strength", STRENGTH_TITLE, why_no_consistency(section))
    series = [
        _series(kind, name, of_rater, lambda row: row.preference_strength)
        for kind, name, of_rater in _raters(section, section.simple_raters)
    ]
    strength = sets.preference_strength
    return Figure(
        "preference-strength",
        STRENGTH_TITLE,
        f"The mean of all sets is {in_digits(strength.value)}." if strength.is_defined else "",
        _drawn(series, sets, STRENGTH_TITLE, "mean preference", y_bounds=(-1.0, 1.0)),
        COLUMNS,
        tuple(_cells(series)),
        STRENGTH_READING,
    )


@dataclass(frozen=True)
class _SetSeries(Series):
    """A series, and its value over all sets, which stands only among the numbers."""

    overall: Estimate


def _raters(
    section: CriterionSection, simple: Simple = None
) -> Iterator[tuple[Kind, str, RaterSets]]:
    sets = section.rating_sets
    if sets is not None:
        yield "human", "annotators", sets
        kinds = kinds_of(sets.machines, simple)
        for machine, of_machine in sorted(sets.machines.items()):
            yield kinds[machine], machine, of_machine


def _series(kind: Kind, name: str, sets: RaterSets, value: Value) -> _SetSeries:
    points = tuple(((row.low + row.high) / 2, value(row)) for row in sets.by_separability)
    return _SetSeries(kind, name, points, value(sets))


def _drawn(
    series: Sequence[Series],
    sets: RaterSets,
    finding: str,
    y_label: str,
    y_bounds: tuple[float, float] = (0.0, 1.0),
) -> Chart:
    ranges = sets.by_separability
    edges = [row.low for row in ranges] + [row.high for row in ranges[-1:]]
    return range_chart(
        series,
        edges or [0, 1],
        finding=finding,
        x_label=X_LABEL,
        y_label=y_label,
        y_bounds=y_bounds,
    )


def _cells(series: Sequence[_SetSeries]) -> Iterator[tuple[Cell, ...]]:
    for one in series:
        yield (ALL_SETS, one.name, *estimate_cells(one.overall))
        for middle, estimate in one.points:
            yield (middle, one.name, *estimate_cells(estimate))
