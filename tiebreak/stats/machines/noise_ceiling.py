"""The best agreement with one annotator that any machine could reach."""

import numpy as np

from tiebreak.stats.core.results import Estimate, mapped
from tiebreak.stats.core.validation import check_at_least


def noise_ceiling(equal_labels: Estimate, *, labels: int) -> Estimate:
    """Return a bound of how often any machine's label can equal the label of one annotator.

    Parameters
    ----------
    equal_labels : Estimate
        Probability that two annotators give an item the same label (mean share of equal pairs).
    labels : int
        Number of labels of the scale.

    Returns
    -------
    Estimate
        The bound, from 1 / labels to 1, with the same reason and scope; undefined if `equal_labels` is.

    Raises
    ------
    InvalidInput
        If `labels` is below 2.

    See Also
    --------
    single_human_machine : Has the agreement of a machine with one annotator, among other statistics.

    Notes
    -----
    On an item whose labels have the probabilities p, a machine agrees with one annotator with at most the
    probability m = max p, and two annotators agree with Σ p² ≥ m² + (1 − m)² / (L − 1), with L labels.
    Solved for m, this is a concave function of Σ p², so the mean of m over items is at most its value at
    the mean of Σ p²: m ≤ (1 + √((L − 1)(L P − 1))) / L. It is reached where all items are equally noisy
    and wrong labels equally probable; elsewhere the best agreement is lower. Unlike the share of the most
    frequent of few labels, it does not depend on the number of ratings. The name is from Nili et al. 2014.

    Examples
    --------
    >>> round(noise_ceiling(Estimate(0.68, n=100), labels=2).value, 4)
    0.8
    """
    check_at_least(labels, 2, name="labels")

    def bound(share: float) -> float:
        return float(1 + np.sqrt((labels - 1) * max(labels * share - 1, 0.0))) / labels

    return mapped(equal_labels, bound)
