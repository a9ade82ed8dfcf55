"""Figures of all machine raters beside annotators: equal labels and their noise ceiling, and α."""

import math
from collections.abc import Mapping

from tiebreak.reading.charts.intervals import IntervalRow, Mark, interval_chart
from tiebreak.reading.charts.svg import kinds_of
from tiebreak.reading.figures.figure import Figure, about_thick_lines, empty_figure, table_of
from tiebreak.reading.machine_findings import stand_in_finding
from tiebreak.report.model.report import CriterionSection
from tiebreak.stats import Estimate

HIGHEST_FIRST = (
    " comes first. This order applies to these items and annotators only: machine raters"
    " whose intervals overlap may be equally good, and the first of many looks better than it is."
    " A machine rater may have rated other items than another; compare two on the same items under"
    " “Machine raters compared on the same items” below. On some kinds of items it can be quite different."
)
EQUAL_LABELS_READING = (
    "● is how often two annotators give an item the same label. An angular mark is how often a machine rater"
    " gives the label of one annotator drawn at random. Annotators differ, so no machine can reach 1: “best"
    " possible machine” is the noise ceiling, the most that any could reach. It and ● come from the items that"
    " {first} and two annotators rated. The machine rater with the largest share"
) + HIGHEST_FIRST
EQUAL_LABELS_TITLE = "How often machine raters give the label of an annotator"
ALPHA_TITLE = "Agreement of machine raters with annotators"
ALPHA_READING = (
    "● is Krippendorff's α among annotators. An angular mark is the α of a machine rater with one annotator"
    " drawn at random, which is the fair comparison with ●. The machine rater with the highest α"
) + HIGHEST_FIRST


def stand_in_figure(section: CriterionSection) -> Figure:
    """Return the picture of whether a machine can stand in: α where equal labels are unknown."""
    equal_labels = equal_labels_figure(section)
    return (
        equal_labels if equal_labels.chart else machines_figure(section, stand_in_finding(section))
    )


def equal_labels_figure(section: CriterionSection) -> Figure:
    """Return how often machine raters' labels equal an annotator's, with the noise ceiling."""
    ceilings, first = section.noise_ceiling or {}, section.machines_main_first[0]
    found, (finding, sentence) = ceilings.get(first), stand_in_finding(section)
    if found is None or not found.ceiling.is_defined:
        return empty_figure("equal-labels", finding, sentence)
    rows = _rows(found.annotators, {name: one.agreement for name, one in ceilings.items()})
    label, ceiling = "share of labels equal to those of one annotator", found.ceiling.value
    lines = [(found.annotators.value, "two annotators"), (ceiling, "best possible machine")]
    chart = interval_chart(rows, finding=finding, label=label, also=lines, bounds=(0.0, 1.0))
    table, reading = table_of(rows, "rater"), EQUAL_LABELS_READING.format(first=first)
    title = EQUAL_LABELS_TITLE
    return Figure("equal-labels", finding, sentence, chart, *table, reading, title=title)


def machines_figure(
    section: CriterionSection, heading: tuple[str, str] = (ALPHA_TITLE, "")
) -> Figure:
    """Return α of every machine rater with annotators on all items, with α among annotators."""
    among, machines = section.all_units.human_human.krippendorff_alpha, section.all_units.machines
    alphas = {name: m.single_human_machine.krippendorff_alpha for name, m in machines.items()}
    rows, (finding, sentence) = _rows(among, alphas), heading
    label, lines = "Krippendorff's α with one annotator", [(among.value, "two annotators")]
    chart = interval_chart(rows, finding=finding, label=label, reference=0, also=lines)
    if not chart:
        return empty_figure("machines", finding, sentence or among.reason or "")
    sentence += about_thick_lines(mark.estimate for row in rows for mark in row.marks)
    table = table_of(rows, "rater")
    return Figure("machines", finding, sentence, chart, *table, ALPHA_READING, title=ALPHA_TITLE)


def _rows(annotators: Estimate, machines: Mapping[str, Estimate]) -> list[IntervalRow]:
    """Return a row of annotators, and one of each machine rater, from the highest value on."""
    kinds = kinds_of(machines)
    highest_first = sorted(
        machines, key=lambda name: -machines[name].value if machines[name].is_defined else math.inf
    )
    rows = [IntervalRow(name, (Mark(kinds[name], machines[name], name),)) for name in highest_first]
    return [IntervalRow("annotators", (Mark("human", annotators, "annotators"),)), *rows]
