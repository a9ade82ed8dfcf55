"""Figures as files: SVG, PDF, PNG, and their data as CSV."""

import csv
import io
import tempfile
from pathlib import Path
from typing import Literal

from tiebreak import optional
from tiebreak.formats.rows import escape_formula
from tiebreak.reading.figures.figure import Figure
from tiebreak.reading.figures.of_part import of_simulated

CONTENT_TYPES = {
    "svg": "image/svg+xml",
    "pdf": "application/pdf",
    "png": "image/png",
    "csv": "text/csv; charset=utf-8",
}
PIXELS_PER_INCH = 300
PAGE = '#set page(width: auto, height: auto, margin: 0pt)\n#image("figure.svg", format: "svg")\n'


def figure_file(figure: Figure, kind: str, *, is_simulated: bool = False) -> bytes:
    """Return a figure as a file of one of the `CONTENT_TYPES`, without its finding, for a paper.

    A file leaves the page that says that ratings were simulated, so it says so itself.
    """
    figure = of_simulated(figure) if is_simulated else figure
    if kind == "csv":
        return _csv(figure)
    if kind == "svg":
        return figure.chart.file(alone=True).encode()
    return _typeset(figure, "pdf" if kind == "pdf" else "png")


def _csv(figure: Figure) -> bytes:
    """Return the numbers with all their digits; what is undefined is empty."""
    out = io.StringIO()
    writer = csv.writer(out, lineterminator="\n")
    writer.writerow(figure.columns)
    writer.writerows(  # None is written as an empty cell
        [escape_formula(cell) if isinstance(cell, str) else cell for cell in row]
        for row in figure.rows
    )
    return out.getvalue().encode("utf-8-sig")  # as Excel needs it


def _typeset(figure: Figure, kind: Literal["pdf", "png"]) -> bytes:
    typst = optional.load(optional.TYPESETTER)
    with tempfile.TemporaryDirectory(prefix="tiebreak-") as folder:
        (Path(folder) / "figure.svg").write_text(figure.chart.file(alone=True), encoding="utf-8")
        page = Path(folder) / "figure.typ"
        page.write_text(PAGE, encoding="utf-8")
        ppi = float(PIXELS_PER_INCH) if kind == "png" else None
        file: bytes = typst.compile(str(page), root=folder, format=kind, ppi=ppi)
        return file
