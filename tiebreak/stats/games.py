"""Comparisons of any number of systems as games: the two systems, and counts of outcomes."""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Self

import numpy as np
import numpy.typing as npt
from scipy.sparse import csr_array
from scipy.sparse.csgraph import connected_components

from tiebreak.errors import InvalidInput
from tiebreak.stats.validation import (
    IntArray,
    as_counts,
    check_same_length,
)

WIN, TIE, LOSS = range(3)


class DisconnectedError(InvalidInput):
    """The graph of comparisons is not connected."""


@dataclass(frozen=True, eq=False)
class Games:
    """Rated units as games: ``first`` and ``second`` (U,) are indices of ``names``.

    ``first`` is alphabetically before ``second``. ``counts`` (U, 3) are ratings for the first, ties
    and ratings for the second; ``units`` (U,) are the indices of these units in the input.
    """

    names: tuple[str, ...]
    first: IntArray
    second: IntArray
    counts: IntArray
    units: IntArray

    @classmethod
    def of(cls, counts: npt.ArrayLike, *, system_a: Sequence[str], system_b: Sequence[str]) -> Self:
        """Drop units without ratings; raise if the comparisons are not connected."""
        rows = as_counts(counts)
        if rows.shape[1] != 3:
            raise InvalidInput(
                "wrong_shape", "counts must have three columns: A preferred, tie, B preferred."
            )
        a, b = np.asarray(system_a, dtype=str), np.asarray(system_b, dtype=str)
        check_same_length(counts=rows, system_a=a, system_b=b)
        if (a == b).any():
            raise InvalidInput(
                "same_system",
                "system_a and system_b must differ: a system is not compared with itself.",
            )
        units = np.flatnonzero(rows.sum(axis=1))
        names, codes = np.unique(np.concatenate([a[units], b[units]]), return_inverse=True)
        code_a, code_b = np.split(codes.astype(np.int64), 2)
        is_swapped = code_a > code_b
        oriented = np.where(is_swapped[:, None], rows[units][:, ::-1], rows[units])
        first, second = np.minimum(code_a, code_b), np.maximum(code_a, code_b)
        games = cls(tuple(names.tolist()), first, second, oriented, units)
        _check_connected(games)
        return games

    def involving(self, system: int) -> int:
        """How many rated units compare this system."""
        return int(np.count_nonzero((self.first == system) | (self.second == system)))


def _check_connected(games: Games) -> None:
    size = len(games.names)
    edges = csr_array((np.ones(len(games.first)), (games.first, games.second)), shape=(size, size))
    n_components, component_of = connected_components(edges, directed=False)
    if n_components > 1:
        names = np.array(games.names)
        groups = [", ".join(names[component_of == index]) for index in range(n_components)]
        raise DisconnectedError(
            "disconnected",
            "The systems cannot be put on one scale, because these groups were never compared with"
            f" one another: {'; '.join(groups)}. Compare systems across the groups, or rank each"
            " group separately.",
        )
