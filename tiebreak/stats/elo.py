"""Elo ratings, and SEP-Elo, which believes separable instances more.

Source: Ghosh et al. 2024, eqs. 5 and 6. Ratings depend on the order of the games: it is permuted in
every replicate, and one rating of each unit is drawn.
"""

from collections.abc import Callable, Sequence
from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

from tiebreak.errors import InvalidInput
from tiebreak.stats.bootstrap import CONFIDENCE_LEVEL, interval
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
    """Ratings by system; ``drawn`` (replicates, systems) are what ranks are read off.

    ``n_without_separability`` units had ratings but no δ, and were not played.
    """

    systems: dict[str, Estimate]
    drawn: FloatArray
    n_without_separability: int


def separability_step(
    delta: npt.ArrayLike,
    *,
    step: float = STEP,
    alpha: float = 2.0,
    beta: float = 6.0,
    threshold: float = 0.4,
) -> FloatArray:
    """K of a game by its δ: K · α / (1 + exp(−β (δ − T))), between 0 and α K.

    ``delta`` is of min–max normalised alignments (`normalised_separability`): ``threshold`` lives
    on that scale. NaN stays NaN. Source: Ghosh et al. 2024, eq. 6.

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
    """Expected Elo rating of every system over random orders of the games.

    Parameters
    ----------
    counts : (units, 3) ratings: A preferred, tie, B preferred
    system_a, system_b : (units,) names of each unit's systems
    separability : (units,) δ of normalised alignments: SEP-Elo, with `separability_step` as K;
        units whose δ is NaN are not played, and are counted
    step : K of a game, before its separability
    clusters : (units,) instance of each unit; replicates draw instances
    orders : random orders, each with one random rating a unit, whose mean is the value
    replicates : bootstrap samples, each with an order and ratings of its own; 0: no interval

    Every rating starts at 1000, base 10, scale 400; both systems of a game are updated from the
    ratings before it; a tie is half a win. The value has the random error of ``orders``, which
    its interval contains. Comparisons in groups that never meet are refused by name. Without a
    rating there are no systems.

    >>> found = elo([[1, 0, 0]], system_a=["x"], system_b=["y"], rng=np.random.default_rng(0))
    >>> found.systems["x"].value, found.systems["y"].value
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
    season = _Season(games, steps, groups)
    values = season.orders(orders, rng, batch).mean(axis=0)
    drawn = season.replicates(replicates if season.n_clusters > 1 else 0, rng, batch)
    method = f"bootstrap over {season.resampled}s, percentile, {len(drawn)} replicates"

    def found(place: int) -> Estimate:
        value, n = float(values[place]), games.involving(place)
        if not replicates:
            return Estimate(value, n=n)
        return interval(
            value,
            drawn[:, place],
            n=n,
            clusters=season.clusters_of(place),
            resampled=season.resampled,
            method=method,
            confidence_level=confidence_level,
        )

    systems = {name: found(place) for place, name in enumerate(games.names)}
    return Elo(systems, drawn, int(np.count_nonzero(rows.any(axis=1) & ~known)))


def _of_units(separability: npt.ArrayLike, length: int) -> FloatArray:
    delta = as_numbers(separability, name="separability", missing=True)
    if len(delta) != length:
        raise InvalidInput(
            "wrong_length", f"separability must give one number for each of the {length} units."
        )
    return delta


class _Season:
    """All units as games, played in any number of random orders at once."""

    def __init__(self, games: Games, steps: FloatArray, groups: IntArray | None) -> None:
        self._systems = len(games.names)
        kept = games.kept
        columns = [games.first, games.second, *games.counts.T, steps[kept]]
        columns.append(np.zeros(len(kept)) if groups is None else groups[kept])
        # The same units give the same digits in any order.
        order = np.lexsort(columns[::-1])
        self._first, self._second, *outcomes, self._steps, clusters = (c[order] for c in columns)
        self._upto = np.cumsum(np.column_stack(outcomes), axis=1)
        self._members = _members(np.arange(len(kept)) if groups is None else clusters)

    @property
    def n_clusters(self) -> int:
        return len(self._members)

    @property
    def resampled(self) -> Resampled:
        return "unit" if self._members.shape[1] <= 1 else "instance"

    def clusters_of(self, system: int) -> int:
        """How many clusters have a game of this system."""
        plays = (self._first == system) | (self._second == system)
        is_there = np.append(plays, False)[self._members]  # −1, no game, is the last
        return int(np.count_nonzero(is_there.any(axis=1)))

    def orders(self, number: int, rng: np.random.Generator, batch: int | None) -> FloatArray:
        """Final ratings (number, S) with every unit once."""
        every = np.arange(len(self._first), dtype=np.int32)
        return self._seasons(number, batch, rng, lambda size: np.tile(every, (size, 1)))

    def replicates(self, number: int, rng: np.random.Generator, batch: int | None) -> FloatArray:
        """Final ratings (number, S) with clusters drawn with replacement."""

        def draw(size: int) -> npt.NDArray[np.int32]:
            drawn = rng.integers(0, self.n_clusters, size=(size, self.n_clusters))
            return self._members[drawn].reshape(size, -1)

        return self._seasons(number, batch, rng, draw)

    def _seasons(
        self,
        number: int,
        batch: int | None,
        rng: np.random.Generator,
        draw: Callable[[int], npt.NDArray[np.int32]],
    ) -> FloatArray:
        size = batch or max(1, min(number, _BATCH_ELEMENTS // max(1, self._members.size)))
        sizes = [min(size, number - start) for start in range(0, number, size)]
        played = [self._play(rng.permuted(draw(n), axis=1), rng) for n in sizes]
        return np.concatenate([np.zeros((0, self._systems)), *played])

    def _play(self, games: npt.NDArray[np.int32], rng: np.random.Generator) -> FloatArray:
        """Final ratings (B, S) after the games (B, T) in their order; −1 is no game."""
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
        """1, ½ or 0 of one random rating of each game (B,)."""
        upto = self._upto[game]
        drawn = rng.random(len(game)) * upto[:, -1]
        scores: FloatArray = ((drawn < upto[:, 0]) + (drawn < upto[:, 1]).astype(np.float64)) / 2
        return scores


def _members(groups: IntArray) -> npt.NDArray[np.int32]:
    """The units of every cluster (G, M), −1 where it has fewer than the largest."""
    order = np.argsort(groups, kind="stable")
    _, starts, sizes = np.unique(groups[order], return_index=True, return_counts=True)
    width = int(sizes.max(initial=0))
    members = np.full((len(sizes), width), -1, dtype=np.int32)
    row = np.repeat(np.arange(len(sizes)), sizes)
    members[row, np.arange(len(order)) - starts[row]] = order
    return members
