"""Count matrices, and their reduction to distinct rows and clusters."""

from collections.abc import Iterator
from dataclasses import dataclass
from typing import Literal, Self, TypeVar

import numpy as np
import numpy.typing as npt
from scipy.sparse import csr_array

from tiebreak.errors import InvalidInput
from tiebreak.stats.validation import (
    IntArray,
    as_codes,
    as_counts,
    as_groups,
    check_same_length,
)

Number = TypeVar("Number", np.int64, np.float64)
Resampled = Literal["unit", "instance"]
_MAX_CODE = 2**62
_MAX_BINS = 2**20
_MAX_RANGE = 2**16


def count_matrix(
    units: npt.ArrayLike, labels: npt.ArrayLike, *, n_units: int, n_labels: int
) -> IntArray:
    """Long ratings as a (n_units, n_labels) matrix of label counts.

    ``units`` and ``labels`` are aligned vectors of codes, one row a rating; a label code of −1
    (missing) is passed over. Units without a rating keep a row of zeros.

    >>> count_matrix([0, 0, 1], [1, 1, 0], n_units=2, n_labels=2).tolist()
    [[0, 2], [1, 0]]
    """
    unit_codes = as_codes(units, below=n_units, name="units")
    label_codes = as_codes(labels, below=n_labels, name="labels", missing=True)
    check_same_length(units=unit_codes, labels=label_codes)
    rated = label_codes >= 0
    cells = unit_codes[rated] * n_labels + label_codes[rated]
    counted = np.bincount(cells, minlength=n_units * n_labels)
    return counted.astype(np.int64).reshape(n_units, n_labels)


def distinct_rows(
    rows: npt.NDArray[Number],
) -> tuple[npt.NDArray[Number], IntArray, IntArray, IntArray]:
    """Distinct rows in lexicographic order, with inverse, counts and first indices.

    As `np.unique` with ``axis=0``, but much faster.
    """
    codes, size = _row_codes(rows)
    if size > _MAX_BINS:
        _, first, inverse, counts = np.unique(
            codes, return_index=True, return_inverse=True, return_counts=True
        )
        return rows[first], inverse.astype(np.int64), counts.astype(np.int64), first
    # With few possible codes there is no need to sort, which dominates for a million units.
    counts = np.bincount(codes, minlength=size)
    present = np.flatnonzero(counts)
    rank, first = np.zeros(size, dtype=np.int64), np.zeros(size, dtype=np.int64)
    rank[present] = np.arange(len(present))
    first[codes[::-1]] = np.arange(len(codes))[::-1]
    return rows[first[present]], rank[codes], counts[present], first[present]


def _row_codes(rows: npt.NDArray[Number]) -> tuple[IntArray, int]:
    """An integer code per row, in lexicographic order of the rows, and the number of codes."""
    codes, size = np.zeros(len(rows), dtype=np.int64), 1
    for column in rows.T:
        n_values, column_codes = _column_codes(column)
        if size * n_values > _MAX_CODE:
            distinct, codes = np.unique(codes, return_inverse=True)
            size = len(distinct)
        codes = codes * n_values + column_codes
        size *= n_values
    return codes, size


def _column_codes(column: npt.NDArray[Number]) -> tuple[int, IntArray]:
    """The number of codes, and a code per row, in the order of the values."""
    if len(column) and np.issubdtype(column.dtype, np.integer):
        low, high = int(column.min()), int(column.max())
        if high - low < _MAX_RANGE:
            return high - low + 1, (column - low).astype(np.int64)
    values, codes = np.unique(column, return_inverse=True)
    return len(values), codes.astype(np.int64)


@dataclass(frozen=True, eq=False)
class Patterns:
    """Units reduced to their distinct rows, and what is resampled.

    ``rows`` (P, C) are the distinct unit rows, sorted; ``unit_counts`` (P,) say how many units
    have each, ``representatives`` (P,) which unit was the first. A cluster (one unit, or one
    instance with several) is the multiset of its units' rows, and identical clusters are
    collapsed: ``membership`` (D, P) says how many units of each row a distinct cluster has (None
    where clusters are units, so that D = P), and ``multiplicities`` (D,) how often each distinct
    cluster occurs. The same units give the same rows and clusters in any order.
    """

    rows: IntArray
    unit_counts: IntArray
    representatives: IntArray
    membership: csr_array | None
    multiplicities: IntArray

    @classmethod
    def of(cls, rows: npt.ArrayLike, *, clusters: npt.ArrayLike | None = None) -> Self:
        """Reduce a (units, C) matrix of counts; ``clusters`` names each unit's instance.

        Where every unit has an instance of its own, units are what is resampled.
        """
        matrix = as_counts(rows)
        distinct, inverse, counts, first = distinct_rows(matrix)
        if clusters is not None:
            groups = as_groups(clusters, length=len(matrix), name="clusters")
            if len(groups) and groups.max() + 1 < len(groups):
                membership, multiplicities = _collapse(inverse, groups, len(distinct))
                return cls(distinct, counts, first, membership, multiplicities)
        return cls(distinct, counts, first, None, counts)

    @property
    def resampled(self) -> Resampled:
        return "unit" if self.membership is None else "instance"

    @property
    def n_columns(self) -> int:
        return int(self.rows.shape[1])

    @property
    def n_units(self) -> int:
        return int(self.unit_counts.sum())

    @property
    def n_clusters(self) -> int:
        return int(self.multiplicities.sum())

    def clusters_with(self, mask: npt.NDArray[np.bool_]) -> int:
        """How many clusters have a unit whose row is in ``mask`` (P,)."""
        if self.membership is None:
            return int(self.multiplicities[mask].sum())
        return int(self.multiplicities[self.membership @ mask.astype(np.float64) > 0].sum())


def as_patterns(
    counts: "npt.ArrayLike | Patterns", *, clusters: npt.ArrayLike | None = None
) -> Patterns:
    """Reduce ``counts``, unless the caller already did so for several statistics."""
    if not isinstance(counts, Patterns):
        return Patterns.of(counts, clusters=clusters)
    if clusters is not None:
        raise InvalidInput(
            "clusters_twice", "clusters must go to Patterns.of where counts are Patterns already."
        )
    return counts


def _collapse(row: IntArray, groups: IntArray, n_rows: int) -> tuple[csr_array, IntArray]:
    """Distinct clusters as numbers of units per row (D, ``n_rows``), and their multiplicities.

    ``row`` is the distinct row of each unit, and ``groups`` its cluster.
    """
    blocks, multiplicities = [], []
    for members in _clusters_by_size(row, groups):
        distinct, _, counts, _ = distinct_rows(members)
        blocks.append(distinct)
        multiplicities.append(counts)
    sizes = np.concatenate([np.full(len(block), block.shape[1]) for block in blocks])
    starts = np.concatenate([[0], np.cumsum(sizes)])
    columns = np.concatenate([block.ravel() for block in blocks])
    membership = csr_array((np.ones(len(columns)), columns, starts), shape=(len(sizes), n_rows))
    membership.sum_duplicates()
    return membership, np.concatenate(multiplicities)


def _clusters_by_size(row: IntArray, groups: IntArray) -> Iterator[IntArray]:
    """For each cluster size, the sorted row numbers of its clusters (clusters, size)."""
    ordered = row[np.lexsort((row, groups))]
    sizes = np.bincount(groups)
    starts = np.cumsum(sizes) - sizes
    for size in np.unique(sizes):
        first = starts[sizes == size]
        yield ordered[first[:, None] + np.arange(size)]
