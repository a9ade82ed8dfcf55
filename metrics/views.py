"""The dashboard of one study, its report as JSON, and its figures as files."""

from typing import Any

from django.http import Http404, HttpRequest, HttpResponse, JsonResponse
from django.shortcuts import render
from django.views.decorators.http import require_safe
from rest_framework.decorators import api_view
from rest_framework.request import Request
from rest_framework.response import Response

from annotation.selectors import progress
from metrics.charts import separability_chart
from metrics.dashboard import perception_pictures, sections
from metrics.models import ReportSnapshot
from metrics.services import ensure_fresh
from studies.access import researchers_only, study_for
from studies.errors import DomainError
from studies.models import Study

STOP_POLLING = 286  # htmx's word for: no more of this


@require_safe
@researchers_only
def dashboard(request: HttpRequest, public_id: str) -> HttpResponse:
    study = study_for(request.user, public_id)
    return render(request, "metrics/dashboard.html", _context(study))


@require_safe
@researchers_only
def numbers(request: HttpRequest, public_id: str) -> HttpResponse:
    """The part of the page that changes; nothing at all if it is as new as the page's."""
    study = study_for(request.user, public_id)
    context = _context(study)
    shown = request.GET.get("shown", "")
    if context["watermark"] == shown and not context["is_moving"]:
        return HttpResponse(status=204 if study.status == Study.Status.OPEN else STOP_POLLING)
    return render(request, "metrics/numbers.html", context)


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


def _context(study: Study) -> dict[str, Any]:
    problem = ""
    try:
        snapshot = ensure_fresh(study=study)
    except DomainError as error:
        snapshot, problem = ReportSnapshot.objects.get(study=study), error.message
    made = snapshot.report
    return {
        "study": study,
        "progress": progress(study),
        "snapshot": snapshot,
        "report": made,
        "sections": sections(made) if made else [],
        "watermark": snapshot.watermark,
        "is_moving": snapshot.requested not in {"", snapshot.watermark},
        "is_open": study.status == Study.Status.OPEN,
        "problem": problem,
    }
