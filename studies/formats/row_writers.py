"""Streams rows of ratings to JSONL, CSV or Parquet; the file appears when it is whole."""

import csv
import json
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import Protocol

import pyarrow as pa
import pyarrow.parquet as pq

from studies.formats.atomic import atomic_file
from studies.formats.cells import disarmed
from studies.formats.columns import COLUMNS, REQUIRED, Kind

_BATCH_ROWS = 20_000
_ARROW_TYPES: dict[Kind, pa.DataType] = {
    "text": pa.string(),
    "label": pa.string(),
    "integer": pa.int64(),
    "number": pa.float64(),
    "flag": pa.bool_(),
}


class _Sink(Protocol):
    def put(self, values: Sequence[object]) -> None: ...
    def close(self) -> None: ...
    def discard(self) -> None: ...


class RatingsWriter:
    """Takes one row after the other; every row has the columns of the first, or fewer."""

    def __init__(self, path: Path, suffix: str, columns: Iterable[str] | None) -> None:
        self.n_rows = 0
        self._path = path
        self._suffix = suffix
        self._columns = None if columns is None else tuple(columns)
        self._sink: _Sink | None = None

    def write(self, row: Mapping[str, object]) -> None:
        sink = self._opened(tuple(row))
        columns = self._columns or ()
        extra = row.keys() - set(columns)
        if extra:
            raise ValueError(f"row has {sorted(extra)}, which are not among the file's columns")
        sink.put([row.get(name) for name in columns])
        self.n_rows += 1

    def close(self) -> None:
        self._opened(REQUIRED).close()

    def discard(self) -> None:
        if self._sink is not None:
            self._sink.discard()

    def _opened(self, columns: tuple[str, ...]) -> _Sink:
        if self._sink is None:
            self._columns = self._columns or columns
            self._sink = _SINKS[self._suffix](self._path, self._columns)
        return self._sink


@contextmanager
def open_ratings_writer(
    path: Path, *, columns: Iterable[str] | None = None
) -> Iterator[RatingsWriter]:
    """A writer for the format that the path's ending names; an exception leaves no file."""
    with atomic_file(path) as temporary:
        writer = RatingsWriter(temporary, path.suffix.lower(), columns)
        try:
            yield writer
            writer.close()
        except BaseException:
            writer.discard()
            raise


class _JsonlSink:
    def __init__(self, path: Path, columns: Sequence[str]) -> None:
        self.columns = columns
        self.stream = path.open("w", encoding="utf-8", newline="\n")

    def put(self, values: Sequence[object]) -> None:
        row = dict(zip(self.columns, values, strict=True))
        self.stream.write(json.dumps(row, ensure_ascii=False, allow_nan=False) + "\n")

    def close(self) -> None:
        self.stream.close()

    discard = close


class _CsvSink:
    def __init__(self, path: Path, columns: Sequence[str]) -> None:
        self.stream = path.open("w", encoding="utf-8", newline="")
        self.writer = csv.writer(self.stream, lineterminator="\n")
        self.writer.writerow(columns)

    def put(self, values: Sequence[object]) -> None:
        self.writer.writerow([_csv_cell(value) for value in values])

    def close(self) -> None:
        self.stream.close()

    discard = close


def _csv_cell(value: object) -> object:
    if isinstance(value, bool):
        return "true" if value else "false"
    return disarmed(value) if isinstance(value, str) else value


class _ParquetSink:
    """Spills labels as text and gives them their narrowest type once all are known."""

    def __init__(self, path: Path, columns: Sequence[str]) -> None:
        self.path = path
        self.spill = path.with_suffix(".spill")
        self.kinds = [COLUMNS[name].kind if name in COLUMNS else "text" for name in columns]
        fields = zip(columns, (_ARROW_TYPES[kind] for kind in self.kinds), strict=True)
        self.schema = pa.schema(list(fields))
        self.writer = pq.ParquetWriter(self.spill, self.schema)
        self.label_types: set[type] = set()
        self.batch: list[Sequence[object]] = []

    def put(self, values: Sequence[object]) -> None:
        self.batch.append(values)
        if len(self.batch) == _BATCH_ROWS:
            self._flush()

    def _flush(self) -> None:
        cells = list(zip(*self.batch, strict=True)) or [() for _ in self.kinds]
        for kind, column in zip(self.kinds, cells, strict=True):
            if kind == "label":
                self.label_types |= set(map(type, column))
        arrays = [
            pa.array(_as_texts(column) if kind in {"text", "label"} else column, type=field.type)
            for kind, column, field in zip(self.kinds, cells, self.schema, strict=True)
        ]
        self.writer.write_batch(pa.record_batch(arrays, schema=self.schema))
        self.batch = []

    def close(self) -> None:
        self._flush()
        self.writer.close()
        self._rewrite()
        self.spill.unlink()

    def discard(self) -> None:
        self.writer.close()
        self.spill.unlink(missing_ok=True)

    def _rewrite(self) -> None:
        label_type = self._label_type()
        schema = pa.schema(
            [
                field.with_type(label_type) if kind == "label" else field
                for kind, field in zip(self.kinds, self.schema, strict=True)
            ]
        )
        with pq.ParquetFile(self.spill) as file, pq.ParquetWriter(self.path, schema) as writer:
            for batch in file.iter_batches(_BATCH_ROWS):
                writer.write_batch(batch.cast(schema))

    def _label_type(self) -> pa.DataType:
        types = self.label_types - {type(None)}
        if types and types <= {int}:
            return pa.int64()
        return pa.float64() if types and types <= {int, float} else pa.string()


def _as_texts(column: Iterable[object]) -> list[str | None]:
    return [None if value is None else str(value) for value in column]


_SINKS: dict[str, Callable[[Path, Sequence[str]], _Sink]] = {
    ".jsonl": _JsonlSink,
    ".ndjson": _JsonlSink,
    ".csv": _CsvSink,
    ".parquet": _ParquetSink,
}
