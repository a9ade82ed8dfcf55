"""Converts a domain error to form errors: to one, or to one per problem in a file."""

from django.core.exceptions import ValidationError

from tiebreak.errors import DomainError, InvalidInput
from tiebreak.formats import FormatError


def form_errors(refusal: DomainError | InvalidInput) -> list[ValidationError]:
    if not isinstance(refusal, FormatError):
        return [ValidationError(refusal.message, code=refusal.code)]
    errors = [ValidationError(str(problem), code=problem.code) for problem in refusal.problems]
    more = [ValidationError(refusal.rest, code="more_problems")] if refusal.rest else []
    return errors + more
