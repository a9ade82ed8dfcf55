"""Every public name of the library has a numpydoc docstring, and every example runs."""

import doctest
import inspect
import pkgutil
from collections.abc import Iterator
from dataclasses import fields, is_dataclass
from importlib import import_module
from operator import attrgetter
from types import FunctionType
from typing import Any

import pytest
from numpydoc.docscrape import FunctionDoc, NumpyDocString
from numpydoc.validate import validate

import tiebreak

PACKAGES = (
    "tiebreak.formats",
    "tiebreak.gateway",
    "tiebreak.optional",
    "tiebreak.report",
    "tiebreak.scales",
    "tiebreak.similarity",
    "tiebreak.stats",
    "tiebreak",
)
MODULES = [
    module.name
    for module in pkgutil.walk_packages(tiebreak.__path__, "tiebreak.")
    if module.name != "tiebreak.__main__"
]
# Checks of numpydoc that this library ignores.
WAIVED = {
    "ES01",  # there is no extended summary, because the sections suffice
    "EX01",  # there is no example, which a test below requires of functions
    "GL01",  # the summary begins on the line of the quotes
    "PR01",  # a dataclass documents its parameters as attributes, see below
    "SA01",  # there is no See Also, which not every name needs
}


def public(package: str) -> Iterator[str]:
    """Yield the functions and classes that a package exports, and the classes' public methods."""
    module = import_module(package)
    for name in getattr(module, "__all__", [n for n in vars(module) if not n.startswith("_")]):
        value = getattr(module, name)
        if not (inspect.isfunction(value) or inspect.isclass(value)):
            continue
        if value.__module__.startswith("tiebreak.") and _is_of(package, value):
            yield f"{package}.{name}"
            if inspect.isclass(value):
                yield from (f"{package}.{name}.{method}" for method in _methods(value))


def _is_of(package: str, value: Any) -> bool:
    return value.__module__ == package or hasattr(import_module(package), "__path__")


def _methods(kind: type) -> list[str]:
    """Return the public methods without overrides, which the base class documents."""
    return [
        name
        for name, value in vars(kind).items()
        if not name.startswith("_")
        and isinstance(value, FunctionType | classmethod)
        and not any(name in vars(base) for base in kind.__mro__[1:])
    ]


def resolved(name: str) -> Any:
    package = next(candidate for candidate in PACKAGES if name.startswith(f"{candidate}."))
    return attrgetter(name.removeprefix(f"{package}."))(import_module(package))


PUBLIC = sorted({name for package in PACKAGES for name in public(package)})


@pytest.mark.parametrize("name", PUBLIC)
def test_a_public_name_is_documented(name):
    errors = validate(name)["errors"]
    assert [(code, message) for code, message in errors if code not in WAIVED] == []


@pytest.mark.parametrize("name", PUBLIC)
def test_every_argument_and_attribute_is_documented(name):
    value = resolved(name)
    if inspect.isclass(value):
        doc, named = NumpyDocString(inspect.getdoc(value) or ""), _attributes(value)
    else:
        doc, named = FunctionDoc(value), _arguments(value)
    documented = {
        part.strip().lstrip("*")
        for section in ("Parameters", "Attributes")
        for parameter in doc[section]
        for part in parameter.name.split(",")
    }
    assert named <= documented


def _arguments(function: Any) -> set[str]:
    return set(inspect.signature(function).parameters) - {"self"}


def _attributes(kind: type) -> set[str]:
    """Return the fields and public properties of a dataclass, or another class's arguments."""
    properties = {
        name
        for name, value in vars(kind).items()
        if isinstance(value, property) and not name.startswith("_")
    }
    if is_dataclass(kind):
        return {field.name for field in fields(kind)} | properties
    return _arguments(kind.__init__) - {"args", "kwargs"}


@pytest.mark.parametrize(
    "name", [name for name in PUBLIC if name.count(".") == 2 and inspect.isfunction(resolved(name))]
)
def test_a_function_has_an_example(name):
    assert ">>>" in (inspect.getdoc(resolved(name)) or "")


@pytest.mark.parametrize("name", MODULES)
def test_the_examples_of_a_module_run(name, monkeypatch):
    # For each module, doctest asks of each line in memory whether its file has changed.
    monkeypatch.setattr("linecache.checkcache", lambda *_: None)
    assert doctest.testmod(import_module(name)).failed == 0


def test_there_are_examples():
    finder = doctest.DocTestFinder()
    examples = [
        test for name in MODULES for test in finder.find(import_module(name)) if test.examples
    ]
    assert len(examples) > 100
