"""Steps of a study as forms of the admin: parts of the study's form, each on a separate page.

Permissions, validation and history come from the admin. A step shows fewer fields and rows.
"""

from typing import Any, ClassVar

from django.contrib import admin, messages
from django.http import HttpRequest, HttpResponse, HttpResponseRedirect
from django.shortcuts import redirect
from django.urls import reverse
from django.views.decorators.http import require_http_methods

from studies.access import Right, View, researchers_only, right_for, study_for, user_of
from studies.admin import ForResearchers, OwnDatasets, PlainFields
from studies.design.design_form import StudyDesignForm
from studies.design.opened_rows import OpenedRows
from studies.design.steps import place_of, study_frame
from studies.models import Study
from studies.services import FROZEN_FIELDS, is_frozen, save_design, use_dataset_systems


class StepAdmin(OwnDatasets, ForResearchers, admin.ModelAdmin[Study]):
    """A part of the study's form. A subclass names its fields, its rows and its template."""

    # A step is made for one request, and its study is looked up once.
    study: Study
    form = StudyDesignForm
    slug: ClassVar[str]
    url_name: ClassVar[str]
    change_form_template = "studies/step.html"
    fieldsets: ClassVar[Any] = ()
    inlines: ClassVar[tuple[Any, ...]] = ()

    def get_fieldsets(self, *_: Any) -> Any:
        return self.fieldsets

    def get_object(self, request: HttpRequest, *_: Any, **__: Any) -> Study:
        if request.method == "POST":  # it was read before its row was locked
            self.study.refresh_from_db()
        return self.study

    def get_readonly_fields(self, request: HttpRequest, obj: Study | None = None) -> list[str]:  # noqa: ARG002
        return list(FROZEN_FIELDS) if is_frozen(self.study) else []

    def save_model(self, request: HttpRequest, obj: Study, form: Any, change: bool) -> None:  # noqa: ARG002
        save_design(study=obj, by=user_of(request))

    def save_related(self, request: HttpRequest, form: Any, formsets: Any, change: bool) -> None:
        super().save_related(request, form, formsets, change)
        use_dataset_systems(study=form.instance)

    def right_for(self, request: HttpRequest) -> Right:
        return self.to_change if right_for(request) == Right.CHANGE else Right.READ

    def context_of(self, request: HttpRequest, study: Study) -> dict[str, Any]:  # noqa: ARG002
        """Return what the template needs in addition to the form."""
        return {}

    def change_view(
        self,
        request: HttpRequest,
        object_id: str,
        form_url: str = "",
        extra_context: dict[str, Any] | None = None,
    ) -> HttpResponse:
        study = self.study = study_for(request.user, object_id, self.right_for(request))
        context = {
            "study": study,
            "here": self.slug,
            "is_frozen": is_frozen(study),
            "can_save": self.has_change_permission(request, study),
            "goes_on_by_saving": True,
            **self.context_of(request, study),
        }
        # Django would look for the template of the study's complete form.
        return admin.ModelAdmin.change_view(
            self, request, object_id, form_url, context | (extra_context or {})
        )

    def response_change(self, request: HttpRequest, obj: Study) -> HttpResponseRedirect:
        """Go to the next step in which something is missing, to a new row, or back to the step, with everything saved."""
        if request.POST.get("_next") != "skip":
            self.message_user(request, "Saved.", messages.SUCCESS)
        if "_next" in request.POST:
            frame = study_frame(obj, request.user, place_of(self.slug))
            return redirect((frame.next_step or frame.steps[-1]).url)
        here = reverse(self.url_name, args=[obj.pk])
        if prefix := request.POST.get("_add", ""):
            known = {inline.model._meta.model_name for inline in self.inlines}
            return redirect(f"{here}?add={prefix}") if prefix in known else redirect(here)
        return redirect(here)


class StepRows(PlainFields, ForResearchers):
    """A mixin for rows of a step: without JavaScript, an empty row comes with the next page."""

    model: Any
    formset: Any = OpenedRows

    def get_extra(self, request: HttpRequest, obj: Study | None = None, **_: Any) -> int:  # noqa: ARG002
        return int(request.GET.get("add") == self.model._meta.model_name)


class DesignRows(StepRows):
    """A mixin for rows of the design, which become read-only when the study is opened."""

    def has_add_permission(self, request: HttpRequest, obj: Study | None = None) -> bool:
        return self.has_change_permission(request, obj)

    def has_change_permission(self, request: HttpRequest, obj: Study | None = None) -> bool:
        is_open_to_change = obj is None or not is_frozen(obj)
        return is_open_to_change and super().has_change_permission(request, obj)

    def has_delete_permission(self, request: HttpRequest, obj: Study | None = None) -> bool:
        return self.has_change_permission(request, obj)


def step_page(admin_class: type[StepAdmin]) -> View:
    """Return the view of a step."""

    @require_http_methods(["GET", "HEAD", "POST"])
    @researchers_only
    def page(request: HttpRequest, study_id: str) -> HttpResponse:
        return admin_class(Study, admin.site).change_view(request, study_id)

    return page
