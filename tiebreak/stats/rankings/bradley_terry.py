"""Bradley–Terry strengths by maximum likelihood, with ties as half wins or in Davidson's model.

Sources: Bradley and Terry 1952; Ford 1957 (when the maximum exists); Davidson 1970 (ties).
"""

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Literal

import numpy as np
import numpy.typing as npt
import scipy

from tiebreak.stats.core.bootstrap import CONFIDENCE_LEVEL, REPLICATES, bootstrap_estimate
from tiebreak.stats.core.counts import Patterns, Resampled
from tiebreak.stats.core.independence import MIN_CLUSTERS, drop_unreliable_interval
from tiebreak.stats.core.joint_intervals import Linearised, sparse_rows
from tiebreak.stats.core.resampling import replicate_counts
from tiebreak.stats.core.results import Estimate, undefined
from tiebreak.stats.core.validation import (
    FloatArray,
    IntArray,
    as_counts,
    as_groups,
    as_unit_weights,
    check_choice,
    check_resampling,
)
from tiebreak.stats.rankings.comparisons import TIE, Games
from tiebreak.stats.rankings.paired_likelihood import (
    Outcomes,
    Strengths,
    derivatives,
    maximum_likelihood,
    reason_without_maximum,
)

Ties = Literal["half", "davidson"]

NO_GAMES = "No rating compares two systems."
NOT_CONVERGED = "Strengths are undefined because the fit did not converge."
NO_TIE = "No rating is a tie, so the tie parameter ν is 0 and its logarithm is undefined."
TIES_ARE_HALVES = "There is no tie parameter because ties count as half wins."
_BATCH_ELEMENTS = 2**20


@dataclass(frozen=True, eq=False)
class BradleyTerry:
    """Bradley–Terry strengths of several systems.

    See Also
    --------
    ranks : Computes ranks from `systems` and their joint errors.
    """

    systems: dict[str, Estimate]
    """Log-strength θ of each system; the mean is 0. On the Elo scale, a
    log-strength is 1000 + 400 θ / ln 10."""
    tie: Estimate
    """Logarithm of the tie parameter ν in Davidson's model; undefined if ties count as half wins."""
    converged: bool
    """Whether the fit converged, that is, whether the gradient became 0."""
    iterations: int
    """Number of Newton steps."""
    bootstrap_values: FloatArray
    """Bootstrap log-strengths; NaN for replicates without a maximum; shape (n_replicates,
    n_systems). Empty without a bootstrap."""
    linearised: Linearised | None = None
    """Joint errors of the log-strengths, and of log ν in Davidson's model; None after a
    bootstrap or without a fit."""


