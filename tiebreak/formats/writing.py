"""Atomic writing: a file appears under its final name only when it is complete."""

import csv
import json
import os
import shutil
import tempfile
from collections.abc import Iterable, Iterator, Sequence
from contextlib import contextmanager
from itertools import islice
from pathlib import Path
from typing import Any

from tiebreak import optional
from tiebreak.formats.rating_cells import ARROW_TYPES
from tiebreak.formats.rows import Row, escape_formula

BATCH = 2000


@contextmanager
def atomic_path(path: Path) -> Iterator[Path]:
    """Write a file completely, or not at all.

    Parameters
    ----------
    path : Path
        Final path. Its folder is created if necessary, and an existing file is replaced.

    Yields
    ------
    Path
        Temporary file in the same folder, which is renamed when the block ends without an error.

    Examples
    --------
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     with atomic_path(Path(folder) / "report.json") as temporary:
    ...         _ = temporary.write_text("{}")
    ...     (Path(folder) / "report.json").read_text()
    '{}'
    """
    path.parent.mkdir(parents=True, exist_ok=True)
    handle, name = tempfile.mkstemp(prefix=f".{path.name}.", suffix=path.suffix, dir=path.parent)
    os.close(handle)
    temporary = Path(name)
    try:
        yield temporary
        temporary.chmod(0o644)
        temporary.replace(path)
    finally:
        temporary.unlink(missing_ok=True)


@contextmanager
def atomic_folder(path: Path) -> Iterator[Path]:
    """Write a folder completely, or not at all.

    Parameters
    ----------
    path : Path
        Final path. If the folder exists, it must be empty.

    Yields
    ------
    Path
        Temporary folder beside it, which is renamed when the block ends without an error.

    Raises
    ------
    OSError
        If the folder exists and is not empty.

    Examples
    --------
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     with atomic_folder(Path(folder) / "bundle") as temporary:
    ...         _ = (temporary / "study.toml").write_text("")
    ...     (Path(folder) / "bundle" / "study.toml").exists()
    True
    """
    path.parent.mkdir(parents=True, exist_ok=True)
    temporary = Path(tempfile.mkdtemp(prefix=f".{path.name}.", dir=path.parent))
    try:
        yield temporary
        temporary.chmod(0o755)
        temporary.replace(path)
    finally:
        shutil.rmtree(temporary, ignore_errors=True)


def write_rows(path: Path, rows: Iterable[Row], columns: Sequence[str]) -> int:
    """Write rows to a file in the format of the file's ending.

    Parameters
    ----------
    path : Path
        Path that ends in .jsonl, .csv or .parquet. Parquet needs the extra ``parquet``.
    rows : iterable of dict
        Rows as values by column. Each row is written as soon as the iterable yields it.
    columns : sequence of str
        Columns to write, in order.

    Returns
    -------
    int
        Number of rows written.

    Raises
    ------
    MissingPackageError
        If the file is Parquet and pyarrow is not installed.

    Examples
    --------
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     write_rows(Path(folder) / "r.csv", [{"unit": "u", "label": 1}], ["unit", "label"])
    1
    """
    writer = {".jsonl": _write_jsonl, ".csv": _write_csv, ".parquet": _write_parquet}[path.suffix]
    with atomic_path(path) as temporary:
        return writer(temporary, iter(rows), columns)


def _write_jsonl(path: Path, rows: Iterator[Row], columns: Sequence[str]) -> int:
    count = 0
    with path.open("w", encoding="utf-8") as file:
        for row in rows:
            present = {name: row[name] for name in columns if row.get(name) is not None}
            if "label" in columns:
                present["label"] = row.get("label")
            file.write(json.dumps(present, ensure_ascii=False, allow_nan=False) + "\n")
            count += 1
    return count


def _write_csv(path: Path, rows: Iterator[Row], columns: Sequence[str]) -> int:
    count = 0
    with path.open("w", encoding="utf-8", newline="") as file:
        writer = csv.writer(file)
        writer.writerow(columns)
        for row in rows:
            writer.writerow([_cell(row.get(name)) for name in columns])
            count += 1
    return count


def _cell(value: Any) -> Any:
    if isinstance(value, bool):
        return "true" if value else "false"
    if isinstance(value, float):
        return repr(value)
    return escape_formula(value) if isinstance(value, str) else value


def _write_parquet(path: Path, rows: Iterator[Row], columns: Sequence[str]) -> int:
    pa, pq = optional.load("pyarrow"), optional.load("pyarrow.parquet")

    schema = pa.schema([(name, getattr(pa, ARROW_TYPES.get(name, "string"))()) for name in columns])
    count = 0
    with pq.ParquetWriter(path, schema, compression="zstd") as writer:
        while batch := list(islice(rows, BATCH)):
            typed = [{name: _arrow_value(row.get(name), name) for name in columns} for row in batch]
            writer.write_table(pa.Table.from_pylist(typed, schema=schema))
            count += len(batch)
    return count


def _arrow_value(value: Any, name: str) -> Any:
    # Labels become text, because they are numbers for some criteria and words for others.
    return str(value) if name == "label" and value is not None else value
