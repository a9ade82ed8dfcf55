"""Intervals resample the right units, are bootstrap intervals, and are reproducible."""

import re

import krippendorff
import numpy as np
import pytest
from scipy.stats import binomtest

from tests.refusals import refused
from tests.tiebreak.stats.published import separability
from tiebreak.stats import (
    Comparison,
    Estimate,
    Patterns,
    agreement,
    generator_for,
    hajek_estimate,
    human_machine,
    krippendorff_alpha,
    percentage_agreement,
    random_baseline,
    two_way_mean,
    win_rate,
)
from tiebreak.stats.core.bootstrap import OFTEN_UNDEFINED, bootstrap_estimate
from tiebreak.stats.core.independence import too_few_clusters
from tiebreak.stats.core.resampling import replicate_weights
from tiebreak.stats.core.results import THESE
from tiebreak.stats.raters.additive import MANY_ORDINAL_LABELS


def clustered(seed=0, instances=60, units=5):
    """Return counts in which units of the same instance have similar labels, and the instances."""
    rng = np.random.default_rng(seed)
    shares = np.repeat(rng.dirichlet([0.7] * 3, size=instances), units, axis=0)
    return np.array([rng.multinomial(3, share) for share in shares]), np.repeat(
        np.arange(instances), units
    )


def naive_alphas(counts, clusters, replicates, seed):
    """Yield α for naive bootstrap replicates, which draw instances and take their units."""
    rng = np.random.default_rng(seed)
    members = [np.flatnonzero(clusters == name) for name in np.unique(clusters)]
    for _ in range(replicates):
        drawn = rng.integers(0, len(members), size=len(members))
        yield krippendorff_alpha(counts[np.concatenate([members[i] for i in drawn])]).value


def test_instances_are_resampled_as_the_naive_loop_does():
    counts, clusters = clustered()
    naive = np.array(list(naive_alphas(counts, clusters, 1500, 1)))
    estimate = krippendorff_alpha(counts, clusters=clusters, rng=generator_for(0))
    assert estimate.standard_error == pytest.approx(naive.std(), rel=0.08)
    assert [estimate.low, estimate.high] == pytest.approx(
        np.quantile(naive, [0.025, 0.975]), abs=0.015
    )
    assert "instances" in estimate.method


def test_units_are_resampled_as_the_naive_loop_does():
    counts, _ = clustered(1)
    naive = np.array(list(naive_alphas(counts, np.arange(len(counts)), 1500, 1)))
    estimate = krippendorff_alpha(counts, rng=generator_for(0))
    assert estimate.standard_error == pytest.approx(naive.std(), rel=0.08)
    assert [estimate.low, estimate.high] == pytest.approx(
        np.quantile(naive, [0.025, 0.975]), abs=0.015
    )
    assert "units" in estimate.method


def test_instances_give_wider_intervals_than_units_where_units_share_them():
    counts, clusters = clustered()
    by_unit = win_rate(counts, rng=generator_for(0))
    by_instance = win_rate(counts, clusters=clusters, rng=generator_for(0))
    assert by_unit.value == by_instance.value
    assert by_instance.high - by_instance.low > 1.3 * (by_unit.high - by_unit.low)


@pytest.mark.parametrize(
    ("name", "expected"),
    [
        ("mistral-7b_vicuna-7b_samsum", 1.8),
        ("vicuna-7b_gpt-3.5-turbo-instruct_cnn_dm", 1.45),
    ],
)
def test_instances_widen_the_published_win_rates(name, expected):
    labels, instances, _, units = separability(name)
    counts = np.zeros((250, 3), dtype=int)
    np.add.at(counts, (units, labels + 1), 1)
    clusters = np.zeros(250, dtype=int)
    clusters[units] = instances
    by_unit = win_rate(counts, rng=generator_for(0))
    by_instance = win_rate(counts, clusters=clusters, rng=generator_for(0))
    widths = (by_instance.high - by_instance.low) / (by_unit.high - by_unit.low)
    assert widths == pytest.approx(expected, abs=0.1)


def test_digits_do_not_depend_on_the_order_of_rows_or_on_the_names_of_instances():
    counts, clusters = clustered()
    order = np.random.default_rng(2).permutation(len(counts))
    names = np.array([f"x{97 * name % 60}" for name in clusters])
    first = agreement(counts, clusters=clusters, rng=generator_for(0))
    second = agreement(counts[order], clusters=names[order], rng=generator_for(0))
    assert first == second
    assert agreement(counts, rng=generator_for(0)) == agreement(counts[order], rng=generator_for(0))


