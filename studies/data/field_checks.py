"""Applies the models' validators to the columns of a file, once per distinct value."""

from collections.abc import Callable, Hashable, Iterable, Mapping
from functools import cache
from typing import Any

from django.core.exceptions import ValidationError
from django.core.validators import MaxValueValidator, MinValueValidator
from django.db import models
from django.db.backends.base.operations import BaseDatabaseOperations

from tiebreak.errors import InvalidInput
from tiebreak.formats.errors import Problems
from tiebreak.formats.spec import STUDY_FILE

Complaint = Callable[[Any], InvalidInput | None]


@cache
def complaint(model: type[models.Model], name: str) -> Complaint:
    """Return a function that validates values of this field in the same way on every database."""
    field = model._meta.get_field(name)
    assert isinstance(field, models.Field)
    bounds = _bounds(field)

    def complain(value: Any) -> InvalidInput | None:
        if (value is None and field.null) or (field.blank and value in field.empty_values):
            return None
        try:
            field.clean(value, None)
            for validate in bounds:
                validate(value)
        except ValidationError as error:
            code = error.error_list[0].code or "invalid"
            return InvalidInput(code, f"{value!r:.80}: {' '.join(error.messages)}")
        return None

    return complain


def if_given(complain: Complaint) -> Complaint:
    """Return a check that lets empty cells pass, of columns that not every row needs."""
    return lambda value: None if value is None else complain(value)


def _bounds(field: "models.Field[Any, Any]") -> list[Callable[[Any], None]]:
    """Return validators for an integer field's SQL range, which SQLite does not enforce."""
    bounds = BaseDatabaseOperations.integer_field_ranges.get(field.get_internal_type())
    if bounds is None:
        return []
    return [MinValueValidator(bounds[0]), MaxValueValidator(bounds[1])]


def check_column(
    complain: Complaint,
    values: Iterable[Any],
    lines: Iterable[int],
    *,
    file: str,
    column: str,
    problems: Problems,
) -> None:
    """Add a problem for each line whose value the field's validators refuse."""
    known: dict[Hashable, InvalidInput | None] = {}
    for value, line in zip(values, lines, strict=True):
        key = value if isinstance(value, Hashable) else None
        if key is None or key not in known:
            known[key] = complain(value)
        if (error := known[key]) is not None:
            problems.add(file, int(line), error.code, f"{column} {error}")


def check_fields(
    model: type[models.Model],
    values: Mapping[str, Any],
    *,
    lines: Mapping[str, int | None],
    problems: Problems,
) -> None:
    """Add a problem for each field of one object of study.toml whose value its validators refuse."""
    for name, value in values.items():
        error = complaint(model, name)(value)
        if error is not None:
            problems.add(STUDY_FILE, lines.get(name), error.code, f"{name} {error}")
