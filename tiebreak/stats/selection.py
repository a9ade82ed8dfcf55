"""Sampling of instances to annotate, with known inclusion probabilities.

First a uniform control sample is drawn, then a sample of the rest that favours separable instances.
Source: Madow 1949 (randomised systematic sampling with unequal probabilities).
"""

from dataclasses import dataclass
from typing import Literal

import numpy as np
import numpy.typing as npt
from scipy.stats import hypergeom

from tiebreak.errors import InvalidInput
from tiebreak.stats.results import NAN
from tiebreak.stats.separability import RANGES, range_edges, range_of
from tiebreak.stats.validation import (
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
    "Only the most separable instances are chosen: instances of low separability still hold "
    "information, and estimates speak of the selected instances only."
)


@dataclass(frozen=True, eq=False)
class Selection:
    """Instances drawn for annotation, with their probabilities.

    Attributes
    ----------
    design : {"uniform", "proportional", "top", "strata"}
        How instances other than the control sample were drawn.
    phase : ndarray of str, shape (n_instances,)
        "control", "design", or "" for an instance that was not drawn.
    conditional : ndarray of float, shape (n_instances,)
        Probability of the second phase given the control sample; NaN in the control sample.
    inclusion : ndarray of float, shape (n_instances,)
        Probability of being drawn in either phase, before anything was drawn.
    selected : ndarray of bool, shape (n_instances,)
        Whether an instance was drawn.
    covers : bool
        Whether every instance could have been drawn.
    warning : str or None
        What it means if not.

    See Also
    --------
    hajek_estimate : Estimates from such instances.
    """

    design: Design
    phase: npt.NDArray[np.str_]
    conditional: FloatArray
    inclusion: FloatArray

    @property
    def selected(self) -> Mask:
        """Whether an instance was drawn."""
        drawn: Mask = self.phase != ""
        return drawn

    @property
    def covers(self) -> bool:
        """Whether every instance could have been drawn."""
        return bool((self.inclusion > 0).all())

    @property
    def warning(self) -> str | None:
        """What it means that not every instance could have been drawn."""
        return None if self.covers else ONLY_TOP


def logistic_weights(
    delta: npt.ArrayLike, *, beta: float = 6.0, threshold: float = 0.4
) -> FloatArray:
    """Compute weights of a draw that rise with δ as a logistic curve.

    Parameters
    ----------
    delta : array_like of float, shape (n_instances,)
        Separability from normalised alignments.
    beta, threshold : float, default 6.0 and 0.4
        Constants β and T.

    Returns
    -------
    ndarray of float, shape (n_instances,)
        Weight of each instance, 1 / (1 + exp(−β (δ − T))): above 0.

    Raises
    ------
    InvalidInput
        If a δ is not finite.

    See Also
    --------
    floored_weights : Weights that are proportional to δ.

    Examples
    --------
    >>> logistic_weights([0.4, 1.0]).round(4).tolist()
    [0.5, 0.9734]
    """
    weights: FloatArray = 1 / (1 + np.exp(-beta * (as_numbers(delta, name="delta") - threshold)))
    return weights


