"""Strata: classes of units. Empty strata are included."""

from collections.abc import Hashable, Sequence
from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

from tiebreak.errors import InvalidInput
from tiebreak.scales import Level
from tiebreak.stats.agreement_statistics import central_counts
from tiebreak.stats.separability import range_of
from tiebreak.stats.validation import as_counts, as_numbers

Mask = npt.NDArray[np.bool_]

UNDEFINED = "undefined"
AGREEMENT_STRATA = ("PA=1", "0.8<=PA<1", "0.6<=PA<0.8", "PA<0.6", UNDEFINED)


@dataclass(frozen=True, eq=False)
class Stratum:
    """Units of one class: ``members`` is a mask over all units, ``share`` what part they are."""

    stratifier: str
    name: str
    members: Mask

    @property
    def n_units(self) -> int:
        return int(self.members.sum())

    @property
    def share(self) -> float:
        return self.n_units / len(self.members) if len(self.members) else 0.0


def all_units(n_units: int) -> Stratum:
    return Stratum("all", "all", np.ones(n_units, dtype=np.bool_))


def agreement_strata(counts: npt.ArrayLike, *, level: Level) -> tuple[Stratum, ...]:
    """Units by their percentage agreement; *undefined* with fewer than two ratings.

    Edges are compared in whole numbers, so that 3 of 5 is exactly 0.6.
    Source: Beyond Correlation A.4; half-open, with 1 on its own.
    """
    rows = as_counts(counts)
    size = rows.sum(axis=1)
    central = central_counts(rows, level=level)
    conditions = [size < 2, central == size, 5 * central >= 4 * size, 5 * central >= 3 * size]
    index = np.select(conditions, [4, 0, 1, 2], default=3)
    return _from_index("agreement", index, AGREEMENT_STRATA)


def unique_label_strata(counts: npt.ArrayLike) -> tuple[Stratum, ...]:
    """Units by their number of distinct labels, from 1 to the most that could occur.

    That is the labels of the scale, or the most ratings of a unit where those are fewer. Units
    without ratings, if there are any, are *undefined*.
    """
    rows = as_counts(counts)
    most = min(rows.shape[1], int(rows.sum(axis=1).max(initial=1)))
    unique = (rows > 0).sum(axis=1)
    names = tuple(str(number) for number in range(1, max(most, 1) + 1))
    if (unique == 0).any():
        names = (*names, UNDEFINED)
    return _from_index("unique_labels", (unique - 1) % len(names), names)


def key_strata(
    stratifier: str, keys: Sequence[Hashable], *, names: Sequence[str] | None = None
) -> tuple[Stratum, ...]:
    """Units by any given key, one a unit; ``None`` and "" are *undefined*.

    ``names`` lists the strata that are possible; those that occur, sorted, by default.
    """
    texts = [UNDEFINED if key in (None, "") else str(key) for key in keys]
    occurring = tuple(sorted(set(texts) - {UNDEFINED}))
    known = occurring if names is None else tuple(names)
    unknown = set(occurring) - set(known)
    if unknown:
        raise InvalidInput(
            "names_missing", f"names must list every key; missing: {', '.join(sorted(unknown))}."
        )
    if UNDEFINED in texts and UNDEFINED not in known:
        known = (*known, UNDEFINED)
    index_of = {name: index for index, name in enumerate(known)}
    return _from_index(stratifier, np.array([index_of[text] for text in texts], dtype=int), known)


def separability_strata(delta: npt.ArrayLike, edges: npt.ArrayLike) -> tuple[Stratum, ...]:
    """Units by separability range; NaN is *undefined*. The last range includes its end."""
    bounds = as_numbers(edges, name="edges")
    index = range_of(delta, bounds)
    ends = [*("<" for _ in bounds[2:]), "<="][: max(len(bounds) - 1, 0)]
    names = [
        f"{low:.4f}<=separability{end}{high:.4f}"
        for low, high, end in zip(bounds[:-1], bounds[1:], ends, strict=True)
    ]
    if (index < 0).any():
        names.append(UNDEFINED)
    return _from_index("separability", index % max(len(names), 1), names)


def _from_index(
    stratifier: str, index: npt.NDArray[np.int64], names: Sequence[str]
) -> tuple[Stratum, ...]:
    """One stratum per name, from each unit's index into ``names``."""
    return tuple(Stratum(stratifier, name, index == i) for i, name in enumerate(names))
