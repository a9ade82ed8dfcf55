"""What the next study can be planned from: variance components of each pair of systems, and gains."""

from dataclasses import replace

import numpy as np
from numpy.typing import NDArray

from tiebreak.errors import InvalidInput
from tiebreak.report.criterion import Criterion
from tiebreak.report.model.selection import PairComponents
from tiebreak.report.needs import is_preference
from tiebreak.report.outcomes import Scores
from tiebreak.report.registry import section
from tiebreak.stats import (
    Estimate,
    active_design,
    explained_share,
    mixed_gain,
    outcome_counts,
    stack_gain,
    variance_components,
)
from tiebreak.stats.core.results import NAN
from tiebreak.stats.design.sample_size import VarianceComponents

REPEATED_SHARE = 0.15
# Of a draw by the machines' doubts, the uniform control sample that a study has by default.
CONTROL_SHARE = 0.2


@section(
    "planning",
    "Variance components",
    question="planning",
    of_rated_items="they are for a next study whose instances are drawn in the same way",
    takes=(),
    needs=is_preference,
)
def planning_section(criterion: Criterion) -> dict[str, PairComponents]:
    """Return the components of the win share of each pair's first system, by the pairs' names."""
    scores = Scores.of(criterion)
    a, b = criterion.systems
    machines = _machine_shares(criterion, a < b)
    of_units = np.where(a < b, a, b), np.where(a < b, b, a)
    section = {}
    for pair in sorted({*zip(scores.first.tolist(), scores.second.tolist(), strict=True)}):
        chosen = scores.of_pair(pair)
        parts = _components(criterion, chosen.row, chosen.value, pair, machines)
        if parts.reason is None:
            compared = (of_units[0] == pair[0]) & (of_units[1] == pair[1])
            gain = _active_gain(criterion, chosen.unit, chosen.value, machines, compared)
            parts = replace(parts, active=gain)
        section[" vs ".join(pair)] = parts
    return section


def _machine_shares(criterion: Criterion, is_first: NDArray[np.bool_]) -> NDArray[np.float64]:
    """Return the share of each machine's ratings of a unit that the first system wins, or NaN."""
    columns = [np.zeros((len(is_first), 0))]
    for machine in criterion.machines.values():
        counts = outcome_counts(machine.counts, criterion.labels)
        total = counts.sum(axis=1)
        of_a = np.where(total, counts @ np.array([1.0, 0.5, 0.0]) / np.maximum(total, 1), np.nan)
        columns.append(np.where(is_first, of_a, 1 - of_a)[:, None])
    return np.concatenate(columns, axis=1)


def _components(
    criterion: Criterion,
    rows: NDArray[np.int64],
    share: NDArray[np.float64],
    pair: tuple[str, str],
    machines: NDArray[np.float64],
) -> PairComponents:
    unit, mean, reason = criterion.unit[rows], float(share.mean()), None
    try:
        parts = variance_components(
            share,
            units=unit,
            raters=criterion.rows.ranked("rater", rows)[1],
            instances=criterion.clusters[unit],
        )
    except InvalidInput as error:
        parts, reason = VarianceComponents(mean, NAN, NAN, NAN, NAN), error.message
        return PairComponents(systems=pair, ratings=len(rows), **vars(parts), reason=reason)
    gain, explained = _stack(criterion, unit, share, machines, parts)
    return PairComponents(
        systems=pair,
        ratings=len(rows),
        **vars(parts),
        mixed=mixed_gain(share, units=unit, share=REPEATED_SHARE),
        stack=gain,
        explained=explained,
    )


def _active_gain(
    criterion: Criterion,
    unit: NDArray[np.int64],
    share: NDArray[np.float64],
    machines: NDArray[np.float64],
    compared: NDArray[np.bool_],
) -> Estimate | None:
    """Return the gain of drawing more of what machines doubt; None without machine ratings."""
    predicted = machines[compared]
    predicted = predicted[:, (~np.isnan(predicted)).any(axis=0)]
    if not predicted.shape[1]:
        return None
    ratings = np.bincount(unit, minlength=len(compared))
    sums = np.bincount(unit, share, minlength=len(compared))
    labels = np.where(ratings > 0, sums / np.maximum(ratings, 1), np.nan)
    instances = criterion.of_units("instance").astype(str)[compared]
    return active_design(
        labels[compared], predicted, clusters=instances, control_share=CONTROL_SHARE
    ).gain


def _stack(
    criterion: Criterion,
    unit: NDArray[np.int64],
    share: NDArray[np.float64],
    machines: NDArray[np.float64],
    parts: VarianceComponents,
) -> tuple[Estimate | None, float]:
    """Return the gain of the machines and how much they explain; None and 0 without any."""
    units, of_unit = np.unique(unit, return_inverse=True)
    predicted = machines[units]
    predicted = predicted[:, (~np.isnan(predicted)).any(axis=0)]
    if not predicted.shape[1]:
        return None, 0.0
    labels = np.bincount(of_unit, share) / np.bincount(of_unit)
    filled = np.where(np.isnan(predicted), np.nanmean(predicted, axis=0), predicted)
    gain = stack_gain(labels, filled, clusters=criterion.clusters[units])
    variance = float(labels.var(ddof=1)) if len(units) > 1 else 0.0
    return gain, explained_share(gain, parts.instance + parts.unit, variance)
