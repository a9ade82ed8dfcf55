"""Agreement between pairs of raters, the influence of single raters, and self-consistency."""

from collections.abc import Sequence
from dataclasses import dataclass
from functools import partial
from typing import Unpack, cast

import numpy as np
import numpy.typing as npt
import scipy

from tiebreak.scales import MAX_POINTS, Level
from tiebreak.stats.core.bootstrap import (
    CONFIDENCE_LEVEL,
    Resampling,
    Statistic,
    difference,
    estimate_each,
    on_columns,
    ratio,
)
from tiebreak.stats.core.counts import Patterns, count_matrix
from tiebreak.stats.core.proportions import WILSON, wilson_interval
from tiebreak.stats.core.results import THESE, Estimate, undefined
from tiebreak.stats.core.unit_weights import UnitWeights, relative, weighted, with_codes
from tiebreak.stats.core.validation import (
    FloatArray,
    IntArray,
    as_codes,
    as_values,
    check_rated_once,
    check_same_length,
)
from tiebreak.stats.raters.additive import (
    NO_PAIR,
    alpha_of_features,
    alpha_statistic,
    moment_features,
    value_moments,
)

_MAX_CODE = 2**31
Mask = npt.NDArray[np.bool_]
# α of all ratings, α without some, and the row of each unit that they are computed from.
Alphas = tuple[Statistic, Statistic, IntArray]
NO_REPEAT = "This rater has no planned repeat that was answered both times."


@dataclass(frozen=True, eq=False)
class PairwiseAgreement:
    """Agreement between each pair of raters, on the units that both rated."""

    shared: IntArray
    """Number of units that both raters rated; shape (n_raters, n_raters)."""
    agreement: FloatArray
    """Share of these units with equal labels, by weight; NaN if there are no such units; shape (n_raters,
    n_raters). The diagonal is 1."""
    kappa: FloatArray
    """Cohen's κ; NaN if there are no such units, or if both raters gave the same label to all of
    them; shape (n_raters, n_raters)."""


@dataclass(frozen=True)
class Influence:
    """Influence of one rater on Krippendorff's α."""

    without: Estimate
    """α if the rater is left out."""
    change: Estimate
    """α without the rater minus α with the rater."""
    n_ratings: int
    """Number of ratings by the rater."""


