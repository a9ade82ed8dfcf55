"""Which columns name the item that a row rates."""

from collections import Counter
from collections.abc import Sequence
from itertools import combinations, product

from tiebreak.formats.layouts.grids import numbered, shares_labels
from tiebreak.formats.layouts.known import Known, UnclearLayoutError
from tiebreak.formats.layouts.layout import Cell
from tiebreak.formats.layouts.unnamed import (
    MIN_REPEATS,
    is_item_part,
    is_remark,
    may_number_answers,
    numbers_rows,
)
from tiebreak.formats.rating_names import is_computed, is_fact, is_machine, kinds_of
from tiebreak.formats.tables.names import says, words_of
from tiebreak.formats.tables.profiles import TRUTHS, Column

_ASKED = {*("asked", "queried", "query", "question", "requested", "shown", "presented", "prompted")}
_ASKED |= {"displayed", "statement", "claim", "hypothesis"}

_PASSES = frozenset(("round", "pass", "session", "phase", "wave", "trial", "attempt", "order"))
_PASSES |= {"position", "day", "rank", "run", "rep", "repeat", "time", "iteration", "block"}

NO_UNIT = "No column says which item a row rates. Choose it."
OF_TEXTS = (
    "Columns of labels such as {} have the same numbers as columns of texts such as {}, so each number may be an item"
    " of its own. Give each text a row of its own, or choose the columns of labels if their numbers are criteria."
)
SEVERAL = (
    "Rows of one {} have different texts in {}, so raters may have rated different things. Choose the column"
    " that names what each row rates, or leave out texts that raters wrote."
)
RATED_TWICE = (
    "The columns {} may have labels, but no column says who gave them, and several rows have the same {}, so several"
    " people may have rated an item. Choose the column that names the raters, or those that name the item."
)


def keys_of(table: Known, *, is_long: bool) -> tuple[str, ...]:
    """Return the fewest columns that name the item, so that nobody rated one twice."""
    by_name = {name.strip().casefold(): name for name in table.profile.columns}
    given = table.chosen.get("unit") or by_name.get("unit")
    if given:
        return (given,)
    once = [
        table.facts[role] for role in ("rater", "criterion", "run", "repeat") if role in table.facts
    ]
    systems = [table.facts[role] for role in ("system_a", "system_b") if role in table.facts]
    ids = sorted(
        (c for c in table.free if _may_name_items(table, c)), key=lambda c: _rank_of(table, c)
    )[:12]
    remarks = [c for c in ids if is_remark(c) and c.repeats < MIN_REPEATS]
    instead = [c for c in ids if c.is_prose and not is_remark(c)] if remarks else []
    if _fewest(table, instead, once, systems, is_shared=False):  # what someone remarked is none
        ids = [c for c in ids if c not in remarks]
    named = [c for c in ids if table.roles[c.name] in ("unit", "instance")]
    texts, links = [c for c in ids if c.is_prose], [c for c in ids if c.is_link]
    parts = [c for c in table.free if is_long and is_item_part(c) and not c.is_prose]
    # The number of an answer names no item beside what does.
    lasting = [c for c in named if c.repeats > 1 or not numbers_rows(c)]
    named = lasting if is_long and lasting else named
    rater = table.profile.columns.get(table.facts.get("rater", ""))
    pairs = _pairs_of(table, lasting, ids, rater) if rater and is_long and not systems else []
    for some, shared in (
        (named, is_long),
        (texts, is_long),
        *((pair, rater is not None and rater.distinct > 1) for pair in pairs),
        (named or [c for c in texts if says(c.name, "source")] or instead, False),
        (links if is_long else ids, is_long),
        (parts, True),
    ):
        keys = _fewest(table, some, once, systems, is_shared=shared)
        if keys:
            return keys
    if not is_long:
        return ()
    crossed = _crossed(table, once)
    if crossed:
        return crossed
    if not named:
        raise UnclearLayoutError("no_unit", NO_UNIT, "unit=COLUMN")
    return (named[0].name, *systems)


