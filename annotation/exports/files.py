"""Files next to an export's bundle: each app adds those with rows, and `metrics` the stored report."""

import json
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from itertools import chain
from pathlib import Path
from typing import Any

from studies.models import Study
from tiebreak.formats import write_rows
from tiebreak.formats.evidence import REPORT
from tiebreak.formats.rows import Row


@dataclass(frozen=True)
class ExportFile:
    """A file of JSON lines, and what yields its rows. A study without rows has no such file."""

    name: str
    columns: tuple[str, ...]
    rows: Callable[[Study], Iterator[Row]]


@dataclass(frozen=True)
class StoredReport:
    """How to find a study's stored report: ``state`` names the ratings it is of, or is "" without one."""

    state: Callable[[Study], str]
    content: Callable[[Study], dict[str, Any]]


_FILES: dict[str, ExportFile] = {}
_REPORTS: list[StoredReport] = []


def register_export_file(file: ExportFile) -> None:
    """Add a file to the exports of all studies."""
    _FILES[file.name] = file


def write_files(study: Study, folder: Path) -> None:
    """Write the files of which the study has rows."""
    for file in _FILES.values():
        rows = file.rows(study)
        if first := next(rows, None):
            write_rows(folder / file.name, chain([first], rows), file.columns)


def register_stored_report(report: StoredReport) -> None:
    """Name the functions that find the report that exports contain."""
    _REPORTS.append(report)


def report_state(study: Study) -> str:
    """Return the state of the ratings that the stored report is of, or "" if it is out of date."""
    return next((report.state(study) for report in _REPORTS), "")


def write_report(study: Study, folder: Path, state: str) -> None:
    """Write the stored report, unless the ratings have changed since they had this state."""
    for report in _REPORTS:
        if state and report.state(study) == state:
            text = json.dumps(report.content(study), indent=1, allow_nan=False)
            (folder / REPORT).write_text(text, encoding="utf-8")
