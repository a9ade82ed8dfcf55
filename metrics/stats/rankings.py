"""How often each system wins."""

import numpy as np
from numpy.typing import ArrayLike

from metrics.stats.agreement import ratio
from metrics.stats.bootstrap import Statistic, cluster_sums, estimate
from metrics.stats.counts import distinct_rows
from metrics.stats.results import Estimate
from metrics.stats.validation import check_counts

NO_RATINGS = "no rating compares this system"


def win_rate(
    outcomes: ArrayLike,
    *,
    clusters: ArrayLike | None = None,
    replicates: int = 10_000,
    confidence_level: float = 0.95,
    rng: np.random.Generator | None = None,
    batch: int | None = None,
) -> Estimate:
    """Expected win rate of a system: P(win) + ½ P(tie), over ratings.

    Parameters
    ----------
    outcomes : (U units, 3) whole numbers
        How many of a unit's ratings the system won, tied and lost.
    clusters : (U,) codes
        Units with the same code are resampled together.

    Source: HREF, section 4 (expected win rate).

    Examples
    --------
    >>> win_rate([[2, 1, 0], [0, 1, 2]], replicates=0).value
    0.5
    """
    matrix = check_counts(outcomes, "outcomes")
    if matrix.shape[1] != 3:
        raise ValueError(f"outcomes must have columns won, tied, lost, not {matrix.shape[1]}")
    patterns = distinct_rows(matrix)
    won, tied, _ = patterns.rows.T
    features = np.column_stack([won + tied / 2, patterns.rows.sum(axis=1)])
    n = int((matrix.sum(axis=1) > 0).sum())
    return estimate(
        cluster_sums(features, patterns, clusters),
        {"win_rate": Statistic(slice(0, 2), ratio, NO_RATINGS, n)},
        replicates=replicates,
        confidence_level=confidence_level,
        rng=rng,
        batch=batch,
    )["win_rate"]
