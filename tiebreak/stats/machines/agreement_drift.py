"""Whether a machine agrees with annotators less often than it used to, looked at after every label.

Source: Shin, Ramdas and Rinaldo 2024 ("E-detectors: a nonparametric framework for sequential change
detection"), with weights of the possible times of the drop that sum to 1.
"""

from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

from tiebreak.scales import Level
from tiebreak.stats.core.results import NAN
from tiebreak.stats.core.validation import (
    FloatArray,
    as_codes,
    as_counts,
    as_shares,
    as_unparsed,
    check_at_least,
    check_choice,
    check_same_length,
    check_share,
)
from tiebreak.stats.raters.additive import LEVELS
from tiebreak.stats.raters.label_pairs import central_weights

DROP = 0.1
FALSE_ALARMS = 0.05
HORIZON = 2_000
# Half of the weight is on a drop that is there from the first label on.
_AT_ONCE = 0.5


def agreement_with_machine(
    units: npt.ArrayLike,
    labels: npt.ArrayLike,
    machine: npt.ArrayLike,
    *,
    unparsed: npt.ArrayLike | None = None,
    level: Level = "nominal",
) -> FloatArray:
    """Return for each human label whether the machine's label of the unit is the same.

    Parameters
    ----------
    units : array_like of int, shape (n_ratings,)
        Unit of each human rating, from 0 to n_units − 1.
    labels : array_like of int, shape (n_ratings,)
        Label of each rating, from 0 to n_labels − 1, or −1 if the rating is missing.
    machine : array_like of int, shape (n_units, n_labels)
        Number of the machine's answers that give each unit each label.
    unparsed : array_like of int, shape (n_units,), optional
        Number of the machine's answers for each unit that could not be read. A unit without any
        other answer is a disagreement.
    level : {"nominal", "ordinal", "interval", "ratio"}, default "nominal"
        Level of measurement. The machine's label is the mode on nominal scales and the lower median
        on all others.

    Returns
    -------
    ndarray of float, shape (n_ratings,)
        1 for the same label and 0 for another; between, if the machine gave several labels most
        often; NaN if the rating is missing or the machine did not answer.

    Raises
    ------
    InvalidInput
        If a code is out of range, or the level is not allowed.

    See Also
    --------
    agreement_drift : Tests whether the mean has dropped.

    Examples
    --------
    >>> agreement_with_machine([0, 0, 1], [0, 1, 1], [[2, 0], [1, 1]]).tolist()
    [1.0, 0.0, 0.5]
    """
    check_choice(level, allowed=LEVELS, name="level")
    counts = as_counts(machine, name="machine")
    n_units, n_labels = counts.shape
    unit = as_codes(units, below=n_units, name="units")
    label = as_codes(labels, below=n_labels, name="labels", missing=True)
    check_same_length(units=unit, labels=label)
    answered = (counts.sum(axis=1) > 0) | (as_unparsed(unparsed, n_units) > 0)
    weights = central_weights(counts, level=level)[unit, label]
    return np.where((label >= 0) & answered[unit], weights, NAN)


@dataclass(frozen=True)
class AgreementDrift:
    """Whether agreement has dropped, by `agreement_drift`."""

    agreement: float
    """Mean agreement over the labels; NaN without labels."""
    labels: int
    """Number of labels."""
    dropped_after: int | None
    """Number of labels after which the test showed a drop for the first time; None if it did not."""


