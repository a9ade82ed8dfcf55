"""Elo ratings, and SEP-Elo, which gives separable instances a larger step size.

Source: Ghosh et al. 2024, eqs. 5 and 6. Since Elo ratings depend on the order of the games, every
simulation shuffles the games and draws one rating for each unit. A game is a unit whose drawn
rating decides the score.
"""

from collections.abc import Sequence
from dataclasses import asdict, dataclass, replace

import numpy as np
import numpy.typing as npt

from tiebreak.errors import InvalidInput
from tiebreak.stats.core.bootstrap import CONFIDENCE_LEVEL
from tiebreak.stats.core.counts import Resampled
from tiebreak.stats.core.groups import n_distinct, numbered
from tiebreak.stats.core.independence import drop_unreliable_interval
from tiebreak.stats.core.joint_intervals import NO_SPREAD
from tiebreak.stats.core.results import THESE, Estimate
from tiebreak.stats.core.two_way import Spread
from tiebreak.stats.core.validation import (
    FloatArray,
    IntArray,
    as_counts,
    as_groups,
    as_numbers,
    check_at_least,
    check_between,
    check_resampling,
)
from tiebreak.stats.rankings.comparisons import Games
from tiebreak.stats.rankings.elo_errors import PlayedGames

START = 1000.0
SCALE = 400.0
BASE = 10.0
# From which to which number a constant may be set, by its name in `EloConstants`.
ELO_LIMITS = {
    "step": (0.01, 400.0),
    "alpha": (0.01, 10.0),
    "beta": (0.0, 100.0),
    "threshold": (-1.0, 1.0),
}
ORDERS = 1000
LINEARISED = "linearised over {clusters} {resampled}s, mean over orders, t{{scale}}"
_BATCH_ELEMENTS = 2**24


@dataclass(frozen=True)
class EloConstants:
    """Constants of Elo ratings and of SEP-Elo. The defaults are those of Ghosh et al. (2024).

    Raises
    ------
    InvalidInput
        If a constant is outside its limits in `ELO_LIMITS`.

    Examples
    --------
    >>> EloConstants(step=16.0).threshold
    0.4
    """

    step: float = 4.0
    """Step size K of a game."""
    alpha: float = 2.0
    """Greatest factor α of the step size in SEP-Elo."""
    beta: float = 6.0
    """Slope β of the factor as a function of separability δ."""
    threshold: float = 0.4
    """Separability T at which the factor is α / 2."""

    def __post_init__(self) -> None:
        for name, value in asdict(self).items():
            check_between(value, *ELO_LIMITS[name], name=name)


PAPER = EloConstants()


@dataclass(frozen=True, eq=False)
class Elo:
    """Elo ratings of several systems."""

    systems: dict[str, Estimate]
    """Expected rating of each system."""
    n_without_separability: int
    """Number of rated units that were left out because their separability δ is missing."""


def separability_step(
    delta: npt.ArrayLike,
    *,
    step: float = PAPER.step,
    alpha: float = PAPER.alpha,
    beta: float = PAPER.beta,
    threshold: float = PAPER.threshold,
) -> FloatArray:
    """Compute the step size of a game in SEP-Elo.

    Parameters
    ----------
    delta : array_like of float, shape (n_units,)
        Separability δ from normalised alignments; see `normalised_separability`. NaN stays NaN.
    step : float, default 4.0
        Step size K in Elo.
    alpha, beta, threshold : float, default 2.0, 6.0 and 0.4
        Constants α, β and T of the logistic curve.

    Returns
    -------
    ndarray of float, shape (n_units,)
        Step size of each game, from 0 to α K.

    Raises
    ------
    InvalidInput
        If a δ is infinite.

    Notes
    -----
    The step size is K · α / (1 + exp(−β (δ − T))) (Ghosh et al. 2024, eq. 6).

    Examples
    --------
    >>> separability_step([0.4, 1.0]).round(4).tolist()
    [4.0, 7.7872]
    """
    known = as_numbers(delta, name="delta", missing=True)
    steps: FloatArray = step * alpha / (1 + np.exp(-beta * (known - threshold)))
    return steps


