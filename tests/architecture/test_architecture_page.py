"""docs/architecture.md describes the repository as it is."""

import ast
import re
from pathlib import Path

from django.apps import apps

from tests.architecture.test_imports import PACKAGES
from tests.paths import ROOT

PAGE = (ROOT / "docs" / "architecture.md").read_text(encoding="utf-8")
CODE = re.findall(r"`([^`\n]+)`", re.sub(r"```.*?```", "", PAGE, flags=re.S))
PLANNED = re.findall(r"`([^`\n]+)` \(does not exist\)", PAGE)
PATHS = sorted({code for code in CODE if re.match(r"[\w.]+/", code)} - set(PLANNED))
NAMES = [code for code in PATHS if ": " in code]


def table(heading: str) -> list[list[str]]:
    """The cells of the first table under a heading, without its two header rows."""
    section = PAGE.split(f"\n## {heading}\n")[1]
    first = re.search(r"(?:^\|.*\n)+", section, re.M)
    assert first is not None
    return [line.strip("|").split("|") for line in first[0].splitlines()[2:]]


def module_folders() -> set[str]:
    files = (path for name in PACKAGES for path in (ROOT / name).rglob("*.py"))
    folders = {path.parent for path in files if path.name != "__init__.py"}
    # A platform may be a folder of one module.
    folders |= {path.parent for path in (ROOT / "recruitment/platforms").glob("*/__init__.py")}
    return {f"{folder.relative_to(ROOT)}/" for folder in folders if folder.name != "migrations"}


def defined_names(path: Path) -> set[str]:
    names: set[str] = set()
    for node in ast.parse(path.read_text(encoding="utf-8")).body:
        if isinstance(node, ast.FunctionDef | ast.ClassDef):
            names.add(node.name)
        elif isinstance(node, ast.Assign):
            names |= {target.id for target in node.targets if isinstance(target, ast.Name)}
        elif isinstance(node, ast.AnnAssign) and isinstance(node.target, ast.Name):
            names.add(node.target.id)
    return names


def test_every_path_on_the_page_exists():
    for code in PATHS:
        path = ROOT / code.partition(": ")[0]
        assert path.is_dir() if code.endswith("/") else path.is_file(), code


def test_every_name_on_the_page_is_defined_in_its_file():
    for code in NAMES:
        path, _, name = code.partition(": ")
        assert name in defined_names(ROOT / path), code


def test_what_the_page_calls_planned_does_not_exist():
    assert PLANNED
    assert [path for path in PLANNED if (ROOT / path).exists()] == []


def test_every_folder_with_code_is_described():
    described = {code for row in table("Folders") for code in re.findall(r"`([^`]+)`", row[0])}
    top = {f"{path.parent.name}/" for path in ROOT.glob("*/__init__.py")}
    assert (module_folders() | top) - described == set()


def test_every_module_that_a_folders_row_names_is_in_that_folder():
    for folders, text, *_ in table("Folders"):
        folder = re.findall(r"`([^`]+)`", folders)[0]
        for module in re.findall(r"`(\w+\.(?:py|json))`", text):
            assert (ROOT / folder / module).is_file(), f"{folder}{module}"


def test_the_layers_are_those_of_the_import_contract():
    block = re.search(r"## Layers.*?```\n(.*?)```", PAGE, re.S)
    assert block is not None
    layers = [line.split()[0] for line in block[1].splitlines()]
    assert layers == PACKAGES


def test_every_constraint_on_the_page_is_in_the_database():
    named = {
        name
        for row in table("What the database guarantees")
        for name in re.findall(r"`(\w+)`", row[1])
    }
    constraints = {
        constraint.name for model in apps.get_models() for constraint in model._meta.constraints
    }
    assert len(named) >= 10
    assert named - constraints == set()
