"""Every statistic against an independent implementation, on random ratings with gaps."""

import krippendorff
import numpy as np
import pytest
from scipy.spatial.distance import jensenshannon
from scipy.stats import kendalltau, spearmanr
from sklearn.metrics import cohen_kappa_score, precision_recall_fscore_support
from statsmodels.stats.inter_rater import fleiss_kappa as statsmodels_kappa

from tiebreak.stats import (
    Comparison,
    binned_js,
    classification,
    cohen_kappa,
    fleiss_kappa,
    generator_for,
    human_machine,
    jensen_shannon,
    krippendorff_alpha,
    leave_one_out,
    randolph_kappa,
    random_baseline,
    rank_correlation,
)
from tiebreak.stats.raters.rank_correlations import MANY_CELLS

SEEDS = range(12)


def ragged(seed, *, units=40, labels=4):
    """Return counts with 0 to 6 ratings per unit."""
    rng = np.random.default_rng(seed)
    sizes = rng.integers(0, 7, size=units)
    return np.array([rng.multinomial(size, rng.dirichlet(np.ones(labels))) for size in sizes])


def even(seed, *, raters, units=50, labels=4):
    rng = np.random.default_rng(seed)
    return np.array([rng.multinomial(raters, rng.dirichlet(np.ones(labels))) for _ in range(units)])


def one_hot(codes, labels):
    return np.eye(labels, dtype=int)[codes]


@pytest.mark.parametrize("level", ["nominal", "ordinal", "interval", "ratio"])
@pytest.mark.parametrize("seed", SEEDS)
def test_alpha_equals_the_krippendorff_package(seed, level):
    counts = ragged(seed, labels=2 + seed % 5)
    values = np.cumsum(np.random.default_rng(seed).integers(1, 4, size=counts.shape[1])) - 1
    expected = krippendorff.alpha(
        value_counts=counts, value_domain=values.tolist(), level_of_measurement=level
    )
    estimate = krippendorff_alpha(counts, level=level, values=values)
    assert estimate.value == pytest.approx(expected, abs=1e-12)
    assert estimate.n == (counts.sum(axis=1) >= 2).sum()


@pytest.mark.parametrize("seed", SEEDS)
def test_fleiss_and_randolph_equal_statsmodels(seed):
    counts = even(seed, raters=2 + seed % 4)
    expected = statsmodels_kappa(counts, method="fleiss")
    assert fleiss_kappa(counts).value == pytest.approx(expected, abs=1e-12)
    expected = statsmodels_kappa(counts, method="randolph")
    assert randolph_kappa(counts).value == pytest.approx(expected, abs=1e-12)


def test_observed_k_equals_statsmodels_without_the_empty_column():
    counts = np.insert(even(1, raters=3, labels=3), 1, 0, axis=1)
    expected = statsmodels_kappa(counts[:, [0, 2, 3]], method="randolph")
    assert randolph_kappa(counts, k="observed").value == pytest.approx(expected)
    assert randolph_kappa(counts).value != pytest.approx(expected)


@pytest.mark.parametrize("seed", SEEDS)
def test_cohen_equals_scikit_learn_on_the_units_that_both_rated(seed):
    rng = np.random.default_rng(seed)
    first, second = rng.integers(-1, 4, size=(2, 60))
    both = (first >= 0) & (second >= 0)
    estimate = cohen_kappa(first, second, n_labels=4)
    assert estimate.value == pytest.approx(cohen_kappa_score(first[both], second[both]))
    assert estimate.n == both.sum()


@pytest.mark.parametrize("seed", SEEDS)
def test_leave_one_out_equals_the_loop_over_ratings(seed):
    counts = ragged(seed)

    def unit(row):
        ratings = np.repeat(np.arange(len(row)), row)
        credits = []
        for place, rating in enumerate(ratings):
            others = np.bincount(np.delete(ratings, place), minlength=len(row))
            modes = np.flatnonzero(others == others.max())
            credits.append((rating in modes) / len(modes))
        return np.mean(credits)

    expected = np.mean([unit(row) for row in counts if row.sum() >= 2])
    assert leave_one_out(counts).value == pytest.approx(expected)


@pytest.mark.parametrize("seed", SEEDS)
def test_rank_correlations_of_medians_equal_scipy(seed):
    rng = np.random.default_rng(seed)
    humans = even(seed, raters=3)
    machine = rng.integers(0, 4, size=50)
    medians = np.array([np.median(np.repeat(np.arange(4), row)) for row in humans])
    statistics = human_machine(Comparison.of(humans, one_hot(machine, 4)), level="ordinal")
    assert statistics.spearman.value == pytest.approx(spearmanr(medians, machine).statistic)
    assert statistics.kendall.value == pytest.approx(kendalltau(medians, machine).statistic)


@pytest.mark.parametrize("seed", SEEDS)
def test_rank_correlations_of_means_equal_scipy(seed):
    humans, machine = even(seed, raters=4), even(seed + 100, raters=2)
    values = np.array([1, 2, 4, 7])
    pair = Comparison.of(humans, machine)
    means = humans @ values / 4, machine @ values / 2
    for correlation, oracle in (("spearman", spearmanr), ("kendall", kendalltau)):
        estimate = rank_correlation(pair, correlation=correlation, of="means", values=values)
        assert estimate.value == pytest.approx(oracle(*means).statistic)


