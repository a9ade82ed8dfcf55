"""Positions in an order, which are stored from 0 and which people see and type from 1."""

from typing import Any

from django import forms
from django.contrib import admin
from django.http import HttpRequest

from studies.models.bounds import MAX_POSITION


class OrderField(forms.IntegerField):
    """Shows a stored position as its number, counted from 1."""

    def prepare_value(self, value: Any) -> Any:
        return value + 1 if isinstance(value, int) else value

    def clean(self, value: Any) -> Any:
        number = super().clean(value)
        return None if number is None else number - 1

    def has_changed(self, initial: Any, data: Any) -> bool:
        return super().has_changed(self.prepare_value(initial), data)


class CountsFromOne:
    """For inlines: shows the field `position` as a number from 1, even where it is read-only."""

    readonly_fields: Any = ("place_in_order",)

    def formfield_for_dbfield(self, db_field: Any, request: HttpRequest, **kwargs: Any) -> Any:
        if db_field.name == "position":
            limits = {"min_value": 1, "max_value": MAX_POSITION + 1}
            kwargs |= {"form_class": OrderField, **limits}
        return super().formfield_for_dbfield(db_field, request, **kwargs)  # type: ignore[misc]

    def get_fields(self, request: HttpRequest, obj: Any = None) -> list[Any]:
        fields = super().get_fields(request, obj)  # type: ignore[misc]
        if self.has_change_permission(request, obj):  # type: ignore[attr-defined]
            return list(fields)
        return ["place_in_order" if name == "position" else name for name in fields]

    @admin.display(description="position")
    def place_in_order(self, row: Any) -> int | None:
        # A row that was added to the form of a draft has none, if the study was opened meanwhile.
        return None if row.position is None else int(row.position) + 1
