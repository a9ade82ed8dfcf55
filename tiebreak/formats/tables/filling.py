"""Cells that stand once for a block of rows: below the first, they are empty."""

from collections.abc import Iterable, Iterator, Mapping, Sequence
from itertools import accumulate

from tiebreak.formats.rows import Row
from tiebreak.formats.tables.names import is_total, says
from tiebreak.formats.tables.problems import TableProblems
from tiebreak.formats.tables.profiles import Profile, is_blank, is_empty

Rows = Iterable[tuple[int, Row]]
EMPTY_BELOW = (
    "These columns have a value in the first row of each block, and empty cells below it: {}. Fill them down"
    " if the empty cells repeat the value above, or leave these columns out."
)
# Blocks in which nearly all systems have a row.
MOST = 0.75
MANY_BLOCKS = 3
TELLERS = ("system", "person", "sample")
_BLANK = (None, "None", "")


def filled_down(
    rows: Rows, columns: Sequence[str], problems: TableProblems
) -> Iterator[tuple[int, Row]]:
    """Yield the rows with the value above in each empty cell of the columns, and count these cells.

    Below a row that could not be read, cells stay empty: the value may have been there.
    """
    above: dict[str, object] = {}
    before = 0
    for number, row in rows:
        filled = row
        if columns and any(skipped in problems.rows for skipped in range(before + 1, number)):
            above.clear()
        if columns and not is_row_of_totals(row):
            empty = [name for name in columns if is_blank(row.get(name)) and name in above]
            problems.filled.update(empty)
            filled = row | {name: above[name] for name in empty}
            above |= {name: filled[name] for name in columns if not is_blank(filled.get(name))}
        yield number, filled
        before = number


def is_row_of_totals(row: Row) -> bool:
    """Whether the first cell that is not empty says that the row has totals."""
    return is_total(next((cell for cell in row.values() if not is_empty(cell)), None))


def empty_below(profile: Profile) -> tuple[str, ...]:
    """Return the columns whose empty cells plainly repeat the value above.

    They have a value of their own in each block's first row alone, and another column, such as that of
    the systems, differs within each block and repeats from block to block.
    """
    cells = {
        name: [row.get(name) not in _BLANK for row in profile.head] for name in profile.columns
    }
    found: dict[str, None] = {}
    for pattern in {tuple(filled) for filled in cells.values() if filled[:1] == [True]}:
        names = [name for name, filled in cells.items() if tuple(filled) == pattern]
        if all(pattern) or not any(_are_own(profile, name) for name in names):
            continue
        blocks = [*accumulate(pattern)]
        tellers = [name for name in cells if name not in names and _tells(profile, name, blocks)]
        if tellers:
            partly = [n for n in tellers if sum(cells[n]) <= MOST * len(cells[n])]
            same = [n for n, filled in cells.items() if any(filled == cells[p] for p in partly)]
            found |= dict.fromkeys([*names, *same])
    return tuple(name for name in profile.columns if name in found)


def _are_own(profile: Profile, name: str) -> bool:
    """Whether nearly every value of a column is there once."""
    values = [value for row in profile.head if (value := row.get(name)) not in _BLANK]
    return len({*values}) >= 0.9 * len(values)


def _tells(profile: Profile, name: str, blocks: Sequence[int]) -> bool:
    """Whether the values of a column differ within each block, and nearly all blocks have them all."""
    rows = [row.get(name) for row in profile.head]
    pairs = [(b, value) for b, value in zip(blocks, rows, strict=True) if value not in _BLANK]
    distinct, n_blocks = len({value for _, value in pairs}), blocks[-1]
    begins = {b for b, _ in pairs}
    is_named = any(says(name, role) for role in TELLERS)
    is_enough = n_blocks >= (2 if is_named else MANY_BLOCKS) and len(begins) == n_blocks
    is_even = len({*pairs}) == len(pairs) >= MOST * n_blocks * distinct
    return distinct > 1 and is_enough and is_even and len(pairs) > n_blocks


def headings(profile: Profile, columns: Mapping[str, str]) -> tuple[str, ...]:
    """Return the category's column, if each category stands once, above the rows that have it."""
    name = columns.get("category")
    if name is None:
        return ()
    values = [row.get(name) for row in profile.head]
    filled = [value for value in values if value not in _BLANK]
    is_once = len({*filled}) == len(filled) > 1 and values[0] not in _BLANK
    return (name,) if is_once and len(values) >= 2 * len(filled) else ()