def bradley_terry(
    counts: npt.ArrayLike,
    *,
    system_a: Sequence[str],
    system_b: Sequence[str],
    ties: Ties = "half",
    weights: npt.ArrayLike | None = None,
    clusters: npt.ArrayLike | None = None,
    raters: npt.ArrayLike | None = None,
    replicates: int = REPLICATES,
    confidence_level: float = CONFIDENCE_LEVEL,
    rng: np.random.Generator | None = None,
    batch: int | None = None,
) -> BradleyTerry:
    """Estimate Bradley–Terry strengths by maximum likelihood.

    Parameters
    ----------
    counts : array_like of int, shape (n_units, 3)
        For each unit, the numbers of ratings that prefer A, that are ties, and that prefer B. If the
        ratings of a unit are by different raters, it may have a row for each of them.
    system_a, system_b : sequence of str, length n_units
        Names of the two systems that each unit compares.
    ties : {"half", "davidson"}, default "half"
        How ties are treated. ``"half"``: a tie is half a win for each system; ``"davidson"``: a tie
        is a separate outcome, as in Davidson's model.
    weights : array_like of float, shape (n_units,), optional
        Weight of each unit's ratings in the likelihood, 0 or more, such as its separability.
    clusters : array_like, shape (n_units,), optional
        Instance of each unit. Units that share an instance are not independent.
    raters : array_like, shape (n_units,), optional
        Rater of each row. With three raters or more, intervals also apply to new raters, with those
        for these raters in ``narrower``.
    replicates : int, default 10000
        Number of bootstrap replicates.
    confidence_level : float, default 0.95
        Confidence level of the interval, in (0, 1).
    rng : numpy.random.Generator, optional
        Random generator for a bootstrap, which resamples instances and takes the raters as they are.
        Without it, intervals are in closed form.
    batch : int, optional
        Number of replicates in memory at a time.

    Returns
    -------
    BradleyTerry
        Log-strengths with mean 0 and, for Davidson's model, the tie parameter. If some systems only
        win or only lose against all others, there is no finite maximum. Strengths are then NaN, and
        the reason names these systems.

    Raises
    ------
    InvalidInput
        If some groups of systems were never compared with one another (the message names them), a
        unit compares a system with itself, or the arguments differ in length.

    See Also
    --------
    elo : Estimates ratings that depend on the order of the games.
    ranks, shared_ranks : Compute ranks of the systems.

    Notes
    -----
    P(i beats j) = 1 / (1 + exp(θ_j − θ_i)) (Bradley and Terry 1952). In Davidson's model (1970, eq.
    2.3), P(tie) = ν √(π_i π_j) / (π_i + π_j + ν √(π_i π_j)), where π = exp(θ). The maximum is found
    by Newton's method with step halving. It exists if every system beats every other system,
    directly or through others (Ford 1957). Replicates without a maximum count as undefined. Units
    that have no ratings or a weight of 0 are ignored.

    Intervals in closed form: a rating's contribution to the strengths is the inverse of the
    information matrix times its score, the derivative of its log-likelihood (Huber 1967). The
    variance is the sum over instances of their squared contributions, plus the same over raters,
    minus the same over cells of an instance and a rater, but not below the part of the instances
    (Cameron, Gelbach and Miller 2011, eq. 2.11), each times G / (G − 1) for a system's effective
    number G of groups. The degrees of freedom are Satterthwaite's.

    Examples
    --------
    >>> fit = bradley_terry([[6, 0, 2], [3, 2, 3]], system_a=["a", "b"], system_b=["b", "c"])
    >>> [round(strength.value, 4) for strength in fit.systems.values()]
    [0.7324, -0.3662, -0.3662]
    """
    check_choice(ties, allowed=("half", "davidson"), name="ties")
    check_resampling(replicates, confidence_level, batch)
    rows = as_counts(counts)
    weighted = as_unit_weights(weights, length=len(rows))
    games = Games.of(np.where(weighted[:, None] > 0, rows, 0), system_a=system_a, system_b=system_b)
    if not games.names:
        return BradleyTerry({}, undefined(NO_GAMES), False, 0, np.zeros((0, 0)))
    groups = None if clusters is None else as_groups(clusters, length=len(rows), name="clusters")
    people = None if raters is None else as_groups(raters, length=len(rows), name="raters")
    davidson = ties == "davidson"
    if rng is not None:
        table = _PairTable(games, weighted, groups, davidson=davidson)
        return _bootstrapped(table, replicates, confidence_level, rng, batch)
    sample = _Sample.of(games, weighted, groups, people, davidson=davidson)
    return _in_closed_form(sample, confidence_level)


def _in_closed_form(sample: "_Sample", confidence_level: float) -> BradleyTerry:
    games, outcomes = sample.games, sample.outcomes
    fit = maximum_likelihood(outcomes)
    converged, values = bool(fit.converged[0]), fit.parameters[0]
    linearised = sample.linearised(values) if converged else None
    reason = _reason_without_fit(outcomes, games.names)

    def parameter(index: int, n: int, reason: str) -> Estimate:
        if linearised is None or np.isnan(values[index]):
            return undefined(reason, n)
        return linearised.estimate(index, n=n, confidence_level=confidence_level)

    return BradleyTerry(
        {
            name: parameter(index, games.involving(index), reason)
            for index, name in enumerate(games.names)
        },
        _tie(games, parameter, reason, davidson=sample.davidson),
        converged,
        fit.steps,
        np.zeros((0, len(games.names))),
        linearised,
    )


