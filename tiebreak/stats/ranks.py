"""Ranks of systems, with their uncertainty."""

from collections.abc import Mapping

import numpy as np
import numpy.typing as npt
from scipy.stats import rankdata

from tiebreak.errors import InvalidInput
from tiebreak.stats.bootstrap import CONFIDENCE_LEVEL, replicate_estimate
from tiebreak.stats.results import Estimate, undefined
from tiebreak.stats.validation import check_resampling

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
        Joint bootstrap scores in the order of `scores`, as returned by `bradley_terry` and `elo`. A
        replicate that contains NaN is undefined.
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
    shared_ranks : Gives systems with overlapping intervals the same rank.

    Examples
    --------
    >>> scores = {"x": Estimate(3), "y": Estimate(2)}
    >>> by_system = ranks(scores, [[3, 2], [3, 2], [1, 2], [3, 2]])
    >>> by_system["y"].value, round(by_system["y"].low, 3), by_system["y"].high
    (2.0, 1.075, 2.0)
    """
    check_resampling(0, confidence_level, None)
    table = np.asarray(bootstrap_values, dtype=np.float64)
    if table.ndim != 2 or table.shape[1] != len(scores):
        raise InvalidInput(
            "wrong_shape",
            "bootstrap_values must be a matrix with one row for each replicate and one column for"
            f" each of the {len(scores)} systems; its shape is {table.shape}.",
        )
    values = np.array([score.value for score in scores.values()])
    if not len(values) or np.isnan(values).all():
        return {name: undefined(score.reason or NO_SCORE) for name, score in scores.items()}
    point_ranks = rankdata(-values, nan_policy="omit")
    bootstrap_ranks = rankdata(-table, axis=1, nan_policy="propagate") if len(table) else table
    method = f"bootstrap ranks, percentile, {len(table)} replicates"
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
            bootstrap_ranks[:, system],
            n=score.n,
            method=method,
            confidence_level=confidence_level,
        )

    return {name: rank_of(k, score) for k, (name, score) in enumerate(scores.items())}
