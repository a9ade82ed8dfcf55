"""Which columns have labels where another names the rater, and which only repeat them."""

from collections import Counter
from collections.abc import Sequence
from dataclasses import replace
from itertools import combinations

from tiebreak.formats.label_cells import side_of
from tiebreak.formats.layouts.grids import (
    BLANK,
    affixes_of,
    follows,
    named_items,
    shares_labels,
)
from tiebreak.formats.layouts.known import PAIR, Known, UnclearLayoutError
from tiebreak.formats.layouts.layout import LABEL_OF, RATER_OF, Cell, Layout
from tiebreak.formats.layouts.unnamed import (
    FLAGS,
    flags_beside,
    is_item_part,
    is_no_answer,
    is_remark,
    labels_of_one,
    sources_in,
)
from tiebreak.formats.rating_names import (
    UNNAMED,
    is_computed,
    is_criterion,
    is_fact,
    is_plain_label,
    kinds_of,
    role_of,
    stem_of,
)
from tiebreak.formats.readers.questionnaires import WHOLE
from tiebreak.formats.rows import Row
from tiebreak.formats.tables.names import names_model, says, words_of
from tiebreak.formats.tables.profiles import TRUTHS, Column

TWICE = (
    "The columns {} may have several criteria, or one criterion that was labelled more than once. Choose one"
    " of them, or name the criteria."
)
BESIDE = (
    "Titles of columns combine criteria with {}, which may be raters, texts or systems. Choose the columns of each"
    " rater, or give each text a row of its own."
)
PARTIAL = (
    "The columns {} may have labels, and {}, which are called alike, may have labels, too, or all may describe the item."
    " Choose those that have labels, or leave out the others."
)
SAME = (
    "All raters of an item have the same {}, so it may be known from elsewhere, and {} may have their labels."
    " Choose the column that has them."
)
MIN_ROWS = 5


def beside_raters(table: Known, keys: Sequence[str]) -> list[Cell]:
    """Return one column of labels, or one for each criterion, where a column names the rater."""
    # A preference is not taken for two labels, of what was preferred and of the other.
    free = [c for c in table.candidates() if c not in table.compared()]
    free = [c for c in free if not (is_fact(c.name) or _is_measure(c))]
    # A text that is the same for all raters of an item is what they rated.
    texts = [c for c in free if c.is_prose and (c.repeats < 1.5 or not table.differs(c, keys))]
    free = [c for c in free if not (is_remark(c) or c in texts)] or free
    # An answer differs between raters of an item and items of a rater, or it says something else.
    rater = [table.facts["rater"]]
    is_once = table.tells_apart(rater, rater)
    differing = [c for c in free if table.differs(c, keys)]
    differing = [c for c in differing if is_once or table.differs(c, rater)]
    named = [c for c in free if table.roles[c.name] == "label"]
    named = [c for c in named if "predicted" not in kinds_of(c.name)] or named
    if len(named) > 1:  # what is the same for all raters of an item was computed from their labels
        named = [c for c in named if c in differing] or named
    criteria = [c for c in free if c in named or is_criterion(c.name)]
    if "criterion" not in table.facts and (
        len(named) > 1 or any(is_criterion(c.name) for c in criteria)
    ):
        # Of one rater, labels of an item never differ.
        said = differing if table.is_shared(keys) else free
        said = [c for c in said if c in differing or "judged" in kinds_of(c.name)]
        alike = [c for c in said if c.values <= TRUTHS or _is_on_scale(c, criteria)]
        alike += [] if named else differing
        named = [c for c in free if c in criteria or c in alike]
    plain = [c for c in table.free if table.roles[c.name] == "label" and not c.is_prose]
    plain = [c for c in plain if not is_remark(c)]
    items = [key for key in keys if key in table.roles]
    is_item = any(table.roles[key] == "unit" or table.profile[key].is_prose for key in items)
    is_clear = table.is_shared(keys) and is_item
    chosen = named or plain[:1] or (differing if is_clear else [])
    if not chosen:
        found, unclear, _ = labels_of_one(table.free, table.candidates(), table.profile)
        chosen = [] if unclear else found
    alike = _called_alike(table, chosen, free)
    if len(chosen) == 1 and "criterion" not in table.facts:
        alike += [c for c in free if _says_alike(c, chosen[0])]
    chosen = [c for c in free if c in alike or c in _varied(chosen)] or chosen
    others = [c.name for c in differing if c not in chosen and not table.roles[c.name]]
    if others and len(chosen) == 1 and chosen[0] not in differing and table.is_shared(keys):
        sentence = SAME.format(chosen[0].name, ", ".join(others[:6]))
        raise UnclearLayoutError("unclear_label", sentence, f"label={others[0]}")
    if not chosen:
        sentence = "No column has labels. Choose the column that has them."
        raise UnclearLayoutError("no_label", sentence, "label=COLUMN")
    if len(chosen) == 1 or "criterion" in table.facts:
        return [Cell(chosen[0].name)]
    check_criteria(chosen)
    return [Cell(c.name, "", c.name.strip()) for c in chosen]


