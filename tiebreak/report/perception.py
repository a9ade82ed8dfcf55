"""Perception: per bin of the human majority, what people and machines said there.

Source: Beyond Correlation, figures 3 and 4.
"""

from typing import Any

import numpy as np
from numpy.typing import NDArray

from tiebreak.report.criterion import Criterion
from tiebreak.stats.pairs import central_weights


def perception_section(criterion: Criterion) -> list[dict[str, Any]]:
    """One entry per label that some unit's majority (or median) fell on.

    `share` is of the units with human ratings; distributions are shares of all labels given to
    the bin's units, a unit with tied modes entering each by its part.
    """
    weights = central_weights(criterion.humans, level=criterion.scale.level)
    total = weights.sum()
    return [
        {
            "label": str(label),
            "share": float(weights[:, bin_].sum() / total),
            "humans": _distribution(criterion, criterion.humans, weights[:, bin_]),
            "machines": {
                name: _distribution(criterion, machine.counts, weights[:, bin_])
                for name, machine in criterion.machines.items()
            },
        }
        for bin_, label in enumerate(criterion.labels)
        if weights[:, bin_].sum() > 0
    ]


def _distribution(
    criterion: Criterion, counts: NDArray[np.int64], weight: NDArray[np.float64]
) -> dict[str, float | None]:
    sums = weight @ counts
    total = sums.sum()
    return {
        str(label): float(each / total) if total > 0 else None
        for label, each in zip(criterion.labels, sums, strict=True)
    }
