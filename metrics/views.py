"""A study's dashboard, its report as JSON, and its figures as SVG files."""

import hashlib
from dataclasses import dataclass
from typing import Any

from django.http import Http404, HttpRequest, HttpResponse, JsonResponse
from django.shortcuts import render
from django.views.decorators.http import require_safe

from annotation.counts import study_counts
from metrics.charts import separability_chart
from metrics.dashboard import perception_figures, sections
from metrics.models import ReportSnapshot
from metrics.selectors import stored_report
from metrics.services import ensure_fresh, watermark
from studies.access import Right, researchers_only, study_for
from studies.models import Study
from tiebreak.errors import DomainError
from tiebreak.report import Report
from tiebreak.report.model import CriterionSection

STOP_POLLING = 286  # htmx stops polling at this status


@require_safe
@researchers_only
def dashboard(request: HttpRequest, public_id: str) -> HttpResponse:
    study = study_for(request.user, public_id, Right.SEE)
    return render(request, "metrics/dashboard.html", _context(study, _freshness_of(study)))


@require_safe
@researchers_only
def numbers(request: HttpRequest, public_id: str) -> HttpResponse:
    """Return new counts, and new statistics if there are any, to a page that is out of date.

    Pages poll this view, so it compares the state of the ratings before it counts them.
    """
    study = study_for(request.user, public_id, Right.SEE)
    freshness = _freshness_of(study)
    if request.GET.get("shown") == freshness.token:
        is_final = study.status == Study.Status.CLOSED and not freshness.is_refreshing
        return HttpResponse(status=STOP_POLLING if is_final else 204)
    has_newer = request.GET.get("statistics") != freshness.snapshot.watermark
    context = _context(study, freshness, with_sections=has_newer)
    return render(request, "metrics/updates.html", context | {"has_newer": has_newer})


@require_safe
@researchers_only
def report(request: HttpRequest, public_id: str) -> HttpResponse:
    """Download the report that the dashboard shows."""
    response = JsonResponse(
        _report(study_for(request.user, public_id, Right.SEE)).as_json(),
        json_dumps_params={"indent": 1, "allow_nan": False},
    )
    response["Content-Disposition"] = 'attachment; filename="report.json"'
    return response


@require_safe
@researchers_only
def figure(request: HttpRequest, public_id: str, criterion: str, name: str) -> HttpResponse:
    """Download one figure as an SVG file."""
    section = _report(study_for(request.user, public_id, Right.SEE)).criteria.get(criterion)
    if section is None:
        raise Http404("This study's report has no such criterion.")
    svg = _figure(section, name)
    if not svg:
        raise Http404("There are not enough ratings for this figure yet.")
    response = HttpResponse(svg, content_type="image/svg+xml")
    response["Content-Disposition"] = f'attachment; filename="{name}.svg"'
    return response


def _figure(section: CriterionSection, name: str) -> str:
    if name == "separability" and section.rating_sets is not None:
        return separability_chart(section.rating_sets)
    if name == "perception":
        return perception_figures(section)[0][1]
    return ""


def _report(study: Study) -> Report:
    snapshot = ReportSnapshot.objects.filter(study=study).first()
    report = stored_report(snapshot) if snapshot else None
    if report is None:
        raise Http404("There is no report yet. Open the dashboard to have one computed.")
    return report


@dataclass(frozen=True)
class _Freshness:
    """A study's newest report, the state of its ratings, and why no newer report was requested."""

    snapshot: ReportSnapshot
    state: str
    status: str
    problem: DomainError | None

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
    state, problem = watermark(study), None
    try:
        snapshot = ensure_fresh(study=study, state=state)
    except DomainError as error:
        snapshot, problem = ReportSnapshot.objects.get(study=study), error
    return _Freshness(snapshot, state, study.status, problem)


def _context(study: Study, freshness: _Freshness, *, with_sections: bool = True) -> dict[str, Any]:
    report = stored_report(freshness.snapshot) if with_sections else None
    return {
        "study": study,
        "progress": study_counts(study),
        "freshness": freshness,
        "snapshot": freshness.snapshot,
        "report": report,
        "sections": sections(report) if report else [],
    }
