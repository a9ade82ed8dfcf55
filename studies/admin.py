"""Admin pages of datasets and studies. `recruitment.admin` extends the study page."""

from collections.abc import Iterable
from copy import copy
from typing import TYPE_CHECKING, Any, ClassVar, cast

from django import forms
from django.conf import settings
from django.contrib import admin, messages
from django.contrib.admin.utils import flatten_fieldsets
from django.contrib.auth.models import User
from django.core.paginator import Paginator
from django.db.models import Count, QuerySet
from django.forms.models import BaseInlineFormSet
from django.http import HttpRequest, HttpResponse
from django.shortcuts import redirect

from studies.access import (
    Right,
    datasets_of,
    held_right,
    held_role,
    refuse_below,
    right_for,
    right_in,
    right_in_dataset,
    studies_of,
)
from studies.admin_lookups import DeclaredLookups
from studies.design.analysis_plan import PLAN
from studies.design.opened_forms import LocksRow, OpenedModelForm
from studies.design.order_fields import CountsFromOne
from studies.members.memberships import Members, MembershipForm
from studies.models import Criterion, Dataset, Generation, Membership, Study, StudySystem, System
from studies.models.settings import SETTINGS
from studies.services import (
    FROZEN_FIELDS,
    create_study,
    delete_dataset,
    delete_draft,
    is_frozen,
    save_design,
    use_dataset_systems,
)
from tiebreak.similarity import SIMILARITIES

if TYPE_CHECKING:
    StudyModelAdmin = admin.ModelAdmin[Study]
    DatasetModelAdmin = admin.ModelAdmin[Dataset]
    SystemStacked = admin.StackedInline[StudySystem, Study]
    DatasetSystemStacked = admin.StackedInline[System, Dataset]
    CriterionStacked = admin.StackedInline[Criterion, Study]
    MemberStacked = admin.StackedInline[Membership, Study]
    SystemFormSet = BaseInlineFormSet[StudySystem, Study, forms.ModelForm[StudySystem]]
else:
    StudyModelAdmin = DatasetModelAdmin = admin.ModelAdmin
    SystemStacked = CriterionStacked = MemberStacked = admin.StackedInline
    DatasetSystemStacked = admin.StackedInline
    SystemFormSet = BaseInlineFormSet


class _ForResearchers(LocksRow):
    """Grants model permissions to staff, as far as `studies.access` gives them rights.

    Researchers may add their own objects. What they may do with an object depends on their
    role in the study, or in a study with the dataset.
    """

    form: Any = OpenedModelForm
    to_change: ClassVar[Right] = Right.CHANGE

    def has_module_permission(self, request: HttpRequest) -> bool:
        return request.user.is_active and request.user.is_staff

    def has_view_permission(self, request: HttpRequest, obj: Any = None) -> bool:
        return self.has_module_permission(request) and _may(request, obj, Right.READ)

    def has_add_permission(self, request: HttpRequest, obj: Any = None) -> bool:
        return self.has_module_permission(request) and _may(request, obj, self.to_change)

    def has_change_permission(self, request: HttpRequest, obj: Any = None) -> bool:
        return self.has_module_permission(request) and _may(request, obj, self.to_change)

    def has_delete_permission(self, request: HttpRequest, obj: Any = None) -> bool:
        return self.has_module_permission(request) and _may(request, obj, self.to_change)


def _may(request: HttpRequest, obj: Study | Dataset | None, right: Right) -> bool:
    """Whether the user has a right, which is looked up once per request and object."""
    if obj is None or obj._state.adding:
        return True
    cache = _rights(request)
    if obj.pk not in cache:
        cache[obj.pk] = (
            right_in(request.user, obj)
            if isinstance(obj, Study)
            else right_in_dataset(request.user, obj)
        )
    return cache[obj.pk] >= right


def _rights(request: HttpRequest) -> dict[str, Right]:
    rights: dict[str, Right] = request.__dict__.setdefault("looked_up_rights", {})
    return rights


