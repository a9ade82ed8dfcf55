"""Columns of ratings that store each distinct value once, and a small number for each rating.

A study with a million ratings has few annotators, labels and instances. Whatever is computed from a
value is computed once for each distinct value, and ratings are sorted and compared by numbers.
"""

from collections.abc import Iterable
from dataclasses import dataclass
from functools import cached_property
from typing import Any

import numpy as np
from numpy.typing import NDArray

from tiebreak import optional

Codes = NDArray[np.integer[Any]]


@dataclass(frozen=True, eq=False)
class CodedColumn:
    """A column with a code for each rating, which is the index of its value in ``distinct``.

    ``stored`` has the distinct values as an array, or as an Arrow array that is turned into Python
    objects only if someone asks for them. A distinct value may be left without ratings.
    """

    codes: Codes
    stored: Any

    @classmethod
    def of(cls, values: Iterable[Any]) -> "CodedColumn":
        """Return the column of some values. The number 1 and the text "1" are distinct."""
        index: dict[tuple[type, Any], int] = {}
        codes = [index.setdefault((type(value), value), len(index)) for value in values]
        return cls.from_codes(np.array(codes, dtype=np.int64), [value for _, value in index])

    @classmethod
    def from_codes(cls, codes: Codes, distinct: Any) -> "CodedColumn":
        """Return a column with codes in as few bytes as they need."""
        if isinstance(distinct, list):
            distinct = as_objects(distinct)
        return cls(codes.astype(np.min_scalar_type(max(len(distinct) - 1, 0))), distinct)

    @classmethod
    def constant(cls, value: Any, length: int) -> "CodedColumn":
        """Return a column with the same value for all ratings."""
        distinct = np.array([value]) if isinstance(value, float | bool) else as_objects([value])
        return cls(np.zeros(length, dtype=np.uint8), distinct)

    def __len__(self) -> int:
        return len(self.codes)

    def __getitem__(self, rows: Any) -> "CodedColumn":
        """Return the column of some ratings."""
        return CodedColumn(self.codes[rows], self.stored)

    def joined(self, other: "CodedColumn") -> "CodedColumn":
        """Return the column of these ratings and then of all others."""
        both = CodedColumn.of([*self.distinct, *other.distinct])
        others = both.codes[len(self.distinct) :]
        codes = np.concatenate([both.codes[self.codes], others[other.codes]])
        return CodedColumn.from_codes(codes, both.stored)

    @cached_property
    def distinct(self) -> NDArray[Any]:
        """The distinct values."""
        if isinstance(self.stored, np.ndarray):
            return self.stored
        return np.asarray(self.stored.to_numpy(zero_copy_only=False), dtype=object)

    @property
    def values(self) -> NDArray[Any]:
        """The value of each rating; read-only, as what is written into it would be lost."""
        values = np.asarray(self.distinct[self.codes])
        values.setflags(write=False)
        return values

    @property
    def used(self) -> NDArray[np.int64]:
        """Codes that some rating has, in ascending order."""
        return np.flatnonzero(np.bincount(self.codes, minlength=len(self.stored)))

    @property
    def in_order(self) -> list[Any]:
        """Distinct values of the ratings, by first appearance."""
        first = np.full(len(self.stored), len(self), dtype=np.int64)
        first[self.codes[::-1]] = np.arange(len(self))[::-1]
        return [self.distinct[code] for code in np.argsort(first)[: len(self.used)]]

    def equals(self, value: Any) -> NDArray[np.bool_]:
        """Return whether each rating has a value."""
        return np.asarray((self.distinct == value).astype(bool)[self.codes])

    def mapped(self, values: NDArray[Any]) -> NDArray[Any]:
        """Return for each rating what ``values`` has for its distinct value."""
        return np.asarray(values[self.codes])

    def ranked(self) -> tuple[NDArray[np.str_], NDArray[np.int64]]:
        """Return the texts of the ratings in order, and the index of each rating's text.

        The result is the same as `np.unique` of the texts, with ``return_inverse``.
        """
        used = self.used
        if not isinstance(self.stored, np.ndarray):
            # Arrow sorts by the bytes of UTF-8, whose order is the same as the characters'.
            compute = optional.load("pyarrow.compute")
            chosen = self.stored.take(used)
            order = compute.array_sort_indices(chosen).to_numpy()
            texts = np.asarray(chosen.take(order).to_pylist(), dtype=str)
            position = np.empty(len(used), dtype=np.int64)
            position[order] = np.arange(len(used))
        else:
            texts, position = np.unique(self.distinct[used].astype(str), return_inverse=True)
        rank = np.zeros(len(self.stored), dtype=np.int64)
        rank[used] = position
        return texts, rank[self.codes]


Column = NDArray[Any] | CodedColumn


def as_coded(column: Column) -> CodedColumn:
    """Return the column with codes."""
    return column if isinstance(column, CodedColumn) else CodedColumn.of(column.tolist())


def as_objects(values: list[Any]) -> NDArray[Any]:
    """Return an array of Python objects, even if they are lists."""
    array = np.empty(len(values), dtype=object)
    array[:] = values
    return array


def combined(columns: Iterable[Codes]) -> NDArray[np.int64]:
    """Return one number for each rating, which is equal for ratings with the same codes."""
    key: NDArray[np.int64] | None = None
    size = 1
    for codes in columns:
        n = int(codes.max(initial=0)) + 1
        if key is None:
            key, size = codes.astype(np.int64), n
            continue
        if n == 1:
            continue
        if size > 2**62 // n:
            distinct, key = np.unique(key, return_inverse=True)
            size = len(distinct)
        key, size = key * n + codes, size * n
    return np.zeros(0, dtype=np.int64) if key is None else key
