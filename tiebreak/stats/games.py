"""Comparisons of any number of systems as games: who met, and what each rating said."""

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
    """The systems fall into groups that were never compared with one another."""


@dataclass(frozen=True, eq=False)
class Games:
    """Rated units: ``first`` and ``second`` (U,) number the systems in ``names``.

    ``counts`` (U, 3) are ratings for the first, ties, ratings for the second, where ``first`` is
    before ``second`` in the alphabet; ``kept`` (U,) are the places of these units in the input.
    """

    names: tuple[str, ...]
    first: IntArray
    second: IntArray
    counts: IntArray
    kept: IntArray

    @classmethod
    def of(cls, counts: npt.ArrayLike, *, system_a: Sequence[str], system_b: Sequence[str]) -> Self:
        """Units without a rating leave; a graph in pieces is refused by the pieces' names."""
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
        kept = np.flatnonzero(rows.sum(axis=1))
        names, codes = np.unique(np.concatenate([a[kept], b[kept]]), return_inverse=True)
        one, other = np.split(codes.astype(np.int64), 2)
        turned = one > other
        oriented = np.where(turned[:, None], rows[kept][:, ::-1], rows[kept])
        low, high = np.minimum(one, other), np.maximum(one, other)
        games = cls(tuple(names.tolist()), low, high, oriented, kept)
        _check_connected(games)
        return games

    def involving(self, system: int) -> int:
        """How many rated units compare this system."""
        return int(np.count_nonzero((self.first == system) | (self.second == system)))


def _check_connected(games: Games) -> None:
    size = len(games.names)
    met = csr_array((np.ones(len(games.first)), (games.first, games.second)), shape=(size, size))
    pieces, of_system = connected_components(met, directed=False)
    if pieces > 1:
        groups = [
            ", ".join(
                name for name, own in zip(games.names, of_system, strict=True) if own == piece
            )
            for piece in range(pieces)
        ]
        raise DisconnectedError(
            "disconnected",
            "The comparisons fall into groups that never meet, so that they share no scale: "
            f"{'; '.join(groups)}. Compare systems across the groups, or rank each group alone.",
        )
