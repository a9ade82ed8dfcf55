"""The files of a report that a command writes."""

import json
import re
from collections.abc import Callable, Iterable
from dataclasses import dataclass
from pathlib import Path

from tiebreak.formats import atomic_path
from tiebreak.optional import TYPESETTER, is_installed
from tiebreak.reading.document.content import ReportDocument
from tiebreak.reading.document.html import as_html
from tiebreak.reading.document.latex import as_latex
from tiebreak.reading.document.pdf import as_pdf
from tiebreak.reading.figures.figure import Figure
from tiebreak.reading.figures.files import figure_file
from tiebreak.reading.figures.of_report import figures_of
from tiebreak.report import Report

Write = Callable[[Report, ReportDocument, Path], None]
_NO_FILE_NAME = re.compile(r"[^\w.-]+")


@dataclass(frozen=True)
class WrittenFile:
    """A kind of file or folder that a report can be written to, as an option of a command."""

    write: Write
    """Writes it, from the report, its document, and the path."""
    example: str
    """What its path looks like."""
    help: str
    """What it is."""


def _json(report: Report, _: ReportDocument, path: Path) -> None:
    _whole(path, json.dumps(report.as_json(), indent=1, allow_nan=False).encode() + b"\n")


def _latex(_: Report, document: ReportDocument, path: Path) -> None:
    """Write the tables, and next to them the references, with the same name and the ending .bib."""
    references = path.with_suffix(".bib")
    _whole(path, as_latex(document, references=references.name).encode())
    _whole(references, document.bibtex.encode())


def _figures(report: Report, _: ReportDocument, folder: Path) -> None:
    for criterion, about in report.criteria.items():
        prefix = f"{criterion}-" if len(report.criteria) > 1 else ""
        write_figures(folder, figures_of(about), prefix=prefix, is_simulated=report.simulated)


def write_figures(
    folder: Path, figures: Iterable[Figure], *, prefix: str = "", is_simulated: bool = False
) -> None:
    """Write every figure as SVG with its data as CSV, and as PDF where that can be typeset."""
    kinds = ["svg", "csv"] + ["pdf"] * is_installed(TYPESETTER)
    folder.mkdir(parents=True, exist_ok=True)
    for figure in figures:
        name = _NO_FILE_NAME.sub("-", f"{prefix}{figure.name}")
        for kind in kinds:
            file = figure_file(figure, kind, is_simulated=is_simulated)
            _whole(folder / f"{name}.{kind}", file)


def _whole(path: Path, content: bytes) -> None:
    with atomic_path(path) as temporary:
        temporary.write_bytes(content)


WRITTEN = {
    "out": WrittenFile(_json, "report.json", "write every number with all its digits, as JSON"),
    "html": WrittenFile(
        lambda _, document, path: _whole(path, as_html(document).encode()),
        "report.html",
        "write the report as one HTML page with figures",
    ),
    "pdf": WrittenFile(
        lambda _, document, path: _whole(path, as_pdf(document)),
        "report.pdf",
        "write the report as PDF",
    ),
    "latex": WrittenFile(
        _latex, "tables.tex", "write its tables for LaTeX, and the references next to them (.bib)"
    ),
    "figures": WrittenFile(
        _figures, "DIR", "write its figures into a folder, as SVG and PDF, with their data as CSV"
    ),
}
