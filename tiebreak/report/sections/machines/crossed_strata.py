"""Agreement with machines by pair of systems, crossed with the agreement among annotators."""

import numpy as np

from tiebreak.errors import InvalidInput
from tiebreak.report.criterion import Criterion
from tiebreak.report.generators import Seeds
from tiebreak.report.model.fields import CROSSED
from tiebreak.report.model.strata import CrossedSection
from tiebreak.report.needs import has_machines_and_pairs
from tiebreak.report.registry import section
from tiebreak.report.sections.raters.strata import strata_section
from tiebreak.stats import Stratum, agreement_strata

MAX_PAIRS = 20
NO_MACHINE = "No machine rater has rated these items."
NO_PAIRS = "The items are not of several pairs of systems, so there is nothing to cross."
CLASS = "{pair}: {agreement}"


@section(
    "pairs_by_agreement",
    "Pairs of systems by agreement among annotators",
    question="machines",
    on_request=True,
    asks="Does a machine rater fail on the items of one pair on which annotators are clear?",
    offered=has_machines_and_pairs,
)
def crossed_section(criterion: Criterion, seeds: Seeds, replicates: int) -> CrossedSection:
    if not criterion.machines:
        raise InvalidInput("no_machines", NO_MACHINE)
    pairs, left_out = _pairs(criterion)
    if not pairs or criterion.is_slider:
        raise InvalidInput("no_pairs", NO_PAIRS)
    pair_of = {stratum.name: pair for pair in pairs for stratum in _of_pair(criterion, pair)}
    strata = [stratum for pair in pairs for stratum in _of_pair(criterion, pair)]
    return CrossedSection(strata_section(criterion, seeds, replicates, strata), pair_of, left_out)


def _pairs(criterion: Criterion) -> tuple[list[str], int]:
    """Return the pairs with the most units, by name, and how many are left out."""
    names, units = np.unique(criterion.pairs[criterion.pairs != ""], return_counts=True)
    if len(names) < 2:
        return [], 0
    largest = np.argsort(-units, kind="stable")[:MAX_PAIRS]
    return sorted(names[largest].tolist()), len(names) - len(largest)


def _of_pair(criterion: Criterion, pair: str) -> list[Stratum]:
    """Return the classes of agreement that have units of the pair."""
    is_of_pair = criterion.pairs == pair
    crossed = [
        Stratum(
            CROSSED,
            CLASS.format(pair=pair, agreement=one.name),
            np.asarray(one.members & is_of_pair, dtype=np.bool_),
        )
        for one in agreement_strata(criterion.humans, level=criterion.scale.level)
    ]
    return [stratum for stratum in crossed if stratum.n_units]