class FrozenInline(_ForResearchers):
    """An inline for rows of the design, which become read-only when the study is opened."""

    def has_add_permission(self, request: HttpRequest, obj: Study | None = None) -> bool:
        return self.has_change_permission(request, obj)

    def has_change_permission(self, request: HttpRequest, obj: Study | None = None) -> bool:
        is_open_to_change = obj is None or not is_frozen(obj)
        return is_open_to_change and super().has_change_permission(request, obj)

    def has_delete_permission(self, request: HttpRequest, obj: Study | None = None) -> bool:
        return self.has_change_permission(request, obj)


class CriterionInline(CountsFromOne, FrozenInline, CriterionStacked):
    model = Criterion
    extra = 0
    min_num = 1
    fields = ("name", "question", "scale", "reason", "reason_length", "position")


class SystemsOfDataset(SystemFormSet):
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


class SystemInline(CountsFromOne, FrozenInline, SystemStacked):
    model = StudySystem
    formset = SystemsOfDataset
    extra = 0
    fields = ("position", "system")
    verbose_name = "system"
    verbose_name_plural = "systems in canonical order (the first is system A)"

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


class MembershipInline(_ForResearchers, MemberStacked):
    model = Membership
    form = MembershipForm
    formset = Members
    to_change = Right.OWN
    extra = 0
    verbose_name = "member"
    verbose_name_plural = "researchers with access to this study"

    def get_queryset(self, request: HttpRequest) -> QuerySet[Membership]:
        return super().get_queryset(request).select_related("user")


# The settings that decide whether both orders of two texts are shown the same number of times.
ORDERS = ("ratings_per_hit", "further_ratings", "further_share", "pairing")


class StudyDesignForm(OpenedModelForm):
    class Meta:
        model = Study
        fields = "__all__"
        help_texts = {
            "consent": "Text in Markdown. Below it, annotators read what is stored about them; this"
            " depends on how they were recruited."
        }
        widgets = {
            "guidelines": forms.Textarea(attrs={"rows": 14, "cols": 90}),
            "consent": forms.Textarea(attrs={"rows": 8, "cols": 90}),
        }

    def __init__(self, *args: Any, **kwargs: Any) -> None:
        super().__init__(*args, **kwargs)
        if "similarity" in self.fields:  # absent if the design is frozen
            current = self.instance.similarity
            titles = {name: similarity.title for name, similarity in SIMILARITIES.items()}
            self.fields["similarity"] = forms.ChoiceField(
                choices=({current: current} | titles).items(),
                help_text="The text similarity from which separability (δ) is computed. Some"
                " similarities need additional packages, which the Generate & select page"
                " names.",
            )

    def editable_parts(self) -> set[str]:
        return set() if is_frozen(self.instance) else {"rows of the design"}

    def clean_ratings_per_hit(self) -> int:
        wanted: int = self.cleaned_data["ratings_per_hit"]
        stored = Study.objects.filter(pk=self.instance.pk).first()
        if stored is not None and is_frozen(stored) and wanted < stored.ratings_per_hit:
            raise forms.ValidationError(
                f"The number of ratings per task (R) is {stored.ratings_per_hit} and can only be"
                " increased. To collect fewer ratings, close the study or clone it.",
                code="ratings_per_hit_shrinks",
            )
        return wanted

    def clean(self) -> None:
        super().clean()
        typed, entered = copy(self.instance), [name for name in ORDERS if name in self.fields]
        for name in self.cleaned_data.keys() & set(ORDERS):
            setattr(typed, name, self.cleaned_data[name])
        if entered and not typed.shows_orders_alike:
            sentence = (
                "In a symmetric design, the number of ratings per task (R) must be even, and so must"
                " the number of further ratings, because each order of two texts is shown to half of the annotators."
            )
            self.add_error(
                entered[0], forms.ValidationError(sentence, code="symmetric_needs_even_ratings")
            )


