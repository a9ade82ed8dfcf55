"""A refusal on a form: its sentence under its code, and of a file one for each problem."""

from django.core.exceptions import ValidationError

from tiebreak.errors import DomainError


def form_errors(refusal: DomainError) -> list[ValidationError]:
    return [ValidationError(line, code=refusal.code) for line in refusal.message.splitlines()]
