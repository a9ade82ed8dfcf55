"""Figures of every value of rating sets by separability, for each pair of systems."""

from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass, replace

from tiebreak.digits import in_digits
from tiebreak.reading.charts.intervals import IntervalRow, Mark, interval_chart
from tiebreak.reading.charts.matrices import matrix_chart
from tiebreak.reading.charts.svg import Kind, kinds_of
from tiebreak.reading.figures.figure import (
    Cell,
    Figure,
    Simple,
    draws_raters,
    empty_figure,
    table_of,
)
from tiebreak.reading.messages import NO_SETS, RATING_SET
from tiebreak.report.model.fields import Distribution
from tiebreak.report.model.raters import PairSetValues, RaterSetValues, SetValues

MAX_PAIRS = 12
ANNOTATORS = "annotators"
TRENDS_TITLE = "Trend of consistency with separability, by pair of systems"
TRENDS_READING = (
    f"{RATING_SET} A point is Spearman's ρ of separability (δ) and mean consistency over the instances"
    " of one pair of systems: above 0, preferences are less mixed where the systems' texts are easier to"
    " tell apart. Intervals are of one pair alone, for these annotators on similar instances, and do"
    " not show that pairs differ from each other."
)
READING = (
    f"{RATING_SET} Each column has the sets of one pair of systems in one range of separability (δ), and"
    " each cell is the share of them with one value; a column's shares add to 100%, and darker cells are"
    " larger shares. {values} Shares have no intervals: do not conclude from them that two ranges or pairs"
    " differ. The table says of how many sets they are, and ρ whether there is a trend (Ghosh et al. 2024)."
)
COLUMNS = ("pair", "rater", "from", "to", "value", "share", "rating_sets")


@dataclass(frozen=True)
class Measure:
    """What is measured of a rating set, and what its values mean."""

    name: str
    title: str
    values: str
    of: Callable[[SetValues], Distribution]

    def sorted(self, row: SetValues) -> list[str]:
        """Return the values in ascending order, as databases may store them in another."""
        return sorted(self.of(row), key=float)


MEASURES = (
    Measure(
        "set-consistency",
        "Consistency of {rater}: every value by separability",
        "0 is a set that is mixed or has only ties, 1 one that always prefers the same system at full"
        " strength.",
        lambda row: row.consistency,
    ),
    Measure(
        "set-strength",
        "Preference strength of {rater}: every value by separability",
        "A value is the mean rating of a set, from −1 (always the first system of the pair) to 1 (always"
        " the second).",
        lambda row: row.preference_strength,
    ),
)


@draws_raters("set_values")
def set_values_figures(section: dict[str, PairSetValues], simple: Simple = None) -> list[Figure]:
    """Return ρ of each pair, and every value of the sets of annotators and of each machine."""
    section = dict(sorted(section.items()))
    first = next(iter(section.values()))
    kinds = kinds_of(first.machines, simple)
    figures = [_trends_figure(section, kinds)]
    for number, machine in enumerate(("", *first.machines)):
        of = {pair: one.machines[machine] if machine else one for pair, one in section.items()}
        end = f"-{number}" if number else ""
        for measure in MEASURES:
            figure = _figure(measure, of, machine or ANNOTATORS, kinds.get(machine, "human"))
            figures.append(replace(figure, name=f"{measure.name}{end}", machine=machine))
    return figures


def _trends_figure(section: dict[str, PairSetValues], kinds: Mapping[str, Kind]) -> Figure:
    rows = [
        IntervalRow(
            pair,
            (
                Mark("human", of.spearman_separability, ANNOTATORS),
                *(
                    Mark(kinds[name], one.spearman_separability, name)
                    for name, one in of.machines.items()
                ),
            ),
        )
        for pair, of in section.items()
    ]
    chart = interval_chart(
        rows,
        finding=TRENDS_TITLE,
        label="correlation (Spearman's ρ) of δ and consistency",
        reference=0,
    )
    if not chart:
        reason = next(iter(section.values())).spearman_separability.reason
        return empty_figure("set-trends", TRENDS_TITLE, reason or "")
    return Figure("set-trends", TRENDS_TITLE, "", chart, *table_of(rows, "pair"), TRENDS_READING)


def _figure(measure: Measure, of: Mapping[str, RaterSetValues], rater: str, kind: Kind) -> Figure:
    title = measure.title.format(rater=rater)
    drawn = [(pair, one) for pair, one in of.items() if one.n]
    if not drawn:
        return empty_figure(measure.name, title, NO_SETS)
    names, shares = [], []
    for pair, one in drawn[:MAX_PAIRS]:
        known = measure.sorted(one.ranges[0])
        names += [pair, *(in_digits(float(value)) for value in known)]
        shares += [[], *([_share(row, measure, value) for row in one.ranges] for value in known)]
    chart = matrix_chart(
        names,
        shares,
        finding=title,
        labels=("value of a rating set", "separability δ"),
        columns=[f"{in_digits(row.low)} to {in_digits(row.high)}" for row in drawn[0][1].ranges],
        kind=kind,
    )
    more = len(drawn) - MAX_PAIRS
    sentence = f"{more} more pairs are in the CSV file." if more > 0 else ""
    rows = tuple(_rows(drawn, rater, measure))
    reading = READING.format(values=measure.values)
    return Figure(measure.name, title, sentence, chart, COLUMNS, rows, reading)


def _share(row: SetValues, measure: Measure, value: str) -> float | None:
    return measure.of(row)[value] if row.n else None


def _rows(
    drawn: list[tuple[str, RaterSetValues]], rater: str, measure: Measure
) -> Iterator[tuple[Cell, ...]]:
    for pair, one in drawn:
        for row in one.ranges:
            for value in measure.sorted(row):
                share = _share(row, measure, value)
                yield (pair, rater, row.low, row.high, float(value), share, row.n)
