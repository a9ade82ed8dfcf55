"""Restricts the lookups in admin URLs to the filters that the list page declares.

Otherwise, anyone who sees a list could filter it by fields that are not shown. A query such as
`?seed__startswith=a` would then reveal a secret letter by letter through the number of results.
"""

from collections.abc import Iterator
from typing import Any

from django.contrib import admin
from django.contrib.admin.filters import SimpleListFilter
from django.contrib.auth.admin import GroupAdmin, UserAdmin
from django.contrib.auth.forms import UserChangeForm
from django.contrib.auth.models import Group, User
from django.http import HttpRequest

from studies.design.opened_forms import LocksRow, OpenedForm, OpenedModelForm

PLAIN = ("", "__exact", "__isnull", "__id__exact")
DATES = ("__gte", "__lt")
HIERARCHY = ("__year", "__month", "__day", "__gte", "__lt")


class DeclaredLookups:
    """A mixin that every registered model admin must have, including Django's own."""

    def lookup_allowed(
        self,
        lookup: str,
        value: Any,  # noqa: ARG002  Django passes it
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

    def has_view_permission(self, request: HttpRequest, obj: Any = None) -> bool:  # noqa: ARG002
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


admin.site.unregister([User, Group])
admin.site.register(User, PeopleAdmin)
admin.site.register(Group, TeamAdmin)
