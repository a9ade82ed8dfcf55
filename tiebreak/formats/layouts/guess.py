"""Guessing who rated what in a table of ratings, by the cells first and by names second."""

from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import replace

from tiebreak.errors import DomainError
from tiebreak.formats.layouts.facts import (
    find_criterion,
    find_kind_of_raters,
    find_native,
    find_person_of_each_row,
    find_rater,
    find_systems,
    leave_model_of_raters,
)
from tiebreak.formats.layouts.grids import parts_of
from tiebreak.formats.layouts.items import (
    ask_if_of_texts,
    keys_of,
    keys_of_one,
    with_what_was_shown,
    without_passes,
)
from tiebreak.formats.layouts.known import PAIR, Known, UnclearLayoutError
from tiebreak.formats.layouts.labels import (
    ask_if_partial,
    beside_raters,
    by_item,
    check_criteria,
    columns_of_items,
    computed_from,
    has_winners,
    said_twice,
)
from tiebreak.formats.layouts.layout import LABEL_OF, RATER_OF, Cell, Layout, rater_and_criterion
from tiebreak.formats.layouts.raters import columns_of_raters, nobody
from tiebreak.formats.layouts.unnamed import labels_of_one
from tiebreak.formats.rating_cells import COLUMNS
from tiebreak.formats.rating_names import SOURCES, UNNAMED, is_machine, kinds_of
from tiebreak.formats.tables.names import words_of
from tiebreak.formats.tables.profiles import Column, Profile, check_columns

MAY_BE_LABELS = (
    "No column says who gave the labels of {}, and the columns {} may have labels, too, or describe the item. Choose"
    " those that have labels, or leave out the others."
)
WITH_REASONS = (
    "No column says who gave the labels of {} and the reasons in {}: a person or a model. Choose the columns that have"
    " labels as those of one rater, by name: a model's name says that it is one."
)
FILLS_LABELS = "The column {!r} has labels, and an empty cell is no label of the row above. Fill down other columns only."


def layout_of(
    profile: Profile,
    chosen: Mapping[str, str],
    left_out: Iterable[str] = (),
    fill_down: Iterable[str] = (),
    name: str = "",
) -> Layout:
    """Return how a table of ratings, the file of this name, is to be read.

    ``chosen`` has columns by role, which are not guessed: columns of the ratings format,
    ``rater:NAME`` and ``label:CRITERION``. Columns of ``fill_down`` have no labels, because none may be
    made up. Raises `DomainError` if it is not clear who rated what.
    """
    fill_down = [*fill_down]
    _check(profile, chosen, [*left_out, *fill_down])
    table = Known(profile, chosen, {*left_out}, name)
    layout = _layout(table)
    if not {role.partition(":")[0] for role in chosen} & {"label", "rater"}:
        ask_if_partial(table, layout)
    if made_up := next((c.column for c in layout.cells if c.column in fill_down), None):
        raise DomainError("fills_labels", FILLS_LABELS.format(made_up), status=400)
    return layout


def _check(profile: Profile, chosen: Mapping[str, str], left_out: Iterable[str]) -> None:
    for role in chosen:
        if role not in COLUMNS and not role.startswith((RATER_OF, LABEL_OF)):
            sentence = (
                f"{role!r} is not a role of a column of ratings. The roles are unit, rater, label,"
                f" criterion, rater:NAME, label:CRITERION, and {', '.join(COLUMNS[3:])}."
            )
            raise DomainError("unknown_role", sentence, status=400)
    check_columns(profile, (*chosen.values(), *left_out))


def _layout(table: Known) -> Layout:
    find_native(table)
    find_systems(table)
    cells = _chosen_cells(table)
    if "rater" not in table.facts and not any(cell.rater for cell in cells):
        find_rater(table, {"rater"})
    if "rater" not in table.facts and not cells:
        find_person_of_each_row(table)
        cells = [] if "rater" in table.facts else columns_of_raters(table)
    if "rater" not in table.facts and not any(cell.rater for cell in cells):
        find_rater(table, {"person"})
    if "rater" not in table.facts and not any(cell.rater for cell in cells):
        return _of_one(table, cells)
    find_kind_of_raters(table)
    leave_model_of_raters(table)
    computed = [] if table.chosen else computed_from(table, cells)
    cells = [cell for cell in cells if cell.column not in computed]
    table.leave({cell.column for cell in cells})
    if not table.chosen:
        computed += said_twice(table)
        table.leave({*computed})
    find_criterion(table, is_long=not cells)
    items = columns_of_items(table, cells)
    if items:
        return Layout(table.facts, items)
    keys = keys_of(table, is_long=not cells or not cells[0].rater)
    if "rater" in table.facts and keys and "unit" not in table.chosen:
        keys = without_passes(table, with_what_was_shown(table, keys))
    table.leave({*keys})
    cells = by_item(table, cells or beside_raters(table, keys))
    ask_if_of_texts(table, cells, keys)
    winners = {*PAIR} <= table.facts.keys() and has_winners(table, cells)
    return Layout(table.facts, tuple(cells), keys, tuple(computed), winners)


