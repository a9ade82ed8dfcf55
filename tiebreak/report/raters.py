"""Number of ratings, labels, and agreement with the other raters, for each rater."""

import numpy as np
from numpy.typing import NDArray

from tiebreak.report.criterion import Criterion
from tiebreak.report.model import RaterSection
from tiebreak.stats.leave_one_out import mode_credits
from tiebreak.stats.results import Estimate, undefined

NOBODY_ELSE = "Nobody else rated this rater's items."
NO_INTERVAL = "Intervals are not computed for single raters."


def raters_section(criterion: Criterion) -> dict[str, RaterSection]:
    credits = [mode_credits(criterion.humans, without=k) for k in range(len(criterion.labels))]
    names, is_unparsed = criterion.rows["rater"].astype(str), criterion.is_unparsed
    section = {}
    for name in sorted(set(names)):
        mask = names == name
        is_human = criterion.rows["kind"][mask][0] == "human"
        labels = criterion.label[mask]
        section[name] = RaterSection(
            kind="human" if is_human else "machine",
            n_ratings=int((~is_unparsed[mask]).sum()),
            n_unparsed=int(is_unparsed[mask].sum()),
            votes={
                str(label): int((labels == code).sum())
                for code, label in enumerate(criterion.labels)
            },
            leave_one_out=_leave_one_out(criterion, mask, credits) if is_human else None,
        )
    return section


def _leave_one_out(
    criterion: Criterion, mask: NDArray[np.bool_], credits: list[NDArray[np.float64]]
) -> Estimate:
    """Return a human's agreement with the mode of the others, over units that others rated too."""
    labels, units = criterion.label[mask], criterion.unit[mask]
    compared = (labels >= 0) & (criterion.humans[units].sum(axis=1) > 1)
    pairs = zip(units[compared], labels[compared], strict=True)
    return _mean([credits[label][unit, label] for unit, label in pairs])


def _mean(credits: list[float]) -> Estimate:
    if not credits:
        return undefined(NOBODY_ELSE)
    return Estimate(float(np.mean(credits)), n=len(credits), reason=NO_INTERVAL)
