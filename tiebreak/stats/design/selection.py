"""Sampling of instances to annotate, with known inclusion probabilities.

The first phase draws a uniform control sample. The second phase draws from the other instances,
with a preference for separable instances. Source: Madow 1949 (randomised systematic sampling with
unequal probabilities).
"""

from dataclasses import dataclass
from typing import Literal

import numpy as np
import numpy.typing as npt
import scipy

from tiebreak.errors import InvalidInput
from tiebreak.stats.core.ranges import RANGES, range_edges, range_of
from tiebreak.stats.core.results import NAN
from tiebreak.stats.core.validation import (
    FloatArray,
    IntArray,
    as_numbers,
    check_at_least,
    check_choice,
    check_share,
)

Design = Literal["uniform", "proportional", "top", "strata"]
Mask = npt.NDArray[np.bool_]

N_SIMULATED_CONTROLS = 500
_ROUNDING = 1e-9
CONTROL, CHOSEN = "control", "design"
ONLY_TOP = (
    "This design selects only the most separable instances, so estimates hold only for the "
    "selected instances. Instances with low separability are also informative; use a control "
    "sample or another design to include some of them."
)


@dataclass(frozen=True, eq=False)
class Selection:
    """Instances drawn for annotation, with their inclusion probabilities.

    See Also
    --------
    hajek_estimate : Estimates means from drawn instances.
    """

    design: Design
    """How the instances outside the control sample were drawn."""
    phase: npt.NDArray[np.str_]
    """Phase in which each instance was drawn: "control", "design", or "" if it was not
    drawn; shape (n_instances,)."""
    conditional: FloatArray
    """Probability of being drawn in the second phase, given the control sample; NaN for instances
    in the control sample; shape (n_instances,)."""
    inclusion: FloatArray
    """Probability of being drawn in either phase, before the control sample was
    drawn; shape (n_instances,)."""

    @property
    def selected(self) -> Mask:
        """Whether each instance was drawn."""
        drawn: Mask = self.phase != ""
        return drawn

    @property
    def covers(self) -> bool:
        """Whether every instance could have been drawn."""
        return bool((self.inclusion > 0).all())

    @property
    def warning(self) -> str | None:
        """Warning if some instances had no chance of being drawn, otherwise None."""
        return None if self.covers else ONLY_TOP


def logistic_weights(
    delta: npt.ArrayLike, *, beta: float = 6.0, threshold: float = 0.4
) -> FloatArray:
    """Compute weights for a draw that increase with δ on a logistic curve.

    Parameters
    ----------
    delta : array_like of float, shape (n_instances,)
        Separability δ of each instance, from normalised alignments.
    beta, threshold : float, default 6.0 and 0.4
        Constants β and T of the logistic curve.

    Returns
    -------
    ndarray of float, shape (n_instances,)
        Weight of each instance, 1 / (1 + exp(−β (δ − T))), which is always above 0.

    Raises
    ------
    InvalidInput
        If a δ is not finite.

    See Also
    --------
    floored_weights : Computes weights that are proportional to δ.

    Examples
    --------
    >>> logistic_weights([0.4, 1.0]).round(4).tolist()
    [0.5, 0.9734]
    """
    weights: FloatArray = 1 / (1 + np.exp(-beta * (as_numbers(delta, name="delta") - threshold)))
    return weights


def floored_weights(delta: npt.ArrayLike, *, floor: float) -> FloatArray:
    """Compute weights for a draw that are proportional to δ, plus a constant.

    Parameters
    ----------
    delta : array_like of float, shape (n_instances,)
        Separability δ of each instance.
    floor : float
        Constant above 0 that is added to every weight so that every instance can be drawn.

    Returns
    -------
    ndarray of float, shape (n_instances,)
        Weight of each instance, max(δ, 0) + floor.

    Raises
    ------
    InvalidInput
        If the floor is not above 0, or a δ is not finite.

    See Also
    --------
    logistic_weights : Computes weights that increase on a logistic curve.

    Examples
    --------
    >>> floored_weights([0.5, -0.2], floor=0.1).tolist()
    [0.6, 0.1]
    """
    if not (floor > 0 and np.isfinite(floor)):
        raise InvalidInput(
            "out_of_range",
            "floor must be a finite number above 0 so that every instance can be drawn; it is"
            f" {floor}.",
        )
    weights: FloatArray = np.maximum(as_numbers(delta, name="delta"), 0) + floor
    return weights


