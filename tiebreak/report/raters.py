"""What each rater did: how much, which labels, and how far they agree with the others."""

from typing import Any

import numpy as np

from tiebreak.report.criterion import Criterion
from tiebreak.stats.leave_one_out import mode_credits
from tiebreak.stats.results import Estimate, undefined

NOBODY_ELSE = "nobody else rated the same units"
NO_INTERVAL = "No interval is made per rater."


def raters_section(criterion: Criterion) -> dict[str, Any]:
    credit = [mode_credits(criterion.humans, without=code) for code in range(len(criterion.labels))]
    others = criterion.humans.sum(axis=1) - 1
    names = criterion.rows["rater"].astype(str)
    section = {}
    for name in sorted(set(names)):
        own = names == name
        labels, units = criterion.label[own], criterion.unit[own]
        known = labels >= 0
        entry: dict[str, Any] = {
            "kind": str(criterion.rows["kind"][own][0]),
            "n_ratings": int((~criterion.is_unparsed[own]).sum()),
            "n_unparsed": int(criterion.is_unparsed[own].sum()),
            "votes": {
                str(label): int((labels == code).sum())
                for code, label in enumerate(criterion.labels)
            },
        }
        if entry["kind"] == "human":
            compared = known & (others[units] > 0)
            pairs = zip(units[compared], labels[compared], strict=True)
            earned = [credit[label][unit, label] for unit, label in pairs]
            entry["leave_one_out"] = _mean(earned).as_json()
        section[name] = entry
    return section


def _mean(earned: Any) -> Estimate:
    if len(earned) == 0:
        return undefined(NOBODY_ELSE)
    return Estimate(float(np.mean(earned)), n=len(earned), reason=NO_INTERVAL)
