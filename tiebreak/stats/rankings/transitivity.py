"""Whether systems can be put in one order: cyclic triads, and the fit of Bradley and Terry's model."""

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
import numpy.typing as npt
import scipy

from tiebreak.stats.core.independence import MIN_CLUSTERS, effective_size, too_few_clusters
from tiebreak.stats.core.results import NAN, Estimate, undefined
from tiebreak.stats.core.unit_weights import relative
from tiebreak.stats.core.validation import FloatArray, IntArray, as_groups
from tiebreak.stats.rankings.comparisons import LOSS, TIE, WIN, DisconnectedError, Games
from tiebreak.stats.rankings.paired_likelihood import (
    Outcomes,
    maximum_likelihood,
    reason_without_maximum,
)

NO_RATINGS = "No rating compares two systems."
NO_TRIAD = "No three systems were all compared with each other, with a winner in every pair."
NO_INTERVAL = (
    "There is no interval, because chance makes cycles among systems that are about equally good."
)
ALWAYS_FITS = (
    "The model fits any ratings of these pairs, because no pair is compared in two ways, directly and"
    " through other systems."
)
NO_VARIATION = "The ratings of a pair do not vary between instances."
METHOD = (
    "Pearson's X² of the pairs' win rates, Rao and Scott's second-order correction over {clusters}"
    " instances"
)


@dataclass(frozen=True)
class Triads:
    """Cyclic triads: three systems of which each beats the next."""

    share: Estimate
    """Share of the decided triads that are cyclic, from 0 to 1. It has no interval."""
    decided: int
    """Number of triads in which all three pairs were compared and have a winner."""
    cyclic: int
    """Number of decided triads in which each system beats the next."""
    example: tuple[str, ...] = ()
    """A cyclic triad, in which each system beats the next and the last the
    first; empty if there is none."""


@dataclass(frozen=True)
class ModelFit:
    """How far win rates of pairs are from those of Bradley and Terry's model."""

    p: Estimate
    """p-value of the hypothesis that the model holds; undefined if it cannot be tested."""
    difference: float = NAN
    """Root mean square of the differences between observed and fitted win rates of pairs."""
    pair: tuple[str, ...] = ()
    """The pair whose win rate differs most; empty if there is no fit."""
    observed: float = NAN
    fitted: float = NAN
    """Its win rate, observed and by the model."""


def cyclic_triads(
    counts: npt.ArrayLike,
    *,
    system_a: Sequence[str],
    system_b: Sequence[str],
    weights: npt.ArrayLike | None = None,
) -> Triads:
    """Compute the share of cyclic triads among systems.

    Parameters
    ----------
    counts : array_like of int, shape (n_units, 3)
        For each unit, the numbers of ratings that prefer A, that are ties, and that prefer B.
    system_a, system_b : sequence of str, length n_units
        Names of the two systems that each unit compares.
    weights : array_like of float, shape (n_units,), optional
        Weight of each unit, above 0, as in `tiebreak.stats`; 1 by default.

    Returns
    -------
    Triads
        Numbers of triads. The share is undefined if no triad is decided.

    Raises
    ------
    InvalidInput
        If a unit compares a system with itself, the arguments differ in length, or a weight is not above
        0.

    See Also
    --------
    bradley_terry_fit : Tests whether deviations from one order exceed chance.

    Notes
    -----
    A system beats another if it wins more of their comparisons, by weight, than it loses. If every winner were
    drawn by lot, a quarter of the triads would be cyclic in expectation (Kendall and Babington Smith
    1940).

    Examples
    --------
    >>> triads = cyclic_triads(
    ...     [[2, 0, 1], [2, 1, 0], [0, 0, 1]], system_a=["x", "y", "x"], system_b=["y", "z", "z"]
    ... )
    >>> triads.cyclic, triads.decided, triads.example
    (1, 1, ('x', 'y', 'z'))
    """
    games = Games.unchecked(counts, system_a=system_a, system_b=system_b)
    wins = _wins(games, relative(weights, length=len(system_a))[games.units])
    beats = (wins > wins.T).astype(np.float64)
    either = beats + beats.T
    decided = round(float(np.trace(either @ either @ either)) / 6)
    cycles = (beats @ beats) * beats.T  # paths of two steps that a third one closes
    cyclic = round(float(cycles.sum()) / 3)
    if not decided:
        return Triads(undefined(NO_TRIAD), 0, 0)
    share = Estimate(cyclic / decided, n=decided, reason=NO_INTERVAL)
    return Triads(share, decided, cyclic, _example(games.names, beats, cycles))


