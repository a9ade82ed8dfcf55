"""Ratings files: one row a rating, as JSONL, CSV or Parquet, read into a table and written."""

from collections.abc import Iterable, Mapping
from pathlib import Path
from typing import BinaryIO

from studies.formats.building import table_from_chunks
from studies.formats.limits import DEFAULT_LIMITS, Limits
from studies.formats.problems import refusal
from studies.formats.row_sources import SOURCES, source_for
from studies.formats.row_writers import open_ratings_writer
from studies.formats.table import RatingTable

RATINGS_SUFFIXES = tuple(SOURCES)


def read_ratings(
    path: Path, *, columns: Iterable[str] | None = None, limits: Limits = DEFAULT_LIMITS
) -> RatingTable:
    """The ratings of a .jsonl, .csv or .parquet file.

    Every cell is checked, and what must hold across rows. `columns` keeps only those named (and
    the ones that the rules need), which saves memory where texts are not wanted. Columns that the
    format does not know are left out and named in the table's `ignored`. `sample_index` sets both
    samples, texts set the lengths.

    Raises FormatError with the first problems, each with its line (in Parquet its row), and the
    count of all.
    """
    source_for(path.name)
    if not path.is_file():
        raise refusal(path.name, "there is no such file.")
    with path.open("rb") as stream:
        return read_ratings_stream(stream, path.name, columns=columns, limits=limits)


def read_ratings_stream(
    stream: BinaryIO,
    file: str,
    *,
    columns: Iterable[str] | None = None,
    limits: Limits = DEFAULT_LIMITS,
) -> RatingTable:
    """The same from an open file, whose name `file` says its format; Parquet must seek."""
    chunks = source_for(file)(stream, file, limits)
    return table_from_chunks(chunks, source=file, columns=columns, limits=limits)


def write_ratings(
    path: Path, rows: Iterable[Mapping[str, object]], *, columns: Iterable[str] | None = None
) -> int:
    """Write rows to a .jsonl, .csv or .parquet file; return how many.

    Rows stream through, and the file has its name only when it is whole. `columns` defaults to
    the first row's keys.
    """
    source_for(path.name)
    with open_ratings_writer(path, columns=columns) as writer:
        for row in rows:
            writer.write(row)
    return writer.n_rows
