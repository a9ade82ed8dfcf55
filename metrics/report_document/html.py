"""A report document as one HTML file that loads nothing."""

from pathlib import Path

from django.conf import settings
from django.template.loader import render_to_string
from django.utils.safestring import mark_safe

from metrics.report_document.content import (
    DataTable,
    Figure,
    Paragraph,
    ReferenceList,
    ReportDocument,
)

STYLE = Path(settings.BASE_DIR) / "static" / "css" / "report.css"
_KINDS = {Paragraph: "paragraph", DataTable: "table", Figure: "figure", ReferenceList: "references"}


def as_html(document: ReportDocument) -> str:
    sections = [
        (section.title, [(_KINDS.get(type(block), "verbatim"), block) for block in section.blocks])
        for section in document.sections
    ]
    # The style is a file of ours, and there is no other page whose policy could be weakened.
    style = mark_safe(STYLE.read_text(encoding="utf-8"))  # noqa: S308
    context = {"document": document, "sections": sections, "style": style}
    return render_to_string("metrics/report_document.html", context)
