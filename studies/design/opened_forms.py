"""Forms that carry the version of what they edit so that no save takes back another person's.

A form has a digest of the stored value of each field with which it was opened. If a value was
changed since, one that was not touched here stays as it is now, and one that was is refused with
both values. The refused form has the new digests so that saving it again is deliberate. A form
without digests is refused like a stale one where something is stored.
"""

import json
from collections.abc import Iterator
from hashlib import sha256
from typing import Any

from django import forms
from django.contrib.admin.utils import unquote
from django.forms.formsets import DELETION_FIELD_NAME
from django.http import HttpRequest, HttpResponse
from django.utils.html import format_html
from django.utils.safestring import SafeString

from studies.models import Study
from tiebreak.errors import DomainError

CHANGED_MEANWHILE = (
    "This was saved after you opened the page, or your browser did not send what you opened. The"
    " stored value is below; yours is in the field and not saved yet. Save again to replace it with yours."
    "\n{}"
)
GONE = (
    "Nothing is saved, because some settings have become final since you opened the page. Save"
    " again to keep what you changed in the other settings."
)
NAME = "opened"


class OpenedForm(forms.BaseForm):
    """A mixin for forms of stored values, which are the form's initial values."""

    data: Any

    def __init__(self, *args: Any, **options: Any) -> None:
        self._kept: dict[str, Any] = {}
        super().__init__(*args, **options)

    def opened_with(self) -> SafeString:
        """Return the hidden input with the version of what is stored now."""
        html = '<input type="hidden" name="{}" value="{}">'
        return format_html(html, self.add_prefix(NAME), self.digests())

    def digests(self) -> str:
        """Return the version of what is stored now, as forms send it."""
        digests = {name: digest_of(self._stored(name)) for name in self._versioned()}
        return json.dumps(digests | dict.fromkeys(self.editable_parts(), ""))

    def editable_parts(self) -> set[str]:
        """Return names of what else can be edited on the form's page now, such as its rows."""
        return set()

    def full_clean(self) -> None:
        conflicts = self._merge() if self.is_bound else []
        super().full_clean()
        if not hasattr(self, "cleaned_data"):
            return
        for name in conflicts:
            if name not in self.fields:
                self.add_error(None, forms.ValidationError(GONE, code="gone_meanwhile"))
                return
            sentence = CHANGED_MEANWHILE.format(self._words(name) or "(empty)")
            self.add_error(name, forms.ValidationError(sentence, code="changed_meanwhile"))

    def _merge(self) -> list[str]:
        """Take over what others changed and nobody touched here; return what both changed."""
        opened, conflicts = self._opened(), []
        if gone := opened.keys() - self.fields.keys() - self.editable_parts():
            return list(gone)
        is_removed = bool(self.data.get(self.add_prefix(DELETION_FIELD_NAME)))
        for name in self._versioned():
            stored, typed = self._stored(name), self._typed(name)
            has_stored = bool(stored and self.initial)  # what a new row proposes is stored nowhere
            if opened.get(name, "" if has_stored else digest_of(stored)) == digest_of(stored):
                continue
            if is_removed or (typed != stored and digest_of(typed) != opened.get(name)):
                conflicts.append(name)
            elif typed != stored:
                self._keep(name)
        if is_removed and conflicts:  # the row is shown again, with what it has become
            for name in conflicts:
                self._keep(name)
            self._kept[self.add_prefix(DELETION_FIELD_NAME)] = False
        # A formset has asked before whether anything changed.
        self.__dict__.pop("changed_data", None)
        return conflicts

    def _opened(self) -> dict[str, Any]:
        try:
            opened = json.loads(self.data.get(self.add_prefix(NAME)) or "{}")
        except (ValueError, RecursionError):
            return {}
        return opened if isinstance(opened, dict) else {}

    def _versioned(self) -> Iterator[str]:
        """Yield the fields whose values are stored and shown."""
        for name, field in self.fields.items():
            is_shown = not (field.disabled or field.widget.is_hidden or name == DELETION_FIELD_NAME)
            if is_shown and not isinstance(field, forms.FileField):
                yield name

    def _stored(self, name: str) -> str:
        field = self.fields[name]
        return _text(field.widget, field.prepare_value(self.get_initial_for_field(field, name)))

    def _typed(self, name: str) -> str:
        widget = self.fields[name].widget
        return _text(
            widget, widget.value_from_datadict(self.data, self.files, self.add_prefix(name))
        )

    def _words(self, name: str) -> str:
        """Return the display name of a stored value."""
        stored = self._stored(name)
        choices = getattr(self.fields[name], "choices", ())
        words = {str(key): str(label) for key, label in choices}
        return "\n".join(words.get(line, line) for line in stored.split("\n"))

    def _keep(self, name: str) -> None:
        """Put the stored value in place of the one that was sent."""
        field = self.fields[name]
        value = field.prepare_value(self.get_initial_for_field(field, name))
        decompress = getattr(field.widget, "decompress", lambda value: value)
        self._kept[self.add_prefix(name)] = decompress(value)

    def _widget_data_value(self, widget: forms.Widget, html_name: str) -> Any:
        """Return what counts as sent. Django asks for it, however many inputs a field has."""
        if html_name in self._kept:
            return self._kept[html_name]
        return super()._widget_data_value(widget, html_name)  # type: ignore[misc]


def digest_of(text: str) -> str:
    return sha256(text.encode(errors="surrogatepass")).hexdigest()[:16]


def _text(widget: Any, value: Any) -> str:
    """Return a value as a browser sends it, however it is stored."""
    if hasattr(widget, "decompress"):
        parts = value if isinstance(value, list) else widget.decompress(value)
        return "\n".join(map(_text, widget.widgets, parts))
    if isinstance(widget, forms.CheckboxInput):
        return "yes" if value else ""
    return "\n".join(_lines(widget, value)).replace("\r\n", "\n").strip()


def _lines(widget: forms.Widget, value: Any) -> list[str]:
    if not isinstance(value, str) and hasattr(value, "__iter__"):
        return sorted(map(str, value))
    shown = widget.format_value(value)
    if isinstance(shown, (list, tuple)):
        return sorted(map(str, shown))
    return ["" if shown is None else str(shown)]


def check_opened(request: HttpRequest, *, stored: str, typed: str, words: str) -> None:
    """Raise `DomainError` if what a hand-made form edits was changed since it was opened."""
    opened = request.POST.get(NAME, "")
    if opened != digest_of(stored) and typed != stored and (opened or words):
        raise DomainError("changed_meanwhile", CHANGED_MEANWHILE.format(words or "(empty)"))


class OpenedModelForm(OpenedForm, forms.ModelForm):  # type: ignore[type-arg]
    """The form of the admin's pages and rows."""


def take_turn(request: HttpRequest, study_id: str) -> None:
    """Wait until nobody else saves a form of the study. Read what is stored afterwards.

    Called in the transaction that saves, of which reading a page needs none.
    """
    if request.method == "POST":
        Study.objects.select_for_update().filter(pk=study_id).first()


class LocksRow:
    """The same for pages of the admin, which save one object with its rows."""

    def _changeform_view(
        self, request: HttpRequest, object_id: str | None, *args: Any, **options: Any
    ) -> HttpResponse:
        if request.method == "POST" and object_id is not None:  # within Django's transaction
            rows = self.model._base_manager.select_for_update()  # type: ignore[attr-defined]
            rows.filter(pk=unquote(object_id)).first()
        response: HttpResponse = super()._changeform_view(  # type: ignore[misc]
            request, object_id, *args, **options
        )
        return response
