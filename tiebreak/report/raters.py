"""Number of ratings, labels, and agreement with the other raters, for each rater."""

from typing import Any

import numpy as np

from tiebreak.report.criterion import Criterion
from tiebreak.stats.leave_one_out import mode_credits
from tiebreak.stats.results import Estimate, undefined

NOBODY_ELSE = "Nobody else rated this rater's units."
NO_INTERVAL = "Intervals are not computed for single raters."


def raters_section(criterion: Criterion) -> dict[str, Any]:
    credits = [mode_credits(criterion.humans, without=k) for k in range(len(criterion.labels))]
    n_others = criterion.humans.sum(axis=1) - 1
    names = criterion.rows["rater"].astype(str)
    section = {}
    for name in sorted(set(names)):
        mask = names == name
        labels, units = criterion.label[mask], criterion.unit[mask]
        entry: dict[str, Any] = {
            "kind": str(criterion.rows["kind"][mask][0]),
            "n_ratings": int((~criterion.is_unparsed[mask]).sum()),
            "n_unparsed": int(criterion.is_unparsed[mask].sum()),
            "votes": {
                str(label): int((labels == code).sum())
                for code, label in enumerate(criterion.labels)
            },
        }
        if entry["kind"] == "human":
            compared = (labels >= 0) & (n_others[units] > 0)
            pairs = zip(units[compared], labels[compared], strict=True)
            entry["leave_one_out"] = _mean([credits[k][unit, k] for unit, k in pairs]).as_json()
        section[name] = entry
    return section


def _mean(credits: list[float]) -> Estimate:
    if not credits:
        return undefined(NOBODY_ELSE)
    return Estimate(float(np.mean(credits)), n=len(credits), reason=NO_INTERVAL)
