"""Validation of arguments: errors name the argument and what is allowed."""

from collections.abc import Sequence

import numpy as np
import numpy.typing as npt

from tiebreak.errors import InvalidInput

IntArray = npt.NDArray[np.int64]
FloatArray = npt.NDArray[np.float64]


def as_counts(counts: npt.ArrayLike, *, name: str = "counts") -> IntArray:
    """A (units, labels) matrix of whole numbers ≥ 0."""
    array = np.asarray(counts)
    if array.ndim != 2 or array.shape[1] == 0:
        raise InvalidInput(
            "wrong_shape", f"{name} must be a matrix of units × labels, not of shape {array.shape}."
        )
    if not np.issubdtype(array.dtype, np.number) or np.iscomplexobj(array):
        raise InvalidInput(
            "not_numbers", f"{name} must hold whole numbers of ratings, not {array.dtype}."
        )
    if not np.isfinite(array).all():
        raise InvalidInput(
            "not_finite", f"{name} must be finite: a unit without ratings has counts of 0, not NaN."
        )
    whole = array.astype(np.int64)
    if (whole != array).any() or (whole < 0).any():
        raise InvalidInput("not_counts", f"{name} must be whole numbers of ratings, 0 or more.")
    return whole


def as_codes(codes: npt.ArrayLike, *, below: int, name: str, missing: bool = False) -> IntArray:
    """A vector of codes 0..below−1, with −1 for *missing* where that is allowed."""
    array = np.asarray(codes)
    if array.ndim != 1:
        raise InvalidInput(
            "wrong_shape", f"{name} must be a vector of codes, not of shape {array.shape}."
        )
    if array.size and not np.issubdtype(array.dtype, np.integer):
        raise InvalidInput("not_integers", f"{name} must be integers, not {array.dtype}.")
    whole = array.astype(np.int64)
    lowest = -1 if missing else 0
    if whole.size and (whole.min() < lowest or whole.max() >= below):
        raise InvalidInput("out_of_range", f"{name} must lie in {lowest}..{below - 1}.")
    return whole


def as_numbers(numbers: npt.ArrayLike, *, name: str, missing: bool = False) -> FloatArray:
    """A vector of finite numbers; NaN stands for *missing* where that is allowed."""
    array = np.asarray(numbers, dtype=np.float64)
    if array.ndim != 1:
        raise InvalidInput(
            "wrong_shape", f"{name} must be a vector of numbers, not of shape {array.shape}."
        )
    wrong = np.isinf(array) if missing else ~np.isfinite(array)
    if wrong.any():
        allowed = "finite or NaN" if missing else "finite"
        raise InvalidInput(
            "not_finite", f"{name} must be {allowed}; entry {int(np.argmax(wrong))} is not."
        )
    return array


def as_similarities(matrix: npt.ArrayLike, *, name: str) -> FloatArray:
    """A matrix of finite similarities, NaN where a generation is missing."""
    array = np.asarray(matrix, dtype=np.float64)
    if array.ndim != 2:
        raise InvalidInput(
            "wrong_shape", f"{name} must be a matrix of similarities, not of shape {array.shape}."
        )
    if np.isinf(array).any():
        raise InvalidInput(
            "not_finite", f"{name} must be finite, or NaN where a generation is missing."
        )
    return array


def as_groups(groups: npt.ArrayLike, *, length: int, name: str) -> IntArray:
    """Any sortable names, one per row, as codes 0..G−1 in the order of the names."""
    array = np.asarray(groups)
    if array.ndim != 1 or len(array) != length:
        raise InvalidInput(
            "wrong_length", f"{name} must name one group for each of the {length} rows."
        )
    if np.issubdtype(array.dtype, np.floating) and not np.isfinite(array).all():
        raise InvalidInput("not_finite", f"{name} must name a group for every row: NaN is no name.")
    _, codes = np.unique(array, return_inverse=True)
    return codes.astype(np.int64)


def as_values(values: npt.ArrayLike | None, *, labels: int) -> FloatArray:
    """The number of each label, strictly increasing; 0, 1, 2, … by default."""
    if values is None:
        return np.arange(labels, dtype=np.float64)
    array = as_numbers(values, name="values")
    if len(array) != labels:
        raise InvalidInput(
            "wrong_length", f"values must give one number for each of the {labels} labels."
        )
    if (np.diff(array) <= 0).any():
        raise InvalidInput(
            "not_rising", "values must be strictly increasing, in the order of the columns."
        )
    return array


