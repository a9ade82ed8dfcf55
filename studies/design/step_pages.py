"""The steps *Data* and *Task* of a study, and its members."""

from typing import Any, ClassVar

from django.db.models import F, OuterRef
from django.http import HttpRequest

from studies.access import Right, studies_of
from studies.admin import CriterionInline, MembershipInline, SystemInline
from studies.design.scale_cards import ScaleCards
from studies.design.step_admin import AddableRows, StepAdmin, step_page
from studies.design.steps import count_of
from studies.models import Generation, Membership, Study

# The pages of the preview that show what this step changes.
LABELS = ("source_label", "left_label", "right_label")
PREVIEW_PAGES = (("unit", "Task"), ("guidelines", "Guidelines"), ("welcome", "Welcome"))


class SystemRows(AddableRows, SystemInline):
    verbose_name_plural = "Systems, in the order of the results (the first is system A)"


class DataStep(StepAdmin):
    slug = "data"
    url_name = "studies:data"
    change_form_template = "studies/data.html"
    fieldsets = (("What is rated", {"fields": ("dataset", "unit_kind")}),)
    inlines = (SystemRows,)

    def context_of(self, request: HttpRequest, study: Study) -> dict[str, Any]:
        if study.dataset is None:
            return {}
        texts = Generation.objects.filter(system=OuterRef("pk"))
        counts = {
            "dummies": count_of(texts.filter(is_dummy=True), "system"),
            "texts": count_of(texts, "system") - F("dummies"),
        }
        systems = study.dataset.systems.for_studies().order_by("name").annotate(**counts)
        return {
            "instances": study.dataset.instances.count(),
            "systems": list(systems),
            "scoring_study": _scoring_study(request, study),
        }


def _scoring_study(request: HttpRequest, survey: Study) -> Study | None:
    """Return the study from which a survey of experts was made, if the researcher may read it."""
    if survey.survey_for_id is None:
        return None
    return studies_of(request.user, Right.READ).filter(pk=survey.survey_for_id).first()


class CriterionRows(AddableRows, CriterionInline):
    verbose_name, verbose_name_plural = "question", "Questions"
    min_num = 0

    def formfield_for_dbfield(self, db_field: Any, request: HttpRequest, **kwargs: Any) -> Any:
        if db_field.name == "scale":
            kwargs |= {"widget": ScaleCards, "help_text": ""}
        return super().formfield_for_dbfield(db_field, request, **kwargs)


class TaskStep(StepAdmin):
    slug = "task"
    url_name = "studies:task"
    change_form_template = "studies/task.html"
    fieldsets = (
        ("The study", {"fields": ("title",)}),
        ("What annotators read", {"fields": ("guidelines", "consent")}),
        (
            "How texts are shown",
            {
                "fields": (
                    *("source_format", "generation_format", "reference_format"),
                    *("translation", "fields"),
                )
            },
        ),
        (
            "What else annotators may say",
            {"fields": ("nonresponses", "unlabelled_tasks", "comments")},
        ),
        ("Labels of the parts", {"fields": LABELS, "classes": ("collapse",)}),
    )
    inlines = (CriterionRows,)

    def context_of(self, request: HttpRequest, study: Study) -> dict[str, Any]:  # noqa: ARG002
        return {"preview_pages": PREVIEW_PAGES}


class MemberRows(AddableRows, MembershipInline):
    verbose_name_plural = "Members"


class MembersPage(StepAdmin):
    slug = "members"
    url_name = "studies:members"
    change_form_template = "studies/members.html"
    inlines = (MemberRows,)
    to_change: ClassVar[Right] = Right.OWN

    def context_of(self, request: HttpRequest, study: Study) -> dict[str, Any]:  # noqa: ARG002
        return {"roles": Membership.Role.labels}


data = step_page(DataStep)
task = step_page(TaskStep)
members = step_page(MembersPage)
