"""Win rates from all drawn instances and from the control sample, and ratings saved by drawing."""

from dataclasses import dataclass, replace

import numpy as np
from numpy.typing import NDArray

from tiebreak.report.criterion import Criterion
from tiebreak.report.design_weights import (
    MIN_CONTROLS,
    control_units,
    covers_dataset,
    drawn_units,
    has_phases,
)
from tiebreak.report.model.selection import PairSelection
from tiebreak.report.needs import is_preference
from tiebreak.report.registry import section
from tiebreak.stats import Estimate, hajek_estimate, instances_saved, undefined
from tiebreak.stats.core.independence import MIN_CLUSTERS, SHARE
from tiebreak.stats.design.hajek import ALL_CONTROL, NO_CONTROL
from tiebreak.stats.rankings.win_rates import outcome_counts

NO_PREFERENCE = "None of the ratings of these instances says which system is better."
NO_COMPARISON = (
    "The rated instances do not represent the dataset. Either there are too few of them, or a large"
    " part of the dataset could be drawn only in the control sample, which then needs at least"
    " {minimum} instances."
)

NO_PROBABILITY = (
    "The inclusion probability is missing for {missing} of {n} drawn instances, so the instances"
    " cannot be weighted. Fill in the column inclusion_probability."
)


@section(
    "selection",
    "Instance selection",
    question="planning",
    takes=(),
    needs=is_preference,
    shows_outcome=True,
)
def selection_section(criterion: Criterion) -> dict[str, PairSelection]:
    """Return win rates of system A from all drawn instances and from the control sample, by pair.

    The section is empty if no instances were drawn. Instances are weighted by their inverse
    inclusion probability, which is constant in the control sample. The scope of the weighted rate
    is the dataset if the control sample covers it, and otherwise the selected instances.
    """
    drawn, pairs = drawn_units(criterion), criterion.pairs
    rated = drawn & (pairs != "") & (criterion.humans.sum(axis=1) > 0)
    section = {}
    for pair in sorted(set(pairs[rated])):
        mask = rated & (pairs == pair)
        first, second = (criterion.of_units(side)[mask][0] for side in ("system_a", "system_b"))
        section[pair] = _of_pair((str(first), str(second)), _Drawn.of(criterion, mask))
    return section


@dataclass(frozen=True, eq=False)
class _Drawn:
    """The drawn instances of one system pair that have a preference or tie.

    Per instance, ``wins`` is the number of wins of system A, where a tie counts as half a win, and ``sizes``
    is the number of ratings. ``n_without_preference`` is the number of excluded instances.
    """

    wins: NDArray[np.float64]
    sizes: NDArray[np.float64]
    inclusion: NDArray[np.float64]
    in_control: NDArray[np.bool_]
    n_without_preference: int
    has_phases: bool

    @classmethod
    def of(cls, criterion: Criterion, mask: NDArray[np.bool_]) -> "_Drawn":
        outcomes = outcome_counts(criterion.humans[mask], criterion.labels).astype(np.float64)
        _, first, instance = np.unique(
            criterion.clusters[mask], return_index=True, return_inverse=True
        )
        wins = np.bincount(instance, outcomes[:, 0] + outcomes[:, 1] / 2).astype(np.float64)
        sizes = np.bincount(instance, outcomes.sum(axis=1)).astype(np.float64)
        inclusion = criterion.of_units("inclusion_probability").astype(float)[mask][first]
        in_control = control_units(criterion)[mask][first]
        counted = sizes > 0
        return cls(
            wins[counted],
            sizes[counted],
            inclusion[counted],
            in_control[counted],
            int((~counted).sum()),
            has_phases(criterion),
        )

    @property
    def n_missing(self) -> int:
        """Number of instances without an inclusion probability."""
        return int(np.isnan(self.inclusion).sum())

    @property
    def covers(self) -> bool:
        """Whether the rated instances represent the whole dataset."""
        return not self.has_phases or covers_dataset(self.inclusion, self.in_control)

    def win_rate(self) -> Estimate:
        n = len(self.sizes)
        if not n:
            return undefined(NO_PREFERENCE)
        if self.in_control.all():
            return self.win_rate_control()
        if self.n_missing:
            return undefined(NO_PROBABILITY.format(missing=self.n_missing, n=n), n)
        sizes, covers = self.sizes, self.covers
        return hajek_estimate(self.wins, self.inclusion, sizes=sizes, covers=covers, bounds=SHARE)

    def win_rate_control(self) -> Estimate:
        wins, sizes = self.wins[self.in_control], self.sizes[self.in_control]
        if not len(wins):
            return undefined(NO_CONTROL)
        enough = len(wins) >= MIN_CLUSTERS
        of_each = np.ones(len(wins))
        return hajek_estimate(wins, of_each, sizes=sizes, covers=enough, bounds=SHARE)

    def saved(self) -> Estimate:
        n = len(self.sizes)
        if not self.in_control.any() or self.in_control.all():
            return undefined(ALL_CONTROL if self.in_control.any() else NO_CONTROL, n)
        if self.n_missing:
            return undefined(NO_PROBABILITY.format(missing=self.n_missing, n=n), n)
        if not self.covers:
            return undefined(NO_COMPARISON.format(minimum=MIN_CONTROLS), n)
        return instances_saved(self.wins, self.inclusion, self.in_control, sizes=self.sizes)


def _of_pair(systems: tuple[str, str], drawn: _Drawn) -> PairSelection:
    saved = drawn.saved()
    return PairSelection(
        systems=systems,
        instances=len(drawn.sizes),
        control=int(drawn.in_control.sum()),
        without_preference=drawn.n_without_preference,
        win_rate=drawn.win_rate(),
        win_rate_control=drawn.win_rate_control(),
        instances_saved=saved,
        ratings_saved=_times(saved, drawn.sizes),
    )


def _times(estimate: Estimate, sizes: NDArray[np.float64]) -> Estimate:
    """Convert an estimate from instances to ratings."""
    if not estimate.is_defined:
        return estimate
    factor = float(sizes.mean())
    return replace(
        estimate,
        value=estimate.value * factor,
        low=estimate.low * factor,
        high=estimate.high * factor,
    )
