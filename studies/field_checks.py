"""What the models' own validators say of a whole column of a file, each distinct value once."""

from collections.abc import Callable, Hashable, Iterable, Mapping
from functools import cache
from typing import Any

from django.core.exceptions import ValidationError
from django.core.validators import MaxValueValidator, MinValueValidator
from django.db import models
from django.db.backends.base.operations import BaseDatabaseOperations

from tiebreak.errors import InvalidInput
from tiebreak.formats.errors import Problems

Complaint = Callable[[Any], InvalidInput | None]


@cache
def complaint(model: type[models.Model], name: str) -> Complaint:
    """What is wrong with a value of this field, or None: the same on every database."""
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


def _bounds(field: "models.Field[Any, Any]") -> list[Callable[[Any], None]]:
    """A whole number's range in standard SQL: SQLite would take, or cut, what others refuse."""
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
        if (found := known[key]) is not None:
            problems.add(file, int(line), found.code, f"{column} {found}")


def check_fields(
    model: type[models.Model],
    values: Mapping[str, Any],
    *,
    file: str,
    lines: Mapping[str, int | None],
    problems: Problems,
) -> None:
    """The same of one object: a value for each of several fields."""
    for name, value in values.items():
        found = complaint(model, name)(value)
        if found is not None:
            problems.add(file, lines.get(name), found.code, f"{name} {found}")
