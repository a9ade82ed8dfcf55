"""The command `tiebreak`, which does what `manage.py analyze` and `convert` do, without a server."""

import json
import re
import sys
import tomllib
from dataclasses import asdict, replace
from importlib.metadata import EntryPoint
from io import StringIO
from pathlib import Path

import numpy as np
import pytest
from django.core.management import CommandError, call_command

from tests.pages import numbers_in
from tests.paths import ROOT
from tests.refusals import refused
from tests.tiebreak.formats.bundles import make_bundle
from tiebreak import __version__
from tiebreak.cli import main
from tiebreak.errors import InvalidInput
from tiebreak.formats import read_ratings
from tiebreak.reading.figures.of_report import figures_of
from tiebreak.reading.files import WRITTEN
from tiebreak.reading.leading_numbers import leading_numbers
from tiebreak.report import build_report, read_source
from tiebreak.report.registry import SECTIONS
from tiebreak.report.sections.planning.simulated_sizes import SIMULATED
from tiebreak.stats import VarianceComponents, design_grid
from tiebreak.stats.design.sample_size import NO_REPEATS

PROJECT = tomllib.loads((ROOT / "pyproject.toml").read_text())["project"]
BATCH = """\
WorkerId,Input.model1_summary1,Input.model2_summary1,Input.id1,Answer.pref1
1,An old text,A new text,1,-1
2,An old text,A new text,1,0
"""


@pytest.fixture
def bundle(tmp_path: Path) -> Path:
    return make_bundle(tmp_path / "bundle", with_ratings=True)


@pytest.fixture
def batch(tmp_path: Path) -> Path:
    path = tmp_path / "batch.csv"
    path.write_text(BATCH)
    return path


def run(*arguments: object) -> int:
    return main([str(argument) for argument in arguments])


def served(*arguments: object) -> str:
    out = StringIO()
    call_command(*map(str, arguments), stdout=out)
    return out.getvalue()


def test_the_entry_point_is_the_command():
    entry = EntryPoint("tiebreak", PROJECT["scripts"]["tiebreak"], "console_scripts")
    assert entry.load() is main


@pytest.mark.parametrize("options", [(), ("--json",)])
def test_analyze_does_what_the_servers_command_does(bundle, tmp_path, capsys, options):
    scale = ("--scale", "preference=preference:tie", "--replicates", "50", "--seed", "3")
    out = tmp_path / "report.json"
    arguments = ("analyze", bundle, "--out", out, *scale, *options)
    assert run(*arguments) == 0
    shown, report = capsys.readouterr().out, out.read_text()
    out.unlink()
    assert served(*arguments) == shown
    assert out.read_text() == report


def test_analyze_prints_the_leading_numbers_and_writes_nothing(bundle, tmp_path, capsys):
    before = sorted(tmp_path.rglob("*"))
    assert run("analyze", bundle, "--replicates", 0) == 0
    printed = capsys.readouterr().out
    report = build_report(read_source(bundle).table, replicates=0)
    for number in leading_numbers(report.criteria["preference"]):
        assert number.number.text in printed
        assert number.title in printed
    assert sorted(tmp_path.rglob("*")) == before


def test_analyze_writes_whatever_is_asked_for_and_nothing_else(bundle, tmp_path, capsys):
    out = tmp_path / "out"
    paths = {name: out / kind.example for name, kind in WRITTEN.items()}
    options = [argument for name, path in paths.items() for argument in (f"--{name}", path)]
    assert run("analyze", bundle, "--replicates", 0, "--json", *options) == 0
    said = json.loads(capsys.readouterr().out)
    assert {name: said[name] for name in paths} == {n: str(path) for n, path in paths.items()}
    assert {path.name for path in out.iterdir()} == {p.name for p in paths.values()} | {
        "tables.bib"
    }
    figures = build_report(read_source(bundle).table, replicates=0).criteria["preference"]
    names = {f"{one.name}.{kind}" for one in figures_of(figures) for kind in ("svg", "pdf", "csv")}
    assert {path.name for path in paths["figures"].iterdir()} == names
    assert paths["pdf"].read_bytes().startswith(b"%PDF")
    assert paths["html"].read_text().count("<svg") == len(names) / 3
    assert "tables.bib" in paths["latex"].read_text()


