"""Perception: the distributions of human and machine labels by the humans' majority label.

Source: Beyond Correlation, figures 3 and 4.
"""

from typing import Any

import numpy as np
from numpy.typing import NDArray

from tiebreak.report.criterion import Criterion
from tiebreak.stats.pairs import central_weights


def perception_section(criterion: Criterion) -> list[dict[str, Any]]:
    """Return one entry per label that is the majority label (or median) of any unit.

    `share` is the label's share of the units with human ratings. The distributions are shares of
    all labels of the label's units. A unit with several modes is divided equally among them.
    """
    weights = central_weights(criterion.humans, level=criterion.scale.level)
    total = weights.sum()
    return [
        {
            "label": str(label),
            "share": float(weights[:, k].sum() / total),
            "humans": _distribution(criterion, criterion.humans, weights[:, k]),
            "machines": {
                name: _distribution(criterion, machine.counts, weights[:, k])
                for name, machine in criterion.machines.items()
            },
        }
        for k, label in enumerate(criterion.labels)
        if weights[:, k].sum() > 0
    ]


def _distribution(
    criterion: Criterion, counts: NDArray[np.int64], weight: NDArray[np.float64]
) -> dict[str, float | None]:
    sums = weight @ counts
    total = sums.sum()
    return {
        str(label): float(number / total) if total > 0 else None
        for label, number in zip(criterion.labels, sums, strict=True)
    }