def floored_weights(delta: npt.ArrayLike, *, floor: float) -> FloatArray:
    """Compute weights of a draw that are proportional to δ, with a floor.

    Parameters
    ----------
    delta : array_like of float, shape (n_instances,)
        Separability.
    floor : float
        What is added, above 0, so that every instance can be drawn.

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
    logistic_weights : Weights that rise as a logistic curve.

    Examples
    --------
    >>> floored_weights([0.5, -0.2], floor=0.1).tolist()
    [0.6, 0.1]
    """
    if not (floor > 0 and np.isfinite(floor)):
        raise InvalidInput(
            "out_of_range",
            f"floor must be above 0, so that every instance may be drawn, not {floor}.",
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
        Separability of each instance.
    n : int
        Number of instances to draw.
    design : {"uniform", "proportional", "top", "strata"}
        How to draw the instances other than the control sample: with equal probabilities, with
        probabilities proportional to `weights`, the largest δ, or equally many from ranges of δ of
        equal width.
    rng : numpy.random.Generator
        Source of the draw.
    weights : array_like of float, shape (n_instances,), optional
        Weights above 0, for the proportional design.
    control_share : float, default 0.2
        Share of `n` that is drawn first, with equal probabilities, in [0, 1].
    ranges : int, default 4
        Number of ranges, for the strata.

    Returns
    -------
    Selection
        Who was drawn in which phase, and with what probability. With "top" and without a control
        sample, most instances could not have been drawn, and `Selection.covers` is false.

    Raises
    ------
    InvalidInput
        If `n` exceeds the number of instances, or weights are missing or not above 0.

    See Also
    --------
    logistic_weights, floored_weights : Weights from separabilities.
    hajek_estimate : Estimates from the instances.

    Notes
    -----
    Draws of fixed size with unequal probabilities are randomised systematic (Madow 1949), since
    `numpy.random.Generator.choice` without replacement would not keep to them. An instance whose
    probability would exceed 1 is certain, and the rest is shared out again. Inclusion probabilities
    are exact for "uniform", for "top", and without a control sample; otherwise they are means over
    500 control samples drawn for the purpose.

    Examples
    --------
    >>> rng = np.random.default_rng(0)
    >>> found = select([0.9, 0.1, 0.5, 0.2], 2, design="top", rng=rng, control_share=0)
    >>> found.selected.tolist(), found.covers
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
            "out_of_range", f"n must be at most the {total} instances there are, not {n}."
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
                "weights_missing", "weights must be given for a proportional design."
            )
        return np.ones(total)
    array = as_numbers(weights, name="weights")
    if len(array) != total or (array <= 0).any():
        raise InvalidInput(
            "bad_weights", f"weights must be {total} numbers above 0, one an instance."
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
        # Ties in δ are broken at random once, so that the draw and its probabilities agree.
        self._rank = np.empty(len(delta), dtype=np.int64)
        self._rank[np.lexsort((rng.random(len(delta)), -delta))] = np.arange(len(delta))
        self._stratum = range_of(delta, range_edges(delta, ranges=ranges))
        self.blocks = self._stratum if design == "strata" else np.zeros_like(self._stratum)

    def probabilities(self, rest: Mask, n: int) -> FloatArray:
        """Probabilities of the instances in the mask ``rest`` of being among ``n`` of them."""
        if self._design == "top":
            return (np.argsort(np.argsort(self._rank[rest])) < n).astype(np.float64)
        if self._design == "strata":
            return _stratified(self._stratum[rest], n)
        if self._design == "uniform":
            return np.full(int(rest.sum()), n / max(int(rest.sum()), 1))
        return _proportional(self._weights[rest], n)

    def inclusion(self, n_control: int, n: int, rng: np.random.Generator) -> FloatArray:
        """Probabilities (N,) of being drawn in either phase."""
        total = len(self._weights)
        everyone = np.ones(total, dtype=np.bool_)
        if n_control == 0:
            return self.probabilities(everyone, n)
        share = n_control / total
        if self._design == "uniform" or n == 0:
            return np.full(total, (n_control + n) / total)
        if self._design == "top":
            # Selected if enough of the instances with a higher δ are in the control sample.
            selected = hypergeom.sf(self._rank - n, total - 1, self._rank, n_control)
            inclusion: FloatArray = share + (1 - share) * selected
            return inclusion
        summed, times = np.zeros(total), np.zeros(total)
        for _ in range(N_SIMULATED_CONTROLS):
            rest = everyone.copy()
            rest[rng.permutation(total)[:n_control]] = False
            summed[rest] += self.probabilities(rest, n)
            times += rest
        # Instances that were in all simulated control samples would be in nearly all others.
        conditional = np.divide(summed, times, out=np.ones(total), where=times > 0)
        return share + (1 - share) * conditional


def _proportional(weights: FloatArray, n: int) -> FloatArray:
    """n · w / Σw; probabilities above 1 become 1, and the rest is redistributed."""
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
    """Equal expected numbers from all strata, up to the size of each; uniform within a stratum."""
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
    """A sample of fixed size with these probabilities: systematic sampling in a random order.

    Blocks are contiguous in that order, so that each contributes its expected number, rounded up or
    down.
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
