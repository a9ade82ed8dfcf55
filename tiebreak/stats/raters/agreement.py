"""Agreement among raters, from counts of labels.

Every statistic takes ``counts``, a matrix with one row for each unit and one column for each label,
in the order of the scale. Missing ratings are not counted. If several statistics use the same
counts, reduce the counts to `Patterns` once.
"""

from dataclasses import dataclass
from typing import Unpack

import numpy as np
import numpy.typing as npt

from tiebreak.errors import InvalidInput
from tiebreak.scales import Level
from tiebreak.stats.core.bootstrap import Resampling, Statistic, estimate, estimate_each, on_columns
from tiebreak.stats.core.counts import Patterns, as_patterns
from tiebreak.stats.core.results import Estimate, NamedEstimates
from tiebreak.stats.core.unit_weights import UnitWeights, weighted, with_codes
from tiebreak.stats.core.validation import as_codes, as_counts, check_same_length
from tiebreak.stats.raters.additive import (
    Categories,
    alpha_statistic,
    cohen_statistic,
    fleiss_statistic,
    label_number,
    percentage_statistic,
    randolph_statistic,
)
from tiebreak.stats.raters.leave_one_out import leave_one_out_statistic


def krippendorff_alpha(
    counts: npt.ArrayLike | Patterns,
    *,
    level: Level = "nominal",
    values: npt.ArrayLike | None = None,
    clusters: npt.ArrayLike | None = None,
    **resampling: Unpack[Resampling],
) -> Estimate:
    """Estimate Krippendorff's α.

    Parameters
    ----------
    counts : array_like of int, shape (n_units, n_labels), or Patterns
        Number of ratings that give each unit each label. Missing ratings are not counted.
    level : {"nominal", "ordinal", "interval", "ratio"}, default "nominal"
        Level of measurement of the labels.
    values : array_like of float, shape (n_labels,), optional
        Numeric value of each label on an interval or ratio scale; 0, 1, 2, … by default.
    clusters, **resampling : optional
        Instance of each unit, and options of the bootstrap, as in `tiebreak.stats`.

    Returns
    -------
    Estimate
        Value of α, at most 1. It is undefined if only one label was observed or if no unit has two
        ratings.

    Raises
    ------
    InvalidInput
        If the counts are not whole numbers, or the values are not strictly increasing.

    See Also
    --------
    fleiss_kappa : Uses chance agreement from the label shares, for nominal labels.
    agreement : Estimates all agreement statistics from the same replicates.

    Notes
    -----
    α = 1 − D_o / D_e, where D_o is the mean squared distance between two ratings of the same unit,
    and D_e is the mean squared distance between any two ratings (Krippendorff 2011, section D).
    Units with fewer than two ratings are ignored. With a single unit, the value of this formula is
    returned.

    Examples
    --------
    >>> round(krippendorff_alpha([[2, 0], [0, 2], [1, 1]]).value, 4)
    0.4444
    """
    patterns = as_patterns(counts, clusters=clusters)
    statistic = alpha_statistic(patterns.n_columns, level=level, values=values)
    return estimate(statistic, patterns, **resampling)


def percentage_agreement(
    counts: npt.ArrayLike | Patterns,
    *,
    level: Level = "nominal",
    clusters: npt.ArrayLike | None = None,
    **resampling: Unpack[Resampling],
) -> Estimate:
    """Estimate percentage agreement.

    Parameters
    ----------
    counts : array_like of int, shape (n_units, n_labels), or Patterns
        Number of ratings that give each unit each label. Missing ratings are not counted.
    level : {"nominal", "ordinal", "interval", "ratio"}, default "nominal"
        Level of measurement of the labels.
    clusters, **resampling : optional
        Instance of each unit, and options of the bootstrap, as in `tiebreak.stats`.

    Returns
    -------
    Estimate
        Mean over units of the share of ratings that give the unit's modal label (nominal) or its
        lower median (all other levels). It is above 0 and at most 1, and undefined if no unit has
        two ratings.

    Raises
    ------
    InvalidInput
        If the counts are not whole numbers.

    Notes
    -----
    Units with fewer than two ratings are ignored. Source: Elangovan et al. 2025, appendix A.4. For
    a unit in which no label repeats, their eq. 3 gives 0 and their code gives the share. This
    function follows the code.

    Examples
    --------
    >>> percentage_agreement([[2, 1, 0], [3, 0, 0]]).value
    0.8333333333333333
    """
    patterns = as_patterns(counts, clusters=clusters)
    return estimate(percentage_statistic(level=level), patterns, **resampling)


