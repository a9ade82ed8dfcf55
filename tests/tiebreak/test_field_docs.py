"""Texts below the fields of a dataclass reach its docstring and the schema."""

import inspect
from dataclasses import dataclass

from tiebreak.field_docs import field_docs, list_fields


@dataclass
class Interval:
    """An interval.

    Examples
    --------
    >>> Interval(0, 1).width
    1
    """

    low: float
    high: float
    """Ends of the interval,
    in order."""

    @property
    def width(self) -> float:
        """How long it is."""
        return self.high - self.low


@dataclass
class Named(Interval):
    low: int
    name: str
    """Name of the interval."""


def test_text_covers_the_fields_above_it():
    texts = {name: described.text for name, described in field_docs(Interval).items()}
    ends = "Ends of the interval, in order."
    assert texts == {"low": ends, "high": ends, "width": "How long it is."}


def test_redeclared_field_keeps_the_text_of_its_base():
    assert [*field_docs(Named)] == ["name"]


def test_docstring_lists_fields_before_the_examples():
    list_fields({"Interval": Interval})
    list_fields({"again": Interval})
    lines = (inspect.getdoc(Interval) or "").splitlines()
    assert lines[2:8] == [
        "Attributes",
        "----------",
        "low, high : float",
        "    Ends of the interval, in order.",
        "width : float",
        "    How long it is.",
    ]
    assert lines[9] == "Examples"
