import subprocess
import sys
import tomllib

from tests.paths import ROOT

CONTRACTS = tomllib.loads((ROOT / "pyproject.toml").read_text())["tool"]["importlinter"]
PACKAGES = CONTRACTS["root_packages"]


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
    assert [one for layer in layers["layers"] for one in layer.split(" | ")] == PACKAGES
    assert "ignore_imports" not in layers
    here = {path.parent.name for path in ROOT.glob("*/__init__.py")}
    assert here - {"tests", "benchmarks", "deploy"} == set(PACKAGES)
