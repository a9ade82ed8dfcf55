"""Scales with many values: the same numbers as from counts of each value, in little memory."""

import random

import numpy as np
import pytest

from tests.metrics.studies import report_of
from tiebreak.formats import RatingTable
from tiebreak.report import criterion as criterion_module
from tiebreak.report.criterion import read_criteria
from tiebreak.report.sections.raters.fatigue import agreement_with_others
from tiebreak.report.sections.raters.many_values import NO_INTERVAL
from tiebreak.report.sections.raters.rater_pairs import TOO_MANY_RATIOS
from tiebreak.report.sections.raters.strata import NO_EXACT_AGREEMENT
from tiebreak.scales import MAX_POINTS
from tiebreak.stats import agreement_contributions
from tiebreak.stats.raters.contributions import value_contributions
from tiebreak.stats.raters.ratio_alpha import ratio_alpha

# What is computed for every scale with many values, within its groups.
COMPUTED = {
    "human_human": ("krippendorff_alpha",),
    "machine_machine": ("krippendorff_alpha",),
    "human_machine": ("krippendorff_alpha", "spearman", "kendall"),
    "single_human_machine": ("krippendorff_alpha",),
    "delta": ("krippendorff_alpha",),
}


def rows_of(units=60, seed=0, digits=2, step=1.0):
    """Return ratings by two to four people and two passes of a judge, with gaps and ties."""
    rng = random.Random(seed)
    rows = []
    for unit in range(units):
        about = {"unit": f"u{unit}", "instance": f"i{unit // 2}", "category": "xy"[unit % 2]}
        about |= {"criterion": "c"}
        center = rng.random() * 5

        def value(spread, center=center):
            return step * max(0, round(center + rng.gauss(0, spread), digits))

        for rater in range(rng.choice([0, 1, 2, 3, 4, 4])):
            rows.append(about | {"rater": f"r{rater}", "label": value(0.3)})
        for run in range(rng.choice([0, 1, 2])):
            answer = {"label": value(0.5)} if rng.random() < 0.9 else {"label": None, "raw": "?"}
            judge = {"rater": "judge", "kind": "machine", "run": str(run)}
            rows.append(about | judge | answer)
    return rows


def both(monkeypatch, level, sections=(), **options):
    """Return the section of a criterion with many values, and the one from counts of each value."""
    rows = rows_of(**options)
    how = {"scales": {"c": level}, "replicates": 0, "sections": sections}
    short = report_of(rows, **how).criteria["c"]
    monkeypatch.setattr(criterion_module, "MAX_POINTS", 10**9)
    return short, report_of(rows, **how).criteria["c"]


def groups_of(stratum):
    judge = stratum.machines["judge"]
    return {"human_human": stratum.human_human} | {
        name: getattr(judge, name) for name in COMPUTED if name != "human_human"
    }


@pytest.mark.parametrize("level", ["interval", "ratio"])
@pytest.mark.parametrize("seed", range(2))
def test_values_are_those_of_counts(level, seed, monkeypatch):
    short, long = both(monkeypatch, level, seed=seed)
    assert len(long.labels) > MAX_POINTS
    assert [s.stratum for s in short.strata] == [s.stratum for s in long.strata]
    compared = 0
    for stratum, other in zip(short.strata, long.strata, strict=True):
        assert stratum.n_units == other.n_units
        for name, statistics in COMPUTED.items():
            for statistic in statistics:
                one, two = (getattr(groups_of(s)[name], statistic) for s in (stratum, other))
                where = (stratum.stratum, name, statistic)
                assert one.value == pytest.approx(two.value, abs=1e-11, nan_ok=True), where
                assert one.n == two.n, where
                assert (one.reason is None) == (two.reason is None) or one.reason, where
                compared += one.is_defined
    assert compared > 20


@pytest.mark.parametrize("level", ["interval", "ratio"])
def test_correlations_of_means_are_those_of_counts(level, monkeypatch):
    short, long = (
        one.mean_correlations["judge"]
        for one in both(monkeypatch, level, sections=["mean_correlations"])
    )
    for name in ("spearman", "kendall"):
        one, other = getattr(short, name), getattr(long, name)
        assert (one.value, one.n) == (pytest.approx(other.value, abs=1e-11), other.n)
        assert (one.is_defined, one.reason) == (True, NO_INTERVAL)


def test_raters_have_the_same_agreement_and_list_only_the_labels_they_gave(monkeypatch):
    short, long = both(monkeypatch, "interval")
    for name, rater in short.raters.items():
        assert rater.leave_one_out == long.raters[name].leave_one_out
        votes = {label: n for label, n in long.raters[name].votes.items() if n}
        assert rater.votes == votes


@pytest.mark.parametrize("level", ["interval", "ratio"])
@pytest.mark.parametrize("digits", [1, 2])
def test_the_scope_does_not_depend_on_the_number_of_values(level, digits):
    section = report_of(rows_of(digits=digits), scales={"c": level}, replicates=100).criteria["c"]
    assert (len(section.labels) > MAX_POINTS) == (digits == 2)
    alpha = section.all_units.human_human.krippendorff_alpha
    assert (alpha.scope.raters, alpha.narrower[0].scope.raters) == ("new", "these")
    assert alpha.low <= alpha.narrower[0].low < alpha.value < alpha.narrower[0].high < alpha.high
    exact = section.all_units.human_human.leave_one_out, section.raters["r0"].leave_one_out
    judge = section.all_units.machines["judge"]
    exact += (judge.human_machine.percentage_agreement, judge.classification.accuracy)
    assert {(one.is_defined, one.reason) for one in exact} == {(False, NO_EXACT_AGREEMENT)}


