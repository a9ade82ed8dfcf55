"""A report document as PDF, set by Typst."""

import tempfile
import unicodedata
from collections.abc import Iterator
from datetime import UTC
from pathlib import Path
from typing import cast

from tiebreak import optional
from tiebreak.reading.document.content import (
    Block,
    DataTable,
    Figure,
    Paragraph,
    ReferenceList,
    ReportDocument,
)

TALLEST = 1.3  # times the width of the text, with room for a caption
_SETTINGS = """
#set page(paper: "a4", margin: 2cm, numbering: "1 / 1")
#set text(size: 10pt, lang: "en")
#set par(justify: false)
#set heading(numbering: "1")
#show figure.where(kind: table): set figure.caption(position: top)
#show figure: set block(breakable: true)
#show figure.caption: set align(left)
#set table(stroke: none, inset: (x: 4pt, y: 3pt), align: left)
"""


def as_pdf(document: ReportDocument) -> bytes:
    """Set the document. Raises `MissingPackageError` if Typst is not installed."""
    typst = optional.load(optional.TYPESETTER)
    with tempfile.TemporaryDirectory(prefix="tiebreak-") as name:
        folder = Path(name)
        for number, figure in enumerate(document.figures):
            (folder / f"{number}.svg").write_text(figure.svg, encoding="utf-8")
        source = folder / "report.typ"
        source.write_text("\n".join(_source(document)), encoding="utf-8")
        return cast(bytes, typst.compile(str(source), root=name, ignore_system_fonts=True))


def _source(document: ReportDocument) -> Iterator[str]:
    title = typst_string(document.title)
    day = document.written_at.astimezone(UTC)
    date = f"datetime(year: {day.year}, month: {day.month}, day: {day.day})"
    yield f"#set document(title: {title}, date: {date})"
    yield _SETTINGS
    yield f"#text(size: 18pt, weight: 600, {title})\n"
    for line in (document.subtitle, document.dates):
        yield f"#text(fill: luma(90), {typst_string(line)})\n"
    if document.notice:
        yield f"#block(fill: luma(235), inset: 8pt, width: 100%, strong({typst_string(document.notice)}))\n"
    figures = iter(range(len(document.figures)))
    for section in document.sections:
        yield f"#heading({typst_string(section.title)})"
        for block in section.blocks:
            yield _block(block, figures)


def _width(svg: str) -> float:
    """Return how much of a page's width a chart takes so that its height fits, too."""
    _, _, width, height = map(float, svg.partition('viewBox="')[2].partition('"')[0].split())
    return min(100.0, 100 * TALLEST * width / height)


def _block(block: Block, figures: Iterator[int]) -> str:
    if isinstance(block, Paragraph):
        return f"#par({typst_string(block.text)})"
    if isinstance(block, DataTable):
        return _table(block)
    if isinstance(block, Figure):
        caption = typst_string(block.caption)
        image = f'image("{next(figures)}.svg", alt: {caption}, width: {_width(block.svg):.0f}%)'
        return f"#figure({image}, caption: {caption}, kind: image)"
    if isinstance(block, ReferenceList):
        entries = []
        for entry in block.entries:
            text = typst_string(entry.text)
            link = f" #link({typst_string(entry.url)})" if entry.url else ""
            entries.append(f"#block[#set par(hanging-indent: 1.5em)\n#text({text}){link}]")
        return "\n\n".join(entries)
    title = f"#strong({typst_string(block.title)})\n" if block.title else ""
    return f"{title}#text(size: 8pt, raw({typst_string(block.text)}, block: true))"


def _table(table: DataTable) -> str:
    widths = ", ".join(["auto"] * (len(table.columns) - 1) + ["1fr"])
    if len(table.columns) > 2:
        widths = ", ".join(["2fr", *["auto"] * (len(table.columns) - 2), "2fr"])
    header = ", ".join(f"strong({typst_string(name)})" for name in table.columns)
    cells = ", ".join(typst_string(cell) for row in table.rows for cell in row)
    body = (
        f"table(columns: ({widths}), table.hline(), table.header({header}), table.hline(stroke: 0.5pt),"
        f" {cells}{',' if cells else ''} table.hline())"
    )
    caption = typst_string(table.caption)
    figure = f"#figure({{ set text(size: 8.5pt); {body} }}, caption: {caption}, kind: table)"
    note = f"\n#text(size: 8pt, fill: luma(90), {typst_string(table.note)})" if table.note else ""
    return figure + note


def typst_string(text: str) -> str:
    """Return text as a string of Typst, in which nothing is markup. Control characters are lost."""
    printable = "".join(c for c in text if c in "\n\t" or unicodedata.category(c) != "Cc")
    escaped = printable.replace("\\", "\\\\").replace('"', '\\"')
    return f'"{escaped}"'
