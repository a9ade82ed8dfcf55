"""Human against machine: the majority of the humans, or one of them, against the machine's.

Source: Beyond Correlation, section 3 and appendix A; leave-one-out from HREF, algorithm 1.
"""

from dataclasses import dataclass, fields
from functools import partial
from typing import Self, Unpack

import numpy as np
import numpy.typing as npt

from metrics.stats.agreement import Agreement, agreement_statistics
from metrics.stats.agreement_statistics import Categories, label_number
from metrics.stats.bootstrap import (
    Resampling,
    RngFor,
    Statistic,
    difference,
    estimate,
    estimate_each,
    on_columns,
    own_options,
)
from metrics.stats.counts import Patterns
from metrics.stats.jensen_shannon import Form, binned_js_statistic
from metrics.stats.pairs import Pairs, central_entries, single_entries
from metrics.stats.rank_correlation import Correlation, Summary, correlate, correlate_means
from metrics.stats.results import Estimate, undefined
from metrics.stats.scales import Level
from metrics.stats.validation import as_counts, check_choice

NO_ORDER = "The labels have no order."
CORRELATIONS: tuple[Correlation, ...] = ("spearman", "kendall")
ONE_HUMAN = "A single human has no majority: see human_machine."


@dataclass(frozen=True, eq=False)
class Comparison:
    """Humans and one machine on the same units, reduced once for all statistics.

    ``patterns`` are joint rows: human counts, machine counts, number of unparsed answers.
    """

    patterns: Patterns
    labels: int

    @classmethod
    def of(
        cls,
        humans: npt.ArrayLike,
        machine: npt.ArrayLike,
        *,
        unparsed: npt.ArrayLike | None = None,
        clusters: npt.ArrayLike | None = None,
    ) -> Self:
        """Join counts of humans and machine.

        Parameters
        ----------
        humans, machine : (units, labels) whole numbers, the same units and columns
            The machine's count its runs and presentation orders.
        unparsed : (units,) whole numbers
            Answers that could not be read. Where none of a unit's answers could, the unit is a
            disagreement in percentage agreement and leave-one-out, and missing elsewhere.
        clusters : instance of each unit
        """
        left, right = as_counts(humans, name="humans"), as_counts(machine, name="machine")
        if left.shape != right.shape:
            raise ValueError(
                "humans and machine must count the same units and labels: "
                f"their shapes are {left.shape} and {right.shape}."
            )
        lost = np.zeros(len(left), dtype=np.int64) if unparsed is None else np.asarray(unparsed)
        if lost.shape != (len(left),):
            raise ValueError(f"unparsed must have one number for each of the {len(left)} units.")
        joint = np.column_stack([left, right, lost])
        return cls(Patterns.of(joint, clusters=clusters), left.shape[1])

    @property
    def humans(self) -> slice:
        return slice(0, self.labels)

    @property
    def machine(self) -> slice:
        return slice(self.labels, 2 * self.labels)

    def pairs(self, *, level: Level, single: bool = False) -> Pairs:
        majority = partial(central_entries, level=level)
        return Pairs(self.labels, level=level, humans=single_entries if single else majority)

    def label_number(self, k: Categories) -> int:
        """k for Randolph; *observed* looks at both sides together."""
        both = self.patterns.rows[:, self.humans] + self.patterns.rows[:, self.machine]
        return label_number(both, k)


@dataclass(frozen=True)
class HumanMachine:
    """All statistics of humans against one machine in one stratum."""

    krippendorff_alpha: Estimate
    percentage_agreement: Estimate
    randolph_kappa: Estimate
    fleiss_kappa: Estimate
    cohen_kappa: Estimate
    binned_js: Estimate
    leave_one_out: Estimate
    spearman: Estimate
    kendall: Estimate

    def estimates(self) -> dict[str, Estimate]:
        return {field.name: getattr(self, field.name) for field in fields(self)}


def human_machine(
    comparison: Comparison,
    *,
    level: Level = "nominal",
    values: npt.ArrayLike | None = None,
    k: Categories = None,
    form: Form = "distance",
    rng_for: RngFor | None = None,
    **resampling: Unpack[Resampling],
) -> HumanMachine:
    """H^w against M^w: majority, from ordinal up lower median, of each side.

    A tie for the majority enters once per mode, or per pair of modes, as whole labels with equal
    weights that add to 1. ``level``, ``values``, ``k`` as in `agreement`; ``form`` as in
    `jensen_shannon`. The rank correlations are of medians, on scales with an order.

    >>> two = Comparison.of([[2, 0], [0, 2], [2, 0]], [[1, 0], [0, 1], [0, 1]])
    >>> round(human_machine(two).cohen_kappa.value, 4)
    0.4
    """
    pairs = comparison.pairs(level=level)
    statistics = {
        **_shared_statistics(pairs, values=values, k=comparison.label_number(k)),
        "cohen_kappa": pairs.cohen_statistic(),
        "binned_js": binned_js_statistic(pairs, form=form),
        "leave_one_out": pairs.leave_one_out_statistic(),
    }
    found = estimate_each(statistics, comparison.patterns, rng_for=rng_for, **resampling)
    return HumanMachine(**found, **_correlations(comparison, pairs, rng_for, resampling))


