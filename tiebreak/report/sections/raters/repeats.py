"""Self-consistency: planned repeats that raters answered as they had answered the first time."""

from collections.abc import Iterator
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from tiebreak.formats import RatingTable
from tiebreak.report.criterion import Codes, Criterion
from tiebreak.report.generators import Seeds
from tiebreak.report.model.raters import SelfConsistencySection
from tiebreak.report.registry import section
from tiebreak.scales import Label
from tiebreak.stats import Estimate, self_consistency
from tiebreak.stats.core.bootstrap import Mean, Statistic, estimate_each
from tiebreak.stats.core.counts import Patterns, count_matrix

NO_REPEATS = "No annotator answered a planned repeat."
ALIKE = 1

Floats = NDArray[np.float64]


@dataclass(frozen=True)
class _Repeats:
    """Planned repeats with their first answers: a unit, a rater and two label codes for each.

    `row` is the criterion's row with the first answer. A code is −1 for an unparsed answer.
    """

    row: Codes
    first: Codes
    second: Codes

    @property
    def is_compared(self) -> NDArray[np.bool_]:
        return (self.first >= 0) & (self.second >= 0)


@section(
    "self_consistency",
    "Planned repeats that were answered alike",
    question="raters",
    of_rated_items="they are about the annotators and the items that were repeated",
)
def self_consistency_section(
    criterion: Criterion, seeds: Seeds, replicates: int
) -> SelfConsistencySection:
    """Return the shares of repeats answered alike; the interval for humans resamples instances."""
    repeats = _repeats(criterion)
    names, rater = criterion.rows.ranked("rater", repeats.row)
    shares = self_consistency(rater, repeats.first, repeats.second, n_raters=len(names))
    return SelfConsistencySection(
        humans=_of_humans(criterion, repeats, seeds, replicates),
        raters=dict(zip(names.tolist(), shares, strict=True)),
    )


def _repeats(criterion: Criterion) -> _Repeats:
    again, rows = criterion.repeats, criterion.rows
    candidates = np.flatnonzero(np.isin(rows["unit"].astype(str), again["unit"].astype(str)))
    first_row = dict(zip(_keys(rows.select(candidates)), candidates.tolist(), strict=True))
    code_of: dict[Label, int] = {}
    matched = []
    for key, raw in zip(_keys(again), again["label"], strict=True):
        if key in first_row:
            row = first_row[key]
            label = None if raw is None else criterion.scale.parse_label(raw)
            codes = [
                -1 if one is None else code_of.setdefault(one, len(code_of))
                for one in (criterion.parsed[row], label)
            ]
            matched.append((row, *codes))
    return _Repeats(*np.array(matched, dtype=np.int64).reshape(-1, 3).T)


def _keys(rows: RatingTable) -> Iterator[tuple[str, ...]]:
    """Yield what a planned repeat has in common with the answer that it repeats."""
    return zip(
        *(rows[name].astype(str).tolist() for name in ("unit", "rater", "run", "order")),
        strict=True,
    )


def _of_humans(criterion: Criterion, repeats: _Repeats, seeds: Seeds, replicates: int) -> Estimate:
    compared = repeats.is_compared & criterion.is_human[repeats.row]
    counts = count_matrix(
        criterion.unit[repeats.row[compared]],
        (repeats.first == repeats.second)[compared].astype(np.int64),
        n_units=criterion.n_units,
        n_labels=2,
    )
    patterns = Patterns.of(counts, clusters=criterion.clusters)
    rng = seeds.generator("humans")
    return estimate_each({"": _SHARE}, patterns, rng=rng, replicates=replicates)[""]


def _features(rows: NDArray[np.int64]) -> Floats:
    n = rows.sum(axis=1)
    return np.stack([n > 0, rows[:, ALIKE], n], axis=1).astype(np.float64)


_MEAN = Mean(1, 2)
_SHARE = Statistic(3, _features, _MEAN.value, NO_REPEATS, NO_REPEATS, mean=_MEAN)
