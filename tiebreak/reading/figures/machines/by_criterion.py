"""The figure of all machine raters over the criteria of a study, each with its noise ceiling."""

from collections.abc import Mapping

from tiebreak.reading.charts.svg import kinds_of
from tiebreak.reading.charts.tables import AT_MOST, Column, Row, table_chart
from tiebreak.reading.figures.figure import ESTIMATE_COLUMNS, Figure, estimate_rows
from tiebreak.reading.figures.machines.stand_in import (
    BEST_POSSIBLE,
    EQUAL_LABELS_AXIS,
    EQUAL_LABELS_KEY,
    SIMPLE_RULE,
)
from tiebreak.reading.words import counted
from tiebreak.report.model.machines import NoiseCeiling
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
    estimates = [
        ((row.name, column.name), cell)
        for row in rows
        for column, cell in zip(columns, row.cells, strict=True)
    ]
    chart = table_chart(
        columns,
        rows,
        finding=TITLE,
        corner="",
        label=EQUAL_LABELS_AXIS,
        caption=EQUAL_LABELS_KEY,
    )
    table = ("rater", "criterion", *ESTIMATE_COLUMNS), estimate_rows(estimates)
    return Figure("machines-by-criterion", TITLE, sentence, chart, *table, READING)


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