def pairwise_agreement(
    units: npt.ArrayLike,
    raters: npt.ArrayLike,
    labels: npt.ArrayLike,
    *,
    n_units: int,
    n_raters: int,
    n_labels: int,
    weights: npt.ArrayLike | None = None,
) -> PairwiseAgreement:
    """Compute the agreement between each pair of raters.

    Parameters
    ----------
    units, raters, labels : array_like of int, shape (n_ratings,)
        Unit, rater and label of each rating, from 0 to the numbers below minus 1; the label is −1 if
        the rating is missing. A rater may rate each unit only once.
    n_units, n_raters, n_labels : int
        Number of units, of raters, and of labels in the scale.
    weights : array_like of float, shape (n_units,), optional
        Weight of each unit, above 0, as in `tiebreak.stats`; 1 by default.

    Returns
    -------
    PairwiseAgreement
        Matrices with one row and one column for each rater.

    Raises
    ------
    InvalidInput
        If a code is out of range, the vectors differ in length, a rater rated a unit twice, or a weight
        is not above 0.

    See Also
    --------
    cohen_kappa : Estimates κ between two raters with an interval.
    drop_one_influence : Estimates α with each rater left out in turn.

    Notes
    -----
    The chance agreement in κ comes from the labels that the two raters gave to the units that both
    rated (Cohen 1960). Weights enter the shares of labels and of equal labels, as Hájek's ratios
    (Särndal et al. 1992, eq. 5.7.2).

    Examples
    --------
    >>> pairs = pairwise_agreement(
    ...     [0, 0, 1, 1], [0, 1, 0, 1], [0, 0, 0, 1], n_units=2, n_raters=2, n_labels=2
    ... )
    >>> pairs.agreement.tolist(), pairs.kappa[0, 1].tolist()
    ([[1.0, 0.5], [0.5, 1.0]], 0.0)
    """
    unit, rater, label = _long(units, raters, labels, (n_units, n_raters, n_labels))
    of_label = [
        scipy.sparse.csr_array(
            (np.ones(int(mask.sum())), (rater[mask], unit[mask])), shape=(n_raters, n_units)
        )
        for mask in (label == code for code in range(n_labels))
    ]
    rated = sum(of_label[1:], of_label[0])
    of_units = scipy.sparse.diags_array(relative(weights, length=n_units))
    shared, counted = (rated @ rated.T).toarray(), (rated @ of_units @ rated.T).toarray()
    agreed, expected = np.zeros((2, n_raters, n_raters))
    for matrix in of_label:
        agreed += (matrix @ of_units @ matrix.T).toarray()
        # How often a rater gave this label to units that they share with another rater.
        marginals = (matrix @ of_units @ rated.T).toarray()
        expected += marginals * marginals.T
    by_chance = ratio(expected, counted**2)
    agreement = ratio(agreed, counted)
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
    weights: npt.ArrayLike | None = None,
    clusters: npt.ArrayLike | None = None,
    **resampling: Unpack[Resampling],
) -> list[Influence]:
    """Estimate Krippendorff's α with each rater left out in turn, and the change this makes.

    Parameters
    ----------
    units, raters, labels : array_like of int, shape (n_ratings,)
        Unit, rater and label of each rating, from 0 to the numbers below minus 1; the label is −1 if
        the rating is missing. A rater may rate each unit only once.
    n_units, n_raters, n_labels : int
        Number of units, of raters, and of labels in the scale.
    level : {"nominal", "ordinal", "interval", "ratio"}, default "nominal"
        Level of measurement of the labels.
    values : array_like of float, shape (n_labels,), optional
        Numeric value of each label on an interval or ratio scale; 0, 1, 2, … by default.
    weights : array_like of float, shape (n_units,), optional
        Weight of each unit, above 0, as in `tiebreak.stats`; 1 by default.
    clusters, **resampling : optional
        Instance of each unit, and options of the bootstrap, as in `tiebreak.stats`.

    Returns
    -------
    list of Influence
        One entry for each rater. A positive change means that the other raters agree better without
        this rater. Estimates are undefined if no unit has two ratings by other raters.

    Raises
    ------
    InvalidInput
        If a code is out of range, the vectors differ in length, a rater rated a unit twice, or a weight
        is not above 0.

    See Also
    --------
    krippendorff_alpha : Estimates α from the ratings of all raters.
    pairwise_agreement : Computes the agreement between each pair of raters.

    Notes
    -----
    α with and α without a rater are computed from the same bootstrap replicates. A unit keeps its
    weight when a rater is left out; weights enter as in `agreement`.

    Examples
    --------
    >>> units, raters = [0, 0, 0, 1, 1, 1], [0, 1, 2, 0, 1, 2]
    >>> influences = drop_one_influence(
    ...     units, raters, [0, 0, 1, 1, 1, 0], n_units=2, n_raters=3, n_labels=2
    ... )
    >>> influences[2].without.value
    1.0
    """
    unit, rater, label = _long(units, raters, labels, (n_units, n_raters, n_labels))
    if level == "interval" and n_labels > MAX_POINTS:
        value = as_values(values, labels=n_labels)[label]
        alphas = partial(_alphas_of_moments, unit, value - value.mean(), n_units=n_units)
    else:
        alpha = alpha_statistic(n_labels, level=level, values=values)
        alphas = partial(_alphas_of_counts, alpha, unit, label, shape=(n_units, n_labels))
    of_units = None if weights is None else UnitWeights.of(weights)
    rng = resampling.get("rng")
    seeds: Sequence[np.random.Generator | None] = rng.spawn(n_raters) if rng else [None] * n_raters

    def influence(code: int, rater_rng: np.random.Generator | None) -> Influence:
        is_theirs = rater == code
        everyone, without, rows = alphas(is_theirs=is_theirs, of_units=of_units)
        statistics = {
            "without": without,
            "change": difference(without, everyone, sides=("without", "with")),
        }
        options: Resampling = {**resampling, "rng": rater_rng}
        patterns = Patterns.of(rows, clusters=clusters)
        estimates = estimate_each(statistics, patterns, **options)
        return Influence(estimates["without"], estimates["change"], int(is_theirs.sum()))

    return [influence(code, rater_rng) for code, rater_rng in enumerate(seeds)]


