"""Figures of the labels that annotators and machines give, by the annotators' majority label."""

import math
from collections.abc import Iterator, Sequence
from dataclasses import replace
from itertools import permutations

from tiebreak.reading.charts.chart import Chart
from tiebreak.reading.charts.perception import Band, perception_chart
from tiebreak.reading.figures.figure import Cell, Figure, empty_figure
from tiebreak.reading.findings import central_name, perception_finding
from tiebreak.reading.words import counts_of
from tiebreak.report.model.report import CriterionSection
from tiebreak.report.model.strata import PerceptionBin
from tiebreak.report.sections.raters.raters import MAX_LABELS
from tiebreak.scales import Scale

MAX_PAIRS = 12
READING = (
    "Each group of bars has the items with one majority label of annotators (on ordered scales, one"
    " median), and its heading says how many items these are. An item on which annotators are divided"
    " equally counts in equal parts in the group of each of their most frequent labels. The bars show"
    " how often annotators, and a machine rater, gave each label to these items. Bars of equal length"
    " mean that the machine perceives these items as annotators do; a machine that never gives a tie"
    " has no bar there."
)
PAIRS_READING = (
    f"{READING} Bars of one pair of systems are above those of the others, because a machine may"
    " perceive one pair as annotators do and another not. Shares of items add to 1 within a pair."
)
COLUMNS = ("units", "majority_label", "share_of_units", "rater", "label", "share")
TOO_MANY_LABELS = f"Bars are not drawn for more than {MAX_LABELS} labels."
ALL_UNITS = "all items"
UNNAMED = ("first system", "second system")  # of several pairs, or of one that is not known


def perception_figures(section: CriterionSection) -> list[Figure]:
    """Return the figures of each machine rater, or the figures of annotators alone.

    A machine has one figure of all units and, where there are several pairs of systems, one by pair.
    """
    if len(section.labels) > MAX_LABELS:
        return [empty_figure("perception", perception_finding(section)[0], TOO_MANY_LABELS)]
    machines: list[str | None] = [*sorted(section.all_units.machines)] or [None]
    figures = []
    for number, machine in enumerate(machines, start=1):
        end = "" if number == 1 else f"-{number}"
        of_machine = [_figure(section, machine, f"perception{end}")]
        if section.perception_by_systems:
            of_machine.append(_pairs_figure(section, machine, f"perception-pairs{end}"))
        figures += [replace(figure, machine=machine or "") for figure in of_machine]
    return figures


def _figure(section: CriterionSection, machine: str | None, name: str) -> Figure:
    finding, sentence = perception_finding(section, machine)
    bands = [Band("", section.perception, label_names(section))]
    chart = _chart(section, bands, machine)
    if not chart:
        return empty_figure(name, finding, sentence)
    rows = tuple(_rows(ALL_UNITS, section.perception, machine))
    return Figure(name, finding, sentence, chart, COLUMNS, rows, READING, title=finding)


def _pairs_figure(section: CriterionSection, machine: str | None, name: str) -> Figure:
    title = f"Labels of annotators{f' and {machine}' if machine else ''} by pair of systems"
    bands = [
        Band(pair, bins, label_names(section, _pair_named(section, pair)))
        for pair, bins in section.perception_by_systems.items()
        if bins
    ]
    chart = _chart(section, bands[:MAX_PAIRS], machine)
    if not chart:
        return empty_figure(name, title, "No item has human ratings yet.")
    left_out = len(bands) - MAX_PAIRS
    sentence = f"{left_out} more pairs are in the CSV file." if left_out > 0 else ""
    rows = tuple(row for band in bands for row in _rows(band.name, band.bins, machine))
    return Figure(name, title, sentence, chart, COLUMNS, rows, PAIRS_READING)


def _chart(section: CriterionSection, bands: list[Band], machine: str | None) -> Chart:
    return perception_chart(
        bands,
        [str(label) for label in section.labels],
        machine=machine,
        central=central_name(section),
    )


def label_names(
    section: CriterionSection, systems: tuple[str, str] | None = None
) -> dict[str, str]:
    """Return the names of a preference's labels for figures, with those of the systems if known.

    An inferred scale of names may have a single label, which a declared one must not.
    """
    if not section.scale.startswith("preference"):
        return {}
    scale = Scale.parse(section.scale)
    first, second = systems or _only_pair(section) or UNNAMED
    has_strengths = any(abs(label) > 1 for label in section.labels if isinstance(label, int))
    names = {}
    for label in section.labels:
        names[str(label)] = scale.short_name(label)
        if isinstance(label, int) and label:
            strength = f" (strength {abs(label)})" if has_strengths else ""
            names[str(label)] = f"{first if label < 0 else second}{strength}"
    return names


def _only_pair(section: CriterionSection) -> tuple[str, str] | None:
    """Return the systems of the only pair, in the order of its labels, if the ratings tell it."""
    counts = counts_of(section)
    if len(counts) != 1 or section.perception_by_systems:
        return None
    people = [rater.votes for rater in section.raters.values() if rater.kind == "human"]
    sums = {True: 0, False: 0}
    for votes in people:
        for label, n in votes.items():
            if label not in {"0", "bad"}:
                sums[label.startswith("-")] += n
    (pair,) = counts
    first, second = pair.systems
    if pair.first == pair.second or {pair.first, pair.second} != set(sums.values()):
        return None
    return (first, second) if sums[True] == pair.first else (second, first)


def _pair_named(section: CriterionSection, name: str) -> tuple[str, str] | None:
    systems = section.systems.win_rate if section.systems else {}
    return next((p for p in permutations(systems, 2) if " vs ".join(p) == name), None)


def _rows(
    units: str, bins: Sequence[PerceptionBin], machine: str | None
) -> Iterator[tuple[Cell, ...]]:
    for row in bins:
        shares = {"annotators": row.humans} | ({machine: row.machines[machine]} if machine else {})
        for rater, distribution in shares.items():
            for label, share in distribution.items():
                known = None if math.isnan(share) else share
                yield (units, row.label, row.share, rater, label, known)
