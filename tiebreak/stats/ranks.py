"""Ranks of systems, with what is uncertain about them."""

from collections.abc import Mapping

import numpy as np
import numpy.typing as npt
from scipy.stats import rankdata

from tiebreak.errors import InvalidInput
from tiebreak.stats.bootstrap import CONFIDENCE_LEVEL, of_replicates
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
    known = {name: each for name, each in scores.items() if not np.isnan(each.low)}
    return {
        name: 1 + sum(other.low > each.high for other in known.values()) if name in known else None
        for name, each in scores.items()
    }


def ranks(
    scores: Mapping[str, Estimate],
    drawn: npt.ArrayLike,
    *,
    confidence_level: float = CONFIDENCE_LEVEL,
) -> dict[str, Estimate]:
    """Rank of every system by its score, 1 the best, with the interval of its bootstrap ranks.

    ``drawn`` (replicates, systems) are joint bootstrap scores in the order of ``scores``, as
    `bradley_terry` and `elo` give them; a replicate with a NaN is undefined. Equal scores share
    their mean rank. With no replicates, no interval; nor where a score has a reason for having
    none, since every rank depends on all scores.

    >>> found = ranks({"x": Estimate(3), "y": Estimate(2)}, [[3, 2], [3, 2], [1, 2], [3, 2]])
    >>> found["y"].value, round(found["y"].low, 3), found["y"].high
    (2.0, 1.075, 2.0)
    """
    check_resampling(0, confidence_level, None)
    table = np.asarray(drawn, dtype=np.float64)
    if table.ndim != 2 or table.shape[1] != len(scores):
        raise InvalidInput(
            "wrong_shape", f"drawn must be (replicates, {len(scores)}), not {table.shape}."
        )
    values = np.array([each.value for each in scores.values()])
    if not len(values) or np.isnan(values).all():
        return {name: undefined(each.reason or NO_SCORE) for name, each in scores.items()}
    placed = rankdata(-values, nan_policy="omit")
    resampled = rankdata(-table, axis=1, nan_policy="propagate") if len(table) else table
    method = f"bootstrap ranks, percentile, {len(table)} replicates"
    unsure = (s.reason for s in scores.values() if s.is_defined and not s.has_interval)
    reason = next((each for each in unsure if each), None)

    def found(place: int, each: Estimate) -> Estimate:
        if np.isnan(each.value):
            return undefined(each.reason or NO_SCORE, each.n)
        rank = float(placed[place])
        if reason or not len(table):
            return Estimate(rank, n=each.n, reason=reason)
        return of_replicates(
            rank, resampled[:, place], n=each.n, method=method, confidence_level=confidence_level
        )

    return {name: found(k, each) for k, (name, each) in enumerate(scores.items())}
