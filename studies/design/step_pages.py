"""The steps *Data* and *Task* of a study, and its members."""

from collections.abc import Iterable
from functools import cached_property
from typing import Any, ClassVar, cast

from django import forms
from django.contrib import admin
from django.db.models import Exists, F, OuterRef, QuerySet, Subquery
from django.http import HttpRequest

from studies.access import Right, datasets_of, studies_of
from studies.data.text_formats import formats_in_words
from studies.design.field_rows import FieldRows, names_of_fields
from studies.design.opened_rows import OpenedRows
from studies.design.order_fields import CountsFromOne
from studies.design.scale_cards import ScaleCards
from studies.design.step_admin import DesignRows, StepAdmin, StepRows, step_page
from studies.design.steps import count_of
from studies.members.memberships import Members, MembershipForm
from studies.models import Criterion, Generation, Membership, Study, StudySystem, System
from studies.services import is_frozen
from studies.systems.services import imported
from tiebreak.reading.words import scale_in_words

# The pages of the preview that show what this step changes.
LABELS = ("source_label", "left_label", "right_label")
READ = "What annotators read"  # the questions follow it
ASKED = ("name", "question", "scale", "frozen_scale")
FIELDS_HELP = "Such as a passage or background. These are the columns of your table that are neither source nor texts."
PREVIEW_PAGES = (("unit", "Task"), ("guidelines", "Guidelines"), ("welcome", "Welcome"))


class SystemsOfDataset(OpenedRows):
    """Refuses systems that are not in the dataset chosen in the same form."""

    def clean(self) -> None:
        super().clean()
        remaining = [form for form in self.forms if form not in self.deleted_forms]
        # In an opened study the rows are read-only, and their forms clean the primary key only.
        rows = [form.instance for form in remaining if form.is_valid() and form.instance.system_id]
        dataset = self.instance.dataset_id
        foreign = [row.system.name for row in rows if row.system.dataset_id != dataset]
        if foreign:
            raise forms.ValidationError(
                f"These systems are not in the study's dataset: {', '.join(foreign)}. Please"
                " remove them. If you list no systems, the study uses all of its dataset.",
                code="system_of_another_dataset",
            )


class SystemRows(CountsFromOne, DesignRows, admin.StackedInline[StudySystem, Study]):
    model = StudySystem
    formset = SystemsOfDataset
    fields = ("position", "system")
    verbose_name = "system that was left out"
    verbose_name_plural = "Order in exports, and systems that this study leaves out"
    classes = ("collapse",)
    removes = "Leave out"
    purpose = "A system that is left out is not rated in this study. Its texts stay."

    def get_queryset(self, request: HttpRequest) -> QuerySet[StudySystem]:
        return super().get_queryset(request).select_related("system")

    def get_formset(self, request: HttpRequest, obj: Study | None = None, **kwargs: Any) -> Any:
        """Offer the systems of the study's stored dataset, or none if it has no dataset."""
        formset = super().get_formset(request, obj, **kwargs)
        systems = System.objects.for_studies().filter(dataset__in=datasets_of(request.user))
        field = formset.form.base_fields.get("system")
        if isinstance(field, forms.ModelChoiceField):  # absent if the design is frozen
            field.queryset = systems.filter(dataset=obj.dataset_id if obj else None)
            # Read once, not once for every row; a list would count the rows before.
            field.choices = [*iter(cast(Iterable[Any], field.choices))]
        return formset


class DataStep(StepAdmin):
    slug = "data"
    url_name = "studies:data"
    change_form_template = "studies/data.html"
    fieldsets = (("What is rated", {"fields": ("dataset", "unit_kind")}),)
    inlines = (SystemRows,)

    @cached_property
    def systems(self) -> list[Any]:
        """The systems of the study's dataset, with the numbers of their texts."""
        if self.study.dataset is None:
            return []
        texts = Generation.objects.filter(system=OuterRef("pk"))
        counts = {
            "dummies": count_of(texts.filter(is_dummy=True)),
            "texts": count_of(texts) - F("dummies"),
        }
        used = self.study.study_systems.filter(system=OuterRef("pk"))
        systems = self.study.dataset.systems.for_studies().annotate(
            **counts,
            imported=Exists(imported(texts)),
            is_used=Exists(used),
            place=Subquery(used.values("position")),
        )
        # As every other page has them; last those that this study leaves out.
        return list(systems.order_by(F("place").asc(nulls_last=True), "name"))

    def get_inlines(self, request: HttpRequest, obj: Study | None) -> Any:  # noqa: ARG002
        """Leave out the list where there is nothing to list."""
        return self.inlines if self.systems else ()

    def context_of(self, request: HttpRequest, study: Study) -> dict[str, Any]:
        if study.dataset is None:
            return {}
        scoring = studies_of(request.user, Right.READ).filter(pk=study.survey_for_id)
        return {
            "instances": study.dataset.instances.count(),
            "systems": self.systems,
            "may_change": not is_frozen(study) and self.has_change_permission(request, study),
            "has_own": any(not system.perturbation for system in self.systems),
            "formats": formats_in_words(study),
            "scoring_study": scoring.first() if study.survey_for_id else None,
        }


