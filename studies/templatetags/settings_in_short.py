"""What is set in a part of a form that is folded away."""

from typing import Any

from django import template
from django.contrib.admin.utils import flatten
from django.db.models import Field
from django.forms import Field as FormField
from django.utils.text import Truncator

from tiebreak.formats.shown_fields import MARK

register = template.Library()

MAX_VALUE = 60


@register.filter
def in_short(fieldset: Any) -> str:
    """Return the settings of a part of an admin form that are not what they are at first, with their values."""
    row: Any = fieldset.form.instance
    fields = {one.name: one for one in row._meta.concrete_fields}
    names = [str(name) for name in flatten(fieldset.fields)]
    told = [
        _told(fields[name], getattr(row, name), fieldset.form.fields.get(name))
        for name in names
        if name in fields
    ]
    return "; ".join(filter(None, told)) or "unchanged"


def _told(field: "Field[Any, Any]", value: Any, typed: "FormField | None") -> str:
    if value == field.get_default() or (value in ("", None) and not field.has_default()):
        return ""
    if isinstance(value, bool):
        return f"{field.verbose_name}: {'yes' if value else 'no'}"
    shown = typed.prepare_value(value) if typed else value  # such as a position counted from 1
    words = str(dict(field.flatchoices).get(value, "none" if value in ("", None) else shown))
    # Of a further text, its name is enough.
    words = ", ".join(line.partition(MARK)[0].strip() for line in words.splitlines())
    return f"{field.verbose_name}: {Truncator(words).chars(MAX_VALUE)}"
