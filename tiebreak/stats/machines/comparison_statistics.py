"""All statistics of human and machine labels, by name, for estimates and for strata of units."""

from collections.abc import Mapping
from typing import Literal

import numpy as np
import numpy.typing as npt

from tiebreak.scales import Level
from tiebreak.stats.core.bootstrap import (
    AnyStatistic,
    Statistic,
    difference,
    on_columns,
)
from tiebreak.stats.core.results import NAN
from tiebreak.stats.core.unit_weights import UnitWeights, weighted
from tiebreak.stats.core.validation import (
    FloatArray,
    IntArray,
)
from tiebreak.stats.machines.classification import classification_statistics
from tiebreak.stats.machines.comparison import Comparison
from tiebreak.stats.raters.additive import Categories, label_number
from tiebreak.stats.raters.agreement import agreement_statistics
from tiebreak.stats.raters.jensen_shannon import Form, binned_js_statistic
from tiebreak.stats.raters.label_pairs import (
    NO_OVERLAP,
    Pairs,
)
from tiebreak.stats.raters.rank_correlations import (
    CORRELATIONS,
    medians_statistic,
)

NO_ORDER = "The labels have no order, so a rank correlation is undefined."
AMONG_HUMANS, AGAINST_MACHINE = "Among humans", "Humans against the machine"
ONE_HUMAN = (
    "This statistic needs the ratings of several humans, so it has no value for one human alone."
)

Group = Literal[
    "machine_machine",
    "human_machine",
    "single_human_machine",
    "delta",
    "classification",
    "random_baseline",
]


def comparison_statistics(
    comparison: Comparison,
    *,
    level: Level = "nominal",
    values: npt.ArrayLike | None = None,
    k: Categories = None,
    form: Form = "distance",
    weights: UnitWeights | None = None,
) -> dict[Group, dict[str, AnyStatistic]]:
    """Return all statistics of one machine, by group and name.

    Weights, whose codes split the comparison, enter both sides of Δ.
    """
    n_labels = comparison.label_number(k)
    n_machine_labels = label_number(comparison.patterns.rows[:, comparison.machine], k)
    pairs, random = comparison.pairs(level=level), comparison.random_pairs(level=level)
    humans = agreement_statistics(comparison.labels, level=level, values=values, k=n_labels)
    runs = agreement_statistics(comparison.labels, level=level, values=values, k=n_machine_labels)
    with_machine = weighted(_majority(pairs, values=values, k=n_labels, form=form), weights)
    among_humans = _on_columns(humans, comparison.humans)
    among_runs = _on_columns(runs, comparison.machine)
    baseline = _majority(random, values=values, k=n_labels, form=form)
    single = _single(comparison, level=level, values=values, k=n_labels)
    return {
        "machine_machine": weighted(among_runs, weights, comparison.machine),
        "human_machine": with_machine | weighted(_correlations(pairs), weights),
        "single_human_machine": weighted(single, weights),
        "delta": _differences(weighted(among_humans, weights, comparison.humans), with_machine),
        "classification": weighted(classification_statistics(pairs), weights),
        "random_baseline": weighted(baseline | _correlations(random), weights),
    }


def _on_columns(statistics: Mapping[str, Statistic], columns: slice) -> dict[str, AnyStatistic]:
    return {name: on_columns(statistic, columns) for name, statistic in statistics.items()}


def _differences(
    humans: Mapping[str, AnyStatistic], with_machine: Mapping[str, AnyStatistic]
) -> dict[str, AnyStatistic]:
    sides = (AMONG_HUMANS, AGAINST_MACHINE)
    pairs = {name: (humans[name], with_machine[name]) for name in humans}
    return {
        name: difference(first, second, sides=sides)
        for name, (first, second) in pairs.items()
        if isinstance(first, Statistic) and isinstance(second, Statistic)
    }


def _chance_corrected(
    pairs: Pairs, *, values: npt.ArrayLike | None, k: int
) -> dict[str, AnyStatistic]:
    """Return percentage agreement and the chance-corrected coefficients, by name."""
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
    """Return the statistics that need the majority of several humans, by name."""
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
    """Return a statistic that is always undefined; its n counts the units that would enter."""

    def features(rows: IntArray) -> FloatArray:
        return pairs.count(rows)[:, None]

    def value(sums: FloatArray) -> FloatArray:
        return np.full(sums.shape[:-1], NAN)

    return Statistic(1, features, value, NO_OVERLAP, reason)
