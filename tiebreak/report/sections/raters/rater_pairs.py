"""Agreement of annotators two by two, and α without each of them."""

import math
from collections.abc import Sequence
from typing import Unpack

import numpy as np

from tiebreak.errors import InvalidInput
from tiebreak.report.criterion import Codes, Criterion
from tiebreak.report.design_weights import DesignWeights
from tiebreak.report.generators import Seeds
from tiebreak.report.model.raters import PairwiseAgreementSection, RaterPair
from tiebreak.report.needs import has_ratings
from tiebreak.report.registry import section
from tiebreak.report.sections.raters.chance_corrected import HumanLabels
from tiebreak.scales import MAX_POINTS
from tiebreak.stats import Estimate, Influence, cohen_kappa, drop_one_influence, pairwise_agreement
from tiebreak.stats.core.bootstrap import Resampling

# The share of equal labels on fewer common units says next to nothing about two annotators.
MIN_SHARED = 10
MAX_LISTED = 50
MAX_REPLICATES = 1_000
MAX_CELLS = 50_000_000
MAX_WITH_INTERVALS = 100
MIN_RATERS = 3
NO_PAIR = f"No two annotators rated {MIN_SHARED} common items."
TOO_MANY = (
    "There are too many annotators and labels to compare all pairs of annotators. Filter the ratings"
    " first."
)
TOO_MANY_RATIOS = (
    "Leaving out an annotator is not computed for ratio scales with more than"
    f" {MAX_POINTS} different values. Declare the scale as interval to compare differences."
)
TOO_FEW = "Leaving out an annotator needs at least three annotators who gave a label."


@section(
    "pairwise_agreement",
    "Annotators two by two",
    question="raters",
    on_request=True,
    asks="Which two annotators read the guidelines differently?",
    offered=has_ratings,
    names_raters=True,
)
def pairwise_agreement_section(
    criterion: Criterion, seeds: Seeds, replicates: int
) -> PairwiseAgreementSection:
    """Return the pairs of annotators with the least agreement."""
    human = HumanLabels.of(criterion)
    raters, labels = human.n_raters, len(criterion.labels)
    if raters**2 * max(labels, 1) > MAX_CELLS:
        raise InvalidInput("too_many", TOO_MANY)
    if raters < 2:
        return PairwiseAgreementSection(0, 0, math.nan, (), NO_PAIR)
    design = DesignWeights.of(criterion)
    pairs = pairwise_agreement(
        human.unit,
        human.rater,
        human.label,
        n_units=criterion.n_units,
        n_raters=raters,
        n_labels=labels,
        weights=None if design is None else design.of_units,
    )
    first, second = np.triu_indices(raters, 1)
    shared, agreement = pairs.shared[first, second], pairs.agreement[first, second]
    usable = np.flatnonzero(shared >= MIN_SHARED)
    few_shared = int(((shared > 0) & (shared < MIN_SHARED)).sum())
    if not len(usable):
        return PairwiseAgreementSection(0, few_shared, math.nan, (), NO_PAIR)
    lowest = usable[np.argsort(agreement[usable], kind="stable")][:MAX_LISTED]
    listed = tuple(
        RaterPair(
            (human.names[first[k]], human.names[second[k]]),
            int(shared[k]),
            float(agreement[k]),
            _kappa(
                criterion,
                [human.labels_of(int(code[k]), criterion.n_units) for code in (first, second)],
                design,
                rng=seeds.generator(human.names[first[k]], human.names[second[k]]),
                replicates=min(replicates, MAX_REPLICATES),
            ),
        )
        for k in lowest.tolist()
    )
    median = float(np.median(agreement[usable]))
    return PairwiseAgreementSection(len(usable), few_shared, median, listed)


def _kappa(
    criterion: Criterion,
    labels: Sequence[Codes],
    design: DesignWeights | None,
    **resampling: Unpack[Resampling],
) -> Estimate:
    kappa = cohen_kappa(
        *labels,
        n_labels=len(criterion.labels),
        weights=None if design is None else design.of_units,
        clusters=criterion.clusters,
        **resampling,
    )
    both = np.minimum(*labels) >= 0
    return kappa if design is None else design.scoped({"": kappa}, both, criterion)[""]


@section(
    "drop_one_influence",
    "Agreement without each annotator",
    question="raters",
    on_request=True,
    asks="Is agreement low because of one annotator, or because of all?",
    offered=has_ratings,
    names_raters=True,
)
def drop_one_section(criterion: Criterion, seeds: Seeds, replicates: int) -> dict[str, Influence]:
    """Return α without each annotator, with intervals if there are few enough annotators."""
    human = HumanLabels.of(criterion)
    if human.n_raters < MIN_RATERS:
        raise InvalidInput("too_few", TOO_FEW)
    if criterion.has_many_values and criterion.scale.level == "ratio":
        raise InvalidInput("too_many", TOO_MANY_RATIOS)
    design = DesignWeights.of(criterion)
    has_intervals = replicates and human.n_raters <= MAX_WITH_INTERVALS
    influences = drop_one_influence(
        human.unit,
        human.rater,
        human.label,
        n_units=criterion.n_units,
        n_raters=human.n_raters,
        n_labels=len(criterion.labels),
        level=criterion.scale.level,
        values=criterion.values,
        weights=None if design is None else design.of_units,
        clusters=criterion.clusters,
        rng=seeds.generator() if has_intervals else None,
        replicates=min(replicates, MAX_REPLICATES),
    )
    if design is not None:
        rated = criterion.humans.sum(axis=1) > 1
        influences = [design.scoped_part(one, rated, criterion) for one in influences]
    return dict(zip(human.names, influences, strict=True))
