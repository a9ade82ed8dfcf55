"""The wheel in an empty environment, without an extra: `make test-wheel`.

The name keeps it out of the suite, because it installs packages.
"""

import json
import os
import subprocess
import sys
from dataclasses import dataclass
from pathlib import Path
from zipfile import ZipFile

import pytest

from tests.paths import ROOT
from tests.tiebreak.formats.bundles import make_bundle

BATCH = """\
WorkerId,Input.model1_summary1,Input.model2_summary1,Input.id1,Answer.pref1
1,An old text,A new text,1,-1
2,An old text,A new text,1,0
"""
SIX = "unit,rater,label\n1,r1,a\n1,r2,a\n1,r3,b\n2,r1,b\n2,r2,b\n2,r3,b\n"
ALPHA = """
from tiebreak.stats import krippendorff_alpha
print(krippendorff_alpha([[2, 0], [1, 1], [0, 2]]).value)
"""
ROWS = """
import sys, tiebreak
rows = [{"unit": u, "rater": r, "label": l} for r, l in zip("pqr", "aab") for u in "uvw"]
print(len(tiebreak.analyze(rows, replicates=0)._repr_html_()), "tiebreak.client" in sys.modules)
"""
ROUGE = """
from tiebreak.similarity import similarity
print(similarity("rouge1")("running cats", "a running cat"))
"""
EVERY_MODULE = """
import importlib, pkgutil, sys, tiebreak
for module in pkgutil.walk_packages(tiebreak.__path__, "tiebreak."):
    if module.name != "tiebreak.__main__":
        importlib.import_module(module.name)
print(*sorted({name.partition(".")[0] for name in sys.modules}))
"""


@dataclass(frozen=True)
class Installed:
    """An environment that holds the wheel and what it depends on."""

    folder: Path

    def python(self, program: str) -> str:
        run = self._run("python", "-I", "-c", program)
        assert run.returncode == 0, run.stderr
        return run.stdout.strip()

    def tiebreak(self, *arguments: str | Path) -> subprocess.CompletedProcess[str]:
        return self._run("tiebreak", *map(str, arguments))

    def _run(self, program: str, *arguments: str) -> subprocess.CompletedProcess[str]:
        # Outside the checkout, whose `tiebreak` would be imported instead.
        command = [self.folder / "bin" / program, *arguments]
        environment = {**os.environ, "PYTHONPATH": ""}
        return subprocess.run(
            command, cwd=self.folder, env=environment, capture_output=True, text=True, check=False
        )


@pytest.fixture(scope="module")
def wheel(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("wheel")
    pip = [sys.executable, "-m", "pip", "wheel", "--quiet", "--no-deps", "--wheel-dir", folder]
    subprocess.run([*pip, ROOT], check=True)
    [path] = folder.glob("*.whl")
    return path


@pytest.fixture(scope="module")
def installed(wheel: Path, tmp_path_factory: pytest.TempPathFactory) -> Installed:
    folder = tmp_path_factory.mktemp("environment")
    subprocess.run([sys.executable, "-m", "venv", folder], check=True)
    pip = [folder / "bin" / "pip", "install", "--quiet", "--no-compile"]
    subprocess.run([*pip, wheel], check=True)
    return Installed(folder)


def test_the_wheel_holds_the_typed_library_and_nothing_else(wheel):
    names = ZipFile(wheel).namelist()
    library = [name for name in names if ".dist-info/" not in name]
    assert {name.partition("/")[0] for name in library} == {"tiebreak"}
    assert "tiebreak/py.typed" in library
    assert not [name for name in library if name.endswith(".pyc")]


def test_every_module_imports_without_an_extra(installed):
    roots = set(installed.python(EVERY_MODULE).split())
    assert {"tiebreak", "numpy"} <= roots
    assert not roots & {"django", "rest_framework", "celery", "pyarrow", "torch", "spacy", "vllm"}
    assert installed.python("import importlib.util as u; print(u.find_spec('django'))") == "None"


def test_a_statistic_is_computed(installed):
    assert float(installed.python(ALPHA)) == pytest.approx(4 / 9)


def test_rows_are_analysed_and_shown(installed):
    size, has_client = installed.python(ROWS).split()
    assert int(size) > 3_000
    assert has_client == "False"


def test_words_are_stemmed(installed):
    assert float(installed.python(ROUGE)) == pytest.approx(4 / 5)


def test_a_published_file_is_converted_and_analysed(installed, tmp_path):
    batch = tmp_path / "old_new_pref_data.csv"
    batch.write_text(BATCH)
    converted = installed.tiebreak("convert", "mturk", batch, "--out", tmp_path / "bundle")
    assert (converted.returncode, converted.stderr) == (0, "")
    analysed = installed.tiebreak("analyze", tmp_path / "bundle", "--out", tmp_path / "report.json")
    assert analysed.returncode == 0, analysed.stderr
    report = json.loads((tmp_path / "report.json").read_text())
    assert report["criteria"]["preference"]["votes"] == {"-1": 1, "0": 1, "1": 0}


def test_a_bundle_is_analysed(installed, tmp_path):
    bundle = make_bundle(tmp_path / "bundle", with_ratings=True)
    run = installed.tiebreak("analyze", bundle, "--out", tmp_path / "report.json", "--json")
    assert run.returncode == 0, run.stderr
    assert json.loads(run.stdout)["n_used"] == 12


def test_texts_are_scored(installed, tmp_path):
    bundle = make_bundle(tmp_path / "bundle")
    scored = installed.tiebreak(
        "separability", bundle, "--similarity", "rouge1", "--out", tmp_path / "scores.csv", "--json"
    )
    assert scored.returncode == 0, scored.stderr
    assert json.loads(scored.stdout)["pairs"]["old – new"]["scored"] == 3
    encoded = installed.tiebreak("separability", bundle, "--out", tmp_path / "encoded.csv")
    assert encoded.returncode == 1
    assert encoded.stderr.strip().endswith("Install it with: pip install 'tiebreak[embeddings]'")


def test_six_ratings_give_numbers_a_page_with_figures_and_tables(installed, tmp_path):
    ratings = tmp_path / "ratings.csv"
    ratings.write_text(SIX)
    files = ("--html", tmp_path / "report.html", "--latex", tmp_path / "tables.tex")
    run = installed.tiebreak("analyze", ratings, *files, "--figures", tmp_path / "figures")
    assert (run.returncode, run.stderr) == (0, "")
    assert "0.38" in run.stdout
    assert "<svg" in (tmp_path / "report.html").read_text()
    assert "0.38" in (tmp_path / "tables.tex").read_text()
    assert (tmp_path / "tables.bib").is_file()
    assert (tmp_path / "figures" / "agreement.svg").is_file()


def test_what_an_extra_brings_is_named_where_it_is_asked_for(installed, tmp_path):
    batch = tmp_path / "old_new_pref_data.csv"
    batch.write_text(BATCH)
    run = installed.tiebreak("convert", "mturk", batch, "--out", tmp_path / "ratings.parquet")
    assert run.returncode == 1
    assert run.stderr.strip().endswith("Install it with: pip install 'tiebreak[parquet]'")
    assert not list(tmp_path.glob("*.parquet"))
