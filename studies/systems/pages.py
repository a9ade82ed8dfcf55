"""The form of a system, which the step Data opens in place, and the names of a server's models."""

from typing import Any

from django.contrib import messages
from django.db import transaction
from django.http import Http404, HttpRequest, HttpResponse
from django.shortcuts import get_object_or_404, redirect, render
from django.views.decorators.http import require_http_methods, require_safe

from studies.access import Right, researchers_only, right_for, study_for
from studies.design.opened_forms import take_turn
from studies.model_servers import model_names, server_names
from studies.models import Dataset, System
from studies.refusals import told_on
from studies.services import check_is_draft, is_frozen
from studies.systems.forms import ChangedSystemForm, SystemForm
from studies.systems.presets import PRESETS
from studies.systems.services import NOT_A_DRAFT, add_system, change_system
from tiebreak.errors import DomainError

SAVED = "Saved {name}. Generate & select makes its texts, and tries it out before."
# What is kept when a task fills in the rest.
KEPT = ("name", "server", "language_model")


@require_http_methods(["GET", "HEAD", "POST"])
@researchers_only
@transaction.atomic
def system(request: HttpRequest, study_id: str) -> HttpResponse:
    """Add a system, maybe as a copy of one that the address names, or change the one that it names."""
    take_turn(request, study_id)
    study = study_for(request.user, study_id, right_for(request))
    if study.dataset is None:
        raise Http404("The study has no dataset.")
    if request.method == "POST":  # other studies of the dataset have this page, too
        Dataset.objects.select_for_update(no_key=True).get(pk=study.dataset_id)
    stored = _named(study.dataset, request.GET.get("system", ""))
    copied = _named(study.dataset, request.GET.get("copy", ""))
    of = stored or _begun(study.dataset, copied)
    kind = ChangedSystemForm if stored else SystemForm
    form = kind(study.dataset, request.POST or None, system=of, initial=_initial(request))
    if form.is_bound:
        with told_on(form):  # also where a value is missing
            check_is_draft(study, NOT_A_DRAFT)
    if form.is_bound and form.is_valid():
        with told_on(form):
            values = form.settings()
            saved = (
                change_system(study=study, system=stored, **values)
                if stored
                else add_system(study=study, **values)
            )
            messages.success(request, SAVED.format(name=saved.name))
            return redirect("studies:data", study.pk)
    context = {
        "here": "data",
        "study": study,
        "form": form,
        "title": f"Change {stored}" if stored else f"Like {copied}" if copied else "New system",
        "presets": PRESETS,
        "has_servers": bool(server_names()),
        "is_frozen": is_frozen(study),
        # In place, the button of the step leads on once there is a system.
        "is_primary": "HX-Request" not in request.headers or not study.systems.exists(),
        "goes_on_by_saving": True,
    }
    status = 400 if form.is_bound else 200
    return render(request, "studies/system.html", context, status=status)


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


def _named(dataset: Dataset, name: str) -> System | None:
    systems = System.objects.competing().filter(dataset=dataset)
    return get_object_or_404(systems, name=name) if name else None


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
    kept = {name: request.GET[name] for name in KEPT if name in request.GET}
    return kept | preset if preset else {}
