"""Classes of units by how far their human ratings agree. Every stratum exists, empty or not."""

from collections.abc import Sequence

import numpy as np
from numpy.typing import ArrayLike, NDArray

from metrics.stats.agreement import modal_share
from metrics.stats.validation import check_counts

AGREEMENT_STRATA = ("PA=1", "0.8<=PA<1", "0.6<=PA<0.8", "PA<0.6", "undefined")


def by_agreement(counts: ArrayLike, *, ordered: bool) -> NDArray[np.int64]:
    """Index (U,) into `AGREEMENT_STRATA`; a unit with fewer than two ratings is undefined.

    Agreement is compared as a fraction of whole counts, so that 3 of 5 is exactly 0.6.
    """
    matrix = check_counts(counts)
    rated = matrix.sum(axis=1)
    top = np.rint(modal_share(matrix, ordered=ordered) * rated).astype(np.int64)
    below = [top == rated, 10 * top >= 8 * rated, 10 * top >= 6 * rated]
    index = np.select(below, [0, 1, 2], default=3)
    return np.where(rated >= 2, index, 4).astype(np.int64)


def by_unique_labels(counts: ArrayLike) -> NDArray[np.int64]:
    """How many different labels each unit got (0 where none)."""
    return np.asarray((check_counts(counts) > 0).sum(axis=1), dtype=np.int64)


def shares(index: NDArray[np.int64], strata: Sequence[object]) -> list[float]:
    """The share of units in each stratum; they add to 1 where there is a unit."""
    if len(index) == 0:
        return [float("nan")] * len(strata)
    return [float(np.mean(index == position)) for position in range(len(strata))]
