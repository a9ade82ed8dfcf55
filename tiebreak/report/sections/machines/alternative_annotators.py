"""The alternative annotator test of each machine."""

from collections.abc import Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray

from tiebreak.report.criterion import Codes, Criterion
from tiebreak.report.design_weights import DesignWeights
from tiebreak.report.model.machines import AnnotatorTestSection, LicenceTest
from tiebreak.report.needs import has_labels
from tiebreak.report.registry import section
from tiebreak.scales import MAX_POINTS
from tiebreak.stats import alternative_annotator_test
from tiebreak.stats.core.results import NAN, Instances
from tiebreak.stats.machines.alternative_annotators import PASSING_RATE, coin_winning_rates

TOO_MANY_VALUES = (
    f"The test is not computed for scales with more than {MAX_POINTS} different values."
)


@section(
    "alternative_annotator_test",
    "Alternative annotator test",
    question="machines",
    takes=("epsilon",),
    needs=has_labels,
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
        return AnnotatorTestSection(
            epsilon, "neg_rmse", NAN, NAN, 0, 0, passes=None, reason=TOO_MANY_VALUES
        )
    ratings, options, speaks_of = _compared(criterion, machine, members)
    test = alternative_annotator_test(*ratings, **options, epsilon=epsilon)
    return AnnotatorTestSection(**vars(test), speaks_of=speaks_of)


def licence_tests(
    criterion: Criterion,
    machine: str,
    epsilons: Sequence[float],
    members: NDArray[np.bool_],
    rng: np.random.Generator,
) -> tuple[LicenceTest, ...]:
    """Return the tests of one machine on a stratum, each with what coins reach in it."""
    tests = [annotator_test(criterion, machine, epsilon, members) for epsilon in epsilons]
    if tests[0].reason:
        return tuple(LicenceTest(**vars(test)) for test in tests)
    ratings, options, _ = _compared(criterion, machine, members)
    faces = faces_of_coin(criterion, members)
    rates = coin_winning_rates(*ratings, **options, faces=faces, epsilons=epsilons, rng=rng)
    columns = rates.mean(axis=1).tolist(), (rates >= PASSING_RATE).mean(axis=1).tolist()
    return tuple(
        LicenceTest(**vars(test), coin_winning_rate=rate, coins_passing=share)
        for test, rate, share in zip(tests, *columns, strict=True)
    )


def faces_of_coin(criterion: Criterion, members: NDArray[np.bool_]) -> Codes:
    """Return the labels on which a coin falls: either side's, or all that annotators gave here."""
    if criterion.scale.kind == "preference":
        return np.array([criterion.labels.index(side) for side in (-1, 1)])
    given = criterion.is_human & (criterion.label >= 0) & members[criterion.unit]
    return np.unique(criterion.label[given])


def _compared(
    criterion: Criterion, machine: str, members: NDArray[np.bool_] | None
) -> tuple[tuple[Any, ...], dict[str, Any], Instances]:
    """Return the ratings and options of the test, and the instances that it applies to."""
    used = criterion.is_human & (criterion.label >= 0)
    if members is not None:
        used &= members[criterion.unit]
    _, rater = criterion.rows.ranked("rater", used)
    answers = criterion.machines[machine]
    n_labels = np.bincount(criterion.unit[used], minlength=criterion.n_units)
    compared = (n_labels > 1) & ((answers.counts.sum(axis=1) > 0) | (answers.unparsed > 0))
    weights, speaks_of = DesignWeights.of_entering(criterion, compared)
    ratings = criterion.unit[used], rater, criterion.label[used], answers.counts
    options = {
        "unparsed": answers.unparsed,
        "level": criterion.scale.level,
        "values": criterion.numbers,
        "clusters": criterion.clusters,
        "weights": weights,
    }
    return ratings, options, speaks_of
