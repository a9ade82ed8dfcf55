"""Figures of all machine raters beside annotators: equal labels and their noise ceiling, and α."""

from collections.abc import Mapping, Sequence
from dataclasses import replace
from math import inf, nan

from tiebreak.digits import counted
from tiebreak.reading.charts.chart import ItemsName
from tiebreak.reading.charts.intervals import IntervalRow, Mark, interval_chart
from tiebreak.reading.charts.svg import kinds_of
from tiebreak.reading.charts.tables import AT_MOST, Column, Row, table_chart
from tiebreak.reading.figures.figure import (
    ESTIMATE_COLUMNS,
    Figure,
    Simple,
    about_thick_lines,
    empty_figure,
    estimate_rows,
    table_of,
)
from tiebreak.reading.figures.raters.agreement import (
    BANDS_OF_SEPARABILITY,
    KINDS_OF_ITEM,
    STRATIFIERS,
)
from tiebreak.reading.findings import BANDS, SAID_ABOVE, stratum_name
from tiebreak.reading.machine_findings import stand_in_finding
from tiebreak.report.model.machines import NoiseCeiling
from tiebreak.report.model.report import CriterionSection
from tiebreak.report.model.strata import StratumSection
from tiebreak.stats import Agreement, Estimate, noise_ceiling

HIGHEST_FIRST = (
    " comes first. This order applies to these items and annotators only: machine raters"
    " whose intervals overlap may be equally good, and the first of many looks better than it is."
    " A machine rater may have rated other items than another; compare two on the same items under"
    " “Machine raters compared on the same items” below. On some kinds of items it can be quite different."
)
EQUAL_LABELS_READING = (
    "● is how often two annotators give an item the same label, and its interval the band in each column. An"
    " angular mark is how often a machine rater gives the label of one annotator drawn at random; it is hollow if"
    " the machine rater follows a simple rule. Annotators differ, so no machine can reach 1: “best possible"
    " machine” is the noise ceiling, the most that any could reach, and the dashed line. Over all items, it and ●"
    " come from the items that {first} and two annotators rated, and by kind of item from those that two"
    f" annotators rated.{BANDS_OF_SEPARABILITY} Each interval is for these annotators and one kind of item alone: of many kinds some differ"
    " by chance, so do not look for the kind in which a machine rater does best. The machine rater with the largest"
    " share"
) + HIGHEST_FIRST
EQUAL_LABELS_AXIS = "share of labels equal to one annotator's"
EQUAL_LABELS_KEY = "band: another annotator, dashed: best possible machine"
COLUMNS_ARE = " The columns have items {kind}."
SEPARABILITY = (
    " Separability (separability_raw in the ratings) is how much more alike two texts of one system are than two of"
    " different systems: at 0, not at all."
)
MAX_KINDS, MAX_CATEGORIES, ALL_ITEMS = 4, 8, STRATIFIERS["all"]
BEST_POSSIBLE, SIMPLE_RULE = "best possible machine", "simple rule"
Notes = Mapping[str, str]
NO_NOTES: Notes = {}
EQUAL_LABELS_TITLE = "How often machine raters give the label of an annotator"
CATEGORIES_TITLE = "How often machine raters give the label of an annotator, by category"
ALPHA_TITLE = "Agreement of machine raters with annotators"
ALPHA_READING = (
    "● is Krippendorff's α among annotators. An angular mark is the α of a machine rater with one annotator"
    " drawn at random, which is the fair comparison with ●. The machine rater with the highest α"
) + HIGHEST_FIRST


def stand_in_figure(section: CriterionSection, notes: Notes = NO_NOTES) -> Figure:
    """Return the picture of whether a machine can stand in: α where equal labels are unknown.

    ``notes`` say what else is known of raters, such as a licence.
    """
    drawn = equal_labels_figure(section, notes)
    return drawn if drawn.chart else machines_figure(section, stand_in_finding(section))


def equal_labels_figure(section: CriterionSection, notes: Notes = NO_NOTES) -> Figure:
    """Return how often machine raters' labels equal an annotator's, by kind of item."""
    strata, (finding, sentence) = kinds_of_item(section), stand_in_finding(section)
    figure = _labels_figure(section, strata, "equal-labels", (finding, sentence), notes)
    return replace(figure, title=EQUAL_LABELS_TITLE) if figure.chart else figure


def categories_figure(section: CriterionSection) -> Figure | None:
    """Return the same by category, if the picture has other kinds of items or not all categories."""
    categories = [s for s in section.strata if s.stratifier == "category" and s.n_units]
    strata = [section.all_units, *categories[:MAX_CATEGORIES]]
    if len(categories) < 2 or strata == kinds_of_item(section):
        return None
    left_out = len(categories) - MAX_CATEGORIES
    sentence = f"{left_out} more categories are not shown." if left_out > 0 else ""
    return _labels_figure(section, strata, "machines-by-category", (CATEGORIES_TITLE, sentence))