def test_instances_of_different_sizes_are_whole():
    counts, clusters = clustered(units=3)
    kept = np.random.default_rng(0).random(len(counts)) < 0.7
    estimate = percentage_agreement(counts[kept], clusters=clusters[kept], rng=generator_for(0))
    naive = []
    rng = np.random.default_rng(1)
    shares = [
        (counts[kept & (clusters == name)].max(axis=1) / 3) for name in np.unique(clusters[kept])
    ]
    for _ in range(3000):
        drawn = rng.integers(0, len(shares), size=len(shares))
        naive.append(np.concatenate([shares[i] for i in drawn]).mean())
    assert estimate.standard_error == pytest.approx(np.std(naive), rel=0.06)


def test_instances_with_one_unit_each_are_units():
    counts, _ = clustered()
    alone = krippendorff_alpha(counts, clusters=np.arange(len(counts))[::-1], rng=generator_for(0))
    assert alone == krippendorff_alpha(counts, rng=generator_for(0))


@pytest.mark.parametrize("multiplicities", [[500, 300, 200], [1] * 40, [2, 1, 1, 3]])
def test_weights_are_multinomial(multiplicities):
    counted = np.array(multiplicities)
    total = counted.sum()
    weights = np.concatenate(list(replicate_weights(counted, 20_000, np.random.default_rng(0))))
    assert (weights.sum(axis=1) == total).all()
    assert weights.mean(axis=0) == pytest.approx(counted, rel=0.03)
    variance = counted * (1 - counted / total)
    assert weights.var(axis=0) == pytest.approx(variance, rel=0.06)


@pytest.mark.parametrize("multiplicities", [[500, 300, 200], [1] * 40])
@pytest.mark.parametrize("batch", [1, 7, 1000])
def test_weights_do_not_depend_on_the_batch(multiplicities, batch):
    def drawn(size):
        rng = np.random.default_rng(0)
        return np.concatenate(list(replicate_weights(np.array(multiplicities), 50, rng, size)))

    assert (drawn(batch) == drawn(None)).all()


def test_a_batch_bounds_what_is_drawn_at_once():
    blocks = replicate_weights(np.ones(30, dtype=np.int64), 100, np.random.default_rng(0), 8)
    assert max(len(block) for block in blocks) == 8


def test_many_distinct_clusters_are_drawn_in_bounded_blocks():
    many = np.ones(200_000, dtype=np.int64)
    first = next(replicate_weights(many, 10_000, np.random.default_rng(0)))
    assert first.size <= 2**21 + len(many)


def test_without_a_generator_or_replicates_there_is_no_interval():
    counts, _ = clustered()
    for options in ({}, {"rng": generator_for(0), "replicates": 0}):
        estimate = krippendorff_alpha(counts, **options)
        assert np.isfinite(estimate.value)
        assert np.isnan([estimate.low, estimate.high, estimate.standard_error]).all()
        assert estimate.reason is None


def test_one_cluster_has_no_interval_and_says_so():
    estimate = percentage_agreement([[2, 1]], rng=generator_for(0))
    assert estimate.value == pytest.approx(2 / 3)
    assert np.isnan(estimate.low)
    assert estimate.reason == too_few_clusters(1, "unit")


def test_more_than_a_twentieth_undefined_replicates_have_no_interval():
    # One unit of ten differs, so a third of the replicates have only one label.
    counts = [[2, 0]] * 9 + [[0, 2]]
    estimate = krippendorff_alpha(counts, rng=generator_for(0))
    assert estimate.value == 1.0
    assert np.isnan([estimate.low, estimate.high]).all()
    lost, of = (int(number) for number in re.findall(r"\d+", estimate.reason))
    assert estimate.reason == OFTEN_UNDEFINED.format(lost=lost, of=of)
    assert lost == pytest.approx(10_000 * (0.9**10 + 0.1**10), rel=0.06)


def test_a_few_undefined_replicates_are_left_out():
    drawn = np.array([1.0] * 48 + [0.5] * 48 + [np.nan] * 4)
    estimate = bootstrap_estimate(1.0, drawn, n=10, clusters=10)
    assert (estimate.low, estimate.high) == (0.5, 1.0)


def test_a_wider_confidence_level_gives_a_wider_interval():
    counts, _ = clustered()
    wide, narrow = (
        krippendorff_alpha(counts, rng=generator_for(0), confidence_level=level)
        for level in (0.99, 0.8)
    )
    assert wide.low < narrow.low < narrow.value < narrow.high < wide.high


def test_generators_differ_by_every_name_and_repeat():
    def first(*names):
        return generator_for(*names).integers(2**60)

    drawn = {first(0, "a", "b"), first(0, "ab"), first(0, "b", "a"), first(1, "a", "b"), first(0)}
    assert len(drawn) == 5
    assert first(0, "a", "b") == first(0, "a", "b")


