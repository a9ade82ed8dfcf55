"""Number of ratings, labels, and agreement with the other raters, for each rater."""

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from tiebreak.report.criterion import Codes, Criterion
from tiebreak.report.model.fields import Matrix
from tiebreak.report.model.raters import RaterSection
from tiebreak.report.registry import section
from tiebreak.report.sections.raters.strata import NO_EXACT_AGREEMENT
from tiebreak.stats.core.results import Estimate, undefined
from tiebreak.stats.raters.leave_one_out import mode_credits

# Nobody could read a larger table of labels.
MAX_LABELS = 12
NOBODY_ELSE = "Nobody else rated this rater's items."
NO_INTERVAL = "Intervals are not computed for single raters."

Floats = NDArray[np.float64]


@dataclass(frozen=True)
class _BesideOthers:
    """Sums over each rater's ratings of units that other humans rated too.

    A unit with several modes is divided equally. `units` and `agreed` have the shape (raters,), and
    `confusion` the shape (raters, mode of the others, label), or it is None for many labels.
    """

    units: Codes
    agreed: Floats
    confusion: Floats | None

    def agreement(self, rater: int) -> Estimate:
        n = int(self.units[rater])
        if not n:
            return undefined(NOBODY_ELSE)
        return Estimate(float(self.agreed[rater] / n), n=n, reason=NO_INTERVAL)

    def matrix(self, rater: int) -> Matrix | None:
        if self.confusion is None or not self.units[rater]:
            return None
        return tuple(tuple(row) for row in self.confusion[rater].tolist())


@section(
    "raters",
    "Raters",
    question="raters",
    of_rated_items="they are about single annotators and the items that each rated",
    takes=(),
    names_raters=True,
)
def raters_section(criterion: Criterion) -> dict[str, RaterSection]:
    names, rater = criterion.rows.ranked("rater")
    is_human = np.zeros(len(names), dtype=bool)
    is_human[rater[criterion.is_human]] = True
    unparsed = np.bincount(rater, weights=criterion.is_unparsed).astype(np.int64)
    parsed = np.bincount(rater) - unparsed
    beside = _beside_others(criterion, rater, len(names))
    votes = _votes(criterion, rater, len(names))
    exact = undefined(NO_EXACT_AGREEMENT) if criterion.is_slider else None
    return {
        name: RaterSection(
            kind="human" if is_human[code] else "machine",
            n_ratings=int(parsed[code]),
            n_unparsed=int(unparsed[code]),
            votes=votes[code],
            leave_one_out=(exact or beside.agreement(code)) if is_human[code] else None,
            confusion=beside.matrix(code),
        )
        for code, name in enumerate(names.tolist())
    }


def _votes(criterion: Criterion, rater: Codes, n: int) -> list[dict[str, int]]:
    """Return how often each rater gave each label; of many values only those that a rater gave."""
    is_open = criterion.has_many_values
    votes = [{} if is_open else dict.fromkeys(map(str, criterion.labels), 0) for _ in range(n)]
    counted = criterion.label >= 0
    labels = len(criterion.labels)
    keys, numbers = np.unique(
        rater[counted] * labels + criterion.label[counted], return_counts=True
    )
    for key, number in zip(keys.tolist(), numbers.tolist(), strict=True):
        votes[key // labels][str(criterion.labels[key % labels])] = number
    return votes


def _beside_others(criterion: Criterion, rater: Codes, n: int) -> _BesideOthers:
    """Compare each rating with the most frequent labels of the unit's other human ratings."""
    labels, is_human = criterion.humans.shape[1], criterion.is_human
    units, agreed = np.zeros(n, dtype=np.int64), np.zeros(n)
    has_table = len(criterion.labels) <= MAX_LABELS
    confusion = np.zeros((n, labels, labels)) if has_table else None
    for label in range(labels):
        for without, mask in ((label, is_human), (None, ~is_human)):
            rows = np.flatnonzero(mask & (criterion.column == label))
            modes = mode_credits(criterion.humans[criterion.unit[rows]], without=without)
            units += np.bincount(rater[rows][modes.any(axis=1)], minlength=n)
            agreed += np.bincount(rater[rows], weights=modes[:, label], minlength=n)
            if confusion is not None:
                confusion[:, :, label] += _sums(modes, rater[rows], n)
    return _BesideOthers(units, agreed, confusion)


def _sums(values: Floats, code: Codes, n: int) -> Floats:
    """Return the sums of the rows with each code."""
    columns = [np.bincount(code, weights=column, minlength=n) for column in values.T]
    return np.column_stack(columns)
