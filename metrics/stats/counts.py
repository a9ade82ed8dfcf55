"""Count patterns: what the numerics run on instead of single ratings."""

from collections.abc import Iterator
from dataclasses import dataclass
from typing import Literal, Self, TypeVar

import numpy as np
import numpy.typing as npt

from metrics.stats.validation import (
    FloatArray,
    IntArray,
    as_codes,
    as_counts,
    as_groups,
    check_same_length,
)

Number = TypeVar("Number", np.int64, np.float64)
Resampled = Literal["unit", "instance"]
_MOST_CODES = 2**62
_MOST_ELEMENTS = 2**22


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


def distinct_rows(rows: npt.NDArray[Number]) -> tuple[npt.NDArray[Number], IntArray, IntArray]:
    """Distinct rows in lexicographic order, each row's place among them, multiplicities."""
    codes = np.zeros(len(rows), dtype=np.int64)
    size = 1
    for column in rows.T:
        values, place = np.unique(column, return_inverse=True)
        if size * len(values) > _MOST_CODES:
            kept, codes = np.unique(codes, return_inverse=True)
            size = len(kept)
        codes = codes * len(values) + place
        size *= len(values)
    _, first, inverse, counted = np.unique(
        codes, return_index=True, return_inverse=True, return_counts=True
    )
    return rows[first], inverse.astype(np.int64), counted.astype(np.int64)


@dataclass(frozen=True, eq=False)
class Patterns:
    """Units reduced to their distinct rows, and what is resampled.

    ``rows`` (P, C) are the distinct unit rows, sorted; ``unit_counts`` (P,) say how many units
    have each. A cluster (one unit, or one instance with several) is the multiset of its units'
    rows, and identical clusters are collapsed: ``members[i]`` (D_i, s_i) holds the row numbers of
    the distinct clusters of s_i units, and ``multiplicities`` (D,) how often each distinct
    cluster occurs, over all i in order. The same units give the same object in any order.
    """

    rows: IntArray
    unit_counts: IntArray
    members: tuple[IntArray, ...]
    multiplicities: IntArray
    resampled: Resampled

    @classmethod
    def of(cls, rows: npt.ArrayLike, *, clusters: npt.ArrayLike | None = None) -> Self:
        """Reduce a (units, C) matrix of counts; ``clusters`` names each unit's instance.

        Where every unit has an instance of its own, units are what is resampled.
        """
        matrix = as_counts(rows)
        distinct, place, counted = distinct_rows(matrix)
        if clusters is not None:
            groups = as_groups(clusters, length=len(matrix), name="clusters")
            if len(groups) and groups.max() + 1 < len(groups):
                members, multiplicities = _collapse(place, groups)
                return cls(distinct, counted, members, multiplicities, "instance")
        alone = np.arange(len(distinct), dtype=np.int64)[:, None]
        return cls(distinct, counted, (alone,), counted, "unit")

    @property
    def n_columns(self) -> int:
        return int(self.rows.shape[1])

    @property
    def n_units(self) -> int:
        return int(self.unit_counts.sum())

    @property
    def n_clusters(self) -> int:
        return int(self.multiplicities.sum())

    def sums(self, features: FloatArray) -> FloatArray:
        """Per-row ``features`` (P, S) summed over each distinct cluster: (D, S)."""
        return np.concatenate([_summed(features, members) for members in self.members])


def as_patterns(
    counts: "npt.ArrayLike | Patterns", *, clusters: npt.ArrayLike | None = None
) -> Patterns:
    """``counts`` reduced, or as they are where the caller reduced them once for many uses."""
    if not isinstance(counts, Patterns):
        return Patterns.of(counts, clusters=clusters)
    if clusters is not None:
        raise ValueError("clusters must go to Patterns.of where counts are Patterns already.")
    return counts


def _collapse(place: IntArray, groups: IntArray) -> tuple[tuple[IntArray, ...], IntArray]:
    """Clusters as sorted multisets of row numbers, those of one size together."""
    members, multiplicities = [], []
    for matrix in _by_size(place, groups):
        distinct, _, counted = distinct_rows(matrix)
        members.append(distinct)
        multiplicities.append(counted)
    return tuple(members), np.concatenate(multiplicities)


def _by_size(place: IntArray, groups: IntArray) -> Iterator[IntArray]:
    ordered = place[np.lexsort((place, groups))]
    sizes = np.bincount(groups)
    starts = np.cumsum(sizes) - sizes
    for size in np.unique(sizes):
        begin = starts[sizes == size]
        yield ordered[begin[:, None] + np.arange(size)]


def _summed(features: FloatArray, members: IntArray) -> FloatArray:
    if members.shape[1] == 1:
        return features[members[:, 0]]
    # Cut into blocks, so that memory does not grow with clusters × units × features.
    rows = max(1, _MOST_ELEMENTS // (members.shape[1] * max(1, features.shape[1])))
    blocks = [members[start : start + rows] for start in range(0, len(members), rows)]
    return np.concatenate([features[block].sum(axis=1) for block in blocks])