class StudyAdmin(_ForResearchers, DeclaredLookups, StudyModelAdmin):
    form = StudyDesignForm
    inlines: ClassVar[tuple[Any, ...]] = (CriterionInline, SystemInline, MembershipInline)
    list_display: tuple[str, ...] = (
        "title",
        "status",
        "dataset",
        "ratings_per_hit",
        "comparisons_per_hit",
    )
    list_filter = ("status",)
    list_select_related = ("dataset",)
    search_fields = ("title",)
    fieldsets = (
        (None, {"fields": ("title", "dataset", "unit_kind")}),
        ("Consent and guidelines", {"fields": ("consent", "guidelines", "comments")}),
        (
            "Ratings and repeats",
            {
                "fields": (
                    ("ratings_per_hit", "comparisons_per_hit"),
                    ("further_share", "further_ratings"),
                    "bundling",
                    ("repeats_per_hit", "repeat_distance"),
                )
            },
        ),
        (
            "Limits",
            {
                "fields": (
                    ("hits_per_annotator", "hits_per_day"),
                    ("most_answers", "most_answers_per_day"),
                    ("annotators_per_address", "entries_per_address_per_hour"),
                    "unconfirmed_leases",
                ),
                "classes": ("collapse",),
            },
        ),
        (
            "Payment",
            {
                "fields": (
                    ("reward", "currency"),
                    "budget",
                    ("minutes_per_hit", "promised_hourly_rate"),
                ),
                "classes": ("collapse",),
            },
        ),
        ("Unfinished tasks", {"fields": ("lease_minutes", "abandoned")}),
        ("Answers without a label", {"fields": ("nonresponses", "unlabelled_tasks")}),
        ("Analysis plan", {"fields": PLAN, "classes": ("collapse",)}),
        ("Results", {"fields": ("main_machine",)}),
        ("Instance selection", {"fields": ("similarity",), "classes": ("collapse",)}),
        (
            "Pairs of systems",
            {"fields": ("pairing", ("baseline_system", "pairs_per_instance"), "sample_choice")},
        ),
        (
            "Texts",
            {
                "fields": (
                    ("source_format", "generation_format", "reference_format"),
                    "translation",
                    ("source_label", "left_label", "right_label"),
                    "fields",
                )
            },
        ),
    )

    def get_queryset(self, request: HttpRequest) -> QuerySet[Study]:
        studies = studies_of(request.user).select_related("dataset")
        return studies.annotate(role=held_role(request.user))

    def get_fieldsets(self, request: HttpRequest, obj: Study | None = None) -> Any:
        """Ask little of a new study; add a fieldset for settings that have no place elsewhere."""
        if obj is None:
            return ((None, {"fields": ("title", "dataset", "unit_kind")}),)
        fieldsets = super().get_fieldsets(request, obj)
        others = sorted(SETTINGS.keys() - set(flatten_fieldsets(fieldsets)))
        return [*fieldsets, ("Other", {"fields": others})] if others else fieldsets

    def get_inlines(self, request: HttpRequest, obj: Study | None) -> Any:
        return () if obj is None else super().get_inlines(request, obj)

    def get_readonly_fields(self, request: HttpRequest, obj: Study | None = None) -> list[str]:
        return list(FROZEN_FIELDS) if obj is not None and is_frozen(obj) else []

    def get_object(
        self, request: HttpRequest, object_id: str, from_field: str | None = None
    ) -> Study | None:
        """Return the study, if the user's role lets them do what they ask; refuse others."""
        study = super().get_object(request, object_id, from_field)
        if study is not None:
            right = held_right(request.user, study)
            _rights(request)[study.pk] = right
            refuse_below(right, self.right_for(request))
        return study

    def right_for(self, request: HttpRequest) -> Right:
        name = request.resolver_match.url_name if request.resolver_match else None
        return Right.OWN if name == "studies_study_delete" else right_for(request)

    def has_delete_permission(self, request: HttpRequest, obj: Study | None = None) -> bool:
        """Whether the user owns the study, and it is a draft.

        Other studies are kept, because ratings are append-only.
        """
        return obj is not None and not is_frozen(obj) and _may(request, obj, Right.OWN)

    def delete_model(self, request: HttpRequest, obj: Study) -> None:
        delete_draft(study=obj)

    def formfield_for_foreignkey(self, db_field: Any, request: HttpRequest, **kwargs: Any) -> Any:
        if db_field.name == "dataset":
            kwargs["queryset"] = datasets_of(request.user)
        return super().formfield_for_foreignkey(db_field, request, **kwargs)

    def save_model(self, request: HttpRequest, obj: Study, form: Any, change: bool) -> None:
        if change:
            self.store(request, obj)
        else:
            create_study(study=obj, owner=cast(User, request.user))

    def store(self, request: HttpRequest, study: Study) -> None:
        save_design(study=study, by=cast(User, request.user))

    def save_related(self, request: HttpRequest, form: Any, formsets: Any, change: bool) -> None:
        super().save_related(request, form, formsets, change)
        use_dataset_systems(study=form.instance)

    def response_add(
        self, request: HttpRequest, obj: Study, post_url_continue: str | None = None
    ) -> HttpResponse:
        """Go to the first step of the new study."""
        self.message_user(request, f"Created “{obj}”.", messages.SUCCESS)
        return redirect("studies:data", obj.pk)


