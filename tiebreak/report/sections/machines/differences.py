"""Differences between machines' agreement with annotators, on the units that both answered.

Two judges that differ in their prompts alone show what guidelines, examples or a reference are worth.
"""

from dataclasses import replace
from itertools import combinations

import numpy as np

from tiebreak.report.criterion import Criterion
from tiebreak.report.design_weights import DesignWeights
from tiebreak.report.generators import Seeds
from tiebreak.report.model.machines import MachineDifference, MachineDifferencesSection
from tiebreak.report.needs import has_two_machines
from tiebreak.report.registry import section
from tiebreak.report.sections.raters.strata import NO_EXACT_AGREEMENT
from tiebreak.scales import Level
from tiebreak.stats import Patterns
from tiebreak.stats.core.bootstrap import Resampling, Statistic, difference, estimate_each
from tiebreak.stats.core.groups import n_distinct
from tiebreak.stats.core.unit_weights import UnitWeights, weighted
from tiebreak.stats.core.validation import FloatArray, IntArray
from tiebreak.stats.raters.label_pairs import Pairs, single_weights

ERROR_LEVEL = 0.05
# Among more pairs hardly a difference could be distinguished from chance, and the intervals of so many would
# need quantiles that are farther out than the bootstrap's replicates reach.
MAX_MACHINES = 12
ONE_MACHINE = "Only one machine rater rated these items; a comparison needs two."
NO_MACHINE = "No machine rater rated these items."
NO_PAIRS = (
    "Two machine raters are compared on items that both of them and an annotator rated; there are no"
    " two such machine raters with two instances in common."
)


@section(
    "machine_differences",
    "Machine raters compared on the same items, such as two prompts of a judge",
    question="machines",
    on_request=True,
    asks="Are guidelines, examples or a reference in a judge's prompt worth having?",
    offered=has_two_machines,
)
def machine_differences_section(
    criterion: Criterion, seeds: Seeds, replicates: int
) -> MachineDifferencesSection:
    """Return every pair of machines on its common units; the intervals hold simultaneously."""
    if criterion.is_slider:
        return MachineDifferencesSection({}, 1 - ERROR_LEVEL, reason=NO_EXACT_AGREEMENT)
    # Whether a machine agrees with annotators plays no part, so the choice favours none.
    rated = criterion.humans.any(axis=1)
    answered = {name: (rated & one.is_answered).sum() for name, one in criterion.machines.items()}
    by_answers = sorted(answered, key=lambda name: (-answered[name], name))
    names, left_out = sorted(by_answers[:MAX_MACHINES]), tuple(sorted(by_answers[MAX_MACHINES:]))
    joint = {
        pair: units
        for pair in combinations(names, 2)
        if n_distinct(criterion.clusters[units := _common(criterion, pair)]) > 1
    }
    if not joint:
        reason = {0: NO_MACHINE, 1: ONE_MACHINE}.get(len(names), NO_PAIRS)
        return MachineDifferencesSection({}, 1 - ERROR_LEVEL, left_out, reason)
    level = 1 - ERROR_LEVEL / len(joint)  # Bonferroni
    how: Resampling = {"replicates": replicates, "confidence_level": level}
    pairs = {
        " vs ".join(pair): _pair(criterion, pair, units, how | {"rng": seeds.generator(*pair)})
        for pair, units in joint.items()
    }
    return MachineDifferencesSection(pairs, level, left_out)


def _common(criterion: Criterion, pair: tuple[str, str]) -> IntArray:
    """Return the units that an annotator and both machines rated."""
    rated = criterion.humans.any(axis=1)
    for name in pair:
        rated &= criterion.machines[name].is_answered
    return np.flatnonzero(rated)


def _pair(
    criterion: Criterion, pair: tuple[str, str], units: IntArray, how: Resampling
) -> MachineDifference:
    machines = [criterion.machines[name] for name in pair]
    columns = [part for one in machines for part in (one.counts, one.unparsed[:, None])]
    design = DesignWeights.of(criterion)
    weights = UnitWeights.of(np.ones(criterion.n_units) if design is None else design.of_units)
    rows = np.column_stack([criterion.humans, *columns, weights.codes])[units]
    patterns = Patterns.of(rows, clusters=criterion.clusters[units])
    labels = criterion.humans.shape[1]
    level = criterion.scale.level
    first, second = (_agreement(labels, labels + i * (labels + 1), level) for i in range(2))
    statistics = {
        "first": first,
        "second": second,
        "difference": difference(first, second, sides=pair),
    }
    of = estimate_each(weighted(statistics, weights), patterns, **how)
    if design is not None:
        entered = np.isin(np.arange(criterion.n_units), units)
        of = design.scoped(of, entered, criterion)
    return MachineDifference(*pair, of["first"], of["second"], of["difference"])


def _agreement(labels: int, start: int, level: Level) -> Statistic:
    """Return `single_human_machine`'s percentage agreement of the machine whose counts start here.

    It compares one annotator at random with the machine's majority label or lower median over its
    runs and orders, so both sections have the same number for the same units.
    """
    pairs = Pairs(labels, level=level, human_weights=single_weights).percentage_statistic()

    def features(rows: IntArray) -> FloatArray:
        return pairs.features(
            np.column_stack([rows[:, :labels], rows[:, start : start + labels + 1]])
        )

    return replace(pairs, features=features)
