"""Figures of how often machine raters give annotators' labels, compared with random labels, by kind of item."""

from collections.abc import Iterator
from dataclasses import replace

from tiebreak.digits import counted
from tiebreak.reading.charts.chart import ItemsName
from tiebreak.reading.charts.intervals import IntervalRow, Mark, interval_chart
from tiebreak.reading.figures.figure import (
    Figure,
    draws,
    empty_figure,
    estimate_rows,
    table_of,
)
from tiebreak.reading.figures.raters.agreement import stratum_rows
from tiebreak.reading.findings import stratum_name
from tiebreak.reading.messages import STRATA_BY_AGREEMENT
from tiebreak.reading.stratum_findings import guessing_finding
from tiebreak.report.model.report import CriterionSection
from tiebreak.report.model.strata import CrossedSection, StratumSection
from tiebreak.stats import Estimate

MAX_DRAWN = 60
CHART_ENDS = "The chart ends before the last groups; the table has all."
SHARES_READING = (
    "In each group of items: ■ how often the machine rater gives annotators' majority label; □ how often"
    " it gives the answer of one annotator drawn at random; ○ how often a random labeller, who draws"
    " among the labels of the scale, would give the majority label. Where ■ is not clearly to the right of"
    " ○, the machine rater is no better than guessing there, whatever its other coefficients say. It"
    " does not show that the machine rater is right where annotators agree for a wrong reason. Shares"
    f" say nothing of chance where one label prevails; α does. {STRATA_BY_AGREEMENT}"
)
CROSSED_READING = (
    "Each group has the items of one pair of systems on which annotators agree to the degree in its"
    f" name. {SHARES_READING} You may say that a machine rater gave other labels than these"
    " annotators on such items of a pair. You may not conclude that it is better suited to one pair or"
    " degree of agreement than to another: groups were formed from the answers that they are compared"
    " with, many have few items, intervals apply to these annotators and to one group alone, and of"
    " many groups some are extreme by chance. Groups of fewer than 10 instances have no interval."
)
NO_MACHINE_RATED = "No machine rater rated these items."


def share_figures(section: CriterionSection) -> list[Figure]:
    """Return for each machine how often it gives annotators' labels, by stratum."""
    machines = sorted(section.all_units.machines)
    return [
        replace(_share_figure(section, name, number), machine=name)
        for number, name in enumerate(machines, start=1)
    ]


def _share_figure(section: CriterionSection, machine: str, number: int) -> Figure:
    name, title = f"machine-labels-{number}", f"Labels of {machine} that equal annotators' labels"
    rows = stratum_rows(section, lambda stratum: _marks(stratum, machine))
    chart = interval_chart(rows, finding=title, label="share of items", bounds=(0, 1))
    if not chart:
        reason = section.all_units.machines[machine].human_machine.percentage_agreement.reason
        return empty_figure(name, title, reason or "")
    return Figure(
        name,
        title,
        guessing_finding(section, machine),
        chart,
        *table_of(rows, "stratum"),
        SHARES_READING,
        title=title,
    )


def _marks(stratum: StratumSection, machine: str) -> tuple[Mark, ...]:
    groups = stratum.machines[machine]
    chance = groups.random_baseline.percentage_agreement
    return (
        Mark("machine", groups.human_machine.percentage_agreement, "majority label"),
        Mark("machine-open", groups.single_human_machine.percentage_agreement, "one annotator"),
        # Without an interval: what chance scores is not a finding.
        Mark(
            "human-open", Estimate(chance.value, n=chance.n, reason=chance.reason), "random labels"
        ),
    )


@draws("pairs_by_agreement")
def crossed_figures(section: CrossedSection) -> list[Figure]:
    """Return for each machine how often it gives annotators' labels, by pair and agreement."""
    machines = sorted({name for stratum in section.strata for name in stratum.machines})
    figures = [_crossed_figure(section, name, k) for k, name in enumerate(machines, start=1)]
    return figures or [empty_figure("crossed-1", "Pairs by agreement", NO_MACHINE_RATED)]


def _crossed_figure(section: CrossedSection, machine: str, number: int) -> Figure:
    title = f"Labels of {machine}, by pair of systems and agreement among annotators"
    rows = list(_crossed_rows(section, machine))
    chart = interval_chart(rows[:MAX_DRAWN], finding=title, label="share of items", bounds=(0, 1))
    if not chart:
        return empty_figure(f"crossed-{number}", title, NO_MACHINE_RATED)
    named = [
        ((stratum_pair, _agreement(stratum), stratum.n_units, stratum.share, series), estimate)
        for stratum in section.strata
        for stratum_pair in [stratum_name("systems", section.pairs[stratum.stratum])]
        for series, estimate in _series(stratum, machine)
    ]
    columns = ("pair", "agreement_among_annotators", "items", "share_of_items", "series")
    left_out = f"Pairs with fewer items, which are left out: {section.pairs_left_out}."
    notes = CHART_ENDS * (len(rows) > MAX_DRAWN), left_out * bool(section.pairs_left_out)
    return Figure(
        f"crossed-{number}",
        title,
        " ".join(filter(None, notes)),
        chart,
        (*columns, *table_of(())[0][2:]),
        estimate_rows(named),
        CROSSED_READING,
    )


def _crossed_rows(section: CrossedSection, machine: str) -> Iterator[IntervalRow]:
    pair = ""
    for stratum in section.strata:
        if section.pairs[stratum.stratum] != pair:
            pair = section.pairs[stratum.stratum]
            yield IntervalRow(stratum_name("systems", pair))
        yield IntervalRow(
            _agreement(stratum).noted(counted(stratum.n_units, "item")), _marks(stratum, machine)
        )


def _series(stratum: StratumSection, machine: str) -> Iterator[tuple[str, Estimate]]:
    """Yield what the chart draws, and the coefficients that allow for chance."""
    groups = stratum.machines[machine]
    yield from ((mark.series, mark.estimate) for mark in _marks(stratum, machine))
    yield "α with the majority label", groups.human_machine.krippendorff_alpha
    yield "α with one annotator", groups.single_human_machine.krippendorff_alpha
    yield "binned Jensen–Shannon distance", groups.human_machine.binned_js


def _agreement(stratum: StratumSection) -> ItemsName:
    return stratum_name("agreement", stratum.stratum.rpartition(": ")[2])
