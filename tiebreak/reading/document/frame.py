"""The parts that every report document ends with: its methods, how to compute it again, its references."""

from collections.abc import Sequence
from datetime import UTC, datetime

import tiebreak
from tiebreak.reading.document.content import (
    Citation,
    DocumentSection,
    Paragraph,
    ReferenceList,
    Verbatim,
)
from tiebreak.reading.document.references import Reference
from tiebreak.report import Report

GENERAL = (
    "Statistics use first answers to main items without a flag that takes them out. A value that is"
    " undefined is reported as such, with the reason, and never as 0."
)


def methods(references: Sequence[Reference]) -> DocumentSection:
    """Return what all statistics have in common, and the sources of those that need one."""
    cited = "; ".join(f"{reference.used_for}: {reference.short}" for reference in references)
    sources = (Paragraph(f"{cited[:1].upper()}{cited[1:]}."),) if references else ()
    return DocumentSection("Methods", (Paragraph(GENERAL), *sources))


def reproduction(report: Report, made_at: datetime, how: str) -> DocumentSection:
    facts = (
        f"Tiebreak {tiebreak.__version__}, report format {report.report_version}, seed"
        f" {report.seed}, {report.replicates:,} replicates. Computed {in_utc(made_at)}."
        f" {report.source.n_rows:,} rows, of which {report.source.n_used:,} are in the statistics."
        f" SHA-256 of the rows: {report.source.rows_sha256}."
    )
    return DocumentSection("Reproduction", (Paragraph(facts), Paragraph(how)))


def reference_sections(references: Sequence[Reference]) -> tuple[DocumentSection, ...]:
    if not references:
        return ()
    cited = tuple(
        Citation(r.key, r.used_for, r.text, r.url) for r in sorted(references, key=lambda r: r.text)
    )
    return (
        DocumentSection("References", (ReferenceList(cited),)),
        DocumentSection("References as BibTeX", (Verbatim(bibtex_of(references)),)),
    )


def bibtex_of(references: Sequence[Reference]) -> str:
    return "\n\n".join(reference.bibtex for reference in references) + "\n"


def in_utc(moment: datetime) -> str:
    moment = moment.astimezone(UTC)
    return f"{moment.day} {moment:%B %Y, %H:%M} UTC"