def _alphas_of_counts(
    alpha: Statistic,
    unit: IntArray,
    label: IntArray,
    *,
    shape: tuple[int, int],
    is_theirs: Mask,
    of_units: UnitWeights | None,
) -> Alphas:
    """Return α of all ratings and α without a rater's, from the label counts of units."""
    n_units, n_labels = shape
    everyone, without = (
        count_matrix(unit[used], label[used], n_units=n_units, n_labels=n_labels)
        for used in (np.ones_like(is_theirs), ~is_theirs)
    )
    rows = with_codes(np.hstack([everyone, without]), of_units)
    of_all, of_others = (
        _weighted(on_columns(alpha, columns), of_units, columns)
        for columns in (slice(0, n_labels), slice(n_labels, 2 * n_labels))
    )
    return of_all, of_others, rows


def _weighted(alpha: Statistic, of_units: UnitWeights | None, ratings: slice) -> Statistic:
    """Return α with weights, given the columns with counts of ratings."""
    return cast(Statistic, weighted({"": alpha}, of_units, ratings)[""])


def _alphas_of_moments(
    unit: IntArray,
    value: FloatArray,
    *,
    n_units: int,
    is_theirs: Mask,
    of_units: UnitWeights | None,
) -> Alphas:
    """Return the same from sums of values, because counts of thousands of labels take minutes."""
    masks = np.ones_like(is_theirs), ~is_theirs
    moments = [value_moments(unit[used], value[used], n_units) for used in masks]
    counts = [np.bincount(unit[used], minlength=n_units) for used in masks]
    alphas = [alpha_of_features(moment_features(of_mask), NO_PAIR) for of_mask in moments]
    everyone, without = (
        _weighted(on_columns(alpha, slice(0, 1)), of_units, slice(side, side + 1))
        for side, alpha in enumerate(alphas, start=1)
    )
    return everyone, without, with_codes(np.column_stack([np.arange(n_units), *counts]), of_units)


def self_consistency(
    raters: npt.ArrayLike,
    first: npt.ArrayLike,
    second: npt.ArrayLike,
    *,
    n_raters: int,
    confidence_level: float = CONFIDENCE_LEVEL,
) -> list[Estimate]:
    """Estimate the share of planned repeats that each rater answered the same way both times.

    Parameters
    ----------
    raters : array_like of int, shape (n_repeats,)
        Rater of each planned repeat, from 0 to n_raters − 1.
    first, second : array_like of int, shape (n_repeats,)
        The rater's first label and second label for the repeated unit, or −1 if it is missing.
        Labels are in system order so that swapped sides do not count as a change.
    n_raters : int
        Number of raters.
    confidence_level : float, default 0.95
        Confidence level of the interval, in (0, 1).

    Returns
    -------
    list of Estimate
        Share for each rater, from 0 to 1; undefined for raters without planned repeats.

    Raises
    ------
    InvalidInput
        If a code is out of range or the vectors differ in length.

    Notes
    -----
    The interval is Wilson's score interval (1927). It applies only to this rater and these units.

    Examples
    --------
    >>> shares = self_consistency([0, 0, 1], [2, 1, 0], [2, 0, 0], n_raters=2)
    >>> [share.value for share in shares]
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
    """Return the validated unit, rater and label codes of the ratings that have a label.

    ``shape`` contains the numbers of units, raters and labels.
    """
    n_units, n_raters, n_labels = shape
    unit = as_codes(units, below=n_units, name="units")
    rater = as_codes(raters, below=n_raters, name="raters")
    label = as_codes(labels, below=n_labels, name="labels", missing=True)
    check_same_length(units=unit, raters=rater, labels=label)
    is_labelled = label >= 0
    check_rated_once(unit[is_labelled], rater[is_labelled])
    return unit[is_labelled], rater[is_labelled], label[is_labelled]
