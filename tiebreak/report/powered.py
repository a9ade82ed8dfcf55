"""Prediction-powered win rates: few human ratings, and the ratings of machines of all units."""

import numpy as np
from numpy.typing import NDArray

from tiebreak.report.comparisons import Comparisons
from tiebreak.report.model import Estimates
from tiebreak.stats import (
    Estimate,
    cross_fitted_slopes,
    prediction_powered_win_rate,
    undefined,
)
from tiebreak.stats.independence import drop_unreliable_interval

UNPREDICTED = (
    "After a draw of instances, prediction-powered rates need a machine rating of every instance in the"
    " dataset, also of those that were not drawn."
)
UNCOVERED = (
    "The drawn instances do not represent the dataset, so machine ratings of the others cannot be"
    " corrected by them. A control sample is needed, of at least 30 instances if the most separable"
    " instances were drawn."
)
# Share of the dataset that a machine must have rated. The size of the dataset is only estimated, from
# the inclusion probabilities.
MIN_PREDICTED = 0.8


def prediction_powered_rates(
    compared: Comparisons, lam: float | None = None
) -> dict[str, Estimates]:
    """Return the prediction-powered win rates over all units, by machine and system.

    ``lam`` is the weight of the machine's ratings, which is tuned by default.
    """
    has_human = compared.outcomes.any(axis=1)
    machines = {
        name: outcomes
        for name, outcomes in compared.machines.items()
        if np.any(outcomes.any(axis=1) & ~has_human)
    }
    estimate = _powered_rate if compared.design is None else _drawn_powered_rate
    return {
        name: {s: estimate(compared, outcomes, s, lam) for s in compared.systems}
        for name, outcomes in machines.items()
    }


def _powered_rate(
    compared: Comparisons, machine: NDArray[np.int64], system: str, lam: float | None
) -> Estimate:
    pairs = zip(compared.system_a, compared.system_b, strict=True)
    mask = np.array([system in pair for pair in pairs])
    humans = compared.outcomes_of(system, compared.outcomes)[mask]
    predictions = compared.outcomes_of(system, machine)[mask]
    clusters = compared.clusters[mask]
    rate = prediction_powered_win_rate(humans, predictions, lam=lam, clusters=clusters)
    has_human, has_machine = humans.any(axis=1), predictions.any(axis=1)
    samples = (has_human & has_machine, ~has_human & has_machine)
    n_clusters = min(len(np.unique(clusters[sample])) for sample in samples)
    return drop_unreliable_interval(rate.estimate, n_clusters)


def _drawn_powered_rate(
    compared: Comparisons, machine: NDArray[np.int64], system: str, lam: float | None
) -> Estimate:
    """Return the weighted mean of ratings, corrected by what the machine says of all instances.

    A rating y becomes y − λ (f − F), where f is the machine's mean rating of its unit, and F that of
    all units in the dataset. The machine's ratings of the whole dataset are known, so that their mean
    adds no sampling error.
    """
    scores, design = compared.scores_of(system), compared.design
    assert design is not None
    predicted = _predictions(compared, machine, system)
    known = ~np.isnan(predicted[scores.unit])
    scores = scores.of(known)
    units = np.unique(scores.unit)
    if (
        not len(units)
        or (~np.isnan(predicted)).sum() < MIN_PREDICTED * design.of_units[units].sum()
    ):
        return undefined(UNPREDICTED, len(units))
    if not design.covers[units].all():
        return undefined(UNCOVERED, len(units))
    f, weights = predicted[scores.unit], design.of_units[scores.unit]
    instances = compared.criterion.clusters[scores.unit]
    slopes = np.full(len(f), lam)
    if lam is None:
        slopes = cross_fitted_slopes(scores.values, f, weights=weights, clusters=instances)
    return scores.corrected(slopes * (f - np.nanmean(predicted)), len(units))


def _predictions(
    compared: Comparisons, machine: NDArray[np.int64], system: str
) -> NDArray[np.float64]:
    """Return a machine's mean rating of a system, by unit of the criterion; NaN without one."""
    outcomes = compared.outcomes_of(system, machine)
    means = np.full(compared.criterion.n_units, np.nan)
    rated = outcomes.any(axis=1)
    of_unit = outcomes[rated] @ np.array([1.0, 0.5, 0.0]) / outcomes[rated].sum(axis=1)
    means[compared.number[rated]] = of_unit
    return means
