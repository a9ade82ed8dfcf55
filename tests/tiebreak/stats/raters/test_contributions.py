"""Contributions of ratings against numerical derivatives, and what they must sum to."""

import numpy as np
import pytest

from tiebreak.errors import InvalidInput
from tiebreak.stats import Agreement, agreement_contributions, count_matrix
from tiebreak.stats.core.counts import distinct_rows
from tiebreak.stats.raters.additive import randolph_statistic
from tiebreak.stats.raters.agreement import agreement_statistics
from tiebreak.stats.raters.contributions import _mean_of_units, _randolph

LEVELS = ("nominal", "ordinal", "interval", "ratio")
STATISTICS = tuple(Agreement.__dataclass_fields__)


def ratings(units=60, labels=4):
    """Return units and labels of ratings, from one to five for each unit."""
    rng = np.random.default_rng(1)
    unit = np.repeat(np.arange(units), rng.integers(1, 6, units))
    label = np.where(rng.random(len(unit)) < 0.5, unit % labels, rng.integers(0, labels, len(unit)))
    return unit, label


def derivatives(statistic, counts):
    """Return how a statistic changes with the weight of each unit, by differences."""
    features, steps = statistic.features(counts), 1e-5 * np.eye(len(counts))
    up, down = (statistic.value((1 + sign * steps) @ features) for sign in (1, -1))
    return (up - down) / 2e-5


@pytest.mark.parametrize("level", LEVELS)
@pytest.mark.parametrize("name", STATISTICS)
def test_the_contributions_of_a_unit_are_the_derivative_by_its_weight(name, level):
    unit, label = ratings()
    contributions = agreement_contributions(unit, label, n_units=60, n_labels=4, level=level)[name]
    counts = count_matrix(unit, label, n_units=60, n_labels=4)
    statistic = agreement_statistics(4, level=level, values=None, k=4)[name]
    entered = ~np.isnan(contributions)
    assert entered.sum() == counts.sum(axis=1)[counts.sum(axis=1) >= 2].sum()
    of_units = np.bincount(unit[entered], contributions[entered], 60) / entered.sum()
    expected = derivatives(statistic, counts)
    assert np.abs(expected).max() > 0.005
    # Only α has a correction for small samples, of the order of one rating among all.
    tolerance = 4 / entered.sum() if name == "krippendorff_alpha" else 1e-8
    np.testing.assert_allclose(of_units, expected, atol=tolerance * np.abs(expected).max())


@pytest.mark.parametrize("name", STATISTICS)
def test_contributions_sum_to_zero(name):
    unit, label = ratings()
    contributions = agreement_contributions(unit, label, n_units=60, n_labels=4)[name]
    assert np.nansum(contributions) == pytest.approx(0, abs=1e-10)
    assert np.nanmax(np.abs(contributions)) > 0.1


def test_a_rater_contributes_what_leaving_the_rater_out_changes():
    """Where all six raters rate every unit, the rest are the same units with five ratings."""
    rng = np.random.default_rng(2)
    unit, rater = np.repeat(np.arange(200), 6), np.tile(np.arange(6), 200)
    label = (rng.random(1200) < 0.3 + 0.4 * (unit % 2) + 0.05 * (rater - 2)).astype(int)
    by_name = agreement_contributions(unit, label, n_units=200, n_labels=2)
    statistics = agreement_statistics(2, level="nominal", values=None, k=2)
    for name in ("krippendorff_alpha", "randolph_kappa", "fleiss_kappa"):
        without = np.array(
            [value_without(statistics[name], unit, label, rater != r) for r in range(6)]
        )
        # Without one of six raters, 4/5 as many pairs remain as a mean would lose of its ratings.
        by_rater = np.bincount(rater, by_name[name]) / (len(unit) - 200) * 5 / 4
        exact = 1e-12 if name == "randolph_kappa" else 0.002
        np.testing.assert_allclose(by_rater, without.mean() - without, atol=exact)
        assert np.abs(by_rater).max() > 0.01


def value_without(statistic, unit, label, kept) -> float:
    counts = count_matrix(unit[kept], label[kept], n_units=200, n_labels=2)
    return float(statistic.value(statistic.features(counts).sum(axis=0)))


def test_taking_anothers_place_is_exact_for_shares_of_pairs():
    unit, label = ratings()
    counts = count_matrix(unit, label, n_units=60, n_labels=4)
    rows, _, n_rows, _ = distinct_rows(counts)
    by_replacing = _mean_of_units(randolph_statistic(4), rows, n_rows)
    exact = _randolph(rows, n_rows, k=4)
    entered = (rows > 0) & (rows.sum(axis=1) >= 2)[:, None]
    np.testing.assert_allclose(by_replacing[entered], exact[entered], atol=1e-12)


def test_two_ratings_share_what_their_unit_has():
    by_name = agreement_contributions([0, 0, 1, 1, 2], [0, 1, 1, 1, 0], n_units=3, n_labels=2)
    for name in ("percentage_agreement", "leave_one_out", "randolph_kappa"):
        first, second, third, fourth, single = by_name[name]
        assert first == second < third == fourth
        assert np.isnan(single)


@pytest.mark.parametrize("name", ["krippendorff_alpha", "fleiss_kappa"])
def test_with_one_label_there_is_nothing_to_contribute_to(name):
    assert np.isnan(agreement_contributions([0, 0], [0, 0], n_units=1, n_labels=2)[name]).all()


def test_a_rating_out_of_range_is_refused():
    with pytest.raises(InvalidInput):
        agreement_contributions([0, 3], [0, 0], n_units=2, n_labels=2)
