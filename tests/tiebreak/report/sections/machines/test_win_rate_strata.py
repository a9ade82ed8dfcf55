"""Win rates by annotators and by machines in strata of units."""

import numpy as np
import pytest

from tests.metrics.studies import preferences, report_of
from tests.tiebreak.report.sections.systems.test_leaderboard import rows as categories
from tests.tiebreak.report.test_design_weights import rows as drawn_rows, weighted_rate
from tests.tiebreak.report.test_sections import of, with_judge
from tiebreak.report.model.systems import WinRateStrata, WinRateStratum
from tiebreak.report.outcomes import NO_SYSTEMS
from tiebreak.report.sections.machines import win_rate_strata

NAME = "win_rates_by_stratum"


def section_of(rows: list[dict], **options) -> WinRateStrata:
    section = of(rows, sections=[NAME], **options)
    assert section.win_rates_by_stratum is not None, section.problems
    return section.win_rates_by_stratum


def named(section: WinRateStrata) -> dict[tuple[str, str], WinRateStratum]:
    return {(stratum.stratifier, stratum.stratum): stratum for stratum in section.strata}


def judged() -> list[dict]:
    """Return 40 instances; annotators are clear on even ones, and the judge prefers b on all others."""
    rows = preferences([[-1, -1, -1], [1, -1, 0]] * 20)
    for row in rows:
        is_even = int(row["instance"][1:]) % 2 == 0
        row |= {"category": "clear" if is_even else "mixed"}
    judge = [
        row
        | {"rater": "judge", "kind": "machine", "label": -1 if row["category"] == "clear" else 1}
        for row in rows
        if row["rater"] == "r0"
    ]
    return [*rows, *judge]


def test_each_stratum_has_the_rates_of_annotators_and_machines_by_hand():
    strata = named(section_of(judged()))
    assert strata["all", "all"].humans["a"].value == pytest.approx(0.75)
    assert strata["all", "all"].machines["judge"]["a"].value == pytest.approx(0.5)
    mixed = strata["category", "mixed"]
    assert (mixed.n_units, mixed.share) == (20, 0.5)
    assert mixed.humans["a"].value == pytest.approx(0.5)  # a win, a loss and a tie
    assert mixed.machines["judge"]["a"].value == 0
    assert mixed.machines["judge"]["b"].value == 1
    clear = strata["agreement", "PA=1"]
    assert clear.humans["a"].value == clear.machines["judge"]["a"].value == 1
    assert clear.n_units == 20
    assert strata["all", "all"].machines["judge"]["a"].has_interval


def test_a_stratum_has_the_rates_of_its_units_alone():
    every = with_judge(categories())
    odd = named(section_of(every))["category", "odd"]
    alone = of([row for row in every if row["category"] == "odd"]).systems
    for name, rate in odd.humans.items():
        assert (rate.value, rate.n) == (alone.win_rate[name].value, alone.win_rate[name].n)
    for name, rate in odd.machines["judge"].items():
        expected = alone.machine_win_rates["judge"][name]
        assert (rate.value, rate.n) == (expected.value, expected.n)
        assert rate.low == pytest.approx(expected.low, abs=0.05, nan_ok=True)


def test_intervals_speak_of_new_raters_but_where_strata_were_made_from_ratings():
    strata = section_of(with_judge(categories())).strata
    spoken = {
        (one.stratifier, rate.scope.raters)
        for one in strata
        for rate in one.humans.values()
        if rate.has_interval
    }
    assert {("all", "new"), ("category", "new"), ("systems", "new")} <= spoken
    assert {raters for name, raters in spoken if name in {"agreement", "unique_labels"}} == {
        "these"
    }
    of_machines = {r.scope.raters for s in strata for m in s.machines.values() for r in m.values()}
    assert of_machines == {"these"}


def test_few_instances_have_no_interval_and_strata_without_units_are_left_out():
    strata = named(section_of(with_judge(categories())))
    rare = strata["category", "rare"]
    assert not any(rate.has_interval for rate in rare.humans.values())
    assert all(rate.reason for rate in rare.humans.values())
    assert all(stratum.n_units for stratum in strata.values())


def test_a_key_that_splits_no_units_makes_no_strata():
    kinds = {one.stratifier for one in section_of(judged()).strata}
    assert kinds == {"all", "agreement", "unique_labels", "category"}


def test_a_machine_that_rated_nothing_of_a_stratum_has_a_reason():
    rows = [row for row in judged() if row["rater"] != "judge" or row["category"] == "clear"]
    rate = named(section_of(rows))["category", "mixed"].machines["judge"]["a"]
    assert not rate.is_defined
    assert rate.reason


def drawn_and_judged(*, control: bool = True) -> list[dict]:
    """Return drawn instances, of which a judge prefers the new system on those rarely drawn."""
    rows = [
        row | {"category": ("x", "y")[int(row["instance"][1:]) % 8 < 3]}
        for row in drawn_rows(control=control)
    ]
    units = {row["unit"]: row for row in rows}
    judge = [
        row
        | {
            "rater": "judge",
            "kind": "machine",
            "label": 1 if row["inclusion_probability"] < 0.5 else -1,
        }
        for row in units.values()
    ]
    return [*rows, *judge]


def test_after_a_draw_both_are_weighted():
    rows = drawn_and_judged()
    x = named(section_of(rows))["category", "x"]
    of_x = [row for row in rows if row["category"] == "x"]
    people = [row for row in of_x if row["rater"] != "judge"]
    judge = [row for row in of_x if row["rater"] == "judge"]
    assert x.humans["new"].value == pytest.approx(weighted_rate(people))
    assert x.machines["judge"]["new"].value == pytest.approx(weighted_rate(judge))
    assert x.machines["judge"]["new"].value - np.mean([row["label"] > 0 for row in judge]) > 0.1
    every = named(section_of(rows))["all", "all"]
    assert every.humans["new"].scope.instances == "dataset"
    assert every.machines["judge"]["new"].scope.instances == "dataset"
    assert every.machines["judge"]["new"].n == 80


def test_without_a_control_sample_only_the_selected_instances_are_spoken_of():
    every = named(section_of(drawn_and_judged(control=False)))["all", "all"]
    assert every.humans["new"].scope.instances == "selected"
    assert every.machines["judge"]["new"].scope.instances == "selected"


def test_of_many_strata_the_largest_are_kept_and_the_others_counted(monkeypatch):
    monkeypatch.setattr(win_rate_strata, "MAX_STRATA", 2)
    section = section_of(with_judge(categories()))
    kept = [one.stratum for one in section.strata if one.stratifier == "category"]
    assert kept == ["even", "odd"]
    assert section.left_out["category"] == 1


def test_without_machines_there_are_the_rates_of_annotators():
    section = section_of(categories())
    assert section.strata[0].humans
    assert section.strata[0].machines == {}


def test_scores_of_single_texts_have_no_win_rates():
    rows = [{"unit": f"u{n}", "rater": "r", "label": 1, "criterion": "c"} for n in range(3)]
    report = report_of(rows, scales={"c": "ordinal:1..3"}, sections=[NAME])
    assert report.criteria["c"].problems[NAME] == NO_SYSTEMS
