"""Leave-one-out agreement: each rating against the mode of the others.

Source: HREF, algorithm 1. A tie among modes earns 1 / (number of modes), the expectation of the
published random choice, so there is no seed.
"""

import numpy as np
from numpy.typing import NDArray

Array = NDArray[np.float64]


def mode_credit_without_one(counts: NDArray[np.int64]) -> Array:
    """(P, L left out, L label): what a label earns against the mode of the row less one rating.

    0 where the left-out label was not given, or where nothing is left.
    """
    labels = counts.shape[1]
    rest = counts[:, None, :] - np.eye(labels, dtype=np.int64)[None]
    top = rest.max(axis=2, keepdims=True, initial=0)
    modes = (rest == top) & (top > 0) & (counts[:, :, None] > 0)
    return np.asarray(modes / np.maximum(modes.sum(axis=2, keepdims=True), 1), dtype=float)


def inner_features(counts: NDArray[np.int64]) -> Array:
    """(P, 2): each row's leave-one-out agreement among its own ratings, and whether it has one.

    Examples
    --------
    >>> inner_features(np.array([[2, 2, 0], [1, 2, 1], [3, 1, 0]]))[:, 0].round(4).tolist()
    [0.0, 0.1667, 0.75]
    """
    rated = counts.sum(axis=1)
    earned = np.einsum("pc,pcc->p", counts.astype(float), mode_credit_without_one(counts))
    paired = (rated >= 2).astype(float)
    return np.column_stack([paired * earned / np.maximum(rated, 1), paired])


def outer_credit(counts: NDArray[np.int64]) -> Array:
    """(P, L): what a machine's label earns on average against the mode of each n − 1 subset."""
    rated = np.maximum(counts.sum(axis=1), 1).astype(float)
    credit = mode_credit_without_one(counts)
    return np.asarray(np.einsum("pc,pcl->pl", counts / rated[:, None], credit))
