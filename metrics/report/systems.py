"""How often each system wins, by humans and by each machine."""

import numpy as np

from metrics.report.ratings import CriterionRatings, Mask
from metrics.report.values import Draws, Json, estimates_json
from metrics.stats import WinRates, outcome_counts, win_rates


def systems_json(ratings: CriterionRatings, draws: Draws) -> dict[str, Json]:
    return {
        **_rates_json(ratings, ratings.humans, draws),
        "machines": {
            name: _rates_json(ratings, ratings.of_machine(name), draws.at("machines", name))
            for name in ratings.machines
        },
    }


def _rates_json(ratings: CriterionRatings, mask: Mask, draws: Draws) -> dict[str, Json]:
    rates = _rates(ratings, mask, draws)
    pairs = {" / ".join(pair): estimate for pair, estimate in rates.pairs.items()}
    return {
        "win_rate": estimates_json(rates.systems),
        "pair_win_rate": estimates_json(pairs),
    }


def _rates(ratings: CriterionRatings, mask: Mask, draws: Draws) -> WinRates:
    first, second = (_named(ratings, side) for side in ("a", "b"))
    compared = (first != "") & (second != "") & (first != second)
    counts = outcome_counts(ratings.counts(mask), ratings.labels)
    return win_rates(
        counts[compared],
        system_a=first[compared].tolist(),
        system_b=second[compared].tolist(),
        clusters=ratings.units.clusters[compared],
        replicates=draws.replicates,
        rng_for=draws.at("win_rate").rng_for,
    )


def _named(ratings: CriterionRatings, side: str) -> "np.ndarray[tuple[int], np.dtype[np.str_]]":
    """Each unit's system; A and B where no rating of the criterion names any."""
    units = ratings.units
    if not units.pairs.any:
        return np.full(len(units), side.upper())
    column = units.system_a if side == "a" else units.system_b
    return np.array([name or "" for name in column.decoded()], dtype=str)
