"""How often people preferred each of two systems, as plain counts."""

import numpy as np
from numpy.typing import NDArray

from tiebreak.report.criterion import Criterion
from tiebreak.report.model.systems import PairCounts
from tiebreak.stats.core.groups import n_distinct

_Names = NDArray[np.str_]


def pair_counts(criterion: Criterion) -> dict[str, PairCounts]:
    """Count the human ratings of each pair of systems, in alphabetical order of the names."""
    rows = np.flatnonzero(criterion.is_human & ~criterion.is_unparsed)
    a, b = criterion.systems
    rows = rows[criterion.compares[criterion.unit[rows]]]
    unit = criterion.unit[rows]
    first, second = np.where(a < b, a, b)[unit], np.where(a < b, b, a)[unit]
    pairs = sorted({*zip(first.tolist(), second.tolist(), strict=True)})
    return {
        f"{pair[0]} vs {pair[1]}": _counts(
            criterion, rows[(first == pair[0]) & (second == pair[1])], pair, a
        )
        for pair in pairs
    }


def _counts(
    criterion: Criterion, rows: NDArray[np.int64], pair: tuple[str, str], a: _Names
) -> PairCounts:
    units = criterion.unit[rows]
    preferred = np.sign(criterion.strength[rows])  # NaN for "both bad"
    toward_second = np.where(a[units] == pair[0], preferred, -preferred)
    return PairCounts(
        systems=pair,
        units=n_distinct(units),
        instances=n_distinct(criterion.clusters[units]),
        raters=len(criterion.rows.coded("rater")[rows].used),
        ratings=len(rows),
        first=int((toward_second < 0).sum()),
        ties=int((preferred == 0).sum()),
        second=int((toward_second > 0).sum()),
        bad=int(np.isnan(preferred).sum()),
    )
