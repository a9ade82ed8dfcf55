"""Comparisons of any number of systems as games between two systems, with counts of outcomes."""

from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Self

import numpy as np
import numpy.typing as npt
import scipy

from tiebreak.errors import InvalidInput
from tiebreak.stats.core.validation import (
    IntArray,
    as_counts,
    check_same_length,
)

WIN, TIE, LOSS = range(3)


class DisconnectedError(InvalidInput):
    """Error raised if some groups of systems were never compared with one another."""


@dataclass(frozen=True, eq=False)
class Games:
    """Rated units as games between two systems.

    ``first`` and ``second`` contain, for each unit, the indices of its two systems in ``names``;
    the name of the first system is alphabetically before that of the second. ``counts`` has three
    columns: ratings that prefer the first system, ties, and ratings that prefer the second system.
    ``units`` contains the index of each unit in the input.
    """

    names: tuple[str, ...]
    first: IntArray
    second: IntArray
    counts: IntArray
    units: IntArray

    @classmethod
    def of(cls, counts: npt.ArrayLike, *, system_a: Sequence[str], system_b: Sequence[str]) -> Self:
        """Return the games of the rated units; raise an error if they are not connected."""
        games = cls.unchecked(counts, system_a=system_a, system_b=system_b)
        _check_connected(games)
        return games

    @classmethod
    def unchecked(
        cls, counts: npt.ArrayLike, *, system_a: Sequence[str], system_b: Sequence[str]
    ) -> Self:
        """Return the games of the rated units, between groups of systems that may be separate."""
        rows = as_counts(counts)
        check_outcomes(rows.shape[1])
        names, a, b = _coded(system_a, system_b)
        check_same_length(counts=rows, system_a=a, system_b=b)
        check_differ(a == b, system_a)
        units = np.flatnonzero(rows.sum(axis=1))
        used, codes = np.unique(np.concatenate([a[units], b[units]]), return_inverse=True)
        code_a, code_b = np.split(codes.astype(np.int64), 2)
        is_swapped = code_a > code_b
        oriented = np.where(is_swapped[:, None], rows[units][:, ::-1], rows[units])
        first, second = np.minimum(code_a, code_b), np.maximum(code_a, code_b)
        return cls(tuple(names[code] for code in used), first, second, oriented, units)

    def involving(self, system: int) -> int:
        """Count the rated units that compare this system with another one."""
        return int(self._units_by_system[system])

    @cached_property
    def _units_by_system(self) -> IntArray:
        return np.bincount(np.concatenate([self.first, self.second]), minlength=len(self.names))


def check_outcomes(columns: int, *, name: str = "counts") -> None:
    if columns != 3:
        raise InvalidInput(
            "wrong_shape",
            f"{name} must have three columns (A preferred, tie, B preferred); it has {columns}.",
        )


def check_differ(is_same: npt.NDArray[np.bool_], system_a: Sequence[str]) -> None:
    """Raise `InvalidInput` if the systems of a unit are the same."""
    if is_same.any():
        unit = int(np.argmax(is_same))
        raise InvalidInput(
            "same_system",
            f"system_a and system_b must differ in every unit; in unit {unit}, both are"
            f" {str(system_a[unit])!r}.",
        )


def _coded(
    system_a: Sequence[str], system_b: Sequence[str]
) -> tuple[list[str], IntArray, IntArray]:
    """Return all names in alphabetical order, and the systems of each unit as their indices."""
    names = sorted({*map(str, system_a), *map(str, system_b)})
    index = {name: code for code, name in enumerate(names)}
    a, b = (
        np.fromiter(map(index.__getitem__, map(str, side)), np.int64, len(side))
        for side in (system_a, system_b)
    )
    return names, a, b


def _check_connected(games: Games) -> None:
    size = len(games.names)
    cells = (np.ones(len(games.first)), (games.first, games.second))
    edges = scipy.sparse.csr_array(cells, shape=(size, size))
    n_components, component_of = scipy.sparse.csgraph.connected_components(edges, directed=False)
    if n_components > 1:
        names = np.array(games.names)
        groups = [", ".join(names[component_of == index]) for index in range(n_components)]
        raise DisconnectedError(
            "disconnected",
            "The systems cannot be put on one scale because these groups of systems were never"
            f" compared with one another: {'; '.join(groups)}. Compare systems from different"
            " groups, or rank each group separately.",
        )
