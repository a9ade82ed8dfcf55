"""A study's overview and results, its report as JSON, and its figures as files."""

import hashlib
from dataclasses import dataclass
from datetime import datetime
from typing import Any

from django.http import Http404, HttpRequest, HttpResponse, JsonResponse
from django.shortcuts import render
from django.urls import reverse
from django.views.decorators.http import require_safe

from annotation.counts import StudyCounts, progress_of, study_counts
from jobs.clock import database_now
from metrics.attention import attention_of
from metrics.dashboard import section_of
from metrics.figures.collection import progress_figure
from metrics.figures.figure import Figure
from metrics.figures.files import CONTENT_TYPES, figure_file
from metrics.figures.separability import requested_separability
from metrics.figures.systems import win_rates_figure
from metrics.leading import leading_numbers, scope_of
from metrics.models import ReportSnapshot
from metrics.selectors import stored_counts, stored_moments, stored_plan, stored_report
from metrics.services import ensure_fresh, watermark
from metrics.tabs import TABS, Shown, Tab, figure_named, tab_named
from recruitment.public_address import public_url
from recruitment.services.channels import has_open_link
from studies.access import Right, held_right, researchers_only, study_for
from studies.models import Study
from tiebreak.errors import DomainError
from tiebreak.report import Report

STOP_POLLING = 286  # htmx stops polling at this status


@require_safe
@researchers_only
def dashboard(request: HttpRequest, public_id: str) -> HttpResponse:
    """Show how far a study is, and its leading numbers."""
    study = study_for(request.user, public_id, Right.SEE)
    context = _context(request, study, _freshness_of(study), tab=None)
    return render(request, "metrics/dashboard.html", context)


@require_safe
@researchers_only
def results(request: HttpRequest, public_id: str, slug: str = TABS[0].slug) -> HttpResponse:
    """Show one page of the results."""
    tab = tab_named(slug)
    study = study_for(request.user, public_id, tab.right if tab else Right.SEE)
    if tab is None:
        raise Http404("There is no such page of results.")
    context = _context(request, study, _freshness_of(study), tab=tab)
    return render(request, "metrics/dashboard.html", context)


@require_safe
@researchers_only
def attention(request: HttpRequest, public_id: str) -> HttpResponse:
    """Return what needs a person, which the overview asks for when it is shown."""
    study = study_for(request.user, public_id, Right.READ)
    context: dict[str, Any] = {"attention": attention_of(study)}
    if study.status == Study.Status.OPEN and has_open_link(study):
        context["link"] = public_url(request, reverse("recruitment:welcome", args=[study.pk]))
    return render(request, "metrics/attention.html", context)


@require_safe
@researchers_only
def numbers(request: HttpRequest, public_id: str) -> HttpResponse:
    """Return new counts, and new statistics if there are any, to a page that is out of date.

    Pages poll this view, so it compares the state of the ratings before it counts them.
    """
    tab = tab_named(request.GET.get("tab", ""))
    study = study_for(request.user, public_id, tab.right if tab else Right.SEE)
    freshness = _freshness_of(study)
    if request.GET.get("shown") == freshness.token:
        is_final = study.status == Study.Status.CLOSED and not freshness.is_refreshing
        return HttpResponse(status=STOP_POLLING if is_final else 204)
    has_newer = request.GET.get("statistics") != freshness.snapshot.watermark
    context = _context(request, study, freshness, tab=tab, with_sections=has_newer)
    return render(request, "metrics/updates.html", context | {"has_newer": has_newer})


@require_safe
@researchers_only
def report(request: HttpRequest, public_id: str) -> HttpResponse:
    """Download the report that the pages show. It names raters, so viewers do not get it."""
    _, newest = _stored(study_for(request.user, public_id, Right.READ))
    options = {"indent": 1, "allow_nan": False}
    response = JsonResponse(newest.as_json(), json_dumps_params=options)
    response["Content-Disposition"] = 'attachment; filename="report.json"'
    return response


@require_safe
@researchers_only
def figure(
    request: HttpRequest, public_id: str, criterion: str, name: str, kind: str
) -> HttpResponse:
    """Download one figure, or its data, as a file."""
    study = study_for(request.user, public_id, Right.SEE)
    drawn = _figure(request, study, criterion, name)
    if drawn is None or not drawn.chart:
        raise Http404("There are not enough ratings for this figure yet.")
    if kind not in CONTENT_TYPES:
        raise Http404("Figures are available as svg, pdf, png and csv.")
    response = HttpResponse(figure_file(drawn, kind), content_type=CONTENT_TYPES[kind])
    response["Content-Disposition"] = f'attachment; filename="{name}.{kind}"'
    return response


