"""Agreement among raters, from counts of labels.

Every statistic takes ``counts``, a (units, labels) matrix with one column per label of the scale,
in the order of the scale; missing ratings are not counted. Counts that are used by several
statistics can be reduced to `Patterns` once.
"""

from dataclasses import dataclass, fields
from typing import Unpack

import numpy as np
import numpy.typing as npt

from tiebreak.scales import Level
from tiebreak.stats.agreement_statistics import (
    Categories,
    alpha_statistic,
    cohen_statistic,
    fleiss_statistic,
    label_number,
    percentage_statistic,
    randolph_statistic,
)
from tiebreak.stats.bootstrap import Resampling, Statistic, estimate, estimate_each
from tiebreak.stats.counts import Patterns, as_patterns
from tiebreak.stats.leave_one_out import leave_one_out_statistic
from tiebreak.stats.results import Estimate
from tiebreak.stats.validation import as_codes, check_same_length


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
        How often each unit was given each label. A missing rating is not counted.
    level : {"nominal", "ordinal", "interval", "ratio"}, default "nominal"
        Level of measurement of the labels.
    values : array_like of float, shape (n_labels,), optional
        Number that each label stands for on an interval or ratio scale; 0, 1, 2, … by default.
    clusters : array_like, shape (n_units,), optional
        Instance of each unit. Where units share one, instances are resampled, not units.
    **resampling
        Options of the bootstrap, see `tiebreak.stats`: ``rng``, without which there is no interval,
        ``replicates``, ``confidence_level`` and ``batch``.

    Returns
    -------
    Estimate
        Value of α, at most 1. It is undefined if only one label was observed, or no unit has two
        ratings.

    Raises
    ------
    InvalidInput
        If the counts are not whole numbers, or values do not rise strictly.

    See Also
    --------
    fleiss_kappa : Chance agreement from the marginals, for nominal labels.
    agreement : All agreement statistics from the same replicates.

    Notes
    -----
    α = 1 − D_o / D_e, with D_o the mean squared distance of two ratings of one unit and D_e that of
    any two ratings (Krippendorff 2011, section D). Units with fewer than two ratings are ignored.
    With one unit only, the formula's value is returned.

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
        How often each unit was given each label. A missing rating is not counted.
    level : {"nominal", "ordinal", "interval", "ratio"}, default "nominal"
        Level of measurement of the labels.
    clusters : array_like, shape (n_units,), optional
        Instance of each unit. Where units share one, instances are resampled, not units.
    **resampling
        Options of the bootstrap, see `tiebreak.stats`: ``rng``, without which there is no interval,
        ``replicates``, ``confidence_level`` and ``batch``.

    Returns
    -------
    Estimate
        Mean over units of the share of ratings that give the modal label; from ordinal level up,
        the lower median. In (0, 1]; undefined if no unit has two ratings.

    Raises
    ------
    InvalidInput
        If the counts are not whole numbers.

    Notes
    -----
    Units with fewer than two ratings are ignored. Source: Elangovan et al. 2025, appendix A.4.
    Their eq. 3 gives 0 to a unit in which no label repeats, and their code gives the share; this is
    the share.

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
        How often each unit was given each label. A missing rating is not counted.
    k : int or {"observed"}, optional
        Number of labels. By default all of the scale, which are the columns of `counts`;
        ``"observed"`` takes those that occur among units with two ratings.
    clusters : array_like, shape (n_units,), optional
        Instance of each unit. Where units share one, instances are resampled, not units.
    **resampling
        Options of the bootstrap, see `tiebreak.stats`: ``rng``, without which there is no interval,
        ``replicates``, ``confidence_level`` and ``batch``.

    Returns
    -------
    Estimate
        Value of κ, from −1/(k − 1) to 1. It is undefined if k is 1, or no unit has two ratings.

    Raises
    ------
    InvalidInput
        If the counts are not whole numbers.

    See Also
    --------
    fleiss_kappa : Chance agreement from the marginals.

    Notes
    -----
    κ = (P − 1/k) / (1 − 1/k), with P the mean over units of the share of pairs of ratings that
    agree (Randolph 2005). Published code takes the labels that were observed, as ``k="observed"``
    does.

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
        How often each unit was given each label. A missing rating is not counted.
    clusters : array_like, shape (n_units,), optional
        Instance of each unit. Where units share one, instances are resampled, not units.
    **resampling
        Options of the bootstrap, see `tiebreak.stats`: ``rng``, without which there is no interval,
        ``replicates``, ``confidence_level`` and ``batch``.

    Returns
    -------
    Estimate
        Value of κ, at most 1. It is undefined if only one label was observed, or no unit has two
        ratings.

    Raises
    ------
    InvalidInput
        If the counts are not whole numbers.

    See Also
    --------
    randolph_kappa : Chance agreement of 1/k.
    krippendorff_alpha : With a correction for small samples, and for every level of measurement.

    Notes
    -----
    κ = (P − C) / (1 − C), with P the mean over units of the share of pairs of ratings that agree, C
    = Σ p² and p the mean over units of the share of each label (Fleiss 1971; Gwet 2014 for unequal
    numbers of ratings). Units with fewer than two ratings are ignored.

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
    clusters: npt.ArrayLike | None = None,
    **resampling: Unpack[Resampling],
) -> Estimate:
    """Estimate Cohen's κ of two raters.

    Parameters
    ----------
    first, second : array_like of int, shape (n_units,)
        Label of each unit by either rater, in 0..n_labels−1, or −1 where it is missing.
    n_labels : int
        Number of labels of the scale.
    clusters : array_like, shape (n_units,), optional
        Instance of each unit. Where units share one, instances are resampled, not units.
    **resampling
        Options of the bootstrap, see `tiebreak.stats`: ``rng``, without which there is no interval,
        ``replicates``, ``confidence_level`` and ``batch``.

    Returns
    -------
    Estimate
        Value of κ, at most 1. It is undefined if both raters gave one and the same label
        throughout, or rated no unit in common.

    Raises
    ------
    InvalidInput
        If a code is out of range, or the vectors differ in length.

    See Also
    --------
    pairwise_agreement : Cohen's κ of every two raters, without intervals.

    Notes
    -----
    κ = (P − C) / (1 − C), with P the share of units with equal labels and C = Σ p₁ p₂ over the
    labels' shares by either rater (Cohen 1960). Units that only one of them rated are ignored.

    Examples
    --------
    >>> cohen_kappa([0, 0, 1, 1], [0, 0, 1, 0], n_labels=2).value
    0.5
    """
    left = as_codes(first, below=n_labels, name="first", missing=True)
    right = as_codes(second, below=n_labels, name="second", missing=True)
    check_same_length(first=left, second=right)
    # Codes + 1, so that missing (−1) becomes 0: rows must not be negative.
    patterns = Patterns.of(np.stack([left, right], axis=1) + 1, clusters=clusters)
    return estimate(cohen_statistic(n_labels), patterns, **resampling)


