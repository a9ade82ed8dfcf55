"""A preview of the annotators' pages for the researcher. It stores and reserves nothing."""

from collections.abc import Callable, Sequence
from functools import partial
from itertools import groupby
from typing import Any, NamedTuple

from django.db.models import QuerySet
from django.http import Http404, HttpRequest, HttpResponse
from django.shortcuts import render
from django.utils.functional import SimpleLazyObject
from django.views.decorators.cache import never_cache
from django.views.decorators.http import require_http_methods, require_safe

from annotation.forms import ComprehensionForm
from annotation.models import HIT, HITUnit, Participation, Rater
from annotation.selectors import (
    UnitProgress,
    expected_items,
    has_test,
    marks_differences,
    mixes_in_checks,
    reference_units,
)
from annotation.services.screening import screening_of
from annotation.views.comment_box import CommentBox
from annotation.views.unit_presentation import UnitPage, unit_page
from recruitment.admission import collection_of, newcomers_pay
from recruitment.framing import allow_frames
from recruitment.models import Channel, Submission
from recruitment.platforms import Ending, Platform, get_platform
from recruitment.services.channels import channel_statuses
from recruitment.views.entry import about_channel
from studies.access import Right, of_study, study_for
from studies.design.typed_task import typed_task
from studies.instance_selection.set_aside import set_aside
from studies.markdown import render_markdown
from studies.models import Criterion, Generation, Screening, Study, System, Unit, UnitText, texts_of

STAGES = {"practice": Unit.Role.TRAINING, "test": Unit.Role.QUALIFICATION}
EXAMPLE = "EXAMPLE"
PHONE = {"width": 360, "height": 740}


@require_safe
@never_cache
def preview(request: HttpRequest, study_id: str) -> HttpResponse:
    """Show a page as annotators see it, on this screen or in a frame as wide as a phone."""
    study = study_for(request.user, study_id, Right.READ)
    name, screen = request.GET.get("page", "welcome"), request.GET.get("screen", "")
    return _page(request, study, name, list(study.criteria.all()), screen=screen)


@require_http_methods(["GET", "HEAD", "POST"])
@never_cache
@of_study()
def typed_preview(request: HttpRequest, study: Study) -> HttpResponse:
    """Show a page within the Task step, with what is typed there and not saved yet, or a part of it within Launch."""
    criteria = typed_task(study, request.POST)
    name = request.POST.get("page", request.GET.get("page", "unit"))
    embedded = "part" if "part" in request.GET else "whole"
    return _page(request, study, name, criteria, screen="framed", embedded=embedded)


def _page(
    request: HttpRequest,
    study: Study,
    name: str,
    criteria: Sequence[Criterion],
    *,
    screen: str,
    embedded: str = "",
) -> HttpResponse:
    """Return a page; a "framed" one has no navigation, and an ``embedded`` one runs no script.

    Of one embedded as a "part", what stands around the texts and the question is left out.
    """
    if name not in PAGES:
        raise Http404("The preview has no such page.")
    pages = pages_in(study)
    context = {
        "study": study,
        "preview": {key: page.title for key, page in pages.items()},
        "preview_page": name,
        "screen": screen,
        "embedded": embedded,
        "via": request.GET.get("via", ""),
    }
    if screen == "phone":
        context |= {"title": PAGES[name].title, "phone": PHONE}
        return render(request, "recruitment/preview_phone.html", context)
    page = PAGES[name]
    if name in pages:
        parts, template = page.context(request, study, criteria), page.template
    else:
        parts, template = {"title": page.title}, "recruitment/preview_absent.html"
    context |= _controls(study) | parts
    response = render(request, template, context)
    return allow_frames(response, ["'self'"]) if screen == "framed" else response


def _controls(study: Study) -> dict[str, Any]:
    """Return what annotators of the first channel may do on each page, though nothing of it works."""

    def participation() -> Participation:
        provider = study.channels.values_list("provider", flat=True).first()
        terms = {"paid_per": get_platform(provider).paid_per} if provider else {}
        return Participation(study=study, **terms)

    comment = CommentBox("") if study.comments else None
    return {
        "participation": SimpleLazyObject(participation),
        "comment": comment,
        "marks_differences": marks_differences(study),
    }


def _welcome(request: HttpRequest, study: Study, criteria: Sequence[Criterion]) -> dict[str, Any]:
    _, channel, shown = _by_channel(request, study)
    said = {"consent": render_markdown(study.consent), "criteria": criteria}
    return said | about_channel(channel) | shown


def _quick_check(
    _request: HttpRequest, study: Study, _criteria: Sequence[Criterion]
) -> dict[str, Any]:
    screening, form = screening_of(study), ComprehensionForm(list(study.comprehension.all()))
    return {"form": form, "left": (screening or Screening()).comprehension_tries}


def _finish(request: HttpRequest, study: Study, _criteria: Sequence[Criterion]) -> dict[str, Any]:
    """Return the last page of someone who did all HITs, with an invented code."""
    platform, channel, shown = _by_channel(request, study)
    rater = Rater(provider=channel.provider, external_id=EXAMPLE)
    participation = Participation(
        study=study, rater=rater, submission_id=EXAMPLE, paid_per=platform.paid_per
    )
    submission = Submission(participation=participation, completion_code=EXAMPLE)
    done = newcomers_pay(channel, collection_of(study).hits).tasks_each or 1
    vars(participation)["hits"] = done  # as the ledger counts them
    instructions = platform.return_instructions(channel, submission, Ending.COMPLETED)
    return {"is_completed": True, "done": done, "return_instructions": instructions, **shown}


