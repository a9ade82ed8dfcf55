"""Perception: what humans and machines say where most humans say one thing.

Source: Beyond Correlation, figures 3 and 4.
"""

import numpy as np

from metrics.report.ratings import CriterionRatings
from metrics.report.values import Json, label_key
from metrics.stats.pairs import central_entries
from metrics.stats.validation import FloatArray, IntArray


def perception_json(ratings: CriterionRatings) -> list[Json]:
    """For each label the units whose human majority (lower median) it is.

    A unit with several modes is in each of their bins with equal weights that add to 1.
    """
    humans = ratings.order_counts(ratings.humans)
    entries = central_entries(humans, level=ratings.scale.level)
    sides: dict[str, IntArray] = {
        name: ratings.order_counts(ratings.of_machine(name)) for name in ratings.machines
    }
    total = float(entries.sum())
    keys = [label_key(label) for label in ratings.order_labels]
    return [
        {
            "label": keys[column],
            "n_units": float(entries[:, column].sum()),
            "share": float(entries[:, column].sum() / total) if total else 0.0,
            "humans": _distribution(entries[:, column], humans, keys),
            "machines": {
                name: _distribution(entries[:, column], counts, keys)
                for name, counts in sides.items()
            },
        }
        for column in range(len(keys))
    ]


def _distribution(weights: FloatArray, counts: IntArray, keys: list[str]) -> Json:
    """Shares of the labels; null where the bin has no rating."""
    summed = weights @ counts.astype(np.float64)
    if summed.sum() == 0:
        return None
    return {key: float(share) for key, share in zip(keys, summed / summed.sum(), strict=True)}
