"""Agreement among interchangeable raters, from units × labels counts."""

import math
from collections.abc import Callable
from typing import TypedDict, Unpack

import numpy as np
from numpy.typing import ArrayLike, NDArray

from metrics.stats.bootstrap import Array, Statistic, Value, cluster_sums, estimate
from metrics.stats.counts import distinct_rows
from metrics.stats.leave_one_out import inner_features
from metrics.stats.results import Estimate
from metrics.stats.scales import Level
from metrics.stats.validation import check_counts, check_level, check_values

AGREEMENT = (
    "krippendorff_alpha",
    "percentage_agreement",
    "randolph_kappa",
    "fleiss_kappa",
    "leave_one_out",
)
NO_PAIRS = "no unit has two ratings"
NO_VARIATION = "one label only: nothing varies, so agreement beyond chance is undefined"


class Options(TypedDict, total=False):
    """The keyword options of every agreement statistic; see `agreement`."""

    level: str
    values: ArrayLike | None
    labels_of_scale: int | None
    clusters: ArrayLike | None
    replicates: int
    confidence_level: float
    rng: np.random.Generator | None
    batch: int | None


def agreement(
    counts: ArrayLike,
    *,
    level: str = "nominal",
    values: ArrayLike | None = None,
    labels_of_scale: int | None = None,
    clusters: ArrayLike | None = None,
    replicates: int = 10_000,
    confidence_level: float = 0.95,
    rng: np.random.Generator | None = None,
    batch: int | None = None,
) -> dict[str, Estimate]:
    """All agreement statistics of a set of units, on the same bootstrap replicates.

    Parameters
    ----------
    counts : (U units, L labels) whole numbers
        How often each label was given to each unit, labels in their order. A missing rating is
        one that is not counted.
    level : {"nominal", "ordinal", "interval", "ratio"}
        Level of measurement, for Krippendorff's α and for which label a unit agrees on.
    values : (L,) increasing numbers
        The labels' numbers, needed for interval and ratio.
    labels_of_scale : int
        k in Randolph's κ; the number of columns unless given.
    clusters : (U,) codes
        Units with the same code are resampled together.

    Returns
    -------
    dict of Estimate, by the names in `AGREEMENT`; `n` counts units with at least two ratings.

    Examples
    --------
    >>> found = agreement([[2, 0], [0, 2], [1, 1]], replicates=0)
    >>> round(found["percentage_agreement"].value, 4)
    0.8333
    """
    matrix, checked = check_counts(counts), check_level(level)
    patterns = distinct_rows(matrix)
    features, columns = agreement_features(patterns.rows, ordered=checked != "nominal")
    statistics = agreement_statistics(
        columns,
        n=int((matrix.sum(axis=1) >= 2).sum()),
        level=checked,
        values=check_values(values, matrix.shape[1], checked),
        labels_of_scale=labels_of_scale or matrix.shape[1],
    )
    return estimate(
        cluster_sums(features, patterns, clusters),
        statistics,
        replicates=replicates,
        confidence_level=confidence_level,
        rng=rng,
        batch=batch,
    )


def krippendorff_alpha(counts: ArrayLike, **options: Unpack[Options]) -> Estimate:
    """Krippendorff's α = 1 − D_o / D_e from the coincidences of paired ratings.

    Missing ratings are allowed; units with fewer than two do not count. One observed label gives
    NaN: nothing varies. A single unit gives the formula's value, with n = 1. Options as
    `agreement`.

    Source: Krippendorff 2011, Computing Krippendorff's Alpha-Reliability, sections C and D.

    Examples
    --------
    >>> round(krippendorff_alpha([[2, 0], [0, 2], [1, 1]], replicates=0).value, 4)
    0.4444
    """
    return agreement(counts, **options)["krippendorff_alpha"]


def percentage_agreement(counts: ArrayLike, **options: Unpack[Options]) -> Estimate:
    """Mean over units of the share of ratings with the modal label.

    With an ordered level, the share equal to the lower median. One rating: the unit is left out.

    Source: Beyond Correlation, appendix A.4 (eq. 3 there gives 0 when no label repeats; this is
    the share, as the published code has it).
    """
    return agreement(counts, **options)["percentage_agreement"]


def randolph_kappa(counts: ArrayLike, **options: Unpack[Options]) -> Estimate:
    """Randolph's free-marginal κ = (P̄ − 1/k) / (1 − 1/k), k labels of the *scale*.

    Set `labels_of_scale` to the number of observed labels to reproduce tables made that way; a
    scale of one label gives NaN.

    Source: Randolph 2005, Free-marginal multirater kappa.
    """
    return agreement(counts, **options)["randolph_kappa"]


