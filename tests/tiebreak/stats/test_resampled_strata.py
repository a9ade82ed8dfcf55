"""Statistics of several strata and machines from the same replicates."""

import numpy as np
import pytest

from tests.tiebreak.stats.rounding import equal_but_for_rounding
from tiebreak.stats import Comparison, Patterns, generator_for, human_machine, random_baseline
from tiebreak.stats.core.bootstrap import estimate, estimate_strata, on_columns
from tiebreak.stats.core.independence import too_few_clusters
from tiebreak.stats.core.resampling import replicate_counts
from tiebreak.stats.raters.additive import NO_PAIR, alpha_statistic, percentage_statistic


def study(instances=80, units=3, labels=3, seed=0):
    rng = np.random.default_rng(seed)
    shares = np.repeat(rng.dirichlet([0.6] * labels, size=instances), units, axis=0)
    return rng.multinomial(4, shares), np.repeat(np.arange(instances), units)


@pytest.mark.parametrize("shared", [True, False])
def test_a_replicate_holds_whole_clusters(shared):
    counts, clusters = study()
    patterns = Patterns.of(counts, clusters=clusters if shared else None)
    drawn = np.concatenate(list(replicate_counts(patterns, 4000, generator_for(0), 64)), axis=1)
    assert drawn.shape == (len(patterns.rows), 4000)
    assert (drawn.sum(axis=0) == len(counts)).all()
    assert drawn.mean(axis=1) == pytest.approx(patterns.unit_counts, rel=0.15, abs=0.2)


@pytest.mark.parametrize("batch", [1, 7, 5000])
def test_row_counts_do_not_depend_on_the_batch(batch):
    counts, clusters = study()
    patterns = Patterns.of(counts, clusters=clusters)

    def drawn(size):
        return np.concatenate(list(replicate_counts(patterns, 50, generator_for(0), size)), axis=1)

    assert (drawn(batch) == drawn(None)).all()


def test_membership_says_which_units_a_cluster_has():
    counts = [[1, 0], [0, 1], [0, 1], [1, 0], [0, 1], [1, 0], [1, 0]]
    patterns = Patterns.of(counts, clusters=["a", "a", "b", "b", "c", "d", "d"])
    assert patterns.rows.tolist() == [[0, 1], [1, 0]]
    assert patterns.representatives.tolist() == [1, 0]
    multiplicity_of = dict(
        zip(
            map(tuple, patterns.membership.toarray().tolist()),
            patterns.multiplicities.tolist(),
            strict=True,
        )
    )
    assert multiplicity_of == {(1.0, 0.0): 1, (1.0, 1.0): 2, (0.0, 2.0): 1}
    assert patterns.clusters_with(np.array([True, False])) == 3


def naive(counts, clusters, inside, replicates=2000):
    """Yield the mean share of the modal label in a stratum, for replicates of the whole study."""
    rng, members = np.random.default_rng(1), np.arange(len(counts)).reshape(-1, 3)
    for _ in range(replicates):
        units = members[rng.integers(0, len(members), size=len(members))].ravel()
        units = units[inside[units]]
        yield (counts[units].max(axis=1) / 4).mean()


def test_a_stratum_varies_as_in_the_naive_bootstrap_of_the_whole_study():
    counts, clusters = study()
    inside = counts[:, 0] >= 2
    patterns = Patterns.of(counts, clusters=clusters)
    masks = [patterns.rows[:, 0] >= 2, patterns.rows[:, 0] < 2]
    statistics = {"percentage": percentage_statistic(level="nominal")}
    percentage = estimate_strata(statistics, patterns, masks, rng=generator_for(0))[0]["percentage"]
    expected = list(naive(counts, clusters, inside))
    assert percentage.value == pytest.approx((counts[inside].max(axis=1) / 4).mean())
    assert percentage.n == inside.sum()
    assert percentage.standard_error == pytest.approx(np.std(expected), rel=0.08)
    ends = np.quantile(expected, [0.025, 0.975])
    assert [percentage.low, percentage.high] == pytest.approx(ends, abs=0.006)


