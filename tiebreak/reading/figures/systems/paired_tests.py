"""Paired tests of systems over instances, and their p-values by number of instances."""

from tiebreak.digits import counted, p_in_digits
from tiebreak.reading.charts.curves import Series, range_chart
from tiebreak.reading.charts.intervals import IntervalRow, Mark, interval_chart
from tiebreak.reading.figures.figure import (
    MAX_DRAWN,
    Figure,
    draws,
    table_of,
)
from tiebreak.report.model.systems import PairedTests
from tiebreak.stats import Estimate

MAX_CURVES = 6


TESTS_TITLE = "Paired tests of systems over instances"


TESTS_READING = (
    "● p-value of the paired t-test over instances, ○ of the test that flips the sign of each"
    " instance's difference at random. The line marks 0.05. Each instance counts once, with the mean of"
    " its ratings. The tests take the annotators as they are, and one test in twenty is below 0.05"
    " where nothing differs, so do not pick the pairs that are. A p-value says nothing about the size"
    " of a difference: the win rate does. A large p-value does not show that systems are equal."
)


CURVE_READING = (
    "Points are the medians of the paired t-test's p-value in 1,000 random subsets of so many instances,"
    " and lines run from the 5th to the 95th percentile (Lyu et al. 2024, figure 6). Use them to choose"
    " the size of a next study of like systems: a size at which lines still reach far up would often"
    " have missed the difference. The right-most point has all instances and no spread. Do not stop"
    " collecting because this curve has come below 0.05."
)


CURVE_COLUMNS = ("systems", "instances", "median", "percentile_5", "percentile_95", "below_0.05")


@draws("paired_tests")
def paired_tests_figures(section: dict[str, PairedTests]) -> list[Figure]:
    """Return the p-values of all pairs, and the curves of the first pairs."""
    rows = [
        IntervalRow(
            name,
            (
                Mark("human", pair.t_test, "paired t-test", p_in_digits),
                Mark("human-open", pair.permutation_test, "permutation test", p_in_digits),
            ),
        )
        for name, pair in section.items()
    ]
    chart = interval_chart(
        rows[:MAX_DRAWN], finding=TESTS_TITLE, label="p-value", reference=0.05, bounds=(0, 1)
    )
    reasons = dict.fromkeys(p.t_test.reason for p in section.values() if p.t_test.reason)
    tests = Figure(
        "paired-tests",
        TESTS_TITLE,
        " ".join(reasons),
        chart,
        *table_of(rows, "systems"),
        TESTS_READING,
    )
    with_curve = [(name, pair) for name, pair in section.items() if pair.curve]
    curves = [
        _curve(f"p-values-{number}", name, pair)
        for number, (name, pair) in enumerate(with_curve[:MAX_CURVES], start=1)
    ]
    return [tests, *curves]


def _curve(slug: str, name: str, pair: PairedTests) -> Figure:
    title = f"p-value by number of instances: {name}"
    points = tuple(
        (point.instances, Estimate(point.median, point.low, point.high, n=point.instances))
        for point in pair.curve
    )
    chart = range_chart(
        [Series("human", "p-value", points, words=p_in_digits)],
        [0, pair.instances * 1.02],
        finding=title,
        x_label="instances",
        y_label="p-value",
    )
    half = next((p.instances for p in pair.curve if p.significant >= 0.5), None)
    sentence = (
        f"In half of the subsets or more, p is below 0.05 from {counted(half, 'instance')} on."
        if half
        else "At no size is p below 0.05 in half of the subsets."
    )
    rows = tuple((name, p.instances, p.median, p.low, p.high, p.significant) for p in pair.curve)
    return Figure(slug, title, sentence, chart, CURVE_COLUMNS, rows, CURVE_READING, title=title)
