"""What choosing instances brought: the same win rate from the control sample alone and from all."""

from dataclasses import dataclass, replace
from typing import Any

import numpy as np
from numpy.typing import NDArray

from tiebreak.report.criterion import Criterion
from tiebreak.stats import Estimate, hajek_estimate, instances_saved, undefined
from tiebreak.stats.hajek import ALL_CONTROL, NO_CONTROL
from tiebreak.stats.independence import MIN_CLUSTERS, effective_size
from tiebreak.stats.rankings import outcome_counts
from tiebreak.stats.selection import CONTROL

# What only the control sample could reach is known from few instances of great weight: where it
# is more than a tenth of the dataset, so many of them are needed.
LARGEST_UNREACHED = 0.1
FEWEST_CONTROLS = 30
NO_PREFERENCE = "No rating of these instances says which system is better."
NO_COMPARISON = (
    "The rated instances do not stand for the dataset: they are too few, or much of it could be"
    " reached only through the control sample, which then takes at least {fewest} instances."
)
NO_PROBABILITY = (
    "{missing} of {n} drawn instances have no inclusion probability, so that they cannot be"
    " weighted. Fill in the column inclusion_probability."
)


def drawn_units(criterion: Criterion) -> NDArray[np.bool_]:
    """Units (U,) whose instance was drawn, and not taken with all others."""
    phase = criterion.of_units("phase").astype(str)
    return np.asarray((phase != "") & (phase != "all"), dtype=bool)


def selection_section(criterion: Criterion) -> dict[str, Any]:
    """By system pair, where instances were drawn: system A's win rate, both ways, and the saving.

    Empty where nothing was drawn. An instance is weighed by 1 / its probability of having been
    drawn; in the control sample all are equally likely. The weighted rate speaks of the dataset
    where a control sample reaches all of it, else of the selected instances.
    """
    drawn, pairs = drawn_units(criterion), _pairs(criterion)
    rated = drawn & (pairs != "") & (criterion.humans.sum(axis=1) > 0)
    found = {}
    for pair in sorted(set(pairs[rated])):
        here = rated & (pairs == pair)
        names = [str(criterion.of_units(side)[here][0]) for side in ("system_a", "system_b")]
        found[pair] = {"systems": names, **_of_pair(_Drawn.of(criterion, here))}
    return found


def _pairs(criterion: Criterion) -> NDArray[np.str_]:
    a, b = (criterion.of_units(name).astype(str) for name in ("system_a", "system_b"))
    pairs = zip(a, b, strict=True)
    return np.array([f"{one} vs {other}" if one and other else "" for one, other in pairs])


@dataclass(frozen=True, eq=False)
class _Drawn:
    """Drawn instances (I,) of one pair whose ratings say which system is better.

    ``wins`` are system A's with half the ties, of ``sizes`` ratings; ``silent`` counts the
    instances that left because none of their ratings says which is better.
    """

    wins: NDArray[np.float64]
    sizes: NDArray[np.float64]
    inclusion: NDArray[np.float64]
    in_control: NDArray[np.bool_]
    silent: int

    @classmethod
    def of(cls, criterion: Criterion, here: NDArray[np.bool_]) -> "_Drawn":
        outcomes = outcome_counts(criterion.humans[here], criterion.labels).astype(np.float64)
        _, first, instance = np.unique(
            criterion.clusters[here], return_index=True, return_inverse=True
        )
        wins = np.bincount(instance, outcomes[:, 0] + outcomes[:, 1] / 2).astype(np.float64)
        sizes = np.bincount(instance, outcomes.sum(axis=1)).astype(np.float64)
        inclusion = criterion.of_units("inclusion_probability").astype(float)[here][first]
        in_control = criterion.of_units("phase").astype(str)[here][first] == CONTROL
        says = sizes > 0
        return cls(wins[says], sizes[says], inclusion[says], in_control[says], int((~says).sum()))

    @property
    def missing(self) -> int:
        return int(np.isnan(self.inclusion).sum())

    @property
    def covers(self) -> bool:
        """Whether the rated instances speak of the whole dataset.

        Without a control sample the rows do not show whether every instance could be drawn.
        Where the design drew only the most separable, all others hang on the control sample, and
        few instances of great weight are no more than they would be unweighted.
        """
        if self.in_control.all() or not self.in_control.any():
            return bool(self.in_control.any())
        weights = 1 / self.inclusion
        unreached = self.in_control & (self.inclusion < self.inclusion[~self.in_control].min())
        share = weights[unreached].sum() / weights.sum()
        reaches = share <= LARGEST_UNREACHED or self.in_control.sum() >= FEWEST_CONTROLS
        return bool(reaches and effective_size(weights) >= MIN_CLUSTERS)

    def win_rate(self) -> Estimate:
        n = len(self.sizes)
        if not n:
            return undefined(NO_PREFERENCE)
        if self.in_control.all():
            return self.win_rate_control()
        if self.missing:
            return undefined(NO_PROBABILITY.format(missing=self.missing, n=n), n)
        return hajek_estimate(self.wins, self.inclusion, sizes=self.sizes, covers=self.covers)

    def win_rate_control(self) -> Estimate:
        wins, sizes = self.wins[self.in_control], self.sizes[self.in_control]
        if not len(wins):
            return undefined(NO_CONTROL)
        enough = len(wins) >= MIN_CLUSTERS
        return hajek_estimate(wins, np.ones(len(wins)), sizes=sizes, covers=enough)

    def saved(self) -> Estimate:
        n = len(self.sizes)
        if not self.in_control.any() or self.in_control.all():
            return undefined(ALL_CONTROL if self.in_control.any() else NO_CONTROL, n)
        if self.missing:
            return undefined(NO_PROBABILITY.format(missing=self.missing, n=n), n)
        if not self.covers:
            return undefined(NO_COMPARISON.format(fewest=FEWEST_CONTROLS), n)
        return instances_saved(self.wins, self.inclusion, self.in_control, sizes=self.sizes)


def _of_pair(drawn: _Drawn) -> dict[str, Any]:
    saved = drawn.saved()
    return {
        "instances": len(drawn.sizes),
        "control": int(drawn.in_control.sum()),
        "without_preference": drawn.silent,
        "win_rate": drawn.win_rate().as_json(),
        "win_rate_control": drawn.win_rate_control().as_json(),
        "instances_saved": saved.as_json(),
        "ratings_saved": _times(saved, drawn.sizes).as_json(),
    }


def _times(estimate: Estimate, sizes: NDArray[np.float64]) -> Estimate:
    """Instances as ratings."""
    if not estimate.is_defined:
        return estimate
    factor = float(sizes.mean())
    return replace(
        estimate,
        value=estimate.value * factor,
        low=estimate.low * factor,
        high=estimate.high * factor,
    )
