"""Success rates of systems whose texts are judged one by one, as by yes or no."""

from collections.abc import Sequence
from dataclasses import dataclass, replace
from math import sqrt

import numpy as np
import scipy
from numpy.typing import NDArray

from tiebreak.report.criterion import Criterion
from tiebreak.report.design_weights import DesignWeights, drawn_units, in_population
from tiebreak.report.generators import Seeds
from tiebreak.report.model.fields import Estimates
from tiebreak.report.model.success import KnownOrder, MachineSuccess, SuccessRates, SystemSuccess
from tiebreak.report.registry import section
from tiebreak.report.sections.systems.comparisons import SystemScores
from tiebreak.report.sections.systems.known_order import known_order_of
from tiebreak.report.sections.systems.prediction_powered import powered_rate
from tiebreak.scales import Label, Scale
from tiebreak.stats import Estimate, undefined, win_rate
from tiebreak.stats.core.bootstrap import CONFIDENCE_LEVEL
from tiebreak.stats.core.groups import n_distinct

# Labels that name a success, whatever their place on a nominal scale.
SUCCESSES = frozenset({"yes", "true", "1", "correct", "pass", "good"})
DRAWN = (
    "Instances were drawn, so the items without a human rating are not like those with one, and machine"
    " ratings of the first cannot be corrected by the second."
)

Numbers = NDArray[np.float64]
Mask = NDArray[np.bool_]


def has_success_rates(criterion: Criterion) -> bool:
    """Return whether single texts of systems were rated on a scale with two labels."""
    scale = criterion.scale
    is_binary = scale.kind in {"nominal", "ordinal"} and len(scale.labels or ()) == 2
    return is_binary and bool((_single_systems(criterion) != "").any())


@section(
    "success_rates",
    "Success rates",
    question="systems",
    options=("known_order",),
    needs=has_success_rates,
    shows_outcome=True,
)
def success_rates_section(
    criterion: Criterion, seeds: Seeds, replicates: int, *, known_order: Sequence[str] = ()
) -> SuccessRates:
    """Return each system's success rate by humans, by each machine, and by both together."""
    rated = _Rated.of(criterion)
    systems = {name: _system(rated, name, seeds.below(name), replicates) for name in rated.systems}
    return SuccessRates(
        success=str(rated.success),
        systems=systems,
        known_order=_known_order(tuple(known_order), systems, criterion),
    )


def success_label(scale: Scale) -> Label:
    """Return which of two labels counts as a success.

    That is the higher one of an ordinal scale, and of a nominal scale the one that says so (as yes
    does), or else the first.
    """
    labels = scale.labels or ()
    if scale.kind == "ordinal":
        return max(labels, key=float)
    named = [label for label in labels if str(label).casefold() in SUCCESSES]
    return named[0] if len(named) == 1 else labels[0]


def _single_systems(criterion: Criterion) -> NDArray[np.str_]:
    """Return the system of each unit that has exactly one, and "" for the others."""
    a, b = criterion.systems
    return np.where(b == "", a, "")


@dataclass(frozen=True, eq=False)
class _Rated:
    """The units of single texts, with the system of each, and what counts as a success."""

    criterion: Criterion
    success: Label
    system: NDArray[np.str_]
    design: DesignWeights | None

    @classmethod
    def of(cls, criterion: Criterion) -> "_Rated":
        success, systems = success_label(criterion.scale), _single_systems(criterion)
        return cls(criterion, success, systems, DesignWeights.of(criterion))

    @property
    def systems(self) -> list[str]:
        return sorted({*self.system.tolist()} - {""})

    def outcomes(self, counts: NDArray[np.int64]) -> NDArray[np.int64]:
        """Return the successes, zeros and failures of each unit, as wins, ties and losses."""
        is_success = np.array([label == self.success for label in self.criterion.labels])
        successes = counts[:, is_success].sum(axis=1)
        failures = counts[:, ~is_success].sum(axis=1)
        return np.stack([successes, np.zeros_like(successes), failures], axis=1)

    def scores(self, units: Mask) -> SystemScores:
        """Return the human ratings of some units: 1 for a success, 0 for a failure."""
        criterion = self.criterion
        kept = criterion.is_human & (criterion.label >= 0) & units[criterion.unit]
        labels = np.array([float(label == self.success) for label in criterion.labels])
        _, rater = criterion.rows.ranked("rater", kept)
        return SystemScores(
            labels[criterion.label[kept]],
            criterion.unit[kept],
            rater.astype(np.int64),
            criterion,
            self.design,
        )

    def by_machine(self, name: str, units: Mask, rate: Estimate) -> Estimate:
        """Return a machine's success rate in some units, weighted if their instances were drawn."""
        criterion, outcomes = self.criterion, self.outcomes(self.criterion.machines[name].counts)
        rated = outcomes.any(axis=1) & in_population(criterion)
        counts = outcomes[:, [0, 2]] * (units & rated)[:, None]
        unit = np.repeat(np.arange(criterion.n_units), counts.sum(axis=1))
        values = np.repeat(np.tile([1.0, 0.0], len(counts)), counts.ravel())
        design = DesignWeights.of(criterion, rated)
        scores = SystemScores(values, unit, np.full(len(unit), -1), criterion, design)
        return scores.by_design(rate)


