"""Columns side by side: grids of raters and criteria, counts of labels, and what follows from others."""

import re
from collections import Counter, defaultdict
from collections.abc import Iterable, Iterator, Mapping, Sequence

from tiebreak.formats.layouts.layout import Cell
from tiebreak.formats.layouts.names import is_criterion, is_machine, is_rater, role_of
from tiebreak.formats.tables.profiles import Column, Profile

NUMBERED = re.compile(r"(.*?[^\W\d_])[\W_]*(\d{1,3})")
INITIALS = re.compile(r"[A-Z]{1,3}\d{0,2}|[a-z]")
_MARKED, _UNMARKED = {"true", "1", "1.0", "x", "yes"}, {"false", "0", "0.0", "no", "none", ""}


def is_marked(cell: object) -> bool | None:
    """Return whether a cell of one option is marked, or None if it is anything else."""
    text = str(cell).strip().casefold()
    return True if text in _MARKED else False if text in _UNMARKED else None


def _splits(name: str) -> list[tuple[str, str]]:
    """Return the ways in which a name may have two parts: `AE_L1_Size`, `severity_coder2`, `score3`."""
    tokens = re.split(r"[\s_.:-]+", name.strip())
    for k in range(len(tokens) - 1, 0, -1):
        if tokens[k].isdecimal() and role_of(tokens[k - 1]) == "rater":
            tokens[k - 1 : k + 1] = [f"{tokens[k - 1]}_{tokens[k]}"]
    if len(tokens) == 1 and not tokens[0][-1:].isdecimal():
        return []
    if len(tokens) < 2:
        match = NUMBERED.fullmatch(name.strip())
        return [(match[1], match[2])] if match else []
    return [(tokens[0], "_".join(tokens[1:])), ("_".join(tokens[:-1]), tokens[-1])]


def grid_of(candidates: Sequence[Column], others: Sequence[Column]) -> list[Cell]:
    """Return the cells of columns whose names have a criterion and a rater, in either order.

    Among ``others`` may be a column of the grid whose cells hardly look like labels.
    """
    likely = {c.name for c in candidates}
    for at in (-1, 0):
        parts = {c.name: s[at] for c in (*candidates, *others) if (s := _splits(c.name))}
        of_first: dict[str, set[str]] = defaultdict(set)
        for first, second in parts.values():
            of_first[first].add(second)
        for firsts, seconds in _products(of_first):
            chosen = [(n, p) for n, p in parts.items() if p[0] in firsts and p[1] in seconds]
            cells = _cells_of(chosen, firsts, seconds)
            if cells and sum(cell.column in likely for cell in cells) > len(cells) / 2:
                return cells
    return []


def _products(of_first: Mapping[str, set[str]]) -> Iterator[tuple[set[str], set[str]]]:
    """Yield the sets of first and second parts of which every combination is a column, largest first."""
    found = {frozenset(seconds) for seconds in of_first.values()}
    products = [
        ({f for f, s in of_first.items() if seconds <= s}, set(seconds)) for seconds in found
    ]
    products = [p for p in products if len(p[0]) * len(p[1]) > 1]
    yield from sorted(products, key=lambda p: -len(p[0]) * len(p[1]))


def _cells_of(
    chosen: Sequence[tuple[str, tuple[str, str]]], firsts: set[str], seconds: set[str]
) -> list[Cell]:
    """Return the cells, with raters on the side that looks like them; none if neither does."""
    sides = (firsts, seconds)
    likeness = [_likeness(side) for side in sides]
    for rater in (0, 1):
        other = sides[1 - rater]
        if len(sides[rater]) < 2 or likeness[rater] <= 0:
            continue
        if len(other) == 1 and role_of(next(iter(other))) in ("label", "rater"):
            return [Cell(name, name) for name, _ in chosen]
        if likeness[rater] <= likeness[1 - rater]:
            continue
        if len(other) > 1 or is_criterion(next(iter(other))):
            return [Cell(name, part[rater], part[1 - rater]) for name, part in chosen]
    return []


def _likeness(parts: set[str]) -> float:
    """Return how much parts of names look like names of raters, from −1 for criteria to 1."""
    if any(is_criterion(part) for part in parts):
        return -1
    raters = sum(is_rater(p) or is_machine(p) or p.isdecimal() for p in parts)
    initials = sum(INITIALS.fullmatch(p) is not None or p.isupper() for p in parts)
    return max(raters, initials * 0.9) / len(parts)


def _numbers(cells: Iterable[object]) -> list[float] | None:
    """Return the cells as numbers, without those that are empty; None if one is no number."""
    try:
        return [
            float(str(cell).replace(",", ".")) for cell in cells if cell not in (None, "None", "")
        ]
    except ValueError:
        return None


def counts_in(candidates: Sequence[Column], profile: Profile) -> list[str]:
    """Return the columns that count labels: whole numbers whose sum is in another column, or always the same."""
    names = [c.name for c in profile.columns.values() if c.is_number and c.filled == profile.rows]
    plain = [c.name for c in candidates if not is_rater(c.name) and not INITIALS.fullmatch(c.name)]
    rows = [_numbers(row.get(name) for name in names) for row in profile.head]
    if len(rows) < 3 or any(cells is None or len(cells) < len(names) for cells in rows):
        return []
    table = [dict(zip(names, cells or [], strict=True)) for cells in rows]
    for size in range(min(len(names), 12), 1, -1):
        for start in range(len(names) - size + 1):
            some = names[start : start + size]
            sums = [sum(row[name] for name in some) for row in table]
            whole = all(row[n] >= 0 and row[n].is_integer() for row in table for n in some)
            has_none = sum(any(not row[n] for n in some) for row in table) > len(table) / 4
            if not whole or not has_none or max(sums) < 2 or not {*some} <= {*plain}:
                continue
            totals = [n for n in names if n not in some and [row[n] for row in table] == sums]
            if totals or len({*sums}) == 1:
                return some
    return []


def follows(rows: Sequence[Sequence[object]], k: int) -> bool:
    """Whether one cell of each row is the sum, mean or majority of the others, or empty without one."""
    kinds = {"sum": True, "mean": True, "majority": True}
    blanks = 0
    for row in rows:
        cell, others = (
            row[k],
            [c for i, c in enumerate(row) if i != k and c not in (None, "None", "")],
        )
        numbers = _numbers([cell, *others])
        common = Counter(map(str, others)).most_common(2)
        most = common[0][0] if common and common[0][1] > len(others) / 2 else None
        is_blank = cell in (None, "None", "")
        blanks += is_blank
        kinds["majority"] &= most is None if is_blank else str(cell) == most
        if numbers is None or is_blank or not others:
            kinds["sum"] = kinds["mean"] = False
            continue
        total = sum(numbers[1:])
        kinds["sum"] &= abs(numbers[0] - total) < 0.01
        kinds["mean"] &= abs(numbers[0] - total / len(others)) < 0.06
    # A rater may well agree with every majority, but has an answer where there is none, too.
    return kinds["sum"] or kinds["mean"] or (kinds["majority"] and blanks > 0)


def shares_labels(column: Column, others: Sequence[Column]) -> bool:
    """Whether most of a column's values are also in another column of labels."""
    return any(
        other is not column
        and len(column.values & other.values) >= 0.5 * min(len(column.values), len(other.values))
        for other in others
    )
