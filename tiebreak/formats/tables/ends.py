"""What a spreadsheet has beside its rows: totals, statistics below them, and notes."""

import re
from collections.abc import Callable, Iterable, Iterator

from tiebreak.formats.rows import Row
from tiebreak.formats.tables.names import is_statistic, is_total
from tiebreak.formats.tables.problems import TableProblems
from tiebreak.formats.tables.profiles import is_empty, is_number

Numbered = Iterable[tuple[int, Row]]
# Only so many rows at the end can be left out, and are kept in memory.
MAX_BELOW, MAX_NOTE, FIRST = 12, 60, 50


def without_footer(
    rows: Numbered, problems: TableProblems, *, with_notes: bool
) -> Iterator[tuple[int, Row]]:
    """Yield the rows, without totals and, at the end of the table, without other statistics and notes.

    Notes are left out only if no row further up looks like one.
    """
    head: list[Row] = []
    held: list[tuple[str, int, Row]] = []
    may_end = with_notes
    for number, row in rows:
        if _has_name_and_numbers(row, is_total):
            problems.leave_out("total_rows", number)
            continue
        reason = "footer_rows" if may_end and head and _is_note(row) else ""
        if _has_name_and_numbers(row, is_statistic) or _are_means(row, head):
            reason = "total_rows"
        if reason and len(held) < MAX_BELOW:
            held.append((reason, number, row))
            continue
        may_end &= not (_is_note(row) or any(why == "footer_rows" for why, _, _ in held))
        head += [row] if len(head) < FIRST else []
        yield from ((at, one) for _, at, one in held)
        held = []
        yield number, row
    for reason, number, _ in held:
        problems.leave_out(reason, number)


def _is_note(row: Row) -> bool:
    """Whether only the first of several cells is filled, with words that are no text to be read."""
    first, *others = [*row.values(), None]
    is_short = isinstance(first, str) and not is_number(first) and len(first) <= MAX_NOTE
    return is_short and not is_empty(first) and len(row) > 2 and all(map(is_empty, others))


def _has_name_and_numbers(row: Row, is_name: Callable[[object], bool]) -> bool:
    """Whether the first cell that is filled is such a name, and has only numbers or shares beside it."""
    first = next((cell for cell in row.values() if not is_empty(cell)), None)
    if len(row) < 2 or not is_name(first):
        return False
    cells = [
        str(cell).strip().removesuffix("%").strip() for cell in row.values() if not is_empty(cell)
    ]
    return len(cells) > 1 and all(map(is_number, cells[1:]))


def _are_means(row: Row, head: list[Row]) -> bool:
    """Whether a row lacks the name that the first rows have, and has fractions where they have none."""
    name = next(iter(row), None)
    if name is None or not is_empty(row[name]) or any(is_empty(one.get(name)) for one in head):
        return False
    cells = {column: cell for column, cell in row.items() if not is_empty(cell)}
    are_numbers = len(cells) > 1 and all(is_number(str(cell)) for cell in cells.values())
    above = [cell for one in head for column in cells if not is_empty(cell := one.get(column))]
    return (
        are_numbers and any(map(_is_fraction, cells.values())) and not any(map(_is_fraction, above))
    )


def _is_fraction(cell: object) -> bool:
    return is_number(str(cell)) and not re.fullmatch(r"[-+]?\d+([.,]0+)?", str(cell).strip())
