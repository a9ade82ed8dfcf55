"""Which columns describe a rating: the systems, who rated, the kind of rater, the criterion."""

import re
from collections import Counter
from collections.abc import Sequence

from tiebreak.formats.layouts.grids import BLANK, named_items
from tiebreak.formats.layouts.known import PAIR, Known, UnclearLayoutError
from tiebreak.formats.layouts.unnamed import FLAGS, is_item_part, is_remark
from tiebreak.formats.rating_cells import COLUMNS
from tiebreak.formats.rating_names import (
    is_about_person,
    is_computed,
    is_fact,
    is_machine,
    kind_of,
    kinds_of,
    role_of,
)
from tiebreak.formats.tables.names import other_side, says, words_of
from tiebreak.formats.tables.profiles import Column

_SYSTEM = {"system", "model", "sys", "generator", "llm", "engine", "modelname", "systemname", "mt"}
# Names of raters where nothing else is: a subject is an item beside columns of raters.
_PEOPLE = {*("subject", "person", "listener", "student", "teacher", "panelist", "voter", "email")}
_NAMES = {"name", "first", "last", "full", "your"}

OF_WHOM = (
    "The column {} may name those who rated or what they rated, because no item has several of its names. Choose it as"
    " that of the raters, choose another, or leave {} out."
)
ON_SCALES = (
    "The column {0} says that rows are on several scales, which have criteria of their own. Choose the columns of what"
    " was rated and of the criterion, or leave {0} out."
)


def find_native(table: Known) -> None:
    """Take the columns that have names of the ratings format, except for those of labels."""
    for column in list(table.free):
        role = column.name.strip().casefold()
        if role in COLUMNS and role not in {"label", "unit", "instance", *table.facts}:
            table.take(role, column)


def find_systems(table: Known) -> None:
    """Find the column of systems, or both columns of a pair of systems."""
    if {"system_a", "system_b"} & table.facts.keys():
        return
    names = [c for c in table.free if c.is_short and not c.is_number and not is_computed(c.name)]
    # What is in brackets is a codebook, and of what a rater is named beside, there are labels.
    plain_names = {c.name: re.sub(r"\(.*?\)|\[.*?\]", " ", c.name) for c in names}
    named = [c for c in names if says(plain_names[c.name], "system")]
    named = [c for c in named if not any(role_of(w) == "rater" for w in words_of(c.name))]
    # The output of a model is no name of one.
    named = [c for c in named if not says(words_of(c.name)[-1], "text")]
    ends = Counter(words_of(c.name)[-1] for c in table.free)
    named = [c for c in named if not (words_of(c.name)[-1] == "llm" and ends["llm"] > 1)]
    named = [c for c in named if c.name not in _sides_alike(table, named)]
    pair = _pair(table, named, names)
    for role, column in zip(PAIR, pair, strict=True) if pair else ():
        table.take(role, column)
    plain = [
        c
        for c in named
        if {"".join(words_of(c.name)), *words_of(c.name)[-1:], *words_of(c.name)[:1]} & _SYSTEM
    ]
    if plain and plain[0].distinct > 1 and plain[0].repeats > 1:
        table.take("system_a", plain[0])


def _sides_alike(table: Known, named: Sequence[Column]) -> set[str]:
    """Return the columns of both sides that mostly say the same, as no system is compared with itself."""
    by_words = {tuple(words_of(c.name)): c.name for c in named}
    both = [(c.name, by_words.get(other_side(c.name) or (), "")) for c in named]
    return {name for pair in both if all(pair) and table.are_same(*pair) for name in pair}


def _pair(
    table: Known, named: Sequence[Column], names: Sequence[Column]
) -> tuple[Column, Column] | None:
    """Return the columns of both sides that are named as systems, or that a column of winners names."""
    for some in (named, [c for c in names if c.repeats > 1]):
        by_words = {tuple(words_of(c.name)): c for c in some}
        for column in some:
            rejected = ("rejected" if w == "chosen" else w for w in words_of(column.name))
            other = by_words.get(other_side(column.name) or tuple(rejected))
            if other is None or other is column:
                continue
            if some is named or any(_picks(table, c, column, other) for c in names):
                return column, other
    return None


