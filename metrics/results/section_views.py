"""The sections of the results that are computed when someone opens them."""

from collections.abc import Mapping
from dataclasses import replace
from itertools import groupby
from operator import attrgetter

from django.http import Http404, HttpRequest, HttpResponse
from django.shortcuts import render
from django.views.decorators.http import require_safe

from metrics.messages import OUTCOME_HIDDEN
from metrics.models import SectionSnapshot
from metrics.results.discernment_board import board_of
from metrics.results.filters import Part, links_to_parts
from metrics.results.requested_report import Asked, asked_for
from metrics.results.sections import (
    StoredSection,
    ensure_section,
    is_hidden,
    right_to_see,
    section_named,
    stored_section,
)
from metrics.results.selectors import simple_raters_of, stored_report
from studies.access import Right, researchers_only, study_for
from studies.models import Study
from tiebreak.errors import DomainError
from tiebreak.reading.charts.chart import Key
from tiebreak.reading.figures.figure import Figure
from tiebreak.reading.figures.of_part import of_part
from tiebreak.reading.figures.of_section import figures_of_section
from tiebreak.reading.while_open import while_unreached
from tiebreak.report.model.report import CriterionSection
from tiebreak.report.registry import Section


@require_safe
@researchers_only
def section(request: HttpRequest, public_id: str, criterion: str, name: str) -> HttpResponse:
    """Return a section of the results, or a note that it is being computed, which asks again.

    The address that asks again says so, and then takes what was computed in the meantime, although
    there may be newer ratings already.
    """
    more = section_named(name)
    study = study_for(request.user, public_id, right_to_see(more) if more else Right.READ)
    if more is None:
        raise Http404("There is no such section of the results.")
    asked = asked_for(study, request.GET)
    if asked.part is None:
        return asked.refusal()
    shown, problem = _shown(study, asked, more, criterion, is_again="again" in request.GET)
    figures: list[Figure] = []
    if shown and shown.part is not None:
        figures = figures_of_section(name, shown.part, simple_raters_of(study))
    report = stored_report(asked.freshness.snapshot, with_raters=False) if figures else None
    about = report.criteria.get(criterion) if report else None
    choices = asked.whole.snapshot.choices
    links = links_to_parts(choices, asked.chosen, criterion, about) if about else {}
    figures = _as_shown(figures, about, asked.part, links)
    context = {
        "study": study,
        "criterion": criterion,
        "more": more,
        "shown": shown,
        "problem": problem,
        "figures": [one for one in figures if not one.machine],
        "by_machine": _by_machine(figures),
        "items_links": links,
        **asked.context,
        "is_waiting": shown is None and problem is None,
        "here": more.question,
    }
    if name == "discernment" and figures and not asked.part:
        context |= board_of(study, request.GET.getlist("with"), request.user)
    is_partial = request.headers.get("HX-Request")
    template = "metrics/section.html" if is_partial else "metrics/section_page.html"
    return render(request, template, context)


def _as_shown(
    figures: list[Figure], about: CriterionSection | None, part: Part, links: Mapping[Key, str]
) -> list[Figure]:
    """Return the figures, without findings of a part or before the planned number is reached."""
    figures = [replace(figure, chart=figure.chart.linked(links)) for figure in figures]
    if part:
        return [of_part(figure, part.name) for figure in figures]
    return [while_unreached(figure, about) for figure in figures] if about else figures


def _by_machine(figures: list[Figure]) -> list[tuple[str, list[Figure]]]:
    """Return the figures that are about one machine rater each, which a page folds, by its name."""
    of = [figure for figure in figures if figure.machine]
    return [(name, list(drawn)) for name, drawn in groupby(of, key=attrgetter("machine"))]


def _shown(
    study: Study, asked: Asked, more: Section, criterion: str, *, is_again: bool
) -> tuple[StoredSection | None, DomainError | None]:
    """Return the section if it is there, and why it cannot be computed if that is known."""
    report, now = asked.freshness.snapshot, asked.freshness.now
    if is_hidden(more, asked.chosen):
        return StoredSection(reason=OUTCOME_HIDDEN), None
    if report.pk is None:
        return None, None
    state = asked.freshness.state
    if is_again:
        finished = SectionSnapshot.objects.filter(report=report, name=more.name, requested="")
        if (latest := finished.first()) is not None and latest.content is not None:
            return stored_section(latest, criterion), None
    try:
        snapshot = ensure_section(
            study=study, name=more.name, report=report, chosen=asked.chosen, state=state, now=now
        )
    except DomainError as refusal:
        return None, refusal
    if snapshot.requested:
        return None, None
    return stored_section(snapshot, criterion), None