def single_human_machine(
    comparison: Comparison,
    *,
    level: Level = "nominal",
    values: npt.ArrayLike | None = None,
    k: Categories = None,
    rng_for: RngFor | None = None,
    **resampling: Unpack[Resampling],
) -> HumanMachine:
    """H′ against M^w: a random single human of each unit, in expectation.

    Each unit enters once per human rating with weights that add to 1; the statistic is that of
    the expected table. Binned Jensen–Shannon and leave-one-out need several humans: undefined.
    """
    pairs = comparison.pairs(level=level, single=True)
    statistics = {
        **_shared_statistics(pairs, values=values, k=comparison.label_number(k)),
        "cohen_kappa": pairs.cohen_statistic(),
    }
    found = estimate_each(statistics, comparison.patterns, rng_for=rng_for, **resampling)
    n = found["percentage_agreement"].n
    return HumanMachine(
        **found,
        binned_js=undefined(ONE_HUMAN, n),
        leave_one_out=undefined(ONE_HUMAN, n),
        **_correlations(comparison, pairs, rng_for, resampling),
    )


def machine_machine(
    comparison: Comparison,
    *,
    level: Level = "nominal",
    values: npt.ArrayLike | None = None,
    k: Categories = None,
    rng_for: RngFor | None = None,
    **resampling: Unpack[Resampling],
) -> Agreement:
    """The machine's runs and orders among themselves; its unparsed answers are missing."""
    number = label_number(comparison.patterns.rows[:, comparison.machine], k)
    among = agreement_statistics(comparison.labels, level=level, values=values, k=number)
    statistics = {name: on_columns(each, comparison.machine) for name, each in among.items()}
    return Agreement(
        **estimate_each(statistics, comparison.patterns, rng_for=rng_for, **resampling)
    )


def delta(
    comparison: Comparison,
    *,
    level: Level = "nominal",
    values: npt.ArrayLike | None = None,
    k: Categories = None,
    rng_for: RngFor | None = None,
    **resampling: Unpack[Resampling],
) -> Agreement:
    """Δ = HH − H^wM^w, each with an interval from the same replicates on both sides."""
    number = comparison.label_number(k)
    among = agreement_statistics(comparison.labels, level=level, values=values, k=number)
    pairs = comparison.pairs(level=level)
    against = {
        **_shared_statistics(pairs, values=values, k=number),
        "leave_one_out": pairs.leave_one_out_statistic(),
    }

    def minus(name: str) -> Estimate:
        humans = on_columns(among[name], comparison.humans)
        options = own_options(name, rng_for, resampling)
        return _difference(humans, against[name], comparison.patterns, options)

    return Agreement(**{name: minus(name) for name in among})


def _difference(
    humans: Statistic, machine: Statistic, patterns: Patterns, resampling: Resampling
) -> Estimate:
    for who, side in (("Among humans", humans), ("Humans against the machine", machine)):
        found = estimate(side, patterns)
        if not found.is_defined:
            return undefined(f"{who}: {found.reason}", found.n)
    return estimate(difference(humans, machine), patterns, **resampling)


def _shared_statistics(
    pairs: Pairs, *, values: npt.ArrayLike | None, k: int
) -> dict[str, Statistic]:
    return {
        "krippendorff_alpha": pairs.alpha_statistic(values=values),
        "percentage_agreement": pairs.percentage_statistic(),
        "randolph_kappa": pairs.randolph_statistic(k),
        "fleiss_kappa": pairs.fleiss_statistic(),
    }


def _correlations(
    comparison: Comparison, pairs: Pairs, rng_for: RngFor | None, resampling: Resampling
) -> dict[str, Estimate]:
    n = int(pairs.count(comparison.patterns.rows) @ comparison.patterns.unit_counts)
    if pairs.level == "nominal":
        return {name: undefined(NO_ORDER, n) for name in CORRELATIONS}
    return {
        name: correlate(
            pairs,
            comparison.patterns,
            correlation=name,
            **own_options(name, rng_for, resampling),
        )
        for name in CORRELATIONS
    }


def rank_correlation(
    comparison: Comparison,
    *,
    correlation: Correlation = "spearman",
    of: Summary = "medians",
    values: npt.ArrayLike | None = None,
    **resampling: Unpack[Resampling],
) -> Estimate:
    """Spearman's ρ or Kendall's τ-b over units, on medians or on means of both sides.

    ``values`` are the labels' numbers, 0, 1, 2, … by default; only means look at them. Units
    without a readable machine answer leave. One side constant: undefined.
    """
    pairs = comparison.pairs(level="ordinal")
    check_choice(of, allowed=("medians", "means"), name="of")
    check_choice(correlation, allowed=CORRELATIONS, name="correlation")
    if of == "medians":
        return correlate(pairs, comparison.patterns, correlation=correlation, **resampling)
    return correlate_means(
        pairs, comparison.patterns, correlation=correlation, values=values, **resampling
    )


def binned_js(
    comparison: Comparison,
    *,
    level: Level = "nominal",
    form: Form = "distance",
    **resampling: Unpack[Resampling],
) -> Estimate:
    """Binned Jensen–Shannon, see `jensen_shannon.binned_js_statistic`, in one of three forms."""
    statistic = binned_js_statistic(comparison.pairs(level=level), form=form)
    return estimate(statistic, comparison.patterns, **resampling)
