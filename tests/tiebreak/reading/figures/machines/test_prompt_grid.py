"""Judges by what differs between their settings, with agreement, cost and the order of systems."""

import re

import numpy as np
import pytest
from scipy.stats import spearmanr

from tests.metrics.studies import preferences
from tests.tiebreak.report.test_sections import of, three_systems
from tiebreak.reading.figures.machines.prompt_grid import CORRELATION, prompt_grid_figure
from tiebreak.report.model.report import CriterionSection

SETTINGS = {
    "gpt": {"model": "m", "reference": "yes", "examples": "0"},
    "llama": {"model": "m", "reference": "no", "examples": "4"},
}


def judged(rates=(0.2, 0.3, 0.1)) -> CriterionSection:
    """Return three systems rated by people, a judge that often says the same, and one that turns it."""
    people = three_systems(np.random.default_rng(0), rates)
    judges = [
        row | {"rater": name, "kind": "machine", "label": sign * row["label"]}
        for name, sign in (("gpt", 1), ("llama", -1))
        for row in people
        if row["rater"] == "r0"
    ]
    return of([*people, *judges])


def rows_of(figure) -> dict[str, dict]:
    return {row[0]: dict(zip(figure.columns, row, strict=True)) for row in figure.rows}


def test_judges_have_the_settings_that_differ_agreement_cost_and_rank_correlation():
    about = judged()
    figure = prompt_grid_figure(about, SETTINGS, {"gpt": 0.02}, "EUR")
    rows = rows_of(figure)
    assert list(rows) == ["gpt", "llama"]
    assert figure.columns[1:3] == ("reference", "examples")
    assert (rows["llama"]["reference"], rows["llama"]["examples"]) == ("no", "4")
    assert (rows["gpt"]["EUR for 100 ratings"], rows["llama"]["EUR for 100 ratings"]) == (
        "2.00",
        None,
    )
    people = [rate.value for rate in about.systems.win_rate.values()]
    for name, row in rows.items():
        assert row["value"] == about.all_units.machines[name].human_machine.leave_one_out.value
        theirs = [about.systems.machine_win_rates[name][s].value for s in about.systems.win_rate]
        assert row[CORRELATION] == pytest.approx(spearmanr(people, theirs).statistic)
    assert rows["gpt"][CORRELATION] > 0 > rows["llama"][CORRELATION]
    drawn = {row.name: row for row in figure.chart.rows}
    assert list(drawn) == ["annotators", "gpt", "llama"]
    assert drawn["annotators"].cells == (about.all_units.human_human.leave_one_out,)
    assert {"reference", "yes", "examples", str(rows["gpt"]["n"])} <= set(
        re.findall(r"\w+", drawn["gpt"].note)
    )


def test_judges_that_differ_in_nothing_and_one_judge_make_no_grid():
    about = judged()
    same = dict.fromkeys(SETTINGS, SETTINGS["gpt"])
    assert prompt_grid_figure(about, same, {}, "EUR") is None
    assert prompt_grid_figure(about, {"gpt": SETTINGS["gpt"]}, {}, "EUR") is None
    # A judge without ratings by this criterion is no second one.
    absent = {"gpt": SETTINGS["gpt"], "new": SETTINGS["llama"]}
    assert prompt_grid_figure(about, absent, {}, "EUR") is None


def test_two_systems_have_no_rank_correlation():
    people = preferences([[1, 1], [1, -1], [1, 1]] * 10)
    judges = [row | {"rater": name, "kind": "machine"} for name in SETTINGS for row in people[::2]]
    rows = rows_of(prompt_grid_figure(of([*people, *judges]), SETTINGS, {}, "EUR"))
    assert {row[CORRELATION] for row in rows.values()} == {None}