def agreement_drift(
    agreements: npt.ArrayLike,
    *,
    reference: float,
    n_reference: int,
    drop: float = DROP,
    false_alarms: float = FALSE_ALARMS,
    horizon: int = HORIZON,
) -> AgreementDrift:
    """Test after every label whether a machine agrees with annotators less often than before.

    Parameters
    ----------
    agreements : array_like of float, shape (n_labels,)
        Whether the machine agrees with each new label, from 0 to 1, in the order of their arrival.
        They must be independent, so use one label of each instance.
    reference : float
        Mean agreement before, from 0 to 1.
    n_reference : int
        Number of independent observations in that mean, 1 or more, such as its instances.
    drop : float, default 0.1
        Size of the drop that the test is made for, between 0 and 1. Drops of less than half of it
        are usually not noticed.
    false_alarms : float, default 0.05
        Probability, between 0 and 1, with which the test shows a drop at any look if there is none.
    horizon : int, default 2000
        Number of labels in which a drop may begin, 2 or more. A later one is noticed only by what
        is left of earlier bets.

    Returns
    -------
    AgreementDrift
        After how many labels a drop was shown, if one was.

    Raises
    ------
    InvalidInput
        If an agreement or an option is out of range.

    See Also
    --------
    agreement_with_machine : Compares single labels with a machine's.
    confidence_sequence : Estimates a mean at every look.

    Notes
    -----
    For each label, p is the smaller of the reference and the mean of the reference and all earlier
    labels together, with half an observation of either kind added (Jeffreys' prior), and q is p minus
    the drop, or 0. An agreement x multiplies the evidence by x q/p + (1 − x)(1 − q)/(1 − p), whose
    expected value is at most 1 if the probability of agreement is p or more. R_t = (R_{t−1} + w_t)
    times this factor is the weighted mean of the evidence of drops that begin at each label t, with
    weight ½ at the first label and equal weights at all others up to the horizon. Since the weights
    sum to 1, R exceeds 1/α at any time with a probability of at most α (Ville's inequality), and that
    shows a drop.

    This holds exactly for a reference that is known. For one that was estimated, it holds on average
    over the prior, and in simulations with 50 to 5,000 observations and agreements of 0.5 to 0.95, at
    most 4.4% of streams of 2,000 labels without a drop had an alarm. With 500 observations, a drop from
    0.8 to 0.7 was shown after a median of 133 labels if it was there from the start, and of 248 if it began
    after 500 labels. Agreement that is closer to ½, or a reference of fewer observations, takes longer:
    with 100 observations, most such drops are never shown, and drops to 0.3 after 18 labels.

    Examples
    --------
    >>> agreement_drift([1, 1, 1, 0] * 50, reference=0.75, n_reference=400)
    AgreementDrift(agreement=0.75, labels=200, dropped_after=None)
    >>> agreement_drift([1, 0] * 50, reference=0.75, n_reference=400).dropped_after
    42
    """
    x = as_shares(agreements, name="agreements")
    for name, share in {"reference": reference, "drop": drop, "false_alarms": false_alarms}.items():
        check_share(share, name=name)
    check_at_least(n_reference, 1, name="n_reference")
    check_at_least(horizon, 2, name="horizon")
    shown = np.flatnonzero(_evidence(x, reference, n_reference, drop, horizon) * false_alarms >= 1)
    return AgreementDrift(
        agreement=float(x.mean()) if len(x) else NAN,
        labels=len(x),
        dropped_after=int(shown[0]) + 1 if len(shown) else None,
    )


def _evidence(
    x: FloatArray, reference: float, n_reference: int, drop: float, horizon: int
) -> FloatArray:
    """Return R after each label."""
    before = np.concatenate([[0.0], np.cumsum(x)])[: len(x)]
    agreed = reference * n_reference + 0.5
    known = agreed / (n_reference + 1)
    p = np.minimum(known, (agreed + before) / (n_reference + 1 + np.arange(len(x))))
    q = np.maximum(p - drop, 0)
    factors = x * q / p + (1 - x) * (1 - q) / (1 - p)
    weights = np.full(len(x), (1 - _AT_ONCE) / (horizon - 1))
    weights[:1], weights[horizon:] = _AT_ONCE, 0
    evidence, total = np.empty(len(x)), 0.0
    for t, (weight, factor) in enumerate(zip(weights, factors, strict=True)):
        evidence[t] = total = (total + weight) * factor
    return evidence
