"""A form field for the further texts of instances: a row for each, instead of a typed line."""

from collections.abc import Iterable, Iterator, Mapping
from contextlib import suppress
from typing import Any

from django import forms
from django.template.loader import render_to_string
from django.utils.safestring import SafeString

from studies.models import Instance
from tiebreak.errors import InvalidInput
from tiebreak.formats.cells import check_field_name
from tiebreak.formats.shown_fields import (
    MARK,
    PLACES,
    READERS,
    default_label,
    known_fields,
)

# Enough to know the columns of a table, at the cost of a page.
INSTANCES_READ = 200


class FieldRows(forms.Widget):
    """Rows that together write the same text as typed lines do.

    A request that has only the text itself is understood as well.
    """

    template_name = "studies/field_rows.html"
    use_fieldset = True

    def __init__(self, names: Iterable[str] = ()) -> None:
        super().__init__()
        self.names = names

    def render(self, name: str, value: Any, attrs: Any = None, renderer: Any = None) -> SafeString:  # noqa: ARG002
        # Django's own renderer of forms does not know the project's templates.
        return render_to_string(self.template_name, self.get_context(name, value, attrs))

    def get_context(self, name: str, value: Any, attrs: Any) -> dict[str, Any]:
        context: dict[str, Any] = super().get_context(name, value, attrs)
        rows = self.rows_of(str(value or ""))
        return context | {"name": name, "code": value or "", "rows": rows, **self.choices()}

    def rows_of(self, code: str) -> list[tuple[Any, ...]]:
        """Return what the row of each name shows."""
        chosen = known_fields(code)
        rows = [
            (one.name, one.label, _name_of(READERS, one.readers), _name_of(PLACES, one.is_before))
            for one in chosen
        ]
        known = {one.name for one in chosen}
        rows += [(new, default_label(new), "", "before") for new in self.names if new not in known]
        return [*rows]

    def choices(self) -> dict[str, list[str]]:
        return {"readers": list(READERS), "places": list(PLACES)}

    def lines(self, data: Mapping[str, Any], name: str) -> Iterator[str]:
        return _lines(data, name)

    def parsed(self, code: str) -> object:
        return known_fields(code)

    def value_from_datadict(self, data: Mapping[str, Any], _: Any, name: str) -> Any:
        code = data.get(name)
        if f"{name}-0-name" not in data:
            return code
        typed = "\n".join(self.lines(data, name))
        # What was not changed stays as it was written.
        return code if self.parsed(typed) == self.parsed(code or "") else typed

    def value_omitted_from_data(self, data: Mapping[str, Any], _: Any, name: str) -> bool:
        return name not in data and f"{name}-0-name" not in data

    def id_for_label(self, id_: str, index: str | None = None) -> str:  # noqa: ARG002
        return ""


def names_of_fields(dataset: str | None) -> list[str]:
    """Return the names of further texts that a dataset's instances have, as far as they can be shown."""
    rows = Instance.objects.filter(dataset=dataset).order_by("pk")
    names: set[str] = set()
    for metadata in rows.values_list("metadata", flat=True)[:INSTANCES_READ]:
        names.update(metadata)
    return sorted(filter(_can_be_shown, names))


def _lines(data: Mapping[str, Any], name: str) -> Iterator[str]:
    """Yield a line for each row that somebody reads."""
    number = 0
    while (row := f"{name}-{number}") and f"{row}-name" in data:
        if readers := data.get(f"{row}-readers", ""):
            label = data.get(f"{row}-label", "").replace(MARK, " ")
            parts = (data[f"{row}-name"], label, readers, data.get(f"{row}-place", "before"))
            yield f" {MARK} ".join(parts)
        number += 1


def _can_be_shown(name: str) -> bool:
    with suppress(InvalidInput):
        return bool(check_field_name(name))
    return False


def _name_of(choices: Mapping[str, Any], value: Any) -> str:
    return next(name for name, of in choices.items() if of == value)
