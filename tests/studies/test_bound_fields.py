"""Decimals that people type with a comma or a point, in any form."""

from decimal import Decimal

import pytest
from django import forms
from django.forms import modelform_factory

from studies.models import Study


class Prices(forms.Form):
    price = forms.DecimalField(max_digits=8, decimal_places=2, min_value=0)
    share = forms.FloatField(required=False, min_value=0)
    people = forms.IntegerField(required=False)


@pytest.mark.parametrize(
    ("typed", "read"), [("2,60", "2.60"), ("2.60", "2.60"), (" 0,5 ", "0.5"), (",5", "0.5")]
)
def test_a_decimal_comma_is_a_point(typed, read):
    form = Prices({"price": typed, "share": typed})
    assert form.is_valid(), form.errors
    assert form.cleaned_data["price"] == Decimal(read)
    assert form.cleaned_data["share"] == float(read)


@pytest.mark.parametrize("typed", ["1,000", "1.000,50", "1,000.50", "2,6,0", "a,5"])
def test_what_may_mean_something_else_is_refused(typed):
    form = Prices({"price": typed, "share": typed, "people": typed})
    assert set(form.errors) == {"price", "share", "people"}


def test_browsers_drop_no_comma_because_decimals_are_typed_as_text():
    """A number field keeps only what its language writes; a whole number needs no comma."""
    of_study = modelform_factory(Study, fields=["reward", "minutes_per_hit", "ratings_per_hit"])
    shown = {name: str(of_study()[name]) for name in of_study.base_fields}
    for name in ("reward", "minutes_per_hit"):
        assert 'type="text"' in shown[name]
        assert 'inputmode="decimal"' in shown[name]
        assert "step=" not in shown[name]
    assert 'type="number"' in shown["ratings_per_hit"]
