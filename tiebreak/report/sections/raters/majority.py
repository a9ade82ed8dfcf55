"""How reliable the majority label, or the mean, of several ratings of an item is."""

import numpy as np

from tiebreak.report.criterion import Criterion
from tiebreak.report.design_weights import DesignWeights
from tiebreak.report.generators import Seeds
from tiebreak.report.model.fields import Estimates
from tiebreak.report.model.raters import MajoritySection
from tiebreak.report.needs import has_ratings
from tiebreak.report.registry import section
from tiebreak.report.sections.raters.strata import NO_EXACT_AGREEMENT
from tiebreak.stats import Estimate, Patterns, majority_agreement, spearman_brown, undefined
from tiebreak.stats.core.bootstrap import estimate_each, on_columns
from tiebreak.stats.core.unit_weights import UnitWeights, weighted
from tiebreak.stats.raters.additive import NO_PAIR, fleiss_statistic
from tiebreak.stats.raters.intraclass import one_way_correlation

SIZES = (1, 3, 5)


@section(
    "majority",
    "Reliability of the majority of several ratings",
    question="raters",
    on_request=True,
    asks="How many ratings does an item need until other annotators would give it the same label?",
    offered=has_ratings,
)
def majority_section(criterion: Criterion, seeds: Seeds, replicates: int) -> MajoritySection:
    """Return it for one, three and five ratings, and for as many as items typically have here."""
    number = criterion.humans.sum(axis=1)
    if not (number > 1).any():
        return MajoritySection(ratings=int(number.max(initial=0)), majority={}, reason=NO_PAIR)
    own = int(np.bincount(number[number > 0]).argmax())
    sizes = sorted({*SIZES, own})
    kappa, shares = _single(criterion, seeds, replicates)
    mean = None if criterion.numbers is None else _correlation(criterion, seeds, replicates)
    return MajoritySection(
        ratings=own,
        majority={
            str(size): kappa if shares is None else majority_agreement(kappa, shares, ratings=size)
            for size in sizes
        },
        mean=None
        if mean is None
        else {str(size): spearman_brown(mean, ratings=size) for size in sizes},
    )


def _single(
    criterion: Criterion, seeds: Seeds, replicates: int
) -> tuple[Estimate, np.ndarray | None]:
    """Return Fleiss' κ and the labels' shares; no shares if hardly two answers are the same."""
    if criterion.is_slider:
        return undefined(NO_EXACT_AGREEMENT), None
    rows, labels = criterion.humans, slice(0, len(criterion.labels))
    number, design = rows.sum(axis=1), DesignWeights.of(criterion)
    of_units = None if design is None else UnitWeights.of(design.of_units)
    columns = rows if of_units is None else np.column_stack([rows, of_units.codes])
    statistics = {"": on_columns(fleiss_statistic(len(criterion.labels)), labels)}
    estimates: Estimates = estimate_each(
        weighted(statistics, of_units),
        Patterns.of(columns, clusters=criterion.clusters),
        rng=seeds.generator("kappa"),
        replicates=replicates,
    )
    if design is not None:
        estimates = design.scoped(estimates, number > 1, criterion)
    weight = (number > 1) * (1.0 if design is None else design.of_units)
    shares = weight @ (rows / np.maximum(number, 1)[:, None]) / weight.sum()
    kappa = estimates[""]
    return kappa, shares if kappa.is_defined else None


def _correlation(criterion: Criterion, seeds: Seeds, replicates: int) -> Estimate:
    """Return ICC(1) of the labels as numbers."""
    rated = criterion.is_human & (criterion.label >= 0)
    numbers, unit = np.asarray(criterion.numbers), criterion.unit[rated]
    score = numbers[criterion.label[rated]] - numbers[0]
    sums = [
        np.bincount(unit, weights=column, minlength=criterion.n_units)
        for column in (np.ones_like(score), score, score**2)
    ]
    design, rated_units = DesignWeights.of(criterion), criterion.humans.sum(axis=1) > 1
    estimate = one_way_correlation(
        *sums,
        weights=None if design is None else design.of_units,
        clusters=criterion.clusters,
        rng=seeds.generator("mean"),
        replicates=replicates,
    )
    return estimate if design is None else design.scoped({"": estimate}, rated_units, criterion)[""]
