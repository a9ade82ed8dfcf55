"""How much two labels agree: 1 for equal labels, less the further they are apart."""

from typing import Literal

import numpy as np
import numpy.typing as npt

from tiebreak.stats.core.validation import FloatArray, as_values, check_choice

Weights = Literal["identity", "linear", "quadratic"]
WEIGHTS: tuple[Weights, ...] = ("identity", "linear", "quadratic")


def label_weights(
    labels: int, weights: Weights, *, values: npt.ArrayLike | None = None
) -> FloatArray:
    """Return the weight of each pair of labels, shape (labels, labels), from 0 to 1.

    Identity weights are 1 for equal labels and 0 for all others. Linear weights fall with the
    distance of the labels, and quadratic weights with its square, to 0 for the ends of the scale.
    """
    check_choice(weights, allowed=WEIGHTS, name="weights")
    if weights == "identity":
        return np.eye(labels)
    numbers = as_values(values, labels=labels)
    distance = np.abs(np.subtract.outer(numbers, numbers)) / max(np.ptp(numbers), 1e-300)
    agreed: FloatArray = 1 - (distance if weights == "linear" else distance**2)
    return agreed
