"""How a refusal is told: by the next page, by a form, or as an address without a page."""

from collections.abc import Iterator
from contextlib import contextmanager

from django import forms
from django.contrib import messages
from django.core.exceptions import ValidationError
from django.http import Http404, HttpRequest

from tiebreak.errors import DomainError, InvalidInput
from tiebreak.formats import FormatError


@contextmanager
def told(request: HttpRequest) -> Iterator[None]:
    """Have the next page say what was refused."""
    try:
        yield
    except DomainError as refusal:
        messages.error(request, refusal.message, extra_tags=refusal.code)


@contextmanager
def told_on(form: forms.BaseForm) -> Iterator[None]:
    """Have a form say what was refused."""
    try:
        yield
    except DomainError as refusal:
        form.add_error(None, form_errors(refusal))


@contextmanager
def as_not_found() -> Iterator[None]:
    try:
        yield
    except DomainError as refusal:
        raise Http404(refusal.message) from refusal


def form_errors(refusal: DomainError | InvalidInput) -> list[ValidationError]:
    """Return the errors of a form: one, or one for each kind of problem of a file."""
    if not isinstance(refusal, FormatError):
        return [ValidationError(refusal.message, code=refusal.code)]
    errors = [ValidationError(str(kind), code=kind.first.code) for kind in refusal.kinds]
    more = [ValidationError(refusal.rest, code="more_problems")] if refusal.rest else []
    return errors + more
