"""With few instances, there is a value with a reason, but no interval and no finding."""

import numpy as np
import pytest

from tests.metrics.studies import estimates, preferences, report_of, sections
from tiebreak.reading.leading_numbers import leading_numbers
from tiebreak.reading.messages import TOO_FEW, TOO_FEW_OF_PAIRS
from tiebreak.stats.core.independence import too_few_clusters


def study(instances: int, *, seed: int = 0, raters: int = 3, **more) -> list[dict]:
    rng = np.random.default_rng((seed, instances))
    labels = [rng.choice([-1, 0, 1], size=raters).tolist() for _ in range(instances)]
    return preferences(labels, **more)


@pytest.mark.parametrize("instances", [1, 2, 3, 5, 9])
def test_below_ten_instances_nothing_has_an_interval(instances):
    rows = study(instances, side_a="left", separability_raw=0.5, separability=0.5)
    for path, estimate in estimates(report_of(rows).criteria):
        assert np.isnan([estimate.low, estimate.high]).all(), path
        assert estimate.reason or not estimate.is_defined or "baseline" in path, path


def test_from_ten_instances_on_there_are_intervals():
    section = report_of(study(10)).criteria["preference"]
    rate = section.systems.win_rate["a"]
    assert rate.low < rate.value < rate.high
    assert section.all_units.human_human.krippendorff_alpha.has_interval


@pytest.mark.parametrize("instances", [2, 3, 5, 9])
def test_few_instances_that_all_favour_one_system_name_no_winner(instances):
    report = report_of(preferences([[-1, -1, -1]] * instances))
    heading = TOO_FEW.format(n=f"{instances} items", verb="are")
    assert sections(report)[0].wins[0] == heading
    assert too_few_clusters(instances, "unit") in sections(report)[0].wins[1]
    assert report.criteria["preference"].systems.win_rate["a"].value == 1


def test_many_units_of_few_instances_count_as_few():
    rows = [row | {"unit": f"{row['unit']}-{k}"} for row in study(5) for k in range(20)]
    section = report_of(rows).criteria["preference"]
    assert section.n_units == 100
    assert not section.systems.win_rate["a"].has_interval


def test_a_stratum_with_few_instances_has_no_interval():
    rows = study(30, category="common") + [
        row | {"unit": f"rare-{row['unit']}", "instance": f"rare-{row['instance']}"}
        for row in study(5, seed=1, category="rare")
    ]
    strata = report_of(rows).criteria["preference"].strata
    by_category = {e.stratum: e for e in strata if e.stratifier == "category"}
    agreement = {
        name: stratum.human_human.percentage_agreement for name, stratum in by_category.items()
    }
    assert agreement["common"].has_interval
    assert not agreement["rare"].has_interval
    assert agreement["rare"].is_defined


def test_a_system_compared_on_few_instances_has_no_interval():
    rare = [
        row | {"unit": f"c-{row['unit']}", "instance": f"c-{row['instance']}", "system_b": "c"}
        for row in study(6, seed=2)
    ]
    systems = report_of(study(40) + rare, sections=["elo"]).criteria["preference"].systems
    for name in ("win_rate", "bradley_terry", "elo"):
        ranking = getattr(systems, name)
        assert ranking["a"].has_interval, name
        assert ranking["c"].is_defined, name
        assert not ranking["c"].has_interval, name
    assert not systems.pairs["a vs c"].has_interval
    # A rank depends on all strengths, including the third system's.
    assert not any(rank.has_interval for rank in systems.bradley_terry_rank.values())


@pytest.mark.parametrize(("raters", "who"), [(3, "With these annotators, a"), (9, "a")])
def test_a_system_that_wins_always_is_named(raters, who):
    report = report_of(preferences([[-1] * raters] * 180))
    section = report.criteria["preference"]
    systems, (of_these,) = section.systems, section.systems.win_rate["a"].narrower
    assert (of_these.low, of_these.high) == pytest.approx((0.025 ** (1 / 180), 1))
    assert systems.win_rate["a"].low == pytest.approx(0.025 ** (1 / raters))
    agreement = section.all_units.human_human.percentage_agreement
    assert (agreement.scope.raters, agreement.high) == ("new", 1)
    assert agreement.low == pytest.approx(0.025 ** (2 / raters))
    assert section.all_units.human_human.krippendorff_alpha.reason
    assert sections(report)[0].wins[0].startswith(f"{who} wins more often than it loses: ")
    assert systems.rank_sets["a"].worst == (2 if raters == 3 else 1)


def test_always_winning_among_many_systems_has_width_at_the_level_of_all():
    rows = [
        row | {"unit": f"{row['unit']}-{a}{b}", "system_a": a, "system_b": b}
        for a, b in (("a", "b"), ("a", "c"), ("b", "c"))
        for row in preferences([[-1] * 8] * 40)
    ]
    systems = report_of(rows).criteria["preference"].systems
    alone, joint = systems.win_rate["a"], systems.simultaneous.win_rate["a"]
    assert joint.low < alone.low < joint.narrower[0].low < alone.narrower[0].low < 1


def test_every_interval_of_a_report_has_width():
    rows = study(40, category="c", separability_raw=0.5, side_a="left")
    for path, estimate in estimates(report_of(rows).criteria):
        if estimate.has_interval and "rank" not in path:
            assert estimate.high > estimate.low, path


@pytest.mark.slow
def test_few_instances_of_equal_systems_never_name_a_winner():
    named = 0
    for seed in range(15):
        for instances in (2, 3, 5):
            report = report_of(study(instances, seed=seed, raters=1), replicates=50)
            heading = TOO_FEW.format(n=f"{instances} items", verb="are")
            named += sections(report)[0].wins[0] != heading
    assert named == 0


def test_one_item_is_too_few_and_twelve_may_have_a_finding():
    one = report_of(preferences([[-1, -1]]))
    assert sections(one)[0].wins[0] == TOO_FEW.format(n="1 item", verb="is")
    twelve = report_of(preferences([[-1, -1, 1]] * 11 + [[-1, 1, 1]]))
    heading = sections(twelve)[0].wins[0]
    assert heading.startswith("With these annotators, a wins more often than it loses: ")
    alike = report_of(preferences([[-1] * 5] * 16 + [[1] * 5]))
    assert sections(alike)[0].wins[0].startswith("a wins more often than it loses: ")


def test_few_instances_of_several_systems_or_units_are_too_few():
    rows = study(4) + [
        row | {"unit": f"c-{row['unit']}", "system_b": "c"} for row in study(4, seed=2)
    ]
    assert sections(report_of(rows))[0].wins[0] == TOO_FEW_OF_PAIRS.format(noun="instance")
    many = [row | {"unit": f"{row['unit']}-{k}"} for row in study(5) for k in range(20)]
    heading = TOO_FEW.format(n="5 instances", verb="are")
    assert sections(report_of(many))[0].wins[0] == heading


def test_few_instances_have_no_highest_win_rate_and_no_share_as_heading():
    (section,) = report_of(study(5)).criteria.values()
    win_rate = leading_numbers(section)[0]
    assert "highest" not in win_rate.sentence
    assert win_rate.number.reason
    rows = [row | {"unit": f"{row['unit']}-{k}"} for row in study(5) for k in range(2)]
    assert sections(report_of(rows))[0].sets[0] == "Rating sets"