def _picks(table: Known, winner: Column, first: Column, second: Column) -> bool:
    """Whether a column of winners names one of two different sides in each row, now this, now that."""
    rows = [[row.get(c.name) for c in (winner, first, second)] for row in table.profile.head]
    are_sides = all(a != b and chosen in (a, b, *BLANK) for chosen, a, b in rows)
    picked = {row.index(row[0], 1) for row in rows if are_sides and row[0] not in BLANK}
    return "winner" in kinds_of(winner.name) and len(picked) == 2


def find_rater(table: Known, roles: set[str]) -> None:
    """Take the column that names raters: one name in a cell, and not a column for each of them."""
    named = [c for c in table.free if _names_raters(table, c, roles)]
    plain = [c for c in named if c.repeats > 1] or named
    if len(plain) > 1:  # users may have written the texts
        plain = [c for c in plain if not says(c.name, "source")] or plain
    if plain and "rater" not in roles and not _crosses_items(table, plain[0]):
        name = plain[0].name
        raise UnclearLayoutError("no_rater", OF_WHOM.format(name, name), f"rater={name}")
    if plain:
        table.take("rater", plain[0])


def _crosses_items(table: Known, column: Column) -> bool:
    """Whether somebody has several items and an item several people, and so has each column of texts."""
    texts = [c for c in table.free if c.is_prose and not is_remark(c) and c.distinct > 1]
    items = [c for c in table.free if is_item_part(c) and c is not column and c not in texts]
    crossed = [
        table.differs(c, [column.name]) and table.differs(column, [c.name])
        for c in (*texts, *items)
    ]
    return any(crossed) and all(crossed[: len(texts)])


def _names_raters(table: Known, column: Column, roles: set[str]) -> bool:
    words = set(words_of(column.name))
    is_person = bool(words & _PEOPLE or words <= _NAMES) and any(
        table.roles[c.name] == "label" for c in table.free
    )
    role = "person" if is_person else table.roles[column.name]
    has_several = bool(column.values) and all(re.search(r"[,;|]", v) for v in column.values)
    is_flag = column.values <= FLAGS and ":" in column.name  # `Condition: healthy participants`
    is_other = column.is_prose or has_several or is_flag or is_computed(column.name)
    return role in roles and not is_other


def find_person_of_each_row(table: Known) -> None:
    """Take the column that numbers the rows as that of raters, if rows are persons who rated a series."""
    ids = [c for c in table.free if table.roles[c.name] == "unit" and not c.is_prose]
    is_asked = named_items([c.name for c in table.candidates() if not is_fact(c.name)])
    if is_asked and any(is_about_person(c.name) for c in table.free):
        for column in ids[:1]:
            if table.tells_apart([column.name], [column.name]):
                table.take("rater", column)


def find_kind_of_raters(table: Known) -> None:
    """Take the column that says of each rater whether it is a person or a machine: `rater_type`."""
    for column in table.free if "rater" in table.facts else ():
        is_of_raters = any(role_of(word) == "rater" for word in words_of(column.name))
        are_kinds = column.values and {*map(kind_of, column.values)} <= {"human", "machine"}
        if is_of_raters and are_kinds and not table.differs(column, [table.facts["rater"]]):
            table.take("kind", column)


def leave_model_of_raters(table: Known) -> None:
    """Take the model that each of several machines is for no system that they rate."""
    system, rater = (table.facts.get(role, "") for role in ("system_a", "rater"))
    if system in table.chosen.values() or {system, rater} & {""} or "system_b" in table.facts:
        return
    names, column = table.profile[rater].values, table.profile[system]
    if all(map(is_machine, names)) and column.distinct > 1 and not table.differs(column, [rater]):
        del table.facts["system_a"]


def find_criterion(table: Known, *, is_long: bool) -> None:
    """Take the column that names criteria: short words, each of many ratings; ask where rows are on several scales."""
    scales = [c for c in table.free if words_of(c.name) == ["scale"] and not c.is_number]
    scales = [c for c in scales if c.distinct > 1 and c.repeats > 1 and c.is_short]
    if scales and not {"criterion", "unit"} & table.chosen.keys():
        sentence = ON_SCALES.format(scales[0].name)
        raise UnclearLayoutError("unclear_criterion", sentence, "unit=COLUMN,criterion=COLUMN")
    if not is_long:
        return
    named = [c for c in table.free if table.roles[c.name] == "criterion" and c.is_short]
    named = [c for c in named if c.repeats >= 2 and not c.is_number]
    if named and "criterion" not in table.facts:
        table.take("criterion", named[0])
