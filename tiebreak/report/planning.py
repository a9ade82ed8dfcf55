"""Variance components of each pair of systems, from which the next study can be planned."""

import numpy as np
from numpy.typing import NDArray

from tiebreak.errors import InvalidInput
from tiebreak.report.criterion import Criterion
from tiebreak.report.model import PairComponents
from tiebreak.stats import variance_components
from tiebreak.stats.results import NAN
from tiebreak.stats.sample_size import VarianceComponents


def planning_section(criterion: Criterion) -> dict[str, PairComponents]:
    """Return the components of the win share of each pair's first system, by the pairs' names."""
    sign = np.sign(criterion.strength)
    rows = np.flatnonzero(criterion.is_human & ~np.isnan(sign))
    a, b = (criterion.of_units(name).astype(str) for name in ("system_a", "system_b"))
    rows = rows[((a != "") & (b != "") & (a != b))[criterion.unit[rows]]]
    unit = criterion.unit[rows]
    first, second = np.where(a < b, a, b)[unit], np.where(a < b, b, a)[unit]
    share = np.where(a[unit] == first, 1 - sign[rows], 1 + sign[rows]) / 2
    section = {}
    for pair in sorted({*zip(first.tolist(), second.tolist(), strict=True)}):
        chosen = (first == pair[0]) & (second == pair[1])
        section[" vs ".join(pair)] = _components(
            criterion, rows[chosen], share[chosen].astype(float), pair
        )
    return section


def _components(
    criterion: Criterion,
    rows: NDArray[np.int64],
    share: NDArray[np.float64],
    pair: tuple[str, str],
) -> PairComponents:
    unit, mean, reason = criterion.unit[rows], float(share.mean()), None
    try:
        parts = variance_components(
            share,
            units=unit,
            raters=criterion.rows["rater"][rows].astype(str),
            instances=criterion.clusters[unit],
        )
    except InvalidInput as error:
        parts, reason = VarianceComponents(mean, NAN, NAN, NAN, NAN), error.message
    return PairComponents(systems=pair, ratings=len(rows), **vars(parts), reason=reason)