def elo(
    counts: npt.ArrayLike,
    *,
    system_a: Sequence[str],
    system_b: Sequence[str],
    rng: np.random.Generator,
    separability: npt.ArrayLike | None = None,
    step: float = PAPER.step,
    alpha: float = PAPER.alpha,
    beta: float = PAPER.beta,
    threshold: float = PAPER.threshold,
    clusters: npt.ArrayLike | None = None,
    orders: int = ORDERS,
    confidence_level: float = CONFIDENCE_LEVEL,
    batch: int | None = None,
) -> Elo:
    """Estimate expected Elo ratings over random orders of the games.

    Parameters
    ----------
    counts : array_like of int, shape (n_units, 3)
        For each unit, the numbers of ratings that prefer A, that are ties, and that prefer B.
    system_a, system_b : sequence of str, length n_units
        Names of the two systems that each unit compares.
    rng : numpy.random.Generator
        Random generator for the orders.
    separability : array_like of float, shape (n_units,), optional
        Separability δ of each unit from normalised alignments, for SEP-Elo. Units whose δ is NaN
        are left out.
    step : float, default 4.0
        Step size K of a game, before it is multiplied by the factor for separability.
    alpha, beta, threshold : float, default 2.0, 6.0 and 0.4
        Constants α, β and T of this factor; see `separability_step`.
    clusters : array_like, shape (n_units,), optional
        Instance of each unit. Units that share an instance are not independent.
    orders : int, default 1000
        Number of random orders over which ratings are averaged. In each order, one rating of every
        unit is drawn.
    confidence_level : float, default 0.95
        Confidence level of the interval, in (0, 1).
    batch : int, optional
        Number of orders in memory at a time.

    Returns
    -------
    Elo
        Elo rating of each system; empty if no unit has a rating. Intervals apply to new instances and
        these raters. Because `orders` is finite, values have a random error, which they include.

    Raises
    ------
    InvalidInput
        If some groups of systems were never compared with one another (the message names them), a
        unit compares a system with itself, or the arguments differ in length.

    See Also
    --------
    bradley_terry : Estimates strengths that do not depend on an order.
    separability_step : Computes the step size in SEP-Elo.
    ranks, shared_ranks : Compute ranks of the systems.

    Notes
    -----
    Every system starts with a rating of 1000. After a game in which A scores s (1, ½ or 0), A's
    rating R_A rises by K (s − E), and B's rating R_B falls by the same amount. Here,
    E = 1 / (1 + 10^((R_B − R_A) / 400)) is computed from the ratings before the game (Ghosh et al.
    2024, eq. 5).

    The interval applies to the mean over orders, so it does not grow because single orders differ.
    Its variance is the variation between instances of what their games contribute to the final
    ratings, linearised along the expected path of the ratings, plus the variance over the orders
    divided by their number.

    Examples
    --------
    >>> rng = np.random.default_rng(0)
    >>> ratings = elo([[1, 0, 0]], system_a=["x"], system_b=["y"], rng=rng)
    >>> ratings.systems["x"].value, ratings.systems["y"].value
    (1002.0, 998.0)
    """
    check_resampling(0, confidence_level, batch)
    check_at_least(orders, 1, name="orders")
    rows = as_counts(counts)
    steps = np.full(len(rows), float(step))
    if separability is not None:
        delta = _of_units(separability, len(rows))
        steps = separability_step(delta, step=step, alpha=alpha, beta=beta, threshold=threshold)
    known = ~np.isnan(steps)
    games = Games.of(np.where(known[:, None], rows, 0), system_a=system_a, system_b=system_b)
    groups = None if clusters is None else as_groups(clusters, length=len(rows), name="clusters")
    simulation = _EloSimulation(games, steps, groups)
    drawn = simulation.random_orders(orders, rng, batch)
    ratings = simulation.estimates(drawn, confidence_level)
    systems = dict(zip(games.names, ratings, strict=True))
    return Elo(systems, int(np.count_nonzero(rows.any(axis=1) & ~known)))