def _of_one(table: Known, chosen: Sequence[Cell]) -> Layout:
    """Return the layout of labels by one source that nothing names, if no item has two of a criterion."""
    find_criterion(table, is_long=True)
    if {*PAIR} <= table.facts.keys():
        table.leave({c.name for c in table.compared() if table.is_label(c)})
    found, unclear, computed = labels_of_one(table.free, table.candidates(), table.profile)
    side = table.profile.columns.get(table.facts.get("system_a", ""))
    if side is not None and "chosen" in words_of(side.name):  # beside the rejected one
        found, unclear, computed = [side], [], []
    labels = [c for c in found if c.name not in said_twice(table)]
    if chosen:
        labels, unclear, computed = [table.profile[cell.column] for cell in chosen], [], []
    are_of_model = all(is_machine(c.name) and not kinds_of(c.name) & SOURCES for c in labels)
    if not labels or (are_of_model and not chosen):  # which judged, or was judged
        raise nobody(table)
    if not chosen and _are_two(labels):
        raise nobody(table)
    if unclear:
        names = [", ".join(c.name for c in some) for some in (labels, unclear)]
        example = ",".join(f"{LABEL_OF}{c.name}={c.name}" for c in (*labels, *unclear))
        raise UnclearLayoutError("unclear_label", MAY_BE_LABELS.format(*names), example)
    if not chosen:
        check_criteria(labels)
    table.leave({c.name for c in (*labels, *computed)})
    is_judge = any("judge" in kinds_of(n) for n in (table.name, *(c.name for c in labels)))
    reasons = [c.name for c in table.free if table.roles[c.name] == "reason"]
    is_person = any("human" in kinds_of(n) for n in (table.name, *(c.name for c in labels)))
    if reasons and not (is_judge or is_person):
        sentence = WITH_REASONS.format(", ".join(c.name for c in labels), reasons[0])
        raise UnclearLayoutError("no_rater", sentence, f"{RATER_OF}NAME={labels[0].name}")
    rater = UNNAMED[is_judge]
    paths = {c.name.rpartition(".")[0] for c in labels}
    shared = f"{paths.pop()}." if len(paths) == 1 else ""  # the object of all
    names = [c.name.removeprefix(shared).strip() if len(labels) > 1 else "" for c in labels]
    cells = [Cell(c.name, rater, name) for c, name in zip(labels, names, strict=True)]
    cells = [replace(cell, rater=rater) for cell in chosen] or cells
    keys = keys_of_one(table, cells)
    cells = by_item(table, cells)
    ends = Counter(c.name.rpartition(".")[2] for c in labels if "." in c.name)
    are_repeated = any(n > 1 and "judged" in kinds_of(end) for end, n in ends.items())
    if are_repeated and not cells[0].item and not chosen:
        raise nobody(table)  # what the same criteria are beside may be raters
    ask_if_of_texts(table, cells, keys)
    winners = {*PAIR} <= table.facts.keys() and has_winners(table, cells)
    names = [c.name for c in computed]
    return Layout(table.facts, tuple(cells), keys, tuple(names), winners)


def _are_two(labels: Sequence[Column]) -> bool:
    """Whether labels are called alike but for the name of a source: `tone`, `gemini_tone`."""
    names = {c.name for c in labels}
    parts = [pair for name in names for a, b in parts_of(name) for pair in ((a, b), (b, a))]
    return any(rest in names and (is_machine(a) or kinds_of(a) & SOURCES) for a, rest in parts)


def _chosen_cells(table: Known) -> list[Cell]:
    cells = []
    for role, column in table.chosen.items():
        if role == "label":
            cells.append(Cell(column))
        elif role.startswith((LABEL_OF, RATER_OF)):
            cells.append(Cell(column, *rater_and_criterion(role)))
    return cells
