"""Every number that somebody can enter has two ends, on every model and every form."""

from collections.abc import Iterator
from typing import Any

import pytest
from django import forms
from django.apps import apps
from django.contrib import admin
from django.core.exceptions import ValidationError
from django.core.validators import BaseValidator, MaxValueValidator, MinValueValidator
from django.db import models
from django.urls import get_resolver

from metrics.planning.forms import SamplingForm
from recruitment import step_pages  # noqa: F401  its steps have rows
from recruitment.platforms import platforms
from studies.design.step_admin import StepAdmin
from studies.models import System

OURS = ("jobs", "studies", "annotation", "machine_raters", "recruitment", "metrics", "api")
NUMBERS = (models.IntegerField, models.FloatField, models.DecimalField)
# Counted, drawn or copied by the server itself: no page, file or platform sets them.
SET_BY_THE_SERVER = {
    "jobs.Job": {"done", "total", "done_before", "failed", "truncated"},
    "jobs.JobChunk": {"number", "size", "attempts", "done", "failed", "truncated"},
    "studies.SeparabilityScore": {
        *("self_alignment_a", "self_alignment_b", "cross_alignment", "delta"),
        *("delta_standard_error", "truncated", "samples_a", "samples_b"),
    },
    # A copy of the study's own.
    "studies.StudyVersion": {
        *("number", "hits_per_annotator", "hits_per_day", "most_answers"),
        *("most_answers_per_day", "lease_minutes"),
    },
    "studies.ReportChanges": {"n"},
    "metrics.ReportSnapshot": {"settled_key", "settled_rows"},
    "recruitment.Eligibility": {"people"},
    "api.Webhook": {"after_event"},
    "api.WebhookDelivery": {"attempts"},
    "annotation.HIT": {"number"},
    "annotation.HITUnit": {"repeat"},
    "annotation.Place": {"number", "remaining", "draw"},
    "annotation.Assignment": {"parity", "position", "opened"},
    "annotation.Rater": {"kept_days"},
    "annotation.Tally": {"n"},
    "machine_raters.Verdict": {"seed", "prompt_tokens", "tokens", "characters"},
    "machine_raters.SyntheticText": {"rank", "seed", "tokens"},
    "machine_raters.SyntheticVerdict": {"seed", "tokens"},
    "studies.RefusedCopy": {"seed"},
    "annotation.ScreeningAttempt": {"number", "correct", "of"},
}


def bounds_of(validators: list[Any]) -> tuple[Any, Any]:
    """Return the lower and the upper bound that validators set, or None for a missing bound."""
    limits = [validator for validator in validators if isinstance(validator, BaseValidator)]
    low = [limit.limit_value for limit in limits if isinstance(limit, MinValueValidator)]
    high = [limit.limit_value for limit in limits if isinstance(limit, MaxValueValidator)]
    return max(low, default=None), min(high, default=None)


def numbers() -> Iterator[tuple[str, models.Field]]:
    for model in apps.get_models():
        if model._meta.app_label in OURS:
            for field in model._meta.local_concrete_fields:
                if isinstance(field, NUMBERS) and not field.primary_key:
                    yield model._meta.label, field


ENTERED = [
    pytest.param(field, id=f"{label}.{field.name}")
    for label, field in numbers()
    if field.name not in SET_BY_THE_SERVER.get(label, ())
]


@pytest.mark.parametrize("field", ENTERED)
def test_a_number_that_can_be_entered_has_two_ends(field):
    # Not `validators`: there Django adds what the column holds, which means nothing to a study.
    low, high = bounds_of(field._validators)
    assert low is not None
    assert high is not None
    assert low < high


BEYOND = [float("nan"), float("inf"), -float("inf"), 1e300, -1e300]


@pytest.mark.parametrize("field", ENTERED)
def test_a_number_beyond_its_ends_is_refused_and_not_an_error(field):
    is_whole = isinstance(field, models.IntegerField)
    for value in [10**300, -(10**300)] if is_whole else BEYOND:
        with pytest.raises(ValidationError):
            field.clean(value, field.model())


def test_only_fields_that_are_there_are_excused():
    known = {(label, field.name) for label, field in numbers()}
    excused = {(label, name) for label, names in SET_BY_THE_SERVER.items() for name in names}
    assert excused <= known


def test_no_page_of_the_admin_shows_a_number_that_is_excused():
    assert get_resolver().url_patterns  # loads the modules of all pages
    shown = {
        (inline.model._meta.label, name)
        for model_admin in [*admin.site._registry.values(), *StepAdmin.__subclasses__()]
        for inline in model_admin.inlines
        for name in forms.models.fields_for_model(inline.model, inline.fields)
    }
    excused = {(label, name) for label, names in SET_BY_THE_SERVER.items() for name in names}
    assert shown
    assert not shown & excused


@pytest.mark.parametrize(
    "form", [SamplingForm, *(platform.settings_form for platform in platforms().values())]
)
def test_a_number_of_a_form_has_two_ends(form):
    for name, field in form.base_fields.items():
        if isinstance(field, forms.IntegerField):  # and its heirs, of decimals and floats
            low, high = bounds_of(field.validators)
            assert (low, high) != (None, None), name
            assert low is not None, name
            assert high is not None, name


@pytest.mark.parametrize(
    ("setting", "value"),
    [
        ("temperature", 1e300),
        ("temperature", -0.1),
        ("temperature", float("nan")),
        ("temperature", 10**400),
        ("top_p", float("inf")),
        ("temperature", True),
        ("temperature", "hot"),
        ("top_p", 0),
        ("top_p", 1.01),
        ("max_tokens", 0),
        ("max_tokens", 10**9),
        ("max_tokens", 3.5),
        ("stop", "end"),
        ("stop", [""]),
        ("stop", ["x"] * 17),
        ("stop", [5]),
        ("seed", -1),
        ("seed", 2**31),
        ("samples", 0),
        ("samples", 51),
    ],
)
def test_decoding_out_of_bounds_is_refused(setting, value):
    with pytest.raises(ValidationError, match=setting):
        System._meta.get_field("decoding").run_validators({setting: value})


@pytest.mark.parametrize(
    "decoding",
    [{}, {"temperature": 0, "top_p": 1, "max_tokens": 1, "stop": ["###"]}, {"temperature": 2}],
)
def test_decoding_within_bounds_is_accepted(decoding):
    System._meta.get_field("decoding").run_validators(decoding)
