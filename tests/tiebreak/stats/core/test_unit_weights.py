"""Weighted agreement against repeated units, sums over pairs of ratings, and numerical derivatives."""

from itertools import permutations

import numpy as np
import pytest

from tests.tiebreak.stats.raters.test_contributions import (
    LEVELS,
    STATISTICS,
    derivatives,
    ratings,
)
from tiebreak.errors import InvalidInput
from tiebreak.stats import (
    Agreement,
    Comparison,
    Patterns,
    agreement,
    agreement_contributions,
    count_matrix,
)
from tiebreak.stats.core.bootstrap import difference, estimate, estimate_each, on_columns
from tiebreak.stats.core.unit_weights import UnitWeights
from tiebreak.stats.machines.comparison_statistics import comparison_statistics
from tiebreak.stats.raters.agreement import agreement_statistics
from tiebreak.stats.raters.leave_one_out import NO_PAIR, leave_one_out_statistic

UNITS, LABELS = 40, 4


def table():
    """Return counts of units, and a whole weight of each that grows with how much raters agree."""
    unit, label = ratings(UNITS, LABELS)
    counts = count_matrix(unit, label, n_units=UNITS, n_labels=LABELS)
    return counts, 1 + counts.max(axis=1)


def values(agreed: Agreement) -> dict[str, float]:
    return {name: estimate.value for name, estimate in agreed.estimates().items()}


def effective_number(counts, weights) -> float:
    """Return Kish's effective number of the ratings of units with a pair."""
    size = counts.sum(axis=1) * (counts.sum(axis=1) > 1)
    return float((weights @ size) ** 2 / (weights**2 @ size))


@pytest.mark.parametrize("level", LEVELS)
def test_a_weight_of_k_is_the_unit_k_times_apart_from_the_correction_of_alpha(level):
    counts, weights = table()
    by_weight = values(agreement(counts, level=level, weights=weights))
    repeated = np.repeat(counts, weights, axis=0)
    by_repeating = values(agreement(repeated, level=level))
    unweighted = values(agreement(counts, level=level))
    for name in STATISTICS:
        expected = by_repeating[name]
        if name == "krippendorff_alpha":
            n, n_repeated = (effective_number(counts, weights), (weights @ counts)[:].sum())
            n_repeated -= sum(weights[counts.sum(axis=1) == 1])
            expected = 1 - (1 - expected) * (1 - 1 / n) / (1 - 1 / n_repeated)
        assert by_weight[name] == pytest.approx(expected, rel=1e-12)
        assert abs(by_weight[name] - unweighted[name]) > 0.01


@pytest.mark.parametrize("level", ["nominal", "interval"])
def test_weighted_alpha_compares_pairs_of_different_ratings(level):
    counts, weights = table()
    counts, weights = counts[:12], weights[:12] * 0.37
    listed = [
        (unit, label)
        for unit, row in enumerate(counts)
        if row.sum() > 1
        for label in np.repeat(np.arange(LABELS), row)
    ]
    within, of_all = np.zeros(2), np.zeros(2)
    for (u, a), (v, b) in permutations(listed, 2):
        distance = (a - b) ** 2 if level == "interval" else float(a != b)
        of_all += weights[u] * weights[v] * np.array([distance, 1])
        if u == v:
            within += weights[u] / (counts[u].sum() - 1) * np.array([distance, 1])
    expected = 1 - (within[0] / within[1]) / (of_all[0] / of_all[1])
    weighted = agreement(counts, level=level, weights=weights).krippendorff_alpha
    assert weighted.value == pytest.approx(expected, rel=1e-12)


@pytest.mark.parametrize("level", LEVELS)
def test_equal_weights_change_no_digit(level):
    counts, _ = table()
    options = {"level": level, "replicates": 50}
    plain = agreement(counts, rng=np.random.default_rng(0), **options)
    weighted = agreement(
        counts, rng=np.random.default_rng(0), weights=np.full(UNITS, 5 / 3), **options
    )
    assert weighted == plain


