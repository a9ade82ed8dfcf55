"""The document of a report alone, without what only a server knows about the study."""

from collections.abc import Iterator
from datetime import datetime

import tiebreak
from tiebreak.reading.document.content import DocumentSection, Paragraph, ReportDocument
from tiebreak.reading.document.frame import (
    bibtex_of,
    in_utc,
    methods,
    reference_sections,
    reproduction,
)
from tiebreak.reading.document.references import references_of
from tiebreak.reading.document.results import result_sections
from tiebreak.reading.document.summary import summary
from tiebreak.reading.words import ratings_in_words
from tiebreak.report import Report
from tiebreak.report.registry import part_title

RECOMPUTE = (
    "To compute every number again, run tiebreak analyze on the same ratings with the seed and number"
    " of replicates above; --out writes all numbers with all their digits. The same rows give the same"
    " digits, and the same digest. If the digest differs, tiebreak compare names the ratings that"
    " differ between two files."
)
LIMITS = (
    "Ratings alone do not say how annotators were chosen, how many ratings were planned, or whether"
    " someone looked at results before the end. Intervals and findings assume that the number of"
    " ratings was fixed in advance."
)
ALL_USED = "Every row of the ratings is in the statistics."


def document_of(report: Report, *, title: str, made_at: datetime) -> ReportDocument:
    """Return the document of a report that was computed from a file, under a title.

    ``made_at`` is when the report was computed, with its time zone. `as_html`, `as_pdf` and `as_latex` render the document.
    """
    references = references_of(report)
    return ReportDocument(
        title=title,
        subtitle=f"Report of {ratings_in_words(report)}",
        dates=f"Written {in_utc(made_at)} with Tiebreak {tiebreak.__version__}.",
        written_at=made_at,
        sections=(
            DocumentSection("Summary", summary(report, systems_of(report))),
            DocumentSection("Ratings", tuple(map(Paragraph, what_was_read(report)))),
            *result_sections(report),
            methods(references),
            DocumentSection("Limitations", (Paragraph(LIMITS),)),
            reproduction(report, made_at, RECOMPUTE),
            *reference_sections(references),
        ),
        bibtex=bibtex_of(references),
    )


def systems_of(report: Report) -> list[str]:
    """Return the systems that any criterion compares, each once."""
    sections = [about.systems for about in report.criteria.values() if about.systems]
    return list(dict.fromkeys(name for systems in sections for name in systems.win_rate))


def what_was_read(report: Report) -> Iterator[str]:
    """Yield how many rows are used, and a sentence for each thing that is not."""
    source = report.source
    yield (
        ALL_USED
        if source.n_used == source.n_rows
        else f"{source.n_used} of {source.n_rows} rows are in the statistics; the others have no"
        " label, or a flag or role takes them out."
    )
    yield from source.notes or ()
    for part, why in report.problems.items():
        yield why if part.startswith("left out") else f"{part_title(part)}: not computed. {why}"