def _labels_figure(
    section: CriterionSection,
    strata: Sequence[StratumSection],
    name: str,
    heading: tuple[str, str],
    notes: Notes = NO_NOTES,
) -> Figure:
    ceilings, first = section.noise_ceiling or {}, section.machines_main_first[0]
    found, (finding, sentence) = ceilings.get(first), heading
    if found is None or not found.ceiling.is_defined:
        return empty_figure(name, finding, sentence)
    people = _of_annotators(section, strata, found)
    names = [stratum_name(one.stratifier, one.stratum, section.strata) for one in strata]
    columns = [_column(name, one.n) for name, one in zip(names, people.cells, strict=True)]
    rows = [people, *_of_machines(section, strata, ceilings)]
    rows = [*rows, _of_ceiling(section, strata, found)]
    rows = [
        replace(row, note=", ".join(filter(None, (row.note, notes.get(row.name))))) for row in rows
    ]
    corner = STRATIFIERS[strata[-1].stratifier] if len(strata) > 1 else ""
    chart = table_chart(
        columns,
        rows,
        finding=finding,
        corner=corner,
        label=EQUAL_LABELS_AXIS,
        caption=EQUAL_LABELS_KEY,
    )
    named = [
        ((row.name, ItemsName.of(_whole(name), name.key)), estimate)
        for row in rows
        for name, estimate in zip(names, row.cells, strict=True)
    ]
    table = ("rater", "kind of item", *ESTIMATE_COLUMNS), estimate_rows(named)
    reading = EQUAL_LABELS_READING.format(first=first)
    if corner:
        reading += COLUMNS_ARE.format(kind=f"{corner[:1].lower()}{corner[1:]}")
    reading += SEPARABILITY * (strata[-1].stratifier == "separability")
    return Figure(name, finding, sentence, chart, *table, reading)


def machines_figure(
    section: CriterionSection, heading: tuple[str, str] = (ALPHA_TITLE, "")
) -> Figure:
    """Return α of every machine rater with annotators on all items, with α among annotators."""
    among, machines = section.all_units.human_human.krippendorff_alpha, section.all_units.machines
    alphas = {name: m.single_human_machine.krippendorff_alpha for name, m in machines.items()}
    rows, (finding, sentence) = _rows(among, alphas, section.simple_raters), heading
    label, lines = "Krippendorff's α with one annotator", [(among.value, "two annotators")]
    chart = interval_chart(rows, finding=finding, label=label, reference=0, also=lines)
    if not chart:
        return empty_figure("machines", finding, sentence or among.reason or "")
    sentence += about_thick_lines(mark.estimate for row in rows for mark in row.marks)
    table = table_of(rows, "rater")
    return Figure("machines", finding, sentence, chart, *table, ALPHA_READING, title=ALPHA_TITLE)


def kinds_of_item(section: CriterionSection) -> list[StratumSection]:
    """Return all items, and the kinds of the first classification with several that fit beside them.

    Of one that has more kinds than fit, those with the most items.
    """
    strata = [
        [s for s in section.strata if s.stratifier == name and s.n_units] for name in KINDS_OF_ITEM
    ]
    several = [kinds for kinds in strata if len(kinds) > 1]
    kinds = next((one for one in several if len(one) <= MAX_KINDS), next(iter(several), []))
    largest = sorted(kinds, key=lambda one: -one.n_units)[:MAX_KINDS]
    return [section.all_units, *(one for one in kinds if one in largest)]


def _column(name: ItemsName, n: int) -> Column:
    """Return the head of a column, in which a band says how texts are and not its ends."""
    words = name.parts[0] if name.parts[0] in BANDS else _whole(name)
    return Column(words, counted(n, "item"), name.key)


def _whole(name: ItemsName) -> str:
    return ALL_ITEMS if name.key[0] == "all" else name.replace(SAID_ABOVE, "", 1)


def _of_annotators(
    section: CriterionSection, strata: Sequence[StratumSection], found: NoiseCeiling
) -> Row:
    of_kinds = (equal_labels(one.human_human, len(section.labels)) for one in strata[1:])
    return Row("annotators", "human", (found.annotators, *of_kinds), "two of them")


def _of_ceiling(
    section: CriterionSection, strata: Sequence[StratumSection], found: NoiseCeiling
) -> Row:
    annotators, labels = _of_annotators(section, strata, found), max(len(section.labels), 2)
    cells = (noise_ceiling(one, labels=labels) for one in annotators.cells[1:])
    return Row(BEST_POSSIBLE, AT_MOST, (found.ceiling, *cells), "noise ceiling")


def _of_machines(
    section: CriterionSection,
    strata: Sequence[StratumSection],
    ceilings: Mapping[str, NoiseCeiling],
) -> list[Row]:
    kinds, rows = kinds_of(ceilings, section.simple_raters), []
    for name in highest_first({name: one.agreement for name, one in ceilings.items()}):
        of_kinds = (
            one.machines[name].single_human_machine.percentage_agreement for one in strata[1:]
        )
        note = SIMPLE_RULE * (name in (section.simple_raters or ()))
        rows.append(Row(name, kinds[name], (ceilings[name].agreement, *of_kinds), note))
    return rows


def equal_labels(agreement: Agreement, labels: int) -> Estimate:
    """Return how often two annotators give an item equal labels, which Randolph's κ is a scale of.

    κ is (P − 1/L) / (1 − 1/L) for L labels. The interval is that of these annotators, with whom machine
    raters are compared.
    """
    kappa = agreement.randolph_kappa
    inner = next((one for one in kappa.narrower if one.scope.raters == "these"), kappa)

    def share(value: float) -> float:
        return (value * (labels - 1) + 1) / labels

    return replace(
        kappa,
        value=share(kappa.value),
        low=share(inner.low),
        high=share(inner.high),
        stated_scope=inner.scope,
        method=inner.method,
        standard_error=nan,
        narrower=(),
    )


def highest_first(machines: Mapping[str, Estimate]) -> list[str]:
    return sorted(
        machines, key=lambda name: -machines[name].value if machines[name].is_defined else inf
    )


def _rows(
    annotators: Estimate, machines: Mapping[str, Estimate], simple: Simple
) -> list[IntervalRow]:
    """Return a row of annotators, and one of each machine rater, from the highest value on."""
    kinds = kinds_of(machines, simple)
    rows = [
        IntervalRow(name, (Mark(kinds[name], machines[name], name),))
        for name in highest_first(machines)
    ]
    return [IntervalRow("annotators", (Mark("human", annotators, "annotators"),)), *rows]
