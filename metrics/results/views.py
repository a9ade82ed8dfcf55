"""A study's results, its report as JSON, and its figures as files."""

from dataclasses import replace
from hashlib import sha256
from http import HTTPStatus
from typing import Any

from django.core.cache import caches
from django.http import Http404, HttpRequest, HttpResponse, JsonResponse
from django.shortcuts import redirect, render
from django.urls import reverse
from django.views.decorators.http import require_safe

from annotation.counts import progress_of
from metrics.planning.separability_figure import requested_separability
from metrics.results.collection_figure import progress_figure, still_possible
from metrics.results.filters import (
    Part,
    has_empty_values,
    links_to_parts,
    size_of,
    without_empty_values,
)
from metrics.results.question_pages import (
    MOVED,
    PAGES,
    Page,
    Shown,
    figure_named,
    page_named,
    parts_of,
)
from metrics.results.questions import PLANNING, SYSTEMS
from metrics.results.rater_rows import excluded_people
from metrics.results.requested_report import Asked, Freshness, asked_for
from metrics.results.sections import figure_of_section, offered_on
from metrics.results.selectors import (
    is_simulated,
    stored_counts,
    stored_report,
    stored_rows,
)
from studies.access import Right, held_right, of_study, researchers_only, study_for
from studies.models import Study
from tiebreak.reading.document.nonresponse import nonresponse_tables
from tiebreak.reading.document.set_aside import set_aside_table
from tiebreak.reading.figures.figure import Figure
from tiebreak.reading.figures.files import CONTENT_TYPES, figure_file
from tiebreak.reading.figures.of_part import of_part, with_part_column
from tiebreak.reading.leading_numbers import leading_numbers, scope_of
from tiebreak.reading.messages import FORECAST_ABOVE, SEQUENCE_ABOVE
from tiebreak.reading.shown import section_of
from tiebreak.reading.while_open import has_sequences, still_missing, unreached, while_unreached
from tiebreak.report import Report

STOP_POLLING = 286  # htmx stops polling at this status


@require_safe
@researchers_only
def results(request: HttpRequest, public_id: str, slug: str = PAGES[0].slug) -> HttpResponse:
    """Show a question of the results, or one of its parts."""
    page = page_named(slug)
    study = study_for(request.user, public_id, page.right if page else Right.SEE)
    if slug in MOVED:
        moved = reverse("metrics:results-tab", args=[study.pk, MOVED[slug]])
        return redirect(f"{moved}?{request.GET.urlencode()}" if request.GET else moved)
    if page is None:
        raise Http404("There is no such page of results.")
    return _page(request, study, page)


@require_safe
@researchers_only
def numbers(request: HttpRequest, public_id: str) -> HttpResponse:
    """Return new counts, and new statistics if there are any, to a page that is out of date.

    Pages poll this view, so it compares the state of the ratings before it counts them.
    """
    page = page_named(request.GET.get("results_page", "")) or PAGES[0]
    study = study_for(request.user, public_id, page.right)
    asked = asked_for(study, request.GET)
    freshness = asked.freshness
    if asked.part is None:
        return HttpResponse(status=STOP_POLLING)
    if request.GET.get("shown") == freshness.token:
        is_final = study.status == Study.Status.CLOSED and not freshness.is_refreshing
        return HttpResponse(status=STOP_POLLING if is_final else 204)
    has_newer = request.GET.get("statistics") != freshness.snapshot.watermark
    context = _context(request, study, asked, shown_page=page, with_sections=has_newer)
    return render(request, "metrics/updates.html", context | {"has_newer": has_newer})


@require_safe
@researchers_only
def report(request: HttpRequest, public_id: str) -> HttpResponse:
    """Download the report that the pages show. It names raters, so viewers do not get it."""
    asked = asked_for(study_for(request.user, public_id, Right.READ), request.GET)
    if asked.part is None:
        return asked.refusal()
    options = {"indent": 1, "allow_nan": False}
    response = JsonResponse(_report(asked).as_json(), json_dumps_params=options)
    response["Content-Disposition"] = 'attachment; filename="report.json"'
    return response