def _of_units(separability: npt.ArrayLike, length: int) -> FloatArray:
    delta = as_numbers(separability, name="separability", missing=True)
    if len(delta) != length:
        raise InvalidInput(
            "wrong_length",
            f"separability must have one number for each of the {length} units; it has"
            f" {len(delta)}.",
        )
    return delta


class _EloSimulation:
    """Simulation that plays all units as games, in many random orders together."""

    def __init__(self, games: Games, steps: FloatArray, groups: IntArray | None) -> None:
        self._games, self._systems = games, len(games.names)
        units = games.units
        columns = [games.first, games.second, *games.counts.T, steps[units]]
        columns.append(np.zeros(len(units)) if groups is None else groups[units])
        # The games are sorted so that the ratings do not depend on the order of the units.
        order = np.lexsort(columns[::-1])
        self._first, self._second, *outcomes, self._steps, clusters = (c[order] for c in columns)
        self._cumulative_counts = np.cumsum(np.column_stack(outcomes), axis=1)
        self._clusters = numbered(clusters)
        if groups is None:
            self._clusters = np.arange(len(units))
        self._resampled: Resampled = (
            "unit" if n_distinct(self._clusters) == len(units) else "instance"
        )

    def estimates(self, drawn: FloatArray, level: float) -> list[Estimate]:
        """Return the mean ratings over drawn orders, with their intervals."""
        if not self._systems:
            return []
        of_orders = drawn.var(axis=0) / len(drawn)
        errors = np.sqrt(self._standard_errors() ** 2 + of_orders)
        return [
            self._estimate(system, float(value), float(error), level)
            for system, (value, error) in enumerate(zip(drawn.mean(axis=0), errors, strict=True))
        ]

    def _standard_errors(self) -> FloatArray:
        win, not_lost, ratings = self._cumulative_counts.T
        score = (win + not_lost) / 2 / ratings
        games = PlayedGames(
            self._first, self._second, self._steps, score, self._clusters, self._systems
        )
        return games.standard_errors(scale=SCALE, base=BASE)

    def _estimate(self, system: int, value: float, error: float, level: float) -> Estimate:
        n, clusters = self._games.involving(system), self.clusters_of(system)
        point = drop_unreliable_interval(Estimate(value, n=n), clusters, self._resampled)
        if point.reason:
            return point
        if not error > 0:
            return replace(point, reason=NO_SPREAD)
        method = LINEARISED.format(clusters=clusters, resampled=self._resampled)
        spread = Spread(error**2, clusters - 1, method, has_raters=False)
        return spread.widened(
            replace(point, low=value, high=value, stated_scope=THESE), None, level
        )

    def clusters_of(self, system: int) -> int:
        """Count the clusters with a game of this system."""
        plays = (self._first == system) | (self._second == system)
        return n_distinct(self._clusters[plays])

    def random_orders(self, number: int, rng: np.random.Generator, batch: int | None) -> FloatArray:
        """Return final ratings, shape (``number``, systems), after playing every unit once."""
        games = np.arange(len(self._first), dtype=np.int32)
        size = batch or max(1, min(number, _BATCH_ELEMENTS // max(1, len(games))))
        sizes = [min(size, number - start) for start in range(0, number, size)]
        ratings = [self._play(rng.permuted(np.tile(games, (n, 1)), axis=1), rng) for n in sizes]
        return np.concatenate([np.zeros((0, self._systems)), *ratings])

    def _play(self, games: npt.NDArray[np.int32], rng: np.random.Generator) -> FloatArray:
        """Return the final ratings of each simulation, shape (simulations, systems).

        ``games`` contains the games of each simulation in the order of play.
        """
        ratings = np.full((len(games), self._systems), START)
        rows = np.arange(len(games))
        for game in games.T:
            a, b = self._first[game], self._second[game]
            expected = 1 / (1 + BASE ** ((ratings[rows, b] - ratings[rows, a]) / SCALE))
            counts = self._cumulative_counts[game]
            u = rng.random(len(game)) * counts[:, -1]
            scores: FloatArray = ((u < counts[:, 0]) + (u < counts[:, 1]).astype(np.float64)) / 2
            gain = self._steps[game] * (scores - expected)
            ratings[rows, a] += gain
            ratings[rows, b] -= gain
        return ratings
