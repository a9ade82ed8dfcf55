"""Draws by machine raters' doubt: the bound on what they can lose, and the gain that a pilot shows."""

from itertools import pairwise, permutations

import numpy as np
import pytest
from scipy.linalg import eigh
from scipy.optimize import minimize
from scipy.stats import t as student_t

from tests.refusals import refused
from tiebreak.stats import (
    active_design,
    bounded_densities,
    cross_fitted_slopes,
    expected_deviations,
    hajek_estimate,
    pooled_doubts,
    select,
)
from tiebreak.stats.design.pilot_gains import ALL_ALIKE, NO_LABELS

SMALL = [
    ([0, 0.1, 0.5, 3], 2, 0.5),
    ([0, 0, 1, 1], 2, 0.9),
    ([0.1, 0.1, 0.1, 5, 0.5], 3, 0.5),
    ([1, 2, 3, 4, 5], 2, 0.8),
    ([0, 0, 0, 0, 0, 1], 2, 0.9),
    ([0, 0.5, 1, 0, 1, 1], 4, 0.9),
    ([0, 0, 0, 0.2, 9, 0], 3, 0.5),
]


def inclusion(densities, n, control_share=0.0):
    rng = np.random.default_rng(0)
    options = {"design": "proportional", "weights": densities, "control_share": control_share}
    return select(densities, n, rng=rng, **options).inclusion


def joint_inclusion(probabilities):
    """Return the exact joint probabilities of randomised systematic sampling, over all orders."""
    certain = np.flatnonzero(probabilities >= 1 - 1e-9).tolist()
    rest = np.flatnonzero(probabilities < 1 - 1e-9).tolist()
    size = round(probabilities[rest].sum())
    joint, orders = np.zeros((len(probabilities),) * 2), list(permutations(rest))
    for order in orders:
        ends = np.cumsum(probabilities[list(order)])
        starts = np.unique(np.concatenate([[0, 1], ends[:-1] % 1]))
        for low, high in pairwise(starts):
            points = (low + high) / 2 + np.arange(size)
            drawn = [order[k] for k in np.searchsorted(ends, points)] + certain
            joint[np.ix_(drawn, drawn)] += (high - low) / len(orders)
    return joint


class TestPooledDoubts:
    def test_values(self):
        doubts = pooled_doubts([[1, 1], [1, 0], [0.5, 1], [np.nan, 0.1], [np.nan, np.nan]])
        assert doubts[:4] == pytest.approx([0, 0.5, np.sqrt(0.75 * 0.25), 0.3])
        assert np.isnan(doubts[4])

    def test_refusals(self):
        with refused("wrong_shape", naming="predictions"):
            pooled_doubts([0.5, 1])
        with refused("out_of_range", naming="predictions"):
            pooled_doubts([[1.5]])


class TestBoundedDensities:
    @pytest.mark.parametrize(("deviations", "n", "bound"), SMALL)
    def test_no_other_weights_within_the_bound_are_better(self, deviations, n, bound):
        s = np.array(deviations, dtype=float)
        densities = bounded_densities(s, min_density=bound)
        assert densities.mean() == pytest.approx(1)
        assert densities.min() >= bound - 1e-12
        best = minimize(
            lambda r: (s**2 / r).sum(),
            np.ones(len(s)),
            bounds=[(bound, None)] * len(s),
            constraints={"type": "eq", "fun": lambda r: r.mean() - 1},
            method="SLSQP",
            options={"maxiter": 500, "ftol": 1e-12},
        )
        assert (s**2 / densities).sum() <= best.fun * (1 + 1e-6)

    def test_without_any_deviation_all_are_alike(self):
        assert bounded_densities([0, 0, 0]).tolist() == [1, 1, 1]
        assert bounded_densities([0.3, 0.3]) == pytest.approx([1, 1])
        assert bounded_densities([1, 2, 3], min_density=1) == pytest.approx([1, 1, 1])

    @pytest.mark.parametrize(
        ("deviations", "bound"), [([-0.1, 1], 0.9), ([1, 1], 0.0), ([1, 1], 1.5)]
    )
    def test_refusals(self, deviations, bound):
        with refused("out_of_range"):
            bounded_densities(deviations, min_density=bound)


