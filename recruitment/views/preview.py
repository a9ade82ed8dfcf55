"""A preview of the annotators' pages for the researcher. It stores and reserves nothing."""

from collections.abc import Iterable
from itertools import groupby
from typing import Any

from csp.constants import SELF
from csp.decorators import csp_replace
from django.http import Http404, HttpRequest, HttpResponse
from django.shortcuts import render
from django.views.decorators.cache import never_cache
from django.views.decorators.clickjacking import xframe_options_sameorigin
from django.views.decorators.http import require_http_methods, require_safe

from annotation.models import HIT, HITUnit
from annotation.selectors import UnitProgress, mixes_in_checks
from annotation.views.unit_presentation import unit_page
from recruitment.models import Channel
from recruitment.services.channels import channel_statuses
from studies.access import Right, researchers_only, right_for, study_for
from studies.markdown import render_markdown
from studies.models import Criterion, Generation, Study, System, Unit
from studies.typed_task import typed_task

TEMPLATES = {
    "welcome": "recruitment/welcome.html",
    "guidelines": "annotation/guidelines.html",
    "unit": "annotation/unit.html",
}
PAGES = {"welcome": "Welcome", "guidelines": "Guidelines", "unit": "Rating"}


@require_safe
@never_cache
def preview(request: HttpRequest, study_id: str) -> HttpResponse:
    study = study_for(request.user, study_id, Right.READ)
    name = request.GET.get("page", "welcome")
    return _page(request, study, name, study.criteria.all())


@require_http_methods(["GET", "HEAD", "POST"])
@never_cache
@researchers_only
@xframe_options_sameorigin
@csp_replace({"frame-ancestors": [SELF]})  # type: ignore[arg-type]  # knows no arguments
def typed_preview(request: HttpRequest, study_id: str) -> HttpResponse:
    """Show a page within the step Task, with what is typed there and not saved yet."""
    study = study_for(request.user, study_id, right_for(request))
    criteria = typed_task(study, request.POST)
    name = request.POST.get("page", request.GET.get("page", "unit"))
    return _page(request, study, name, criteria, embedded=True)


def _page(
    request: HttpRequest,
    study: Study,
    name: str,
    criteria: Iterable[Criterion],
    *,
    embedded: bool = False,
) -> HttpResponse:
    if name not in PAGES:
        raise Http404("The preview has no such page.")
    context = {
        "study": study,
        "preview": PAGES,
        "preview_page": name,
        "embedded": embedded,
        "consent": render_markdown(study.consent),
        "guidelines": render_markdown(study.guidelines),
        "criteria": criteria,
        **(_sample(study, criteria) if name == "unit" else {}),
        **(_by_channel(request, study) if name == "welcome" else {}),
    }
    return render(request, TEMPLATES[name], context)


def _by_channel(request: HttpRequest, study: Study) -> dict[str, Any]:
    """Return the privacy notice of the chosen channel, because it depends on the channel."""
    statuses = {
        status.platform.name: status
        for status in channel_statuses(study)
        if status.channel or status.is_open
    }
    titles = {name: status.platform.title for name, status in statuses.items()}
    via = request.GET.get("via", next(iter(titles)))
    if via not in titles:
        raise Http404("The study has no such channel.")
    channel = statuses[via].channel or Channel(study=study, provider=via)
    return {
        "privacy_notice": statuses[via].platform.privacy_notice(channel),
        "channels": titles,
        "via": via,
    }


def _sample(study: Study, criteria: Iterable[Criterion]) -> dict[str, Any]:
    """Return the page of the first planned unit or, before planning, of an unsaved one."""
    hit_units = HITUnit.objects.filter(hit__study=study, hit__kind=HIT.Kind.MAIN).order_by(
        "hit__number", "pk"
    )
    hit_unit = hit_units.select_related(
        "unit__generation_a", "unit__generation_b", "unit__instance", "hit"
    ).first()
    unit = hit_unit.unit if hit_unit else unplanned_unit(study)
    a_first = hit_unit is None or not hit_unit.side_bit
    n = hit_unit.hit.hit_units.count() if hit_unit else study.comparisons_per_hit
    return {
        "page": unit and unit_page(unit, criteria, a_first=a_first, shown_labels={}),
        "has_dummies": unit is not None and _has_dummies(unit),
        "progress": UnitProgress(index=1, min_units=n, max_units=n + mixes_in_checks(study)),
        "hit": 1,
        "hits": study.hits.main().count() or 1,
    }


def _has_dummies(unit: Unit) -> bool:
    texts = (unit.generation_a, unit.generation_b)
    return any(text is not None and text.is_dummy for text in texts)


def unplanned_unit(study: Study) -> Unit | None:
    """Return an unsaved unit of the first instance with enough generations, or None."""
    needed = 2 if study.unit_kind == Study.UnitKind.COMPARISON else 1
    systems = _systems(study)[:needed]
    if len(systems) < needed:
        return None
    rows = (
        Generation.objects.filter(instance__dataset=study.dataset_id, system__in=systems)
        .select_related("instance")
        .order_by("instance", "sample_index")
    )
    for _, samples in groupby(rows, key=lambda row: (row.instance_id, row.sample_index)):
        by_system = {row.system_id: row for row in samples}
        if len(by_system) == needed:
            return _unit(study, [by_system[system] for system in systems])
    return None


def _systems(study: Study) -> list[int]:
    system_ids = list(study.study_systems.values_list("system_id", flat=True))
    if system_ids or study.dataset is None:
        return system_ids
    competing = System.objects.competing().filter(dataset=study.dataset)
    return list(competing.values_list("pk", flat=True))


def _unit(study: Study, generations: list[Generation]) -> Unit:
    first, second = generations[0], generations[-1] if len(generations) == 2 else None
    return Unit(
        study=study,
        instance=first.instance,
        system_a_id=first.system_id,
        generation_a=first,
        system_b_id=second.system_id if second else None,
        generation_b=second,
    )
