"""Rows of forms that notice what another person saved, as `opened_forms` does for fields."""

import re
from typing import Any

from django import forms
from django.db.models import UniqueConstraint
from django.forms.formsets import DELETION_FIELD_NAME, INITIAL_FORM_COUNT, TOTAL_FORM_COUNT
from django.forms.models import BaseInlineFormSet
from django.http import QueryDict

from studies.design.opened_forms import NAME, digest_of

REMOVED_MEANWHILE = (
    "This was removed after you opened the page, and is not saved. Save again to add it as you have it"
    " here, or leave the page without saving."
)
ADDED_MEANWHILE = (
    "Somebody added “{}” after you opened the page, and only one such row can be there. Change or empty"
    " this row, or open the page again to see theirs."
)
KEY = "id"
# Nobody types more rows at a time; Django would build two thousand to refuse them.
MOST_NEW = 100


class OpenedRows(BaseInlineFormSet[Any, Any, forms.ModelForm[Any]]):
    """Rows of a form, of which another person may have removed or added some since it was opened.

    Those that nobody touched here stay removed. One that was changed here is refused, as a new row. One
    that was added here and by another person is refused, too; the only row of its kind is that row.
    """

    model: Any  # None in a formset of no model

    def __init__(self, *args: Any, **options: Any) -> None:
        super().__init__(*args, **options)
        self._back = range(0)
        self._others: list[Any] = []
        if self.is_bound:
            self._compare_with_stored()

    def _compare_with_stored(self) -> None:
        stored = {str(row.pk): row for row in self.get_queryset()}
        self.absolute_max = len(stored) + MOST_NEW
        if (
            self.max_num == 1
            and stored
            and self.total_form_count()
            and not self.initial_form_count()
        ):
            self._send(self.data, {f"0-{KEY}": next(iter(stored)), INITIAL_FORM_COUNT: "1"})
        total = self.total_form_count()
        sent = [self._sent_key(n) for n in range(min(self.initial_form_count(), total))]
        self._others = [row for key, row in stored.items() if key not in sent]
        # The admin names rows by this order, which another person may have changed.
        self._queryset = [stored[key] for key in sent if key in stored]
        there = [n for n, key in enumerate(sent) if key in stored]
        if len(there) < len(sent):
            back = [n for n in range(len(sent)) if n not in there and self._is_touched(n)]
            self._back = range(len(there), len(there) + len(back))
            rows = [*there, *back, *range(len(sent), total)]
            counts = {INITIAL_FORM_COUNT: len(there), TOTAL_FORM_COUNT: len(rows)}
            self._send(self._numbered(rows), counts)

    def _send(self, data: Any, changed: dict[str, Any]) -> None:
        """Take this for what was sent, with some of it changed."""
        data = data.copy()
        for name, value in changed.items():
            data[f"{self.prefix}-{name}"] = str(value)
        self.data = data
        del self.__dict__["management_form"]

    def _sent_key(self, number: int) -> str:
        return str(self.data.get(f"{self.prefix}-{number}-{KEY}"))

    def _is_touched(self, number: int) -> bool:
        form: Any = self.form(self.data, prefix=f"{self.prefix}-{number}", **self.form_kwargs)
        if self.data.get(f"{form.prefix}-{DELETION_FIELD_NAME}"):
            return False
        opened = form._opened()
        return any(digest_of(form._typed(name)) != opened.get(name) for name in form._versioned())

    def _numbered(self, rows: list[int]) -> QueryDict:
        """Return what was sent with these rows alone, numbered anew; those that come back are new."""
        sent: Any = self.data
        of_row = re.compile(rf"{re.escape(str(self.prefix))}-(\d+)-(.*)", re.DOTALL)
        data, places = QueryDict(mutable=True), {str(old): n for n, old in enumerate(rows)}
        for name, values in sent.lists():
            row = of_row.fullmatch(name)
            number = places.get(row[1]) if row else None
            is_old = row and number in self._back and row[2] in {KEY, NAME}
            if row is None:
                data.setlist(name, values)
            elif number is not None and not is_old:
                data.setlist(f"{self.prefix}-{number}-{row[2]}", values)
        return data

    def clean(self) -> None:
        super().clean()
        for number in self._back:
            error = forms.ValidationError(REMOVED_MEANWHILE, code="removed_meanwhile")
            self.forms[number].add_error(None, error)
        for form in self.forms:
            if form.has_changed() and not form.errors and form not in self.deleted_forms:
                self._check_nobody_added(form)

    def _check_nobody_added(self, form: Any) -> None:
        for names in self._unique_names():
            mine = [getattr(form.instance, name) for name in names]
            for row in self._others:
                if mine == [getattr(row, name) for name in names]:
                    sentence = ADDED_MEANWHILE.format(row)
                    form.add_error(None, forms.ValidationError(sentence, code="added_meanwhile"))

    def _unique_names(self) -> list[list[str]]:
        """Return the fields of which no two rows of the study may have the same values."""
        unique = [one for one in self.model._meta.constraints if isinstance(one, UniqueConstraint)]
        return [[name for name in one.fields if name != self.fk.name] for one in unique]

    def save_existing_objects(self, commit: bool = True) -> Any:
        """Save the rows of which one may get what another had: they leave the table together before."""
        leaving = [
            form.instance.pk
            for form in self.initial_forms
            if form.has_changed() or form in self.deleted_forms
        ]
        if commit and len(leaving) > 1 and self._unique_names():
            rows = self.model._base_manager.filter(pk__in=leaving)
            # What refers to them stays, as they come back with their keys in the same transaction.
            rows._raw_delete(rows.db)
        return super().save_existing_objects(commit)