class TestBound:
    """What the draw can cost, by exact calculation."""

    @pytest.mark.parametrize(("deviations", "n", "bound"), SMALL)
    def test_probabilities_stay_above_the_bound_where_some_are_certain(self, deviations, n, bound):
        pi = inclusion(bounded_densities(deviations, min_density=bound), n)
        assert pi.sum() == pytest.approx(n)
        assert pi.min() >= bound * n / len(pi) - 1e-12
        assert pi.max() <= 1

    def test_probabilities_stay_above_the_bound_with_a_control_sample(self):
        densities = bounded_densities([0] * 40 + [0.3] * 18 + [5] * 2)
        pi = inclusion(densities, 30, control_share=0.2)
        assert (pi > 0.95).any()
        # Averages over 500 simulated control samples are not exact.
        assert pi.min() >= 0.9 * 0.5 * 0.99

    @pytest.mark.parametrize(("deviations", "n", "bound"), SMALL)
    def test_the_worst_residuals_cost_no_more_as_intervals_count(self, deviations, n, bound):
        pi = inclusion(bounded_densities(deviations, min_density=bound), n)
        size = len(pi)
        # Σ e² / (N² π) against Σ e² / (N n): the largest ratio over all residuals e.
        ratio = eigh(np.diag(1 / pi) / size**2, np.eye(size) / (size * n), eigvals_only=True)
        assert ratio.max() <= 1 / bound + 1e-9

    @pytest.mark.parametrize(("deviations", "n", "bound"), SMALL)
    def test_without_replacement_by_all_orders_of_the_draw(self, deviations, n, bound):
        pi = inclusion(bounded_densities(deviations, min_density=bound), n)
        size, share = len(pi), n / len(pi)
        joint = joint_inclusion(pi)
        assert np.diag(joint) == pytest.approx(pi)
        covariance = (joint / np.outer(pi, pi) - 1) / size**2
        centred = np.linalg.svd(np.eye(size) - 1 / size)[0][:, : size - 1]
        drawn = centred.T @ covariance @ centred
        uniform = (1 - share) / n / (size - 1)
        # Residuals that are unrelated to doubts: the mean over all directions.
        assert np.trace(drawn) / (size - 1) / uniform <= 1 / bound * 1.03
        # The worst residuals: populations this small exceed the limit for large ones a little.
        limit = (1 - bound * share) / (bound * (1 - share))
        assert np.linalg.eigvalsh(drawn).max() / uniform <= limit * 1.1


class TestExpectedDeviations:
    def test_the_line_is_that_of_least_squares_shrunk(self):
        rng = np.random.default_rng(0)
        doubts = rng.choice([0, 0.3, 0.5], 400)
        residuals = rng.normal(0, 0.2 + doubts)
        x, y = doubts**2 - np.mean(doubts**2), residuals**2
        slope = np.polyfit(x, y, 1)[0]
        left = y - y.mean() - slope * x
        error = (x**2 * left**2).sum() / (x**2).sum() ** 2 * 400 / 398
        shrunk = slope * (1 - error / slope**2)
        expected = np.sqrt(y.mean() + shrunk * (np.array([0, 0.25]) - np.mean(doubts**2)))
        assert expected_deviations(residuals, doubts, [0, 0.5]) == pytest.approx(expected)
        assert 0 < shrunk < slope

    def test_is_flat_for_most_machines_that_guess(self):
        rng = np.random.default_rng(0)
        flat = [
            np.ptp(expected_deviations(rng.normal(size=60), rng.choice([0, 0.5], 60), [0, 0.5]))
            for _ in range(200)
        ]
        assert np.mean(np.array(flat) == 0) > 0.6

    def test_is_flat_without_variation_or_with_few(self):
        assert expected_deviations([1, -1], [0, 0.5], [0, 0.5]).tolist() == [1, 1]
        assert np.ptp(expected_deviations([1, -1, 2], [0.5] * 3, [0, 0.5])) == 0
        assert np.ptp(expected_deviations([1, -1, 1, -1], [0, 0, 0.5, 0.5], [0, 0.5])) == 0


def labelled(seed, n=200, *, sure=0.7, right=0.95, guesses=False):
    """Return labels and one machine, which is unsure of some instances, or guesses all."""
    rng = np.random.default_rng(seed)
    y = rng.integers(0, 2, n).astype(float)
    if guesses:
        return y, rng.choice([0, 0.5, 1], (n, 1))
    f = np.where(rng.random(n) < right, y, 1 - y)
    return y, np.where(rng.random(n) < sure, f, 0.5)[:, None]


def by_hand(y, f, control_share=0.0):
    """Compute the gain and its interval, folds and all, for more than 50 instances."""
    slopes = cross_fitted_slopes(
        y, f - f.mean(axis=0), weights=np.ones(len(y)), clusters=range(len(y))
    )
    e = y - (slopes * (f - f.mean(axis=0))).sum(axis=1)
    e -= e.mean()
    doubts, density = pooled_doubts(f), np.ones(len(y))
    for fold in range(5):
        kept = np.arange(len(y)) % 5 != fold
        s = expected_deviations(e[kept], doubts[kept], doubts)
        density[~kept] = bounded_densities(s)[~kept]
    terms = np.stack([e**2, e**2 / (control_share + (1 - control_share) * density)])
    logs = np.array(
        [np.log(np.divide(*np.delete(terms, k, axis=1).sum(axis=1))) for k in range(len(y))]
    )
    error = np.sqrt((len(y) - 1) / len(y) * ((logs - logs.mean()) ** 2).sum())
    gain = np.divide(*terms.sum(axis=1))
    return gain, gain * np.exp(-student_t.ppf(0.975, len(y) - 1) * error)