def fleiss_kappa(counts: ArrayLike, **options: Unpack[Options]) -> Estimate:
    """Fleiss' κ with unequal numbers of ratings, through each unit's share of agreeing pairs.

    Source: Fleiss 1971, eqs. 2–7, marginals over the ratings of units with at least two.
    """
    return agreement(counts, **options)["fleiss_kappa"]


def cohen_kappa(first: ArrayLike, second: ArrayLike) -> Estimate:
    """Cohen's κ of two named raters on the units both rated.

    Parameters
    ----------
    first, second : (U,) labels
        One label a unit; NaN or None means that the rater gave none.

    Source: Cohen 1960, eq. 1. NaN where chance agreement is 1.

    Examples
    --------
    >>> cohen_kappa([1, 1, 2, 2], [1, 1, 2, 1]).value
    0.5
    """
    a, b = np.asarray(first, dtype=object), np.asarray(second, dtype=object)
    if a.shape != b.shape or a.ndim != 1:
        raise ValueError(
            f"first and second must be two lists of one length, not {a.shape}, {b.shape}"
        )
    both = [(x, y) for x, y in zip(a, b, strict=True) if not (_is_missing(x) or _is_missing(y))]
    names = sorted({label for pair in both for label in pair}, key=str)
    code = {name: index for index, name in enumerate(names)}
    table = np.zeros((len(names), len(names)))
    for x, y in both:
        table[code[x], code[y]] += 1
    with np.errstate(all="ignore"):
        value = float(cohen(table.reshape(-1))) if names else math.nan
    reason = (
        None if math.isfinite(value) else (NO_VARIATION if both else "no unit was rated by both")
    )
    return Estimate(value, n=len(both), reason=reason)


def _is_missing(label: object) -> bool:
    return label is None or (isinstance(label, float) and math.isnan(label))


def agreement_features(
    counts: NDArray[np.int64], *, ordered: bool
) -> tuple[Array, dict[str, slice]]:
    """What each count row (P, L) adds to the sums of all agreement statistics.

    Returns the features and the columns of each statistic. Rows with fewer than two ratings add
    nothing: they say nothing about agreement.
    """
    paired = (counts.sum(axis=1) >= 2).astype(float)
    pairs = pair_agreement(counts) * paired
    share = modal_share(counts, ordered=ordered) * paired
    return stack_blocks(
        {
            "krippendorff_alpha": coincidences(counts).reshape(len(counts), counts.shape[1] ** 2),
            "percentage_agreement": np.column_stack([share, paired]),
            "randolph_kappa": np.column_stack([pairs, paired]),
            "fleiss_kappa": np.column_stack([pairs, paired, counts * paired[:, None]]),
            "leave_one_out": inner_features(counts),
        }
    )


def agreement_statistics(
    columns: dict[str, slice], *, n: int, level: Level, values: Array, labels_of_scale: int
) -> dict[str, Statistic]:
    """The agreement statistics over features made by `agreement_features`."""
    functions: dict[str, tuple[Value, str]] = {
        "krippendorff_alpha": (alpha_of(level, values), NO_VARIATION),
        "percentage_agreement": (ratio, NO_PAIRS),
        "randolph_kappa": (randolph_of(labels_of_scale), NO_VARIATION),
        "fleiss_kappa": (fleiss, NO_VARIATION),
        "leave_one_out": (ratio, NO_PAIRS),
    }
    return {
        name: Statistic(columns[name], function, reason if n else NO_PAIRS, n)
        for name, (function, reason) in functions.items()
    }


def stack_blocks(blocks: dict[str, Array]) -> tuple[Array, dict[str, slice]]:
    """Put feature blocks side by side and say where each one is."""
    columns, start = {}, 0
    for name, block in blocks.items():
        columns[name] = slice(start, start + block.shape[1])
        start += block.shape[1]
    return np.concatenate(list(blocks.values()), axis=1).astype(float), columns


def coincidences(counts: NDArray[np.int64]) -> Array:
    """Coincidences (P, L, L) of each count row: ordered pairs of its ratings over m − 1."""
    n = counts.astype(float)
    rated = n.sum(axis=1)
    pairs = n[:, :, None] * n[:, None, :] - np.eye(n.shape[1]) * n[:, :, None]
    weight = np.where(rated >= 2, 1 / np.maximum(rated - 1, 1), 0.0)
    return np.asarray(pairs * weight[:, None, None])


def pair_agreement(counts: NDArray[np.int64]) -> Array:
    """The share (P,) of a row's pairs of ratings that agree; 0 where there is no pair."""
    rated = counts.sum(axis=1)
    agreeing = (counts * (counts - 1)).sum(axis=1)
    return np.asarray(agreeing / np.maximum(rated * (rated - 1), 1), dtype=float)


