"""Latent true labels, and a confusion matrix for each rater (Dawid and Skene 1979)."""

from dataclasses import dataclass

import numpy as np
import numpy.typing as npt
import scipy

from tiebreak.errors import InvalidInput
from tiebreak.stats.core.counts import count_matrix
from tiebreak.stats.core.results import NAN, Estimate
from tiebreak.stats.core.validation import (
    FloatArray,
    IntArray,
    as_codes,
    check_at_least,
    check_rated_once,
    check_same_length,
)

SMOOTHING = 0.01
MAX_STEPS = 500
TOLERANCE = 1e-8
DENSE_CELLS, DENSE_CELLS_PER_RATING = 1_000_000, 40
GROUPS, STEPS_AGAIN = 10, 100  # steps after which a fit without a group may stop short of its end
METHOD = f"jackknife over {GROUPS} groups of instances, t on the logit scale"


@dataclass(frozen=True, eq=False)
class DawidSkene:
    """True labels and raters' confusion matrices, estimated by Dawid and Skene's method."""

    posterior: FloatArray
    """P(true label | all ratings); NaN for units without ratings; shape (n_units, n_labels)."""
    labels: IntArray
    """Most probable label, or the first of several equally probable labels; −1 for units without
    ratings; shape (n_units,)."""
    confusion: FloatArray
    """P(rating | true label) for each rater; shape (n_raters, n_labels, n_labels). The second axis
    is the true label and the third is the rating, so rows sum to 1; NaN for raters without ratings."""
    prior: FloatArray
    """Share of each true label; shape (n_labels,)."""
    accuracy: FloatArray
    """P(rating = true label) for each rater; NaN for raters without ratings; shape (n_raters,)."""
    log_likelihood: float
    """Logarithm of the likelihood."""
    converged: bool
    """Whether the likelihood stopped increasing."""
    steps: int
    """Number of iterations."""
    n_units: int
    """Number of units with ratings."""


def dawid_skene(
    units: npt.ArrayLike,
    raters: npt.ArrayLike,
    labels: npt.ArrayLike,
    *,
    n_units: int,
    n_raters: int,
    n_labels: int,
    smoothing: float = SMOOTHING,
    max_steps: int = MAX_STEPS,
) -> DawidSkene:
    """Estimate true labels and raters' confusion matrices by expectation-maximisation.

    Parameters
    ----------
    units, raters, labels : array_like of int, shape (n_ratings,)
        Unit, rater and label of each rating, from 0 to the numbers below minus 1; the label is −1 if
        the rating is missing. A rater may rate each unit only once.
    n_units, n_raters, n_labels : int
        Number of units, of raters, and of labels in the scale.
    smoothing : float, default 0.01
        Pseudo-count, 0 or more, that is added to every cell of the prior and of the confusion
        matrices. It prevents extreme probabilities for raters with few ratings. With 0, the
        estimates are maximum-likelihood estimates.
    max_steps : int, default 500
        Maximum number of iterations.

    Returns
    -------
    DawidSkene
        The estimates; they are all NaN if there are no ratings.

    Raises
    ------
    InvalidInput
        If a code is out of range, the vectors differ in length, or a rater rated a unit twice.

    Notes
    -----
    The model is Dawid and Skene's (1979): given the true label, raters are independent, and
    each rater has a separate confusion matrix. Raters who copy from one another therefore appear
    accurate. Iterations start from each unit's label shares so that labels keep their meaning if
    raters are better than chance. They end at a local maximum of the penalised likelihood.

    Examples
    --------
    >>> units, raters = [0, 0, 0, 1, 1, 1, 2, 2, 2], [0, 1, 2] * 3
    >>> labels = [0, 0, 1, 1, 1, 0, 0, 0, 1]
    >>> fit = dawid_skene(units, raters, labels, n_units=3, n_raters=3, n_labels=2)
    >>> fit.labels.tolist(), fit.accuracy.round(1).tolist()
    ([0, 1, 0], [1.0, 1.0, 0.0])
    """
    check_at_least(n_labels, 1, name="n_labels")
    check_at_least(max_steps, 1, name="max_steps")
    if not (smoothing >= 0 and np.isfinite(smoothing)):
        raise InvalidInput(
            "out_of_range", f"smoothing must be a finite number of 0 or more; it is {smoothing}."
        )
    label = as_codes(labels, below=n_labels, name="labels", missing=True)
    unit = as_codes(units, below=n_units, name="units")
    rater = as_codes(raters, below=n_raters, name="raters")
    check_same_length(units=unit, raters=rater, labels=label)
    is_labelled = label >= 0
    unit, rater, label = unit[is_labelled], rater[is_labelled], label[is_labelled]
    check_rated_once(unit, rater)
    counts = count_matrix(unit, label, n_units=n_units, n_labels=n_labels)
    ratings = _matrix(unit, rater, label, (n_units, n_raters, n_labels))
    (fit,) = _fits(ratings, counts, np.ones((n_units, 1), dtype=bool), smoothing, max_steps)
    return fit


