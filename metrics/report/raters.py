"""Each rater: how much, which labels, like the others, like themselves, how fast."""

import numpy as np

from metrics.report.ratings import CriterionRatings, Mask, Named
from metrics.report.values import Draws, Json, estimate_json, label_key
from metrics.stats import Estimate, Patterns, undefined
from metrics.stats.agreement_statistics import mean_value
from metrics.stats.bias import WILSON, wilson_interval
from metrics.stats.bootstrap import Statistic, estimate
from metrics.stats.leave_one_out import mode_credits
from metrics.stats.validation import FloatArray, IntArray
from studies.formats.table import RatingTable

ALONE = "Nobody else rated this rater's units."
NO_REPEAT = "No planned repeat was answered."


def raters_json(table: RatingTable, ratings: CriterionRatings, draws: Draws) -> dict[str, Json]:
    humans = ratings.counts(ratings.humans)
    again = _repeats(table, ratings)
    simulated = table.flag("simulated")[ratings.rows]
    duration = table.integer("duration_ms")[ratings.rows]

    def rater_json(name: str, mask: Mask) -> dict[str, Json]:
        known = duration[mask & (duration >= 0)]
        return {
            "kind": "machine" if ratings.is_machine[mask][0] else "human",
            "n_ratings": int(mask.sum()),
            "n_unparsed": int((ratings.label[mask] < 0).sum()),
            "votes": votes_json(ratings, mask),
            "agreement_with_others": estimate_json(_with_others(ratings, mask, humans, draws)),
            "self_consistency": estimate_json(_self_consistency(*again.get(name, (0, 0)))),
            "median_duration_ms": float(np.median(known)) if len(known) else None,
            "simulated": bool(simulated[mask].any()),
        }

    return {
        name: rater_json(name, np.asarray(ratings.rater.codes == code))
        for code, name in enumerate(ratings.rater.names)
    }


def votes_json(ratings: CriterionRatings, mask: Mask) -> dict[str, Json]:
    totals = ratings.counts(mask).sum(axis=0).tolist()
    keys = (label_key(label) for label in ratings.labels)
    return dict(zip(keys, totals, strict=True))


def _with_others(ratings: CriterionRatings, mask: Mask, humans: IntArray, draws: Draws) -> Estimate:
    """Share of the rater's labels that are the mode of the other humans' on the unit.

    A tie among k modes earns 1/k, as in leave-one-out.
    """
    mine = mask & (ratings.label >= 0)
    unit, label = ratings.unit[mine], ratings.label[mine]
    others = humans[unit]
    name = ratings.rater.names[ratings.rater.codes[mask][0]]
    if not ratings.is_machine[mask][0]:
        others = others.copy()
        others[np.arange(len(unit)), label] -= 1
    patterns = Patterns.of(np.column_stack([label, others]), clusters=ratings.units.clusters[unit])
    return estimate(_AGREES, patterns, **draws.options(name))


def _agreeing(rows: IntArray) -> FloatArray:
    label, others = rows[:, 0], rows[:, 1:]
    credit = mode_credits(others)[np.arange(len(rows)), label]
    return np.column_stack([others.sum(axis=1) > 0, credit]).astype(np.float64)


_AGREES = Statistic(2, _agreeing, mean_value, ALONE, ALONE)


def _self_consistency(alike: int, n: int) -> Estimate:
    if n == 0:
        return undefined(NO_REPEAT)
    low, high = wilson_interval(alike, n)
    return Estimate(alike / n, low, high, n=n, method=WILSON)


def _repeats(table: RatingTable, ratings: CriterionRatings) -> dict[str, tuple[int, int]]:
    """Planned repeats answered like the first time, and all that have a first time, by rater."""
    mask = table.unflagged & table.text("criterion").equals(ratings.name)
    mask &= table.text("role").equals("repeat") | (
        table.text("role").equals("main") & (table.integer("repeat") > 0)
    )
    rows = np.flatnonzero(mask & ~table.label.missing)
    if not len(rows):
        return {}
    first = _first_answers(ratings)
    found: dict[str, tuple[int, int]] = {}
    units, raters = (Named.of(table.text(name), rows).decoded() for name in ("unit", "rater"))
    for unit, rater, code in zip(units, raters, table.label.codes[rows].tolist(), strict=True):
        if (unit, rater) not in first or rater is None:
            continue
        label = ratings.labels.index(ratings.scale.parse_label(table.label.values[code]))
        alike, n = found.get(rater, (0, 0))
        found[rater] = alike + (label == first[unit, rater]), n + 1
    return found


def _first_answers(ratings: CriterionRatings) -> dict[tuple[str | None, str | None], int]:
    names = zip(
        (ratings.units.names[code] for code in ratings.unit.tolist()),
        ratings.rater.decoded(),
        strict=True,
    )
    return dict(zip(names, ratings.label.tolist(), strict=True))