def _reason_without_fit(outcomes: Outcomes, names: Sequence[str]) -> str:
    return reason_without_maximum(outcomes, names) or NOT_CONVERGED


def _tie(
    games: Games, parameter: Callable[[int, int, str], Estimate], reason: str, *, davidson: bool
) -> Estimate:
    """Return the estimate of the tie parameter."""
    if not davidson:
        return undefined(TIES_ARE_HALVES)
    has_ties = games.counts[:, TIE].any()
    return parameter(len(games.names), len(games.first), reason if has_ties else NO_TIE)


@dataclass(frozen=True, eq=False)
class _Sample:
    """Games with their weights, instances and raters, whose fit has intervals in closed form."""

    games: Games
    weight: FloatArray
    instance: IntArray
    rater: IntArray | None
    resampled: Resampled
    davidson: bool

    @classmethod
    def of(
        cls,
        games: Games,
        weights: FloatArray,
        groups: IntArray | None,
        people: IntArray | None,
        *,
        davidson: bool,
    ) -> "_Sample":
        used = games.units
        return cls(
            games,
            weights[used],
            np.arange(len(used)) if groups is None else groups[used],
            None if people is None else people[used],
            "unit" if groups is None else "instance",
            davidson,
        )

    @cached_property
    def outcomes(self) -> Outcomes:
        """Weighted wins and ties of every pair."""
        systems, counts = len(self.games.names), self.games.counts * self.weight[:, None]
        code = self.games.first * systems + self.games.second
        by_pair = [np.bincount(code, column, minlength=systems**2) for column in counts.T]
        win, tie, loss = (np.reshape(sums, (systems, systems)).astype(float) for sums in by_pair)
        wins, ties = win + loss.T, tie + tie.T
        if self.davidson:
            return Outcomes(wins[None], ties[None])
        return Outcomes((wins + ties / 2)[None], np.zeros_like(ties)[None])

    def linearised(self, parameters: FloatArray) -> Linearised:
        """Return what each game contributes to the fitted parameters."""
        systems, first, second = len(self.games.names), self.games.first, self.games.second
        _, information = derivatives(self.outcomes, parameters[None])
        win, tie, loss = self.games.counts.T
        ratings = win + tie + loss
        half = (parameters[first] - parameters[second]) / 2
        nu = np.exp(parameters[-1]) if self.outcomes.ties.any() else 0.0
        chance_of_tie = nu / (2 * np.cosh(half) + nu)
        score = self.weight * (win - loss - ratings * np.tanh(half) * (1 - chance_of_tie)) / 2
        columns = [(first, score), (second, -score)]
        weight = self.weight * ratings
        entered = [(first, weight), (second, weight)]
        if self.davidson:
            of_tie = np.full(len(first), systems)
            columns.append((of_tie, self.weight * (tie - ratings * chance_of_tie)))
            entered.append((of_tie, weight))
        kept = systems + self.davidson
        return Linearised(
            parameters[:kept],
            sparse_rows(columns, kept),
            np.linalg.inv(information[0])[:kept, :kept],
            sparse_rows(entered, kept),
            self.instance,
            self.rater,
            self.resampled,
        )


def _bootstrapped(
    table: "_PairTable",
    replicates: int,
    confidence_level: float,
    rng: np.random.Generator,
    batch: int | None,
) -> BradleyTerry:
    fit = maximum_likelihood(table.sample_outcomes())
    bootstrap_values = np.zeros((0, len(table.games.names) + 1))
    has_enough = table.patterns.n_clusters >= MIN_CLUSTERS
    if replicates and fit.converged[0] and has_enough:
        batches = replicate_counts(table.patterns, replicates, rng, batch or table.batch)
        start = fit.parameters[0]  # of the sample
        refits = (maximum_likelihood(table.outcomes(counts), start=start) for counts in batches)
        bootstrap_values = np.concatenate([refit.parameters for refit in refits])
    return _result(table, fit, bootstrap_values, confidence_level)