def _pairs_of(
    table: Known, items: Sequence[Column], ids: Sequence[Column], rater: Column
) -> list[tuple[Column, Column]]:
    """Return pairs of columns that may name an item together: what is named, and what it was crossed with.

    A number must be crossed with all raters, and of one rater a name must say what it is. What
    numbers passes over an item is no part of it.
    """
    parts = [c for c in (*ids, *table.free) if not (numbers_rows(c) or c.is_prose)]
    parts = [c for c in parts if {"winner", "measured"}.isdisjoint(kinds_of(c.name))]
    parts = [c for c in parts if _PASSES.isdisjoint(words_of(c.name))]
    crossed = product(items, parts) if rater.distinct > 1 else ()
    pairs = [
        (item, part)
        for item, part in crossed
        if (part in ids and not is_fact(part.name))
        or table.count(item.name, part.name) * rater.distinct == table.n_rows
    ]
    return [*pairs, *product(items, filter(is_item_part, parts))]


def _crossed(table: Known, once: list[str]) -> tuple[str, ...]:
    """Return the column whose values each rater labelled once, if all but labels follows from it."""
    labels = [
        c for c in table.free if table.roles[c.name] == "label" or "judged" in kinds_of(c.name)
    ]
    others = [c for c in table.free if c not in labels and not is_fact(c.name)]
    others = [c for c in others if not (c.is_number and shares_labels(c, labels))]
    for column in others if labels else ():
        key = [column.name]
        cells = {tuple(row.get(name) for name in once) for row in table.profile.head}
        is_complete = len(table.profile.head) == len(cells) * column.distinct
        rest = [c for c in others if table.differs(c, key) and table.differs(c, once[:1])]
        if is_complete and column.distinct > 2 and len(cells) > 1 and not rest:
            return (column.name,) if table.tells_apart([*key, *once], key) else ()
    return ()


def _fewest(
    table: Known, ids: Sequence[Column], once: list[str], systems: list[str], *, is_shared: bool
) -> tuple[str, ...]:
    """Return the fewest of some columns by which each of the first rows is a rating of its own."""
    for size in (1, 2, 3):
        for some in combinations(ids, size):
            names = [c.name for c in some]
            for keys in ([*names, *systems], names):
                is_own = table.tells_apart([*keys, *once], keys)
                if is_own and (not is_shared or table.is_shared(keys)):
                    return tuple(keys)
    return ()


def with_what_was_shown(table: Known, keys: tuple[str, ...]) -> tuple[str, ...]:
    """Return the keys with the column by which raters of one key saw different things, if any.

    It names one side of each pair, or says what was asked.
    """
    free = [c for c in table.free if c.name not in keys and table.differs(c, keys)]
    texts = [c for c in free if c.is_prose and _was_shown(table, c, keys)]
    for column in (c for c in free if table.roles[c.name] in ("", "unit")):
        if _was_asked(column) or _names_a_side(table, column):
            return (*keys, column.name)
    if names := [c.name for c in texts]:
        sentence = SEVERAL.format(" and ".join(keys), ", ".join(names))
        raise UnclearLayoutError("unclear_unit", sentence, f"unit={names[0]}")
    return keys


def without_passes(table: Known, keys: tuple[str, ...]) -> tuple[str, ...]:
    """Return the keys without the column that numbers the passes of machines over the same texts."""
    texts = [c.name for c in table.free if c.is_prose and table.roles[c.name] != "reason"]
    if not all(map(is_machine, table.profile[table.facts["rater"]].values)):
        return keys
    for column in keys if len(keys) > 1 and "run" not in table.facts else ():
        rest = tuple(key for key in keys if key != column)
        are_same = table.count(*rest, *texts) == table.count(*rest) > 1
        if says(column, "sample") and {*texts} - {*keys} and are_same:
            table.facts["run"] = column
            return rest
    return keys


def _was_asked(column: Column) -> bool:
    """Whether a few words say what raters were asked of an item: `queried_emotion`, `question`."""
    is_said = not _ASKED.isdisjoint(words_of(column.name)) and not is_fact(column.name)
    return is_said and column.repeats > 1 and not column.is_number and not column.values <= TRUTHS


def _was_shown(table: Known, column: Column, keys: Sequence[str]) -> bool:
    """Whether texts are what raters saw and not what they wrote, as some have more than one rater."""
    is_partial = column.filled < table.profile.rows
    if (
        is_partial
        or says(column.name, "remark")
        or not table.differs(column, [table.facts["rater"]])
    ):
        return False
    of_raters = table.count(*keys, column.name, table.facts["rater"])
    return says(column.name, "text") or table.count(*keys, column.name) < of_raters