def test_the_bias_corrected_interval_of_js_covers_a_distance_of_zero():
    # Machine and humans have the same label distribution, so the true distance is 0.
    rng = np.random.default_rng(0)
    humans = rng.multinomial(3, [0.5, 0.3, 0.2], size=400)
    machine = rng.permutation(humans)
    pair = Comparison.of(humans, machine)
    distance = human_machine(pair, rng=generator_for(0)).binned_js
    assert distance.low >= 0
    assert distance.low <= distance.value
    assert "bias-corrected" in distance.method


def test_patterns_are_reduced_once_and_used_often():
    counts, clusters = clustered()
    patterns = Patterns.of(counts, clusters=clusters)
    again = krippendorff_alpha(patterns, rng=generator_for(0))
    assert again == krippendorff_alpha(counts, clusters=clusters, rng=generator_for(0))
    with refused("clusters_twice", naming="clusters"):
        krippendorff_alpha(patterns, clusters=clusters)


def test_ordinal_alpha_of_many_labels_has_a_value_and_says_why_it_has_no_interval():
    rng = np.random.default_rng(0)
    counts = np.zeros((1200, 60), int)
    labels = np.clip(rng.integers(60, size=(1200, 1)) + rng.integers(-9, 9, size=(1200, 3)), 0, 59)
    np.add.at(counts, (np.arange(1200)[:, None], labels), 1)
    estimate = krippendorff_alpha(counts, level="ordinal", rng=generator_for(0), replicates=20)
    expected = krippendorff.alpha(value_counts=counts, level_of_measurement="ordinal")
    assert estimate.value == pytest.approx(expected, abs=1e-12)
    assert (estimate.n, estimate.reason) == (1200, MANY_ORDINAL_LABELS)
    few = krippendorff_alpha(counts[:, :40], level="ordinal", rng=generator_for(0), replicates=20)
    assert few.has_interval


@pytest.mark.parametrize("instances", [15, 40, 99, 130])
def test_a_share_of_few_instances_has_one_interval_whatever_computes_it(instances):
    counts, clusters = clustered(instances=instances, units=2)
    kept = np.random.default_rng(3).random(len(counts)) < 0.8
    counts, clusters = counts[kept], clusters[kept]
    rate = win_rate(counts, clusters=clusters, rng=generator_for(0), replicates=100)
    values = np.repeat(np.tile([1, 0.5, 0], len(counts)), counts.ravel())
    instance = np.repeat(clusters, counts.sum(axis=1))
    point = Estimate(rate.value, rate.value, rate.value, stated_scope=THESE)
    jackknife = two_way_mean(values, instance, np.full(len(values), -1), narrow=point)
    is_same = (rate.low, rate.high) == pytest.approx((jackknife.low, jackknife.high), rel=1e-9)
    assert is_same == (instances < 100)
    assert ("logit" in rate.method) == (instances < 100)
    assert rate.standard_error == pytest.approx(jackknife.standard_error, rel=0.25)


@pytest.mark.parametrize("instances", [10, 30, 180])
def test_a_share_of_instances_that_all_agree_has_the_exact_interval(instances):
    counts, how = np.tile([0, 0, 3], (instances, 1)), {"rng": generator_for(0), "replicates": 50}
    shares = agreement(counts, **how)
    judged = Comparison.of(counts, counts)
    single = human_machine(judged, **how)
    weighted = agreement(counts, weights=1 + np.arange(instances) % 2, **how)
    drawn = hajek_estimate(np.ones(instances), np.full(instances, 0.5), bounds=(0, 1))
    every = [shares.percentage_agreement, shares.leave_one_out, single.percentage_agreement, drawn]
    exact = binomtest(instances, instances).proportion_ci()
    for one in every:
        assert (one.low, one.high) == pytest.approx((exact.low, 1))
        assert "Clopper–Pearson" in one.method
    assert weighted.leave_one_out.low < exact.low  # fewer effective ones
    lost = win_rate(counts, **how)
    assert (lost.low, lost.high) == pytest.approx((0, 1 - exact.low))
    alike = win_rate(np.tile([1, 0, 1], (instances, 1)), **how)
    half = binomtest(instances // 2, instances).proportion_ci()
    assert (alike.low, alike.high) == pytest.approx((half.low, half.high))
    # What guessing is expected to reach is known, if it is the same for every unit.
    assert not random_baseline(judged, **how).percentage_agreement.has_interval


def test_a_weighted_share_of_few_instances_stays_within_its_bounds():
    values, inclusion = [1] * 19 + [0], [0.3, 0.6] * 10
    normal = hajek_estimate(values, inclusion)
    bounded = hajek_estimate(values, inclusion, bounds=(0, 1))
    assert normal.high > 1 > bounded.high > bounded.value > bounded.low > 0
    assert bounded.standard_error == normal.standard_error
    assert hajek_estimate(values[:10], [0.3, 1] * 5, bounds=(0, 1)).reason
