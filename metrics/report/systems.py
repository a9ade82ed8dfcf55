"""Win rates of the systems, over human ratings."""

from typing import Any

import numpy as np

from metrics.report.criterion import Criterion
from metrics.report.generators import Seeds
from metrics.report.strata import as_json
from metrics.stats import outcome_counts, win_rates


def systems_section(criterion: Criterion, seeds: Seeds, replicates: int) -> dict[str, Any]:
    """Expected win rate of each named system over all its comparisons, and per pair."""
    a, b = (criterion.of_units(name).astype(str) for name in ("system_a", "system_b"))
    named = (a != "") & (b != "") & (a != b)
    if not np.any(named):
        return {"win_rate": {}, "pairs": {}}
    found = win_rates(
        outcome_counts(criterion.humans[named], criterion.labels),
        system_a=a[named].tolist(),
        system_b=b[named].tolist(),
        clusters=criterion.clusters[named],
        rng=seeds.generator("systems"),
        replicates=replicates,
    )
    pairs = {f"{first} vs {second}": each for (first, second), each in found.pairs.items()}
    return {"win_rate": as_json(found.systems), "pairs": as_json(pairs)}
