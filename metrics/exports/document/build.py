"""Builds a report document from a study and its stored report."""

from datetime import datetime

import tiebreak
from annotation.counts import StudyCounts, study_counts
from metrics.exports.document.machine_raters import cost_sections, machine_sections
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
from metrics.licensing.messages import SPEAKS_OF
from metrics.licensing.services import licences_of
from metrics.models import Licence
from studies.models import Study
from tiebreak.digits import in_digits
from tiebreak.reading.document.content import (
    Block,
    DataTable,
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
from tiebreak.reading.words import ratings_in_words
from tiebreak.report import Report

TITLE = "Licences of machine raters"
NOT_RECORDED = "not recorded"
COLUMNS = (
    *("machine rater", "criterion and items", "granted", "valid until", "state"),
    *("ω", "a coin's ω", "ε", "annotators", "labels", "labels by bots"),
)


def licence_sections(study: Study) -> list[DocumentSection]:
    """Return the section, or nothing if no licence was ever granted."""
    rows = tuple(map(_row, licences_of(study).order_by("pk")))
    if not rows:
        return []
    return [DocumentSection(TITLE, (Paragraph(SPEAKS_OF), DataTable(TITLE, COLUMNS, rows)))]


def _row(licence: Licence) -> tuple[str, ...]:
    evidence = licence.evidence
    ended = f" on {licence.ended_at:%Y-%m-%d}" if licence.ended_at else ""
    return (
        licence.rater.pseudonym,
        f"{licence.criterion.name}, {licence.items}",
        f"{licence.granted_at:%Y-%m-%d}",
        licence.valid_until.isoformat(),
        f"{licence.state}{ended}",
        in_digits(evidence["winning_rate"]),
        in_digits(evidence["coin_winning_rate"])
        if "coin_winning_rate" in evidence
        else NOT_RECORDED,
        in_digits(evidence["epsilon"]),
        str(evidence["annotators"]),
        str(evidence["labels"]),
        str(evidence.get("simulated", NOT_RECORDED)),
    )


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
        subtitle=f"Report of a preference study with {ratings_in_words(report)}",
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
            *cost_sections(study, report),
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
