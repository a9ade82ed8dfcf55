"""Replicates of a sample: clusters drawn with replacement, as weights and as row counts."""

from collections.abc import Iterator

import numpy as np

from tiebreak.stats.counts import Patterns
from tiebreak.stats.validation import FloatArray, IntArray

_BATCH_ELEMENTS = 2**21
# A binomial costs about as much as three drawn indices: below this ratio indices are cheaper.
_UNITS_PER_ROW = 3


def replicate_counts(
    patterns: Patterns, replicates: int, rng: np.random.Generator, batch: int | None = None
) -> Iterator[FloatArray]:
    """How many units of each distinct row the replicates hold: (P, at most ``batch``) at a time."""
    width = len(patterns.rows)
    for weights in replicate_weights(patterns.multiplicities, replicates, rng, batch, width=width):
        drawn = np.ascontiguousarray(weights.T)
        yield drawn if patterns.membership is None else patterns.membership.T @ drawn


def replicate_weights(
    multiplicities: IntArray,
    replicates: int,
    rng: np.random.Generator,
    batch: int | None = None,
    *,
    width: int = 1,
) -> Iterator[FloatArray]:
    """Multinomial weights over distinct clusters, (at most ``batch``, D) at a time.

    Exact for the clusters themselves: a multinomial over clusters aggregates to a multinomial
    over their distinct kinds. The draws do not depend on ``batch``: the generator is read in one
    order. ``width`` is the size of what the caller makes of one replicate.
    """
    rows, total = len(multiplicities), int(multiplicities.sum())
    by_index = rows * _UNITS_PER_ROW > total
    largest = max(total if by_index else rows, width)
    size = batch or max(1, min(replicates, _BATCH_ELEMENTS // largest))
    owner = np.repeat(np.arange(rows), multiplicities)
    for start in range(0, replicates, size):
        count = min(size, replicates - start)
        if by_index:
            yield _weights_by_index(owner, rows, count, rng)
        else:
            drawn = rng.multinomial(total, multiplicities / total, size=count)
            yield drawn.astype(np.float64)


def _weights_by_index(
    owner: IntArray, rows: int, count: int, rng: np.random.Generator
) -> FloatArray:
    drawn = rng.integers(0, len(owner), size=(count, len(owner)), dtype=np.int32)
    weights = np.empty((count, rows))
    # One replicate at a time: its tally stays in the processor's cache.
    for replicate, indices in enumerate(drawn):
        weights[replicate] = np.bincount(owner[indices], minlength=rows)
    return weights
