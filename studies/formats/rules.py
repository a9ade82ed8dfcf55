"""What must hold across the cells of a row and across rows; every breach names its lines."""

from collections.abc import Iterable, Sequence

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


def _check_present(table: RatingTable, problems: Problems) -> None:
    for name in ("unit", "rater"):
        for row in np.flatnonzero(table.text(name).missing):
            problems.add(table.source, int(table.lines[row]), f"{name} is empty.")


def _check_labels(table: RatingTable, problems: Problems) -> None:
    unparsed = table.label.missing
    allowed = table.text("kind").equals("machine") & ~table.text("raw").missing
    for row in np.flatnonzero(unparsed & ~allowed):
        reason = "label is empty; only a machine's row may leave it so, and then says raw."
        problems.add(table.source, int(table.lines[row]), reason)


def _check_probabilities(table: RatingTable, problems: Problems) -> None:
    if not table.has("inclusion_probability"):
        return
    values = table.number("inclusion_probability")
    for row in np.flatnonzero((values <= 0) | (values > 1)):
        reason = f"inclusion_probability: {values[row]} is not above 0 and at most 1."
        problems.add(table.source, int(table.lines[row]), reason)


def _check_one_value(
    table: RatingTable, owner: str, names: Sequence[str], problems: Problems
) -> None:
    """Each `owner` (a unit, a rater) has one value of each of `names` over all of its rows."""
    codes = table.text(owner).codes
    for name in names:
        if not table.has(name):
            continue
        column = table.columns[name]
        rows = np.flatnonzero((codes != MISSING) & ~_missing(column))
        _, first, inverse = np.unique(codes[rows], return_index=True, return_inverse=True)
        anchor = rows[first][inverse]
        values = column.codes if isinstance(column, Coded) else column
        for position in np.flatnonzero(values[rows] != values[anchor]):
            _add_contradiction(table, owner, name, (anchor[position], rows[position]), problems)


def _missing(column: Column) -> NDArray[np.bool_]:
    if isinstance(column, Coded):
        return column.missing
    return np.isnan(column) if column.dtype.kind == "f" else np.asarray(column == MISSING)


def _add_contradiction(
    table: RatingTable, owner: str, name: str, rows: tuple[int, int], problems: Problems
) -> None:
    pair = table.select(np.array(rows))
    (before, after), who = (list(c) for c in _decoded(pair, name, owner))
    reason = (
        f"the {owner} {who[0]!r} has {name} {after!r} here"
        f" and {before!r} in line {int(pair.lines[0])}; it must be the same."
    )
    problems.add(table.source, int(pair.lines[1]), reason)


def _decoded(table: RatingTable, *names: str) -> Iterable[Iterable[object]]:
    rows = list(table.rows())
    return ([row[name] for row in rows] for name in names)


def _check_duplicates(table: RatingTable, problems: Problems) -> None:
    main = table.text("role").equals("main") & table.unflagged
    rows = np.flatnonzero(main & ~table.text("unit").missing & ~table.text("rater").missing)
    texts = (
        table.text(name).codes[rows] for name in ("unit", "rater", "criterion", "run", "order")
    )
    repeat = np.maximum(table.integer("repeat")[rows], 0)
    key = key_codes([*texts, repeat])
    _, first, inverse = np.unique(key, return_index=True, return_inverse=True)
    anchor = first[inverse]
    for position in np.flatnonzero(anchor != np.arange(len(key))):
        _add_duplicate(table, rows[anchor[position]], rows[position], problems)


def _add_duplicate(table: RatingTable, before: int, row: int, problems: Problems) -> None:
    rater, unit = (
        table.text(name).values[table.text(name).codes[row]] for name in ("rater", "unit")
    )
    reason = (
        f"the rater {rater!r} has rated the unit {unit!r} in line {int(table.lines[before])}"
        " already (same criterion, run, repeat and order); flag one of the two, or remove it."
    )
    problems.add(table.source, int(table.lines[row]), reason)
