"""Agreement of pairs of raters, the influence of single raters, and self-consistency."""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import Unpack

import numpy as np
import numpy.typing as npt
from scipy.sparse import csr_array

from tiebreak.scales import Level
from tiebreak.stats.agreement_statistics import alpha_statistic
from tiebreak.stats.bias import WILSON, wilson_interval
from tiebreak.stats.bootstrap import (
    CONFIDENCE_LEVEL,
    Resampling,
    difference,
    estimate_each,
    on_columns,
    ratio,
)
from tiebreak.stats.counts import Patterns, count_matrix
from tiebreak.stats.results import THESE, Estimate, undefined
from tiebreak.stats.validation import (
    FloatArray,
    IntArray,
    as_codes,
    check_rated_once,
    check_same_length,
)

_MAX_CODE = 2**31
NO_REPEAT = "This rater has no planned repeat with both answers."


@dataclass(frozen=True, eq=False)
class PairwiseAgreement:
    """Agreement of every two raters, on the units that both rated.

    Attributes
    ----------
    shared : ndarray of int, shape (n_raters, n_raters)
        Number of units that both rated.
    agreement : ndarray of float, shape (n_raters, n_raters)
        Share of these with equal labels; NaN without a unit. On the diagonal 1.
    kappa : ndarray of float, shape (n_raters, n_raters)
        Cohen's κ; NaN without a unit, or if both raters gave one and the same label throughout.
    """

    shared: IntArray
    agreement: FloatArray
    kappa: FloatArray


@dataclass(frozen=True)
class Influence:
    """Influence of one rater on Krippendorff's α.

    Attributes
    ----------
    without : Estimate
        α without the rater.
    change : Estimate
        How much higher α is without the rater than with them.
    n_ratings : int
        Number of the rater's ratings.
    """

    without: Estimate
    change: Estimate
    n_ratings: int


def pairwise_agreement(
    units: npt.ArrayLike,
    raters: npt.ArrayLike,
    labels: npt.ArrayLike,
    *,
    n_units: int,
    n_raters: int,
    n_labels: int,
) -> PairwiseAgreement:
    """Compute the agreement of every two raters.

    Parameters
    ----------
    units : array_like of int, shape (n_ratings,)
        Unit of each rating, from 0 to n_units − 1.
    raters : array_like of int, shape (n_ratings,)
        Rater of each rating, from 0 to n_raters − 1. A rater may rate each unit only once.
    labels : array_like of int, shape (n_ratings,)
        Label of each rating, from 0 to n_labels − 1, or −1 if the rating is missing.
    n_units : int
        Number of units.
    n_raters : int
        Number of raters.
    n_labels : int
        Number of labels in the scale.

    Returns
    -------
    PairwiseAgreement
        Matrices of raters × raters.

    Raises
    ------
    InvalidInput
        If a code is out of range, the vectors differ in length, or a rater rated a unit twice.

    See Also
    --------
    cohen_kappa : The same of two raters, with an interval.
    drop_one_influence : What α is without a rater.

    Notes
    -----
    Chance agreement of κ comes from the labels of both raters on the units that they share (Cohen
    1960).

    Examples
    --------
    >>> found = pairwise_agreement(
    ...     [0, 0, 1, 1], [0, 1, 0, 1], [0, 0, 0, 1], n_units=2, n_raters=2, n_labels=2
    ... )
    >>> found.agreement.tolist(), found.kappa[0, 1].tolist()
    ([[1.0, 0.5], [0.5, 1.0]], 0.0)
    """
    unit, rater, label = _long(units, raters, labels, (n_units, n_raters, n_labels))
    of_label = [
        csr_array((np.ones(int(mask.sum())), (rater[mask], unit[mask])), shape=(n_raters, n_units))
        for mask in (label == code for code in range(n_labels))
    ]
    rated = sum(of_label[1:], of_label[0])
    shared = (rated @ rated.T).toarray()
    agreed = np.sum([(matrix @ matrix.T).toarray() for matrix in of_label], axis=0)
    # How often each rater gave each label on the units shared with each other rater.
    marginals = [np.asarray((matrix @ rated.T).toarray()) for matrix in of_label]
    by_chance = ratio(np.sum([m * m.T for m in marginals], axis=0), shared**2)
    agreement = ratio(agreed, shared)
    kappa = ratio(agreement - by_chance, 1 - by_chance)
    return PairwiseAgreement(shared.astype(np.int64), agreement, kappa)


