"""The core report has the leading numbers with their strata, with the digits of the whole report."""

import json
from dataclasses import replace
from importlib import import_module

import numpy as np
import pytest
from threadpoolctl import threadpool_info, threadpool_limits

from tiebreak.cli import main
from tiebreak.formats import RatingTable
from tiebreak.report import build_report
from tiebreak.report.registry import SECTIONS
from tiebreak.stats.core.groups import n_distinct, numbered
from tiebreak.stats.core.two_way import Groups


@pytest.fixture(scope="module")
def table():
    rng = np.random.default_rng(0)
    return RatingTable.from_rows(
        {
            "unit": f"u{unit}",
            "instance": f"i{unit}",
            "rater": rater,
            "kind": "machine" if rater == "judge" else "human",
            "label": int(rng.integers(-1, 2)),
            "system_a": "x",
            "system_b": "y",
            "category": f"c{unit % 2}",
            "separability": unit / 40,
        }
        for unit in range(40)
        for rater in ("r", "s", "t", "judge")
    )


def test_a_core_report_has_the_digits_of_the_whole(table):
    core, whole = (
        build_report(table, replicates=200, core=core).criteria["preference"]
        for core in (True, False)
    )
    as_text = [
        repr((part.strata, part.systems.win_rate, part.systems.pairs)) for part in (core, whole)
    ]
    assert as_text[0] == as_text[1]
    assert repr(core.rating_sets.consistency) == repr(whole.rating_sets.consistency)


def test_a_core_report_leaves_the_rest_out(table):
    core = build_report(table, replicates=200, core=True).criteria["preference"]
    assert core.systems.elo is None
    assert core.planning is None
    assert core.rating_sets.spearman_separability.reason
    assert core.problems == {}


def test_the_command_asks_for_a_core_report(table, tmp_path):
    path = tmp_path / "r.csv"
    path.write_text("unit,rater,label\n" + "".join(f"u{k},r{k % 3},1\n" for k in range(12)))
    out = tmp_path / "report.json"
    options = ["analyze", str(path), "--out", str(out), "--replicates", "0"]
    sections = []
    for core in ([], ["--core"]):
        assert main([*options, *core]) == 0
        criterion = json.loads(out.read_text())["criteria"]["preference"]
        sections.append({name for name, part in criterion.items() if part})
    assert "strata" in sections[1] < sections[0]


def test_linear_algebra_runs_in_one_thread(table, monkeypatch):
    threads = []
    counted = replace(SECTIONS["systems"], core=lambda *_: threads.append(_threads()))
    monkeypatch.setitem(SECTIONS, "systems", counted)
    with threadpool_limits(2, user_api="blas"):
        build_report(table, replicates=0, core=True)
        threads.append(_threads())
    assert threads == [{1}, {2}]


def _threads():
    return {pool["num_threads"] for pool in threadpool_info() if pool["user_api"] == "blas"}


@pytest.mark.parametrize("codes", [[], [3, 1, 3], [10**12, 5, 5], [-2, 4, -2]])
def test_groups_are_numbered_as_sorting_them_would(codes):
    array = np.array(codes, dtype=np.int64)
    assert numbered(array).tolist() == np.unique(array, return_inverse=True)[1].tolist()
    assert n_distinct(array) == len(set(codes))


def test_cells_of_many_raters_and_instances_take_no_table_of_all_combinations(monkeypatch):
    sizes = []
    sample_size = import_module("tiebreak.stats.design.sample_size")
    sums = sample_size.pair_sums
    monkeypatch.setattr(
        sample_size, "pair_sums", lambda y, groups: sizes.append(groups.max()) or sums(y, groups)
    )
    n = 300
    rater, unit = np.arange(n), np.arange(n) // 3
    sample_size.variance_components(np.arange(n) % 2, units=unit, raters=rater)
    assert max(sizes) < n


def test_groups_of_one_rating_are_not_summed():
    weight = np.ones(4)
    assert Groups.of(weight, np.array([0, 2, 5, 9])).code is None
    shared, single = Groups.of(weight, np.array([0, 0, 1, 1])), Groups.of(weight, np.arange(4))
    contribution = np.array([1.0, -1.0, 2.0, -2.0])
    assert shared.jackknife(contribution) == 0
    assert single.jackknife(contribution) == pytest.approx(3 / 4 * 10 / 9)
