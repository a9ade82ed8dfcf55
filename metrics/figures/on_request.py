"""Figures of the sections of a report that are computed on request."""

from collections.abc import Iterable, Iterator

from metrics.charts.curves import Series, range_chart
from metrics.charts.intervals import IntervalRow, Mark, interval_chart
from metrics.figures.figure import (
    Cell,
    Figure,
    empty_figure,
    estimate_cells,
    legend_of,
    table_of,
)
from recruitment.launch.check import counted
from tiebreak.digits import p_in_digits, percent
from tiebreak.report.model import (
    MeanCorrelations,
    PairedTests,
    PairwiseAgreementSection,
    RobustnessSection,
)
from tiebreak.stats import Estimate, Influence, Robustness

MAX_DRAWN = 40
MAX_CURVES = 6
ROBUSTNESS_TITLE = "How few ratings decide the ranking"
ROBUSTNESS_READING = (
    "A point is the share of the ratings whose removal changes the result in its row: who is first by"
    " Bradley–Terry strength or by win rate over all systems, who is ahead in a pair, or whether the"
    " 95% interval of a pair's win rate excludes ½. The ratings were chosen to change the result, and"
    " the result was computed again without them. The fewest ratings are this number or fewer; where"
    " the table says so, all smaller sets were tried. A small number says that the result hangs on few"
    " answers, and not that these answers are wrong: never remove them for that. A large number does"
    " not show that other annotators or texts would give the same result; intervals do. If instances"
    " were drawn, a rating counts by its instance's weight, so that fewer ratings of rarely drawn"
    " instances may decide."
)
ROBUSTNESS_COLUMNS = (
    *("result", "ahead", "ahead_without", "ratings_removed", "ratings", "is_fewest"),
    *("removed", "reason"),
)
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
PAIRS_TITLE = "Annotators two by two"
PAIRS_READING = (
    "Each row is a pair of annotators with at least 10 items in common: ● Cohen's κ with its 95%"
    " interval, ○ the share of equal answers. Of many pairs, the lowest are low by chance, too, and a"
    " low κ with a high share of equal answers only says that one answer prevails. Read the items on"
    " which the two differ before you change the guidelines. It does not show which of the two is"
    " right, and is no reason to leave somebody out."
)
INFLUENCE_TITLE = "Agreement without each annotator"
INFLUENCE_READING = (
    "A point is the change of Krippendorff's α if the annotator is left out, and the line its 95%"
    " interval. To the right of 0, the others agree better among themselves. It shows whether low"
    " agreement is due to one person or to all. Do not report α without the annotators who lower it:"
    " it would be agreement among people who were chosen for agreeing."
)
MEANS_TITLE = "Correlation of mean ratings with machine raters"
MEANS_READING = (
    "● Spearman's ρ and ○ Kendall's τ-b of the items' mean ratings by annotators and by the machine"
    " rater, with 95% intervals. Use them if you will use means of ratings; the table above has the"
    " medians. Means treat the steps of the scale as equal. A high correlation does not show that the"
    " machine rater uses the scale as annotators do: it may be more severe on every item."
)


def robustness_figures(section: RobustnessSection) -> list[Figure]:
    title, rows = ROBUSTNESS_TITLE, list(_results(section))
    drawn = [
        IntervalRow(name, (Mark("human", Estimate(one.removals / one.ratings, n=one.ratings)),))
        for name, one in rows
        if one.removals
    ]
    if not drawn:
        return [empty_figure("robustness", title, section.top.reason or "")]
    finding = _top_finding(section.top) or title
    chart = interval_chart(
        drawn[:MAX_DRAWN], finding=finding, label="share of ratings removed", reference=0
    )
    cells = tuple(_robust_cells(name, one) for name, one in rows)
    sentence = " ".join(filter(None, [_removed(section.top), section.top.reason]))
    return [
        Figure(
            "robustness",
            finding,
            sentence,
            chart,
            ROBUSTNESS_COLUMNS,
            cells,
            ROBUSTNESS_READING,
            title=title,
        )
    ]


def _results(section: RobustnessSection) -> Iterator[tuple[str, Robustness]]:
    yield "First by Bradley–Terry strength", section.top
    yield "First by win rate", section.top_by_win_rate
    yield from ((f"{pair}: order", one) for pair, one in section.pairs.items())
    yield from ((f"{pair}: interval excludes ½", one) for pair, one in section.findings.items())


def _top_finding(top: Robustness) -> str:
    if not top.removals:
        return ""
    few = "" if top.is_fewest else " or fewer"
    ratings = "rating" if top.ratings == 1 else "ratings"
    return (
        f"Without {top.removals:,}{few} of {top.ratings:,} {ratings}, {top.new_first} would be first"
        f" instead of {top.first}"
    )


