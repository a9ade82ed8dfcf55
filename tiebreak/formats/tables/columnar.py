"""Rows of Parquet and Arrow files."""

from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

from tiebreak import optional
from tiebreak.formats.errors import FormatError
from tiebreak.formats.gate import check_parquet, checked_batches
from tiebreak.formats.limits import LIMITS, Limits
from tiebreak.formats.rows import PARQUET_ROWS, Row
from tiebreak.formats.tables.delimited import checked_header
from tiebreak.formats.tables.problems import BadCell, TableProblems


def read_parquet(
    path: Path, problems: TableProblems, limits: Limits = LIMITS
) -> Iterator[tuple[int, Row]]:
    """Yield the rows of a Parquet file, a few at a time."""
    pq = optional.load("pyarrow.parquet")
    with _reported(problems), pq.ParquetFile(path) as file:
        check_parquet(path, limits)
        checked_header(list(file.schema_arrow.names), 1)
        yield from _rows(file.iter_batches(batch_size=PARQUET_ROWS))


def read_arrow(
    path: Path, problems: TableProblems, limits: Limits = LIMITS
) -> Iterator[tuple[int, Row]]:
    """Yield the rows of an Arrow file or stream, as the package `datasets` saves them."""
    pa = optional.load("pyarrow")
    with _reported(problems), path.open("rb") as raw:
        is_file = raw.read(6) == b"ARROW1"
        raw.seek(0)
        reader = pa.ipc.open_file(raw) if is_file else pa.ipc.open_stream(raw)
        checked_header(list(reader.schema.names), 1)
        yield from _rows(
            batch.slice(start, PARQUET_ROWS)
            for batch in checked_batches(path, reader, limits)
            for start in range(0, batch.num_rows, PARQUET_ROWS)
        )


def _rows(batches: Any) -> Iterator[tuple[int, Row]]:
    number = 0
    for batch in batches:
        for row in batch.to_pylist():
            number += 1
            yield number, row


@contextmanager
def _reported(problems: TableProblems) -> Iterator[None]:
    """Record what is wrong with the file as a problem that ends the reading."""
    pa = optional.load("pyarrow")
    try:
        yield
    except BadCell as error:
        problems.stop(None, error.code, error.message)
    except FormatError as error:
        problem = error.problems[0]
        problems.stop(None, problem.code, f"The file {problem.reason.rstrip('.')}.")
    except MemoryError:
        raise
    except (pa.ArrowException, OSError, ValueError, OverflowError) as error:
        reason = f"The file is not a readable Parquet or Arrow file ({str(error)[:100]})."
        problems.stop(None, "not_parquet", reason)
