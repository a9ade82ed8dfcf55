"""Columns side by side: grids of raters and criteria, counts of labels, and what follows from others."""

import re
from collections import Counter, defaultdict
from collections.abc import Iterable, Iterator, Mapping, Sequence

from tiebreak.formats.layouts.layout import Cell
from tiebreak.formats.rating_names import (
    NUMBERED,
    asked_of_things,
    is_computed,
    is_criterion,
    is_fact,
    is_machine,
    is_rater,
    kinds_of,
    role_of,
    stem_of,
)
from tiebreak.formats.rows import Row
from tiebreak.formats.tables.names import says
from tiebreak.formats.tables.profiles import Column, Profile

_ITEM_FIRST = re.compile(r"([^\W\d_]*[\s_.-]?\d{1,3})[\s_.:-]+(\D.*)")
_ITEM_LAST = re.compile(r"(.*?[^\W\d_])[\s_.:-]+([^\W\d_]*[\s_.-]?\d{1,3})")
MAX_LABELS = 12
_CUT = re.compile(r"[\s_.:-]+")
INITIALS = re.compile(r"(?!Q\d)[A-Z]{1,3}\d{0,2}|[a-z]")
# Cells of a profile's first rows that have no value.
BLANK = (None, "None", "")


def named_items(names: Sequence[str]) -> dict[str, tuple[str, str]]:
    """Return the item and the criterion of each column, if names combine items with criteria; else {}.

    Such as `summary_1_Fluency` or `Fluency_1` of every text and criterion, whatever the criteria are called,
    and `gpt4_fluency` of every system and usual criterion.
    """
    if len(asked := asked_of_things(names)) == len(names):
        return asked
    ways = [
        ({n: m.groups() for n in names if (m := pattern.fullmatch(n.strip()))}, item)
        for pattern, item in ((_ITEM_FIRST, 0), (_ITEM_LAST, 1))
    ]
    for cut, item in ((-1, 0), (0, 0), (0, 1), (-1, 1)):
        ways.append(({n: parts[cut] for n in names if (parts := parts_of(n))}, item))
    for found, item in ways:
        items, criteria = _sides(found, item)
        stems = {"" if text.isdecimal() else stem_of(text) or text for text in items}
        is_series = len(stems) == 1 and role_of(next(iter(stems))) != "rater"
        is_other = any(role_of(text) or is_fact(text) or is_computed(text) for text in items)
        are_judged = all("judged" in kinds_of(c) for c in criteria) and not is_other
        if (is_series or are_judged) and _is_full(found, names):
            return {name: (parts[item], parts[1 - item]) for name, parts in found.items()}
    return {}


def _sides(found: Mapping[str, Sequence[str]], item: int) -> tuple[set[str], set[str]]:
    return {parts[item] for parts in found.values()}, {parts[1 - item] for parts in found.values()}


def _is_full(found: Mapping[str, Sequence[str]], names: Sequence[str]) -> bool:
    """Whether every name is one combination of several first and several second parts, and all are there."""
    firsts, seconds = _sides(found, 0)
    n = len({tuple(parts) for parts in found.values()})
    return n == len(names) == len(firsts) * len(seconds) and min(len(firsts), len(seconds)) > 1


def parts_of(name: str) -> list[tuple[str, str]]:
    """Return the ways in which a name may have two parts: `AE_L1_Size`, `severity_coder2`, `score3`."""
    text = name.strip()
    found = []
    for cut in _CUT.finditer(text) if "@" not in text else ():
        first, second = text[: cut.start()], text[cut.end() :]
        before, after = _CUT.split(first)[-1], _CUT.split(second)[0]
        # The number of a rater is no part of its own.
        if first and second and not (after.isdecimal() and role_of(before) == "rater"):
            found.append((first, second))
    match = NUMBERED.fullmatch(text) if not found and text[-1:].isdecimal() else None
    return [(match[1], match[2])] if match else found


def affixes_of(name: str) -> list[str]:
    """Return the first and the last part of a name that has several, but no number: `feat_`, `_tone`."""
    parts = parts_of(name)
    ends = [f"{parts[0][0]}_", f"_{parts[-1][1]}"] if parts else []
    return [end for end in ends if not end.strip("_").isdecimal()]


def grid_of(candidates: Sequence[Column], others: Sequence[Column]) -> list[Cell]:
    """Return the cells of columns whose names have a criterion and a rater, in either order.

    Among ``others`` may be a column of the grid whose cells hardly look like labels.
    """
    likely = {c.name for c in candidates}
    splits = {c.name: parts_of(c.name) for c in (*candidates, *others)}
    of_first: dict[str, set[str]] = defaultdict(set)
    for first, second in (part for parts in splits.values() for part in parts):
        of_first[first].add(second)
    for firsts, seconds in _products(of_first):
        inside = [
            (n, p)
            for n, parts in splits.items()
            for p in parts
            if p[0] in firsts and p[1] in seconds
        ]
        by_name = {c.name: c for c in (*candidates, *others)}
        cells = [
            cell
            for cell in _cells_of(inside, firsts, seconds)
            if by_name[cell.column].is_number or not says(cell.criterion, "remark")
        ]
        raters = {cell.rater for cell in cells}
        if all(map(str.isdecimal, raters)) and number_questions(raters, [*candidates, *others]):
            continue
        if not _are_alike(cells, by_name):
            continue
        if cells and sum(cell.column in likely for cell in cells) > len(cells) / 2:
            return cells
    return []


def number_questions(numbers: set[str], columns: Sequence[Column]) -> bool:
    """Whether numbers in names are hardly raters': texts have numbers, too, or labels have others."""
    texts = numbered([c for c in columns if c.is_prose])
    return bool(texts) or any(ends != numbers for ends in numbered(columns).values())


