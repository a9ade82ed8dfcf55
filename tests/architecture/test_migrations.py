from collections.abc import Iterator, Mapping
from enum import Enum
from importlib import import_module
from typing import Literal, get_args, get_origin

import pytest
from django.apps import apps
from django.core.exceptions import ValidationError
from django.core.management import call_command
from django.db import models

from studies.models import Study
from studies.models.choices import OpenChoiceField
from studies.rendering import RENDERERS
from tests.architecture.test_architecture_page import PACKAGES
from tests.architecture.test_test_helpers import PRODUCT
from tests.paths import ROOT


@pytest.mark.django_db
def test_no_migration_is_missing(capsys):
    call_command("makemigrations", check=True, dry_run=True)
    assert "No changes detected" in capsys.readouterr().out


def test_analyze_and_convert_need_no_database():
    from metrics.management.commands import analyze
    from studies.management.commands import convert

    assert analyze.Command.requires_migrations_checks is False
    assert convert.Command.requires_migrations_checks is False


def fields_with_choices() -> list[models.Field]:
    of_packages = [
        model for model in apps.get_models() if model.__module__.split(".")[0] in PACKAGES
    ]
    return [f for m in of_packages for f in m._meta.local_fields if f.choices is not None]


def registries() -> Iterator[set[str]]:
    """Yield names under which code finds what it does, and those that a statistic accepts."""
    names = [
        path.relative_to(ROOT).with_suffix("") for path in PRODUCT if path.name != "__main__.py"
    ]
    for name in names:
        if name.parts[0] != "config" and "commands" not in name.parts:
            for value in vars(
                import_module(".".join(name.parts).removesuffix(".__init__"))
            ).values():
                if get_origin(value) is Literal and name.parts[:2] == ("tiebreak", "stats"):
                    yield {*map(str, get_args(value))}
                elif isinstance(value, Mapping) and all(map(is_of_ours, value.values())):
                    yield {*map(str, value)}


def is_of_ours(value: object) -> bool:
    """Whether a value is a function or class, or an instance of a class of the product."""
    is_of_package = type(value).__module__.split(".")[0] in PACKAGES
    return callable(value) or (is_of_package and not isinstance(value, Enum))


def test_choices_that_are_registries_are_in_no_migration():
    """A migration for each new rule, design or renderer would change no table."""
    known = list(registries())
    closed = [field for field in fields_with_choices() if not isinstance(field, OpenChoiceField)]
    for field in closed:
        values = {str(value) for value, _ in field.choices}
        assert all(len(values & names) < 2 for names in known), f"{field}: take an OpenChoiceField"


@pytest.mark.django_db
def test_a_new_choice_needs_no_migration(monkeypatch):
    fields = [field for field in fields_with_choices() if isinstance(field, OpenChoiceField)]
    assert fields
    for field in fields:
        with pytest.raises(ValidationError) as refusal:
            field.clean("new", None)
        assert refusal.value.code == "invalid_choice"
        monkeypatch.setattr(field, "choices", [*field.choices, ("new", "New")])
        assert field.clean("new", None) == "new"
    call_command("makemigrations", check=True, dry_run=True)


def test_a_new_renderer_is_a_choice_of_studies_at_once(monkeypatch):
    monkeypatch.setitem(RENDERERS, "new", RENDERERS["plain"])
    assert Study._meta.get_field("source_format").clean("new", None) == "new"