def _result(
    table: "_PairTable", fit: Strengths, bootstrap_values: FloatArray, confidence_level: float
) -> BradleyTerry:
    games = table.games
    values, resampled = fit.parameters[0], table.patterns.resampled
    method = f"bootstrap over {resampled}s, percentile, {len(bootstrap_values)} replicates"
    reason = _reason_without_fit(table.sample_outcomes(), games.names)

    def parameter(index: int, n: int, reason: str) -> Estimate:
        value, clusters = float(values[index]), table.clusters_of(index)
        if np.isnan(value):
            return undefined(reason, n)
        if not len(bootstrap_values):
            return drop_unreliable_interval(Estimate(value, n=n), clusters, resampled)
        return bootstrap_estimate(
            value,
            bootstrap_values[:, index],
            n=n,
            clusters=clusters,
            resampled=resampled,
            method=method,
            confidence_level=confidence_level,
        )

    strengths = {
        name: parameter(index, games.involving(index), reason)
        for index, name in enumerate(games.names)
    }
    tie = _tie(games, parameter, reason, davidson=table.davidson)
    converged = bool(fit.converged[0])
    return BradleyTerry(strengths, tie, converged, fit.steps, bootstrap_values[:, :-1])


class _PairTable:
    """Units, reduced to distinct rows of (pair, weight, outcomes) and summed by pair."""

    def __init__(
        self, games: Games, weights: FloatArray, groups: IntArray | None, *, davidson: bool
    ) -> None:
        self.games, self.systems, self.davidson = games, len(games.names), davidson
        pair_codes = games.first * self.systems + games.second
        self._pairs, pair = np.unique(pair_codes, return_inverse=True)
        values, weight = np.unique(weights[games.units], return_inverse=True)
        clusters = None if groups is None else groups[games.units]
        rows = np.column_stack([pair, weight, games.counts])
        self.patterns = Patterns.of(rows, clusters=clusters)
        distinct = self.patterns.rows
        outcomes = distinct[:, 2:] * values[distinct[:, 1]][:, None]
        self._sums = self._sum_matrix(distinct[:, 0], outcomes)

    def clusters_of(self, system: int) -> int:
        """Count the clusters with a game of this system; the number after them means any game."""
        first, second = np.divmod(self._pairs[self.patterns.rows[:, 0]], self.systems)
        plays = (first == system) | (second == system) if system < self.systems else first >= 0
        return self.patterns.clusters_with(plays)

    def _sum_matrix(self, pair: IntArray, outcomes: FloatArray) -> "scipy.sparse.csr_array":
        """Return the matrix that maps row counts to weighted outcomes, 3 for each pair."""
        rows = (3 * pair[:, None] + np.arange(3)).ravel()
        columns = np.repeat(np.arange(len(pair)), 3)
        shape = (3 * len(self._pairs), len(pair))
        return scipy.sparse.csr_array((outcomes.ravel(), (rows, columns)), shape=shape)

    @property
    def batch(self) -> int:
        """Number of replicates that fit into memory together."""
        return max(1, _BATCH_ELEMENTS // max(self.systems**2, len(self.patterns.rows)))

    def sample_outcomes(self) -> Outcomes:
        return self.outcomes(self.patterns.unit_counts[:, None].astype(np.float64))

    def outcomes(self, counts: FloatArray) -> Outcomes:
        """Return wins and ties of every pair, given row counts, shape (patterns, replicates)."""
        sums = (self._sums @ counts).T.reshape(counts.shape[1], len(self._pairs), 3)
        first, second = np.divmod(self._pairs, self.systems)
        wins = np.zeros((len(sums), self.systems, self.systems))
        ties = np.zeros_like(wins)
        wins[:, first, second], wins[:, second, first] = sums[..., 0], sums[..., 2]
        ties[:, first, second] = ties[:, second, first] = sums[..., 1]
        if self.davidson:
            return Outcomes(wins, ties)
        return Outcomes(wins + ties / 2, np.zeros_like(ties))
