import ast
import subprocess
import sys
import tomllib
from pathlib import Path

import pytest

from tests.paths import ROOT

CONTRACTS = tomllib.loads((ROOT / "pyproject.toml").read_text())["tool"]["importlinter"]
PACKAGES = CONTRACTS["root_packages"]
MODULES = [path for name in PACKAGES for path in sorted((ROOT / name).rglob("*.py"))]
# Django cannot be imported from before it is configured.
BEFORE_DJANGO = {"config/demo.py", "config/celery.py"}


def test_every_import_points_down():
    result = subprocess.run(
        [sys.executable, "-c", "from importlinter.cli import lint_imports_command as c; c()"],
        cwd=ROOT,
        capture_output=True,
        text=True,
        check=False,
    )
    assert result.returncode == 0, result.stdout


def test_every_package_has_a_layer_and_no_exception():
    layers = CONTRACTS["contracts"][0]
    assert layers["layers"] == PACKAGES
    assert "ignore_imports" not in layers
    here = {path.parent.name for path in ROOT.glob("*/__init__.py")}
    assert here - {"tests", "benchmarks"} == set(PACKAGES)


@pytest.mark.parametrize("path", MODULES, ids=lambda path: str(path.relative_to(ROOT)))
def test_no_function_imports_a_module_of_ours(path: Path):
    if str(path.relative_to(ROOT)) in BEFORE_DJANGO:
        pytest.skip("This module starts Django itself.")
    tree = ast.parse(path.read_text())
    functions = (n for n in ast.walk(tree) if isinstance(n, ast.FunctionDef | ast.AsyncFunctionDef))
    inner = (n for function in functions for n in ast.walk(function))
    named = [
        name.split(".")[0]
        for node in inner
        if isinstance(node, ast.Import | ast.ImportFrom)
        for name in (
            [node.module or ""]
            if isinstance(node, ast.ImportFrom)
            else [a.name for a in node.names]
        )
    ]
    assert not set(named) & set(PACKAGES)