def _removed(one: Robustness) -> str:
    """Return which ratings a set has."""
    if not one.removed:
        return ""
    kinds = [
        f"{kind.ratings:,} of {kind.system} "
        f"{'over' if kind.outcome == 'won' else 'tied with'} {kind.other}"
        for kind in one.removed[:5]
    ]
    more = f", and {len(one.removed) - 5} more kinds" if len(one.removed) > 5 else ""
    return f"The removed ratings are {', '.join(kinds)}{more}."


def _robust_cells(name: str, one: Robustness) -> tuple[Cell, ...]:
    return (
        name,
        one.first,
        one.new_first,
        one.removals or None,
        one.ratings,
        ("yes" if one.is_fewest else "this or fewer") if one.removals else None,
        "; ".join(f"{k.ratings} {k.system} {k.outcome} {k.other}" for k in one.removed),
        one.reason or "",
    )


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
        legend_of(rows),
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
    )
    half = next((p.instances for p in pair.curve if p.significant >= 0.5), None)
    sentence = (
        f"In half of the subsets or more, p is below 0.05 from {counted(half, 'instance')} on."
        if half
        else "At no size is p below 0.05 in half of the subsets."
    )
    rows = tuple((name, p.instances, p.median, p.low, p.high, p.significant) for p in pair.curve)
    return Figure(slug, title, sentence, chart, CURVE_COLUMNS, rows, CURVE_READING, title=title)


def pairwise_figures(section: PairwiseAgreementSection) -> list[Figure]:
    if not section.lowest:
        return [empty_figure("rater-pairs", PAIRS_TITLE, section.reason or "")]
    rows = [
        IntervalRow(
            f"{pair.raters[0]}, {pair.raters[1]}",
            (
                Mark("human", pair.kappa, "Cohen's κ"),
                Mark("human-open", Estimate(pair.agreement, n=pair.shared), "equal answers"),
            ),
        )
        for pair in section.lowest
    ]
    chart = interval_chart(rows[:MAX_DRAWN], finding=PAIRS_TITLE, label="agreement", reference=0)
    sentence = (
        f"{counted(section.pairs, 'pair')} of annotators with at least 10 items in common; the median"
        f" share of equal answers is {percent(section.median)}. The {len(rows)} with the lowest share are"
        " listed."
    )
    if section.few_shared:
        sentence += f" {counted(section.few_shared, 'pair')} with fewer common items left out."
    return [
        Figure(
            "rater-pairs",
            PAIRS_TITLE,
            sentence,
            chart,
            *table_of(rows, "raters"),
            PAIRS_READING,
            legend_of(rows),
        )
    ]


def influence_figures(section: dict[str, Influence]) -> list[Figure]:
    by_change = sorted(section.items(), key=lambda item: _size(item[1].change))
    rows = [IntervalRow(name, (Mark("human", one.change),)) for name, one in by_change]
    chart = interval_chart(
        rows[:MAX_DRAWN], finding=INFLUENCE_TITLE, label="change of α", reference=0
    )
    if not chart:
        reasons = {one.change.reason or "" for one in section.values()}
        return [empty_figure("rater-influence", INFLUENCE_TITLE, " ".join(sorted(reasons)))]
    cut = f" The chart shows the {MAX_DRAWN} with the largest change." * (len(rows) > MAX_DRAWN)
    cells = tuple(
        (name, one.n_ratings, _value(one.without), *estimate_cells(one.change))
        for name, one in by_change
    )
    columns = ("rater", "ratings", "alpha_without", *table_of(rows)[0][2:])
    sentence = f"{counted(len(rows), 'annotator')}.{cut}"
    return [
        Figure(
            "rater-influence", INFLUENCE_TITLE, sentence, chart, columns, cells, INFLUENCE_READING
        )
    ]


def _size(change: Estimate) -> float:
    return -abs(change.value) if change.is_defined else 1.0


def _value(estimate: Estimate) -> float | None:
    return estimate.value if estimate.is_defined else None


def mean_correlation_figures(section: dict[str, MeanCorrelations]) -> list[Figure]:
    if not section:
        reason = "Means need labels with an order, and the ratings of a machine rater."
        return [empty_figure("mean-correlations", MEANS_TITLE, reason)]
    rows = [
        IntervalRow(
            name,
            (
                Mark("machine", one.spearman, "Spearman's ρ"),
                Mark("machine-open", one.kendall, "Kendall's τ-b"),
            ),
        )
        for name, one in sorted(section.items())
    ]
    chart = interval_chart(
        rows, finding=MEANS_TITLE, label="correlation", reference=0, bounds=(-1, 1)
    )
    sentence = _reasons(mark.estimate for row in rows for mark in row.marks)
    return [
        Figure(
            "mean-correlations",
            MEANS_TITLE,
            sentence,
            chart,
            *table_of(rows, "rater"),
            MEANS_READING,
            legend_of(rows),
        )
    ]


def _reasons(estimates: Iterable[Estimate]) -> str:
    return " ".join(dict.fromkeys(e.reason for e in estimates if e.reason))
