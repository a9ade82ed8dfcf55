"""Validate arguments; error messages name the argument and say what is allowed."""

from collections.abc import Sequence

import numpy as np
import numpy.typing as npt

from tiebreak.errors import InvalidInput
from tiebreak.stats.core.groups import numbered

IntArray = npt.NDArray[np.int64]
FloatArray = npt.NDArray[np.float64]


def as_counts(counts: npt.ArrayLike, *, name: str = "counts") -> IntArray:
    """Return the counts as a matrix of integers of 0 or more, shape (units, labels)."""
    array = np.asarray(counts)
    if array.ndim != 2 or array.shape[1] == 0:
        raise InvalidInput(
            "wrong_shape",
            f"{name} must be a matrix with a row for each unit and a column for each label; its"
            f" shape is {array.shape}.",
        )
    if not np.issubdtype(array.dtype, np.number) or np.iscomplexobj(array):
        raise InvalidInput(
            "not_numbers",
            f"{name} must contain whole numbers of ratings; its type is {array.dtype}.",
        )
    if not np.isfinite(array).all():
        raise InvalidInput(
            "not_finite",
            f"{name} must not contain NaN or infinity. Use counts of 0 for a unit without ratings.",
        )
    whole = array.astype(np.int64)
    if (whole != array).any() or (whole < 0).any():
        raise InvalidInput(
            "not_counts",
            f"{name} must contain whole numbers of ratings, 0 or more;"
            f" {array[(whole != array) | (whole < 0)][0]} is not allowed.",
        )
    return whole


def as_codes(codes: npt.ArrayLike, *, below: int, name: str, missing: bool = False) -> IntArray:
    """Return codes from 0 to ``below`` − 1 as a vector; −1 is allowed if ``missing`` is true."""
    array = np.asarray(codes)
    if array.ndim != 1:
        raise InvalidInput(
            "wrong_shape", f"{name} must be a vector of integer codes; its shape is {array.shape}."
        )
    if array.size and not np.issubdtype(array.dtype, np.integer):
        raise InvalidInput(
            "not_integers", f"{name} must contain integers; its type is {array.dtype}."
        )
    whole = array.astype(np.int64)
    lowest = -1 if missing else 0
    outside = (whole < lowest) | (whole >= below)
    if outside.any():
        raise InvalidInput(
            "out_of_range",
            f"{name} must contain codes from {lowest} to {below - 1};"
            f" {whole[outside][0]} is out of range.",
        )
    return whole


def as_numbers(numbers: npt.ArrayLike, *, name: str, missing: bool = False) -> FloatArray:
    """Return a vector of finite numbers; NaN is allowed if ``missing`` is true."""
    array = np.asarray(numbers, dtype=np.float64)
    if array.ndim != 1:
        raise InvalidInput(
            "wrong_shape", f"{name} must be a vector of numbers; its shape is {array.shape}."
        )
    wrong = np.isinf(array) if missing else ~np.isfinite(array)
    if wrong.any():
        allowed = "finite numbers, or NaN for missing values" if missing else "finite numbers"
        index = int(np.argmax(wrong))
        raise InvalidInput(
            "not_finite", f"{name} must contain {allowed}; entry {index} is {array[index]}."
        )
    return array


def as_similarities(matrix: npt.ArrayLike, *, name: str) -> FloatArray:
    """Return a matrix of finite similarities; NaN marks a missing generation."""
    array = np.asarray(matrix, dtype=np.float64)
    if array.ndim != 2:
        raise InvalidInput(
            "wrong_shape", f"{name} must be a matrix of similarities; its shape is {array.shape}."
        )
    if np.isinf(array).any():
        raise InvalidInput(
            "not_finite",
            f"{name} must contain finite similarities, or NaN for missing generations; it contains"
            " infinity.",
        )
    return array


def as_groups(groups: npt.ArrayLike, *, length: int, name: str) -> IntArray:
    """Return the group of each row as a code, 0 for the group whose name sorts first."""
    array = np.asarray(groups)
    if array.ndim != 1 or len(array) != length:
        raise InvalidInput(
            "wrong_length",
            f"{name} must have one entry for each of the {length} rows; its shape is"
            f" {array.shape}.",
        )
    if np.issubdtype(array.dtype, np.floating) and not np.isfinite(array).all():
        raise InvalidInput(
            "not_finite",
            f"{name} must identify a group in every row; NaN and infinity are not allowed.",
        )
    return numbered(array)


def as_values(values: npt.ArrayLike | None, *, labels: int) -> FloatArray:
    """Return the numeric value of each label, strictly increasing; 0, 1, 2, … by default."""
    if values is None:
        return np.arange(labels, dtype=np.float64)
    array = as_numbers(values, name="values")
    if len(array) != labels:
        raise InvalidInput(
            "wrong_length",
            f"values must have one number for each of the {labels} labels; it has {len(array)}.",
        )
    if (np.diff(array) <= 0).any():
        raise InvalidInput(
            "not_rising",
            "values must be strictly increasing, in the order of the columns; they are"
            f" {array.tolist()}.",
        )
    return array


def as_unparsed(unparsed: npt.ArrayLike | None, units: int) -> IntArray:
    """Return the number of each unit's answers that could not be read; 0 by default."""
    numbers = np.zeros(units, dtype=np.int64) if unparsed is None else np.asarray(unparsed)
    if numbers.shape != (units,):
        raise InvalidInput(
            "wrong_length",
            f"unparsed must have one number for each of the {units} units; its shape is"
            f" {numbers.shape}.",
        )
    return numbers


