"""Figures of win rates by annotators and by each machine rater, by kind of item."""

from collections.abc import Iterator

from tiebreak.digits import counted
from tiebreak.reading.charts.chart import ItemsName
from tiebreak.reading.charts.intervals import IntervalRow, Mark, interval_chart
from tiebreak.reading.charts.svg import kinds_of
from tiebreak.reading.figures.figure import (
    ESTIMATE_COLUMNS,
    Figure,
    Simple,
    draws_raters,
    empty_figure,
    estimate_rows,
)
from tiebreak.reading.figures.machines.crossed_strata import CHART_ENDS, MAX_DRAWN
from tiebreak.reading.figures.raters.agreement import STRATIFIERS
from tiebreak.reading.findings import share_of, stratum_name
from tiebreak.reading.messages import READING_IF_DRAWN
from tiebreak.report.model.systems import WinRateStrata, WinRateStratum

TITLE = "Win rates of {system} by annotators and by each machine rater, by kind of item"
NO_TITLE = "Win rates by annotators and by each machine rater, by kind of item"
COLUMNS = ("kind", "stratum", "items", "share_of_items", "rater", *ESTIMATE_COLUMNS)
READING = (
    "In each group of items: ● the system's win rate by annotators, and below it by the ratings of each machine rater;"
    " a tie counts as half a win, and lines are 95% intervals. A machine rater may have rated other items than"
    " annotators. Where one lies far from ●, do not use the machine rater's win rate in place of people's"
    " there. Where they lie close, that does not show that they are equal, nor that both prefer the same"
    " text of an item. Each interval applies to one group alone, and of many groups some differ by chance, so"
    " do not conclude that a system is better on one kind of item than on another. Groups by agreement or"
    " by number of different labels were chosen for how annotators agree: win rates there describe these"
    " answers, and nothing can be concluded from them. Groups of fewer than 10 instances have no interval."
)
NO_RATES = "Nobody compared the systems."


@draws_raters("win_rates_by_stratum")
def win_rate_strata_figures(section: WinRateStrata, simple: Simple = None) -> list[Figure]:
    """Return a figure for each system; the rates of two systems are one, because they add up to 1."""
    systems = sorted(section.strata[0].humans) if section.strata else []
    systems = systems if len(systems) != 2 else systems[:1]
    figures = [_figure(section, *one, simple) for one in enumerate(systems, start=1)]
    return figures or [empty_figure("win-rates-by-stratum-1", NO_TITLE, NO_RATES)]


def _figure(section: WinRateStrata, number: int, system: str, simple: Simple) -> Figure:
    name, title = f"win-rates-by-stratum-{number}", TITLE.format(system=system)
    rows = list(_rows(section, system, simple))
    chart = interval_chart(
        rows[:MAX_DRAWN], finding=title, label="win rate", reference=0.5, bounds=(0, 1)
    )
    if not chart:
        return empty_figure(name, title, NO_RATES)
    named = [
        (
            (STRATIFIERS[s.stratifier], _name(section, s), s.n_units, s.share, mark.series),
            mark.estimate,
        )
        for s in section.strata
        for mark in _marks(s, system, simple)
    ]
    reading = READING + READING_IF_DRAWN.get(section.strata[0].humans[system].scope.instances, "")
    left_out = sum(section.left_out.values())
    fewer = f"Left out, because they have fewer items: {counted(left_out, 'group')}."
    notes = CHART_ENDS * (len(rows) > MAX_DRAWN), fewer * bool(left_out)
    sentence = " ".join(filter(None, notes))
    return Figure(name, title, sentence, chart, COLUMNS, estimate_rows(named), reading)


def _name(section: WinRateStrata, stratum: WinRateStratum) -> ItemsName:
    return stratum_name(stratum.stratifier, stratum.stratum, section.strata)


def _rows(section: WinRateStrata, system: str, simple: Simple) -> Iterator[IntervalRow]:
    """Yield each stratum as a heading, and below it a row for each of its raters."""
    for stratum in section.strata:
        marks = _marks(stratum, system, simple)
        if marks:
            yield IntervalRow(_name(section, stratum).noted(share_of(stratum, section.strata)))
        yield from (IntervalRow(mark.series, (mark,)) for mark in marks)


def _marks(stratum: WinRateStratum, system: str, simple: Simple) -> list[Mark]:
    rates = (
        [Mark("human", stratum.humans[system], "annotators")] if system in stratum.humans else []
    )
    kinds = kinds_of(stratum.machines, simple)
    return rates + [
        Mark(kinds[machine], of_machine[system], machine)
        for machine, of_machine in sorted(stratum.machines.items())
        if system in of_machine
    ]