def _names_a_side(table: Known, column: Column) -> bool:
    """Whether winners that are among a column's names are that of their row, which does not follow from them."""
    for name in table.profile.columns if not column.is_number else ():
        pairs = {(row.get(name), row.get(column.name)) for row in table.profile.head}
        named = [pair for pair in pairs if pair[0] in column.values]
        are_same = len(named) > 1 and all(winner == side for winner, side in named)
        if are_same and table.differs(column, [name]) and "winner" in kinds_of(name):
            return True
    return False


def _may_name_items(table: Known, column: Column) -> bool:
    if is_computed(column.name) or column.is_listed or column.distinct < 2:
        return False
    if table.roles[column.name] in ("unit", "instance"):
        return True
    return not (column.is_number or table.roles[column.name])


def _rank_of(table: Known, column: Column) -> tuple[bool, bool, bool, float]:
    is_named = table.roles.get(column.name) in ("unit", "instance")
    return not is_named, is_fact(column.name), column.is_prose, -column.distinct


def keys_of_one(table: Known, cells: Sequence[Cell]) -> tuple[str, ...]:
    """Return the columns that name the item, so that one source gave it one label of each criterion."""
    if given := table.chosen.get("unit"):
        return (given,)
    once = [table.facts[role] for role in ("criterion", "run") if role in table.facts]
    systems = [table.facts[role] for role in ("system_a", "system_b") if role in table.facts]
    known = [c for c in table.free if is_item_part(c) or _is_read_again(table, c)]
    known += [table.profile[table.facts[r]] for r in ("category",) if r in table.facts]
    if not (known or systems):  # but a file or link may name it
        known = [c for c in table.free if _may_name_items(table, c) and table.roles[c.name]]
    known = sorted(known, key=lambda c: _rank_of(table, c))[:12]
    ids = [c for c in known if table.roles.get(c.name) in ("unit", "instance")]
    for some in (ids, known):
        keys = _fewest(table, some, once, systems, is_shared=False)
        if keys and not _are_answers(table, keys, known):
            return keys
    same = " and ".join([*(c.name for c in known[:4]), *systems]) or "item"
    labels = ", ".join(cell.column for cell in cells[:6])
    raise UnclearLayoutError("no_rater", RATED_TWICE.format(labels, same), "rater=COLUMN")


def _is_read_again(table: Known, column: Column) -> bool:
    """Whether texts are in several rows each, as what was rated may be and what someone wrote is not."""
    is_said = table.roles[column.name] in ("reason", "label")
    is_said = is_said or any(says(column.name, role) for role in ("remark", "fact"))
    return column.is_prose and column.repeats >= MIN_REPEATS and not is_said


def _are_answers(table: Known, keys: tuple[str, ...], known: Sequence[Column]) -> bool:
    """Whether a number tells rows apart that all are about an item of other rows, too."""
    rest = [c.name for c in known if c.name not in keys and not says(c.name, "category")]
    items = Counter(tuple(row.get(name) for name in rest) for row in table.profile.head)
    are_repeated = bool(rest) and min(items.values()) > 1
    is_number = len(keys) == 1 and may_number_answers(table.profile[keys[0]])
    # A mere "id" beside that of what was rated may be the rater's.
    are_ids = len(keys) > 1 and all("id" in words_of(key)[-1:] for key in keys)
    return are_repeated and (is_number or (are_ids and any(words_of(k) == ["id"] for k in keys)))


def ask_if_of_texts(table: Known, cells: Sequence[Cell], keys: tuple[str, ...]) -> None:
    """Ask what is rated, if labels of a row are numbered as its texts are, and an item has various of these."""
    labels = numbered(table.profile[c.column] for c in cells if not (c.item or table.chosen))
    texts = [c for c in table.profile.columns.values() if c.is_prose]
    for stem, ends in numbered(texts).items():
        alike = [label for label, numbers in labels.items() if numbers == ends]
        differ = any(table.differs(c, keys) for c in texts if c.name.startswith(stem))
        if alike and (differ or not table.is_shared(keys)):
            names = [f"{name}{min(ends)}" for name in (alike[0], stem)]
            example = f"label={names[0]}"
            raise UnclearLayoutError("unclear_unit", OF_TEXTS.format(*names), example)
