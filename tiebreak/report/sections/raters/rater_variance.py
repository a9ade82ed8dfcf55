"""How much annotators differ in which of two systems they prefer."""

import numpy as np

from tiebreak.report.criterion import Criterion
from tiebreak.report.needs import compares_systems
from tiebreak.report.outcomes import Scores
from tiebreak.report.registry import core, section
from tiebreak.stats import RaterVariance, rater_variance


@section(
    "rater_variance",
    "How much annotators differ in what they prefer",
    question="raters",
    of_rated_items="they are about how annotators differ from each other",
    takes=(),
    needs=compares_systems,
)
def rater_variance_section(criterion: Criterion) -> RaterVariance:
    """Return the variance of annotators' preferences between two systems, over all pairs together."""
    scores = Scores.of(criterion)
    sides = [criterion.coded_units(side).ranked() for side in ("system_a", "system_b")]
    systems = np.unique(np.concatenate([names for names, _ in sides]))
    a, b = (np.searchsorted(systems, names)[codes] for names, codes in sides)
    pair = np.minimum(a, b) * len(systems) + np.maximum(a, b)
    compared = np.unique(np.concatenate([a[scores.unit], b[scores.unit]]))
    return rater_variance(
        scores.value,
        raters=scores.rater,
        instances=scores.instance,
        groups=pair[scores.unit],
        free_groups=len(compared) - 1,
    )


core("rater_variance")(rater_variance_section)
