"""A composite is scored on units on which its raters were not chosen."""

import numpy as np
import pytest

from tests.refusals import refused
from tiebreak.stats import composite_shares, cross_validated_composite
from tiebreak.stats.machines.composite import composite_variances

CATEGORIES = 8


def held_out(credits, categories, rng):
    """Return the composite's mean credit, and that of the raters that are best on all units."""
    composite = cross_validated_composite(credits, categories, rng=rng)
    best = [credits[categories == c].mean(axis=0).argmax() for c in range(CATEGORIES)]
    units = np.arange(len(credits))
    naive = credits[units, np.array(best)[categories]]
    return credits[units, composite.rater].mean(), naive.mean()


def simulate(agreement, studies, rng):
    """Yield the values of studies with 12 units per category, and credits of 0 or 1."""
    categories = np.repeat(np.arange(CATEGORIES), 12)
    for _ in range(studies):
        credits = (rng.random((len(categories), agreement.shape[1])) < agreement[categories]) * 1.0
        yield held_out(credits, categories, rng)


def test_among_equally_good_raters_choosing_gains_nothing_and_in_sample_choice_seems_to():
    rng = np.random.default_rng(0)
    values = np.array(list(simulate(np.full((CATEGORIES, 10), 0.5), 400, rng)))
    ours, naive = values.mean(axis=0)
    error = values[:, 0].std() / 20
    assert abs(ours - 0.5) < 3 * error < 0.02
    assert naive > 0.65  # that of ten raters, the best of 12 coin flips


def test_the_value_is_that_of_composites_on_new_units():
    rng = np.random.default_rng(1)
    agreement = rng.uniform(0.3, 0.8, (CATEGORIES, 6))
    values = np.array(list(simulate(agreement, 400, rng)))
    # Composites that are chosen on 11 units per category, and scored by their true agreement.
    training = rng.binomial(11, agreement, (4000, *agreement.shape)).argmax(axis=2)
    truth = np.take_along_axis(agreement[None], training[..., None], axis=2).mean()
    ours, naive = values.mean(axis=0)
    assert ours == pytest.approx(truth, abs=0.012)
    assert naive > truth + 0.05


def test_a_unit_never_has_a_say_in_its_own_rater():
    rng = np.random.default_rng(2)
    credits = rng.random((60, 4))
    categories, clusters = np.arange(60) % 3, np.arange(60) // 6
    composite = cross_validated_composite(
        credits, categories, clusters=clusters, folds=5, rng=np.random.default_rng(3)
    )
    assert all(len({*composite.fold[clusters == c]}) == 1 for c in range(10))
    for fold in range(5):
        changed = credits.copy()
        changed[composite.fold == fold] = rng.random((int((composite.fold == fold).sum()), 4))
        again = cross_validated_composite(
            changed, categories, clusters=clusters, folds=5, rng=np.random.default_rng(3)
        )
        assert again.chosen[:, fold].tolist() == composite.chosen[:, fold].tolist()


def test_the_raters_are_the_best_of_the_other_folds_by_hand():
    rng = np.random.default_rng(4)
    credits, categories = rng.random((40, 3)), np.array(["chat", "news"])[np.arange(40) % 2]
    composite = cross_validated_composite(credits, categories, folds=4, rng=rng)
    for unit in range(40):
        others = (categories == categories[unit]) & (composite.fold != composite.fold[unit])
        assert composite.rater[unit] == credits[others].mean(axis=0).argmax()
    assert np.bincount(composite.fold).tolist() == [10, 10, 10, 10]


def test_a_category_of_one_instance_uses_what_is_best_elsewhere():
    credits = [[1, 0], [0, 1], [0, 1], [0, 1]]
    composite = cross_validated_composite(
        credits, ["lone", "news", "news", "news"], folds=4, rng=np.random.default_rng(0)
    )
    assert composite.rater.tolist() == [1, 1, 1, 1]
    assert sorted(composite.chosen[0].tolist()) == [-1, -1, -1, 1]


def test_a_weight_of_two_is_the_unit_twice():
    rng = np.random.default_rng(5)
    credits, categories, clusters = rng.random((40, 3)), np.arange(40) % 2, np.arange(40)
    weights = rng.integers(1, 6, 40)
    repeated = [np.repeat(one, weights, axis=0) for one in (credits, categories, clusters)]
    weighted, unweighted = (
        cross_validated_composite(
            credits, categories, weights=one, folds=4, rng=np.random.default_rng(6)
        ).chosen.tolist()
        for one in (weights, None)
    )
    again = cross_validated_composite(
        repeated[0], repeated[1], clusters=repeated[2], folds=4, rng=np.random.default_rng(6)
    )
    assert weighted == again.chosen.tolist() != unweighted