@pytest.mark.parametrize("level", LEVELS)
@pytest.mark.parametrize("name", STATISTICS)
def test_weighted_contributions_are_the_derivative_by_the_weight_of_a_unit(name, level):
    unit, label = ratings()
    counts = count_matrix(unit, label, n_units=60, n_labels=4)
    weights = 0.2 + counts.max(axis=1) / 3
    ours = agreement_contributions(
        unit, label, n_units=60, n_labels=4, level=level, weights=weights
    )[name]
    entered = ~np.isnan(ours)
    assert np.nansum(ours) == pytest.approx(0, abs=1e-10)
    total = weights[unit][entered].sum()
    of_units = np.bincount(unit[entered], ours[entered], 60) / total
    statistic = agreement_statistics(4, level=level, values=None, k=4)[name]
    features = statistic.features(counts)
    by_share = [
        statistic.value((weights * (1 + sign * step)) @ features)
        for step in 1e-5 * np.eye(60)
        for sign in (1, -1)
    ]
    expected = (np.array(by_share[::2]) - np.array(by_share[1::2])) / 2e-5
    tolerance = 4 / entered.sum() if name == "krippendorff_alpha" else 1e-8
    np.testing.assert_allclose(of_units, expected, atol=tolerance * np.abs(expected).max())
    plain = derivatives(statistic, counts)
    assert np.abs(of_units - plain).max() > 0.1 * np.abs(plain).max()


@pytest.mark.parametrize("level", ["nominal", "ordinal"])
def test_a_machine_is_compared_as_if_units_were_there_as_often_as_they_weigh(level):
    counts, weights = table()
    machine = np.eye(LABELS, dtype=int)[np.arange(UNITS) % LABELS]
    machine += np.eye(LABELS, dtype=int)[np.arange(UNITS) // 2 % LABELS]  # a second run
    unparsed = np.arange(UNITS) % 7 == 0
    machine[unparsed] = 0
    by_weight = compared(counts, machine, unparsed, level, weights)
    unit = np.repeat(np.arange(UNITS), weights)
    by_repeating = compared(counts[unit], machine[unit], unparsed[unit], level)
    unweighted = compared(counts, machine, unparsed, level)
    moved = 0
    for group, name in by_repeating:
        ours, theirs = by_weight[group, name], by_repeating[group, name]
        assert ours.is_defined == theirs.is_defined
        assert ours.n == unweighted[group, name].n
        # Only α is corrected for small samples.
        tolerance = 0.03 if name == "krippendorff_alpha" else 1e-12
        assert ours.value == pytest.approx(theirs.value, abs=tolerance, nan_ok=True)
        moved += ours.is_defined and abs(ours.value - unweighted[group, name].value) > 0.01
    assert moved > 15


def test_both_sides_of_a_difference_are_weighted():
    counts, weights = table()
    machine = np.eye(LABELS, dtype=int)[np.arange(UNITS) % LABELS]
    every = compared(counts, machine, None, "ordinal", weights)
    among_humans = agreement(counts, level="ordinal", weights=weights).estimates()
    for name, of_humans in among_humans.items():
        delta = of_humans.value - every["human_machine", name].value
        assert every["delta", name].value == pytest.approx(delta, rel=1e-12)


def compared(counts, machine, unparsed, level, weights=None):
    of_units = None if weights is None else UnitWeights.of(weights)
    comparison = Comparison.of(
        counts, machine, unparsed=unparsed, split=None if of_units is None else of_units.codes
    )
    groups = comparison_statistics(comparison, level=level, k=LABELS, weights=of_units)
    named = {(g, name): one for g, by_name in groups.items() for name, one in by_name.items()}
    return estimate_each(named, comparison.patterns)


@pytest.mark.parametrize("weights", [[1, 0, 1], [1, -1, 1], [1, np.nan, 1], [1, 1]])
def test_weights_must_be_numbers_above_0_for_every_unit(weights):
    counts = [[2, 0], [0, 2], [1, 1]]
    with pytest.raises(InvalidInput):
        agreement(counts, weights=weights)
    with pytest.raises(InvalidInput):
        agreement_contributions([0, 1, 2], [0, 0, 1], n_units=3, n_labels=2, weights=weights)


def test_a_weighted_difference_that_is_undefined_says_which_side_is():
    counts = np.array([[2, 0, 0], [1, 1, 0], [0, 1, 0]])
    first, second = (
        on_columns(leave_one_out_statistic(), part) for part in (slice(0, 2), slice(2, 3))
    )
    weights = UnitWeights.of([1.0, 2.0, 3.0])
    patterns = Patterns.of(np.column_stack([counts, weights.codes]))
    statistic = weights.statistic(difference(first, second, sides=("First", "Last")))
    assert estimate(statistic, patterns).reason == f"Last: {NO_PAIR}"