def randolph_kappa(
    counts: npt.ArrayLike | Patterns,
    *,
    k: Categories = None,
    clusters: npt.ArrayLike | None = None,
    **resampling: Unpack[Resampling],
) -> Estimate:
    """Estimate Randolph's free-marginal κ.

    Parameters
    ----------
    counts : array_like of int, shape (n_units, n_labels), or Patterns
        Number of ratings that give each unit each label. Missing ratings are not counted.
    k : int or {"observed"}, optional
        Number of labels; by default all labels in the scale, which are the columns of `counts`.
        ``"observed"`` counts only labels that occur in units with two or more ratings.
    clusters, **resampling : optional
        Instance of each unit, and options of the bootstrap, as in `tiebreak.stats`.

    Returns
    -------
    Estimate
        Value of κ, from −1/(k − 1) to 1. It is undefined if k is 1 or if no unit has two ratings.

    Raises
    ------
    InvalidInput
        If the counts are not whole numbers.

    See Also
    --------
    fleiss_kappa : Uses chance agreement from the label shares.

    Notes
    -----
    κ = (P − 1/k) / (1 − 1/k), where P is the mean over units of the share of pairs of ratings that
    agree (Randolph 2005). Published code counts only the observed labels, like ``k="observed"``.

    Examples
    --------
    >>> randolph_kappa([[2, 0, 0], [1, 1, 0]]).value
    0.25
    """
    patterns = as_patterns(counts, clusters=clusters)
    statistic = randolph_statistic(label_number(patterns.rows, k))
    return estimate(statistic, patterns, **resampling)


def fleiss_kappa(
    counts: npt.ArrayLike | Patterns,
    *,
    clusters: npt.ArrayLike | None = None,
    **resampling: Unpack[Resampling],
) -> Estimate:
    """Estimate Fleiss' κ.

    Parameters
    ----------
    counts : array_like of int, shape (n_units, n_labels), or Patterns
        Number of ratings that give each unit each label. Missing ratings are not counted.
    clusters, **resampling : optional
        Instance of each unit, and options of the bootstrap, as in `tiebreak.stats`.

    Returns
    -------
    Estimate
        Value of κ, at most 1. It is undefined if only one label was observed or if no unit has two
        ratings.

    Raises
    ------
    InvalidInput
        If the counts are not whole numbers.

    See Also
    --------
    randolph_kappa : Uses a chance agreement of 1/k.
    krippendorff_alpha : Corrects for small samples, and supports every level of measurement.

    Notes
    -----
    κ = (P − C) / (1 − C), where P is the mean over units of the share of pairs of ratings that
    agree, C = Σ p², and p is the mean over units of the share of each label (Fleiss 1971; Gwet 2014
    for unequal numbers of ratings). Units with fewer than two ratings are ignored.

    Examples
    --------
    >>> round(fleiss_kappa([[2, 0], [0, 2], [1, 1]]).value, 4)
    0.3333
    """
    patterns = as_patterns(counts, clusters=clusters)
    return estimate(fleiss_statistic(patterns.n_columns), patterns, **resampling)


def cohen_kappa(
    first: npt.ArrayLike,
    second: npt.ArrayLike,
    *,
    n_labels: int,
    weights: npt.ArrayLike | None = None,
    clusters: npt.ArrayLike | None = None,
    **resampling: Unpack[Resampling],
) -> Estimate:
    """Estimate Cohen's κ between two raters.

    Parameters
    ----------
    first, second : array_like of int, shape (n_units,)
        Labels that the first and the second rater gave each unit, from 0 to n_labels − 1, or −1 if
        the rating is missing.
    n_labels : int
        Number of labels in the scale.
    weights : array_like of float, shape (n_units,), optional
        Weight of each unit, above 0, as in `tiebreak.stats`; 1 by default.
    clusters, **resampling : optional
        Instance of each unit, and options of the bootstrap, as in `tiebreak.stats`.

    Returns
    -------
    Estimate
        Value of κ, at most 1. It is undefined if both raters gave the same label to every unit, or
        if they rated no unit in common.

    Raises
    ------
    InvalidInput
        If a code is out of range, the vectors differ in length, or a weight is not above 0.

    See Also
    --------
    pairwise_agreement : Cohen's κ for each pair of raters, without intervals.

    Notes
    -----
    κ = (P − C) / (1 − C), where P is the share of units with equal labels, and C = Σ p₁ p₂ is the
    sum over labels of the product of the two raters' label shares (Cohen 1960). Units that only one
    of the raters rated are ignored. Weights enter P and the label shares, as Hájek's ratios (Särndal et
    al. 1992, eq. 5.7.2).

    Examples
    --------
    >>> cohen_kappa([0, 0, 1, 1], [0, 0, 1, 0], n_labels=2).value
    0.5
    """
    left = as_codes(first, below=n_labels, name="first", missing=True)
    right = as_codes(second, below=n_labels, name="second", missing=True)
    check_same_length(first=left, second=right)
    # Codes are shifted by 1, because rows must not be negative and a missing label is −1.
    rows, of_units = np.stack([left, right], axis=1) + 1, None
    if weights is not None:
        of_units = UnitWeights.of(weights)
    kappa = on_columns(cohen_statistic(n_labels), slice(0, 2))
    patterns = Patterns.of(with_codes(rows, of_units), clusters=clusters)
    return estimate(weighted({"": kappa}, of_units)[""], patterns, **resampling)