def modal_share(counts: NDArray[np.int64], *, ordered: bool) -> Array:
    """The share (P,) of ratings with the modal label, or with the lower median; 0 if unrated."""
    rated = np.maximum(counts.sum(axis=1), 1)
    if not ordered:
        return np.asarray(counts.max(axis=1, initial=0) / rated, dtype=float)
    at_median = np.take_along_axis(counts, lower_median(counts)[:, None], axis=1)[:, 0]
    return np.asarray(at_median / rated, dtype=float)


def lower_median(counts: NDArray[np.int64]) -> NDArray[np.int64]:
    """The index (P,) of each row's lower median label, always one that was given."""
    cumulative = counts.cumsum(axis=1)
    half = (cumulative[:, -1:] + 1) // 2
    return np.asarray((cumulative >= np.maximum(half, 1)).argmax(axis=1), dtype=np.int64)


def ratio(sums: Array) -> Array:
    """The first sum over the second."""
    return np.asarray(sums[..., 0] / np.where(sums[..., 1] > 0, sums[..., 1], np.nan))


def alpha_of(level: Level, values: Array) -> Value:
    """α as a function of summed coincidences (..., L·L)."""
    squared = _DISTANCES[level]

    def alpha(sums: Array) -> Array:
        size = len(values)
        table = sums.reshape((*sums.shape[:-1], size, size))
        marginal = table.sum(axis=-1)
        total = marginal.sum(axis=-1)
        distance = squared(values, marginal)
        observed = (table * distance).sum(axis=(-1, -2))
        expected = np.einsum("...c,...k,...ck->...", marginal, marginal, distance)
        varies = expected > 1e-12 * np.maximum(total, 1) ** 2
        return np.asarray(1 - (total - 1) * observed / np.where(varies, expected, np.nan))

    return alpha


def _nominal(values: Array, marginal: Array) -> Array:
    return np.broadcast_to(1 - np.eye(len(values)), (*marginal.shape, len(values)))


def _ordinal(_: Array, marginal: Array) -> Array:
    # The ratings between two labels, each end by half, is a difference of mid-ranks. Divided by
    # the total, which leaves α as it is and keeps the test for "no variation" on one scale.
    total = np.maximum(marginal.sum(axis=-1, keepdims=True), 1e-300)
    midranks = (marginal.cumsum(axis=-1) - marginal / 2) / total
    return np.asarray((midranks[..., :, None] - midranks[..., None, :]) ** 2)


def _interval(values: Array, marginal: Array) -> Array:
    span = max(float(values[-1] - values[0]), 1e-300) if len(values) else 1.0
    distance = ((values[:, None] - values[None, :]) / span) ** 2
    return np.broadcast_to(distance, (*marginal.shape, len(values)))


def _ratio(values: Array, marginal: Array) -> Array:
    total = np.maximum(np.abs(values[:, None]) + np.abs(values[None, :]), 1e-300)
    distance = ((values[:, None] - values[None, :]) / total) ** 2
    return np.broadcast_to(distance, (*marginal.shape, len(values)))


_DISTANCES: dict[Level, Callable[[Array, Array], Array]] = {
    "nominal": _nominal,
    "ordinal": _ordinal,
    "interval": _interval,
    "ratio": _ratio,
}


def randolph_of(labels: int) -> Value:
    """Randolph's κ as a function of (sum of pair agreement, number of units)."""
    chance = 1 / max(labels, 1)

    def randolph(sums: Array) -> Array:
        return np.asarray((ratio(sums) - chance) / (1 - chance if chance < 1 else np.nan))

    return randolph


def fleiss(sums: Array) -> Array:
    """Fleiss' κ as a function of (sum of pair agreement, units, label counts…)."""
    return beyond_chance(ratio(sums), squared_shares(sums[..., 2:]))


def cohen(sums: Array) -> Array:
    """Cohen's κ as a function of a summed table (..., L·L) of first × second."""
    table = square(sums)
    total = table.sum(axis=(-1, -2))
    total = np.where(total > 0, total, np.nan)
    observed = np.trace(table, axis1=-2, axis2=-1) / total
    chance = (table.sum(axis=-1) * table.sum(axis=-2)).sum(axis=-1) / total**2
    return beyond_chance(observed, chance)


def squared_shares(marginal: Array) -> Array:
    """Σ p² over the last axis: how often two random labels agree."""
    total = marginal.sum(axis=-1, keepdims=True)
    return np.asarray(((marginal / np.where(total > 0, total, np.nan)) ** 2).sum(axis=-1))


def beyond_chance(observed: Array, chance: Array) -> Array:
    """(observed − chance) / (1 − chance), NaN where chance is 1."""
    room = 1 - chance
    return np.asarray((observed - chance) / np.where(room > 1e-12, room, np.nan))


def square(sums: Array) -> Array:
    """A flattened table (..., L·L) as (..., L, L)."""
    size = round(sums.shape[-1] ** 0.5)
    return sums.reshape((*sums.shape[:-1], size, size))
