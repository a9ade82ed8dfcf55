"""Win rates of the systems, over human ratings."""

from typing import Any

import numpy as np

from metrics.report.criterion import Criterion
from metrics.stats.bootstrap import generator
from metrics.stats.counts import count_matrix
from metrics.stats.rankings import win_rate


def systems_section(criterion: Criterion, seed: int, replicates: int) -> dict[str, Any]:
    """Expected win rate of each named system over all its comparisons."""
    human = criterion.is_human & (criterion.label >= 0)
    side = criterion.signs[human].astype(np.int64) + 1
    against_b = count_matrix(criterion.unit[human], side, shape=(criterion.n_units, 3))
    a, b = (criterion.of_units(name).astype(str) for name in ("system_a", "system_b"))
    rates = {}
    for system in sorted({*a, *b} - {""}):
        own = (a == system) | (b == system)
        outcomes = np.where((a == system)[own, None], against_b[own], against_b[own][:, ::-1])
        clusters = criterion.resampled_clusters
        rates[system] = win_rate(
            outcomes,
            clusters=None if clusters is None else clusters[own],
            replicates=replicates,
            rng=generator(seed, criterion.name, "win_rate", system),
        ).as_json()
    return {"win_rate": rates}
