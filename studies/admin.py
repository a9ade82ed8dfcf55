"""Admin pages of datasets, of users, and of studies as far as no step of a study has them.

Lookups in their addresses are restricted to the filters that a list page declares. Otherwise, anyone
who sees a list could filter it by fields that are not shown. A query such as `?seed__startswith=a`
would then reveal a secret letter by letter through the number of results.
"""

from collections.abc import Iterator
from typing import Any, ClassVar

from django.contrib import admin, messages
from django.contrib.admin.filters import SimpleListFilter
from django.contrib.admin.widgets import RelatedFieldWidgetWrapper
from django.contrib.auth.admin import GroupAdmin, UserAdmin
from django.contrib.auth.forms import UserChangeForm
from django.contrib.auth.models import Group, User
from django.core.paginator import Paginator
from django.db.models import Count, Prefetch, Q, QuerySet
from django.http import HttpRequest, HttpResponse
from django.shortcuts import redirect
from django_otp.plugins.otp_static.models import StaticDevice
from django_otp.plugins.otp_totp.models import TOTPDevice

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
    study_for,
    user_of,
)
from studies.design.opened_forms import LocksRow, OpenedForm, OpenedModelForm
from studies.models import Dataset, Generation, Study, System
from studies.services import (
    create_study,
    delete_dataset,
    delete_draft,
    is_frozen,
    usual_currency,
)

PLAIN = ("", "__exact", "__isnull", "__id__exact")
DATES = ("__gte", "__lt")
HIERARCHY = ("__year", "__month", "__day", "__gte", "__lt")


class DeclaredLookups:
    """A mixin that every registered model admin must have, including Django's own."""

    def lookup_allowed(
        self,
        lookup: str,
        value: Any,
        request: HttpRequest | None = None,
    ) -> bool:
        return lookup in set(self._declared(request))

    def _declared(self: Any, request: HttpRequest | None) -> Iterator[str]:
        for entry in self.list_filter if request is None else self.get_list_filter(request):
            is_custom = isinstance(entry, type) and issubclass(entry, SimpleListFilter)
            if is_custom:
                yield str(entry.parameter_name)
                continue
            name = entry[0] if isinstance(entry, list | tuple) else entry
            yield from (f"{name}{suffix}" for suffix in (*PLAIN, *DATES))
        if self.date_hierarchy:
            yield from (f"{self.date_hierarchy}{suffix}" for suffix in HIERARCHY)


class ForSuperusers:
    """A mixin for pages of the server's administrators, whatever permissions others were given."""

    def has_module_permission(self, request: HttpRequest) -> bool:
        return request.user.is_active and request.user.is_superuser

    def has_view_permission(self, request: HttpRequest, obj: Any = None) -> bool:
        return self.has_module_permission(request)

    has_add_permission = has_change_permission = has_delete_permission = has_view_permission


class PersonForm(OpenedForm, UserChangeForm):  # type: ignore[type-arg]
    """A user's form."""


class PeopleAdmin(LocksRow, ForSuperusers, DeclaredLookups, UserAdmin[User]):
    """The admin pages of users, for superusers only."""

    form = PersonForm


class TeamAdmin(LocksRow, ForSuperusers, DeclaredLookups, GroupAdmin):
    """The admin pages of groups, for superusers only."""

    form = OpenedModelForm


# The secrets of second factors are shown to nobody.
admin.site.unregister([User, Group, StaticDevice, TOTPDevice])
admin.site.register(User, PeopleAdmin)
admin.site.register(Group, TeamAdmin)


class ForResearchers(LocksRow):
    """Grants model permissions to staff, as far as `studies.access` gives them rights.

    Researchers may add their own objects. What they may do with an object depends on their
    role in the study, or in a study with the dataset.
    """

    form: Any = OpenedModelForm
    to_change: ClassVar[Right] = Right.CHANGE

    def has_module_permission(self, request: HttpRequest) -> bool:
        return request.user.is_active and request.user.is_staff

    def has_view_permission(self, request: HttpRequest, obj: Any = None) -> bool:
        return self.has_module_permission(request) and may_use(request, obj, Right.READ)

    def has_change_permission(self, request: HttpRequest, obj: Any = None) -> bool:
        return self.has_module_permission(request) and may_use(request, obj, self.to_change)

    has_add_permission = has_delete_permission = has_change_permission


def may_use(request: HttpRequest, obj: Study | Dataset | None, right: Right) -> bool:
    """Whether the user has a right, which is looked up once per request and object."""
    if obj is None or obj._state.adding:
        return True
    cache: dict[str, Right] = request.__dict__.setdefault("looked_up_rights", {})
    if obj.pk not in cache:
        cache[obj.pk] = (
            right_in(request.user, obj)
            if isinstance(obj, Study)
            else right_in_dataset(request.user, obj)
        )
    return cache[obj.pk] >= right