def test_what_a_pdf_needs_is_said_before_the_report_is_computed(
    bundle, tmp_path, capsys, monkeypatch
):
    monkeypatch.setitem(sys.modules, "typst", None)
    monkeypatch.setattr(
        "tiebreak.commands.reports.report_from", lambda *_, **__: pytest.fail("computed")
    )
    assert run("analyze", bundle, "--pdf", tmp_path / "report.pdf") == 1
    assert "tiebreak[pdf]" in capsys.readouterr().err


@pytest.mark.parametrize("options", [(), ("--json",)])
def test_convert_does_what_the_servers_command_does(batch, tmp_path, capsys, options):
    arguments = ("convert", "mturk", batch, "--systems", "old,new", *options, "--out")
    assert run(*arguments, tmp_path / "ratings.csv") == 0
    shown, rows = capsys.readouterr().out, (tmp_path / "ratings.csv").read_text()
    (tmp_path / "ratings.csv").unlink()
    assert served(*arguments, tmp_path / "ratings.csv") == shown
    assert (tmp_path / "ratings.csv").read_text() == rows
    assert "old" in rows


@pytest.mark.parametrize(
    ("arguments", "code", "named"),
    [
        (("--replicates", "-1"), "bad_option", "--replicates"),
        (("--scale", "preference"), "bad_option", "'preference'"),
        (("--scale", "fluency=ordinal:1..5"), "bad_option", "'fluency'"),
        (("--scale", "preference=ordinal:1..x"), "ends_missing", "1..x"),
        (("--unparsed", "perhaps"), "bad_file", "perhaps"),
    ],
)
def test_a_refused_option_is_told_and_writes_nothing(
    bundle, tmp_path, capsys, arguments, *, code, named
):
    out = tmp_path / "report.json"
    assert run("analyze", bundle, "--out", out, *arguments) == 1
    printed = capsys.readouterr()
    assert printed.out == ""
    assert not out.exists()
    with refused(code, CommandError, naming=named) as told:
        served("analyze", bundle, "--out", out, *arguments)
    assert printed.err == f"{told.value}\n"


@pytest.mark.parametrize("systems", ["old", "old,old", "old,", "old,new,other"])
def test_convert_refuses_what_are_not_two_systems(batch, tmp_path, capsys, systems):
    assert run("convert", "mturk", batch, "--out", tmp_path / "out", "--systems", systems) == 1
    assert "--systems" in capsys.readouterr().err
    with refused("bad_option", CommandError):
        served("convert", "mturk", batch, "--out", tmp_path / "out", "--systems", systems)


def test_a_place_that_cannot_be_written_is_named(bundle, tmp_path, capsys):
    (tmp_path / "file").touch()
    for name, kind in WRITTEN.items():
        path = tmp_path / "file" / kind.example
        assert run("analyze", bundle, f"--{name}", path, "--replicates", 0) == 1
        assert str(path) in capsys.readouterr().err
    with refused("cannot_write", CommandError):
        served("analyze", bundle, "--out", tmp_path / "file" / "report.json")


UNPARSED = {"unit": "i0/0", "rater": "m", "kind": "machine", "label": None, "raw": "?"}


def test_what_a_report_lacks_is_said_and_the_rest_is_written(bundle, tmp_path, capsys, monkeypatch):
    def refused(_: object) -> None:
        raise InvalidInput("nobody_looked", "Nobody looked.")

    monkeypatch.setitem(SECTIONS, "perception", replace(SECTIONS["perception"], make=refused))
    ratings = bundle / "ratings.jsonl"
    with ratings.open("a") as file:
        file.write(json.dumps({**UNPARSED, "criterion": "fluency"}) + "\n")
    assert run("analyze", ratings, "--out", tmp_path / "report.json", "--replicates", 0) == 0
    printed = capsys.readouterr()
    fluency, perception = (line for line in printed.err.splitlines() if "computed" in line)
    assert "fluency" in fluency
    assert re.search("preference.*Labels by majority label.*Nobody looked", perception)
    assert numbers_in(printed.out) >= {"13"}