def check_same_length(**vectors: npt.NDArray[np.generic]) -> None:
    """Raise an error unless all vectors have the same length."""
    lengths = {name: len(vector) for name, vector in vectors.items()}
    if len(set(lengths.values())) > 1:
        listed = ", ".join(f"{name} {length}" for name, length in lengths.items())
        raise InvalidInput(
            "lengths_differ",
            f"These arguments must have the same length; their lengths are: {listed}.",
        )


def check_choice(value: str, *, allowed: Sequence[str], name: str) -> None:
    if value not in allowed:
        raise InvalidInput(
            "unknown_choice", f"{name} must be one of {', '.join(allowed)}; it is {value!r}."
        )


def check_at_least(number: int, lowest: int, *, name: str) -> None:
    if int(number) != number or number < lowest:
        raise InvalidInput(
            "out_of_range", f"{name} must be a whole number of {lowest} or more; it is {number}."
        )


def check_resampling(replicates: int, confidence_level: float, batch: int | None) -> None:
    check_at_least(replicates, 0, name="replicates")
    if not 0 < confidence_level < 1:
        raise InvalidInput(
            "out_of_range",
            f"confidence_level must be between 0 and 1, such as 0.95; it is {confidence_level}.",
        )
    if batch is not None:
        check_at_least(batch, 1, name="batch")


def as_shares(shares: npt.ArrayLike, *, name: str, missing: bool = False) -> FloatArray:
    """Return a vector of numbers from 0 to 1; NaN is allowed if ``missing`` is true."""
    array = as_numbers(shares, name=name, missing=missing)
    wrong = (array < 0) | (array > 1)
    if wrong.any():
        index = int(np.argmax(wrong))
        raise InvalidInput(
            "out_of_range",
            f"{name} must contain numbers from 0 to 1; entry {index} is {array[index]}.",
        )
    return array


def as_scores(scores: npt.ArrayLike, *, name: str) -> FloatArray:
    """Return a matrix of finite scores, shape (texts, criteria); NaN marks a missing score."""
    array = np.asarray(scores, dtype=np.float64)
    if array.ndim != 2 or array.shape[1] == 0:
        raise InvalidInput(
            "wrong_shape",
            f"{name} must be a matrix with a row for each text and a column for each criterion;"
            f" its shape is {array.shape}.",
        )
    if np.isinf(array).any():
        raise InvalidInput(
            "not_finite",
            f"{name} must contain finite scores, or NaN for missing scores; it contains infinity.",
        )
    return array


def check_positive(weights: FloatArray) -> None:
    if weights.size and not weights.min() > 0:
        raise InvalidInput("out_of_range", "weights must be above 0.")


def as_positive_weights(weights: npt.ArrayLike | None, *, length: int) -> FloatArray:
    """Return the weight of each unit, above 0; 1 by default."""
    if weights is None:
        return np.ones(length)
    array = as_numbers(weights, name="weights")
    check_same_length(units=np.zeros(length), weights=array)
    check_positive(array)
    return array


def as_unit_weights(weights: npt.ArrayLike | None, *, length: int) -> FloatArray:
    """Return the weight of each unit, 0 or more; 1 by default."""
    if weights is None:
        return np.ones(length)
    array = as_numbers(weights, name="weights")
    _check_number(array, length, "units")
    if (array < 0).any():
        raise InvalidInput(
            "out_of_range", f"weights must be 0 or more; the smallest is {array.min()}."
        )
    return array


def as_criterion_weights(weights: npt.ArrayLike | None, *, criteria: int) -> FloatArray:
    """Return the weight of each criterion, normalised to a sum of 1; equal weights by default."""
    if weights is None:
        return np.full(criteria, 1 / criteria)
    array = as_numbers(weights, name="weights")
    _check_number(array, criteria, "criteria")
    if (array < 0).any() or array.sum() == 0:
        raise InvalidInput(
            "out_of_range",
            "weights must be 0 or more, and at least one must be above 0; they are"
            f" {array.tolist()}.",
        )
    shares: FloatArray = array / array.sum()
    return shares


def _check_number(weights: FloatArray, number: int, of: str) -> None:
    if len(weights) != number:
        raise InvalidInput(
            "wrong_length",
            f"weights must have one number for each of the {number} {of}; it has {len(weights)}.",
        )


def check_share(number: float, *, name: str) -> None:
    check_between(number, 0, 1, name=name)


def check_between(number: float, low: float, high: float, *, name: str) -> None:
    if not low <= number <= high:
        sentence = f"{name} must be between {low:g} and {high:g}; it is {number}."
        raise InvalidInput("out_of_range", sentence)


def check_ddof(ddof: int) -> None:
    if ddof not in (0, 1):
        raise InvalidInput(
            "unknown_choice",
            "ddof must be 0 (variances are divided by n) or 1 (variances are divided by n − 1);"
            f" it is {ddof}.",
        )


def check_rated_once(units: IntArray, raters: IntArray) -> None:
    """Raise an error if a rater rated a unit more than once."""
    order = np.lexsort((units, raters))
    repeated = (np.diff(raters[order]) == 0) & (np.diff(units[order]) == 0)
    if repeated.any():
        first = order[np.argmax(repeated)]
        raise InvalidInput(
            "rated_twice",
            f"Rater {raters[first]} rated unit {units[first]} more than once. A rater may rate each"
            " unit only once, so leave out planned repeats.",
        )