def _example(names: Sequence[str], beats: FloatArray, cycles: FloatArray) -> tuple[str, ...]:
    """Return the first cyclic triad in alphabetical order, if there is one."""
    if not cycles.any():
        return ()
    first, last = np.argwhere(cycles)[0].tolist()
    middle = int(np.flatnonzero(beats[first] * beats[:, last])[0])
    return names[first], names[middle], names[last]


def bradley_terry_fit(
    counts: npt.ArrayLike,
    *,
    system_a: Sequence[str],
    system_b: Sequence[str],
    weights: npt.ArrayLike | None = None,
    clusters: npt.ArrayLike | None = None,
) -> ModelFit:
    """Test whether one strength for each system explains the win rates of all pairs.

    Parameters
    ----------
    counts : array_like of int, shape (n_units, 3)
        For each unit, the numbers of ratings that prefer A, that are ties, and that prefer B.
    system_a, system_b : sequence of str, length n_units
        Names of the two systems that each unit compares.
    weights : array_like of float, shape (n_units,), optional
        Weight of each unit, above 0, as in `tiebreak.stats`; 1 by default.
    clusters : array_like, shape (n_units,), optional
        Instance of each unit; units are independent by default.

    Returns
    -------
    ModelFit
        The p-value and the greatest difference. The p-value is undefined if the model has no finite
        maximum, fits any ratings of these pairs, there are fewer than 10 instances (with weights,
        effective ones: (Σw)² / Σw²), or the ratings of a pair do not vary between instances.

    Raises
    ------
    InvalidInput
        If a unit compares a system with itself, the arguments differ in length, or a weight is not above
        0.

    See Also
    --------
    bradley_terry : Estimates the strengths.
    cyclic_triads : Counts contradictions of the order.

    Notes
    -----
    A tie is half a win for each system. X² is Pearson's statistic, the sum over pairs of squared
    standardised residuals of the win rate, with as many degrees of freedom as there are pairs beyond
    those that a tree of systems needs. Ratings of the same instance are dependent, and ties vary less
    than wins, so X² is divided, and its degrees of freedom reduced, such that its mean and variance
    are those that the variation between instances implies (Rao and Scott 1984, second order). Weights
    multiply all numbers of ratings: the model is then fitted by pseudo-likelihood (Binder 1983),
    and what weights change in the distribution of X² is in that correction. Raters are taken as they
    are.

    Examples
    --------
    >>> ahead, behind = [[1, 0, 0]] * 30 + [[0, 0, 1]] * 10, [[1, 0, 0]] * 10 + [[0, 0, 1]] * 30
    >>> a, b = ["x"] * 40 + ["y"] * 40 + ["x"] * 40, ["y"] * 40 + ["z"] * 80
    >>> fit = bradley_terry_fit(ahead + ahead + behind, system_a=a, system_b=b)
    >>> round(fit.difference, 4), fit.p.value < 0.001
    (0.25, True)
    """
    try:
        games = Games.of(counts, system_a=system_a, system_b=system_b)
    except DisconnectedError as error:
        return ModelFit(undefined(error.message))
    if not games.names:
        return ModelFit(undefined(NO_RATINGS))
    weight = relative(weights, length=len(system_a))[games.units]
    wins = _wins(games, weight)
    outcomes = Outcomes(wins[None], np.zeros_like(wins[None]))
    fit = maximum_likelihood(outcomes)
    if not fit.converged[0]:
        return ModelFit(undefined(reason_without_maximum(outcomes, games.names) or NO_RATINGS))
    groups = (
        None if clusters is None else as_groups(clusters, length=len(system_a), name="clusters")
    )
    cluster = np.arange(len(games.units)) if groups is None else groups[games.units]
    _, cluster = np.unique(cluster, return_inverse=True)
    return _fit_of(games, fit.parameters[0, :-1], cluster, weight)


