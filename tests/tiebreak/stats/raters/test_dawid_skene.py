"""Dawid–Skene against simulations with a known truth, and against direct optimisation."""

import tracemalloc

import numpy as np
import pytest
from scipy.optimize import minimize
from scipy.special import softmax

from tests.refusals import refused
from tiebreak.stats import dawid_skene

CONFUSION = np.array(
    [
        [[0.9, 0.05, 0.05], [0.05, 0.9, 0.05], [0.05, 0.05, 0.9]],
        [[0.7, 0.2, 0.1], [0.1, 0.8, 0.1], [0.3, 0.1, 0.6]],
        [[0.5, 0.25, 0.25], [0.25, 0.5, 0.25], [0.25, 0.25, 0.5]],
        [[0.95, 0.05, 0.0], [0.4, 0.6, 0.0], [0.1, 0.1, 0.8]],
        [[1 / 3, 1 / 3, 1 / 3]] * 3,
    ]
)
PRIOR = np.array([0.5, 0.2, 0.3])


def simulated(seed, *, units, missing=0.0):
    rng = np.random.default_rng(seed)
    truth = rng.choice(3, p=PRIOR, size=units)
    unit, rater = (grid.ravel() for grid in np.meshgrid(range(units), range(5), indexing="ij"))
    shares = CONFUSION[rater, truth[unit]]
    label = (rng.random((len(unit), 1)) > shares.cumsum(axis=1)).sum(axis=1)
    kept = rng.random(len(unit)) >= missing
    return truth, unit[kept], rater[kept], label[kept]


def fitted(unit, rater, label, *, units, **options):
    return dawid_skene(unit, rater, label, n_units=units, n_raters=5, n_labels=3, **options)


@pytest.mark.parametrize("missing", [0.0, 0.4])
def test_a_known_truth_is_recovered(missing):
    _, *ratings = simulated(0, units=4000, missing=missing)
    fit = fitted(*ratings, units=4000)
    assert fit.converged
    assert np.abs(fit.confusion - CONFUSION).max() < 0.1
    assert fit.prior == pytest.approx(PRIOR, abs=0.03)
    expected = np.einsum("t,rtt->r", PRIOR, CONFUSION)
    assert fit.accuracy == pytest.approx(expected, abs=0.04)


def test_it_beats_the_majority_where_raters_differ():
    truth, unit, rater, label = simulated(1, units=3000)
    fit = fitted(unit, rater, label, units=3000)
    votes = np.zeros((3000, 3))
    np.add.at(votes, (unit, label), 1)
    assert np.mean(fit.labels == truth) > np.mean(votes.argmax(axis=1) == truth) + 0.03


def test_posteriors_are_calibrated():
    truth, *ratings = simulated(2, units=6000)
    fit = fitted(*ratings, units=6000)
    sure = fit.posterior.max(axis=1)
    right = fit.labels == truth
    for low, high in ((0.5, 0.7), (0.7, 0.9), (0.9, 0.99)):
        in_range = (sure >= low) & (sure < high)
        assert right[in_range].mean() == pytest.approx(sure[in_range].mean(), abs=0.05)


def test_the_likelihood_is_that_of_direct_optimisation():
    _, unit, rater, label = simulated(3, units=40)
    kept = rater < 3
    unit, rater, label = unit[kept], rater[kept], label[kept]

    def cost(x):
        prior, confusion = softmax(x[:3]), softmax(x[3:].reshape(3, 3, 3), axis=2)
        joint = np.tile(np.log(prior), (40, 1))
        np.add.at(joint, unit, np.log(confusion[rater, :, label]))
        return -np.logaddexp.reduce(joint, axis=1).sum()

    fit = dawid_skene(unit, rater, label, n_units=40, n_raters=3, n_labels=3, smoothing=0)
    start = np.log(np.concatenate([fit.prior, fit.confusion.ravel()]) + 1e-4)
    best = minimize(cost, start, method="BFGS")
    assert fit.log_likelihood == pytest.approx(-best.fun, abs=1e-3)


