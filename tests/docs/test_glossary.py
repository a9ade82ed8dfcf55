"""Every term of the glossary has a definition, and its names exist in the code."""

import re
from importlib import import_module

import pytest
from django.core.exceptions import FieldDoesNotExist
from django.db import models

from tests.docs.pages import text_of
from tests.paths import ROOT

LINES = re.findall(r"^\| (.+?) \| (.+) \| (.+?) \|$", text_of(ROOT / "docs/glossary.md"), re.M)
TERMS = {term: (meaning, code) for term, meaning, code in LINES[2:]}
NAMES = [name for _, code in TERMS.values() for name in re.findall(r"`([\w.]+)`", code)]


def resolve(name: str) -> object:
    """The object that a dotted name refers to: a module's attribute, a class or a model's field."""
    parts = name.split(".")
    is_class = [part[0].isupper() for part in parts]
    end = is_class.index(True) if any(is_class) else len(parts) - 1
    value = getattr(import_module(".".join(parts[:end])), parts[end])
    for part in parts[end + 1 :]:
        is_model = isinstance(value, type) and issubclass(value, models.Model)
        value = value._meta.get_field(part) if is_model else getattr(value, part)
    return value


@pytest.mark.parametrize("name", NAMES)
def test_every_name_exists(name):
    assert resolve(name) is not None


@pytest.mark.parametrize("name", ["studies.models.Study.no_such", "tiebreak.stats.no_such"])
def test_a_name_that_does_not_exist_is_noticed(name):
    with pytest.raises((FieldDoesNotExist, AttributeError)):
        resolve(name)


def test_every_term_has_a_definition_and_a_name():
    assert len(TERMS) >= 20
    assert len(TERMS) == len(LINES) - 2
    for term, (meaning, code) in TERMS.items():
        assert meaning.endswith("."), term
        assert "`" in code, term
