"""What must hold across the cells of a row and across rows; every breach names its lines."""

from collections.abc import Callable, Iterable, Sequence

import numpy as np
from numpy.typing import NDArray

from studies.formats.problems import Problems
from studies.formats.table import MISSING, Coded, Column, Integers, RatingTable

# What a unit is: the same in each of its rows, or left empty there.
_OF_UNIT = ("instance", "system_a", "system_b", "sample_a", "sample_b", "category", "separability")


def check_rules(table: RatingTable, problems: Problems) -> None:
    """Add a problem for each breach: absent cells, contradictions, duplicates."""
    _check_present(table, problems)
    _check_labels(table, problems)
    _check_probabilities(table, problems)
    _check_one_value(table, "rater", ("kind",), problems)
    _check_one_value(table, "unit", _OF_UNIT, problems)
    _check_duplicates(table, problems)


def key_codes(columns: Iterable[Sequence[int] | NDArray[np.integer]]) -> Integers:
    """One number per row that is equal where all columns are: the row's composite key."""
    key: Integers | None = None
    for column in columns:
        _, codes = np.unique(np.asarray(column), return_inverse=True)
        if key is None:
            key = codes.astype(np.int64)
            continue
        # Renumbered after each column, so that the product stays far below 2**63.
        width = int(codes.max(initial=0)) + 1
        _, key = np.unique(key * width + codes, return_inverse=True)
    if key is None:
        raise ValueError("columns must hold at least one column")
    return key.astype(np.int64)


Rows = NDArray[np.intp]


def _report(
    table: RatingTable, rows: Rows, reason: str | Callable[[int], str], problems: Problems
) -> None:
    """A problem for each of `rows`; `reason` may depend on the position among them."""
    lines = [int(line) for line in table.lines[rows]]
    problems.add_all(table.source, lines, reason if callable(reason) else lambda _: reason)


def _check_present(table: RatingTable, problems: Problems) -> None:
    for name in ("unit", "rater"):
        _report(table, np.flatnonzero(table.text(name).missing), f"{name} is empty.", problems)


def _check_labels(table: RatingTable, problems: Problems) -> None:
    allowed = table.text("kind").equals("machine") & ~table.text("raw").missing
    rows = np.flatnonzero(table.label.missing & ~allowed)
    reason = "label is empty; only a machine's row may leave it so, and then says raw."
    _report(table, rows, reason, problems)


def _check_probabilities(table: RatingTable, problems: Problems) -> None:
    values = table.number("inclusion_probability")
    rows = np.flatnonzero((values <= 0) | (values > 1))
    reason = "inclusion_probability must be above 0 and at most 1."
    _report(table, rows, reason, problems)


def _check_one_value(
    table: RatingTable, owner: str, names: Sequence[str], problems: Problems
) -> None:
    """Each `owner` (a unit, a rater) has one value of each of `names` over all of its rows."""
    codes = table.text(owner).codes
    for name in filter(table.has, names):
        column = table.columns[name]
        rows = np.flatnonzero((codes != MISSING) & ~_missing(column))
        anchors = rows[_firsts(codes[rows])]
        values = column.codes if isinstance(column, Coded) else column
        unequal = np.flatnonzero(values[rows] != values[anchors])
        reason = _contradiction(table, owner, name, rows[unequal], anchors[unequal])
        _report(table, rows[unequal], reason, problems)


def _firsts(keys: NDArray[np.integer]) -> Rows:
    """For each key, the position at which it occurs first."""
    _, first, inverse = np.unique(keys, return_index=True, return_inverse=True)
    return np.asarray(first[inverse], dtype=np.intp)


def _missing(column: Column) -> NDArray[np.bool_]:
    if isinstance(column, Coded):
        return column.missing
    return np.isnan(column) if column.dtype.kind == "f" else np.asarray(column == MISSING)


def _contradiction(
    table: RatingTable, owner: str, name: str, rows: Rows, anchors: Rows
) -> Callable[[int], str]:
    def reason(k: int) -> str:
        here, before = (_value(table.columns[name], row) for row in (rows[k], anchors[k]))
        who = _value(table.text(owner), rows[k])
        return (
            f"the {owner} {who!r} has {name} {here!r} here"
            f" and {before!r} in line {table.lines[anchors[k]]}; it must be the same."
        )

    return reason


def _value(column: Column, row: np.intp) -> object:
    if isinstance(column, Coded):
        return column.values[column.codes[row]]
    return column[row].item()


def _check_duplicates(table: RatingTable, problems: Problems) -> None:
    main = table.text("role").equals("main") & table.unflagged
    rows = np.flatnonzero(main & ~table.text("unit").missing & ~table.text("rater").missing)
    names = ("unit", "rater", "criterion", "run", "order")
    repeat = np.maximum(table.integer("repeat")[rows], 0)
    key = key_codes([*(table.text(name).codes[rows] for name in names), repeat])
    firsts = _firsts(key)
    again = np.flatnonzero(firsts != np.arange(len(key)))
    reason = _duplicate(table, rows[again], rows[firsts[again]])
    _report(table, rows[again], reason, problems)


def _duplicate(table: RatingTable, rows: Rows, anchors: Rows) -> Callable[[int], str]:
    def reason(k: int) -> str:
        rater, unit = (_value(table.text(name), rows[k]) for name in ("rater", "unit"))
        return (
            f"the rater {rater!r} has rated the unit {unit!r} in line {table.lines[anchors[k]]}"
            " already (same criterion, run, repeat and order); flag one of the two, or remove it."
        )

    return reason
