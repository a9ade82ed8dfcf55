"""Checks the values of a request by a serializer or by the form of a page."""

from typing import Any

from django import forms
from rest_framework.exceptions import ErrorDetail, ValidationError
from rest_framework.serializers import Serializer


def checked(serializer: type[Serializer[Any]], data: Any, *, many: bool = False) -> Any:
    """Return the values of a request, or raise a refusal that lists all problems."""
    bound = serializer(data=data, many=many)
    bound.is_valid(raise_exception=True)
    return bound.validated_data if many else dict(bound.validated_data)


def checked_form(form: forms.BaseForm) -> dict[str, Any]:
    """Return the values of a page's form, so that pages and programs have the same rules."""
    if form.is_valid():
        return dict(form.cleaned_data)
    raise ValidationError(
        {
            "" if name == "__all__" else name: [
                ErrorDetail(str(message), code=error.code or "invalid")
                for error in errors
                for message in error.messages
            ]
            for name, errors in form.errors.as_data().items()
        }
    )
