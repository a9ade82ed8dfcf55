"""What a similarity is: features of texts, made once per text, and scores of pairs of them."""

from collections.abc import Sequence
from typing import Protocol, TypeVar

import numpy as np
from numpy.typing import NDArray

Array = NDArray[np.float64]
Indices = NDArray[np.intp]
Features = TypeVar("Features")


class Similarity(Protocol[Features]):
    """A symmetric similarity s(y, y') of texts, on 0–1.

    `features` takes all texts at once, so that an encoder can batch them; `scores` takes pairs as
    two arrays of positions among those features. A score that is undefined is NaN.
    """

    def features(self, texts: Sequence[str]) -> Features: ...
    def scores(self, features: Features, left: Indices, right: Indices) -> Array: ...
