"""Optional packages have one loader, which names the extra to install if a package is missing."""

import ast
import sys
import tomllib
from importlib.metadata import packages_distributions

import pytest
from packaging.requirements import Requirement

from tests.paths import ROOT
from tests.refusals import refused
from tiebreak.optional import EXTRAS, advice_for, is_installed, load

PROJECT = tomllib.loads((ROOT / "pyproject.toml").read_text())["project"]
DISTRIBUTIONS = packages_distributions()
MODULES = sorted((ROOT / "tiebreak").rglob("*.py"))
# These are required, but imported late because they take long to load.
LATE = {"nltk"}


def names_of(requirements: list[str]) -> set[str]:
    return {Requirement(requirement).name.lower() for requirement in requirements}


def imports_of(tree: ast.AST) -> set[str]:
    imported = set()
    for node in ast.walk(tree):
        if isinstance(node, ast.Import):
            imported |= {alias.name.partition(".")[0] for alias in node.names}
        elif isinstance(node, ast.ImportFrom) and node.module and not node.level:
            imported.add(node.module.partition(".")[0])
    return imported - sys.stdlib_module_names - {"tiebreak"}


@pytest.mark.parametrize("extra", EXTRAS, ids=lambda extra: extra.name)
def test_an_extra_brings_the_packages_that_it_is_named_for(extra):
    brought = names_of(PROJECT["optional-dependencies"][extra.name])
    packages = {package.replace("_", "-") for package in extra.packages}
    assert (
        packages - {"en-core-web-sm"} <= brought
    )  # spaCy downloads its pipelines itself, so no extra has them


def test_the_library_imports_core_dependencies_only():
    """The library can be imported without extras, and only the loader imports optional packages."""
    core = names_of(PROJECT["dependencies"])
    for path in MODULES:
        tree = ast.parse(path.read_text())
        imported = {name for module in imports_of(tree) for name in DISTRIBUTIONS[module]}
        assert {name.lower() for name in imported} <= core, path
        nodes = ast.walk(tree)
        functions = (n for n in nodes if isinstance(n, ast.FunctionDef | ast.AsyncFunctionDef))
        assert {name for function in functions for name in imports_of(function)} <= LATE, path


@pytest.mark.thorough
def test_a_core_dependency_is_used():
    imported = {name for path in MODULES for name in imports_of(ast.parse(path.read_text()))}
    used = {distribution.lower() for name in imported for distribution in DISTRIBUTIONS[name]}
    assert names_of(PROJECT["dependencies"]) <= used


def test_what_is_installed_is_loaded():
    assert load("pyarrow.parquet").__name__ == "pyarrow.parquet"


def test_what_is_missing_names_the_extra(monkeypatch):
    monkeypatch.setitem(sys.modules, "pyarrow", None)
    with refused("missing_package", naming="tiebreak[parquet]") as caught:
        load("pyarrow.parquet")
    assert caught.value.message == advice_for("pyarrow")
    assert not is_installed("pyarrow")


def test_a_package_that_does_not_import_is_not_called_missing(monkeypatch, tmp_path):
    (tmp_path / "vllm.py").write_text("import no_such_library")
    monkeypatch.syspath_prepend(tmp_path)
    monkeypatch.delitem(sys.modules, "vllm", raising=False)
    with refused("broken_package", naming="no_such_library"):
        load("vllm")


def test_the_pipeline_of_entities_is_downloaded_after_its_package():
    assert advice_for("en_core_web_sm").endswith(
        "pip install 'tiebreak[entities]' && python -m spacy download en_core_web_sm"
    )
