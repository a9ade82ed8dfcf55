"""Sections are declared once, and everything that lists them follows."""

from dataclasses import fields
from inspect import getmodule, signature
from typing import get_args

import pytest

from tiebreak.reading.figures import of_section  # noqa: F401  declares the figures
from tiebreak.reading.figures.figure import DRAWN
from tiebreak.report.model.report import OPTIONAL_SECTIONS, CriterionSection
from tiebreak.report.registry import SECTIONS, Analysis, Question, after_closing, on_request

ALWAYS = {"strata", "perception", "perception_by_systems", "raters"}
COMPUTED = [section for section in SECTIONS.values() if section.make]


def test_each_section_has_a_field_and_each_field_a_section():
    own = {name for name, section in SECTIONS.items() if not section.fills}
    assert own == {*OPTIONAL_SECTIONS} | ALWAYS
    assert {field.name for field in fields(CriterionSection)} > ALWAYS


def test_each_section_on_request_says_what_it_informs_and_is_drawn():
    assert set(DRAWN) == set(on_request()) - set(after_closing())
    assert all(section.asks.endswith("?") for section in on_request().values())


@pytest.mark.parametrize("section", COMPUTED, ids=lambda section: section.name)
def test_a_section_stands_in_the_folder_of_its_question(section):
    assert section.question in get_args(Question)
    assert f".sections.{section.question}." in f"{getmodule(section.make).__name__}."


@pytest.mark.parametrize("section", COMPUTED, ids=lambda section: section.name)
def test_a_section_takes_what_it_declares(section):
    known = {field.name for field in fields(Analysis)}
    assert {*section.takes, *section.options} <= known
    for make in filter(None, (section.make, section.core)):
        _, *parameters = signature(make).parameters.values()
        given = [one.name for one in parameters if one.default is one.empty]
        assert given == list(section.takes)


def test_titles_differ():
    assert len({section.title for section in SECTIONS.values()}) == len(SECTIONS)
