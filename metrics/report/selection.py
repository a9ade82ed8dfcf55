"""What choosing instances brought: the same win rate from the control sample alone and from all."""

from typing import Any

import numpy as np
from numpy.typing import NDArray

from metrics.report.criterion import Criterion
from metrics.stats import Estimate, undefined
from metrics.stats.rankings import outcome_counts
from metrics.stats.selection import CONTROL, hajek_estimate, ratings_saved

NO_CONTROL = (
    "No instance of a control sample has ratings that count, so there is nothing to compare with."
)


def selection_section(criterion: Criterion) -> dict[str, Any]:
    """By system pair, where instances were drawn: system A's win rate, both ways, and the saving.

    Empty where nothing was drawn. An instance is weighed by 1 / its probability of having been
    drawn; in the control sample all are equally likely.
    """
    phase = criterion.of_units("phase").astype(str)
    drawn = (phase != "") & (phase != "all")
    found: dict[str, Any] = {}
    for pair in sorted(set(_pairs(criterion)[drawn])):
        here = drawn & (_pairs(criterion) == pair) & (criterion.humans.sum(axis=1) > 0)
        if here.any():
            found[pair] = _of_pair(criterion, here, phase)
    return found


def _pairs(criterion: Criterion) -> NDArray[np.str_]:
    a, b = (criterion.of_units(name).astype(str) for name in ("system_a", "system_b"))
    return np.array([f"{first} vs {second}" for first, second in zip(a, b, strict=True)])


def _of_pair(
    criterion: Criterion, here: NDArray[np.bool_], phase: NDArray[np.str_]
) -> dict[str, Any]:
    wins, n = _totals(criterion, here)
    instances, first = np.unique(criterion.clusters[here], return_index=True)
    inclusion = criterion.of_units("inclusion_probability").astype(float)[here][first]
    in_control = phase[here][first] == CONTROL
    chosen = hajek_estimate(wins, inclusion, sizes=n)
    control = _control(wins[in_control], n[in_control])
    saved = ratings_saved(chosen, control) if in_control.any() else undefined(NO_CONTROL)
    return {
        "instances": len(instances),
        "control": int(in_control.sum()),
        "win_rate": chosen.as_json(),
        "win_rate_control": control.as_json(),
        "instances_saved": saved.as_json(),
        "ratings_saved": _times(saved, float(n.mean())).as_json(),
    }


def _totals(
    criterion: Criterion, here: NDArray[np.bool_]
) -> tuple[NDArray[np.float64], NDArray[np.float64]]:
    """Per instance A's wins with half the ties, and how many ratings say which is better."""
    outcomes = outcome_counts(criterion.humans[here], criterion.labels)
    _, of_instance = np.unique(criterion.clusters[here], return_inverse=True)
    wins = np.bincount(of_instance, weights=outcomes[:, 0] + outcomes[:, 1] / 2)
    n = np.bincount(of_instance, weights=outcomes.sum(axis=1))
    return wins.astype(np.float64), n.astype(np.float64)


def _control(wins: NDArray[np.float64], n: NDArray[np.float64]) -> Estimate:
    if not len(wins):
        return undefined(NO_CONTROL)
    return hajek_estimate(wins, np.ones(len(wins)), sizes=n)


def _times(estimate: Estimate, factor: float) -> Estimate:
    if estimate.reason is not None:
        return estimate
    return Estimate(estimate.value * factor, n=estimate.n, method=estimate.method)