class CriterionRows(CountsFromOne, DesignRows, admin.StackedInline[Criterion, Study]):
    model = Criterion
    fields = ("name", "question", "scale", "reason", "reason_length", "position")
    readonly_fields = (*CountsFromOne.readonly_fields, "frozen_scale")  # type: ignore[misc]
    verbose_name, verbose_name_plural = "question", "Questions"

    def formfield_for_dbfield(self, db_field: Any, request: HttpRequest, **kwargs: Any) -> Any:
        if db_field.name == "scale":
            kwargs |= {"widget": ScaleCards, "help_text": ""}
        return super().formfield_for_dbfield(db_field, request, **kwargs)

    def get_fieldsets(self, request: HttpRequest, obj: Study | None = None) -> Any:
        """Fold what is seldom changed: reasons and the order of questions."""
        names = self.get_fields(request, obj)
        first = [name for name in names if name in ASKED]
        more = [name for name in names if name not in ASKED]
        return (
            (None, {"fields": first}),
            ("Reasons and order", {"fields": more, "classes": ("collapse",)}),
        )

    def get_fields(self, request: HttpRequest, obj: Study | None = None) -> Any:
        fields = super().get_fields(request, obj)
        if self.has_change_permission(request, obj):
            return fields
        return ["frozen_scale" if name == "scale" else name for name in fields]

    @admin.display(description="scale")
    def frozen_scale(self, criterion: Criterion) -> str:
        return scale_in_words(criterion.scale).capitalize()


def _folded(title: str, *fields: str) -> tuple[str, dict[str, Any]]:
    return title, {"fields": fields, "classes": ("collapse",)}


class TaskStep(StepAdmin):
    slug = "task"
    url_name = "studies:task"
    change_form_template = "studies/task.html"
    fieldsets = (
        ("The study", {"fields": ("title",)}),
        (READ, {"fields": ("guidelines", "consent")}),
        _folded(
            "How texts are shown",
            *("source_format", "generation_format", "reference_format", "translation"),
        ),
        _folded("Further texts", "fields"),
        _folded("What else annotators may say", "nonresponses", "unlabelled_tasks", "comments"),
        _folded("Labels of the parts", *LABELS),
        _folded("If a person asks to be erased", "erasure"),
    )
    inlines = (CriterionRows,)

    def get_fieldsets(self, *_: Any) -> Any:
        """Leave out further texts where there are none."""
        has_more = bool(self.study.fields or names_of_fields(self.study.dataset_id))
        return [part for part in self.fieldsets if has_more or "fields" not in part[1]["fields"]]

    def formfield_for_dbfield(self, db_field: Any, request: HttpRequest, **kwargs: Any) -> Any:
        if db_field.name == "fields":
            kwargs |= {
                "widget": FieldRows(names_of_fields(self.study.dataset_id)),
                "help_text": FIELDS_HELP,
            }
        return super().formfield_for_dbfield(db_field, request, **kwargs)

    def context_of(self, request: HttpRequest, study: Study) -> dict[str, Any]:  # noqa: ARG002
        return {"preview_pages": PREVIEW_PAGES, "rows_after": READ}


class MemberRows(StepRows, admin.StackedInline[Membership, Study]):
    model = Membership
    form = MembershipForm
    formset = Members
    to_change = Right.OWN
    verbose_name = "member"
    verbose_name_plural = "Members"

    def get_queryset(self, request: HttpRequest) -> QuerySet[Membership]:
        return super().get_queryset(request).select_related("user")


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