@pytest.mark.parametrize("tenth", [1, 0.1, 1 / 3])
def test_means_that_are_equal_but_for_rounding_are_ties(tenth):
    humans, machine = even(5, raters=4), even(105, raters=2)
    whole = np.array([1, 2, 4, 7])
    expected = spearmanr(humans @ whole / 4, machine @ whole / 2).statistic
    pair = Comparison.of(humans, machine)
    estimate = rank_correlation(pair, of="means", values=whole * tenth)
    assert estimate.value == pytest.approx(expected, abs=1e-12)


@pytest.mark.parametrize("correlation", ["spearman", "kendall"])
def test_a_large_table_of_labels_gives_scipys_value(correlation):
    rng = np.random.default_rng(4)
    codes = rng.integers(0, 80, size=(2, 300))
    pair = Comparison.of(one_hot(codes[0], 80), one_hot(codes[1], 80))
    estimate = rank_correlation(pair, correlation=correlation, rng=rng)
    expected = {"spearman": spearmanr, "kendall": kendalltau}[correlation](*codes).statistic
    assert estimate.value == pytest.approx(expected)
    if correlation == "kendall":
        assert np.isnan(estimate.low)
        assert estimate.reason == MANY_CELLS


def test_random_labels_of_a_large_table_have_no_interval_of_their_correlation():
    rng = np.random.default_rng(4)
    codes = rng.integers(0, 80, size=(2, 300))
    pair = Comparison.of(one_hot(codes[0], 80), one_hot(codes[1], 80))
    baseline = random_baseline(pair, level="ordinal", rng=generator_for(0), replicates=20)
    assert baseline.spearman.reason == MANY_CELLS
    assert baseline.spearman.value == pytest.approx(0, abs=1e-12)


def test_spearmans_interval_is_the_same_by_rows_and_by_table(monkeypatch):
    counts = np.random.default_rng(5).multinomial(3, [0.2] * 5, size=(2, 80))
    pair = Comparison.of(*counts)
    by_table = [rank_correlation(pair, of=of, rng=generator_for(0)) for of in ("medians", "means")]
    monkeypatch.setattr("tiebreak.stats.raters.rank_correlations.MAX_CELLS", 1)
    by_rows = [rank_correlation(pair, of=of, rng=generator_for(0)) for of in ("medians", "means")]
    for first, second in zip(by_table, by_rows, strict=True):
        assert (first.value, first.low, first.high) == pytest.approx(
            (second.value, second.low, second.high)
        )


@pytest.mark.parametrize("seed", SEEDS)
def test_jensen_shannon_equals_scipy(seed):
    p, q = np.random.default_rng(seed).integers(0, 5, size=(2, 6)) + np.eye(2, 6, dtype=int)
    assert jensen_shannon(p, q) == pytest.approx(jensenshannon(p, q))
    in_base_2 = jensenshannon(p, q, base=2)
    assert jensen_shannon(p, q, form="distance_base_2") == pytest.approx(in_base_2)
    assert jensen_shannon(p, q, form="divergence") == pytest.approx(in_base_2**2)


@pytest.mark.parametrize("seed", SEEDS)
def test_binned_js_equals_the_loop_over_bins(seed):
    humans, machine = even(seed, raters=3), even(seed + 50, raters=2)
    bins = np.array([np.median(np.repeat(np.arange(4), row)) for row in humans])
    expected = sum(
        (bins == b).mean()
        * jensenshannon(humans[bins == b].sum(axis=0), machine[bins == b].sum(axis=0))
        for b in np.unique(bins)
    )
    estimate = binned_js(Comparison.of(humans, machine), level="ordinal")
    assert estimate.value == pytest.approx(expected)


@pytest.mark.parametrize("seed", SEEDS)
def test_classification_equals_scikit_learn(seed):
    rng = np.random.default_rng(seed)
    truth, named = rng.integers(0, 4, size=(2, 60))
    named[rng.random(60) < 0.5] = 0
    pair = Comparison.of(one_hot(truth, 4), one_hot(named, 4))
    precision, recall, f1, _ = precision_recall_fscore_support(
        truth, named, average="macro", zero_division=0
    )
    scores = classification(pair)
    assert scores.accuracy.value == pytest.approx((truth == named).mean())
    assert scores.macro_precision.value == pytest.approx(precision)
    assert scores.macro_recall.value == pytest.approx(recall)
    assert scores.macro_f1.value == pytest.approx(f1)


@pytest.mark.parametrize("level", ["nominal", "ordinal", "interval", "ratio"])
def test_human_machine_alpha_equals_two_raters_in_the_krippendorff_package(level):
    rng = np.random.default_rng(7)
    human, machine = rng.integers(0, 4, size=(2, 80))
    pair = Comparison.of(one_hot(human, 4), one_hot(machine, 4))
    expected = krippendorff.alpha(
        reliability_data=np.stack([human, machine]) + 1, level_of_measurement=level
    )
    statistics = human_machine(pair, level=level, values=[1, 2, 3, 4])
    assert statistics.krippendorff_alpha.value == pytest.approx(expected)
    assert statistics.cohen_kappa.value == pytest.approx(cohen_kappa_score(human, machine))
    table = one_hot(human, 4) + one_hot(machine, 4)
    assert statistics.fleiss_kappa.value == pytest.approx(statsmodels_kappa(table))
    randolph = statsmodels_kappa(table, method="randolph")
    assert statistics.randolph_kappa.value == pytest.approx(randolph)
