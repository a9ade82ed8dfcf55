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
    """Krippendorff's α: 1 − observed over expected disagreement.

    Parameters
    ----------
    counts : (units, labels) whole numbers, or Patterns
    level : the metric of disagreement
    values : number of each label, for interval and ratio; 0, 1, 2, … by default
    clusters : instance of each unit; instances are resampled where units share them

    Units with fewer than two ratings leave. One observed label: undefined. One unit: the
    formula's value. Source: Krippendorff 2011, section D.

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
    """Mean over units of the modal share; from ordinal up, of the share at the lower median.

    Units with fewer than two ratings leave. Source: Beyond Correlation A.4 (its eq. 3 gives 0
    where no label repeats; the published code gives the share, and so do we).

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
    """Randolph's free-marginal κ: chance agreement is 1/k.

    ``k`` is the number of labels of the scale: the columns of ``counts`` by default;
    ``"observed"`` takes those that occur among units with two ratings, as published code does.
    Source: Randolph 2005.

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
    """Fleiss' κ, for any numbers of ratings per unit.

    Observed: mean over units of the share of agreeing pairs. Chance: Σ p², p the mean over units
    of their label shares. Equal numbers give the textbook's value. Units with fewer than two
    ratings leave. Source: Fleiss 1971; for unequal numbers Gwet 2014.

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
    """Cohen's κ of two named raters.

    ``first`` and ``second`` are aligned vectors of label codes 0..n_labels−1, −1 for missing;
    units that either did not rate leave. Source: Cohen 1960.

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
    """All agreement statistics of one stratum."""

    krippendorff_alpha: Estimate
    percentage_agreement: Estimate
    randolph_kappa: Estimate
    fleiss_kappa: Estimate
    leave_one_out: Estimate

    def estimates(self) -> dict[str, Estimate]:
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
    """All agreement statistics together: the counts are reduced once, the replicates shared."""
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