def drop_one_influence(
    units: npt.ArrayLike,
    raters: npt.ArrayLike,
    labels: npt.ArrayLike,
    *,
    n_units: int,
    n_raters: int,
    n_labels: int,
    level: Level = "nominal",
    values: npt.ArrayLike | None = None,
    clusters: npt.ArrayLike | None = None,
    **resampling: Unpack[Resampling],
) -> list[Influence]:
    """Estimate Krippendorff's α without each rater, and how it changes.

    Parameters
    ----------
    units : array_like of int, shape (n_ratings,)
        Unit of each rating, from 0 to n_units − 1.
    raters : array_like of int, shape (n_ratings,)
        Rater of each rating, from 0 to n_raters − 1. A rater may rate each unit only once.
    labels : array_like of int, shape (n_ratings,)
        Label of each rating, from 0 to n_labels − 1, or −1 if the rating is missing.
    n_units : int
        Number of units.
    n_raters : int
        Number of raters.
    n_labels : int
        Number of labels in the scale.
    level : {"nominal", "ordinal", "interval", "ratio"}, default "nominal"
        Level of measurement of the labels.
    values : array_like of float, shape (n_labels,), optional
        Numeric value of each label on an interval or ratio scale; 0, 1, 2, … by default.
    clusters : array_like, shape (n_units,), optional
        Instance of each unit. If units share an instance, whole instances are resampled.
    **resampling
        Options of the bootstrap: ``rng`` (omit it for no interval), ``replicates``,
        ``confidence_level`` and ``batch``. See `tiebreak.stats`.

    Returns
    -------
    list of Influence
        One entry for each rater. A positive change says that the others agree better without this
        rater. It is undefined where the others have no two ratings of a unit.

    Raises
    ------
    InvalidInput
        If a code is out of range, the vectors differ in length, or a rater rated a unit twice.

    See Also
    --------
    krippendorff_alpha : The statistic of all raters.
    pairwise_agreement : Who agrees with whom.

    Notes
    -----
    α with and without a rater are read off the same bootstrap replicates.

    Examples
    --------
    >>> units, raters = [0, 0, 0, 1, 1, 1], [0, 1, 2, 0, 1, 2]
    >>> found = drop_one_influence(
    ...     units, raters, [0, 0, 1, 1, 1, 0], n_units=2, n_raters=3, n_labels=2
    ... )
    >>> found[2].without.value
    1.0
    """
    unit, rater, label = _long(units, raters, labels, (n_units, n_raters, n_labels))
    alpha = alpha_statistic(n_labels, level=level, values=values)
    everyone = count_matrix(unit, label, n_units=n_units, n_labels=n_labels)
    with_them, without = slice(0, n_labels), slice(n_labels, 2 * n_labels)
    statistics = {
        "without": on_columns(alpha, without),
        "change": difference(
            on_columns(alpha, without), on_columns(alpha, with_them), sides=("without", "with")
        ),
    }
    rng = resampling.get("rng")
    seeds: Sequence[np.random.Generator | None] = rng.spawn(n_raters) if rng else [None] * n_raters

    def influences() -> Iterator[Influence]:
        for code, rater_rng in enumerate(seeds):
            mask = rater == code
            counts = count_matrix(unit[mask], label[mask], n_units=n_units, n_labels=n_labels)
            patterns = Patterns.of(np.hstack([everyone, everyone - counts]), clusters=clusters)
            options: Resampling = {**resampling, "rng": rater_rng}
            estimates = estimate_each(statistics, patterns, **options)
            yield Influence(estimates["without"], estimates["change"], int(mask.sum()))

    return list(influences())


def self_consistency(
    raters: npt.ArrayLike,
    first: npt.ArrayLike,
    second: npt.ArrayLike,
    *,
    n_raters: int,
    confidence_level: float = CONFIDENCE_LEVEL,
) -> list[Estimate]:
    """Estimate the share of planned repeats that each rater answered alike.

    Parameters
    ----------
    raters : array_like of int, shape (n_repeats,)
        Rater of each repeated unit, in 0..n_raters−1.
    first, second : array_like of int, shape (n_repeats,)
        The rater's label at the first and at the second time, or −1 where it is missing. Labels are
        in the order of the systems, so that swapped sides are no change.
    n_raters : int
        Number of raters.
    confidence_level : float, default 0.95
        Confidence level of the interval, in (0, 1).

    Returns
    -------
    list of Estimate
        Share of each rater, in [0, 1]; undefined for a rater without a repeat.

    Raises
    ------
    InvalidInput
        If a code is out of range or the vectors differ in length.

    Notes
    -----
    The interval is Wilson's (1927). It covers only this rater and these units.

    Examples
    --------
    >>> [each.value for each in self_consistency([0, 0, 1], [2, 1, 0], [2, 0, 0], n_raters=2)]
    [0.5, 1.0]
    """
    rater = as_codes(raters, below=n_raters, name="raters")
    label = as_codes(first, below=_MAX_CODE, name="first", missing=True)
    repeated = as_codes(second, below=_MAX_CODE, name="second", missing=True)
    check_same_length(raters=rater, first=label, second=repeated)
    both = (label >= 0) & (repeated >= 0)
    n_repeats = np.bincount(rater[both], minlength=n_raters)
    n_equal = np.bincount(rater[both & (label == repeated)], minlength=n_raters)

    def share(equal: int, n: int) -> Estimate:
        if n == 0:
            return undefined(NO_REPEAT)
        low, high = wilson_interval(equal, n, confidence_level=confidence_level)
        value = equal / n
        return Estimate(
            value, low, high, float(np.sqrt(value * (1 - value) / n)), n, WILSON, stated_scope=THESE
        )

    return [share(int(equal), int(n)) for equal, n in zip(n_equal, n_repeats, strict=True)]


def _long(
    units: npt.ArrayLike,
    raters: npt.ArrayLike,
    labels: npt.ArrayLike,
    shape: tuple[int, int, int],
) -> tuple[IntArray, IntArray, IntArray]:
    """Validated codes of the ratings that have a label; ``shape`` are the numbers of codes."""
    n_units, n_raters, n_labels = shape
    unit = as_codes(units, below=n_units, name="units")
    rater = as_codes(raters, below=n_raters, name="raters")
    label = as_codes(labels, below=n_labels, name="labels", missing=True)
    check_same_length(units=unit, raters=rater, labels=label)
    is_labelled = label >= 0
    check_rated_once(unit[is_labelled], rater[is_labelled])
    return unit[is_labelled], rater[is_labelled], label[is_labelled]
