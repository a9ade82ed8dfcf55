"""Forms whose first field with an error has the focus when the page comes, without a script too.

Browsers ignore this in a page whose address has an anchor, so forms name an address without one.
"""

from typing import Any

from django.core.exceptions import NON_FIELD_ERRORS
from django.forms import BoundField, Widget
from django.forms.renderers import DjangoTemplates


class FocusedField(BoundField):
    def build_widget_attrs(self, attrs: Any, widget: Widget | None = None) -> Any:
        attrs = super().build_widget_attrs(attrs, widget)
        errors = self.form.errors if self.form.is_bound else {}
        invalid = (name for name in self.form.fields if name in errors)
        if next(invalid, None) == self.name and NON_FIELD_ERRORS not in errors:
            attrs["autofocus"] = True
        return attrs


class FocusingRenderer(DjangoTemplates):
    bound_field_class = FocusedField
