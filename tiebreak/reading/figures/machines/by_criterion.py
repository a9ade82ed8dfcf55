"""The figure of all machine raters over the criteria of a study, each with its noise ceiling."""

from collections.abc import Iterable, Mapping
from dataclasses import replace

from tiebreak.digits import counted
from tiebreak.reading.charts.chart import NOTHING
from tiebreak.reading.charts.svg import kinds_of
from tiebreak.reading.charts.tables import AT_MOST, Column, Row, table_chart
from tiebreak.reading.figures.figure import ESTIMATE_COLUMNS, Figure, estimate_rows
from tiebreak.reading.figures.machines.stand_in import (
    BEST_POSSIBLE,
    EQUAL_LABELS_AXIS,
    EQUAL_LABELS_KEY,
    SIMPLE_RULE,
)
from tiebreak.report.model.machines import NoiseCeiling
from tiebreak.report.model.raters import BiasSection
from tiebreak.report.model.report import CriterionSection
from tiebreak.stats import Estimate
from tiebreak.stats.core.results import undefined

TITLE = "How often machine raters give the label of an annotator, by criterion"
NOT_RATED = "It did not rate by this criterion."
MAX_CRITERIA = 8
READING = (
    "Each column is a criterion. ● is how often two annotators give an item the same label, and its interval the"
    " band. An angular mark is how often a machine rater gives the label of one annotator drawn at random; it is"
    " hollow if the machine rater follows a simple rule. “Best possible machine” is the noise ceiling, the most that"
    " any could reach, and the dashed line; it and ● are of the items that the first machine rater of the column and"
    " two annotators rated. Compare raters within a column: a criterion with fewer labels, or on which annotators"
    " agree more, has larger shares for everybody. Each interval is for these annotators and one criterion alone: of"
    " many cells some are high by chance."
)
FIRST_TITLE = "How often machine raters prefer the text shown first, by prompt and criterion"
FIRST_AXIS = (
    "P(A), share that prefers the text shown first, ties left out; band: annotators, dashed: 0.5"
)
NO_PREFERENCE = "no preference for a position"
FIRST_READING = (
    "Each row below annotators is a machine rater, for judges with the published prompt that they started from, and each column"
    " a criterion (Liusie et al. 2024 compare prompts in this way). Near 0.5 the order of the texts makes no"
    " difference. Far from it, ask in both orders or debias: what a judge says about one order alone is then"
    " partly said of the order. It is estimated within pairs of systems, so a better system that often stands"
    " first is no bias. It does not say which prompt agrees with annotators; the agreement on this page does."
)


def criteria_figure(criteria: Mapping[str, CriterionSection]) -> Figure | None:
    """Return the table of raters and criteria; None if machines rated by fewer than two of them."""
    ceilings = {name: of for name, one in criteria.items() if (of := _defined(one))}
    if len(ceilings) < 2:
        return None
    shown = dict(list(ceilings.items())[:MAX_CRITERIA])
    machines = list(dict.fromkeys(rater for of in ceilings.values() for rater in of))
    simple = {rule for one in criteria.values() for rule in one.simple_raters or ()}
    kinds, firsts = (
        kinds_of(machines, list(simple)),
        [next(iter(of.values())) for of in shown.values()],
    )
    rows = [
        Row("annotators", "human", tuple(one.annotators for one in firsts), "two of them"),
        *(
            Row(name, kinds[name], _cells(name, shown), SIMPLE_RULE * (name in simple))
            for name in machines
        ),
        Row(BEST_POSSIBLE, AT_MOST, tuple(one.ceiling for one in firsts), "noise ceiling"),
    ]
    columns = [
        Column(name, counted(one.ceiling.n, "item"), ("criterion", name))
        for name, one in zip(shown, firsts, strict=True)
    ]
    left_out = len(ceilings) - len(shown)
    sentence = (
        f"{counted(left_out, 'more criterion', 'more criteria')} not shown." if left_out else ""
    )
    return _table(
        Figure("machines-by-criterion", TITLE, sentence, NOTHING, (), (), READING),
        columns,
        rows,
        label=EQUAL_LABELS_AXIS,
        caption=EQUAL_LABELS_KEY,
    )


def _table(
    figure: Figure, columns: list[Column], rows: list[Row], *, label: str, caption: str = ""
) -> Figure:
    """Return a figure with the chart of these cells, and their numbers."""
    chart = table_chart(
        columns, rows, finding=figure.finding, corner="", label=label, caption=caption
    )
    estimates = [
        ((row.name, column.name), cell)
        for row in rows
        for column, cell in zip(columns, row.cells, strict=True)
    ]
    names = ("rater", "criterion", *ESTIMATE_COLUMNS)
    return replace(figure, chart=chart, columns=names, rows=estimate_rows(estimates))


def first_shown_figure(
    criteria: Mapping[str, CriterionSection], prompts: Mapping[str, str]
) -> Figure | None:
    """Return P(A) of each machine rater and criterion; None if no machine's is known.

    ``prompts`` are the names of the published prompts of those machine raters that started from one.
    """
    shown = {name: one for name, one in criteria.items() if one.bias}
    shown = dict(list(shown.items())[:MAX_CRITERIA])
    biases = [one.bias for one in shown.values() if one.bias]
    machines = dict.fromkeys(rater for bias in biases for rater in bias.machines)
    if not machines:
        return None
    kinds = kinds_of(machines, [r for one in shown.values() for r in one.simple_raters or ()])
    of_people = tuple(_first_preferred(bias.position) for bias in biases)
    even = tuple(Estimate(0.5, n=0) for _ in biases)
    rows = [
        Row("annotators", "human", of_people, "the band"),
        *(
            Row(name, kinds[name], _of_machine(name, biases), prompts.get(name, ""))
            for name in machines
        ),
        Row(NO_PREFERENCE, AT_MOST, even, "P(A) = 0.5"),
    ]
    figure = Figure("first-shown", FIRST_TITLE, "", NOTHING, (), (), FIRST_READING)
    columns = [Column(name, "", ("criterion", name)) for name in shown]
    return _table(figure, columns, rows, label=FIRST_AXIS)


def _of_machine(name: str, biases: Iterable[BiasSection]) -> tuple[Estimate, ...]:
    unknown = undefined(NOT_RATED)
    return tuple(
        _first_preferred(bias.machines[name].position) if name in bias.machines else unknown
        for bias in biases
    )


def _first_preferred(bias: Estimate) -> Estimate:
    """Return the share that prefers the first text, of which the bias is what exceeds one half."""
    narrower = tuple(replace(one, low=one.low + 0.5, high=one.high + 0.5) for one in bias.narrower)
    return replace(
        bias,
        value=bias.value + 0.5,
        low=bias.low + 0.5,
        high=bias.high + 0.5,
        narrower=narrower,
    )


def _defined(section: CriterionSection) -> dict[str, NoiseCeiling]:
    """Return the machine raters whose share of equal labels is known, the one that leads first."""
    known = section.noise_ceiling or {}
    return {
        name: known[name]
        for name in section.machines_main_first
        if name in known and known[name].ceiling.is_defined
    }


def _cells(name: str, shown: Mapping[str, Mapping[str, NoiseCeiling]]) -> tuple[Estimate, ...]:
    unknown = undefined(NOT_RATED)
    return tuple(of[name].agreement if name in of else unknown for of in shown.values())
