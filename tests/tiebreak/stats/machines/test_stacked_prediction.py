"""Stacked prediction-powered estimates against independent computations and simulated truth."""

import numpy as np
import pytest
from scipy.optimize import minimize

from tests.refusals import refused
from tiebreak.stats.core.results import Estimate
from tiebreak.stats.machines.labelled_sample import NO_VARIATION, ONE_INSTANCE
from tiebreak.stats.machines.prediction_powered import (
    NO_PAIR,
    NO_UNLABELLED,
    prediction_powered_mean,
    prediction_powered_win_rate,
)
from tiebreak.stats.machines.stacked_prediction import (
    cross_fitted_slopes,
    effective_sample_size,
    stacked_mean,
    stacked_win_rate,
)


def study(seed, *, n=100, others=300, accuracies=(0.6, 0.4), shared=1):
    """Return labels and machine labels; a machine copies a label that often, else it guesses.

    Units that share an instance have the same chance of a label of 1.
    """
    rng = np.random.default_rng(seed)
    total = n + others
    chance = np.repeat(rng.random(total // shared), shared)
    truth = (rng.random(total) < chance).astype(float)
    machines = np.stack(
        [
            np.where(rng.random(total) < accuracy, truth, rng.choice([0, 0.5, 1], total))
            for accuracy in accuracies
        ],
        axis=1,
    )
    return truth[:n], machines[:n], machines[n:]


def reference(labels, predictions, unlabelled):
    """Return value and standard error, by a general optimiser for the weights of each fold."""
    n, others, machines = len(labels), len(unlabelled), predictions.shape[1]
    corrected, weights = np.empty(n), np.empty((n, machines))
    for fold in range(5):
        kept = [k for k in range(n) if k % 5 != fold]
        y, f = labels[kept], predictions[kept]
        pooled = np.cov(np.vstack([f, unlabelled]).T).reshape(machines, machines)
        variance = (1 + len(kept) / others) * pooled
        variance = variance + np.diag(np.diag(variance)) * (machines - 1) / len(kept)
        covariance = np.array([np.mean((y - y.mean()) * column) for column in f.T])
        best = minimize(
            lambda w, v=variance, c=covariance: w @ v @ w - 2 * w @ c,
            np.full(machines, 0.1),
            bounds=[(0, None)] * machines,
            tol=1e-14,
        ).x
        weights[fold::5] = best / max(1, best.sum())
    for k in range(n):
        corrected[k] = labels[k] - weights[k] @ (predictions[k] - unlabelled.mean(axis=0))
    of_others = unlabelled @ weights.mean(axis=0)
    return corrected.mean(), np.sqrt(corrected.var(ddof=1) / n + of_others.var(ddof=1) / others)


@pytest.mark.parametrize("accuracies", [(0.6,), (0.6, 0.4), (0.7, 0.0, 0.3), (0.0, 0.0)])
def test_equals_an_independent_computation(accuracies):
    parts = study(3, accuracies=accuracies)
    value, error = reference(*parts)
    stack = stacked_mean(*parts).estimate
    assert stack.value == pytest.approx(value, abs=1e-5)
    assert stack.standard_error == pytest.approx(error, rel=1e-4)


def test_with_one_machine_it_is_the_power_tuned_estimate_up_to_folds():
    labels, predictions, unlabelled = study(1, n=2000, others=6000, accuracies=(0.6,))
    one = prediction_powered_mean(labels, predictions[:, 0], unlabelled[:, 0])
    stack = stacked_mean(labels, predictions, unlabelled)
    # λ from four fifths of the labels has a slightly smaller n/N.
    assert stack.weights[0] == pytest.approx(one.lam, rel=0.06)
    assert stack.estimate.value == pytest.approx(one.estimate.value, abs=5e-4)
    assert stack.estimate.standard_error == pytest.approx(one.estimate.standard_error, rel=2e-3)


def test_an_instance_does_not_choose_its_own_weights():
    """Two units share an instance, some of which have labelled and unlabelled units."""
    labels, predictions, unlabelled = study(5, n=121, others=300, accuracies=(0.6,), shared=1)
    clusters, rest = np.arange(121) // 2, 60 + np.arange(300) // 2
    f, others = predictions[:, 0], unlabelled[:, 0]
    slopes = np.empty(121)
    for fold in range(5):
        kept = clusters % 5 != fold
        other_kept = ~np.isin(rest, np.unique(clusters[~kept]))
        y, mine, theirs = labels[kept], f[kept], others[other_kept]
        human, machine = np.zeros(220), np.zeros(220)
        np.add.at(human, clusters[kept], (y - y.mean()) / len(y))
        np.add.at(machine, clusters[kept], (mine - mine.mean()) / len(y))
        np.subtract.at(machine, rest[other_kept], (theirs - theirs.mean()) / len(theirs))
        slopes[~kept] = human @ machine / (machine @ machine)
    stack = stacked_mean(
        labels, predictions, unlabelled, clusters=clusters, unlabelled_clusters=rest
    )
    assert stack.weights[0] == pytest.approx(slopes.mean())
    expected = (labels - slopes * (f - others.mean())).mean()
    assert stack.estimate.value == pytest.approx(expected, abs=1e-12)


@pytest.mark.parametrize(
    ("n", "others", "accuracies", "shared"),
    [
        (15, 300, (0.6, 0.4), 1),
        (30, 300, (0.6, 0.4), 3),
        (90, 300, (0.6, 0.5, 0.4), 1),
        (90, 300, (0.6, 0.4), 3),
    ],
)
@pytest.mark.slow
def test_intervals_cover(n, others, accuracies, shared):
    hits, gains = 0, []
    for seed in range(200):
        labels, predictions, unlabelled = study(
            seed, n=n, others=others, accuracies=accuracies, shared=shared
        )
        stack = stacked_mean(
            labels,
            predictions,
            unlabelled,
            clusters=np.arange(n) // shared,
            unlabelled_clusters=n + np.arange(others) // shared,
        )
        hits += stack.estimate.low <= 0.5 <= stack.estimate.high
        gains.append(stack.gain)
    assert 0.9 <= hits / 200 <= 0.99
    assert np.mean(gains) > 1.2


@pytest.mark.sampled(2)
@pytest.mark.parametrize(("n", "machines"), [(20, 1), (60, 1), (60, 3), (300, 3)])
def test_random_machines_cost_less_than_a_tenth(n, machines):
    parts = [study(seed, n=n, accuracies=(0,) * machines) for seed in range(200)]
    stacks = [stacked_mean(*part) for part in parts]
    assert np.mean([stack.gain for stack in stacks]) > 0.9
    classical, powered = (
        np.mean([(getattr(stack, name).value - 0.5) ** 2 for stack in stacks])
        for name in ("classical", "estimate")
    )
    assert classical / powered > 0.9


@pytest.mark.slow
def test_weights_from_the_labels_that_they_correct_would_be_too_sure_of_themselves():
    """With four machines and 15 labels, in-sample residuals are much too small."""
    truth = [study(seed, n=15, accuracies=(0,) * 4) for seed in range(300)]
    stacks = [stacked_mean(*parts).estimate for parts in truth]
    errors = np.array([stack.value - 0.5 for stack in stacks])
    claimed = np.mean([stack.standard_error**2 for stack in stacks])
    assert claimed > 0.9 * np.mean(errors**2)


class TestMissingMachineLabels:
    def test_have_the_machines_mean(self):
        labels, predictions, unlabelled = study(2)
        predictions[:10, 0], unlabelled[:20, 1] = np.nan, np.nan
        stack = stacked_mean(labels, predictions, unlabelled)
        means = np.nanmean(np.vstack([predictions, unlabelled]), axis=0)
        filled = (np.where(np.isnan(f), means, f) for f in (predictions, unlabelled))
        assert stack.estimate.value == pytest.approx(stacked_mean(labels, *filled).estimate.value)
        assert (stack.n_labelled, stack.n_unlabelled) == (100, 300)

    def test_a_machine_without_labels_has_no_weight(self):
        labels, predictions, unlabelled = study(2)
        predictions[:, 1], unlabelled[:, 1] = np.nan, np.nan
        stack = stacked_mean(labels, predictions, unlabelled)
        assert stack.weights[1] == 0 < stack.weights[0]


class TestWinRate:
    def counts(self):
        labels, predictions, unlabelled = study(4)
        outcomes = np.eye(3, dtype=int)
        humans = np.vstack([outcomes[(2 - 2 * labels).astype(int)], np.zeros((300, 3), dtype=int)])
        both = np.vstack([predictions, unlabelled])
        return humans, [outcomes[(2 - 2 * column).astype(int)] for column in both.T]

    def test_is_the_mean_of_scores(self):
        humans, machines = self.counts()
        rate, mean = stacked_win_rate(humans, machines), stacked_mean(*study(4))
        assert rate.estimate.value == pytest.approx(mean.estimate.value)
        assert rate.classical == mean.classical

    def test_the_other_system_has_the_rest(self):
        humans, machines = self.counts()
        rate = stacked_win_rate(humans, machines).estimate
        other = stacked_win_rate(humans[:, ::-1], [m[:, ::-1] for m in machines]).estimate
        assert rate.value + other.value == pytest.approx(1)
        assert rate.low + other.high == pytest.approx(1)

    def test_a_better_machine_among_two_is_not_worse_than_alone(self):
        humans, machines = self.counts()
        one = prediction_powered_win_rate(humans, machines[0], ddof=1).estimate
        assert stacked_win_rate(humans, machines).estimate.standard_error < one.standard_error

    def test_instances(self):
        humans, machines = self.counts()
        names = [f"i{k // 4}" for k in range(400)]
        rate = stacked_win_rate(humans, machines, clusters=names)
        labels, *others = study(4)
        codes = np.arange(400) // 4
        mean = stacked_mean(labels, *others, clusters=codes[:100], unlabelled_clusters=codes[100:])
        assert "instance" in rate.classical.method
        assert rate.classical.standard_error == pytest.approx(mean.classical.standard_error)

    def test_without_machines(self):
        with refused("too_few", naming="machines"):
            stacked_win_rate([[1, 0, 0]], [])


class TestDegenerate:
    def test_nothing_to_stack(self):
        assert stacked_mean([], np.zeros((0, 2)), np.zeros((3, 2))).estimate.reason == NO_PAIR
        nothing = stacked_mean([1.0, 0], [[1.0], [0]], np.zeros((0, 1)))
        assert nothing.estimate.reason == NO_UNLABELLED
        assert np.isnan(nothing.gain)
        assert np.isnan(nothing.weights).all()

    def test_one_label_or_labels_that_do_not_vary(self):
        assert stacked_mean([1.0], [[1.0]], [[0.0], [1]]).estimate.reason == ONE_INSTANCE
        same = stacked_mean([0.5] * 6, [[1.0], [0]] * 3, [[0.0], [1]] * 4)
        assert (same.estimate.reason, same.estimate.value) == (NO_VARIATION, 0.5)
        assert np.isnan(same.gain)

    def test_machines_that_do_not_vary_change_nothing(self):
        labels, *_ = study(6)
        stack = stacked_mean(labels, np.full((100, 2), 0.1), np.full((300, 2), 0.1))
        assert stack.weights == (0, 0)
        assert stack.estimate.value == stack.classical.value
        assert stack.gain == pytest.approx(1)

    def test_the_same_machine_twice_counts_once(self):
        labels, predictions, unlabelled = study(7, accuracies=(0.6,))
        once = stacked_mean(labels, predictions, unlabelled)
        twice = stacked_mean(
            labels, np.repeat(predictions, 2, axis=1), np.repeat(unlabelled, 2, axis=1)
        )
        assert sum(twice.weights) == pytest.approx(once.weights[0], rel=0.02)

    @pytest.mark.parametrize(
        ("predictions", "unlabelled", "code", "name"),
        [
            ([[1.0, 0]] * 2, [[1.0]], "wrong_shape", "predictions"),
            ([[1.0]], [[1.0]], "lengths_differ", "predictions 1"),
            ([[np.inf]] * 2, [[1.0]], "not_finite", "predictions"),
        ],
    )
    def test_bad_arguments_are_named(self, predictions, unlabelled, code, name):
        with refused(code, naming=name):
            stacked_mean([1.0, 0], predictions, unlabelled)


def test_effective_sample_size_needs_both_errors():
    known, unknown = Estimate(0.5, standard_error=0.1), Estimate(0.5)
    assert effective_sample_size(10, known, known) == 10
    assert np.isnan(effective_sample_size(10, known, unknown))
    assert np.isnan(effective_sample_size(10, unknown, known))


def test_slopes_come_from_the_other_instances():
    rng = np.random.default_rng(4)
    clusters = np.repeat(np.arange(60), 2)
    f, weights = rng.random(120), rng.uniform(1, 5, 120)
    y = np.clip(0.6 * f + rng.normal(0, 0.1, 120), 0, 1)
    slopes = cross_fitted_slopes(y, f, weights=weights, clusters=clusters)
    for fold in range(5):
        in_fold = clusters % 5 == fold
        kept = ~in_fold
        dy = y[kept] - np.average(y[kept], weights=weights[kept])
        df = f[kept] - np.average(f[kept], weights=weights[kept])
        expected = (weights[kept] ** 2 * dy * df).sum() / (weights[kept] ** 2 * df**2).sum()
        np.testing.assert_allclose(slopes[in_fold], expected)
    changed = y.copy()
    changed[clusters == 0] = 1 - changed[clusters == 0]
    again = cross_fitted_slopes(changed, f, weights=weights, clusters=clusters)
    assert (again[clusters % 5 == 0] == slopes[clusters % 5 == 0]).all()
    assert (again[clusters % 5 != 0] != slopes[clusters % 5 != 0]).all()


@pytest.mark.parametrize(("y", "expected"), [([0, 1] * 10, 1), ([1, 0] * 10, 0), ([1, 1] * 10, 0)])
def test_slopes_are_shares(y, expected):
    f = [0.4, 0.6] * 10
    slopes = cross_fitted_slopes(y, f, weights=[1.0] * 20, clusters=range(20))
    assert slopes.tolist() == [expected] * 20


def test_without_other_machine_labels_that_vary_the_slope_is_zero():
    constant = cross_fitted_slopes([0, 1, 1], [0.3] * 3, weights=[1.0] * 3, clusters=[0, 1, 2])
    assert constant.tolist() == [0, 0, 0]
    assert cross_fitted_slopes([1], [0.5], weights=[2.0], clusters=[0]).tolist() == [0]
    assert cross_fitted_slopes([], [], weights=[], clusters=[]).tolist() == []


def test_slopes_of_several_machines_solve_the_weighted_equations():
    rng = np.random.default_rng(8)
    f, weights, clusters = rng.random((100, 2)), rng.uniform(1, 4, 100), np.arange(100)
    y = 0.3 * f[:, 0] + 0.5 * f[:, 1] + rng.normal(0, 0.1, 100)
    slopes = cross_fitted_slopes(y, f, weights=weights, clusters=clusters)
    kept = clusters % 5 != 2
    root = weights[kept, None]
    df = root * (f[kept] - np.average(f[kept], axis=0, weights=weights[kept]))
    dy = weights[kept] * (y[kept] - np.average(y[kept], weights=weights[kept]))
    gram = df.T @ df
    expected = np.linalg.solve(gram + np.diag(np.diag(gram)) / 80, df.T @ dy)
    np.testing.assert_allclose(slopes[2], expected)


def test_slopes_of_few_instances_come_from_all_others():
    rng = np.random.default_rng(9)
    f = rng.random(49)
    y = 0.5 * f + rng.normal(0, 0.1, 49)
    slopes = cross_fitted_slopes(y, f, weights=np.ones(49), clusters=np.arange(49))
    expected = [
        np.cov(np.delete(y, k), np.delete(f, k))[0, 1] / np.delete(f, k).var(ddof=1)
        for k in range(49)
    ]
    np.testing.assert_allclose(slopes, expected)
