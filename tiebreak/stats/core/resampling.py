"""Bootstrap replicates, which are clusters drawn with replacement, as weights or row counts."""

from collections.abc import Iterator

import numpy as np

from tiebreak.stats.core.counts import Patterns
from tiebreak.stats.core.validation import FloatArray, IntArray

_BATCH_ELEMENTS = 2**21
# Drawing one binomial variate costs about as much as drawing three indices.
_INDICES_PER_BINOMIAL = 3


def replicate_counts(
    patterns: Patterns, replicates: int, rng: np.random.Generator, batch: int | None = None
) -> Iterator[FloatArray]:
    """Yield batches of row counts, shape (patterns, replicates in the batch).

    A row count is the number of units in a replicate that have a distinct row. ``batch`` is the
    largest number of replicates in a batch.
    """
    width = len(patterns.rows)
    for weights in replicate_weights(patterns.multiplicities, replicates, rng, batch, width=width):
        counts = np.ascontiguousarray(weights.T)
        yield counts if patterns.membership is None else patterns.membership.T @ counts


def replicate_weights(
    multiplicities: IntArray,
    replicates: int,
    rng: np.random.Generator,
    batch: int | None = None,
    *,
    width: int = 1,
) -> Iterator[FloatArray]:
    """Yield batches of multinomial weights, shape (replicates in the batch, distinct clusters).

    This is equivalent to drawing single clusters, since the sum of multinomial counts over
    identical clusters is multinomial. The draws do not depend on ``batch``, the largest number of
    replicates in a batch. ``width`` is the number of elements that the caller computes from one
    replicate; it limits the default size of a batch.
    """
    n_distinct, n_clusters = len(multiplicities), int(multiplicities.sum())
    use_indices = n_distinct * _INDICES_PER_BINOMIAL > n_clusters
    elements = max(n_clusters if use_indices else n_distinct, width)
    size = batch or max(1, min(replicates, _BATCH_ELEMENTS // elements))
    distinct_of = np.repeat(np.arange(n_distinct), multiplicities)
    for start in range(0, replicates, size):
        count = min(size, replicates - start)
        if use_indices:
            yield _weights_by_index(distinct_of, n_distinct, count, rng)
        else:
            weights = rng.multinomial(n_clusters, multiplicities / n_clusters, size=count)
            yield weights.astype(np.float64)


def _weights_by_index(
    distinct_of: IntArray, n_distinct: int, count: int, rng: np.random.Generator
) -> FloatArray:
    shape = (count, len(distinct_of))
    draws = rng.integers(0, len(distinct_of), size=shape, dtype=np.int32)
    weights = np.empty((count, n_distinct))
    # Replicates are counted one at a time so that the counts stay in the processor's cache.
    for replicate, indices in enumerate(draws):
        weights[replicate] = np.bincount(distinct_of[indices], minlength=n_distinct)
    return weights