def rater_accuracies(
    units: IntArray,
    raters: IntArray,
    labels: IntArray,
    *,
    clusters: IntArray,
    shape: tuple[int, int, int],
    max_steps: int = MAX_STEPS,
) -> tuple[DawidSkene, list[Estimate], FloatArray]:
    """Return the fit, each rater's accuracy with an interval, and how far the model's errors tell.

    The model is fitted again without each of `GROUPS` groups of ``clusters`` (of units); ``shape`` has
    the numbers of units, raters and labels. Intervals come from the jackknife over groups, by t on the
    logit scale. The last array, shape (2,), has t statistics of the gain in log-likelihood of the group
    left out: over one confusion matrix common to all raters, and over no true label at all, where each
    rater has own shares of labels. Only above `min_gain` do accuracies of single raters mean anything.
    """
    n_units, n_raters, n_labels = shape
    names = {"n_units": n_units, "n_raters": n_raters, "n_labels": n_labels}
    fit = dawid_skene(units, raters, labels, max_steps=max_steps, **names)
    kept = clusters[:, None] % GROUPS != np.arange(GROUPS)
    counts = count_matrix(units, labels, n_units=n_units, n_labels=n_labels)
    parts = _fits(_matrix(units, raters, labels, shape), counts, kept, SMOOTHING, STEPS_AGAIN)
    alike = _fits(scipy.sparse.csr_array(counts), counts, kept, SMOOTHING, STEPS_AGAIN)
    gains = np.zeros((GROUPS, 2))
    for g, (part, common) in enumerate(zip(parts, alike, strict=True)):
        out = ~kept[units, g]
        shares = SMOOTHING + count_matrix(
            raters[~out], labels[~out], n_units=n_raters, n_labels=n_labels
        )
        without = np.log(shares / shares.sum(axis=1, keepdims=True))[raters[out], labels[out]].sum()
        errors = np.where(np.isnan(part.confusion), 1 / n_labels, part.confusion)
        ours, theirs = (
            _log_likelihood(units[out], raters[out], labels[out], part.prior, one)
            for one in (errors, np.broadcast_to(common.confusion, errors.shape))
        )
        gains[g] = ours - theirs, ours - without
    accuracies = np.array([part.accuracy for part in parts])
    t = gains.mean(axis=0) / np.maximum(gains.std(axis=0, ddof=1) / np.sqrt(GROUPS), 1e-12)
    errors_of = np.sqrt((GROUPS - 1) * accuracies.var(axis=0))
    n = np.bincount(raters, minlength=n_raters)
    return fit, [*map(_with_interval, fit.accuracy, errors_of, n)], t


def min_gain() -> float:
    """Return the t statistic above which a gain is more than chance, by a one-sided test at 5%."""
    return float(scipy.special.stdtrit(GROUPS - 1, 0.95))


def _log_likelihood(
    units: IntArray, raters: IntArray, labels: IntArray, prior: FloatArray, confusion: FloatArray
) -> float:
    rows, unit = np.unique(units, return_inverse=True)
    joint = np.tile(_log(prior), (len(rows), 1))
    np.add.at(joint, unit, _log(confusion)[raters, :, labels])
    return float(_log_sum(joint).sum())


def _with_interval(accuracy: float, error: float, n: int) -> Estimate:
    value = min(max(float(accuracy), 1e-6), 1 - 1e-6)
    half = scipy.special.stdtrit(GROUPS - 1, 0.975) * error / (value * (1 - value))
    low, high = scipy.special.expit(scipy.special.logit(value) + np.array([-half, half])).tolist()
    return Estimate(float(accuracy), low, high, float(error), int(n), METHOD)


def _matrix(
    units: IntArray, raters: IntArray, labels: IntArray, shape: tuple[int, int, int]
) -> "scipy.sparse.csr_array":
    """Return the ratings with a column for each rater and label."""
    n_units, n_raters, n_labels = shape
    cells = (np.ones(len(units)), (units, raters * n_labels + labels))
    return scipy.sparse.csr_array(cells, shape=(n_units, n_raters * n_labels))