def _figure(request: HttpRequest, study: Study, criterion: str, name: str) -> Figure | None:
    if name == "progress":
        return progress_figure(study, progress_of(study))
    if name == "separability":  # before there are ratings, too
        return requested_separability(study, request.GET.dict(), request.user)
    snapshot, report = _stored(study)
    about = report.criteria.get(criterion)
    if about is None:
        raise Http404("This study's report has no such criterion.")
    shown = Shown(study, criterion, about, snapshot.page_rows, request.GET.dict(), request.user)
    return figure_named(shown, name, held_right(request.user, study))


def _stored(study: Study) -> tuple[ReportSnapshot, Report]:
    snapshot = ReportSnapshot.objects.filter(study=study).first()
    report = stored_report(snapshot) if snapshot else None
    if snapshot is None or report is None:
        raise Http404("There is no report yet. Open the overview to have one computed.")
    return snapshot, report


@dataclass(frozen=True)
class _Freshness:
    """A study's newest report, the state of its ratings, and why no newer report was requested."""

    snapshot: ReportSnapshot
    state: str
    status: str
    problem: DomainError | None
    now: datetime

    @property
    def is_stale(self) -> bool:
        return self.snapshot.watermark != self.state

    @property
    def is_refreshing(self) -> bool:
        return self.is_stale and bool(self.snapshot.requested)

    @property
    def token(self) -> str:
        """Digest of everything that the page depends on; equal tokens mean an equal page."""
        problem = self.problem.code if self.problem else ""
        parts = (self.state, self.snapshot.watermark, self.status, self.is_refreshing, problem)
        return hashlib.sha256(repr(parts).encode()).hexdigest()[:16]


def _freshness_of(study: Study) -> _Freshness:
    state, problem, now = watermark(study), None, database_now()
    try:
        snapshot = ensure_fresh(study=study, state=state, now=now)
    except DomainError as error:
        snapshot, problem = ReportSnapshot.objects.get(study=study), error
    return _Freshness(snapshot, state, study.status, problem, now)


def _context(
    request: HttpRequest,
    study: Study,
    freshness: _Freshness,
    *,
    tab: Tab | None,
    with_sections: bool = True,
) -> dict[str, Any]:
    report = stored_report(freshness.snapshot) if with_sections else None
    context: dict[str, Any] = {
        "study": study,
        "freshness": freshness,
        "snapshot": freshness.snapshot,
        "report": report,
        "tabs": TABS,
        "sees_raters": held_right(request.user, study) >= Right.READ,
        "tab": tab,
        "here": "results" if tab else "overview",
        "template": tab.template if tab else "metrics/overview.html",
    }
    if tab is None:
        context["progress"] = _counts(study, freshness)
    if report is None or not report.criteria_order:
        return context
    chosen = request.GET.get("criterion", "")
    criterion = chosen if chosen in report.criteria else report.criteria_order[0]
    about, rows = report.criteria[criterion], freshness.snapshot.page_rows
    shown = Shown(study, criterion, about, rows, request.GET.dict(), request.user)
    if tab is None:
        return context | _overview(shown, context["progress"], freshness)
    return context | _results(shown, tab)


def _counts(study: Study, freshness: _Freshness) -> StudyCounts:
    """Return the counts, with those of the ratings from the report if it is of these ratings."""
    snapshot = freshness.snapshot
    counted = None if freshness.is_stale else stored_counts(snapshot)
    return study_counts(study, freshness.now, counted=counted, plan=stored_plan(snapshot))


def _overview(shown: Shown, counts: StudyCounts, freshness: _Freshness) -> dict[str, Any]:
    about = shown.about
    moments = None if freshness.is_stale else stored_moments(freshness.snapshot)
    return {
        "criterion": shown.criterion,
        "leading": leading_numbers(about),
        "scope": scope_of(about),
        "figures": [win_rates_figure(about), progress_figure(shown.study, counts, moments)],
        "section": section_of(shown.criterion, about),
    }


def _results(shown: Shown, tab: Tab) -> dict[str, Any]:
    return {
        "criterion": shown.criterion,
        "figures": tab.figures(shown),
        "section": section_of(shown.criterion, shown.about),
        **tab.more(shown),
    }
