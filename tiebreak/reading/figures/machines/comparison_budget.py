"""Curves of a machine rater's ranking from fewer comparisons, and of its accuracy."""

from collections.abc import Callable

from tiebreak.digits import counted
from tiebreak.reading.charts.chart import Chart
from tiebreak.reading.charts.curves import Series, range_chart
from tiebreak.reading.charts.svg import Kind
from tiebreak.reading.figures.figure import Figure, draws, empty_figure
from tiebreak.reading.messages import READING_IF_DRAWN
from tiebreak.report.model.machines import BudgetPoint, ComparisonBudget
from tiebreak.stats import Estimate
from tiebreak.stats.core.results import NAN

TITLE = "A machine rater's ranking from fewer comparisons"
READING = (
    "Points are medians, over 100 draws, of Spearman's correlation between the systems' scores from so"
    " many comparisons on each instance and their scores from all, and lines cover 95% of the draws. A"
    " score is wins divided by comparisons. An instance on which the machine rater left a pair out, in one"
    " order or both, or gave an answer that cannot be read, does not count. ■ draws ordered pairs at random, □ draws each pair once and"
    " shows it in a random order, ● draws pairs and shows each in both orders, so a preference for"
    " the first text cancels. Where a curve is flat, more comparisons change the ranking little. The"
    " curve does not show that the ranking is right: that is accuracy, below. Its last"
    " point is the full result itself, and judges whose answers vary would not repeat it."
)
ACCURACY_TITLE = "A machine rater's accuracy from fewer comparisons"
ACCURACY_READING = (
    "A pair of systems is right if the machine rater's comparisons, this many on each instance, rank it as"
    " annotators' win rates on the same instances do; equal scores count as half right, and chance alone gives"
    " one half. Points are medians over 100 draws, and lines cover 95% of the draws: ■ ordered pairs at"
    " random, □ each pair once in a random order, ● pairs in both orders. Where the curve stays below 1,"
    " more comparisons do not help: this machine rater ranks otherwise, or annotators' own order is by"
    " chance. All pairs count the same, even those that annotators hardly separate."
)
NOT_PARTED = "Annotators rated no pair of these systems differently on these instances."
KINDS: dict[str, Kind] = {
    "random": "machine",
    "no-repeat": "machine-open",
    "symmetric": "human",
}
COLUMNS = (
    *("machine_rater", "schedule", "comparisons_per_instance"),
    *("median", "percentile_2.5", "percentile_97.5"),
)
RANKED = (*COLUMNS, "systems", "instances")
RIGHT = (*COLUMNS, "system_pairs", "ratings", "instances")
MAX_CURVES = 6
NO_MACHINE = "No machine rater has compared the systems."


@draws("comparison_budget")
def comparison_budget_figures(section: dict[str, ComparisonBudget]) -> list[Figure]:
    """Return a figure for each of the first machine raters that have a curve."""
    curves = {name: one for name, one in section.items() if one.curve}
    if not curves:
        reasons = dict.fromkeys(one.reason for one in section.values() if one.reason)
        return [empty_figure("comparison-budget", TITLE, " ".join(reasons) or NO_MACHINE)]
    return [
        figure(number, name, one)
        for number, (name, one) in enumerate(list(curves.items())[:MAX_CURVES], start=1)
        for figure in (_ranking, _accuracy)
    ]


def _ranking(number: int, name: str, one: ComparisonBudget) -> Figure:
    title = f"{TITLE}: {name}"
    lowest = min(0.0, *(point.low for point in one.curve))
    bounds = (-1.0 if lowest < 0 else 0.0, 1.0)
    chart = _chart(
        one,
        title,
        "rank correlation",
        bounds,
        lambda p: Estimate(p.median, p.low, p.high, n=one.instances),
    )
    sentence = (
        f"{counted(one.systems, 'system')} on {counted(one.instances, 'instance')} on which all pairs"
        " were answered readably in both orders. Only these count."
    )
    rows = tuple(
        (name, p.schedule, p.comparisons, p.median, p.low, p.high, one.systems, one.instances)
        for p in one.curve
    )
    return Figure(
        f"comparison-budget-{number}",
        title,
        sentence,
        chart,
        RANKED,
        rows,
        READING + READING_IF_DRAWN[one.speaks_of],
        title=title,
    )


def _accuracy(number: int, name: str, one: ComparisonBudget) -> Figure:
    title, file = f"{ACCURACY_TITLE}: {name}", f"comparison-accuracy-{number}"
    if not one.system_pairs:
        return empty_figure(file, title, NOT_PARTED)
    chart = _chart(one, title, "share of pairs in the right order", (0.0, 1.0), _right)
    sentence = (
        f"{counted(one.system_pairs, 'pair')} of systems that annotators part by"
        f" {counted(one.ratings, 'rating')} of {counted(one.instances, 'instance')}."
    )
    rows = tuple(
        (
            *(name, p.schedule, p.comparisons, p.accuracy, p.accuracy_low, p.accuracy_high),
            *(one.system_pairs, one.ratings, one.instances),
        )
        for p in one.curve
    )
    reading = ACCURACY_READING + READING_IF_DRAWN[one.speaks_of]
    return Figure(file, title, sentence, chart, RIGHT, rows, reading, title=title)


def _right(point: BudgetPoint) -> Estimate:
    if point.accuracy is None or point.accuracy_low is None or point.accuracy_high is None:
        return Estimate(NAN)
    return Estimate(point.accuracy, point.accuracy_low, point.accuracy_high)


def _chart(
    one: ComparisonBudget,
    title: str,
    y_label: str,
    bounds: tuple[float, float],
    estimate: Callable[[BudgetPoint], Estimate],
) -> Chart:
    series = [
        Series(
            kind,
            schedule,
            tuple((p.comparisons, estimate(p)) for p in one.curve if p.schedule == schedule),
        )
        for schedule, kind in KINDS.items()
    ]
    most = max(point.comparisons for point in one.curve)
    return range_chart(
        series,
        [0, most * 1.05],
        finding=title,
        x_label="comparisons on each instance",
        y_label=y_label,
        y_bounds=bounds,
    )
