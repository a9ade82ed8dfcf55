"""Sections of a report that are computed when someone opens them, and kept with the report."""

from dataclasses import dataclass, replace
from datetime import datetime
from typing import Any, get_type_hints

from annotation.filters import EVERYTHING, NO_FAILED_CHECK, Filter
from jobs.clock import database_now
from metrics.models import Licence, ReportSnapshot, SectionSnapshot, valid_licence
from metrics.planning.expert_weights import weights_of
from metrics.planning.scores_study import scores_of
from metrics.results.board import hidden_draw
from metrics.results.joining import joined_tables
from metrics.results.selectors import simple_raters_of, source_of
from metrics.results.services import REPORT_FORM, request_once, watermark
from studies.access import Right
from studies.models import Study
from tiebreak.reading.figures.figure import Figure
from tiebreak.reading.figures.of_section import figures_of_section
from tiebreak.report import Report
from tiebreak.report.build import build_section
from tiebreak.report.model.report import CriterionSection
from tiebreak.report.registry import SECTIONS, Section, on_request
from tiebreak.report.serialization import from_json, to_json


def section_named(name: str) -> Section | None:
    """Return a section that pages compute; others wait until the study is closed."""
    section = on_request().get(name)
    return None if section is None or section.after_closing else section


def offered_on(tab: str, about: CriterionSection) -> list[Section]:
    """Return what a page of results offers for a criterion."""
    sections = filter(None, map(section_named, on_request()))
    return [one for one in sections if one.question == tab and one.offered(about)]


def right_to_see(section: Section) -> Right:
    """Return the right that one needs: single annotators are not for everyone who sees results."""
    return Right.READ if section.names_raters else Right.SEE


def is_hidden(section: Section, chosen: Filter) -> bool:
    """Return whether a part of the ratings must not show the section's outcome."""
    return section.shows_outcome and chosen.raters == NO_FAILED_CHECK


def figure_of_section(
    report: ReportSnapshot, criterion: str, name: str, right: Right, chosen: Filter
) -> Figure | None:
    """Return a figure by its name from the stored sections that someone with this right sees."""
    simple = simple_raters_of(report.study)
    for snapshot in SectionSnapshot.objects.filter(report=report):
        section, stored = section_named(snapshot.name), stored_section(snapshot, criterion)
        if section is None or stored is None or stored.part is None:
            continue
        if right < right_to_see(section) or is_hidden(section, chosen):
            continue
        for figure in figures_of_section(section.name, stored.part, simple):
            if figure.name == name and figure.chart:
                return figure
    return None


NOT_COMPUTED = "This criterion has no such section yet."
CLASSES = get_type_hints(CriterionSection)


@dataclass(frozen=True)
class StoredSection:
    """A section of one criterion, or the reason why there is none."""

    part: Any = None
    reason: str = ""


def refresh_section(*, study: Study, name: str, chosen: Filter = EVERYTHING) -> SectionSnapshot:
    """Compute and store a section of the study's ratings, or of a part of them."""
    state, source = watermark(study), source_of(study, chosen)
    weights = weights_of(study) if name == "discernment" else None
    scores = scores_of(study) if name == "scoring_against_pairwise" else None
    section = build_section(
        source.table,
        name,
        scales=source.scales,
        weights=weights,
        scores=scores,
        separability_ends=source.separability_ends,
        elo_constants=source.elo_constants,
        families=source.families,
        hidden=hidden_draw(study) if name == "leaderboard" else None,
        joined=joined_tables(study) if name == "leaderboard" and not chosen else (),
    )
    content = {part: {"part": to_json(of)} for part, of in section.criteria.items()}
    content |= {part: {"reason": reason} for part, reason in section.problems.items()}
    report = ReportSnapshot.objects.get(study=study, digest=chosen.digest)
    snapshot, _ = SectionSnapshot.objects.update_or_create(
        report=report,
        name=name,
        defaults={
            "content": content,
            "watermark": state,
            "made_at": database_now(),
            "requested": "",
        },
    )
    return snapshot


def ensure_section(
    *, study: Study, name: str, report: ReportSnapshot, chosen: Filter, state: str, now: datetime
) -> SectionSnapshot:
    """Return a section, and request a newer one if it was not computed from ``state``.

    There is one request at a time, however many pages are open. Raises `DomainError` if the broker
    cannot be reached.
    """
    snapshot, _ = SectionSnapshot.objects.get_or_create(
        report=report, name=name, defaults={"requested_at": now}
    )
    if snapshot.content is not None and snapshot.watermark == state:
        return snapshot
    task = "metrics.tasks.refresh_section_task"
    request_once(snapshot, state, now, task, study.pk, name, chosen.digest)
    return snapshot


def stored_section(snapshot: SectionSnapshot, criterion: str) -> StoredSection | None:
    """Return the stored section of a criterion, or None if it has not been computed in this form."""
    if snapshot.content is None or not snapshot.watermark.startswith(f"{REPORT_FORM}-"):
        return None
    content = snapshot.content.get(criterion, {"reason": NOT_COMPUTED})
    if "part" not in content:
        return StoredSection(reason=content["reason"])
    part = from_json(CLASSES[SECTIONS[snapshot.name].field], content["part"])
    if snapshot.name == "leaderboard":
        part = replace(part, licensed=_licensed(snapshot, criterion))
    return StoredSection(part)


def _licensed(snapshot: SectionSnapshot, criterion: str) -> tuple[str, ...]:
    """Return the machine raters with a licence in force for all items, which no rating tells."""
    found = Licence.objects.filter(
        valid_licence(), study=snapshot.report.study_id, criterion__name=criterion, category=""
    )
    return tuple(found.order_by("rater__pseudonym").values_list("rater__pseudonym", flat=True))


def with_opened_sections(report: Report, snapshot: ReportSnapshot) -> Report:
    """Return a report with the sections that someone opened, if they cover the same ratings.

    Those of single annotators are left out, because not everyone who reads a report may see them.
    """
    criteria = dict(report.criteria)
    stored = SectionSnapshot.objects.filter(report=snapshot, watermark=snapshot.watermark)
    for section in stored.exclude(name__in=[s.name for s in SECTIONS.values() if s.names_raters]):
        for name in report.criteria:
            found = stored_section(section, name)
            if found is not None and found.part is not None:
                criteria[name] = SECTIONS[section.name].put(found.part, criteria[name])
    return replace(report, criteria=criteria)