def _by_channel(request: HttpRequest, study: Study) -> tuple[Platform, Channel, dict[str, Any]]:
    """Return the chosen channel with its platform, and the channels to choose from."""
    statuses = {
        status.platform.name: status for status in channel_statuses(study) if status.is_used
    }
    titles = {name: status.platform.title for name, status in statuses.items()}
    via = request.GET.get("via") or next(iter(titles))
    if via not in titles:
        raise Http404("The study has no such channel.")
    channel = statuses[via].channel or Channel(study=study, provider=via)
    return statuses[via].platform, channel, {"channels": titles, "via": via}


def _reference_unit(
    name: str, _request: HttpRequest, study: Study, criteria: Sequence[Criterion]
) -> dict[str, Any]:
    """Return the page of the first unit of the training or the test."""
    screening = screening_of(study)
    units, n = _stage(name, study, screening)
    assert screening is not None
    hit_unit = _with_texts(HITUnit.objects.filter(unit=units[0].pk)).first()
    assert hit_unit is not None
    return {
        "page": _page_of(hit_unit, study, criteria),
        "progress": UnitProgress(index=1, of=n, stage=STAGES[name].value),
        "needed": screening.pass_mark,
    }


def _stage(name: str, study: Study, screening: Screening | None) -> tuple[list[Unit], int]:
    """Return the reference units of the training or the test, and how many it has; none if it has none."""
    n = getattr(screening, f"{STAGES[name].value}_units", 0)
    return reference_units(study, STAGES[name]) if n else [], n


def _sample(_request: HttpRequest, study: Study, criteria: Sequence[Criterion]) -> dict[str, Any]:
    """Return the page of the first planned unit or, before planning, of an unsaved one."""
    planned = HITUnit.objects.filter(hit__study=study, hit__kind=HIT.Kind.MAIN)
    hit_unit = _with_texts(planned.order_by("hit__number", "pk")).first()
    unit = hit_unit.unit if hit_unit else unplanned_unit(study)
    n = hit_unit.hit.hit_units.count() if hit_unit else study.comparisons_per_hit
    tasks, has_checks = study.hits_each(collection_of(study).hits) or 1, mixes_in_checks(study)
    shown = unit and HITUnit(unit=unit, side_bit=bool(hit_unit and hit_unit.side_bit))
    texts = unit.generations if unit else ()
    return {
        "page": shown and _page_of(shown, study, criteria, study.allowed_nonresponses),
        "has_dummies": any(text.is_dummy for text in texts),
        "progress": UnitProgress(index=1, of=n, is_numbered=not has_checks),
        "stays": has_checks,
        "hit": 1,
        "hits": expected_items(study, tasks) if has_checks else tasks,
        "done": 0,
    }


def _with_texts(hit_units: QuerySet[HITUnit]) -> QuerySet[HITUnit]:
    with_units = hit_units.select_related("unit__instance", "hit")
    return with_units.prefetch_related(texts_of("unit__texts"))


def _page_of(
    hit_unit: HITUnit, study: Study, criteria: Sequence[Criterion], nonresponses: Sequence[str] = ()
) -> UnitPage:
    return unit_page(
        hit_unit.unit,
        criteria,
        a_first=not hit_unit.side_bit,
        shown={},
        fields=study.fields,
        nonresponses=nonresponses,
    )


def unplanned_unit(study: Study) -> Unit | None:
    """Return an unsaved unit of the first instance with enough generations that will be rated, or None."""
    needed = 2 if study.unit_kind == Study.UnitKind.COMPARISON else 1
    systems = _systems(study)[:needed]
    if len(systems) < needed:
        return None
    rows = Generation.objects.filter(instance__dataset=study.dataset_id, system__in=systems)
    if study.selected.exists():
        rows = rows.filter(instance__in=study.selected.values("instance"))
    else:
        rows = rows.exclude(instance__in=set_aside(study))
    rows = rows.select_related("instance").order_by("instance", "sample_index")
    for _, samples in groupby(rows, key=lambda row: (row.instance_id, row.sample_index)):
        by_system = {row.system_id: row for row in samples}
        if len(by_system) == needed:
            generations = [by_system[system] for system in systems]
            texts = map(UnitText.showing, generations)
            return Unit.of(texts, study=study, instance=generations[0].instance)
    return None


def _systems(study: Study) -> list[int]:
    system_ids = list(study.study_systems.values_list("system_id", flat=True))
    if system_ids or study.dataset is None:
        return system_ids
    competing = System.objects.competing().filter(dataset=study.dataset)
    return list(competing.values_list("pk", flat=True))


class Page(NamedTuple):
    """A page of annotators: what it is called, and its context in a study that has it."""

    title: str
    template: str
    context: Callable[[HttpRequest, Study, Sequence[Criterion]], dict[str, Any]]


PAGES = {
    "welcome": Page("Consent", "recruitment/welcome.html", _welcome),
    "guidelines": Page(
        "Guidelines",
        "annotation/guidelines.html",
        lambda _, study, criteria: {
            "guidelines": render_markdown(study.guidelines),
            "criteria": criteria,
            "test_follows": has_test(study),
        },
    ),
    "quick-check": Page("Quick check", "annotation/comprehension.html", _quick_check),
    "practice": Page("Practice", "annotation/unit.html", partial(_reference_unit, "practice")),
    "test": Page("Test", "annotation/unit.html", partial(_reference_unit, "test")),
    "unit": Page("Task", "annotation/unit.html", _sample),
    "finish": Page("Finish", "recruitment/end.html", _finish),
}


def pages_in(study: Study) -> dict[str, Page]:
    """Return the pages that annotators of this study meet."""
    screening = screening_of(study)
    has = {name: bool(_stage(name, study, screening)[0]) for name in STAGES}
    has["quick-check"] = study.comprehension.exists()
    return {name: page for name, page in PAGES.items() if has.get(name, True)}