@require_safe
@of_study(Right.SEE)
def figure(
    request: HttpRequest, study: Study, criterion: str, name: str, kind: str
) -> HttpResponse:
    """Download one figure, or its data, as a file."""
    asked = asked_for(study, request.GET)
    if asked.part is None:
        return asked.refusal()
    drawn = _figure(request, asked, study, criterion, name)
    if drawn is None or not drawn.chart:
        raise Http404("There are not enough ratings for this figure yet.")
    if kind not in CONTENT_TYPES:
        raise Http404("Figures are available as svg, pdf, png and csv.")
    file = figure_file(drawn, kind, is_simulated=is_simulated(study))
    response = HttpResponse(file, content_type=CONTENT_TYPES[kind])
    response["Content-Disposition"] = f'attachment; filename="{name}.{kind}"'
    return response


def _figure(
    request: HttpRequest, asked: Asked, study: Study, criterion: str, name: str
) -> Figure | None:
    """Return a figure that the researcher may see, if there is one of this name."""
    query, right = request.GET.dict(), held_right(request.user, study)
    if name == "progress":
        counts = progress_of(study)
        return progress_figure(study, counts, possible=still_possible(study, counts))
    if name == "separability":  # even before there are ratings
        return requested_separability(study, query, request.user)
    criteria = _report(asked).criteria
    about = criteria.get(criterion)
    if about is None:
        raise Http404("This report has no such criterion.")
    snapshot = asked.freshness.snapshot
    rows = stored_rows(snapshot)
    shown = Shown(
        study, criterion, about, asked.chosen, rows, query, request.user, criteria=criteria
    )
    drawn = figure_named(shown, name, right) or figure_of_section(
        snapshot, criterion, name, right, asked.chosen
    )
    if drawn is None or not asked.part:
        return None if drawn is None else while_unreached(drawn, about)
    return with_part_column(of_part(drawn, asked.part.name), asked.part.name)


def _report(asked: Asked) -> Report:
    report = stored_report(asked.freshness.snapshot)
    if report is None:
        raise Http404("This report is still being computed. Try again in a few seconds.")
    return report


def _page(request: HttpRequest, study: Study, page: Page) -> HttpResponse:
    if has_empty_values(request.GET):
        return redirect(f"{request.path}?{without_empty_values(request.GET)}")
    asked = asked_for(study, request.GET)
    context = _context(request, study, asked, shown_page=page)
    status = HTTPStatus.OK if asked.part is not None else HTTPStatus.BAD_REQUEST
    if page.part_of and request.headers.get("HX-Request"):
        return render(request, "metrics/opened_part.html", context, status=status)
    return render(request, "metrics/dashboard.html", context, status=status)


def _context(
    request: HttpRequest,
    study: Study,
    asked: Asked,
    *,
    shown_page: Page,
    with_sections: bool = True,
) -> dict[str, Any]:
    freshness = asked.freshness
    report = stored_report(freshness.snapshot, with_raters=False) if with_sections else None
    criterion = _criterion(request.GET.get("criterion", ""), report, asked)
    context: dict[str, Any] = {
        "study": study,
        "freshness": freshness,
        "snapshot": freshness.snapshot,
        "report": report,
        "counted": stored_counts(freshness.snapshot),
        "counted_in_all": stored_counts(asked.whole.snapshot),
        "criterion": criterion,
        "sees_raters": held_right(request.user, study) >= Right.READ,
        "results_page": shown_page,
        "here": shown_page.question,
        "template": shown_page.templates,
        **asked.filtering(request.GET.get("criterion", "")),
    }
    if report is None or not criterion:
        return context
    about, query = report.criteria[criterion], request.GET.dict()
    rows = stored_rows(freshness.snapshot, with_raters=False)
    links = links_to_parts(asked.whole.snapshot.choices, asked.chosen, criterion, about)
    shown = Shown(
        *(study, criterion, about, asked.chosen, rows, query, request.user, links), report.criteria
    )
    context["items_links"] = links
    context["size"] = size_of(about, shown.rows.annotators)
    if not shown_page.part_of:
        right = held_right(request.user, study)
        context |= _question(shown, shown_page, right)
    parts = _parts_with_raters if shown_page.shows_raters else _parts
    if shown_page.shows_raters:  # which are kept, while this ends when the study is opened again
        context["excluded"] = excluded_people(study)
        context["tables"] = [
            *filter(None, [set_aside_table(about)]),
            *nonresponse_tables(about, with_raters=True),
        ]
    return context | {
        "section": section_of(criterion, about),
        **parts(shown, shown_page, freshness),
    }


