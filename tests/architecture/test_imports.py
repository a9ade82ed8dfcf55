import re
import subprocess
import sys

from tests.shared_data import ROOT


def test_every_import_points_down():
    result = subprocess.run(
        [sys.executable, "-c", "from importlinter.cli import lint_imports_command as c; c()"],
        cwd=ROOT,
        capture_output=True,
        text=True,
        check=False,
    )
    assert result.returncode == 0, result.stdout


def test_every_module_of_metrics_has_a_layer():
    """The layers name the app's own modules one by one; a new one must be placed."""
    import tomllib

    contracts = tomllib.loads((ROOT / "pyproject.toml").read_text())["tool"]["importlinter"]
    named = {
        name.strip().removeprefix("metrics.")
        for layer in contracts["contracts"][0]["layers"]
        for name in re.split("[|:]", layer)
    }
    here = {path.stem for path in (ROOT / "metrics").iterdir() if not path.name.startswith("_")}
    assert here - {"migrations", "static", "templates"} <= named