def _system(rated: _Rated, name: str, seeds: Seeds, replicates: int) -> SystemSuccess:
    criterion = rated.criterion
    units = (rated.system == name) & in_population(criterion)
    clusters = criterion.clusters[units]
    humans = rated.outcomes(criterion.humans)[units]

    def rate(outcomes: NDArray[np.int64], source: str) -> Estimate:
        rng = seeds.generator(source)
        return win_rate(outcomes, clusters=clusters, rng=rng, replicates=replicates)

    machines = {
        machine: rated.outcomes(of_machine.counts)[units]
        for machine, of_machine in sorted(criterion.machines.items())
    }
    scores = rated.scores(units)
    human = rate(humans, "human")
    return SystemSuccess(
        human=scores.win_rate(human) if human.is_defined else human,
        machines={
            machine: _machine(
                rated,
                humans,
                outcomes,
                clusters,
                rated.by_machine(machine, units, rate(outcomes, machine)),
            )
            for machine, outcomes in machines.items()
        },
    )


def _machine(
    rated: _Rated,
    humans: NDArray[np.int64],
    outcomes: NDArray[np.int64],
    clusters: NDArray[np.int64],
    alone: Estimate,
) -> MachineSuccess:
    has_human, has_machine = humans.any(axis=1), outcomes.any(axis=1)
    if drawn_units(rated.criterion).any():
        tuned = full = undefined(DRAWN)
    else:
        labelled = n_distinct(clusters[has_human & has_machine])
        tuned = score_interval(powered_rate(humans, outcomes, clusters, ddof=1), labelled)
        full = powered_rate(humans, outcomes, clusters, lam=1)
    return MachineSuccess(
        alone=alone,
        powered=tuned,
        powered_lambda_1=full,
        n_labelled=int((has_human & has_machine).sum()),
        n_unlabelled=int((~has_human & has_machine).sum()),
    )


def score_interval(rate: Estimate, labelled: int) -> Estimate:
    """Return a rate with the score interval of as many ratings as its standard error is worth.

    That is Wilson's interval with n = p (1 − p) / error², and Student's t for the labelled instances
    in place of z (Korn and Graubard 1998 use such an effective n). It stays within 0 and 1. Near 1
    and with few labels, the normal interval covers too seldom. A rate that is not between 0 and 1, or
    has no interval, stays as it is.
    """
    if not rate.has_interval or not 0 < rate.value < 1 or rate.standard_error <= 0:
        return rate
    n = rate.value * (1 - rate.value) / rate.standard_error**2
    of_n = float(scipy.stats.t.ppf((1 + CONFIDENCE_LEVEL) / 2, labelled - 1)) ** 2 / n
    middle = (rate.value + of_n / 2) / (1 + of_n)
    half = sqrt(of_n * rate.value * (1 - rate.value) + of_n**2 / 4) / (1 + of_n)
    method = rate.method.replace("z,", "score interval for its effective size, t,")
    return replace(rate, low=middle - half, high=middle + half, method=method)


def _known_order(
    order: tuple[str, ...], systems: dict[str, SystemSuccess], criterion: Criterion
) -> KnownOrder | None:
    def by_machine(kind: str) -> dict[str, Estimates]:
        return {
            machine: {name: getattr(one.machines[machine], kind) for name, one in systems.items()}
            for machine in sorted(criterion.machines)
        }

    return known_order_of(
        order,
        {name: one.human for name, one in systems.items()},
        by_machine("alone"),
        by_machine("powered"),
        by_machine("powered_lambda_1"),
    )