def _question(shown: Shown, page: Page, right: Right) -> dict[str, Any]:
    """Return the numbers that lead a question, what limits them, and what its page offers to open."""
    about, is_part = shown.about, bool(shown.chosen)
    leading, parts = leading_numbers(about, is_part=is_part), parts_of(page.slug, about, right)
    caveat, _, scope = scope_of(about, page.slug).partition(". ")
    if page.slug == SYSTEMS.slug and (stopping := unreached(about)) and has_sequences(stopping):
        caveat, scope = SEQUENCE_ABOVE, ""  # the picture's sentence says who the line applies to
    caveat = f"{caveat.removesuffix('.')}." if caveat else ""
    if page.slug == PLANNING.slug and unreached(about) is None:  # a curve, which has no intervals
        caveat, scope = FORECAST_ABOVE, f"{caveat} {scope}".strip()
    if page.slug == SYSTEMS.slug and not is_part:
        caveat = f"{_unrated(shown)} {caveat}".strip()
    return {
        "leading": [one for one in leading if one.tab == page.slug and not one.is_drawn],
        "opened": [one for one in parts if one.shows_raters],
        "parts": [one for one in parts if not one.shows_raters],
        "more": offered_on(page.slug, about),
        "caveat": caveat,
        "scope": scope,
    }


def _unrated(shown: Shown) -> str:
    """Return which systems of the study the picture lacks, because annotators have not rated them."""
    of_texts, of_pairs = shown.about.success_rates, shown.about.systems
    rated = {*(of_texts.systems if of_texts else of_pairs.win_rate if of_pairs else ())}
    missing = [one.name for one in shown.study.ordered_systems() if one.name not in rated]
    if not rated or not missing:
        return ""
    has = "has" if len(missing) == 1 else "have"
    return f"{', '.join(missing)} {has} no rating by annotators so far."


def _criterion(name: str, report: Report | None, asked: Asked) -> str:
    """Return the criterion to show; of a part only the one that is asked for, if any is."""
    if report is None or not report.criteria_order:
        return ""
    if name in report.criteria:
        return name
    return "" if asked.chosen and name else report.criteria_order[0]


def _parts(shown: Shown, tab: Page, _: Freshness) -> dict[str, Any]:
    return {"figures": _as_shown(tab.figures(shown), shown), **tab.more(shown)}


def _parts_with_raters(shown: Shown, tab: Page, freshness: Freshness) -> dict[str, Any]:
    """Return the parts of a page about single raters, from the cache if it has them of this report.

    Reading what a report has of thousands of annotators takes most of a second.
    """
    snapshot, kept = freshness.snapshot, caches["annotators"]
    made_at = snapshot.made_at.isoformat() if snapshot.made_at else ""
    asked = f"{tab.slug} {shown.criterion} {shown.query.get('rater', '')}"
    key = sha256(f"{snapshot.pk} {made_at} {asked}".encode()).hexdigest()
    parts: dict[str, Any] | None = kept.get(key)
    if parts is None:
        report = stored_report(snapshot)
        assert report is not None
        about, rows = report.criteria[shown.criterion], stored_rows(snapshot)
        parts = _parts(replace(shown, about=about, stored_rows=rows), tab, freshness)
        kept.set(key, parts)
    return parts


def _as_shown(figures: list[Figure], shown: Shown) -> list[Figure]:
    """Return the figures, which state no findings if a part of the ratings is shown."""
    part = Part(shown.chosen)
    figures = [replace(one, chart=one.chart.linked(shown.links)) for one in figures]
    if part:
        return [of_part(figure, part.name) for figure in figures]
    figures = [while_unreached(figure, shown.about) for figure in figures]
    stopping = unreached(shown.about)
    if figures and stopping and figures[0].finding == figures[0].title:
        # The figure that leads the page also says what a finding needs.
        heading = f"{figures[0].title}: {still_missing(stopping)}"
        figures[0] = replace(figures[0], finding=heading)
    return figures
