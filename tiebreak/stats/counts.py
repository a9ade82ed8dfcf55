"""Count patterns: what the numerics run on instead of single ratings."""

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
_MOST_CODES = 2**62
_MOST_CELLS = 2**20
_MOST_VALUES = 2**16


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
    """Distinct rows in lexicographic order, each row's place among them, multiplicities, firsts."""
    codes, size = _row_codes(rows)
    if size > _MOST_CELLS:
        _, first, inverse, counted = np.unique(
            codes, return_index=True, return_inverse=True, return_counts=True
        )
        return rows[first], inverse.astype(np.int64), counted.astype(np.int64), first
    # Few possible codes are counted without a sort, which is most of the time for a million units.
    counted = np.bincount(codes, minlength=size)
    occupied = np.flatnonzero(counted)
    place, first = np.zeros(size, dtype=np.int64), np.zeros(size, dtype=np.int64)
    place[occupied] = np.arange(len(occupied))
    first[codes[::-1]] = np.arange(len(codes))[::-1]
    return rows[first[occupied]], place[codes], counted[occupied], first[occupied]


def _row_codes(rows: npt.NDArray[Number]) -> tuple[IntArray, int]:
    """One whole number a row, in the rows' lexicographic order, and how many are possible."""
    codes, size = np.zeros(len(rows), dtype=np.int64), 1
    for column in rows.T:
        values, place = _column_codes(column)
        if size * values > _MOST_CODES:
            kept, codes = np.unique(codes, return_inverse=True)
            size = len(kept)
        codes = codes * values + place
        size *= values
    return codes, size


def _column_codes(column: npt.NDArray[Number]) -> tuple[int, IntArray]:
    if len(column) and np.issubdtype(column.dtype, np.integer):
        low, high = int(column.min()), int(column.max())
        if high - low < _MOST_VALUES:
            return high - low + 1, (column - low).astype(np.int64)
    values, place = np.unique(column, return_inverse=True)
    return len(values), place.astype(np.int64)


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
        distinct, place, counted, first = distinct_rows(matrix)
        if clusters is not None:
            groups = as_groups(clusters, length=len(matrix), name="clusters")
            if len(groups) and groups.max() + 1 < len(groups):
                membership, multiplicities = _collapse(place, groups, len(distinct))
                return cls(distinct, counted, first, membership, multiplicities)
        return cls(distinct, counted, first, None, counted)

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
    """``counts`` reduced, or as they are where the caller reduced them once for many uses."""
    if not isinstance(counts, Patterns):
        return Patterns.of(counts, clusters=clusters)
    if clusters is not None:
        raise InvalidInput(
            "clusters_twice", "clusters must go to Patterns.of where counts are Patterns already."
        )
    return counts


def _collapse(place: IntArray, groups: IntArray, rows: int) -> tuple[csr_array, IntArray]:
    """Distinct clusters as numbers of units per row (D, ``rows``), and their multiplicities."""
    blocks, multiplicities = [], []
    for members in _by_size(place, groups):
        distinct, _, counted, _ = distinct_rows(members)
        blocks.append(distinct)
        multiplicities.append(counted)
    sizes = np.concatenate([np.full(len(block), block.shape[1]) for block in blocks])
    starts = np.concatenate([[0], np.cumsum(sizes)])
    columns = np.concatenate([block.ravel() for block in blocks])
    membership = csr_array((np.ones(len(columns)), columns, starts), shape=(len(sizes), rows))
    membership.sum_duplicates()
    return membership, np.concatenate(multiplicities)


def _by_size(place: IntArray, groups: IntArray) -> Iterator[IntArray]:
    """Row numbers of the clusters of each size, sorted within a cluster."""
    ordered = place[np.lexsort((place, groups))]
    sizes = np.bincount(groups)
    starts = np.cumsum(sizes) - sizes
    for size in np.unique(sizes):
        begin = starts[sizes == size]
        yield ordered[begin[:, None] + np.arange(size)]
