"""The one place that checks arguments; an error names the argument and what is allowed."""

import numpy as np
from numpy.typing import ArrayLike, NDArray

from metrics.stats.scales import Level

LEVELS = ("nominal", "ordinal", "interval", "ratio")


def check_counts(counts: ArrayLike, name: str = "counts") -> NDArray[np.int64]:
    """Units × labels, whole numbers from 0."""
    array = np.asarray(counts)
    if array.ndim != 2:
        raise ValueError(f"{name} must be a matrix of units × labels, not of shape {array.shape}")
    if array.size and (not np.all(np.isfinite(array)) or np.any(array < 0)):
        raise ValueError(f"{name} must hold finite whole numbers from 0")
    whole = array.astype(np.int64)
    if not np.array_equal(whole, array):
        raise ValueError(f"{name} must hold whole numbers: how often each label was given")
    return whole


def check_level(level: str) -> Level:
    if level not in LEVELS:
        raise ValueError(f"level must be one of {', '.join(LEVELS)}, not {level!r}")
    return level  # type: ignore[return-value]


def check_values(values: ArrayLike | None, labels: int, level: Level) -> NDArray[np.float64]:
    """The labels' numbers: needed for interval and ratio, ranks otherwise."""
    if values is None:
        if level in {"interval", "ratio"}:
            raise ValueError(f"values must give each label's number for level {level!r}")
        return np.arange(labels, dtype=float)
    array = np.asarray(values, dtype=float)
    if array.shape != (labels,):
        raise ValueError(f"values must have one number per label ({labels}), not {array.shape}")
    if np.any(np.diff(array) <= 0):
        raise ValueError("values must increase: labels stand in their order")
    return array


def check_clusters(clusters: ArrayLike | None, units: int) -> NDArray[np.int64] | None:
    """One cluster code per unit, or None where each unit is its own."""
    if clusters is None:
        return None
    codes = np.asarray(clusters)
    if codes.shape != (units,):
        raise ValueError(f"clusters must have one code per unit ({units}), not {codes.shape}")
    return np.unique(codes, return_inverse=True)[1].astype(np.int64)


def check_confidence(confidence_level: float) -> float:
    if not 0 < confidence_level < 1:
        raise ValueError(f"confidence_level must lie between 0 and 1, not {confidence_level}")
    return confidence_level
