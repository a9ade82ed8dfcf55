"""Ratings of a Parquet file or of a database as whole columns, without work for each rating.

Cells are checked by the rules of `tiebreak.formats.rating_cells`, once for each distinct value. What is
wrong or unusual is left to the reader of rows, which names the line and the reason.
"""

from array import array
from collections import defaultdict
from collections.abc import Iterable, Sequence
from functools import partial
from pathlib import Path
from types import NoneType
from typing import Any

import numpy as np
from numpy.typing import NDArray

from tiebreak import optional
from tiebreak.errors import InvalidInput
from tiebreak.formats.cells import MAX_COLUMNS, MAX_ID, check_cells, check_text
from tiebreak.formats.coded import CodedColumn, Column, as_coded
from tiebreak.formats.gate import check_parquet
from tiebreak.formats.limits import Limits
from tiebreak.formats.lines import Batch
from tiebreak.formats.rating_cells import (
    COLUMNS,
    FLAGS,
    INTEGERS,
    MAX_EXACT_INTEGER,
    NAMES,
    NUMBERS,
    TEXTS,
    parse_cell,
)

# What a file may unpack to before its rows are read a few at a time instead.
MAX_UNPACKED = 512 * 1024**2
_NUMERIC = (*INTEGERS, *NUMBERS)
_TEXTS = {"unit", "rater", "label", *TEXTS} - {"criterion", "probabilities", "nonresponse"}

Read = tuple[dict[str, Column], int, tuple[str, ...]]


def read_columns(path: Path, limits: Limits) -> Read | None:
    """Return the columns of the ratings format, their length, and the names of other columns.

    The result is None if rows must be read one by one to say what is wrong with them.
    """
    pa, pq = optional.load("pyarrow"), optional.load("pyarrow.parquet")
    try:
        check_parquet(path, limits)
        with pq.ParquetFile(path) as file:
            if not _is_plain(file, limits):
                return None
            texts = [field.name for field in file.schema_arrow if _is_text(field.type)]
        # As dictionaries, texts that repeat stay as small as they are in the file.
        with pq.ParquetFile(path, read_dictionary=texts) as file:
            names, length = file.schema_arrow.names, file.metadata.num_rows
            return _columns(names, partial(_array, file), length, limits.cell)
    except MemoryError:
        raise
    except (_UnusualError, InvalidInput, pa.ArrowException, OSError, ValueError, OverflowError):
        return None


def gather_columns(batches: Iterable[Batch]) -> Read | None:
    """Return the columns of batches, like `read_columns`. All batches have the same columns."""
    gathered: defaultdict[str, _Gathered] = defaultdict(_Gathered)
    length = 0
    for batch in batches:
        for name, values in batch.items():
            gathered[name].add(values)
        length += len(next(iter(batch.values())))
    try:
        return _complete({name: one.column(name) for name, one in gathered.items()}, length)
    except (_UnusualError, InvalidInput):
        return None


class _Gathered:
    """The distinct values of a column so far, and the index of each cell's value."""

    def __init__(self) -> None:
        # The label 1 differs from the label 1.0, which is equal to it.
        self.index: dict[tuple[type, Any], int] = {}
        self.codes = array("q")

    def add(self, values: Sequence[Any]) -> None:
        """Add cells: of each type, one step for each distinct value and a look-up for each cell."""
        if len({*map(type, values)} - {NoneType}) > 1:
            keys: Iterable[Any] = zip(map(type, values), values, strict=True)
            self.codes.extend(self.index.setdefault(key, len(self.index)) for key in keys)
            return
        known = {
            value: self.index.setdefault((type(value), value), len(self.index))
            for value in dict.fromkeys(values)
        }
        self.codes.extend(map(known.__getitem__, values))

    def column(self, name: str) -> Column:
        return _checked(name, np.array(self.codes, np.int64), [value for _, value in self.index])


class _UnusualError(Exception):
    """A column that only the reader of rows can read."""


def _is_plain(file: Any, limits: Limits) -> bool:
    """Return whether all columns may be read in one step."""
    names, groups = file.schema_arrow.names, range(file.metadata.num_row_groups)
    unpacked = sum(file.metadata.row_group(group).total_byte_size for group in groups)
    return (
        len(set(names)) == len(names) <= MAX_COLUMNS
        and {"unit", "rater", "label"} <= {*names}
        and "sample_index" not in names
        and file.metadata.num_rows <= limits.rows
        and unpacked <= min(limits.unpacked, MAX_UNPACKED)
    )


def _array(file: Any, name: str) -> Any:
    """Return a column as one Arrow array."""
    pa = optional.load("pyarrow")
    table = file.read([name]).unify_dictionaries().combine_chunks()
    column = table.column(0)
    array = column.chunk(0) if column.num_chunks else pa.array([], column.type)
    array.validate(full=True)
    return array


def _columns(names: list[str], read: Any, length: int, max_cell: int) -> Read:
    columns: dict[str, Column] = {}
    for name in names:
        check_text("a column name", name, MAX_ID)
        columns[name] = _column(name, read(name), max_cell)
    return _complete(columns, length)


def _complete(given: dict[str, Column], length: int) -> Read:
    """Return the columns of the format, of which those that are not given have no cells."""
    columns = {
        name: given[name] if name in given else CodedColumn.constant(parse_cell(name, None), length)
        for name in COLUMNS
    }
    columns["repeat"] = _repeats(columns)
    _check_labels(columns)
    return columns, length, tuple(sorted(given.keys() - {*COLUMNS}))