class PlainFields:
    """A mixin for forms without the admin's links next to a field, which open more windows."""

    def formfield_for_dbfield(self, db_field: Any, request: HttpRequest, **kwargs: Any) -> Any:
        field = super().formfield_for_dbfield(db_field, request, **kwargs)  # type: ignore[misc]
        if field is not None and isinstance(field.widget, RelatedFieldWidgetWrapper):
            field.widget = field.widget.widget
        return field


class OwnDatasets(PlainFields):
    """A mixin for a study's forms, which offer the datasets that the user may read."""

    def formfield_for_foreignkey(self, db_field: Any, request: HttpRequest, **kwargs: Any) -> Any:
        if db_field.name == "dataset":
            kwargs["queryset"] = datasets_of(request.user)
        return super().formfield_for_foreignkey(db_field, request, **kwargs)  # type: ignore[misc]


class StudyAdmin(OwnDatasets, ForResearchers, DeclaredLookups, admin.ModelAdmin[Study]):
    """The list of studies, a new one, and the deletion of a draft. Its steps have the settings."""

    list_display = ("title", "status", "dataset", "ratings_per_hit", "comparisons_per_hit")
    list_filter = ("status",)
    list_select_related = ("dataset",)
    search_fields = ("title",)
    fields = ("title", "dataset", "unit_kind")
    add_form_template = "studies/new.html"

    def get_queryset(self, request: HttpRequest) -> QuerySet[Study]:
        studies = studies_of(request.user).select_related("dataset")
        return studies.annotate(role=held_role(request.user))

    def get_object(
        self, request: HttpRequest, object_id: str, from_field: str | None = None
    ) -> Study | None:
        """Return a study that the user owns, to delete it; refuse others."""
        study = super().get_object(request, object_id, from_field)
        if study is not None:
            refuse_below(held_right(request.user, study), Right.OWN)
        return study

    def change_view(self, request: HttpRequest, object_id: str, *_: Any, **__: Any) -> HttpResponse:
        """Lead to the first step of the study, from which the others are reached."""
        study = study_for(request.user, object_id, right_for(request))
        return redirect("studies:data", study.pk)

    def history_view(
        self, request: HttpRequest, object_id: str, *_: Any, **__: Any
    ) -> HttpResponse:
        return redirect("studies:log", study_for(request.user, object_id, right_for(request)).pk)

    def has_delete_permission(self, request: HttpRequest, obj: Study | None = None) -> bool:
        """Whether the user owns the study, and it is a draft.

        Other studies are kept, because ratings are append-only.
        """
        return obj is not None and not is_frozen(obj) and may_use(request, obj, Right.OWN)

    def delete_model(self, request: HttpRequest, obj: Study) -> None:
        delete_draft(study=obj)

    def save_model(self, request: HttpRequest, obj: Study, form: Any, change: bool) -> None:
        owner = user_of(request)
        obj.currency = form.cleaned_data.get("currency") or usual_currency(owner)
        create_study(study=obj, owner=owner)

    def response_add(
        self, request: HttpRequest, obj: Study, post_url_continue: str | None = None
    ) -> HttpResponse:
        """Go to the first step of the new study."""
        self.message_user(request, f"Created “{obj}”.", messages.SUCCESS)
        return redirect("studies:data", obj.pk)


class DatasetAdmin(ForResearchers, DeclaredLookups, admin.ModelAdmin[Dataset]):
    list_display = ("name", "instance_count", "system_count", "created_at")
    search_fields = ("name",)
    fields = ("name", "notes", "sha256", "created_at")
    readonly_fields = ("sha256", "created_at")
    change_form_template = "admin/studies/dataset/change_form.html"
    instances_per_page = 20

    def get_queryset(self, request: HttpRequest) -> QuerySet[Dataset]:
        competing = Q(systems__in=System.objects.competing())
        return datasets_of(request.user).annotate(
            instance_total=Count("instances", distinct=True),
            system_total=Count("systems", filter=competing, distinct=True),
        )

    def changelist_view(
        self, request: HttpRequest, extra_context: dict[str, Any] | None = None
    ) -> HttpResponse:
        return super().changelist_view(request, {**(extra_context or {}), "title": "Datasets"})

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
            texts = Generation.objects.filter(system__in=System.objects.competing())
            texts = texts.select_related("system")
            instances = dataset.instances.prefetch_related(Prefetch("generations", texts))
            pages = Paginator(instances, self.instances_per_page)
            context["page"] = pages.get_page(request.GET.get("page"))
            dummies = Generation.objects.filter(instance__dataset=dataset, is_dummy=True)
            context["dummies"] = dummies.count()
        return super().change_view(request, object_id, form_url, context)


admin.site.register(Study, StudyAdmin)
admin.site.register(Dataset, DatasetAdmin)
