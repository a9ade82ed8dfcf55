"""Count matrices, and their reduction to distinct rows and clusters."""

from collections.abc import Iterator
from dataclasses import dataclass
from typing import Literal, Self, TypeVar

import numpy as np
import numpy.typing as npt
import scipy

from tiebreak.errors import InvalidInput
from tiebreak.stats.core.validation import (
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
    """Count the labels of each unit.

    Parameters
    ----------
    units, labels : array_like of int, shape (n_ratings,)
        Unit and label of each rating, from 0 to the numbers below minus 1; the label is −1 if the
        rating is missing.
    n_units, n_labels : int
        Number of units, and of labels in the scale.

    Returns
    -------
    ndarray of int, shape (n_units, n_labels)
        Number of ratings that give each unit each label. A unit without ratings has a row of zeros.

    Raises
    ------
    InvalidInput
        If a code is out of range or the vectors differ in length.

    Examples
    --------
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
    """Return the distinct rows in lexicographic order, with inverse, counts and first indices.

    The result is the same as `np.unique` with ``axis=0``, but this function is much faster.
    """
    codes, size = _row_codes(rows)
    if size > _MAX_BINS:
        _, first, inverse, counts = np.unique(
            codes, return_index=True, return_inverse=True, return_counts=True
        )
        return rows[first], inverse.astype(np.int64), counts.astype(np.int64), first
    # With few possible codes, sorting is unnecessary; for a million units it takes most of the time.
    counts = np.bincount(codes, minlength=size)
    present = np.flatnonzero(counts)
    rank, first = np.zeros(size, dtype=np.int64), np.zeros(size, dtype=np.int64)
    rank[present] = np.arange(len(present))
    first[codes[::-1]] = np.arange(len(codes))[::-1]
    return rows[first[present]], rank[codes], counts[present], first[present]


def _row_codes(rows: npt.NDArray[Number]) -> tuple[IntArray, int]:
    """Return an integer code for each row, in lexicographic order, and the number of codes."""
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
    """Return the number of codes, and a code for each row, in the order of the values."""
    if len(column) and np.issubdtype(column.dtype, np.integer):
        low, high = int(column.min()), int(column.max())
        if high - low < _MAX_RANGE:
            return high - low + 1, (column - low).astype(np.int64)
    values, codes = np.unique(column, return_inverse=True)
    return len(values), codes.astype(np.int64)


@dataclass(frozen=True, eq=False)
class Patterns:
    """Counts of units, reduced to their distinct rows.

    If several statistics get the same `Patterns` instead of counts, the reduction is done only
    once. The order of the units does not affect the patterns. The bootstrap resamples clusters: a
    cluster is one unit, or one instance with several units. Equal clusters are stored once.

    See Also
    --------
    count_matrix : Counts labels in a long table of ratings.

    Examples
    --------
    >>> patterns = Patterns.of([[2, 0], [1, 1], [2, 0]])
    >>> patterns.rows.tolist(), patterns.unit_counts.tolist()
    ([[1, 1], [2, 0]], [1, 2])
    """

    rows: IntArray
    """Distinct rows, sorted; shape (n_patterns, n_columns)."""
    unit_counts: IntArray
    """Number of units that have each row; shape (n_patterns,)."""
    representatives: IntArray
    """Index of the first unit that has each row; shape (n_patterns,)."""
    membership: "scipy.sparse.csr_array | None"
    """Number of units in each distinct cluster that have each row; None if clusters are units;
    shape (n_distinct_clusters, n_patterns)."""
    multiplicities: IntArray
    """Number of times that each distinct cluster occurs; shape (n_distinct_clusters,)."""

    @classmethod
    def of(cls, rows: npt.ArrayLike, *, clusters: npt.ArrayLike | None = None) -> Self:
        """Reduce a matrix of counts.

        Parameters
        ----------
        rows : array_like of int, shape (n_units, n_columns)
            Counts of each unit.
        clusters : array_like, shape (n_units,), optional
            Instance of each unit. If units share an instance, whole instances are resampled.

        Returns
        -------
        Patterns
            The reduced counts.

        Raises
        ------
        InvalidInput
            If the counts are not whole numbers of 0 or more, or if a unit has no cluster.

        Examples
        --------
        >>> Patterns.of([[2, 0], [1, 1], [2, 0]], clusters=["x", "x", "y"]).n_clusters
        2
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
        """Whether a cluster is a unit or an instance."""
        return "unit" if self.membership is None else "instance"

    @property
    def n_columns(self) -> int:
        """Number of columns of the counts."""
        return int(self.rows.shape[1])

    @property
    def n_units(self) -> int:
        """Number of units."""
        return int(self.unit_counts.sum())

    @property
    def n_clusters(self) -> int:
        """Number of clusters."""
        return int(self.multiplicities.sum())

    def clusters_with(self, mask: npt.NDArray[np.bool_]) -> int:
        """Count the clusters in which a unit has one of the rows in a mask.

        Parameters
        ----------
        mask : ndarray of bool, shape (n_patterns,)
            Mask over `rows`.

        Returns
        -------
        int
            Number of clusters.
        """
        if self.membership is None:
            return int(self.multiplicities[mask].sum())
        return int(self.multiplicities[self.membership @ mask.astype(np.float64) > 0].sum())


def as_patterns(
    counts: "npt.ArrayLike | Patterns", *, clusters: npt.ArrayLike | None = None
) -> Patterns:
    """Reduce ``counts`` to `Patterns`, unless they are `Patterns` already."""
    if not isinstance(counts, Patterns):
        return Patterns.of(counts, clusters=clusters)
    if clusters is not None:
        raise InvalidInput(
            "clusters_twice",
            "clusters cannot be passed together with counts that are already a Patterns object;"
            " pass clusters to Patterns.of instead.",
        )
    return counts


def _collapse(
    row: IntArray, groups: IntArray, n_rows: int
) -> tuple["scipy.sparse.csr_array", IntArray]:
    """Return the distinct clusters and their multiplicities.

    ``row`` contains the index of each unit's distinct row, and ``groups`` its cluster. A cluster is
    returned as the number of units that have each distinct row.
    """
    blocks, multiplicities = [], []
    for members in _clusters_by_size(row, groups):
        distinct, _, counts, _ = distinct_rows(members)
        blocks.append(distinct)
        multiplicities.append(counts)
    sizes = np.concatenate([np.full(len(block), block.shape[1]) for block in blocks])
    starts = np.concatenate([[0], np.cumsum(sizes)])
    columns = np.concatenate([block.ravel() for block in blocks])
    cells = (np.ones(len(columns)), columns, starts)
    membership = scipy.sparse.csr_array(cells, shape=(len(sizes), n_rows))
    membership.sum_duplicates()
    return membership, np.concatenate(multiplicities)


def _clusters_by_size(row: IntArray, groups: IntArray) -> Iterator[IntArray]:
    """Yield, for each cluster size, the sorted row indices of its clusters (one cluster a row)."""
    ordered = row[np.lexsort((row, groups))]
    sizes = np.bincount(groups)
    starts = np.cumsum(sizes) - sizes
    for size in np.unique(sizes):
        first = starts[sizes == size]
        yield ordered[first[:, None] + np.arange(size)]