def _fit_of(games: Games, strengths: FloatArray, cluster: IntArray, weight: FloatArray) -> ModelFit:
    codes = games.first * len(games.names) + games.second
    pairs, pair = np.unique(codes, return_inverse=True)
    first, second = np.divmod(pairs, len(games.names))
    wins = weight * (games.counts[:, WIN] + games.counts[:, TIE] / 2)
    ratings = weight * games.counts.sum(axis=1)
    n, observed = np.bincount(pair, ratings), np.bincount(pair, wins) / np.bincount(pair, ratings)
    fitted = 1 / (1 + np.exp(strengths[second] - strengths[first]))
    scale = np.sqrt(n * fitted * (1 - fitted))
    residual = n * (observed - fitted) / scale
    worst = int(np.argmax(np.abs(residual)))
    deviation = (wins - ratings * observed[pair]) / scale[pair]
    effective = effective_size(np.bincount(cluster, weight) / np.bincount(cluster))
    deviations = _Deviations(deviation, pair, cluster, effective)
    p = _p_value(residual, deviations, (first, second), scale)
    return ModelFit(
        p,
        float(np.sqrt(np.mean((observed - fitted) ** 2))),
        (games.names[first[worst]], games.names[second[worst]]),
        float(observed[worst]),
        float(fitted[worst]),
    )


@dataclass(frozen=True, eq=False)
class _Deviations:
    """Units' deviations from their pair's win rate, standardised, with their pair and instance."""

    values: FloatArray
    pair: IntArray
    cluster: IntArray
    effective: float

    @property
    def n_clusters(self) -> int:
        return int(self.cluster.max()) + 1

    def covariance(self, pairs: int) -> FloatArray:
        """Return the covariance of the pairs' sums, from the variation between instances."""
        n = self.n_clusters
        sums = scipy.sparse.csr_array((self.values, (self.cluster, self.pair)), shape=(n, pairs))
        return np.asarray((sums.T @ sums).toarray() * (n / (n - 1)))


def _p_value(
    residual: FloatArray,
    deviations: _Deviations,
    sides: tuple[IntArray, IntArray],
    scale: FloatArray,
) -> Estimate:
    """Return the p-value of X², whose eigenvalues are those of the residuals' covariance."""
    pairs, systems = len(residual), int(max(side.max() for side in sides)) + 1
    if pairs < systems:
        return undefined(ALWAYS_FITS, pairs)
    if deviations.effective < MIN_CLUSTERS:
        reason = too_few_clusters(deviations.effective).replace("interval", "p-value")
        return undefined(reason, pairs)
    design = np.zeros((pairs, systems))
    design[np.arange(pairs), sides[0]], design[np.arange(pairs), sides[1]] = scale, -scale
    basis = np.linalg.qr(design[:, 1:])[0]
    residuals = np.eye(pairs) - basis @ basis.T
    covariance = residuals @ deviations.covariance(pairs) @ residuals
    mean, squares = float(np.trace(covariance)), float((covariance**2).sum())
    if not mean > 0:
        return undefined(NO_VARIATION, pairs)
    freedom = mean**2 / squares
    statistic = float(residual @ residual) * freedom / mean
    method = METHOD.format(clusters=deviations.n_clusters)
    return Estimate(float(scipy.stats.chi2.sf(statistic, freedom)), n=pairs, method=method)


def _wins(games: Games, weight: FloatArray) -> FloatArray:
    """Return wins of the row's system over the column's, where a tie is half a win of each."""
    wins, half_ties = np.zeros((len(games.names), len(games.names))), games.counts[:, TIE] / 2
    sides = games.first, games.second
    np.add.at(wins, sides, weight * (games.counts[:, WIN] + half_ties))
    np.add.at(wins, sides[::-1], weight * (games.counts[:, LOSS] + half_ties))
    return wins