@dataclass(frozen=True)
class Agreement:
    """Agreement statistics of one set of units.

    Attributes
    ----------
    krippendorff_alpha, percentage_agreement, randolph_kappa, fleiss_kappa, leave_one_out : Estimate
        See the functions of these names.
    """

    krippendorff_alpha: Estimate
    percentage_agreement: Estimate
    randolph_kappa: Estimate
    fleiss_kappa: Estimate
    leave_one_out: Estimate

    def estimates(self) -> dict[str, Estimate]:
        """Return the estimates by name.

        Returns
        -------
        dict of str to Estimate
            One entry for each field.
        """
        return {field.name: getattr(self, field.name) for field in fields(self)}


def agreement(
    counts: npt.ArrayLike | Patterns,
    *,
    level: Level = "nominal",
    values: npt.ArrayLike | None = None,
    k: Categories = None,
    clusters: npt.ArrayLike | None = None,
    **resampling: Unpack[Resampling],
) -> Agreement:
    """Estimate all agreement statistics together.

    The counts are reduced once, and all statistics are read off the same bootstrap replicates.

    Parameters
    ----------
    counts : array_like of int, shape (n_units, n_labels), or Patterns
        How often each unit was given each label. A missing rating is not counted.
    level : {"nominal", "ordinal", "interval", "ratio"}, default "nominal"
        Level of measurement of the labels.
    values : array_like of float, shape (n_labels,), optional
        Number that each label stands for on an interval or ratio scale; 0, 1, 2, … by default.
    k : int or {"observed"}, optional
        Number of labels for Randolph's κ, see `randolph_kappa`.
    clusters : array_like, shape (n_units,), optional
        Instance of each unit. Where units share one, instances are resampled, not units.
    **resampling
        Options of the bootstrap, see `tiebreak.stats`: ``rng``, without which there is no interval,
        ``replicates``, ``confidence_level`` and ``batch``.

    Returns
    -------
    Agreement
        The estimates.

    Raises
    ------
    InvalidInput
        If the counts are not whole numbers, or values do not rise strictly.

    See Also
    --------
    human_machine : The same between humans and a machine.
    two_way : An interval for other raters as well.

    Examples
    --------
    >>> found = agreement([[2, 0], [0, 2], [1, 1]])
    >>> round(found.fleiss_kappa.value, 4), round(found.leave_one_out.value, 4)
    (0.3333, 0.6667)
    """
    patterns = as_patterns(counts, clusters=clusters)
    statistics = agreement_statistics(
        patterns.n_columns, level=level, values=values, k=label_number(patterns.rows, k)
    )
    return Agreement(**estimate_each(statistics, patterns, **resampling))


def agreement_statistics(
    labels: int, *, level: Level, values: npt.ArrayLike | None, k: int
) -> dict[str, Statistic]:
    """The statistics of `Agreement`, by field."""
    return {
        "krippendorff_alpha": alpha_statistic(labels, level=level, values=values),
        "percentage_agreement": percentage_statistic(level=level),
        "randolph_kappa": randolph_statistic(k),
        "fleiss_kappa": fleiss_statistic(labels),
        "leave_one_out": leave_one_out_statistic(),
    }
