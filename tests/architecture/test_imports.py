import os
import subprocess
import sys
import tomllib

import pytest

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


@pytest.mark.parametrize(
    "program",
    [
        "import django; django.setup(); import config.urls",
        "import config.celery as c; c.app.loader.import_default_modules()",
        "from tiebreak.cli import main; main(['--help'])",
    ],
)
def test_only_processes_that_use_statistics_or_redis_wait_for_them(program):
    tell = "import atexit, sys; atexit.register(lambda: print(*sys.modules))\n"
    result = subprocess.run(
        [sys.executable, "-c", tell + program],
        cwd=ROOT,
        env=os.environ | {"DJANGO_SETTINGS_MODULE": "config.settings"},
        capture_output=True,
        text=True,
        check=True,
    )
    loaded = set(result.stdout.splitlines()[-1].split())
    assert "scipy" in loaded
    later = {"scipy.optimize", "scipy.sparse", "scipy.special", "scipy.stats", "redis"}
    assert not loaded & later
