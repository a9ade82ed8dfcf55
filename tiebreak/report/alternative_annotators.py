"""The alternative annotator test of each machine."""

import numpy as np
from numpy.typing import NDArray

from tiebreak.report.criterion import Criterion
from tiebreak.report.design_weights import DesignWeights
from tiebreak.report.model import AnnotatorTestSection
from tiebreak.scales import MAX_POINTS
from tiebreak.stats import alternative_annotator_test
from tiebreak.stats.results import NAN

TOO_MANY_VALUES = (
    f"The test is not computed for scales with more than {MAX_POINTS} different values."
)


def alternative_annotator_section(
    criterion: Criterion, epsilon: float
) -> dict[str, AnnotatorTestSection] | None:
    """Return the test of each machine, or None if there is no machine."""
    return {name: annotator_test(criterion, name, epsilon) for name in criterion.machines} or None


def annotator_test(
    criterion: Criterion,
    machine: str,
    epsilon: float,
    members: NDArray[np.bool_] | None = None,
) -> AnnotatorTestSection:
    """Return the test of one machine on all units, or on those of a stratum."""
    if criterion.has_many_values:
        return _not_computed(epsilon)
    used = criterion.is_human & (criterion.label >= 0)
    if members is not None:
        used &= members[criterion.unit]
    _, rater = criterion.rows.ranked("rater", used)
    answers = criterion.machines[machine]
    n_labels = np.bincount(criterion.unit[used], minlength=criterion.n_units)
    compared = (n_labels > 1) & ((answers.counts.sum(axis=1) > 0) | (answers.unparsed > 0))
    weights, speaks_of = DesignWeights.of_entering(criterion, compared)
    test = alternative_annotator_test(
        criterion.unit[used],
        rater,
        criterion.label[used],
        answers.counts,
        unparsed=answers.unparsed,
        level=criterion.scale.level,
        values=criterion.numbers,
        clusters=criterion.clusters,
        weights=weights,
        epsilon=epsilon,
    )
    return AnnotatorTestSection(**vars(test), speaks_of=speaks_of)


def _not_computed(epsilon: float) -> AnnotatorTestSection:
    return AnnotatorTestSection(
        epsilon, "neg_rmse", NAN, NAN, 0, 0, passes=None, reason=TOO_MANY_VALUES
    )