def _fits(
    sparse: "scipy.sparse.csr_array",
    counts: IntArray,
    kept: npt.NDArray[np.bool_],
    smoothing: float,
    max_steps: int,
) -> list[DawidSkene]:
    """Fit the model to the units in each column of ``kept``, shape (units, fits).

    All fits take a step together, because a step for few ratings consists of overhead.
    """
    # A step over a small sparse array costs more than over its cells, unless few of them have a rating.
    # They may be multiplied if no logarithm is infinite.
    cells = min(DENSE_CELLS, DENSE_CELLS_PER_RATING * sparse.nnz)
    ratings = sparse.toarray() if smoothing > 0 and np.prod(sparse.shape) <= cells else sparse
    numbers = counts.sum(axis=1, keepdims=True)
    rated = kept & (numbers > 0)
    posterior = rated[..., None] * (counts / np.maximum(numbers, 1))[:, None]
    fits = [_undefined(sparse, counts.shape[1]) for _ in rated.T]
    running = np.flatnonzero(rated.any(axis=0))
    posterior, previous = posterior[:, running], np.full(len(running), -np.inf)
    for step in range(1, max_steps + 1):
        if not len(running):
            break
        prior, confusion = _parameters(ratings, posterior, smoothing)
        posterior, likelihood = _posterior(ratings, prior, confusion, rated[:, running])
        objective = likelihood + _penalty(prior, confusion, smoothing)
        converged = objective - previous <= TOLERANCE * np.maximum(1.0, np.abs(objective))
        for k in np.flatnonzero(converged | (step == max_steps)):
            has, of_raters = rated[:, running[k]], confusion[:, :, k].swapaxes(1, 2)
            known = (posterior[:, k], of_raters, prior[k], float(likelihood[k]))
            fits[running[k]] = _fitted(ratings, has, known, converged=bool(converged[k]), step=step)
        previous = objective
        if converged.any():
            running, previous = running[~converged], objective[~converged]
            posterior = posterior[:, ~converged]
    return fits


def _fitted(
    ratings: "scipy.sparse.csr_array | FloatArray",
    rated: npt.NDArray[np.bool_],
    estimates: tuple[FloatArray, FloatArray, FloatArray, float],
    *,
    converged: bool,
    step: int,
) -> DawidSkene:
    posterior, confusion, prior, likelihood = estimates
    accuracy = np.einsum("t,rtt->r", prior, confusion)
    n_ratings = (rated @ ratings).reshape(confusion.shape[:2]).sum(axis=1)
    is_absent = n_ratings == 0
    confusion = np.where(is_absent[:, None, None], NAN, confusion)
    labels = np.where(rated, posterior.argmax(axis=1), -1)
    return DawidSkene(
        np.where(rated[:, None], posterior, NAN),
        labels,
        confusion,
        prior,
        np.where(is_absent, NAN, accuracy),
        likelihood,
        converged,
        step,
        int(rated.sum()),
    )


def _parameters(
    ratings: "scipy.sparse.csr_array | FloatArray", posterior: FloatArray, smoothing: float
) -> tuple[FloatArray, FloatArray]:
    """Return the priors and the confusion matrices, given the posteriors (the M step).

    Posteriors have the shape (units, fits, labels), priors (fits, labels), and confusion matrices
    (raters, ratings, fits, true labels).
    """
    _, n_fits, n_labels = posterior.shape
    prior = posterior.sum(axis=0) + smoothing
    counts = ratings.T @ posterior.reshape(len(posterior), -1)
    counts = counts.reshape(-1, n_labels, n_fits, n_labels) + smoothing
    total = counts.sum(axis=1, keepdims=True)
    # A rater's probabilities are uniform for a true label that none of the rated units has.
    uniform = np.full_like(counts, 1 / n_labels)
    confusion = np.divide(counts, total, out=uniform, where=total > 0)
    return prior / prior.sum(axis=1, keepdims=True), confusion


def _posterior(
    ratings: "scipy.sparse.csr_array | FloatArray",
    prior: FloatArray,
    confusion: FloatArray,
    rated: npt.NDArray[np.bool_],
) -> tuple[FloatArray, FloatArray]:
    """Return the posteriors and the log-likelihoods, given the parameters (the E step)."""
    joint = ratings @ _log(confusion).reshape(ratings.shape[1], -1)
    joint = joint.reshape(-1, *prior.shape) + _log(prior)
    marginal = _log_sum(joint)
    posterior = np.where(rated[..., None], np.exp(joint - marginal), 0)
    return posterior, np.where(rated, marginal[..., 0], 0).sum(axis=0)


def _penalty(prior: FloatArray, confusion: FloatArray, smoothing: float) -> FloatArray:
    if smoothing == 0:
        return np.zeros(len(prior))
    logs: FloatArray = np.log(prior).sum(axis=1) + np.log(confusion).sum(axis=(0, 1, 3))
    return smoothing * logs


def _log_sum(logs: FloatArray) -> FloatArray:
    """Return the logarithm of the sum over the last axis, which stays."""
    # Labels are few, and numpy is slow to reduce many short rows.
    by_label = np.moveaxis(logs, -1, 0).copy()
    largest = by_label.max(axis=0)
    largest[~np.isfinite(largest)] = 0
    sums = np.exp(by_label - largest).sum(axis=0)
    return np.asarray(largest + _log(sums))[..., None]


def _log(shares: FloatArray) -> FloatArray:
    with np.errstate(divide="ignore"):
        return np.log(shares)


def _undefined(ratings: "scipy.sparse.csr_array", labels: int) -> DawidSkene:
    """Return the estimates without ratings."""
    units, raters = ratings.shape[0], ratings.shape[1] // labels
    return DawidSkene(
        np.full((units, labels), NAN),
        np.full(units, -1),
        np.full((raters, labels, labels), NAN),
        np.full(labels, NAN),
        np.full(raters, NAN),
        NAN,
        converged=False,
        steps=0,
        n_units=0,
    )
