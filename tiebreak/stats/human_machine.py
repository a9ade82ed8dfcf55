"""Agreement of human labels, by majority or single, with those of a machine.

Source: Beyond Correlation, section 3 and appendix A; leave-one-out from HREF, algorithm 1.
"""

from collections.abc import Mapping
from dataclasses import dataclass, fields
from functools import partial
from typing import Literal, Self, TypedDict, Unpack

import numpy as np
import numpy.typing as npt

from tiebreak.errors import InvalidInput
from tiebreak.scales import Level
from tiebreak.stats.agreement import Agreement, agreement_statistics
from tiebreak.stats.agreement_statistics import Categories, label_number
from tiebreak.stats.bootstrap import (
    AnyStatistic,
    Resampling,
    Statistic,
    difference,
    estimate,
    estimate_each,
    on_columns,
)
from tiebreak.stats.classification import Classification, classification_statistics
from tiebreak.stats.counts import Patterns
from tiebreak.stats.jensen_shannon import Form, binned_js_statistic
from tiebreak.stats.pairs import NO_OVERLAP, Pairs, RandomPairs, central_weights, single_weights
from tiebreak.stats.rank_correlations import (
    CORRELATIONS,
    Correlation,
    Summary,
    means_statistic,
    medians_statistic,
)
from tiebreak.stats.results import NAN, Estimate
from tiebreak.stats.validation import FloatArray, IntArray, as_counts, check_choice

NO_ORDER = "The labels have no order."
AMONG_HUMANS, AGAINST_MACHINE = "Among humans", "Humans against the machine"
ONE_HUMAN = "A single human has no majority: see human_machine."


@dataclass(frozen=True, eq=False)
class Comparison:
    """Humans and one machine on the same units, reduced once for all statistics.

    ``patterns`` are joint rows: human counts, machine counts, number of unparsed answers, and a
    code that keeps units apart which belong to different strata.
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
        split: npt.ArrayLike | None = None,
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
        split : (units,) whole numbers ≥ 0
            Units with different numbers are not reduced to one row, so that strata of `matching`
            may tell them apart.
        """
        left, right = as_counts(humans, name="humans"), as_counts(machine, name="machine")
        if left.shape != right.shape:
            raise InvalidInput(
                "wrong_shape",
                "humans and machine must count the same units and labels: "
                f"their shapes are {left.shape} and {right.shape}.",
            )
        n_unparsed = (
            np.zeros(len(left), dtype=np.int64) if unparsed is None else np.asarray(unparsed)
        )
        if n_unparsed.shape != (len(left),):
            raise InvalidInput(
                "wrong_length", f"unparsed must have one number for each of the {len(left)} units."
            )
        code = np.zeros_like(n_unparsed) if split is None else split
        joint = np.column_stack([left, right, n_unparsed, code])
        return cls(Patterns.of(joint, clusters=clusters), left.shape[1])

    @property
    def humans(self) -> slice:
        return slice(0, self.labels)

    @property
    def machine(self) -> slice:
        return slice(self.labels, 2 * self.labels)

    def pairs(self, *, level: Level) -> Pairs:
        """H^w against M^w."""
        return Pairs(self.labels, level=level, human_weights=partial(central_weights, level=level))

    def single_pairs(self, *, level: Level) -> Pairs:
        """H′ against M^w."""
        return Pairs(self.labels, level=level, human_weights=single_weights)

    def random_pairs(self, *, level: Level) -> Pairs:
        """H^w against chance."""
        return RandomPairs(
            self.labels, level=level, human_weights=partial(central_weights, level=level)
        )

    def label_number(self, k: Categories) -> int:
        """Randolph's k; "observed" counts the labels of both sides together."""
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


class Options(TypedDict, total=False):
    """How labels are read: as in `agreement`, and the ``form`` of Jensen–Shannon."""

    level: Level
    values: npt.ArrayLike | None
    k: Categories
    form: Form


class MachineOptions(Options, Resampling, total=False):
    """The options of every statistic of this module."""


Group = Literal[
    "machine_machine",
    "human_machine",
    "single_human_machine",
    "delta",
    "classification",
    "random_baseline",
]


def human_machine(comparison: Comparison, **options: Unpack[MachineOptions]) -> HumanMachine:
    """H^w against M^w: majority, from ordinal up lower median, of each side.

    A tie for the majority enters once per mode, or per pair of modes, as whole labels with equal
    weights that add to 1. ``level``, ``values``, ``k`` as in `agreement`; ``form`` as in
    `jensen_shannon`. The rank correlations are of medians, on scales with an order.

    >>> two = Comparison.of([[2, 0], [0, 2], [2, 0]], [[1, 0], [0, 1], [0, 1]])
    >>> round(human_machine(two).cohen_kappa.value, 4)
    0.4
    """
    return HumanMachine(**_estimates(comparison, "human_machine", options))


def single_human_machine(comparison: Comparison, **options: Unpack[MachineOptions]) -> HumanMachine:
    """H′ against M^w: a random single human of each unit, in expectation.

    Each unit enters once per human rating with weights that add to 1; the statistic is that of
    the expected table. Binned Jensen–Shannon and leave-one-out need several humans: undefined.
    """
    return HumanMachine(**_estimates(comparison, "single_human_machine", options))


def random_baseline(comparison: Comparison, **options: Unpack[MachineOptions]) -> HumanMachine:
    """What a labeller who picks every label with the same chance would score, in expectation.

    Over the units that the machine answered. Source: Beyond Correlation, figure 2.

    >>> random_baseline(Comparison.of([[2, 0]], [[1, 0]])).percentage_agreement.value
    0.5
    """
    return HumanMachine(**_estimates(comparison, "random_baseline", options))


