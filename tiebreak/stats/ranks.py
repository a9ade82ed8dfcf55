"""Ranks of systems, and their uncertainty."""

from collections.abc import Mapping

import numpy as np
import numpy.typing as npt
from scipy.stats import rankdata

from tiebreak.errors import InvalidInput
from tiebreak.stats.bootstrap import CONFIDENCE_LEVEL, replicate_estimate
from tiebreak.stats.results import Estimate, undefined
from tiebreak.stats.validation import check_resampling

NO_SCORE = "This system has no score to rank."


def shared_ranks(scores: Mapping[str, Estimate]) -> dict[str, int | None]:
    """1 + the number of systems whose whole interval is above this one's; higher is better.

    Systems share a rank while their intervals overlap. A system without an interval has no
    rank, and counts against nobody. Source: HREF, table 5.

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
    """Rank of every system by its score, 1 the best, with the interval of its bootstrap ranks.

    ``bootstrap_values`` (replicates, systems) are joint bootstrap scores in the order of ``scores``, as
    `bradley_terry` and `elo` give them; a replicate with a NaN is undefined. Equal scores share
    their mean rank. With no replicates, no interval; nor where a score has a reason for having
    none, since every rank depends on all scores.

    >>> found = ranks({"x": Estimate(3), "y": Estimate(2)}, [[3, 2], [3, 2], [1, 2], [3, 2]])
    >>> found["y"].value, round(found["y"].low, 3), found["y"].high
    (2.0, 1.075, 2.0)
    """
    check_resampling(0, confidence_level, None)
    table = np.asarray(bootstrap_values, dtype=np.float64)
    if table.ndim != 2 or table.shape[1] != len(scores):
        raise InvalidInput(
            "wrong_shape", f"drawn must be (replicates, {len(scores)}), not {table.shape}."
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