def model_servers() -> list[tuple[str, str]]:
    names = sorted(settings.TIEBREAK_MODEL_SERVERS)
    return [("", "choose when sampling starts"), *((name, name) for name in names)]


class DatasetSystemInline(_ForResearchers, DatasetSystemStacked):
    """The systems of a dataset, with language model, prompt and decoding settings."""

    model = System
    extra = 0
    fields = ("name", "language_model", "server", "prompt_template", "decoding")
    verbose_name_plural = "systems"

    def get_queryset(self, request: HttpRequest) -> QuerySet[System]:
        competing = System.objects.competing().values("pk")
        return super().get_queryset(request).filter(pk__in=competing)

    def formfield_for_dbfield(self, db_field: Any, request: HttpRequest, **kwargs: Any) -> Any:
        if db_field.name == "server":
            return forms.ChoiceField(
                choices=model_servers, required=False, help_text=db_field.help_text
            )
        return super().formfield_for_dbfield(db_field, request, **kwargs)

    def has_delete_permission(self, request: HttpRequest, obj: Any = None) -> bool:
        """Return False, because the generations of a system would be deleted with it."""
        return False


class DatasetAdmin(_ForResearchers, DeclaredLookups, DatasetModelAdmin):
    inlines = (DatasetSystemInline,)
    list_display = ("name", "instance_count", "system_count", "created_at")
    search_fields = ("name",)
    fields = ("name", "notes", "sha256", "created_at")
    readonly_fields = ("sha256", "created_at")
    change_form_template = "admin/studies/dataset/change_form.html"
    instances_per_page = 20

    def get_queryset(self, request: HttpRequest) -> QuerySet[Dataset]:
        return datasets_of(request.user).annotate(
            instance_total=Count("instances", distinct=True),
            system_total=Count("systems", distinct=True),
        )

    @admin.display(description="instances", ordering="instance_total")
    def instance_count(self, dataset: Any) -> int:
        return int(dataset.instance_total)

    @admin.display(description="systems", ordering="system_total")
    def system_count(self, dataset: Any) -> int:
        return int(dataset.system_total)

    def has_add_permission(self, request: HttpRequest, obj: Dataset | None = None) -> bool:
        """Return False, because datasets are only created by importing bundles, which are hashed."""
        return False

    def has_delete_permission(self, request: HttpRequest, obj: Dataset | None = None) -> bool:
        return (
            obj is not None
            and not obj.studies.exists()
            and super().has_delete_permission(request, obj)
        )

    def delete_model(self, request: HttpRequest, obj: Dataset) -> None:
        delete_dataset(dataset=obj)

    def change_view(
        self,
        request: HttpRequest,
        object_id: str,
        form_url: str = "",
        extra_context: dict[str, Any] | None = None,
    ) -> HttpResponse:
        dataset = self.get_object(request, object_id)
        context = dict(extra_context or {})
        if dataset is not None:
            instances = dataset.instances.prefetch_related("generations__system")
            pages = Paginator(instances, self.instances_per_page)
            context["page"] = pages.get_page(request.GET.get("page"))
            dummies = Generation.objects.filter(instance__dataset=dataset, is_dummy=True)
            context["dummies"] = dummies.count()
        return super().change_view(request, object_id, form_url, context)


admin.site.register(Study, StudyAdmin)
admin.site.register(Dataset, DatasetAdmin)