def machine_machine(comparison: Comparison, **options: Unpack[MachineOptions]) -> Agreement:
    """The machine's runs and orders among themselves; its unparsed answers are missing."""
    return Agreement(**_estimates(comparison, "machine_machine", options))


def delta(comparison: Comparison, **options: Unpack[MachineOptions]) -> Agreement:
    """Δ = HH − H^wM^w, each with an interval from the same replicates on both sides."""
    return Agreement(**_estimates(comparison, "delta", options))


def classification(comparison: Comparison, **options: Unpack[MachineOptions]) -> Classification:
    """Accuracy, and precision, recall and F1 averaged over the labels that either side gave.

    The human majority (lower median) is the truth; ties enter as in `human_machine`. An unparsed
    answer misses its unit's label and names none. A label without a denominator (never named by
    the machine, or never by humans) counts 0, as scikit-learn's macro average does.
    """
    return Classification(**_estimates(comparison, "classification", options))


def _estimates(
    comparison: Comparison, group: Group, options: MachineOptions
) -> dict[str, Estimate]:
    label_options, resampling = Options(), Resampling()
    for name, value in options.items():
        target = label_options if name in Options.__annotations__ else resampling
        target[name] = value  # type: ignore[literal-required]
    statistics = comparison_statistics(comparison, **label_options)[group]
    return estimate_each(statistics, comparison.patterns, **resampling)


def comparison_statistics(
    comparison: Comparison,
    *,
    level: Level = "nominal",
    values: npt.ArrayLike | None = None,
    k: Categories = None,
    form: Form = "distance",
) -> dict[Group, dict[str, AnyStatistic]]:
    """All statistics of one machine, by group and name, to be estimated from one table."""
    n_labels = comparison.label_number(k)
    n_machine_labels = label_number(comparison.patterns.rows[:, comparison.machine], k)
    pairs, random = comparison.pairs(level=level), comparison.random_pairs(level=level)
    humans = agreement_statistics(comparison.labels, level=level, values=values, k=n_labels)
    runs = agreement_statistics(comparison.labels, level=level, values=values, k=n_machine_labels)
    with_machine = _majority(pairs, values=values, k=n_labels, form=form)
    baseline = _majority(random, values=values, k=n_labels, form=form)
    return {
        "machine_machine": {**_on_columns(runs, comparison.machine)},
        "human_machine": with_machine | _correlations(pairs),
        "single_human_machine": _single(comparison, level=level, values=values, k=n_labels),
        "delta": _differences(_on_columns(humans, comparison.humans), with_machine),
        "classification": classification_statistics(pairs),
        "random_baseline": baseline | _correlations(random),
    }


def _on_columns(statistics: Mapping[str, Statistic], columns: slice) -> dict[str, Statistic]:
    return {name: on_columns(statistic, columns) for name, statistic in statistics.items()}


def _differences(
    humans: Mapping[str, Statistic], with_machine: Mapping[str, AnyStatistic]
) -> dict[str, AnyStatistic]:
    sides = (AMONG_HUMANS, AGAINST_MACHINE)
    pairs = {name: (humans[name], with_machine[name]) for name in humans}
    return {
        name: difference(first, second, sides=sides)
        for name, (first, second) in pairs.items()
        if isinstance(second, Statistic)
    }


def _chance_corrected(
    pairs: Pairs, *, values: npt.ArrayLike | None, k: int
) -> dict[str, AnyStatistic]:
    """Percentage agreement, and the chance-corrected coefficients."""
    return {
        "krippendorff_alpha": pairs.alpha_statistic(values=values),
        "percentage_agreement": pairs.percentage_statistic(),
        "randolph_kappa": pairs.randolph_statistic(k),
        "fleiss_kappa": pairs.fleiss_statistic(),
        "cohen_kappa": pairs.cohen_statistic(),
    }


def _majority(
    pairs: Pairs, *, values: npt.ArrayLike | None, k: int, form: Form
) -> dict[str, AnyStatistic]:
    """The statistics that the majority of several humans has."""
    return {
        **_chance_corrected(pairs, values=values, k=k),
        "binned_js": binned_js_statistic(pairs, form=form),
        "leave_one_out": pairs.leave_one_out_statistic(),
    }


def _single(
    comparison: Comparison, *, level: Level, values: npt.ArrayLike | None, k: int
) -> dict[str, AnyStatistic]:
    pairs = comparison.single_pairs(level=level)
    statistics = _chance_corrected(pairs, values=values, k=k)
    for name in ("binned_js", "leave_one_out"):
        statistics[name] = _undefined_statistic(pairs, ONE_HUMAN)
    return statistics | _correlations(pairs)


def _correlations(pairs: Pairs) -> dict[str, AnyStatistic]:
    if pairs.level == "nominal":
        return {name: _undefined_statistic(pairs, NO_ORDER) for name in CORRELATIONS}
    return {name: medians_statistic(pairs, name) for name in CORRELATIONS}


def _undefined_statistic(pairs: Pairs, reason: str) -> Statistic:
    """A statistic that is always undefined; n counts the units that would enter."""

    def features(rows: IntArray) -> FloatArray:
        return pairs.count(rows)[:, None]

    def value(sums: FloatArray) -> FloatArray:
        return np.full(sums.shape[:-1], NAN)

    return Statistic(1, features, value, NO_OVERLAP, reason)


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
    pairs, patterns = comparison.pairs(level="ordinal"), comparison.patterns
    check_choice(of, allowed=("medians", "means"), name="of")
    check_choice(correlation, allowed=CORRELATIONS, name="correlation")
    statistic = (
        medians_statistic(pairs, correlation)
        if of == "medians"
        else means_statistic(pairs, patterns.rows, correlation, values=values)
    )
    return estimate(statistic, patterns, **resampling)


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
