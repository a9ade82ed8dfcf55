"""Curves of a machine rater's ranking from fewer comparisons."""

from metrics.charts.curves import Series, range_chart
from metrics.charts.svg import Kind
from metrics.figures.figure import Figure, empty_figure
from metrics.messages import READING_IF_DRAWN
from recruitment.launch.check import counted
from tiebreak.report.model import ComparisonBudget
from tiebreak.stats import Estimate

TITLE = "A machine rater's ranking from fewer comparisons"
READING = (
    "Points are medians, over 100 draws, of Spearman's correlation between the systems' scores from so"
    " many comparisons on each instance and their scores from all, and lines cover 95% of the draws. A"
    " score is wins divided by comparisons. ■ draws ordered pairs at random, □ draws each pair once and"
    " shows it in a random order, ● draws pairs and shows each in both orders, so that a preference for"
    " the first text cancels. Where a curve is flat, further comparisons change the ranking little. The"
    " curve does not show that the ranking is right: that is agreement with annotators, above. Its last"
    " point is the full result itself, and judges whose answers vary would not repeat it."
)
KINDS: dict[str, Kind] = {
    "random": "machine",
    "no-repeat": "machine-open",
    "symmetric": "human",
}
COLUMNS = (
    *("machine_rater", "schedule", "comparisons_per_instance"),
    *("median", "percentile_2.5", "percentile_97.5", "systems", "instances"),
)
MAX_CURVES = 6
NO_MACHINE = "No machine rater has compared the systems."


def comparison_budget_figures(section: dict[str, ComparisonBudget]) -> list[Figure]:
    """Return a figure for each of the first machine raters that have a curve."""
    curves = {name: one for name, one in section.items() if one.curve}
    if not curves:
        reasons = dict.fromkeys(one.reason for one in section.values() if one.reason)
        return [empty_figure("comparison-budget", TITLE, " ".join(reasons) or NO_MACHINE)]
    return [
        _figure(number, name, one)
        for number, (name, one) in enumerate(list(curves.items())[:MAX_CURVES], start=1)
    ]


def _figure(number: int, name: str, one: ComparisonBudget) -> Figure:
    title = f"{TITLE}: {name}"
    series = [
        Series(
            kind,
            schedule,
            tuple(
                (point.comparisons, Estimate(point.median, point.low, point.high, n=one.instances))
                for point in one.curve
                if point.schedule == schedule
            ),
        )
        for schedule, kind in KINDS.items()
    ]
    most = max(point.comparisons for point in one.curve)
    lowest = min(0.0, *(point.low for point in one.curve))
    chart = range_chart(
        series,
        [0, most * 1.05],
        finding=title,
        x_label="comparisons on each instance",
        y_bounds=(-1.0 if lowest < 0 else 0.0, 1.0),
    )
    sentence = (
        f"{counted(one.systems, 'system')} on {counted(one.instances, 'instance')} on which all pairs"
        " were compared in both orders."
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
        COLUMNS,
        rows,
        READING + READING_IF_DRAWN[one.speaks_of],
        tuple((kind, schedule) for schedule, kind in KINDS.items()),
        title=title,
    )
