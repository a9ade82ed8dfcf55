"""Ranks of systems, with their uncertainty."""

from collections.abc import Mapping
from dataclasses import replace

import numpy as np
import numpy.typing as npt
import scipy

from tiebreak.errors import InvalidInput
from tiebreak.stats.core.bootstrap import CONFIDENCE_LEVEL, replicate_estimate
from tiebreak.stats.core.joint_intervals import Linearised
from tiebreak.stats.core.results import NEW_RATERS, Estimate, NarrowerInterval, undefined
from tiebreak.stats.core.validation import FloatArray, check_resampling

DRAWS = 10_000
BOOTSTRAP = "bootstrap ranks, percentile, {n} replicates"
JOINT = "ranks of {n} draws from the joint distribution of the scores, percentile"
NO_SCORE = "This system cannot be ranked because it has no score."


def shared_ranks(scores: Mapping[str, Estimate]) -> dict[str, int | None]:
    """Rank systems so that those with overlapping intervals share a rank.

    Parameters
    ----------
    scores : mapping of str to Estimate
        Score of each system; higher is better.

    Returns
    -------
    dict of str to int or None
        For each system, 1 plus the number of systems whose whole interval lies above the interval
        of this system. None for systems without an interval; they do not affect the ranks of
        others.

    See Also
    --------
    ranks : Computes ranks with intervals.

    Notes
    -----
    Source: Lyu et al. 2024 (HREF), table 5. Overlapping marginal intervals do not show that two
    systems are equally good.

    Examples
    --------
    >>> shared_ranks({"x": Estimate(3, 2, 4), "y": Estimate(2, 1, 3), "z": Estimate(0, 0, 0.5)})
    {'x': 1, 'y': 1, 'z': 3}
    """
    ranked = {name: score for name, score in scores.items() if score.has_interval}
    return {
        name: 1 + sum(other.low > score.high for other in ranked.values())
        if name in ranked
        else None
        for name, score in scores.items()
    }


def ranks(
    scores: Mapping[str, Estimate],
    bootstrap_values: npt.ArrayLike,
    *,
    confidence_level: float = CONFIDENCE_LEVEL,
) -> dict[str, Estimate]:
    """Rank systems, with bootstrap intervals of the ranks.

    Parameters
    ----------
    scores : mapping of str to Estimate
        Score of each system; higher is better.
    bootstrap_values : array_like of float, shape (n_replicates, n_systems)
        Joint bootstrap scores in the order of `scores`, as returned by `bradley_terry`. A replicate
        that contains NaN is undefined.
    confidence_level : float, default 0.95
        Confidence level of the interval, in (0, 1).

    Returns
    -------
    dict of str to Estimate
        Rank of each system; 1 is the best. Systems with equal scores share their mean rank. There
        are no intervals if there are no replicates. There are also none if a score has no interval,
        since a rank depends on all scores.

    Raises
    ------
    InvalidInput
        If `bootstrap_values` does not have a column for each system.

    See Also
    --------
    joint_ranks : Ranks systems by scores whose errors are known in closed form.
    shared_ranks : Gives systems with overlapping intervals the same rank.

    Examples
    --------
    >>> scores = {"x": Estimate(3), "y": Estimate(2)}
    >>> by_system = ranks(scores, [[3, 2], [3, 2], [1, 2], [3, 2]])
    >>> by_system["y"].value, round(by_system["y"].low, 3), by_system["y"].high
    (2.0, 1.075, 2.0)
    """
    table = np.asarray(bootstrap_values, dtype=np.float64)
    return _ranks(scores, table, BOOTSTRAP.format(n=len(table)), confidence_level)


def joint_ranks(
    scores: Mapping[str, Estimate],
    linearised: Linearised,
    *,
    rng: np.random.Generator,
    draws: int = DRAWS,
    confidence_level: float = CONFIDENCE_LEVEL,
) -> dict[str, Estimate]:
    """Rank systems, with intervals of the ranks from the joint errors of their scores.

    Parameters
    ----------
    scores : mapping of str to Estimate
        Score of each system; higher is better.
    linearised : Linearised
        The joint errors, in the order of `scores`, as returned by `bradley_terry`.
    rng : numpy.random.Generator
        Random generator for the draws.
    draws : int, default 10000
        Number of draws from the joint distribution of the scores; 0 for no intervals.
    confidence_level : float, default 0.95
        Confidence level of the interval, in (0, 1).

    Returns
    -------
    dict of str to Estimate
        Rank of each system as in `ranks`. If all systems have three raters or more, intervals apply to
        new raters, with those for these raters in ``narrower``.

    See Also
    --------
    ranks : Ranks systems by bootstrap scores.

    Examples
    --------
    >>> from tiebreak.stats import bradley_terry
    >>> counts, a, b = [[1, 0, 0]] * 15 + [[0, 0, 1]] * 5, ["x"] * 20, ["y"] * 20
    >>> fit = bradley_terry(counts, system_a=a, system_b=b)
    >>> rng = np.random.default_rng(0)
    >>> by_system = joint_ranks(fit.systems, fit.linearised, rng=rng)
    >>> by_system["x"].value, by_system["x"].low
    (1.0, 1.0)
    """

    def of(*, new_raters: bool) -> dict[str, Estimate]:
        table = linearised.draws(draws, rng, new_raters=new_raters)[:, : len(scores)]
        method = JOINT.format(n=draws)
        return _ranks(scores, table, method, confidence_level)

    of_these = of(new_raters=False)
    if not linearised.speaks_of_new_raters:
        return of_these
    of_new = of(new_raters=True)
    return {name: _around(of_new[name], inner) for name, inner in of_these.items()}


def _around(rank: Estimate, inner: Estimate) -> Estimate:
    """Return a rank for new raters with its interval for these raters, which is not longer."""
    if not (rank.has_interval and inner.has_interval):
        return rank
    low, high = min(rank.low, inner.low), max(rank.high, inner.high)
    stays = NarrowerInterval(inner.low, inner.high, inner.scope, inner.method)
    return replace(rank, low=low, high=high, stated_scope=NEW_RATERS, narrower=(stays,))


def _ranks(
    scores: Mapping[str, Estimate], table: FloatArray, method: str, confidence_level: float
) -> dict[str, Estimate]:
    check_resampling(0, confidence_level, None)
    if table.ndim != 2 or table.shape[1] != len(scores):
        raise InvalidInput(
            "wrong_shape",
            "bootstrap_values must be a matrix with one row for each replicate and one column for"
            f" each of the {len(scores)} systems; its shape is {table.shape}.",
        )
    values = np.array([score.value for score in scores.values()])
    if not len(values) or np.isnan(values).all():
        return {name: undefined(score.reason or NO_SCORE) for name, score in scores.items()}
    rankdata = scipy.stats.rankdata
    point_ranks = rankdata(-values, nan_policy="omit")
    drawn_ranks = rankdata(-table, axis=1, nan_policy="propagate") if len(table) else table
    reasons = (s.reason for s in scores.values() if s.is_defined and not s.has_interval)
    reason = next(filter(None, reasons), None)

    def rank_of(system: int, score: Estimate) -> Estimate:
        if not score.is_defined:
            return undefined(score.reason or NO_SCORE, score.n)
        rank = float(point_ranks[system])
        if reason or not len(table):
            return Estimate(rank, n=score.n, reason=reason)
        return replicate_estimate(
            rank,
            drawn_ranks[:, system],
            n=score.n,
            method=method,
            confidence_level=confidence_level,
        )

    return {name: rank_of(k, score) for k, (name, score) in enumerate(scores.items())}
