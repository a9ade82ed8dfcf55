"""How every form shows and reads its fields: where the focus is, and decimals with a comma or a point.

The first field with an error has the focus when the page comes, without a script too. Browsers ignore
this in a page whose address has an anchor, so forms name an address without one. Browsers also drop a
comma that is typed into a number field, and 2,60 becomes 260 unseen: decimals are typed as text.
"""

import re
from typing import Any

from django.core.exceptions import NON_FIELD_ERRORS
from django.forms import BoundField, DecimalField, FloatField, NumberInput, Widget
from django.forms.renderers import DjangoTemplates

# Three digits after a comma may be thousands, which the field refuses in its own words.
DECIMAL_COMMA = re.compile(r"\s*[+-]?\d*,(?!\d{3}\s*$)\d+\s*")
ONLY_OF_NUMBERS = ("min", "max", "step")


def with_point(typed: str) -> str:
    """Return a number that was typed with a decimal comma with a point, and anything else as it is."""
    return typed.replace(",", ".") if DECIMAL_COMMA.fullmatch(typed) else typed


class OurBoundField(BoundField):
    def __init__(self, *args: Any, **kwargs: Any) -> None:
        super().__init__(*args, **kwargs)
        widget = self.field.widget
        self.is_decimal = isinstance(self.field, FloatField | DecimalField)
        if self.is_decimal and isinstance(widget, NumberInput):
            widget.input_type = "text"
            kept = {k: v for k, v in widget.attrs.items() if k not in ONLY_OF_NUMBERS}
            widget.attrs = kept | {"inputmode": "decimal"}

    @property
    def data(self) -> Any:
        typed = super().data
        return with_point(typed) if self.is_decimal and isinstance(typed, str) else typed

    def build_widget_attrs(self, attrs: Any, widget: Widget | None = None) -> Any:
        attrs = super().build_widget_attrs(attrs, widget)
        errors = self.form.errors if self.form.is_bound else {}
        invalid = (name for name in self.form.fields if name in errors)
        if next(invalid, None) == self.name and NON_FIELD_ERRORS not in errors:
            attrs["autofocus"] = True
        return attrs


class FormRenderer(DjangoTemplates):
    bound_field_class = OurBoundField
