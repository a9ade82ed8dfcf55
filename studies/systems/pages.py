"""The form of a system, which the step Data opens in place, and the names of a server's models."""

from typing import Any
from urllib.parse import urlencode

from django.contrib import messages
from django.http import Http404, HttpRequest, HttpResponse
from django.shortcuts import get_object_or_404, redirect, render
from django.urls import reverse
from django.views.decorators.http import require_http_methods, require_safe

from studies.access import Right, researchers_only, right_for, study_for
from studies.model_servers import model_names, server_names
from studies.models import Dataset, Study, System
from studies.refusals import told_on
from studies.services import is_frozen
from studies.systems.forms import ChangedSystemForm, SystemForm
from studies.systems.presets import PRESETS
from studies.systems.services import add_system, change_system
from tiebreak.errors import DomainError

ADDED = "Added {name}. Generate & select makes its texts, and tries it out before."
CHANGED = "Changed {name}."
# What is kept when a task fills in the rest.
KEPT = ("name", "server", "language_model")


@require_http_methods(["GET", "HEAD", "POST"])
@researchers_only
def new_system(request: HttpRequest, study_id: str) -> HttpResponse:
    """Add a system, which may begin as a copy of another or with a usual task."""
    study, dataset = _place(request, study_id)
    copied = request.GET.get("copy", "")
    begun = _system_named(dataset, copied) if copied else None
    form = SystemForm(
        dataset, request.POST or None, system=_begun(dataset, begun), initial=_initial(request)
    )
    if form.is_bound and form.is_valid():
        with told_on(form):
            system = add_system(study=study, **form.settings())
            messages.success(request, ADDED.format(name=system.name))
            return redirect("studies:data", study.pk)
    return _page(
        request, study, form, f"The same as {begun.name}, changed" if begun else "New system"
    )


@require_http_methods(["GET", "HEAD", "POST"])
@researchers_only
def changed_system(request: HttpRequest, study_id: str) -> HttpResponse:
    """Change the system that the address names, until its texts are made."""
    study, dataset = _place(request, study_id)
    stored = _system_named(dataset, request.GET.get("system", ""))
    title = f"Change {stored.name}"
    form = ChangedSystemForm(
        dataset, request.POST or None, system=stored, initial=_initial(request)
    )
    if form.is_bound and form.is_valid():
        with told_on(form):
            changed = change_system(study=study, system=stored, **form.settings())
            messages.success(request, CHANGED.format(name=changed.name))
            return redirect("studies:data", study.pk)
    return _page(request, study, form, title)


@require_safe
@researchers_only
def names_of_models(request: HttpRequest, study_id: str) -> HttpResponse:
    """Show which models a server lists, for a form's field, or why it lists none."""
    study_for(request.user, study_id, Right.READ)
    context: dict[str, Any] = {}
    try:
        server = request.GET.get("server", "")
        context["names"] = model_names(server) if server else []
    except DomainError as refusal:
        context["refusal"] = refusal
    return render(request, "studies/model_names.html", context)


def _place(request: HttpRequest, study_id: str) -> tuple[Study, Dataset]:
    study = study_for(request.user, study_id, right_for(request))
    if study.dataset is None:
        raise Http404("The study has no dataset.")
    return study, study.dataset


def _system_named(dataset: Dataset, name: str) -> System:
    if "\0" in name:  # PostgreSQL refuses to look it up
        raise Http404("No system has this name.")
    return get_object_or_404(System.objects.competing(), dataset=dataset, name=name)


def _begun(dataset: Dataset, copied: System | None) -> System:
    """Return a new system: a copy without its name and model, or one on the server used before."""
    if copied is not None:
        names = ("server", "prompt_template", "decoding")
        return System(**{name: getattr(copied, name) for name in names})
    used = dataset.systems.exclude(server="").order_by("-pk").values_list("server", flat=True)
    return System(server=used.first() or next(iter(server_names()), ""))


def _initial(request: HttpRequest) -> dict[str, Any]:
    """Return what the chosen task fills in, and what was entered before it was chosen."""
    preset = PRESETS.get(request.GET.get("task", ""))
    if preset is None:
        return {}
    return {name: request.GET[name] for name in KEPT if name in request.GET} | dict(preset.values)


def _address_for_a_task(request: HttpRequest) -> str:
    """Return the page's address, to which the task is added: it goes on about the same system."""
    kept = {name: request.GET[name] for name in ("system", "copy") if name in request.GET}
    return f"{request.path}?{urlencode(kept)}{'&' if kept else ''}"


def _page(request: HttpRequest, study: Study, form: SystemForm, title: str) -> HttpResponse:
    context = {
        "here": "data",
        "study": study,
        "form": form,
        "title": title,
        "presets": PRESETS,
        "has_servers": bool(server_names()),
        "is_frozen": is_frozen(study),
        # In place, the button of the step leads on once there is a system.
        "is_primary": "HX-Request" not in request.headers or not study.systems.exists(),
        "goes_on_by_saving": True,
        "here_as": _address_for_a_task(request),
        "back": reverse("studies:data", args=[study.pk]),
    }
    status = 400 if form.is_bound else 200
    return render(request, "studies/system.html", context, status=status)