def select(
    delta: npt.ArrayLike,
    n: int,
    *,
    design: Design,
    rng: np.random.Generator,
    weights: npt.ArrayLike | None = None,
    control_share: float = 0.2,
    ranges: int = RANGES,
) -> Selection:
    """Draw instances for annotation with known probabilities.

    Parameters
    ----------
    delta : array_like of float, shape (n_instances,)
        Separability δ of each instance.
    n : int
        Number of instances to draw.
    design : {"uniform", "proportional", "top", "strata"}
        How to draw the instances outside the control sample. ``"uniform"``: with equal
        probabilities; ``"proportional"``: with probabilities proportional to `weights`; ``"top"``:
        the instances with the largest δ; ``"strata"``: the same number from each range of δ, with
        ranges of equal width.
    rng : numpy.random.Generator
        Random generator for the draw.
    weights : array_like of float, shape (n_instances,), optional
        Weights above 0; required for the proportional design.
    control_share : float, default 0.2
        Share of `n`, from 0 to 1, that is drawn first, with equal probabilities, as the control
        sample.
    ranges : int, default 4
        Number of ranges of δ for the strata design.

    Returns
    -------
    Selection
        The phase in which each instance was drawn, and its inclusion probability. With the top
        design and no control sample, most instances could not have been drawn, and
        `Selection.covers` is false.

    Raises
    ------
    InvalidInput
        If `n` exceeds the number of instances, or if weights are missing or not above 0.

    See Also
    --------
    logistic_weights, floored_weights : Compute weights from separabilities.
    hajek_estimate : Estimates means from the drawn instances.

    Notes
    -----
    Draws of fixed size with unequal probabilities use randomised systematic sampling (Madow 1949),
    since `numpy.random.Generator.choice` without replacement would not give them exactly. If
    the probability of an instance would exceed 1, the instance is drawn with certainty, and the
    remaining draws are divided among the other instances. Inclusion probabilities are exact for
    ``"uniform"``, for ``"top"``, and for all designs without a control sample. Otherwise they are
    means over 500 simulated control samples.

    Examples
    --------
    >>> rng = np.random.default_rng(0)
    >>> draw = select([0.9, 0.1, 0.5, 0.2], 2, design="top", rng=rng, control_share=0)
    >>> draw.selected.tolist(), draw.covers
    ([True, False, True, False], False)
    """
    values = as_numbers(delta, name="delta")
    total = len(values)
    check_choice(design, allowed=("uniform", "proportional", "top", "strata"), name="design")
    check_share(control_share, name="control_share")
    check_at_least(n, 1, name="n")
    check_at_least(ranges, 1, name="ranges")
    if n > total:
        raise InvalidInput(
            "out_of_range", f"n must be at most {total}, the number of instances; it is {n}."
        )
    sampling = _SamplingDesign(values, _positive(weights, total, design), design, ranges, rng)
    n_control = round(control_share * n)
    control = np.zeros(total, dtype=np.bool_)
    control[rng.permutation(total)[:n_control]] = True
    conditional = np.full(total, NAN)
    conditional[~control] = sampling.probabilities(~control, n - n_control)
    phase = np.where(control, CONTROL, "").astype("<U7")
    rest = np.flatnonzero(~control)
    phase[rest[systematic(conditional[rest], sampling.blocks[rest], rng)]] = CHOSEN
    return Selection(design, phase, conditional, sampling.inclusion(n_control, n - n_control, rng))


def _positive(weights: npt.ArrayLike | None, total: int, design: Design) -> FloatArray:
    if weights is None:
        if design == "proportional":
            raise InvalidInput(
                "weights_missing",
                "The proportional design needs one weight for each instance; pass weights.",
            )
        return np.ones(total)
    array = as_numbers(weights, name="weights")
    if len(array) != total:
        raise InvalidInput(
            "bad_weights",
            f"weights must have one number for each of the {total} instances; it has {len(array)}.",
        )
    if (array <= 0).any():
        raise InvalidInput(
            "bad_weights", f"weights must be above 0; the smallest is {array.min():g}."
        )
    return array