class TestActiveDesign:
    @pytest.mark.parametrize("control_share", [0, 0.2])
    def test_gain_and_interval(self, control_share):
        y, f = labelled(1)
        design = active_design(y, f, control_share=control_share)
        gain, low = by_hand(y, f, control_share)
        assert design.gain.value == pytest.approx(gain)
        assert design.gain.low == pytest.approx(low)
        assert (design.labelled, design.gain.n) == (200, 200)

    def test_doubted_instances_get_more_and_none_less_than_the_bound(self):
        y, f = labelled(2)
        densities = active_design(y, f).densities
        is_doubted = f[:, 0] == 0.5
        assert densities[is_doubted].min() > 1.1
        assert densities[~is_doubted] == pytest.approx(0.9)
        assert densities.mean() == pytest.approx(1)

    def test_a_control_sample_lowers_the_gain_and_not_its_sign(self):
        y, f = labelled(3)
        alone, mixed = (active_design(y, f, control_share=share).gain for share in (0, 0.5))
        assert 1 < mixed.low < alone.low

    def test_the_gain_is_shown_where_doubt_tells_and_seldom_else(self):
        shown = [active_design(*labelled(seed)).gain.low > 1 for seed in range(60)]
        assert np.mean(shown) > 0.9
        designs = [active_design(*labelled(seed, guesses=True)) for seed in range(300)]
        assert np.mean([design.gain.low > 1 for design in designs]) < 0.05
        # A machine that guesses costs what its weights cost residuals that they do not know of.
        assert min(1 / np.mean(1 / design.densities) for design in designs) > 0.95

    def test_units_of_an_instance_count_as_their_mean(self):
        y, f = labelled(4)
        names = np.array([f"i{k:03}" for k in range(200)])
        once = active_design(y, f, clusters=names)
        twice = active_design(
            np.repeat(y, 2), np.repeat(f, 2, axis=0), clusters=np.repeat(names, 2)
        )
        assert twice.gain == once.gain
        assert twice.instances.tolist() == names.tolist()
        assert twice.densities == pytest.approx(once.densities)

    def test_instances_without_labels_are_drawn_from_too(self):
        y, f = labelled(5, 400)
        part = np.where(np.arange(400) % 2, y, np.nan)
        design = active_design(part, f)
        assert (len(design.densities), design.labelled) == (400, 200)
        assert design.densities[f[:, 0] == 0.5].min() > 1

    def test_an_instance_that_no_machine_rated_has_the_mean_doubt(self):
        y, f = labelled(6)
        f[0] = np.nan
        design = active_design(y, f, min_density=0.1)
        assert design.labelled == 199
        assert design.densities[1:].min() < design.densities[0] < design.densities.max()

    def test_undefined_has_a_reason(self):
        assert active_design([np.nan, 1], [[0.5], [1]]).gain.reason == NO_LABELS
        alike = active_design([0, 1] * 20, [[1.0]] * 40)
        assert (alike.gain.value, alike.gain.reason) == (1, ALL_ALIKE)
        assert alike.densities.tolist() == [1] * 40
        with refused("lengths_differ", naming="predictions"):
            active_design([0, 1], [[1.0]])


@pytest.mark.slow
@pytest.mark.parametrize(("guesses", "least"), [(True, 0.96), (False, 1.05)])
def test_coverage_and_gain_of_estimates_from_such_draws(guesses, least):
    """Draw 150 of 1,000 instances 1,000 times, uniformly and by raw doubts, both with the machine."""
    y, f = labelled(7, 1000, guesses=guesses)
    rng, densities = np.random.default_rng(0), bounded_densities(pooled_doubts(f))
    centred, errors = f - f.mean(axis=0), {}
    for name, weights in {"uniform": np.ones(1000), "bounded": densities}.items():
        made = []
        for _ in range(1000):
            draw = select(
                weights, 150, design="proportional", weights=weights, rng=rng, control_share=0
            )
            items = np.flatnonzero(draw.selected)
            pi, part = draw.inclusion[items], centred[items]
            slopes = cross_fitted_slopes(y[items], part, weights=1 / pi, clusters=items)
            made.append(hajek_estimate(y[items] - (slopes * part).sum(axis=1), pi))
        assert np.mean([one.low <= y.mean() <= one.high for one in made]) >= 0.93
        errors[name] = np.mean([one.standard_error**2 for one in made])
    assert errors["uniform"] / errors["bounded"] > least
