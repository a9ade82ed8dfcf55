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
    """(raters, raters): units that both rated, share rated alike, Cohen's κ; NaN without a unit.

    κ is NaN too where both used one label only: agreement by chance is certain.
    """

    shared: IntArray
    agreement: FloatArray
    kappa: FloatArray


@dataclass(frozen=True)
class Influence:
    """α without one rater, and how much higher it is than with them."""

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
    """Agreement of every two raters on the units that both rated.

    Aligned vectors of codes, one row a rating; a label of −1 (missing) is passed over, a rater
    rates a unit at most once. Diagonals are a rater with themselves: share 1. κ compares with
    chance from both raters' labels on the shared units (Cohen 1960).

    >>> found = pairwise_agreement([0, 0, 1, 1], [0, 1, 0, 1], [0, 0, 0, 1], n_units=2, n_raters=2, n_labels=2)
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
    """Krippendorff's α without each rater, and the change, on the same replicates.

    Ratings as in `pairwise_agreement`. A positive change says that the others agree better
    without this rater. Undefined where nobody else has two ratings of a unit. Replicates draw
    units, or instances (``clusters``); all raters are read off generators of one seed.
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
    """Share of planned repeats that each rater answered alike, with a Wilson interval.

    Aligned vectors of codes, one row a repeated unit: the rater, their label when they met it
    first, and again. Labels are in the systems' order, so that swapped sides do not count as a
    change. −1 (missing) on either side leaves.

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