def _is_measure(column: Column) -> bool:
    """Whether a name says what a program measures: `loss`, but not with yes or no `loss of content`."""
    kinds = kinds_of(column.name)
    return "measured" in kinds and not ("judged" in kinds and column.values <= TRUTHS)


def ask_if_partial(table: Known, layout: Layout) -> None:
    """Ask about columns without labels whose first or last word others with labels have, and about ranks that differ."""
    names = [cell.column for cell in layout.cells]
    labels = [table.profile[name] for name in names]
    known = {*names, *layout.keys, *layout.computed, *(cell.criterion for cell in layout.cells)}
    free = [c for c in table.free if c.name not in known and (c.is_number or table.is_label(c))]
    others = [c for c in free if not is_no_answer(c) and shares_labels(c, labels)]
    ranks = [c for c in free if "rank" in words_of(c.name) and table.differs(c, layout.keys)]
    doubts = [(names, ranks)] if len(ranks) > 1 and layout.keys else []
    for affix in dict.fromkeys(affix for name in names for affix in affixes_of(name)):
        alike = [c for c in others if affix in affixes_of(c.name)]
        taken = [name for name in names if affix in affixes_of(name)]
        # Two that begin alike are a pair, and two that end so may be a label and its key.
        if alike and len(alike) + len(taken) > affix.startswith("_") + 1:
            doubts.append((taken, alike))
    for taken, alike in doubts[:1]:
        more = [c.name for c in alike]
        sentence = PARTIAL.format(", ".join(taken), ", ".join(more))
        raise UnclearLayoutError("unclear_label", sentence, f"{LABEL_OF}{more[0]}={more[0]}")


def check_criteria(chosen: Sequence[Column]) -> None:
    """Ask whether several columns of labels, of which names say no more, have several criteria."""
    stems = {stem_of(c.name) for c in chosen} - {""}
    is_series = len(stems) == 1 < len(chosen) and role_of(next(iter(stems))) == "label"
    plain = [c for c in chosen if role_of(c.name) == "label" and "judged" not in kinds_of(c.name)]
    if is_series or len(plain) == len(chosen) == sum(shares_labels(c, plain) for c in plain) > 1:
        names = [c.name for c in chosen]
        example = ",".join(f"{LABEL_OF}{name}={name}" for name in names)
        raise UnclearLayoutError("repeated_label", TWICE.format(", ".join(names)), example)


def _says_alike(column: Column, label: Column) -> bool:
    """Whether both have more than two words, mostly the same, as answers to two questions have."""
    are_words = not (column.is_number or label.is_number)
    return are_words and min(column.distinct, label.distinct) > 2 and shares_labels(column, [label])


def _is_on_scale(column: Column, labels: Sequence[Column]) -> bool:
    """Whether there are more than two numbers, and these are among those of other labels."""
    return column.is_number and column.distinct > 2 and shares_labels(column, labels)


def _called_alike(table: Known, labels: Sequence[Column], free: Sequence[Column]) -> list[Column]:
    """Return the columns that are called after the source of labels, the agreed ones, or their numbered series.

    What is said with yes or no beside several labels is one more of them, or with 1 or 0 beside such.
    """
    words = {tuple(words_of(name)) for name in table.profile.columns if is_computed(name)}
    agreed = {of_name[1:] for of_name in words if of_name[0] in ("gold", "true")} - {()}
    sources, stems = sources_in(labels), Counter(stem_of(c.name) for c in labels)
    named = [c for c in free if any(tuple(words_of(c.name))[-len(w) :] == w for w in agreed)]
    named += [c for c in free if not c.is_prose and not sources.isdisjoint(affixes_of(c.name))]
    named += [c for c in free if stems[stem_of(c.name) or " "] > 1]
    more = [c for c in free if c in labels or c in named]
    flags = FLAGS if all(c.values <= FLAGS for c in more) else TRUTHS
    return named + (flags_beside(free, more, flags) if len(more) > 1 else [])


def columns_of_items(table: Known, cells: Sequence[Cell]) -> tuple[Cell, ...]:
    """Return a numbered series of columns, if a row has all labels of a rater and nothing else."""
    columns = [table.profile[cell.column] for cell in cells] or table.free
    rater = [*table.facts.values()]
    is_other = {*table.facts} != {"rater"} or any(cell.rater for cell in cells)
    if is_other or len(columns) < 3 or not table.tells_apart(rater, rater):
        return ()
    labels = [c for c in columns if table.is_label(c) and not is_fact(c.name)]
    labels = [c for c in labels if c.name in table.asked] or labels
    grid = by_item(table, [Cell(c.name, "", c.name.strip()) for c in labels])
    if any(cell.item for cell in grid):
        return tuple(grid)
    stems = {stem_of(c.name) for c in columns if not c.name.strip().isdecimal()}
    are_labels = all(c in labels and shares_labels(c, columns) for c in columns)
    if are_labels and len(stems) < 2 and "" not in stems:
        return tuple(Cell(c.name, item=c.name.strip()) for c in columns)
    return _of_one_item(table, columns if cells else [])


