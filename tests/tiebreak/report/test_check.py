"""`analyze --check` compares every α with another package, and refuses where they differ."""

import json
from dataclasses import replace
from itertools import product

import pytest

from tests.tiebreak.report.sections.raters.test_many_values import rows_of
from tests.tiebreak.report.small_study import small_study
from tiebreak import optional
from tiebreak.cli import main
from tiebreak.report import check
from tiebreak.report.registry import SECTIONS
from tiebreak.stats import krippendorff_alpha


@pytest.fixture
def ratings(tmp_path):
    path = tmp_path / "ratings.jsonl"
    path.write_text("\n".join(map(json.dumps, small_study())))
    return path


def analyzed(path, *options):
    out = path.parent / "report.json"
    return main(["analyze", str(path), "--out", str(out), "--replicates", "0", *options])


def test_both_values_and_the_largest_difference_are_printed(ratings, capsys):
    assert analyzed(ratings, "--check") == 0
    shown = capsys.readouterr().out
    report = json.loads((ratings.parent / "report.json").read_text())
    alpha = report["criteria"]["fluency"]["strata"][0]["human_human"]["krippendorff_alpha"]
    (line,) = (line for line in shown.splitlines() if "fluency, all all, among humans" in line)
    assert line.count(f"{alpha['value']:.12f}") == 2
    assert float(shown.splitlines()[-1].rpartition(": ")[2].rstrip(".")) < 1e-12


def test_every_stratum_of_every_criterion_is_compared(ratings, capsys):
    assert analyzed(ratings, "--check", "--json") == 0
    checked = json.loads(capsys.readouterr().out)["check"]
    report = json.loads((ratings.parent / "report.json").read_text())
    strata = [s for c in report["criteria"].values() for s in c["strata"]]
    assert len(checked["alphas"]) == sum(1 + len(stratum["machines"]) for stratum in strata)
    assert checked["largest_difference"] < 1e-12
    assert sum(alpha["value"] is not None for alpha in checked["alphas"]) > 5


@pytest.mark.parametrize(("runs", "alpha"), [(1, None), (2, 1.0)])
def test_two_presentation_orders_are_no_repeated_runs(runs, alpha, tmp_path, capsys):
    """A judge that always prefers the text shown first contradicts itself in no order."""
    judge = {"rater": "judge", "kind": "machine", "system_a": "x", "system_b": "y"}
    rows = [
        {"unit": f"u{n}", "label": label, "order": order, "run": run} | judge
        for n, (order, label), run in product(range(12), (("ab", -1), ("ba", 1)), range(runs))
    ]
    path = tmp_path / "ratings.jsonl"
    path.write_text("\n".join(map(json.dumps, rows)))
    assert analyzed(path, "--check", "--json") == 0
    checked = json.loads(capsys.readouterr().out)["check"]
    of_runs = [one for one in checked["alphas"] if one["raters"] == "runs of judge"]
    assert (of_runs[0]["value"], of_runs[0]["by_package"]) == (alpha, alpha)
    report = json.loads((tmp_path / "report.json").read_text())
    about = report["criteria"]["preference"]["strata"][0]["machines"]["judge"]["machine_machine"]
    assert about["krippendorff_alpha"]["value"] == alpha


@pytest.mark.parametrize("level", ["interval", "ratio"])
def test_scales_with_many_values_are_compared_too(level, tmp_path, capsys):
    path = tmp_path / "ratings.jsonl"
    path.write_text("\n".join(map(json.dumps, rows_of())))
    assert analyzed(path, "--check", "--json", "--scale", f"c={level}") == 0
    checked = json.loads(capsys.readouterr().out)["check"]
    assert checked["largest_difference"] < 1e-9
    assert sum(alpha["value"] is not None for alpha in checked["alphas"]) > 5


def test_a_difference_is_a_failure(ratings, capsys, monkeypatch):
    section = SECTIONS["strata"].make

    def wrong(*arguments):
        first, *others = section(*arguments)
        alpha = krippendorff_alpha([[2, 0], [0, 2], [1, 1]])
        return (
            replace(first, human_human=replace(first.human_human, krippendorff_alpha=alpha)),
            *others,
        )

    monkeypatch.setitem(SECTIONS, "strata", replace(SECTIONS["strata"], make=wrong))
    assert analyzed(ratings, "--check") == 1
    assert "0.444444444444" in capsys.readouterr().err


def test_a_missing_package_is_named_with_its_extra(ratings, capsys, monkeypatch):
    monkeypatch.setattr(optional, "find_spec", lambda name: None)
    assert analyzed(ratings, "--check") == 1
    assert "tiebreak[check]" in capsys.readouterr().err
    assert not (ratings.parent / "report.json").exists()


def test_what_would_need_too_much_memory_is_not_checked_and_said(ratings, capsys, monkeypatch):
    monkeypatch.setattr(check, "MAX_BYTES", 0)
    monkeypatch.setattr(optional.load("krippendorff"), "alpha", None)  # is not called
    assert analyzed(ratings, "--check", "--json") == 0
    alphas = json.loads(capsys.readouterr().out)["check"]["alphas"]
    assert {alpha["by_package"] for alpha in alphas} == {None}
