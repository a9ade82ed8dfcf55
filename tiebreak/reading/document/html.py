"""A report document as one HTML file that loads nothing."""

from collections.abc import Iterable
from html import escape
from pathlib import Path

from tiebreak.reading.document.content import (
    Block,
    DataTable,
    Figure,
    Paragraph,
    ReferenceList,
    ReportDocument,
)

STYLE = Path(__file__).with_name("report.css")
HEAD = """<!doctype html>
<html lang="en">
<head>
<meta charset="utf-8">
<meta name="viewport" content="width=device-width, initial-scale=1">
<meta name="color-scheme" content="light dark">
<meta http-equiv="Content-Security-Policy" content="default-src 'none'; style-src 'unsafe-inline'">
"""


def as_html(document: ReportDocument) -> str:
    title, subtitle, dates = map(escape, (document.title, document.subtitle, document.dates))
    notice = f'<p class="simulated" role="note">{escape(document.notice)}</p>\n'
    sections = "".join(
        f'<section aria-labelledby="section-{number}">\n'
        f'<h2 id="section-{number}">{escape(section.title)}</h2>\n'
        f"{''.join(map(as_markup, section.blocks))}</section>\n"
        for number, section in enumerate(document.sections, 1)
    )
    return (
        f"{HEAD}<title>{title}: report</title>\n"
        f"<style>{STYLE.read_text(encoding='utf-8')}</style>\n</head>\n<body>\n"
        f"<header><h1>{title}</h1><p>{subtitle}</p><p>{dates}</p></header>\n"
        f"<main>\n{notice if document.notice else ''}{sections}</main>\n</body>\n</html>\n"
    )


def as_markup(block: Block) -> str:
    """Return a part of a document as HTML, of which every text is escaped."""
    if isinstance(block, Paragraph):
        return f"<p>{escape(block.text)}</p>\n"
    if isinstance(block, DataTable):
        return _table(block)
    if isinstance(block, Figure):
        caption = f"<figcaption>{escape(block.caption)}</figcaption>"
        return f'<figure><div class="scroll" tabindex="0">{block.svg}</div>{caption}</figure>\n'
    if isinstance(block, ReferenceList):
        entries = ""
        for entry in block.entries:
            url = escape(entry.url)
            link = f' <a href="{url}">{url}</a>' if url else ""
            entries += f"<li>{escape(entry.text)}{link}</li>"
        return f'<ul class="references">{entries}</ul>\n'
    if block.title:
        listing = f'<pre class="listing" tabindex="0">{escape(block.text)}</pre>'
        return f"<h3>{escape(block.title)}</h3>{listing}\n"
    return f'<pre tabindex="0">{escape(block.text)}</pre>\n'


def _table(table: DataTable) -> str:
    head = _cells(table.columns, 'th scope="col"')
    rows = "".join(
        "<tr>" + _cells(row[:1], 'th scope="row"') + _cells(row[1:], "td") + "</tr>"
        for row in table.rows
    )
    note = f'<p class="note">{escape(table.note)}</p>' if table.note else ""
    return (
        f'<div class="scroll" tabindex="0"><table><caption>{escape(table.caption)}</caption>'
        f"<thead><tr>{head}</tr></thead><tbody>{rows}</tbody></table></div>{note}\n"
    )


def _cells(texts: Iterable[str], element: str) -> str:
    name = element.partition(" ")[0]
    return "".join(f"<{element}>{escape(text)}</{name}>" for text in texts)
