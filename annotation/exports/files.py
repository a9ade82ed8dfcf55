"""Files with one row per line next to an export's bundle; each app adds them in `export_files`."""

from collections.abc import Callable, Iterator
from dataclasses import dataclass
from itertools import chain
from pathlib import Path

from studies.models import Study
from tiebreak.formats import write_rows
from tiebreak.formats.rows import Row


@dataclass(frozen=True)
class ExportFile:
    """A file of JSON lines, and what yields its rows. A study without rows has no such file."""

    name: str
    columns: tuple[str, ...]
    rows: Callable[[Study], Iterator[Row]]


_FILES: dict[str, ExportFile] = {}


def register_export_file(file: ExportFile) -> None:
    """Add a file to the exports of all studies."""
    _FILES[file.name] = file


def write_files(study: Study, folder: Path) -> None:
    """Write the files of which the study has rows."""
    for file in _FILES.values():
        rows = file.rows(study)
        if first := next(rows, None):
            write_rows(folder / file.name, chain([first], rows), file.columns)
