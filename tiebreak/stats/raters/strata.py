"""Strata, which are classes of units; empty strata are included."""

from collections.abc import Hashable, Sequence
from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

from tiebreak.errors import InvalidInput
from tiebreak.scales import Level
from tiebreak.stats.core.ranges import range_of
from tiebreak.stats.core.validation import as_counts, as_numbers
from tiebreak.stats.raters.additive import central_counts

Mask = npt.NDArray[np.bool_]

UNDEFINED = "undefined"
AGREEMENT_STRATA = ("PA=1", "0.8<=PA<1", "0.6<=PA<0.8", "PA<0.6", UNDEFINED)


@dataclass(frozen=True, eq=False)
class Stratum:
    """Class of units for which statistics are computed separately.

    Examples
    --------
    >>> Stratum("category", "news", np.array([True, False])).share
    0.5
    """

    stratifier: str
    """Name of the classification."""
    name: str
    """Name of the stratum."""
    members: Mask
    """Whether each unit is in the stratum; shape (n_units,)."""

    @property
    def n_units(self) -> int:
        """Number of units in the stratum."""
        return int(self.members.sum())

    @property
    def share(self) -> float:
        """Share of all units that are in the stratum."""
        return self.n_units / len(self.members) if len(self.members) else 0.0


def all_units(n_units: int) -> Stratum:
    """Return the stratum of all units.

    Parameters
    ----------
    n_units : int
        Number of units.

    Returns
    -------
    Stratum
        A stratum with every unit.

    Examples
    --------
    >>> all_units(3).n_units
    3
    """
    return Stratum("all", "all", np.ones(n_units, dtype=np.bool_))


def agreement_strata(counts: npt.ArrayLike, *, level: Level) -> tuple[Stratum, ...]:
    """Divide units by their percentage agreement.

    Parameters
    ----------
    counts : array_like of int, shape (n_units, n_labels)
        Number of ratings that give each unit each label.
    level : {"nominal", "ordinal", "interval", "ratio"}
        Level of measurement. Agreement is the share of ratings that equal the mode on nominal
        scales, and the lower median on all other scales.

    Returns
    -------
    tuple of Stratum
        The strata named in `AGREEMENT_STRATA`, including empty strata. Units with fewer than two
        ratings are in the stratum "undefined".

    Raises
    ------
    InvalidInput
        If the counts are not whole numbers.

    See Also
    --------
    percentage_agreement : Estimates the mean over units.

    Notes
    -----
    Strata include their lower end, and an agreement of 1 is a separate stratum (Elangovan et al.
    2025, appendix A.4). Edges are compared in whole numbers, so 3 of 5 is exactly 0.6. The
    value of α in these strata is only descriptive, because it depends on how the units were
    selected; for example, it is 1 by construction among units with full agreement.

    Examples
    --------
    >>> strata = agreement_strata([[3, 0], [2, 1], [1, 0]], level="nominal")
    >>> [stratum.n_units for stratum in strata]
    [1, 0, 1, 0, 1]
    """
    rows = as_counts(counts)
    size = rows.sum(axis=1)
    central = central_counts(rows, level=level)
    conditions = [size < 2, central == size, 5 * central >= 4 * size, 5 * central >= 3 * size]
    index = np.select(conditions, [4, 0, 1, 2], default=3)
    return _from_index("agreement", index, AGREEMENT_STRATA)


def unique_label_strata(counts: npt.ArrayLike) -> tuple[Stratum, ...]:
    """Divide units by their number of distinct labels.

    Parameters
    ----------
    counts : array_like of int, shape (n_units, n_labels)
        Number of ratings that give each unit each label.

    Returns
    -------
    tuple of Stratum
        One stratum for each number that could occur. The largest number is the number of labels, or
        the largest number of ratings of a unit if that is smaller. If there are units with fewer than
        two ratings, which cannot have two labels, they are in the stratum "undefined".

    Raises
    ------
    InvalidInput
        If the counts are not whole numbers.

    Examples
    --------
    >>> [(stratum.name, stratum.n_units) for stratum in unique_label_strata([[3, 0], [2, 1]])]
    [('1', 1), ('2', 1)]
    """
    rows = as_counts(counts)
    most = min(rows.shape[1], int(rows.sum(axis=1).max(initial=1)))
    unique = (rows > 0).sum(axis=1) * (rows.sum(axis=1) > 1)
    names = tuple(str(number) for number in range(1, max(most, 1) + 1))
    if (unique == 0).any():
        names = (*names, UNDEFINED)
    return _from_index("unique_labels", (unique - 1) % len(names), names)


def key_strata(
    stratifier: str, keys: Sequence[Hashable], *, names: Sequence[str] | None = None
) -> tuple[Stratum, ...]:
    """Divide units by a key, such as a category.

    Parameters
    ----------
    stratifier : str
        Name of the classification.
    keys : sequence of hashable, length n_units
        Key of each unit. Units whose key is None or "" are in the stratum "undefined".
    names : sequence of str, optional
        Names of all possible strata; by default, the keys that occur, in sorted order.

    Returns
    -------
    tuple of Stratum
        One stratum for each name, including empty strata.

    Raises
    ------
    InvalidInput
        If a key is not among the names.

    Examples
    --------
    >>> strata = key_strata("category", ["news", "chat", "news"])
    >>> [(stratum.name, stratum.n_units) for stratum in strata]
    [('chat', 1), ('news', 2)]
    """
    texts = [UNDEFINED if key in (None, "") else str(key) for key in keys]
    occurring = tuple(sorted(set(texts) - {UNDEFINED}))
    known = occurring if names is None else tuple(names)
    unknown = set(occurring) - set(known)
    if unknown:
        raise InvalidInput(
            "names_missing",
            "names must contain every key that occurs; it does not contain"
            f" {', '.join(sorted(unknown))}.",
        )
    if UNDEFINED in texts and UNDEFINED not in known:
        known = (*known, UNDEFINED)
    index_of = {name: index for index, name in enumerate(known)}
    return _from_index(stratifier, np.array([index_of[text] for text in texts], dtype=int), known)


def separability_strata(delta: npt.ArrayLike, edges: npt.ArrayLike) -> tuple[Stratum, ...]:
    """Divide units by range of separability.

    Parameters
    ----------
    delta : array_like of float, shape (n_units,)
        Separability of each unit's instance. Units whose separability is NaN or outside the edges
        are in the stratum "undefined".
    edges : array_like of float, shape (n_ranges + 1,)
        Edges of the ranges. Each range includes its lower end; the last one includes both ends.

    Returns
    -------
    tuple of Stratum
        One stratum for each range, including empty ranges.

    Raises
    ------
    InvalidInput
        If an edge is not finite.

    See Also
    --------
    range_edges : Computes edges of ranges of equal width.

    Examples
    --------
    >>> [stratum.name for stratum in separability_strata([0.1, 0.9], [0.0, 0.5, 1.0])]
    ['0.0000<=separability<0.5000', '0.5000<=separability<=1.0000']
    """
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
    """Return one stratum for each name, given each unit's index in ``names``."""
    return tuple(Stratum(stratifier, name, index == i) for i, name in enumerate(names))
