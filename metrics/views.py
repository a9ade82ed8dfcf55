"""The dashboard of one study, its report as JSON, and its figures as files."""

import hashlib
from dataclasses import dataclass
from typing import Any

from django.http import Http404, HttpRequest, HttpResponse, JsonResponse
from django.shortcuts import render
from django.views.decorators.http import require_safe
from rest_framework.decorators import api_view
from rest_framework.request import Request
from rest_framework.response import Response

from annotation.counts import study_counts
from metrics.charts import separability_chart
from metrics.dashboard import perception_pictures, sections
from metrics.models import ReportSnapshot
from metrics.services import ensure_fresh, watermark
from studies.access import researchers_only, study_for
from studies.models import Study
from tiebreak.errors import DomainError

STOP_POLLING = 286  # htmx's word for: no more of this


@require_safe
@researchers_only
def dashboard(request: HttpRequest, public_id: str) -> HttpResponse:
    study = study_for(request.user, public_id)
    return render(request, "metrics/dashboard.html", _context(study, _look(study)))


@require_safe
@researchers_only
def numbers(request: HttpRequest, public_id: str) -> HttpResponse:
    """What changed on the page since it was shown: the counts, and the statistics where newer.

    Asked for all the time, so that it looks at the state of the ratings before it counts any.
    """
    study = study_for(request.user, public_id)
    look = _look(study)
    if request.GET.get("shown") == look.token:
        is_over = study.status == Study.Status.CLOSED and not look.is_moving
        return HttpResponse(status=STOP_POLLING if is_over else 204)
    has_newer = request.GET.get("statistics") != look.snapshot.watermark
    context = _context(study, look, with_sections=has_newer)
    return render(request, "metrics/changes.html", context | {"has_newer": has_newer})


@require_safe
@researchers_only
def report(request: HttpRequest, public_id: str) -> HttpResponse:
    """Exactly the report that the dashboard shows, as a file."""
    made = _report(study_for(request.user, public_id))
    answer = JsonResponse(made, json_dumps_params={"indent": 1, "allow_nan": False})
    answer["Content-Disposition"] = 'attachment; filename="report.json"'
    return answer


@require_safe
@researchers_only
def figure(request: HttpRequest, public_id: str, criterion: str, name: str) -> HttpResponse:
    """One figure as an SVG file."""
    section = _report(study_for(request.user, public_id))["criteria"].get(criterion)
    if section is None:
        raise Http404("No such criterion.")
    picture = _figure(section, name)
    if not picture:
        raise Http404("This figure needs ratings that are not there yet.")
    answer = HttpResponse(picture, content_type="image/svg+xml")
    answer["Content-Disposition"] = f'attachment; filename="{name}.svg"'
    return answer


@api_view(["GET"])
def report_api(request: Request, public_id: str) -> Response:
    """The report for programs, by session."""
    return Response(_report(study_for(request.user, public_id)))


def _figure(section: dict[str, Any], name: str) -> str:
    if name == "separability" and "rating_sets" in section:
        return separability_chart(section["rating_sets"])
    if name == "perception":
        return perception_pictures(section)[0][1]
    return ""


def _report(study: Study) -> dict[str, Any]:
    snapshot = ReportSnapshot.objects.filter(study=study, report__isnull=False).first()
    if snapshot is None or snapshot.report is None:
        raise Http404("There is no report yet: open the dashboard, and it is made.")
    # A database need not keep the order of an object's keys.
    criteria = {
        name: snapshot.report["criteria"][name] for name in snapshot.report["criteria_order"]
    }
    return {**snapshot.report, "criteria": criteria}


@dataclass(frozen=True)
class _Look:
    """A study's newest report, the state of its ratings now, and why there is none newer."""

    snapshot: ReportSnapshot
    state: str
    status: str
    problem: DomainError | None

    @property
    def is_stale(self) -> bool:
        return self.snapshot.watermark != self.state

    @property
    def is_moving(self) -> bool:
        return self.is_stale and bool(self.snapshot.requested)

    @property
    def token(self) -> str:
        """Two looks with the same one show the same page."""
        problem = self.problem.code if self.problem else ""
        parts = (self.state, self.snapshot.watermark, self.status, self.is_moving, problem)
        return hashlib.sha256(repr(parts).encode()).hexdigest()[:16]


def _look(study: Study) -> _Look:
    state, problem = watermark(study), None
    try:
        snapshot = ensure_fresh(study=study, state=state)
    except DomainError as error:
        snapshot, problem = ReportSnapshot.objects.get(study=study), error
    return _Look(snapshot, state, study.status, problem)


def _context(study: Study, look: _Look, *, with_sections: bool = True) -> dict[str, Any]:
    made = look.snapshot.report
    return {
        "study": study,
        "progress": study_counts(study),
        "look": look,
        "snapshot": look.snapshot,
        "report": made,
        "sections": sections(made) if made and with_sections else [],
    }
