"""Position and length bias, of the human raters together and of each machine."""

from collections.abc import Callable
from typing import Any

import numpy as np
from numpy.typing import NDArray

from tiebreak.formats import RatingTable
from tiebreak.report.criterion import Criterion
from tiebreak.stats import Estimate
from tiebreak.stats.bias import length_bias, position_bias
from tiebreak.stats.independence import drop_unreliable_interval

# The presentation orders of a machine's pass: system A's text first, or system B's.
A_FIRST, B_FIRST = "ab", "ba"


def bias_section(criterion: Criterion) -> dict[str, Any]:
    """What humans prefer that is not the text; under ``machines`` the same of each machine."""
    raters = criterion.rows["rater"]
    return {
        **_of_ratings(criterion, criterion.is_human),
        "machines": {
            name: _of_ratings(criterion, ~criterion.is_human & (raters == name))
            for name in criterion.machines
        },
    }


def _of_ratings(criterion: Criterion, mask: NDArray[np.bool_]) -> dict[str, Any]:
    known = mask & (criterion.label >= 0)
    rows, signs = criterion.rows.select(known), np.nan_to_num(np.sign(criterion.strength[known]))
    first = _first_shown(rows)
    longer = np.sign(
        _characters(rows["chars_b"], rows["text_b"]) - _characters(rows["chars_a"], rows["text_a"])
    )
    longer = np.nan_to_num(longer)
    instances = criterion.clusters[criterion.unit[known]]
    return {
        "position": _bias(position_bias, signs * first, instances).as_json(),
        "length": _bias(length_bias, signs * longer, instances).as_json(),
    }


def _first_shown(rows: RatingTable) -> NDArray[np.int64]:
    """Per row −1 where system A was shown first, 1 where B was, 0 where nobody says.

    A side that is given counts; a machine's pass may say it by its presentation order.
    """
    side, order = rows["side_a"].astype(str), np.char.lower(rows["order"].astype(str))
    said = np.where(np.isin(side, ["left", "first"]), -1, np.isin(side, ["right", "second"]) * 1)
    by_order = np.where(order == A_FIRST, -1, (order == B_FIRST) * 1)
    return np.asarray(np.where(side != "", said, by_order), dtype=np.int64)


def _bias(
    of: Callable[[int, int], Estimate],
    products: NDArray[np.float64],
    instances: NDArray[np.int64],
) -> Estimate:
    clusters = len(np.unique(instances[products != 0]))
    return drop_unreliable_interval(of(*_for_and_against(products)), clusters)


def _for_and_against(products: NDArray[np.float64]) -> tuple[int, int]:
    return int((products > 0).sum()), int((products < 0).sum())


def _characters(known: NDArray[Any], texts: NDArray[Any]) -> NDArray[np.float64]:
    lengths = np.array([len(text) if text else np.nan for text in texts], dtype=float)
    return np.where(np.isnan(known.astype(float)), lengths, known.astype(float))