def _column(name: str, array: Any, max_cell: int) -> Column:
    """Return one column, whose cells are checked."""
    types = optional.load("pyarrow").types
    kind = array.type
    is_number = types.is_integer(kind) or types.is_floating(kind)
    if is_number and (name in _NUMERIC or name not in COLUMNS):
        return _numbers(name, array)
    if name in FLAGS and types.is_boolean(kind):
        return np.asarray(array.fill_null(fill_value=False).to_numpy(zero_copy_only=False))
    if types.is_null(kind) and name not in ("unit", "rater", "label"):
        return CodedColumn.constant(parse_cell(name, None) if name in COLUMNS else "", len(array))
    if not types.is_dictionary(kind):
        if not (types.is_primitive(kind) or _is_text(kind)):
            raise _UnusualError
        array = array.dictionary_encode()
    return _coded(name, array, max_cell)


def _is_text(kind: Any) -> bool:
    types = optional.load("pyarrow").types
    return bool(types.is_string(kind) or types.is_large_string(kind))


def _numbers(name: str, array: Any) -> NDArray[np.float64]:
    pa, compute = optional.load("pyarrow"), optional.load("pyarrow.compute")
    if pa.types.is_floating(array.type) and compute.any(compute.is_nan(array)).as_py():
        raise _UnusualError
    numbers = np.asarray(array.to_numpy(zero_copy_only=False), dtype=np.float64)
    known = numbers[~np.isnan(numbers)]
    is_whole = (known == np.floor(known)) & (known >= 0) & (known <= MAX_EXACT_INTEGER)
    is_share = (known > 0) & (known <= 1)
    if (
        not np.isfinite(known).all()
        or (name in INTEGERS and not is_whole.all())
        or (name == "inclusion_probability" and not is_share.all())
    ):
        raise _UnusualError
    return numbers


def _coded(name: str, encoded: Any, max_cell: int) -> Column:
    """Return a column of distinct values, each of which is checked."""
    distinct, indices = encoded.dictionary, encoded.indices
    missing = np.asarray(indices.is_null().to_numpy(zero_copy_only=False), dtype=bool)
    codes = np.asarray(indices.fill_null(0).to_numpy(zero_copy_only=False), dtype=np.int64)
    is_missing = bool(missing.any())
    if not is_missing and _are_plain(name, distinct, max_cell):
        return CodedColumn.from_codes(codes, distinct)
    values = [*distinct.to_pylist(), *([None] if is_missing else [])]
    codes[missing] = len(values) - 1
    for value in values:
        check_cells({name: value}, max_cell)
    return _checked(name, codes, values)


def _checked(name: str, codes: NDArray[np.int64], values: Sequence[Any]) -> Column:
    """Return the column of some values, each of which is checked, given the index of each cell's."""
    parsed = [parse_cell(name, value) if name in COLUMNS else value for value in values]
    if name in _NUMERIC or name in FLAGS:
        return np.array(parsed, dtype=bool if name in FLAGS else float)[codes]
    index = {value: code for code, value in enumerate(dict.fromkeys(parsed))}
    of_value = np.array([index[value] for value in parsed], dtype=np.int64)
    return CodedColumn.from_codes(of_value[codes], [*index])


def _are_plain(name: str, distinct: Any, max_cell: int) -> bool:
    """Return whether all values are texts that are valid in the column and stay as they are."""
    compute = optional.load("pyarrow.compute")
    if name not in _TEXTS or not _is_text(distinct.type):
        return False
    if len(compute.unique(distinct)) < len(distinct) or distinct.null_count:
        return False
    length = compute.min_max(compute.utf8_length(distinct)).as_py()
    trimmed = compute.equal(compute.utf8_trim_whitespace(distinct), distinct)
    if name in ("unit", "rater"):
        is_id = compute.and_(compute.ascii_is_printable(distinct), trimmed)
        return bool((length["min"] or 0) > 0 and length["max"] <= MAX_ID and _all(is_id))
    if name == "label" or (name in NAMES and not _all(trimmed)):
        return False
    is_long = (length["max"] or 0) > max_cell
    if is_long or compute.any(compute.match_substring(distinct, "\0")).as_py():
        return False
    return name != "created_at" or _are_times(distinct)


def _all(values: Any) -> bool:
    return bool(optional.load("pyarrow.compute").all(values).as_py())


def _are_times(distinct: Any) -> bool:
    """Return whether all texts are times that Python also reads."""
    pa, compute = optional.load("pyarrow"), optional.load("pyarrow.compute")
    try:
        times = compute.cast(distinct, pa.timestamp("us", "UTC"))
    except pa.ArrowInvalid:
        return False
    years = compute.min_max(compute.year(times)).as_py()
    return bool(years["min"] is None or (years["min"] > 1 and years["max"] < 9999))


def _repeats(columns: dict[str, Column]) -> Column:
    """Return the repeats, where a planned repeat without a number is the first."""
    repeat, role = columns["repeat"], columns["role"]
    assert isinstance(role, CodedColumn)
    numbers = repeat.values if isinstance(repeat, CodedColumn) else repeat
    missing, is_repeat = np.isnan(numbers), role.equals("repeat")
    if missing.all() and not is_repeat.any():
        return CodedColumn.constant(0.0, len(numbers))
    return np.where(missing, np.where(is_repeat, 1.0, 0.0), numbers)


def _check_labels(columns: dict[str, Column]) -> None:
    """Leave labels that are missing but must not be, or must be but are not, to the reader of rows."""
    label, kind, raw, nonresponse = (
        as_coded(columns[name]) for name in ("label", "kind", "raw", "nonresponse")
    )
    missing, is_response = label.equals(None), nonresponse.equals("")
    if (~missing & ~is_response).any():
        raise _UnusualError
    if (missing := missing & is_response).any() and (
        missing & (kind.equals("human") | raw.equals(""))
    ).any():
        raise _UnusualError