def test_numbers_do_not_depend_on_company():
    counts, clusters = study()
    patterns = Patterns.of(counts, clusters=clusters)
    statistics = {"alpha": alpha_statistic(3, level="nominal")}
    more = statistics | {"percentage": percentage_statistic(level="nominal")}
    everything = np.ones(len(patterns.rows), dtype=bool)
    some = patterns.rows[:, 0] > 0
    alone = estimate(statistics["alpha"], patterns, rng=generator_for(0))
    together = estimate_strata(more, patterns, [some, everything], rng=generator_for(0))
    assert equal_but_for_rounding(together[1]["alpha"], alone)


def test_a_stratum_of_one_instance_has_no_interval_and_an_empty_one_no_value():
    counts = np.array([[3, 0]] * 30 + [[0, 3], [1, 2]])
    patterns = Patterns.of(counts, clusters=[*range(30), 30, 30])
    masks = [patterns.rows[:, 1] > 0, np.zeros(len(patterns.rows), dtype=bool)]
    one, none = (
        stratum["percentage"]
        for stratum in estimate_strata(
            {"percentage": percentage_statistic(level="nominal")},
            patterns,
            masks,
            rng=generator_for(0),
        )
    )
    assert one.value == pytest.approx(5 / 6)
    assert one.reason == too_few_clusters(1)
    assert np.isnan(none.value)
    assert (none.n, none.reason) == (0, NO_PAIR)


def test_columns_that_only_split_rows_change_no_value():
    counts, clusters = study()
    split = np.random.default_rng(0).integers(0, 4, size=len(counts))
    wide = Patterns.of(np.column_stack([counts, split]), clusters=clusters)
    statistic = alpha_statistic(3, level="ordinal")
    assert estimate(on_columns(statistic, slice(0, 3)), wide).value == pytest.approx(
        estimate(statistic, Patterns.of(counts)).value
    )
    machine = np.eye(3, dtype=int)[split % 3]
    plain = human_machine(Comparison.of(counts, machine)).estimates()
    other = human_machine(Comparison.of(counts, machine, split=split)).estimates()
    for name, estimated in plain.items():
        assert other[name].value == pytest.approx(estimated.value, nan_ok=True), name


@pytest.mark.sampled(1)
@pytest.mark.parametrize("level", ["nominal", "ordinal"])
def test_the_random_baseline_is_the_mean_of_random_labellers(level):
    counts, _ = study(instances=40)
    expected = random_baseline(
        Comparison.of(counts, np.eye(3, dtype=int)[[0] * len(counts)]), level=level
    ).estimates()
    rng, draws = np.random.default_rng(3), []
    for _ in range(300):
        answers = np.eye(3, dtype=int)[rng.integers(0, 3, size=len(counts))]
        pair = Comparison.of(counts, answers)
        draws.append({n: e.value for n, e in human_machine(pair, level=level).estimates().items()})
    for name in ("percentage_agreement", "leave_one_out", "randolph_kappa", "cohen_kappa"):
        drawn = [values[name] for values in draws]
        error = 4 * np.std(drawn) / np.sqrt(len(drawn)) + 0.003
        assert np.mean(drawn) == pytest.approx(expected[name].value, abs=error), name


def test_the_random_baseline_of_k_labels_agrees_with_one_in_k():
    counts, _ = study()
    baseline = random_baseline(Comparison.of(counts, np.roll(counts, 1, axis=0)))
    assert baseline.percentage_agreement.value == pytest.approx(1 / 3)
    assert baseline.randolph_kappa.value == pytest.approx(0, abs=1e-12)
    assert baseline.cohen_kappa.value == pytest.approx(0, abs=1e-12)
    assert baseline.leave_one_out.value == pytest.approx(1 / 3)


def test_a_machine_that_never_answered_has_no_baseline():
    baseline = random_baseline(Comparison.of([[2, 0], [1, 1]], [[0, 0], [0, 0]]))
    assert np.isnan(baseline.percentage_agreement.value)
    assert baseline.percentage_agreement.reason
