"""Changes of a study's design by programs, by the forms of the pages."""

from typing import Any

from django.db import transaction
from django.forms import modelform_factory
from rest_framework.request import Request

from api.access import researcher, visible_dataset
from api.messages import UNKNOWN_STUDY
from api.validation import checked_form
from recruitment.services.settings import save_settings
from studies.access import studies_of
from studies.design.design_form import StudyDesignForm
from studies.design.opened_forms import NAME
from studies.models import ComprehensionQuestion, Criterion, Screening, Study, StudySystem
from studies.models.settings import SETTINGS
from studies.services import save_rows, systems_named, use_dataset_systems
from tiebreak.errors import DomainError


def change_design(study: Study, values: dict[str, Any], request: Request) -> int | None:
    """Save what is given of a design, or nothing. Return how many places more ratings added."""
    names = [name for name in ("title", "dataset", *SETTINGS) if name in values]
    with transaction.atomic():
        added = _save_settings(study, {name: values[name] for name in names}, request)
        for model, rows in _rows(study, values, request).items():
            save_rows(study=study, model=model, rows=rows)
        use_dataset_systems(study=study)
    return added


def _save_settings(study: Study, values: dict[str, Any], request: Request) -> int | None:
    """Save settings by the form of the pages so that pages and programs have the same rules."""
    if not values:
        return None
    if "dataset" in values:
        visible_dataset(request, values["dataset"])
    form_class: Any = modelform_factory(Study, form=StudyDesignForm, fields=list(values))
    # A program names what it changes, and has opened no page.
    form = form_class(values | {NAME: form_class(instance=study).digests()}, instance=study)
    checked_form(form)
    return save_settings(study=form.instance, by=researcher(request))


def _rows(study: Study, values: dict[str, Any], request: Request) -> dict[type, Any]:
    numbered = {"criteria": Criterion, "comprehension": ComprehensionQuestion}
    rows: dict[type, Any] = {
        model: [{**row, "position": n} for n, row in enumerate(values[name])]
        for name, model in numbered.items()
        if name in values
    }
    if "systems" in values:
        systems = systems_named(study, values["systems"])
        rows[StudySystem] = [{"system": s, "position": n} for n, s in enumerate(systems)]
    if "screening" in values:
        screening = values["screening"]
        other = (screening or {}).get("accepts_from_id")
        if other and not studies_of(request.user).filter(pk=other).exists():
            raise DomainError("unknown_study", UNKNOWN_STUDY, status=404)
        rows[Screening] = [screening] if screening else []
    return rows
