"""Rows of data frames: of pandas, polars, Arrow, or anything that gives its rows or columns."""

import math
from collections.abc import Iterable, Iterator, Mapping
from datetime import date, datetime
from itertools import pairwise
from typing import Any

from tiebreak import optional
from tiebreak.errors import InvalidInput
from tiebreak.formats.cells import MAX_COLUMNS
from tiebreak.formats.rating_cells import MAX_EXACT_INTEGER
from tiebreak.formats.rows import Row

NO_FRAME = (
    "The data must be a data frame (pandas, polars, Arrow), a list of dicts, a dict of columns, a path or a"
    " RatingTable, and not {kind}."
)
BAD_COLUMNS = (
    f"The data frame has two columns named {{name!r}}, or more than {MAX_COLUMNS} columns. Rename or drop"
    " columns."
)


def rows_of_frame(data: Any) -> Iterator[Row]:
    """Yield the rows of a data frame, with the values that a file of the same rows would have.

    Parameters
    ----------
    data : data frame, iterable of dict, or dict of columns
        A frame of pandas or polars, a table of pyarrow, another object with the Arrow stream
        interface (which needs the extra ``parquet``), rows, or columns by name. An index of pandas is a
        column if it has a name or is no count.

    Yields
    ------
    dict of str to object
        Values by column. NaN and other marks of a missing value are None. Whole numbers are int,
        because a column of pandas with missing values has only floats.

    Raises
    ------
    InvalidInput
        If the data are no frame, or two columns have the same name.

    Examples
    --------
    >>> list(rows_of_frame({"unit": ["u", "v"], "label": [1.0, float("nan")]}))
    [{'unit': 'u', 'label': 1}, {'unit': 'v', 'label': None}]
    """
    for row in _rows(data):
        if not isinstance(row, Mapping):
            raise InvalidInput("no_table", NO_FRAME.format(kind=f"rows of {type(row).__name__}"))
        yield {str(name): _plain(value) for name, value in row.items()}


def _rows(data: Any) -> Iterable[Any]:
    """Return the rows by what the object can do, so that no package of frames is imported."""
    if isinstance(data, Mapping):
        columns = list(map(list, data.values()))
        return (dict(zip(data, cells, strict=True)) for cells in zip(*columns, strict=True))
    if hasattr(data, "reset_index") and hasattr(data, "columns"):  # pandas
        frame = data.reset_index() if _index_says_something(data.index) else data
        _check_columns(frame.columns)
        return frame.to_dict("records")  # type: ignore[no-any-return]
    if hasattr(data, "iter_rows"):  # polars
        return data.iter_rows(named=True)  # type: ignore[no-any-return]
    if hasattr(data, "__arrow_c_stream__"):
        return _arrow_rows(data)
    if isinstance(data, str | bytes) or not isinstance(data, Iterable):
        raise InvalidInput("no_table", NO_FRAME.format(kind=type(data).__name__))
    return data


def _arrow_rows(data: Any) -> Iterator[Row]:
    pyarrow = optional.load("pyarrow")
    try:
        table = pyarrow.table(data)
    except pyarrow.ArrowInvalid as error:  # a single column
        raise InvalidInput("no_table", NO_FRAME.format(kind=type(data).__name__)) from error
    _check_columns(table.column_names)
    return (row for batch in table.to_batches() for row in batch.to_pylist())


def _index_says_something(index: Any) -> bool:
    return any(name is not None for name in index.names) or index.dtype.kind not in "iu"


def _check_columns(names: Iterable[Any]) -> None:
    texts = sorted(map(str, names))
    twice = next((a for a, b in pairwise(texts) if a == b), "")
    if twice or len(texts) > MAX_COLUMNS:
        raise InvalidInput("bad_header", BAD_COLUMNS.format(name=twice))


def _plain(value: Any) -> Any:
    """Return a cell as JSON has it: the types of numpy and pandas become those of Python."""
    if hasattr(value, "tolist"):  # numpy
        value = value.tolist()
    if isinstance(value, float):
        is_whole = value.is_integer() and abs(value) <= MAX_EXACT_INTEGER
        return int(value) if is_whole else None if math.isnan(value) else value
    if isinstance(value, list | tuple):
        return [_plain(part) for part in value]
    if isinstance(value, Mapping):
        return {str(name): _plain(part) for name, part in value.items()}
    if type(value).__name__ in {"NAType", "NaTType"}:  # pandas
        return None
    return value.isoformat() if isinstance(value, date | datetime) else value
