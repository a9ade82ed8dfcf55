"""Elo ratings, and SEP-Elo, which gives separable instances a larger step size.

Source: Ghosh et al. 2024, eqs. 5 and 6. Since Elo ratings depend on the order of the games, every
simulation shuffles the games and draws one rating for each unit. A game is a unit whose drawn
rating decides the score.
"""

from collections.abc import Callable, Sequence
from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

from tiebreak.errors import InvalidInput
from tiebreak.stats.bootstrap import CONFIDENCE_LEVEL, bootstrap_estimate
from tiebreak.stats.counts import Resampled
from tiebreak.stats.games import Games
from tiebreak.stats.results import Estimate
from tiebreak.stats.validation import (
    FloatArray,
    IntArray,
    as_counts,
    as_groups,
    as_numbers,
    check_at_least,
    check_resampling,
)

START = 1000.0
SCALE = 400.0
BASE = 10.0
STEP = 4.0
REPLICATES = 1000
_BATCH_ELEMENTS = 2**24


@dataclass(frozen=True, eq=False)
class Elo:
    """Elo ratings of several systems.

    Attributes
    ----------
    systems : dict of str to Estimate
        Expected rating of each system.
    bootstrap_values : ndarray of float, shape (n_replicates, n_systems)
        Bootstrap ratings.
    n_without_separability : int
        Number of rated units that were left out because their separability δ is missing.

    See Also
    --------
    ranks : Computes ranks from `systems` and `bootstrap_values`.
    """

    systems: dict[str, Estimate]
    bootstrap_values: FloatArray
    n_without_separability: int