def _of_one_item(table: Known, chosen: Sequence[Column]) -> tuple[Cell, ...]:
    """Return the criteria of what all rated, if each rated once and no column may say what."""
    labels, unclear, _ = labels_of_one(table.free, table.candidates(), table.profile)
    labels = [*chosen] or labels
    rest = [c for c in table.free if c not in labels]
    are_known = all(c.is_number or c.is_constant or is_remark(c) or is_fact(c.name) for c in rest)
    parts = [c for c in (*rest, *labels) if is_item_part(c) and "judged" not in kinds_of(c.name)]
    if len(labels) < 3 or not are_known or ((unclear or parts) and not chosen):
        return ()
    return tuple(Cell(c.name, "", c.name.strip(), WHOLE) for c in _varied(labels))


def _varied(labels: Sequence[Column]) -> list[Column]:
    """Return the columns of labels without those that always say what no other says, if not all are such."""
    varied = [c for c in labels if not c.is_constant]
    return [c for c in labels if c in varied or shares_labels(c, varied)] or [*labels]


def computed_from(table: Known, cells: Sequence[Cell]) -> list[str]:
    """Return the columns of labels that follow from the others: their sum, mean or majority."""
    names = [cell.column for cell in cells if cell.rater and not cell.criterion]
    if len(names) < 4 or len(table.profile.head) < MIN_ROWS:
        return []
    rows = [[row.get(name) for name in names] for row in table.profile.head]
    return [name for k, name in enumerate(names) if follows(rows, k)]


def said_twice(table: Known) -> list[str]:
    """Return the columns that say in another way what another column of labels says, such as its number."""
    labels = sorted(
        (c for c in table.candidates() if is_plain_label(c.name)),
        key=lambda c: (-c.filled, not c.is_number),
    )
    twice = [b.name for a, b in combinations(labels, 2) if _say_the_same(table, a, b)]
    return list(dict.fromkeys(twice))


def _say_the_same(table: Known, first: Column, second: Column) -> bool:
    """Whether one label of several follows from the other in each of the first rows, both ways."""
    both = [(_said(table, first, row), _said(table, second, row)) for row in table.profile.head]
    both = [pair for pair in both if not {*BLANK} & {*pair}]
    sizes = {len({*cells}) for cells in (both, *zip(*both, strict=True))}
    return len(both) >= MIN_ROWS and len(sizes) == 1 and 1 not in sizes


def _said(table: Known, column: Column, row: Row) -> object:
    """Return which side of the row's pair a cell says, or else the cell."""
    pair = [row.get(table.facts.get(role, "")) for role in PAIR]
    cell = row.get(column.name)
    side = side_of(cell, *map(str, pair)) if cell not in BLANK and None not in pair else None
    return cell if side is None else side


def has_winners(table: Known, cells: Sequence[Cell]) -> bool:
    """Whether all labels of the first rows name a side or a system of their pair."""
    return all(None not in table.sides_in(cell.column) for cell in cells)


def by_item(table: Known, cells: Sequence[Cell]) -> list[Cell]:
    """Return the cells with items and criteria, if they are those of a numbered series of texts.

    What stands beside criteria in names, and is neither known as an item nor as a rater, is asked about.
    """
    found = named_items([cell.criterion for cell in cells]) if len(cells) > 3 else {}
    sides = table.sides_of([cell.column for cell in cells])
    for role in PAIR if sides else ():  # each is rated for itself
        table.facts.pop(role, None)
    if sides and not found:
        return [replace(c, item=sides[c.column][0], criterion=sides[c.column][1]) for c in cells]
    are_systems = len(cells) > 1 and all(names_model(c.criterion) and not c.rater for c in cells)
    if are_systems and not found:
        return [replace(cell, criterion="", item=cell.criterion) for cell in cells]
    if not found or any(cell.rater not in ("", *UNNAMED) for cell in cells):
        return [*cells]
    if odd := [item for item, _ in found.values() if not _may_be_item(table, item)]:
        example = ",".join(f"{RATER_OF}{item}:{c}={n}" for n, (item, c) in [*found.items()][:2])
        raise UnclearLayoutError(
            "unclear_unit", BESIDE.format(", ".join(dict.fromkeys(odd))), example
        )
    parts = ((cell, *found[cell.criterion]) for cell in cells)
    return [Cell(cell.column, cell.rater, criterion, item) for cell, item, criterion in parts]


def _may_be_item(table: Known, name: str) -> bool:
    """Whether part of a title is a number or letter, a word for texts or systems, or named elsewhere in the table."""
    word = "" if name.isdecimal() else stem_of(name) or name
    is_word = any(says(word, role) for role in ("instance", "source", "system", "text"))
    others = [c for c in table.profile.columns.values() if not (c.is_number or is_remark(c))]
    is_named = any(
        name in c.values or (c.is_prose and name.casefold() in c.name.casefold()) for c in others
    )
    return len(word) < 2 or is_word or role_of(word) == "unit" or names_model(name) or is_named