@pytest.mark.parametrize("level", ["interval", "ratio"])
def test_contributions_of_values_are_those_of_counts(level):
    rng = np.random.default_rng(0)
    unit = np.repeat(np.arange(50), rng.integers(1, 5, 50))
    label = rng.integers(0, 30, len(unit))
    by_name = agreement_contributions(unit, label, n_units=50, n_labels=30, level=level)
    ours = value_contributions(unit, label.astype(float), level=level)
    np.testing.assert_allclose(ours, by_name["krippendorff_alpha"], atol=1e-12)


def test_what_would_count_all_values_is_undefined_with_a_reason():
    section = report_of(rows_of(), scales={"c": "interval"}, replicates=0).criteria["c"]
    judge = section.all_units.machines["judge"]
    assert section.all_units.human_human.fleiss_kappa.reason == NO_EXACT_AGREEMENT
    assert judge.human_machine.binned_js.reason == NO_EXACT_AGREEMENT
    assert section.perception == ()
    assert section.alternative_annotator_test["judge"].reason
    assert section.problems == {}


def test_exact_agreement_of_continuous_scores_is_undefined_with_a_reason():
    names = ("composite", "machine_differences", "machine_replacement")
    rows = rows_of()
    rows += [row | {"rater": "other"} for row in rows if row["rater"] == "judge"]
    section = report_of(rows, scales={"c": "interval"}, sections=names, replicates=0).criteria["c"]
    assert (section.composite.composite, section.composite.reason) == (None, NO_EXACT_AGREEMENT)
    differences = section.machine_differences
    assert (differences.pairs, differences.reason) == ({}, NO_EXACT_AGREEMENT)
    for stratum in section.machine_replacement:
        for one in stratum.machines.values():
            assert np.isnan([one.agreement, one.unweighted_agreement]).all()
            assert one.reason == NO_EXACT_AGREEMENT
            assert {test.passes for test in one.tests} <= {None}
    few = report_of(
        rows_of(digits=0), scales={"c": "interval"}, sections=names, replicates=0
    ).criteria["c"]
    judge = few.machine_replacement[0].machines["judge"]
    assert (judge.agreement > 0.1, judge.reason) == (True, None)


def test_a_few_values_are_counted_as_before():
    rows = rows_of(digits=0)
    section = report_of(rows, scales={"c": "interval"}, replicates=0).criteria["c"]
    assert section.all_units.human_human.fleiss_kappa.is_defined
    assert section.perception


def test_equal_values_far_from_zero_do_not_vary():
    """Sums of squares would leave a difference by rounding."""
    rows = rows_of(units=130, digits=6)
    for row in rows:
        if row["label"] is not None and row.get("kind") != "machine":
            row["label"] = 1234567.891
    section = report_of(rows, scales={"c": "interval"}, replicates=0).criteria["c"]
    assert len(section.labels) > MAX_POINTS
    assert np.isnan(section.all_units.human_human.krippendorff_alpha.value)


def test_memory_does_not_grow_with_the_number_of_values():
    table = RatingTable.from_rows(rows_of(digits=6))
    ((criterion,), _) = read_criteria(table, {"c": "ratio"}, None)
    assert len(criterion.labels) > MAX_POINTS
    assert criterion.humans.shape[1] <= 6  # four people and two passes of a judge
    assert criterion.humans.sum() == (criterion.is_human & (criterion.label >= 0)).sum()


def test_ratio_alpha_compares_all_values_whatever_the_block(monkeypatch):
    rng = np.random.default_rng(0)
    values, weights = rng.random(50), rng.random(50)
    whole = ratio_alpha(0.5, values, weights)
    monkeypatch.setattr("tiebreak.stats.raters.ratio_alpha._BLOCK", 7)
    assert ratio_alpha(0.5, values, weights) == pytest.approx(whole, abs=1e-12)
    by_hand = sum(
        weights[i] * weights[j] * ((values[i] - values[j]) / (values[i] + values[j])) ** 2
        for i in range(50)
        for j in range(i)
    )
    assert whole == pytest.approx(1 - (weights.sum() - 1) * 0.5 / by_hand)


def test_an_answer_is_compared_with_those_of_its_unit():
    labels = [(value, value, value + 0.5) for value in range(MAX_POINTS)]
    rows = [
        {"unit": f"u{unit:03}", "rater": f"r{rater}", "criterion": "c", "label": label}
        for unit, three in enumerate(labels)
        for rater, label in enumerate(three)
    ]
    (criterion,), _ = read_criteria(RatingTable.from_rows(rows), {"c": "interval"}, None)
    assert criterion.has_many_values
    assert agreement_with_others(criterion).tolist() == [0.5, 0.5, 0.0] * MAX_POINTS


def test_leaving_out_an_annotator_needs_an_interval_scale():
    rows = rows_of()
    interval, ratio = (
        report_of(rows, scales={"c": level}, replicates=0, sections=["drop_one_influence"])
        for level in ("interval", "ratio")
    )
    section = interval.criteria["c"]
    assert section.drop_one_influence["r0"].without.is_defined
    assert ratio.criteria["c"].drop_one_influence is None
    assert ratio.criteria["c"].problems["drop_one_influence"] == TOO_MANY_RATIOS