class _SamplingDesign:
    """Selection probabilities of a design, for any subset of the instances."""

    def __init__(
        self,
        delta: FloatArray,
        weights: FloatArray,
        design: Design,
        ranges: int,
        rng: np.random.Generator,
    ) -> None:
        self._design, self._weights = design, weights
        # Ties in δ are broken at random only once so that the draw and its probabilities agree.
        self._rank = np.empty(len(delta), dtype=np.int64)
        self._rank[np.lexsort((rng.random(len(delta)), -delta))] = np.arange(len(delta))
        self._stratum = range_of(delta, range_edges(delta, ranges=ranges))
        self.blocks = self._stratum if design == "strata" else np.zeros_like(self._stratum)

    def probabilities(self, rest: Mask, n: int) -> FloatArray:
        """Return the probability of each instance in the mask ``rest`` if ``n`` of them are drawn."""
        if self._design == "top":
            return (np.argsort(np.argsort(self._rank[rest])) < n).astype(np.float64)
        if self._design == "strata":
            return _stratified(self._stratum[rest], n)
        if self._design == "uniform":
            return np.full(int(rest.sum()), n / max(int(rest.sum()), 1))
        return _proportional(self._weights[rest], n)

    def inclusion(self, n_control: int, n: int, rng: np.random.Generator) -> FloatArray:
        """Return the probability of each instance of being drawn in either phase."""
        total = len(self._weights)
        everyone = np.ones(total, dtype=np.bool_)
        if n_control == 0:
            return self.probabilities(everyone, n)
        share = n_control / total
        if self._design == "uniform" or n == 0:
            return np.full(total, (n_control + n) / total)
        if self._design == "top":
            # An instance is selected if enough instances with a higher δ are in the control sample.
            selected = scipy.stats.hypergeom.sf(self._rank - n, total - 1, self._rank, n_control)
            inclusion: FloatArray = share + (1 - share) * selected
            return inclusion
        summed, times = np.zeros(total), np.zeros(total)
        for _ in range(N_SIMULATED_CONTROLS):
            rest = everyone.copy()
            rest[rng.permutation(total)[:n_control]] = False
            summed[rest] += self.probabilities(rest, n)
            times += rest
        # An instance that was in all simulated control samples would also be in nearly all others.
        conditional = np.divide(summed, times, out=np.ones(total), where=times > 0)
        return share + (1 - share) * conditional


def _proportional(weights: FloatArray, n: int) -> FloatArray:
    """Return n · w / Σw, with probabilities above 1 set to 1 and the excess redistributed."""
    certain = np.zeros(len(weights), dtype=np.bool_)
    while n:
        remaining = n - int(certain.sum())
        share = remaining * weights / max(weights[~certain].sum(), np.finfo(float).tiny)
        exceeds = ~certain & (share >= 1)
        if not exceeds.any():
            return np.where(certain, 1.0, share)
        certain |= exceeds
        if certain.sum() >= n:
            return certain.astype(np.float64)
    return np.zeros(len(weights))


def _stratified(stratum: IntArray, n: int) -> FloatArray:
    """Return probabilities for equal expected numbers from all strata, up to the strata's sizes.

    Within a stratum, probabilities are equal.
    """
    sizes = np.bincount(stratum)
    expected, remaining, is_open = np.zeros(len(sizes)), float(n), sizes > 0
    while remaining > 0 and is_open.any():
        share = remaining / is_open.sum()
        is_full = is_open & (sizes <= share)
        if not is_full.any():
            expected[is_open] = share
            break
        expected[is_full] = sizes[is_full]
        remaining -= float(sizes[is_full].sum())
        is_open &= ~is_full
    return (expected / np.maximum(sizes, 1))[stratum]


def systematic(probabilities: FloatArray, blocks: IntArray, rng: np.random.Generator) -> IntArray:
    """Draw a sample of fixed size with these probabilities by randomised systematic sampling.

    Instances are sampled systematically in a random order in which the instances of a block stay
    together. The number drawn from each block is therefore its expected number, rounded up or down.
    """
    certain = np.flatnonzero(probabilities >= 1 - _ROUNDING)
    size = round(float(probabilities.sum())) - len(certain)
    order = np.lexsort((rng.random(len(probabilities)), blocks))
    order = order[(probabilities[order] < 1 - _ROUNDING) & (probabilities[order] > 0)]
    if size == 0:
        return certain
    cumulative = np.cumsum(probabilities[order])
    points = (rng.random() + np.arange(size)) * (cumulative[-1] / size)
    selected = np.searchsorted(cumulative, points, side="right").clip(max=len(order) - 1)
    return np.concatenate([certain, order[selected]])