def test_equally_good_raters_share_the_units_whatever_their_order():
    credits = np.tile([1 / 3, 1 / 3, 0], (7, 1))
    for order in ([0, 1, 2], [2, 1, 0]):
        composite = cross_validated_composite(
            credits[:, order], [0] * 7, rng=np.random.default_rng(0)
        )
        assert composite.chosen.shape == (1, 7)
        expected = np.array([0.5, 0.5, 0])[order]
        assert composite.shares == pytest.approx(np.tile(expected, (7, 1)))
        assert {*composite.rater.tolist()} == {int(expected.argmax())}


def test_of_raters_with_one_mean_the_one_that_varies_less_is_used():
    # The columns add up to the same, but not in floating point.
    credits = [[0, 0], [0.3, 0.1], [0, 0.2]]
    for flip in (1, -1):
        composite = cross_validated_composite(
            np.array(credits)[:, ::flip], ["lone", "x", "x"], rng=np.random.default_rng(0)
        )
        assert composite.shares[0].tolist() == [0, 1][::flip]


def test_new_units_have_the_best_rater_of_their_category_or_of_all():
    rng = np.random.default_rng(7)
    credits, categories = rng.random((30, 4)), np.array(["chat", "news", "code"])[np.arange(30) % 3]
    shares = composite_shares(credits, categories, of=["news", "poems", "chat"])
    best = [credits[categories == "news"], credits, credits[categories == "chat"]]
    assert shares.argmax(axis=1).tolist() == [one.mean(axis=0).argmax() for one in best]
    assert shares.sum(axis=1).tolist() == [1, 1, 1]
    assert composite_shares([[1, 1]], ["a"], of=["a"]).tolist() == [[0.5, 0.5]]
    weights = [5, 1]
    assert composite_shares([[1, 0], [0, 1]], [0, 0], of=[0], weights=weights).tolist() == [[1, 0]]
    with refused("no_units"):
        composite_shares(np.ones((0, 2)), [], of=["a"])


def test_without_a_choice_the_variance_is_that_of_a_mean_over_instances():
    rng = np.random.default_rng(8)
    of_instance = rng.random(60)
    instance = np.repeat(np.arange(60), 2)
    credits, category = of_instance[instance][:, None], np.repeat([0, 1], 60)
    for raters in (1, 3):  # three that answer alike are no choice either
        table = np.repeat(credits, raters, axis=1)
        composite = cross_validated_composite(table, category, clusters=instance, rng=rng)
        every, *parts = composite_variances(
            table, composite, category, clusters=instance, replicates=4_000, rng=rng
        )
        assert every == pytest.approx(of_instance.var() / 60, rel=0.1)
        expected = [half.var() / 30 for half in np.split(of_instance, 2)]
        assert parts == pytest.approx(expected, rel=0.15)


def test_a_choice_among_equally_good_raters_adds_variance():
    rng = np.random.default_rng(9)
    credits, category = (rng.random((120, 5)) < 0.5) * 1.0, np.zeros(120)
    composite = cross_validated_composite(credits, category, rng=rng)
    (variance, _) = composite_variances(
        credits, composite, category, clusters=np.arange(120), rng=rng
    )
    assert variance > 1.5 * 0.25 / 120


@pytest.mark.parametrize(
    ("credits", "options", "code"),
    [
        ([[1.0, np.nan], [1, 0]], {}, "missing_credit"),
        ([1.0, 0.0], {}, "missing_credit"),
        ([[1.0, 0.0]], {}, "one_fold"),
        (np.ones((0, 2)), {}, "one_fold"),
        (np.ones((4, 2)), {"folds": 1}, "one_fold"),
        (np.ones((2, 2)), {"clusters": ["a", "a"]}, "one_fold"),
        (np.ones((2, 2)), {"weights": [1, -1]}, "out_of_range"),
        (np.ones((2, 2)), {"weights": [1]}, "wrong_length"),
    ],
)
def test_what_cannot_be_cross_validated_is_refused(credits, options, code):
    with refused(code):
        categories = [0] * len(credits)
        cross_validated_composite(credits, categories, rng=np.random.default_rng(0), **options)
