"""Prediction-powered win rates: few human ratings, and the ratings of machines of all units."""

from collections.abc import Mapping
from dataclasses import replace
from math import inf, sqrt

import numpy as np
from numpy.typing import NDArray

from tiebreak.report.model.fields import Estimates
from tiebreak.report.model.systems import PoweredSystem
from tiebreak.report.sections.systems.comparisons import Comparisons
from tiebreak.stats import (
    Estimate,
    cross_fitted_slopes,
    effective_sample_size,
    prediction_powered_win_rate,
    stacked_win_rate,
    undefined,
)
from tiebreak.stats.core.groups import n_distinct
from tiebreak.stats.core.independence import drop_unreliable_interval
from tiebreak.stats.core.results import NAN

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
    estimate = _powered_rate if compared.design is None else _drawn_powered_rate
    return {
        name: {s: estimate(compared, outcomes, s, lam) for s in compared.systems}
        for name, outcomes in _machines(compared).items()
    }


def powered_systems(
    compared: Comparisons, rates: Estimates, powered: Mapping[str, Estimates]
) -> dict[str, PoweredSystem]:
    """Return what machines add to each win rate, given the rates with each machine alone."""
    if not powered:
        return {}
    compare = _compared_with_stack if compared.design is None else _compared_with_drawn_stack
    return {
        system: compare(
            compared, system, rates[system], {m: of[system] for m, of in powered.items()}
        )
        for system in compared.systems
    }


def _machines(compared: Comparisons) -> dict[str, NDArray[np.int64]]:
    """Return the outcomes by each machine that also rated units without human ratings."""
    has_human = compared.outcomes.any(axis=1)
    return {
        name: outcomes
        for name, outcomes in compared.machines.items()
        if np.any(outcomes.any(axis=1) & ~has_human)
    }


def _powered_rate(
    compared: Comparisons, machine: NDArray[np.int64], system: str, lam: float | None
) -> Estimate:
    mask = _involves(compared, system)
    humans = compared.outcomes_of(system, compared.outcomes)[mask]
    predictions = compared.outcomes_of(system, machine)[mask]
    return powered_rate(humans, predictions, compared.clusters[mask], lam)


def powered_rate(
    humans: NDArray[np.int64],
    predictions: NDArray[np.int64],
    clusters: NDArray[np.int64],
    lam: float | None = None,
    *,
    ddof: int = 0,
) -> Estimate:
    """Return the prediction-powered rate of wins, ties and losses by unit, of one machine."""
    rate = prediction_powered_win_rate(humans, predictions, lam=lam, ddof=ddof, clusters=clusters)
    has_human, has_machine = humans.any(axis=1), predictions.any(axis=1)
    samples = (has_human & has_machine, ~has_human & has_machine)
    n_clusters = min(n_distinct(clusters[sample]) for sample in samples)
    return drop_unreliable_interval(rate.estimate, n_clusters)


def _involves(compared: Comparisons, system: str) -> NDArray[np.bool_]:
    pairs = zip(compared.system_a, compared.system_b, strict=True)
    return np.array([system in pair for pair in pairs])


def _compared_with_stack(
    compared: Comparisons, system: str, _: Estimate, alone: Estimates
) -> PoweredSystem:
    mask = _involves(compared, system)
    humans = compared.outcomes_of(system, compared.outcomes)[mask]
    predicted = [
        compared.outcomes_of(system, outcomes)[mask] for outcomes in _machines(compared).values()
    ]
    clusters, has_human = compared.clusters[mask], humans.any(axis=1)
    stack = stacked_win_rate(humans, predicted, clusters=clusters)
    labelled, others = (n_distinct(clusters[kept]) for kept in (has_human, ~has_human))
    divided_by_n = sqrt(1 - 1 / max(labelled, 2))
    of_these = replace(
        stack.classical, standard_error=stack.classical.standard_error * divided_by_n
    )
    return _powered_system(
        drop_unreliable_interval(stack.classical, labelled),
        alone,
        drop_unreliable_interval(stack.estimate, min(labelled, others)),
        dict(zip(_machines(compared), stack.weights, strict=True)),
        int(humans.sum()),
        of_these,
    )


def _compared_with_drawn_stack(
    compared: Comparisons, system: str, human: Estimate, alone: Estimates
) -> PoweredSystem:
    scores, design = compared.scores_of(system), compared.design
    assert design is not None
    known = {m: rate for m, rate in alone.items() if rate.is_defined}
    weights = dict.fromkeys(alone, NAN)
    stack = next(iter(alone.values()))
    if known:
        predicted = np.stack(
            [_predictions(compared, _machines(compared)[m], system) for m in known], axis=1
        )
        # A machine says nothing of a unit that it did not rate.
        f = np.nan_to_num(predicted - np.nanmean(predicted, axis=0))[scores.unit]
        slopes = cross_fitted_slopes(
            scores.values,
            f,
            weights=design.of_units[scores.unit],
            clusters=compared.criterion.clusters[scores.unit],
        )
        weights |= dict(zip(known, slopes.mean(axis=0).tolist(), strict=True))
        stack = scores.corrected((slopes * f).sum(axis=1), n_distinct(scores.unit))
    return _powered_system(human, alone, stack, weights, len(scores.values))


def _powered_system(  # noqa: PLR0917  the fields of the result
    human: Estimate,
    alone: Estimates,
    stack: Estimate,
    weights: dict[str, float],
    ratings: int,
    of_these: Estimate | None = None,
) -> PoweredSystem:
    """Return the comparison; `of_these` is `human` with variances divided by n, as in `alone`."""
    reference = human if of_these is None else of_these
    effective = {m: effective_sample_size(ratings, reference, rate) for m, rate in alone.items()}
    # The most precise one; without an interval, the first name.
    machine, best = min(
        alone.items(),
        key=lambda item: (item[1].standard_error if item[1].has_interval else inf, item[0]),
    )
    return PoweredSystem(
        human=human,
        best=best,
        best_machine=machine if best.has_interval else "",
        stack=stack,
        weights=weights,
        ratings=ratings,
        effective_best=effective[machine],
        effective_stack=effective_sample_size(ratings, human, stack),
        effective_by_machine=effective,
    )


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
