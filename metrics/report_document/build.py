"""Builds a report document from a study and its stored report."""

import tiebreak
from annotation.counts import StudyCounts, study_counts
from metrics.report_document.content import (
    Block,
    DocumentSection,
    Paragraph,
    ReportDocument,
    Verbatim,
)
from metrics.report_document.references import Reference, references_of
from metrics.report_document.results import result_sections
from metrics.report_document.study_facts import (
    criteria_table,
    design_table,
    deviation_table,
    exclusion_table,
    flow_table,
    limitations,
    ratings_table,
)
from studies.models import Study
from tiebreak.report import Report

NO_FLOW = (
    "Nobody entered this study through a page of this server: the ratings were imported, so entry,"
    " consent and screening are not recorded here."
)
NO_DEVIATION = (
    "The log has no pause, closing, reopening, exclusion or decision about late answers. It records"
    " nothing that happened outside of this server."
)
RECOMPUTE = (
    "Every number is in report.json beside this document. To compute it again, export the ratings and"
    " run tiebreak analyze on the export with the seed and number of replicates above: the same rows"
    " give the same digits, and the same digest."
)


def build_document(*, study: Study, report: Report) -> ReportDocument:
    """Return the document of a study's report. All statistics are those of ``report``."""
    counts, references = study_counts(study), references_of(report)
    return ReportDocument(
        title=study.title,
        subtitle=f"Report of a preference study with {report.source.n_used} ratings",
        sections=(
            DocumentSection("In the words of a paper", (Paragraph(_paragraph(study, report)),)),
            DocumentSection("Design", (design_table(study, counts), criteria_table(study))),
            DocumentSection("Participants and ratings", _participants(study, counts)),
            *result_sections(report),
            _methods(references),
            DocumentSection("Limitations", tuple(map(Paragraph, limitations(study, counts)))),
            DocumentSection("Deviations", _deviations(study)),
            _reproduction(report),
        ),
        bibtex="\n\n".join(reference.bibtex for reference in references) + "\n",
    )


def _paragraph(study: Study, report: Report) -> str:
    systems = [system.name for system in study.ordered_systems()]
    first = report.criteria[report.criteria_order[0]] if report.criteria_order else None
    text = f"We compared {len(systems)} systems ({', '.join(systems)}) in a study of preferences."
    if first is not None:
        people = sum(rater.kind == "human" for rater in first.raters.values())
        text += (
            f" {people} annotators gave {first.n_ratings} ratings of {first.n_units} items on the"
            f" criterion “{report.criteria_order[0]}” ({first.scale})."
        )
        alpha = first.all_units.human_human.krippendorff_alpha
        if alpha.is_defined:
            text += f" Agreement among annotators was α = {alpha.value:.2f}"
            text += (
                f" (95% interval {alpha.low:.2f} to {alpha.high:.2f})."
                if alpha.has_interval
                else "."
            )
    if report.replicates:
        text += (
            f" Intervals are 95% percentile intervals from {report.replicates:,} bootstrap replicates"
            f"{_clusters(report)}."
        )
    return f"{text} Statistics were computed with Tiebreak {tiebreak.__version__}."


def _clusters(report: Report) -> str:
    kinds = {section.resampling for section in report.criteria.values()}
    return f" over {kinds.pop()}s" if len(kinds) == 1 else ""


def _participants(study: Study, counts: StudyCounts) -> tuple[Block, ...]:
    flow, exclusions = flow_table(study), exclusion_table(study)
    blocks: list[Block] = [flow or Paragraph(NO_FLOW)]
    blocks.append(exclusions or Paragraph("No rating was excluded."))
    return (*blocks, ratings_table(counts))


def _methods(references: list[Reference]) -> DocumentSection:
    cited = (
        Paragraph(f"{_sentence(reference.used_for)}: {reference.short}.")
        for reference in references
    )
    general = Paragraph(
        "Statistics use first answers to main items without a flag that takes them out. A value that"
        " is undefined is reported as such, with the reason, and never as 0."
    )
    bibtex = Verbatim("\n\n".join(reference.bibtex for reference in references))
    return DocumentSection("Methods and references", (general, *cited, bibtex))


def _sentence(text: str) -> str:
    return text[:1].upper() + text[1:]


def _deviations(study: Study) -> tuple[Block, ...]:
    table = deviation_table(study)
    return (table,) if table is not None else (Paragraph(NO_DEVIATION),)


def _reproduction(report: Report) -> DocumentSection:
    facts = (
        f"Tiebreak {tiebreak.__version__}, report format {report.report_version}, seed"
        f" {report.seed}, {report.replicates:,} replicates. {report.source.n_rows} rows, of which"
        f" {report.source.n_used} are in the statistics. SHA-256 of the rows:"
        f" {report.source.rows_sha256}."
    )
    return DocumentSection("Reproduction", (Paragraph(facts), Paragraph(RECOMPUTE)))