def separability_step(
    delta: npt.ArrayLike,
    *,
    step: float = STEP,
    alpha: float = 2.0,
    beta: float = 6.0,
    threshold: float = 0.4,
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
    step: float = STEP,
    clusters: npt.ArrayLike | None = None,
    orders: int = REPLICATES,
    replicates: int = REPLICATES,
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
        Random generator for the orders and the replicates.
    separability : array_like of float, shape (n_units,), optional
        Separability δ of each unit from normalised alignments, for SEP-Elo. Units whose δ is NaN
        are left out.
    step : float, default 4.0
        Step size K of a game, before it is multiplied by the factor for separability.
    clusters : array_like, shape (n_units,), optional
        Instance of each unit. If units share an instance, whole instances are resampled.
    orders : int, default 1000
        Number of random orders over which ratings are averaged. In each order, one rating of every
        unit is drawn.
    replicates : int, default 1000
        Number of bootstrap replicates, each with a new order and newly drawn ratings; 0 for no
        interval.
    confidence_level : float, default 0.95
        Confidence level of the interval, in (0, 1).
    batch : int, optional
        Number of orders or replicates in memory at once.

    Returns
    -------
    Elo
        Elo rating of each system; empty if no unit has a rating. Because `orders` is finite, values
        have a random error, which the intervals include.

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

    Examples
    --------
    >>> rng = np.random.default_rng(0)
    >>> ratings = elo([[1, 0, 0]], system_a=["x"], system_b=["y"], rng=rng)
    >>> ratings.systems["x"].value, ratings.systems["y"].value
    (1002.0, 998.0)
    """
    check_resampling(replicates, confidence_level, batch)
    check_at_least(orders, 1, name="orders")
    rows = as_counts(counts)
    steps = np.full(len(rows), float(step))
    if separability is not None:
        steps = separability_step(_of_units(separability, len(rows)), step=step)
    known = ~np.isnan(steps)
    games = Games.of(np.where(known[:, None], rows, 0), system_a=system_a, system_b=system_b)
    groups = None if clusters is None else as_groups(clusters, length=len(rows), name="clusters")
    simulation = _EloSimulation(games, steps, groups)
    values = simulation.random_orders(orders, rng, batch).mean(axis=0)
    n_replicates = replicates if simulation.n_clusters > 1 else 0
    bootstrap_values = simulation.replicates(n_replicates, rng, batch)
    ratings = (
        simulation.rating(system, values, bootstrap_values, confidence_level)
        if replicates
        else Estimate(float(values[system]), n=games.involving(system))
        for system in range(len(games.names))
    )
    systems = dict(zip(games.names, ratings, strict=True))
    return Elo(systems, bootstrap_values, int(np.count_nonzero(rows.any(axis=1) & ~known)))


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
    """Simulation that plays all units as games, in many random orders at once."""

    def __init__(self, games: Games, steps: FloatArray, groups: IntArray | None) -> None:
        self._games, self._systems = games, len(games.names)
        units = games.units
        columns = [games.first, games.second, *games.counts.T, steps[units]]
        columns.append(np.zeros(len(units)) if groups is None else groups[units])
        # The games are sorted so that the ratings do not depend on the order of the units.
        order = np.lexsort(columns[::-1])
        self._first, self._second, *outcomes, self._steps, clusters = (c[order] for c in columns)
        self._cumulative_counts = np.cumsum(np.column_stack(outcomes), axis=1)
        self._members = _members(np.arange(len(units)) if groups is None else clusters)

    @property
    def n_clusters(self) -> int:
        return len(self._members)

    @property
    def resampled(self) -> Resampled:
        return "unit" if self._members.shape[1] <= 1 else "instance"

    def rating(
        self, system: int, values: FloatArray, bootstrap_values: FloatArray, level: float
    ) -> Estimate:
        """Return a system's rating, with an interval from the bootstrap."""
        n = len(bootstrap_values)
        return bootstrap_estimate(
            float(values[system]),
            bootstrap_values[:, system],
            n=self._games.involving(system),
            clusters=self.clusters_of(system),
            resampled=self.resampled,
            method=f"bootstrap over {self.resampled}s, percentile, {n} replicates",
            confidence_level=level,
        )

    def clusters_of(self, system: int) -> int:
        """Count the clusters with a game of this system."""
        plays = (self._first == system) | (self._second == system)
        # The padding (−1) indexes the False at the end.
        is_member = np.append(plays, False)[self._members]
        return int(np.count_nonzero(is_member.any(axis=1)))

    def random_orders(self, number: int, rng: np.random.Generator, batch: int | None) -> FloatArray:
        """Return final ratings, shape (``number``, systems), after playing every unit once."""
        games = np.arange(len(self._first), dtype=np.int32)
        return self._simulate(number, batch, rng, lambda size: np.tile(games, (size, 1)))

    def replicates(self, number: int, rng: np.random.Generator, batch: int | None) -> FloatArray:
        """Return final ratings, shape (``number``, systems), for clusters drawn with replacement."""

        def draw(size: int) -> npt.NDArray[np.int32]:
            clusters = rng.integers(0, self.n_clusters, size=(size, self.n_clusters))
            return self._members[clusters].reshape(size, -1)

        return self._simulate(number, batch, rng, draw)

    def _simulate(
        self,
        number: int,
        batch: int | None,
        rng: np.random.Generator,
        draw: Callable[[int], npt.NDArray[np.int32]],
    ) -> FloatArray:
        """Return final ratings, shape (``number``, systems), for games from ``draw`` in random order."""
        size = batch or max(1, min(number, _BATCH_ELEMENTS // max(1, self._members.size)))
        sizes = [min(size, number - start) for start in range(0, number, size)]
        ratings = [self._play(rng.permuted(draw(n), axis=1), rng) for n in sizes]
        return np.concatenate([np.zeros((0, self._systems)), *ratings])

    def _play(self, games: npt.NDArray[np.int32], rng: np.random.Generator) -> FloatArray:
        """Return the final ratings of each simulation, shape (simulations, systems).

        ``games`` contains the games of each simulation in the order of play; −1 is padding.
        """
        ratings = np.full((len(games), self._systems), START)
        rows = np.arange(len(games))
        for game in games.T:
            a, b = self._first[game], self._second[game]
            expected = 1 / (1 + BASE ** ((ratings[rows, b] - ratings[rows, a]) / SCALE))
            gain = self._steps[game] * (self._scores(game, rng) - expected) * (game >= 0)
            ratings[rows, a] += gain
            ratings[rows, b] -= gain
        return ratings

    def _scores(self, game: npt.NDArray[np.int32], rng: np.random.Generator) -> FloatArray:
        """Return the first system's score (1, ½ or 0) in each game, from one random rating."""
        counts = self._cumulative_counts[game]
        u = rng.random(len(game)) * counts[:, -1]
        scores: FloatArray = ((u < counts[:, 0]) + (u < counts[:, 1]).astype(np.float64)) / 2
        return scores


def _members(groups: IntArray) -> npt.NDArray[np.int32]:
    """Return the units of each cluster as a row, padded with −1 to the size of the largest."""
    order = np.argsort(groups, kind="stable")
    _, starts, sizes = np.unique(groups[order], return_index=True, return_counts=True)
    width = int(sizes.max(initial=0))
    members = np.full((len(sizes), width), -1, dtype=np.int32)
    row = np.repeat(np.arange(len(sizes)), sizes)
    members[row, np.arange(len(order)) - starts[row]] = order
    return members