def test_one_step_by_hand():
    """Two raters agree on the first of two units and differ on the second."""
    fit = dawid_skene(
        [0, 0, 1, 1],
        [0, 1, 0, 1],
        [0, 0, 0, 1],
        n_units=2,
        n_raters=2,
        n_labels=2,
        smoothing=0,
        max_steps=1,
    )
    # The label shares (1, 0) and (½, ½) give the prior (¾, ¼). Rater 0 always gives label 0. Rater
    # 1 gives label 1 to ½ of the 1½ units with true label 0, and to all of the ½ unit with true
    # label 1.
    assert fit.prior == pytest.approx([0.75, 0.25])
    assert fit.confusion[1] == pytest.approx(np.array([[2 / 3, 1 / 3], [0, 1]]))
    assert fit.posterior[1] == pytest.approx([0.5, 0.5])
    assert not fit.converged


def test_order_of_ratings_and_names_of_labels_do_not_matter():
    _, unit, rater, label = simulated(4, units=200)
    order = np.random.default_rng(0).permutation(len(unit))
    fit = fitted(unit, rater, label, units=200)
    again = fitted(unit[order], rater[order], label[order], units=200)
    assert again.posterior == pytest.approx(fit.posterior)
    renamed = fitted(unit, rater, np.array([2, 0, 1])[label], units=200)
    assert renamed.posterior[:, [2, 0, 1]] == pytest.approx(fit.posterior, abs=1e-6)


def test_what_is_missing_stays_unknown():
    units, raters, labels = [0, 0, 1, 1, 2], [0, 1, 0, 1, 2], [0, 0, 1, 1, -1]
    fit = dawid_skene(units, raters, labels, n_units=3, n_raters=3, n_labels=2)
    assert fit.labels.tolist() == [0, 1, -1]
    assert np.isnan(fit.posterior[2]).all()
    assert np.isnan(fit.confusion[2]).all()
    assert np.isnan(fit.accuracy[2])
    assert fit.n_units == 2
    nothing = dawid_skene([0], [0], [-1], n_units=1, n_raters=1, n_labels=2)
    assert np.isnan(nothing.log_likelihood)
    assert (nothing.n_units, nothing.labels.tolist(), nothing.converged) == (0, [-1], False)


def test_a_crowd_whose_raters_each_rate_few_units_is_fitted_without_all_their_pairs():
    units, raters, each = 1_000, 300, 2
    unit = np.repeat(np.arange(units), each)
    rater, label = (unit * 7 + np.arange(len(unit)) % each) % raters, unit % 3
    sizes = {"n_units": units, "n_raters": raters, "n_labels": 3}
    tracemalloc.start()
    try:
        dawid_skene(unit, rater, label, max_steps=5, **sizes)
        peak = tracemalloc.get_traced_memory()[1]
    finally:
        tracemalloc.stop()
    assert peak < units * raters * 3 * 8 / 2  # a number for each unit, rater and label takes 7 MB


def test_one_label():
    fit = dawid_skene([0, 0], [0, 1], [0, 0], n_units=1, n_raters=2, n_labels=1)
    assert fit.posterior.tolist() == [[1.0]]
    assert fit.accuracy.tolist() == [1.0, 1.0]


@pytest.mark.parametrize(
    ("change", "code", "name"),
    [
        ({"labels": [0, 5]}, "out_of_range", "labels"),
        ({"units": [0, 9]}, "out_of_range", "units"),
        ({"raters": [0]}, "lengths_differ", "raters"),
        ({"units": [0, 0], "raters": [1, 1]}, "rated_twice", "unit 0"),
        ({"smoothing": -1}, "out_of_range", "smoothing"),
        ({"max_steps": 0}, "out_of_range", "max_steps"),
    ],
)
def test_bad_arguments_are_named(change, code, name):
    arguments = {"units": [0, 1], "raters": [0, 1], "labels": [0, 1]} | change
    with refused(code, naming=name):
        dawid_skene(**arguments, n_units=2, n_raters=2, n_labels=2)
