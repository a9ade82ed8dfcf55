"""Perception: the distributions of human and machine labels by the humans' majority label.

Source: Beyond Correlation, figures 3 and 4.
"""

import math

import numpy as np
from numpy.typing import NDArray

from tiebreak.report.criterion import Criterion
from tiebreak.report.design_weights import DesignWeights
from tiebreak.report.model.fields import Distribution
from tiebreak.report.model.strata import PerceptionBin
from tiebreak.report.needs import has_labels
from tiebreak.report.registry import section
from tiebreak.stats.core.unit_weights import relative
from tiebreak.stats.raters.label_pairs import central_weights


@section(
    "perception",
    "Labels by majority label",
    question="raters",
    takes=(),
    needs=has_labels,
)
def perception_section(criterion: Criterion) -> tuple[PerceptionBin, ...]:
    """Return one bin per label that is the majority label (or median) of any unit.

    There are none on scales with many values, where nobody could read them.
    """
    if criterion.has_many_values:
        return ()
    return _bins(criterion, _weights(criterion))


@section(
    "perception_by_systems",
    "Labels by majority label, by pair of systems",
    question="raters",
    takes=(),
    needs=has_labels,
)
def perception_by_systems(criterion: Criterion) -> dict[str, tuple[PerceptionBin, ...]]:
    """Return the bins of each pair of systems, if there are several pairs."""
    pairs = criterion.pairs
    names = sorted(set(pairs.tolist()) - {""})
    if len(names) < 2 or criterion.has_many_values:
        return {}
    weights = _weights(criterion)
    return {name: _bins(criterion, weights * (pairs == name)[:, None]) for name in names}


def _weights(criterion: Criterion) -> NDArray[np.float64]:
    """Return the weight of each unit in the bin of each label; after a draw, also of its instance."""
    weights = central_weights(criterion.humans, level=criterion.scale.level)
    design = DesignWeights.of(criterion)
    if design is None:
        return weights
    return weights * relative(design.of_units, length=criterion.n_units)[:, None]


def _bins(criterion: Criterion, weights: NDArray[np.float64]) -> tuple[PerceptionBin, ...]:
    """Return the bins, given the weight of each unit in the bin of each label."""
    total = weights.sum()
    return tuple(
        PerceptionBin(
            label=str(label),
            share=float(weights[:, k].sum() / total),
            humans=_distribution(criterion, criterion.humans, weights[:, k]),
            machines={
                name: _distribution(criterion, machine.counts, weights[:, k])
                for name, machine in criterion.machines.items()
            },
        )
        for k, label in enumerate(criterion.labels)
        if weights[:, k].sum() > 0
    )


def _distribution(
    criterion: Criterion, counts: NDArray[np.int64], weight: NDArray[np.float64]
) -> Distribution:
    sums = weight @ counts
    total = sums.sum()
    return {
        str(label): float(number / total) if total > 0 else math.nan
        for label, number in zip(criterion.labels, sums, strict=True)
    }
