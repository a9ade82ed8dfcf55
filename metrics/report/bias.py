"""What raters prefer that is not the text: where it stood, how long it is."""

import numpy as np

from metrics.report.ratings import CriterionRatings, Mask
from metrics.report.values import Json, estimate_json
from metrics.stats import length_bias, position_bias
from metrics.stats.validation import IntArray
from studies.formats.table import RatingTable

# How a side is written that is read first: beside the other, or above it.
FIRST = ("left", "first")
SECOND = ("right", "second")


def bias_json(table: RatingTable, ratings: CriterionRatings) -> dict[str, Json]:
    return {
        **_biases(table, ratings, ratings.humans),
        "machines": {
            name: _biases(table, ratings, ratings.of_machine(name)) for name in ratings.machines
        },
    }


def _biases(table: RatingTable, ratings: CriterionRatings, mask: Mask) -> dict[str, Json]:
    sign = _signs(ratings)
    position, length = _a_first(table, ratings), _a_longer(table, ratings)
    return {
        "position": estimate_json(position_bias(*_sides(sign[mask], position[mask]))),
        "length": estimate_json(length_bias(*_sides(sign[mask], length[mask]))),
    }


def _sides(sign: IntArray, a_has_it: IntArray) -> tuple[int, int]:
    """Ratings for the text that has it (is first, is longer) and for the other one."""
    product = sign * a_has_it
    return int((product > 0).sum()), int((product < 0).sum())


def _signs(ratings: CriterionRatings) -> IntArray:
    """1 where A was preferred, −1 where B was, 0 otherwise."""
    signs = [0 if label == "bad" else -int(np.sign(float(label))) for label in ratings.labels]
    return np.array([*signs, 0], dtype=np.int64)[ratings.label]


def _a_first(table: RatingTable, ratings: CriterionRatings) -> IntArray:
    side = table.text("side_a")
    signs = [(value in FIRST) - (value in SECOND) for value in side.values]
    return np.array([*signs, 0], dtype=np.int64)[side.codes[ratings.rows]]


def _a_longer(table: RatingTable, ratings: CriterionRatings) -> IntArray:
    a, b = (table.integer(f"chars_{side}")[ratings.rows] for side in "ab")
    known = (a >= 0) & (b >= 0)
    return np.where(known, np.sign(a - b), 0)