def test_without_its_package_a_format_says_what_to_install(batch, tmp_path, capsys, monkeypatch):
    monkeypatch.setitem(sys.modules, "pyarrow", None)
    out = tmp_path / "ratings.parquet"
    assert run("convert", "mturk", batch, "--out", out) == 1
    assert "tiebreak[parquet]" in capsys.readouterr().err
    with refused("missing_package", CommandError, naming="pyarrow"):
        served("convert", "mturk", batch, "--out", out)


def test_an_unknown_option_shows_the_usage(capsys):
    with pytest.raises(SystemExit) as stopped:
        run("analyze", "ratings.csv", "--how")
    assert stopped.value.code == 2
    assert capsys.readouterr().err.startswith("usage:")


def test_the_version_is_said_in_one_place(capsys):
    with pytest.raises(SystemExit):
        run("--version")
    assert capsys.readouterr().out == f"tiebreak {__version__}\n"
    assert "version" in PROJECT["dynamic"]
    assert f"version: {__version__}\n" in (ROOT / "CITATION.cff").read_text()
    assert f"## {__version__} " in (ROOT / "CHANGELOG.md").read_text()


class TestPlan:
    @pytest.fixture
    def pilot(self, tmp_path):
        """Write a pilot of 40 units of two systems, of which three annotators prefer the first in 70%."""
        rng, path = np.random.default_rng(0), tmp_path / "pilot.jsonl"
        units = rng.random(40) < 0.7
        facts = {"system_a": "x", "system_b": "y"}
        rows = [
            facts | {"unit": f"u{i}", "instance": f"i{i}", "rater": f"r{k}", "label": label}
            for i, wins in enumerate(units)
            for k in range(3)
            for label in [-1 if wins == (rng.random() < 0.8) else 1]
        ]
        path.write_text("\n".join(map(json.dumps, rows)))
        return path

    def test_it_is_what_the_library_finds(self, pilot, capsys):
        assert run("plan", pilot, "--width", "0.2", "--raters", "9", "--json") == 0
        size = json.loads(capsys.readouterr().out)["pairs"]["x vs y"]
        parts = build_report(read_ratings(pilot), replicates=0).criteria["preference"].planning
        known = {name: getattr(parts["x vs y"], name) for name in ("mean", "instance", "unit")}
        known |= {name: getattr(parts["x vs y"], name) for name in ("rater", "rating")}
        (expected,) = design_grid(
            VarianceComponents(**known), target_width=0.2, ratings=[3], raters=9
        )
        assert size == asdict(expected)
        assert size["total"] == 3 * size["instances"] > 30

    def test_its_sentence_has_the_same_numbers(self, pilot, capsys):
        assert run("plan", pilot, "--power", "0.8", "--items-per-rater", "5", "--json") == 0
        size = json.loads(capsys.readouterr().out)["pairs"]["x vs y"]
        assert run("plan", pilot, "--power", "0.8", "--items-per-rater", "5") == 0
        shown = capsys.readouterr().out
        assert f"{size['instances']:,} instances with {size['total']:,} ratings" in shown
        assert SIMULATED in shown

    def test_a_pair_without_repeats_is_left_without_a_number(self, pilot, capsys):
        pilot.write_text("\n".join(pilot.read_text().splitlines()[::3]))
        assert run("plan", pilot, "--width", "0.2", "--json") == 0
        size = json.loads(capsys.readouterr().out)["pairs"]["x vs y"]
        assert (size["instances"], size["reason"]) == (None, NO_REPEATS)

    @pytest.mark.parametrize(
        "options", ["--width 2", "--width 0.1 --criterion other", "--width 0.1 --raters 7"]
    )
    def test_what_cannot_be_planned_is_refused(self, pilot, options, capsys):
        assert run("plan", pilot, *options.split()) == 1
        assert capsys.readouterr().err
