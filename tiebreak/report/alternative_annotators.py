"""The alternative annotator test of each machine."""

from tiebreak.report.criterion import Criterion
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
    if criterion.has_many_values:
        return {name: _not_computed(epsilon) for name in criterion.machines} or None
    used = criterion.is_human & (criterion.label >= 0)
    _, rater = criterion.rows.ranked("rater", used)
    tests = {}
    for name, machine in criterion.machines.items():
        test = alternative_annotator_test(
            criterion.unit[used],
            rater,
            criterion.label[used],
            machine.counts,
            unparsed=machine.unparsed,
            level=criterion.scale.level,
            values=criterion.numbers,
            clusters=criterion.clusters,
            epsilon=epsilon,
        )
        tests[name] = AnnotatorTestSection(**vars(test))
    return tests or None


def _not_computed(epsilon: float) -> AnnotatorTestSection:
    return AnnotatorTestSection(
        epsilon, "neg_rmse", NAN, NAN, 0, 0, passes=None, reason=TOO_MANY_VALUES
    )
