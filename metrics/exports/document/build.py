"""Builds a report document from a study and its stored report."""

from datetime import datetime

import tiebreak
from annotation.counts import StudyCounts, study_counts
from metrics.exports.document.licences import licence_sections
from metrics.exports.document.machine_raters import machine_sections
from metrics.exports.document.planned import departures, plan_blocks
from metrics.exports.document.study_facts import (
    criteria_table,
    design_table,
    deviation_table,
    entry_sentence,
    exclusion_table,
    flow_table,
    has_separability,
    limitations,
    ratings_table,
    simulated_notice,
)
from metrics.exports.document.synthetic import synthetic_sections
from studies.models import Study
from tiebreak.reading.document.content import (
    Block,
    DocumentSection,
    Paragraph,
    ReportDocument,
)
from tiebreak.reading.document.frame import (
    bibtex_of,
    in_utc,
    methods,
    reference_sections,
    reproduction,
)
from tiebreak.reading.document.references import SEPARABILITY, references_of
from tiebreak.reading.document.results import result_sections
from tiebreak.reading.document.summary import summary
from tiebreak.report import Report

NO_DEVIATION = (
    "The log has no pause, closing, reopening, exclusion or decision about late answers. It records"
    " nothing that happened outside this server."
)
RECOMPUTE = (
    "Every number is in report.json next to this document. To compute it again, export the ratings and"
    " run tiebreak analyze on the export with the seed and number of replicates above: the same rows"
    " give the same digits, and the same digest. If the digest differs, tiebreak compare names the"
    " ratings that differ between two exports."
)


def build_document(
    *, study: Study, report: Report, made_at: datetime, written_at: datetime
) -> ReportDocument:
    """Return the document of a study's report, all statistics of which come from ``report``.

    ``made_at`` is when the report was computed, and ``written_at`` when the document is written.
    """
    counts = study_counts(study)
    references = references_of(report, *([SEPARABILITY] if has_separability(study) else []))
    deviations = (*departures(study, report), deviation_table(study) or Paragraph(NO_DEVIATION))
    return ReportDocument(
        title=study.title,
        subtitle=f"Report of a preference study with {report.source.n_used} ratings",
        dates=f"Ratings as of {in_utc(made_at)}. Written {in_utc(written_at)} with Tiebreak"
        f" {tiebreak.__version__}.",
        written_at=written_at,
        notice=simulated_notice(counts),
        sections=(
            DocumentSection(
                "Summary", summary(report, [system.name for system in study.ordered_systems()])
            ),
            DocumentSection("Design", (design_table(study, counts), criteria_table(study))),
            DocumentSection("Analysis plan", plan_blocks(study, report)),
            DocumentSection("Participants and ratings", _participants(study, counts)),
            *machine_sections(study),
            *result_sections(report),
            *licence_sections(study),
            *synthetic_sections(study),
            methods(references),
            DocumentSection("Limitations", tuple(map(Paragraph, limitations(study, counts)))),
            DocumentSection("Deviations", deviations),
            reproduction(report, made_at, RECOMPUTE),
            *reference_sections(references),
        ),
        bibtex=bibtex_of(references),
    )


def _participants(study: Study, counts: StudyCounts) -> tuple[Block, ...]:
    flow, others = flow_table(study), entry_sentence(study)
    entered: list[Block] = [flow] if flow else []
    entered += [Paragraph(others)] if others else []
    exclusions = exclusion_table(study) or Paragraph("No rating was excluded.")
    return (*entered, exclusions, ratings_table(counts))