def numbered(columns: Iterable[Column]) -> dict[str, set[str]]:
    """Return the numbers of each series of several columns, except for remarks."""
    series: dict[str, set[str]] = defaultdict(set)
    for column in columns:
        for stem, end in parts_of(column.name)[-1:]:
            if end.isdecimal() and not says(stem, "remark"):
                series[stem].add(end)
    return {stem: ends for stem, ends in series.items() if len(ends) > 1}


def never_agree(columns: Sequence[Column], rows: Sequence[Row]) -> bool:
    """Whether no row has one of few values twice, as places of ranked systems and sets of labels have not."""
    has_few = len({value for c in columns for value in c.values}) <= MAX_LABELS
    return min(len(rows) / 2, len(columns)) > 2 and has_few and _are_others(columns, rows)


def beside_means(columns: Sequence[Column], profile: Profile) -> list[Cell]:
    """Return the cells of numbered columns, each group beside its mean: `tone1`, `tone2` and `tone`.

    One row of ten may have a slip.
    """
    cells = []
    for mean in columns:
        numbered = [c for c in columns if stem_of(c.name) == mean.name]
        rows = [[row.get(c.name) for c in (mean, *numbered)] for row in profile.head]
        known = [row for row in rows if not {*BLANK} & {*row}]
        are_means = sum(follows([row], 0) for row in known) >= 0.9 * len(known) > 2
        if len(numbered) > 1 and are_means:
            cells += [Cell(c.name, c.name.removeprefix(mean.name), mean.name) for c in numbered]
    return cells


def paired_with_raters(columns: Sequence[Column], profile: Profile) -> list[Cell]:
    """Return the cells of labels beside each of which a column names its rater: `score2`, `worker2`.

    Nobody is named twice in a row, where labels would often be the same, and names are no labels.
    """
    by_stem: dict[str, dict[str, Column]] = defaultdict(dict)
    for column in columns:
        for stem, end in parts_of(column.name)[-1:]:
            by_stem[stem][end] = column
    stems = [stem for stem in by_stem if role_of(stem) == "rater"]
    raters = by_stem[stems[0]] if len(stems) == 1 else {}
    labels = {s: cs for s, cs in by_stem.items() if s not in stems and cs.keys() >= raters.keys()}
    labels = {s: cs for s, cs in labels.items() if _are_labels([cs[e] for e in raters])}
    cells = [
        Cell(of_end[end].name, f"[{rater.name}]", label if len(labels) > 1 else "")
        for label, of_end in labels.items()
        for end, rater in raters.items()
    ]
    values = {v for cell in cells for v in profile[cell.column].values}
    names = {v for rater in raters.values() for v in rater.values}
    is_named = values.isdisjoint(names) and _are_others([*raters.values()], profile.head)
    return cells if len(raters) > 1 and is_named else []


def _are_others(columns: Sequence[Column], rows: Sequence[Row]) -> bool:
    """Whether the cells of these columns differ within each of several rows."""
    cells = [[v for c in columns if (v := row.get(c.name)) not in BLANK] for row in rows]
    return sum(len(row) > 1 for row in cells) > 2 and all(len({*row}) == len(row) for row in cells)


def _are_labels(columns: Sequence[Column]) -> bool:
    """Whether columns are on one scale, and have neither texts nor what is known of raters."""
    is_other = any(c.is_prose or c.is_link or is_fact(c.name) for c in columns)
    return not is_other and all(shares_labels(c, columns) for c in columns)


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
        words = {_CUT.split(part)[-1] for part in other}
        are_numbers = rater == 1 and all(len(n) == 1 or n.isdecimal() for n in seconds)
        if are_numbers and len(words) == 1 < len(other) and not says(words.pop(), "vote"):
            return []  # of rounds or teams, such as `fluency_round 1`
        if any(role_of(part) == "rater" for part in other):  # those columns name the raters
            return []
        if len(other) > 1 or "judged" in kinds_of(next(iter(other))):
            return [Cell(name, part[rater], part[1 - rater]) for name, part in chosen]
    return []


def _are_alike(cells: Sequence[Cell], columns: Mapping[str, Column]) -> bool:
    """Whether the raters of a criterion have some words in common, and numbers of one kind: whole, or with decimals."""
    kinds: dict[str, set[bool]] = defaultdict(set)
    words: dict[str, list[Column]] = defaultdict(list)
    for cell in cells:
        words[cell.criterion] += [c for c in (columns[cell.column],) if not c.is_number]
        numbers = _numbers(columns[cell.column].values) or []
        decimals = sum(not number.is_integer() for number in numbers)
        if len(numbers) > 3 and not 0 < decimals <= len(numbers) / 2:
            kinds[cell.criterion].add(decimals > 0)
    are_shared = all(len(cs) < 2 or shares_labels(c, cs) for cs in words.values() for c in cs)
    return are_shared and all(len(of_criterion) == 1 for of_criterion in kinds.values())


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
        return [float(str(cell).replace(",", ".")) for cell in cells if cell not in BLANK]
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
            # Where none is above 1, those are marks, which nobody counted.
            is_counted = max(row[n] for row in table for n in some) > 1
            if not (whole and has_none and is_counted and {*some} <= {*plain}):
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
            [c for i, c in enumerate(row) if i != k and c not in BLANK],
        )
        numbers = _numbers([cell, *others])
        common = Counter(map(str, others)).most_common(2)
        most = common[0][0] if common and common[0][1] > len(others) / 2 else None
        is_blank = cell in BLANK
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
