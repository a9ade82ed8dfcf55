"""Rows of a table with one level: lists of annotations become rows, lists of labels become columns."""

import ast
from collections.abc import Iterable, Iterator
from typing import Any

from tiebreak.formats.cells import TABLE_DECODER
from tiebreak.formats.rating_names import is_criterion, role_of
from tiebreak.formats.rows import Row
from tiebreak.formats.tables.nesting import flattened

Numbered = Iterable[tuple[int, Row]]
MAX_LISTED = 100
# The column that numbers the parts of an item which are in one row.
PART = "part id"


def exploded(rows: Numbered) -> Iterator[tuple[int, Row]]:
    """Yield rows whose cells are texts, numbers or truth values, as far as lists are ratings."""
    for number, row in rows:
        for part in _parts({name: _parsed(value) for name, value in row.items()}):
            yield number, part


def _parsed(value: Any) -> Any:
    """Return the list or object that a cell of a CSV file holds as JSON or as Python writes it."""
    if not isinstance(value, str) or value[:1] + value[-1:] not in ("[]", "{}"):
        return value
    for parse in (TABLE_DECODER.decode, ast.literal_eval):
        try:
            return parse(value)
        except (ValueError, SyntaxError, RecursionError, MemoryError):
            continue
    return value


def _parts(row: Row) -> Iterator[Row]:
    plain = {name: value for name, value in row.items() if not isinstance(value, list | dict)}
    objects = {name: v for name, v in row.items() if _is_annotations(v)}
    if objects:
        for values in objects.values():
            for value in values:
                yield from _parts(plain | flattened(value))
        return
    lists = {name: v for name, v in row.items() if _is_scalars(v)} or _texts_of_lists(plain)
    names = {name: "/".join(map(str, v)) for name, v in lists.items() if role_of(name) == "unit"}
    plain |= names
    lists = {name: v for name, v in lists.items() if name not in names}
    raters = next((name for name in lists if role_of(name) == "rater"), None)
    if raters is not None:
        beside = {name: v for name, v in lists.items() if len(v) == len(lists[raters])}
        for cells in zip(*beside.values(), strict=True):
            yield plain | dict(zip(beside, cells, strict=True))
        return
    if parallel := _labelled_parts(lists):
        for k, cells in enumerate(zip(*parallel.values(), strict=True), start=1):
            yield plain | dict(zip(parallel, cells, strict=True)) | {PART: k}
        return
    words = {name: v for name, v in lists.items() if _has_words(name, v)}
    lists = {name: v for name, v in lists.items() if name not in words}
    named = {n: v for n, v in row.items() if isinstance(v, dict)}
    columns = {f"{n}.{k}": v for n, values in named.items() for k, v in flattened(values).items()}
    columns |= _ratings_in(row)
    for name, values in lists.items():
        columns |= {f"{name} {k}": value for k, value in enumerate(values, start=1)}
    yield plain | {name: v for name, v in columns.items() if not isinstance(v, list | dict)} | words


def _labelled_parts(lists: dict[str, list[Any]]) -> dict[str, list[Any]]:
    """Return lists of equal length in which each word or other part of an item has its label, or none."""
    parts = next((v for name, v in lists.items() if _has_words(name, v)), [])
    parallel = {name: v for name, v in lists.items() if len(v) == len(parts)}
    return parallel if any(role_of(name) == "label" for name in parallel) else {}


def _has_words(name: str, values: list[Any]) -> bool:
    """Whether a list has words or names, of an item and not of raters or labels."""
    is_named = role_of(name) in ("rater", "label") or is_criterion(name)
    return not is_named and any(isinstance(v, str) for v in values)


def _texts_of_lists(row: Row) -> dict[str, list[str]]:
    """Return texts such as "ann1,ann2" as lists, if one names raters and others are as long."""
    texts = {
        n: v.split(",") for n, v in row.items() if isinstance(v, str) and "," in v and len(v) < 500
    }
    raters = next((n for n in texts if role_of(n) == "rater" and n.strip().endswith("s")), None)
    beside = {n: v for n, v in texts.items() if raters and len(v) == len(texts[raters])}
    are_labels = any(role_of(n) == "label" for n in beside)
    return {n: [part.strip() for part in v] for n, v in beside.items()} if are_labels else {}


def _is_annotations(value: Any) -> bool:
    """Whether a cell is a list of objects that each say who gave which label, or at least one of them."""
    if not isinstance(value, list) or not value or not all(isinstance(v, dict) for v in value):
        return False
    roles = [{role_of(key) for key in item} for item in value]
    return all({"rater", "label"} & of_item for of_item in roles)


def _ratings_in(row: Row) -> Row:
    """Return the numbers in lists that have an object for each of several raters, who are not named."""
    found: Row = {}
    for name, values in row.items():
        is_named = role_of(name) == "rater" or name.casefold().startswith("annotat")
        if not is_named or not isinstance(values, list) or not 1 < len(values) <= MAX_LISTED:
            continue
        are_alike = all(isinstance(v, dict) and {*v} == {*values[0]} for v in values)
        if are_alike and all(isinstance(n, int | float) for v in values for n in v.values()):
            cells = ((key, k, v[key]) for k, v in enumerate(values, start=1) for key in v)
            found |= {f"{name}.{key} {k}": label for key, k, label in cells}
    return found


def _is_scalars(value: Any) -> bool:
    """Whether a cell is a list of labels or names, and not of texts to read."""
    if not isinstance(value, list) or not 1 < len(value) <= MAX_LISTED:
        return False
    return all(
        isinstance(v, int | float | None) or (isinstance(v, str) and len(v) <= 60) for v in value
    )
