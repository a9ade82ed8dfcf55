"""Figures of the composite, which uses the best machine rater of each category."""

from itertools import chain

from tiebreak.digits import counted
from tiebreak.reading.charts.intervals import IntervalRow, Mark, interval_chart
from tiebreak.reading.charts.matrices import matrix_chart
from tiebreak.reading.charts.svg import kinds_of
from tiebreak.reading.figures.figure import (
    Figure,
    Simple,
    draws_raters,
    empty_figure,
    reading_if_drawn,
    table_of,
)
from tiebreak.report.model.machines import AgreementByCategory, CompositeSection

TITLE = "Agreement with annotators: machine raters and their composite"
CATEGORIES_TITLE = "Agreement with annotators by category"
CHOSEN_TITLE = "Machine raters that the composite uses"
Named = tuple[str, AgreementByCategory]
ANNOTATORS, COMPOSITE, ALL = "annotators", "composite", "all items"
READING = (
    "Points are leave-one-out agreement: how often an answer is the most frequent one among annotators"
    " when one of them is left out, with 95% intervals. All rows cover the same items. The composite"
    " uses the machine rater that agreed best in a category, and each item is scored with the rater that"
    " was chosen on other items, so its value is what may be expected on new items. Machine raters that"
    " are picked for being best in this figure will do worse on new items than here. The interval of the"
    " composite allows for the choices that other items would have led to. A machine rater that agrees as often as annotators"
    " do is not thereby one of them: it may err where they agree."
)
CATEGORIES_READING = (
    "A cell is the leave-one-out agreement of the rater in its row on the items of the category in its"
    " column. The composite's was measured on items on which its raters were not chosen, so it may be"
    " below the largest number in its column, which is largest in part by chance. Report the"
    " composite's number, not the largest one. Small categories say little: the numbers of items are in"
    " the table."
)
CHOSEN_READING = (
    "A cell is the share of folds in which the machine rater in its column was the best one in the"
    " category in its row, on the items outside the fold, alone or with others as good. Where no rater is chosen in nearly all"
    " folds, the data do not tell which one is best."
)


@draws_raters("composite")
def composite_figures(section: CompositeSection, simple: Simple = None) -> list[Figure]:
    if section.humans is None or section.composite is None:
        return [empty_figure("composite", TITLE, f"{section.reason} {_left_out(section)}".strip())]
    raters = [
        (ANNOTATORS, section.humans),
        (COMPOSITE, section.composite),
        *sorted(section.machines.items()),
    ]
    return [_overall(section, raters, simple), _by_category(raters), _chosen(section)]


def _overall(section: CompositeSection, raters: list[Named], simple: Simple) -> Figure:
    (humans, among), *others = raters
    kinds = kinds_of((name for name, _ in others), simple)
    rows = [
        IntervalRow(humans, (Mark("human", among.all_units),)),
        *(IntervalRow(name, (Mark(kinds[name], one.all_units),)) for name, one in others),
    ]
    chart = interval_chart(rows, finding=TITLE, label="leave-one-out agreement", bounds=(0, 1))
    sentence = (
        f"{counted(section.n_units, 'item')} that all of these rated; the composite's raters were chosen"
        f" in {section.folds} folds. {_left_out(section)}"
    )
    reading = READING + reading_if_drawn([one.all_units for _, one in raters])
    return Figure("composite", TITLE, sentence.strip(), chart, *table_of(rows, "rater"), reading)


def _left_out(section: CompositeSection) -> str:
    parts = [f"{name} ({counted(n, 'item')})" for name, n in sorted(section.left_out.items())]
    return f"Left out, because they rated too few items: {', '.join(parts)}." if parts else ""


def _by_category(raters: list[Named]) -> Figure:
    names, agreements = zip(*raters, strict=True)
    columns = [ALL, *agreements[0].categories]
    estimates = [[one.all_units, *one.categories.values()] for one in agreements]
    values = [[one.value for one in row] for row in estimates]
    chart = matrix_chart(
        names,
        values,
        finding=CATEGORIES_TITLE,
        labels=("rater", "category"),
        columns=columns,
        kind="machine",
    )
    cells = (
        ("items", *(one.n for one in estimates[0])),
        *((name, *row) for name, row in zip(names, values, strict=True)),
    )
    return Figure(
        "composite-categories",
        CATEGORIES_TITLE,
        "",
        chart,
        ("rater", *columns),
        cells,
        CATEGORIES_READING + reading_if_drawn(chain.from_iterable(estimates)),
    )


def _chosen(section: CompositeSection) -> Figure:
    machines = sorted(section.machines)
    shares = [
        [chosen.get(name, 0) / sum(chosen.values()) for name in machines]
        for chosen in section.chosen.values()
    ]
    chart = matrix_chart(
        list(section.chosen),
        shares,
        finding=CHOSEN_TITLE,
        labels=("category", "machine rater, share of folds"),
        columns=machines,
        kind="machine",
    )
    return Figure(
        "composite-chosen",
        CHOSEN_TITLE,
        "",
        chart,
        ("category", "machine_rater", "folds_chosen", "folds"),
        tuple(
            (category, machine, chosen.get(machine, 0), sum(chosen.values()))
            for category, chosen in section.chosen.items()
            for machine in machines
        ),
        CHOSEN_READING + reading_if_drawn(one.all_units for one in section.machines.values()),
    )
