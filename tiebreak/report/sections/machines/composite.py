"""The composite of machines, with the leave-one-out agreement of each machine by category."""

from collections import Counter
from collections.abc import Iterable
from dataclasses import dataclass, replace
from functools import reduce

import numpy as np
from numpy.typing import NDArray

from tiebreak.report.criterion import Codes, Criterion, Machine
from tiebreak.report.design_weights import DesignWeights
from tiebreak.report.generators import Seeds
from tiebreak.report.model.machines import AgreementByCategory, CompositeSection
from tiebreak.report.needs import has_two_machines
from tiebreak.report.registry import section
from tiebreak.report.sections.raters.strata import NO_EXACT_AGREEMENT
from tiebreak.stats import Comparison, Composite, Estimate, Patterns, cross_validated_composite
from tiebreak.stats.core.bootstrap import (
    CONFIDENCE_LEVEL,
    Statistic,
    estimate_strata,
    on_columns,
)
from tiebreak.stats.core.groups import n_distinct
from tiebreak.stats.core.independence import (
    MIN_CLUSTERS,
    SHARE,
    drop_unreliable_interval,
    effective_size,
    mean_estimate,
)
from tiebreak.stats.core.unit_weights import UnitWeights, weighted
from tiebreak.stats.machines.composite import MAX_REPLICATES, composite_variances
from tiebreak.stats.raters.leave_one_out import leave_one_out_statistic
from tiebreak.stats.raters.strata import Stratum, all_units, key_strata

Mask = NDArray[np.bool_]
# A machine that answered fewer of the units is left out, because all are compared on the same units.
MIN_SHARE = 0.5
CHOSEN_ANEW = "bootstrap over {n} instances, machine raters chosen anew, {{}}"
TOO_FEW = (
    "A composite needs two machine raters that answered at least half of the items with two ratings by"
    " annotators, and two instances that all of them answered."
)


@section(
    "composite",
    "The best machine rater of each category",
    question="machines",
    on_request=True,
    asks="Would machine raters agree better with annotators if each category had its own?",
    offered=has_two_machines,
)
def composite_section(criterion: Criterion, seeds: Seeds, replicates: int) -> CompositeSection:
    """Return the composite, with everything that it is compared with on the same units."""
    if criterion.is_slider:
        return CompositeSection(0, 0, {}, {}, {}, reason=NO_EXACT_AGREEMENT)
    paired = criterion.humans.sum(axis=1) > 1
    answered = {name: paired & one.is_answered for name, one in criterion.machines.items()}
    needed = MIN_SHARE * paired.sum()
    names = [name for name, units in answered.items() if units.sum() >= needed]
    left_out = {name: int(u.sum()) for name, u in answered.items() if name not in names}
    used = reduce(np.logical_and, (answered[name] for name in names), paired)
    if len(names) < 2 or n_distinct(criterion.clusters[used]) < 2:
        return CompositeSection(0, 0, {}, {}, left_out, reason=TOO_FEW)
    return _Compared.of(criterion, names, used).section(left_out, seeds, replicates)


