"""What only tests use is in the tests, and not in the product."""

import ast
from collections.abc import Iterator
from pathlib import Path

from tests.architecture.test_architecture_page import PACKAGES, defined_names
from tests.paths import ROOT

PRODUCT = [
    path
    for package in PACKAGES
    for path in (ROOT / package).rglob("*.py")
    if "migrations" not in path.parts
]


def names_in(path: Path) -> Iterator[str]:
    """Yield the names that a file uses or exports, also those in dotted paths, but no other import."""
    for node in ast.walk(ast.parse(path.read_text(encoding="utf-8"))):
        if isinstance(node, ast.Name) and isinstance(node.ctx, ast.Load):
            yield node.id
        elif isinstance(node, ast.Attribute):
            yield node.attr
        elif isinstance(node, ast.Constant) and isinstance(node.value, str):
            yield node.value.rpartition(".")[2]
        elif isinstance(node, ast.FunctionDef) and node.decorator_list:
            yield node.name  # which a decorator may register
        elif isinstance(node, ast.ImportFrom):
            yield from (name.name for name in node.names if name.name == name.asname)


def test_what_only_tests_use_is_in_the_tests() -> None:
    of_tests = {name for path in (ROOT / "tests").rglob("*.py") for name in names_in(path)}
    only_tested = of_tests.difference(*map(set, map(names_in, PRODUCT)))
    settings = ROOT / "config" / "settings.py"  # which Django reads
    helpers = {
        f"{path.relative_to(ROOT)}: {name}"
        for path in PRODUCT
        if path != settings
        for name in defined_names(path) & only_tested
    }
    assert not helpers, "move these to the tests, or delete them"
