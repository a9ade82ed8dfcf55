"""Agreement of pairs of raters, influence of single raters, and self-consistency."""

import tracemalloc

import numpy as np
import pytest
from sklearn.metrics import cohen_kappa_score

from tests.refusals import refused
from tiebreak.stats import (
    drop_one_influence,
    generator_for,
    krippendorff_alpha,
    pairwise_agreement,
    self_consistency,
)
from tiebreak.stats.raters.additive import NO_PAIR
from tiebreak.stats.raters.rater_agreement import NO_REPEAT

UNITS, RATERS, LABELS = 60, 5, 3
SHAPE = {"n_units": UNITS, "n_raters": RATERS, "n_labels": LABELS}


def study(seed=0):
    """Return ratings with gaps, in which rater 4 answers at random."""
    rng = np.random.default_rng(seed)
    truth = rng.integers(0, LABELS, UNITS)
    table = np.where(
        rng.random((UNITS, RATERS)) < 0.75, truth[:, None], rng.integers(0, LABELS, (UNITS, RATERS))
    )
    table[:, 4] = rng.integers(0, LABELS, UNITS)
    table[rng.random((UNITS, RATERS)) < 0.2] = -1
    unit, rater = (grid.ravel() for grid in np.indices((UNITS, RATERS)))
    return table, (unit, rater, table.ravel())


def counts_of(table):
    return np.stack([(table == label).sum(axis=1) for label in range(LABELS)], axis=1)


def test_pairs_equal_scikit_learn():
    table, ratings = study()
    pairs = pairwise_agreement(*ratings, **SHAPE)
    for r in range(RATERS):
        for s in range(RATERS):
            both = (table[:, r] >= 0) & (table[:, s] >= 0)
            first, second = table[both, r], table[both, s]
            assert pairs.shared[r, s] == both.sum()
            assert pairs.agreement[r, s] == pytest.approx(np.mean(first == second))
            assert pairs.kappa[r, s] == pytest.approx(cohen_kappa_score(first, second))


def test_pairs_without_a_shared_unit_or_without_variation_are_undefined():
    pairs = pairwise_agreement(
        [0, 0, 1, 2], [0, 1, 0, 2], [1, 1, -1, 0], n_units=3, n_raters=3, n_labels=2
    )
    assert pairs.shared.tolist() == [[1, 1, 0], [1, 1, 0], [0, 0, 1]]
    assert np.isnan(pairs.agreement[0, 2])
    assert np.isnan(pairs.kappa[0, 1])
    assert pairs.agreement[0, 1] == 1


def test_influence_is_alpha_without_a_rater():
    table, ratings = study()
    whole = krippendorff_alpha(counts_of(table)).value
    influences = drop_one_influence(*ratings, **SHAPE)
    for rater, influence in enumerate(influences):
        expected = krippendorff_alpha(counts_of(np.delete(table, rater, axis=1))).value
        assert influence.without.value == pytest.approx(expected)
        assert influence.change.value == pytest.approx(expected - whole)
        assert influence.n_ratings == (table[:, rater] >= 0).sum()
    assert max(range(RATERS), key=lambda r: influences[r].change.value) == 4


def test_influence_has_an_interval_on_the_same_replicates():
    _, ratings = study()
    influences = drop_one_influence(*ratings, **SHAPE, rng=generator_for(0), replicates=300)
    random = influences[4].change
    assert 0 < random.low < random.value < random.high
    # Both values use the same units, so the change has a smaller error than α.
    assert random.standard_error < influences[4].without.standard_error
    by_instance = drop_one_influence(
        *ratings, **SHAPE, clusters=np.arange(UNITS) // 3, rng=generator_for(0), replicates=50
    )
    assert "instances" in by_instance[4].change.method


def test_influence_of_an_ordinal_scale():
    table, ratings = study(1)
    influences = drop_one_influence(*ratings, **SHAPE, level="ordinal")
    expected = krippendorff_alpha(counts_of(table[:, 1:]), level="ordinal").value
    assert influences[0].without.value == pytest.approx(expected)


@pytest.mark.parametrize("values", [None, np.arange(150.0) ** 2])
def test_influence_on_a_scale_of_many_values_is_alpha_without_a_rater(values):
    rng, shape = np.random.default_rng(2), {"n_units": 40, "n_raters": 4, "n_labels": 150}
    table = np.clip(rng.integers(0, 150, (40, 1)) + rng.integers(-9, 9, (40, 4)), 0, 149)
    table[rng.random((40, 4)) < 0.3] = -1
    unit, rater = (grid.ravel() for grid in np.indices((40, 4)))
    influences = drop_one_influence(
        unit, rater, table.ravel(), **shape, level="interval", values=values
    )

    def alpha(answers):
        counts = np.stack([(answers == label).sum(axis=1) for label in range(150)], axis=1)
        return krippendorff_alpha(counts, level="interval", values=values)

    for rater, influence in enumerate(influences):
        expected = alpha(np.delete(table, rater, axis=1))
        assert influence.without.value == pytest.approx(expected.value, rel=1e-9)
        assert influence.without.n == expected.n
        change = expected.value - alpha(table).value
        assert influence.change.value == pytest.approx(change, rel=1e-9)


def test_influence_on_a_scale_of_many_values_counts_no_values():
    unit, rater = (grid.ravel() for grid in np.indices((1_000, 3)))
    label = (unit * 7 + rater) % 1_000
    shape = {"n_units": 1_000, "n_raters": 3, "n_labels": 1_000}
    tracemalloc.start()
    influences = drop_one_influence(
        unit, rater, label, **shape, level="interval", rng=generator_for(0), replicates=50
    )
    peak = tracemalloc.get_traced_memory()[1]
    tracemalloc.stop()
    assert peak < 1_000 * 1_000 * 8
    assert influences[0].without.has_interval


def test_influence_where_nobody_else_pairs_is_undefined():
    influences = drop_one_influence(
        [0, 0, 1], [0, 1, 0], [0, 1, 0], n_units=2, n_raters=2, n_labels=2
    )
    assert np.isnan(influences[0].without.value)
    assert NO_PAIR in influences[0].change.reason


def test_self_consistency_by_hand():
    shares = self_consistency([0, 0, 0, 1, 2], [0, 1, 2, 1, -1], [0, 1, 0, 0, 1], n_raters=4)
    assert [share.n for share in shares] == [3, 1, 0, 0]
    assert shares[0].value == pytest.approx(2 / 3)
    assert shares[1].value == 0
    assert 0 < shares[1].high < 1
    assert shares[2].reason == NO_REPEAT
    assert np.isnan(shares[3].value)


@pytest.mark.parametrize("function", [pairwise_agreement, drop_one_influence])
@pytest.mark.parametrize(
    ("ratings", "code", "name"),
    [
        (([0, 0], [0, 0], [0, 1]), "rated_twice", "unit 0"),
        (([0], [0, 1], [0, 1]), "lengths_differ", "units 1"),
        (([0], [0], [7]), "out_of_range", "labels"),
        (([0.5], [0], [0]), "not_integers", "units"),
    ],
)
def test_bad_ratings_are_named(function, ratings, code, name):
    with refused(code, naming=name):
        function(*ratings, n_units=2, n_raters=2, n_labels=2)


def test_bad_repeats_are_named():
    with refused("out_of_range", naming="raters"):
        self_consistency([3], [0], [0], n_raters=1)
    with refused("lengths_differ"):
        self_consistency([0], [0, 1], [0], n_raters=1)
