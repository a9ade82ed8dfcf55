"""The sections that pages of results compute when someone opens them (under *More*)."""

from annotation.filters import NO_FAILED_CHECK, Filter
from metrics.models import ReportSnapshot, SectionSnapshot
from metrics.results.sections import stored_section
from studies.access import Right
from tiebreak.reading.figures.figure import Figure
from tiebreak.reading.figures.of_section import figures_of_section
from tiebreak.report.model.report import CriterionSection
from tiebreak.report.registry import Section, on_request


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
    for snapshot in SectionSnapshot.objects.filter(report=report):
        section, stored = section_named(snapshot.name), stored_section(snapshot, criterion)
        if section is None or stored is None or stored.part is None:
            continue
        if right < right_to_see(section) or is_hidden(section, chosen):
            continue
        for figure in figures_of_section(section.name, stored.part):
            if figure.name == name and figure.chart:
                return figure
    return None