def check_same_length(**vectors: npt.NDArray[np.generic]) -> None:
    """All named vectors have one entry per row."""
    lengths = {name: len(vector) for name, vector in vectors.items()}
    if len(set(lengths.values())) > 1:
        listed = ", ".join(f"{name} {length}" for name, length in lengths.items())
        raise InvalidInput("lengths_differ", f"These must have the same length: {listed}.")


def check_choice(value: str, *, allowed: Sequence[str], name: str) -> None:
    if value not in allowed:
        raise InvalidInput(
            "unknown_choice", f"{name} must be one of {', '.join(allowed)}, not {value!r}."
        )


def check_at_least(number: int, lowest: int, *, name: str) -> None:
    if int(number) != number or number < lowest:
        raise InvalidInput(
            "out_of_range", f"{name} must be a whole number, {lowest} or more, not {number}."
        )


def check_resampling(replicates: int, confidence_level: float, batch: int | None) -> None:
    check_at_least(replicates, 0, name="replicates")
    if not 0 < confidence_level < 1:
        raise InvalidInput(
            "out_of_range", "confidence_level must lie between 0 and 1, for example 0.95."
        )
    if batch is not None:
        check_at_least(batch, 1, name="batch")


def as_shares(shares: npt.ArrayLike, *, name: str, missing: bool = False) -> FloatArray:
    """A vector of numbers in 0..1; NaN stands for *missing* where that is allowed."""
    array = as_numbers(shares, name=name, missing=missing)
    wrong = (array < 0) | (array > 1)
    if wrong.any():
        raise InvalidInput(
            "out_of_range", f"{name} must lie in 0..1; entry {int(np.argmax(wrong))} does not."
        )
    return array


def as_scores(scores: npt.ArrayLike, *, name: str) -> FloatArray:
    """A (items, criteria) matrix of finite scores; NaN stands for *missing*."""
    array = np.asarray(scores, dtype=np.float64)
    if array.ndim != 2 or array.shape[1] == 0:
        raise InvalidInput(
            "wrong_shape",
            f"{name} must be a matrix of items × criteria, not of shape {array.shape}.",
        )
    if np.isinf(array).any():
        raise InvalidInput("not_finite", f"{name} must be finite, or NaN where a score is missing.")
    return array


def as_unit_weights(weights: npt.ArrayLike | None, *, length: int) -> FloatArray:
    """One weight ≥ 0 per unit; ones by default."""
    if weights is None:
        return np.ones(length)
    array = as_numbers(weights, name="weights")
    if len(array) != length:
        raise InvalidInput(
            "wrong_length", f"weights must give one number for each of the {length} units."
        )
    if (array < 0).any():
        raise InvalidInput("out_of_range", "weights must be 0 or more.")
    return array


def as_criterion_weights(weights: npt.ArrayLike | None, *, criteria: int) -> FloatArray:
    """One weight ≥ 0 per criterion, normalised to sum 1; equal ones by default."""
    if weights is None:
        return np.full(criteria, 1 / criteria)
    array = as_numbers(weights, name="weights")
    if len(array) != criteria:
        raise InvalidInput(
            "wrong_length", f"weights must give one number for each of the {criteria} criteria."
        )
    if (array < 0).any() or array.sum() == 0:
        raise InvalidInput("out_of_range", "weights must be 0 or more, with one above 0.")
    shares: FloatArray = array / array.sum()
    return shares


def check_share(number: float, *, name: str) -> None:
    if not 0 <= number <= 1:
        raise InvalidInput("out_of_range", f"{name} must lie between 0 and 1, not {number}.")


def check_ddof(ddof: int) -> None:
    if ddof not in (0, 1):
        raise InvalidInput(
            "unknown_choice", f"ddof must be 0 (variances divide by n) or 1 (by n − 1), not {ddof}."
        )


def check_rated_once(units: IntArray, raters: IntArray) -> None:
    """Each rater rates each unit at most once."""
    order = np.lexsort((units, raters))
    repeated = (np.diff(raters[order]) == 0) & (np.diff(units[order]) == 0)
    if repeated.any():
        first = order[np.argmax(repeated)]
        raise InvalidInput(
            "rated_twice",
            "raters must rate a unit at most once (leave planned repeats out): "
            f"rater {raters[first]} rated unit {units[first]} more than once.",
        )