@dataclass(frozen=True, eq=False)
class _Compared:
    """The units that all machines answered, with the categories as strata and as codes.

    `used` says which units of the criterion they are. `weights` has their weights after a draw, 1
    without one, with codes that differ between categories.
    """

    criterion: Criterion
    used: Mask
    design: DesignWeights | None
    weights: UnitWeights
    humans: Codes
    machines: dict[str, Machine]
    clusters: Codes
    strata: tuple[Stratum, ...]
    category: Codes

    @classmethod
    def of(cls, criterion: Criterion, names: list[str], used: Mask) -> "_Compared":
        texts = criterion.of_units("category")[used].astype(str).tolist()
        strata = tuple(one for one in key_strata("category", texts) if one.n_units)
        machines = {
            name: Machine(machine.counts[used], machine.unparsed[used])
            for name in names
            for machine in [criterion.machines[name]]
        }
        category = np.argmax([stratum.members for stratum in strata], axis=0)
        design = DesignWeights.of(criterion, used)
        weights = np.ones(int(used.sum())) if design is None else design.of_units[used]
        return cls(
            criterion,
            used,
            design,
            UnitWeights.of(weights, category),
            criterion.humans[used],
            machines,
            criterion.clusters[used],
            strata,
            category,
        )

    def section(self, left_out: dict[str, int], seeds: Seeds, replicates: int) -> CompositeSection:
        credits = np.column_stack([self.credits(one) for one in self.machines.values()])
        composite = cross_validated_composite(
            credits,
            self.category,
            clusters=self.clusters,
            weights=self.weights.values[self.weights.codes],
            rng=seeds.generator("folds"),
        )

        def of_machine(name: str, machine: Machine) -> AgreementByCategory:
            return self.agreement(machine, seeds.generator("agreement", name), replicates)

        return CompositeSection(
            folds=composite.chosen.shape[1],
            n_units=len(self.humans),
            humans=self.among_humans(seeds.generator("humans"), replicates),
            composite=self.of_composite(
                composite, credits, seeds.generator("composite"), replicates
            ),
            machines={name: of_machine(name, one) for name, one in self.machines.items()},
            chosen=self.chosen(composite),
            left_out=left_out,
        )

    def credits(self, machine: Machine) -> NDArray[np.float64]:
        """Return each unit's share of leave-one-out agreement with humans."""
        joint = np.column_stack([self.humans, machine.counts, machine.unparsed])
        credits: NDArray[np.float64] = self.statistic(machine).features(joint)[:, 1]
        return credits

    def combined(self, composite: Composite) -> Machine:
        """Return the composite as a machine: on each unit it answers as the chosen ones do together."""
        is_used = composite.shares.T > 0
        machines = list(zip(self.machines.values(), is_used, strict=True))
        counts = sum(machine.counts * used[:, None] for machine, used in machines)
        unparsed = sum(machine.unparsed * used for machine, used in machines)
        return Machine(np.asarray(counts), np.asarray(unparsed))

    def of_composite(
        self,
        composite: Composite,
        credits: NDArray[np.float64],
        rng: np.random.Generator,
        replicates: int,
    ) -> AgreementByCategory:
        """Return the composite's agreement; its intervals allow for the choice of its machines."""
        machine = self.combined(composite)
        patterns = self.compared(machine).patterns
        points = self.listed(self.statistic(machine), patterns, rng, 0)
        if not replicates:
            return self.by_category(points)
        variances = composite_variances(
            credits,
            composite,
            self.category,
            clusters=self.clusters,
            weights=self.weights.values[self.weights.codes],
            replicates=min(replicates, MAX_REPLICATES),
            rng=rng,
        )
        return self.by_category(map(self.widened, points, variances.tolist(), self.every_stratum))

    def widened(self, point: Estimate, variance: float, stratum: Stratum) -> Estimate:
        """Return a mean with the interval of its variance over instances."""
        weight = self.weights.values[self.weights.codes[stratum.members]]
        of_instance = np.bincount(self.clusters[stratum.members], weight)
        instances = int((of_instance > 0).sum())
        if instances < MIN_CLUSTERS:
            return drop_unreliable_interval(point, instances)
        if not 0 < point.value < 1:
            variance = 0.0
        named = replace(point, method=CHOSEN_ANEW.format(n=instances))
        return mean_estimate(named, variance, effective_size(of_instance), SHARE, CONFIDENCE_LEVEL)

    def chosen(self, composite: Composite) -> dict[str, dict[str, int]]:
        """Return in how many folds each machine is used, alone or with others that are as good."""
        found: dict[str, Counter[str]] = {stratum.name: Counter() for stratum in self.strata}
        names, categories = list(self.machines), [stratum.name for stratum in self.strata]
        _, first = np.unique(
            np.column_stack([self.category, composite.fold]), axis=0, return_index=True
        )
        for unit in first.tolist():
            used = np.flatnonzero(composite.shares[unit])
            found[categories[self.category[unit]]].update(names[one] for one in used)
        return {name: dict(counter.most_common()) for name, counter in found.items()}

    def statistic(self, machine: Machine) -> Statistic:
        return (
            self.compared(machine).pairs(level=self.criterion.scale.level).leave_one_out_statistic()
        )

    def compared(self, machine: Machine) -> Comparison:
        return Comparison.of(
            self.humans,
            machine.counts,
            unparsed=machine.unparsed,
            clusters=self.clusters,
            split=self.weights.codes,
        )

    def agreement(
        self, machine: Machine, rng: np.random.Generator, replicates: int
    ) -> AgreementByCategory:
        patterns = self.compared(machine).patterns
        return self.estimates(self.statistic(machine), patterns, rng, replicates)

    def among_humans(self, rng: np.random.Generator, replicates: int) -> AgreementByCategory:
        rows = np.column_stack([self.humans, self.weights.codes])
        patterns = Patterns.of(rows, clusters=self.clusters)
        statistic = on_columns(leave_one_out_statistic(), slice(0, self.humans.shape[1]))
        return self.estimates(statistic, patterns, rng, replicates)

    def estimates(
        self, statistic: Statistic, patterns: Patterns, rng: np.random.Generator, replicates: int
    ) -> AgreementByCategory:
        return self.by_category(self.listed(statistic, patterns, rng, replicates))

    def listed(
        self, statistic: Statistic, patterns: Patterns, rng: np.random.Generator, replicates: int
    ) -> list[Estimate]:
        """Return the estimate over all units, and that of each category."""
        estimates = estimate_strata(
            weighted({"agreement": statistic}, self.weights),
            patterns,
            [stratum.members[patterns.representatives] for stratum in self.every_stratum],
            rng=rng,
            replicates=replicates,
        )
        return [one["agreement"] for one in estimates]

    @property
    def every_stratum(self) -> tuple[Stratum, ...]:
        return all_units(len(self.humans)), *self.strata

    def by_category(self, estimates: Iterable[Estimate]) -> AgreementByCategory:
        every, *parts = map(self.scoped, estimates, self.every_stratum)
        names = (stratum.name for stratum in self.strata)
        return AgreementByCategory(every, dict(zip(names, parts, strict=True)))

    def scoped(self, estimate: Estimate, stratum: Stratum) -> Estimate:
        """Return the weighted estimate of a stratum with the scope that it has after a draw."""
        if self.design is None:
            return estimate
        entered = np.zeros(len(self.used), dtype=np.bool_)
        entered[self.used] = stratum.members
        return self.design.scoped({"": estimate}, entered, self.criterion)[""]