@dataclass(frozen=True)
class Agreement(NamedEstimates):
    """Agreement statistics for one set of units."""

    krippendorff_alpha: Estimate
    percentage_agreement: Estimate
    randolph_kappa: Estimate
    fleiss_kappa: Estimate
    leave_one_out: Estimate
    """The statistic of this name."""


def agreement(
    counts: npt.ArrayLike | Patterns,
    *,
    level: Level = "nominal",
    values: npt.ArrayLike | None = None,
    k: Categories = None,
    weights: npt.ArrayLike | None = None,
    clusters: npt.ArrayLike | None = None,
    **resampling: Unpack[Resampling],
) -> Agreement:
    """Estimate all agreement statistics together.

    The counts are reduced once, and all statistics use the same bootstrap replicates.

    Parameters
    ----------
    counts : array_like of int, shape (n_units, n_labels), or Patterns
        Number of ratings that give each unit each label. Missing ratings are not counted.
    level : {"nominal", "ordinal", "interval", "ratio"}, default "nominal"
        Level of measurement of the labels.
    values : array_like of float, shape (n_labels,), optional
        Numeric value of each label on an interval or ratio scale; 0, 1, 2, … by default.
    k : int or {"observed"}, optional
        Number of labels for Randolph's κ; see `randolph_kappa`.
    weights : array_like of float, shape (n_units,), optional
        Weight of each unit, above 0, such as the inverse of the probability with which its instance
        was drawn; 1 by default. The counts must then not be `Patterns`.
    clusters, **resampling : optional
        Instance of each unit, and options of the bootstrap, as in `tiebreak.stats`.

    Returns
    -------
    Agreement
        The estimates.

    Raises
    ------
    InvalidInput
        If the counts are not whole numbers, the values are not strictly increasing, or a weight is
        not above 0.

    See Also
    --------
    human_machine : Estimates the agreement between humans and a machine.
    two_way_interval : Estimates an interval that also allows for other raters.

    Notes
    -----
    A weight multiplies all that a unit adds to a sum, such as its coincidences and labels, as if the
    unit were there as many times. Only the correction of α for small samples differs: n − 1 becomes
    W − Σ w² / W, where w is the weight of a rating's unit and W = Σ w over ratings. Expected
    disagreement thereby stays the weighted mean over pairs of two different ratings. Weights count
    relative to each other, and equal weights change nothing.

    Examples
    --------
    >>> estimates = agreement([[2, 0], [0, 2], [1, 1]])
    >>> round(estimates.fleiss_kappa.value, 4), round(estimates.leave_one_out.value, 4)
    (0.3333, 0.6667)
    """
    unit_weights = None if weights is None else UnitWeights.of(weights)
    patterns = as_patterns(_with_codes(counts, unit_weights), clusters=clusters)
    labels = slice(0, patterns.n_columns - (unit_weights is not None))
    rows = patterns.rows[:, labels]
    statistics = agreement_statistics(
        rows.shape[1], level=level, values=values, k=label_number(rows, k)
    )
    on_labels = {name: on_columns(statistic, labels) for name, statistic in statistics.items()}
    by_name = weighted(on_labels, unit_weights, labels)
    return Agreement(**estimate_each(by_name, patterns, **resampling))


def _with_codes(
    counts: npt.ArrayLike | Patterns, weights: UnitWeights | None
) -> npt.ArrayLike | Patterns:
    """Return the counts, with the codes of the units' weights as a last column."""
    if weights is None:
        return counts
    if isinstance(counts, Patterns):
        raise InvalidInput(
            "weights_twice",
            "weights cannot be passed together with a Patterns object; pass counts.",
        )
    matrix = as_counts(counts)
    return with_codes(matrix, weights)


def agreement_statistics(
    labels: int, *, level: Level, values: npt.ArrayLike | None, k: int
) -> dict[str, Statistic]:
    """Return the statistics for the fields of `Agreement`, by field name."""
    return {
        "krippendorff_alpha": alpha_statistic(labels, level=level, values=values),
        "percentage_agreement": percentage_statistic(level=level),
        "randolph_kappa": randolph_statistic(k),
        "fleiss_kappa": fleiss_statistic(labels),
        "leave_one_out": leave_one_out_statistic(),
    }
