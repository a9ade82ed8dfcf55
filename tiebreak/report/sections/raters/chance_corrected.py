"""More coefficients of agreement among humans, of all units together.

Their intervals resample instances, so they apply to these raters.
"""

from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass, fields
from typing import Unpack

import numpy as np
from numpy.typing import NDArray

from tiebreak.report.criterion import Codes, Criterion
from tiebreak.report.design_weights import DesignWeights
from tiebreak.report.generators import Seeds
from tiebreak.report.model.fields import Estimates
from tiebreak.report.model.raters import ChanceCorrectedSection
from tiebreak.report.needs import has_labels
from tiebreak.report.registry import section
from tiebreak.scales import MAX_POINTS
from tiebreak.stats import Estimate, Patterns, intraclass_correlation, undefined
from tiebreak.stats.core.bootstrap import Resampling, Statistic, estimate_each, on_columns
from tiebreak.stats.core.groups import n_distinct
from tiebreak.stats.core.unit_weights import UnitWeights, weighted
from tiebreak.stats.raters.intraclass import NO_PAIR, NOT_CROSSED, one_way_correlation
from tiebreak.stats.raters.label_weights import WEIGHTS, Weights, label_weights
from tiebreak.stats.raters.weighted_kappa import conger_statistic, weighted_cohen_statistic

Matrix = NDArray[np.float64]
ByWeights = Callable[[Matrix], Statistic]

# A replicate sums a number for each rater and label.
MAX_CELLS = 200
OF_COUNTS: dict[str, ByWeights] = {
    one.name: one.metadata["of"] for one in fields(ChanceCorrectedSection) if one.metadata.get("of")
}
NO_FIXED_LABELS = "This coefficient needs a fixed set of labels, and this scale allows any number."
TOO_MANY_LABELS = f"This coefficient is not computed for more than {MAX_POINTS} labels."
TOO_MANY_RATERS = (
    "Conger's κ is not computed for so many annotators and labels; it hardly differs from Fleiss' κ"
    " then."
)
NOT_TWO = "Cohen's κ compares two annotators, and {number:,} rated items of this criterion."
NO_NUMBERS = (
    "Intraclass correlations treat labels as numbers; declare the scale as interval or ratio if they"
    " are."
)


@dataclass(frozen=True, eq=False)
class HumanLabels:
    """Human ratings with a label, one entry each, as codes, and the names of the raters."""

    unit: Codes
    rater: Codes
    label: Codes
    names: list[str]

    @classmethod
    def of(cls, criterion: Criterion) -> "HumanLabels":
        used = criterion.is_human & (criterion.label >= 0)
        names, rater = criterion.rows.ranked("rater", used)
        return cls(
            criterion.unit[used], rater.astype(np.int64), criterion.label[used], names.tolist()
        )

    @property
    def n_raters(self) -> int:
        return len(self.names)

    def table(self, units: int) -> Codes:
        """Return each rater's label of each unit, shifted by 1; 0 is a missing rating."""
        table = np.zeros((units, self.n_raters), dtype=np.int64)
        table[self.unit, self.rater] = self.label + 1
        return table

    def labels_of(self, rater: int, n_units: int) -> Codes:
        """Return the label that a rater gave each unit, or −1."""
        labels = np.full(n_units, -1, dtype=np.int64)
        mask = self.rater == rater
        labels[self.unit[mask]] = self.label[mask]
        return labels


@section(
    "chance_corrected",
    "Other coefficients of agreement",
    question="raters",
    needs=has_labels,
)
def chance_corrected_section(
    criterion: Criterion, seeds: Seeds, replicates: int
) -> ChanceCorrectedSection:
    """Return the coefficients of all units, by weights, and the intraclass correlations by form."""
    humans = HumanLabels.of(criterion)
    coefficients = _of_labels(criterion, humans, seeds, replicates)
    return ChanceCorrectedSection(
        **coefficients,
        intraclass_correlation=_intraclass(criterion, humans, seeds, replicates),
    )


def _of_labels(
    criterion: Criterion, humans: HumanLabels, seeds: Seeds, replicates: int
) -> dict[str, Estimates]:
    names = WEIGHTS if criterion.numbers is not None else WEIGHTS[:1]
    reason = _reason_against(criterion, humans)
    if reason:
        return _undefined((*OF_COUNTS, "conger_kappa", "cohen_kappa"), names, reason)
    weights = {
        name: label_weights(len(criterion.labels), name, values=criterion.numbers) for name in names
    }
    rng = seeds.generator("counts")
    return (
        _by_weights(OF_COUNTS, weights, criterion.humans, criterion, rng=rng, replicates=replicates)
        | _conger(criterion, humans, weights, seeds, replicates)
        | _cohen(criterion, humans, weights, seeds, replicates)
    )


def _reason_against(criterion: Criterion, humans: HumanLabels) -> str | None:
    if not humans.n_raters:
        return NO_PAIR
    if criterion.scale.labels is None:
        return NO_FIXED_LABELS
    return TOO_MANY_LABELS if len(criterion.labels) > MAX_POINTS else None


def _conger(
    criterion: Criterion,
    humans: HumanLabels,
    weights: Mapping[Weights, Matrix],
    seeds: Seeds,
    replicates: int,
) -> dict[str, Estimates]:
    if humans.n_raters * len(criterion.labels) > MAX_CELLS:
        return _undefined(("conger_kappa",), weights, TOO_MANY_RATERS)
    codes = humans.table(criterion.n_units)

    def statistic(table: Matrix) -> Statistic:
        return conger_statistic(humans.n_raters, table)

    rng = seeds.generator("conger_kappa")
    return _by_weights(
        {"conger_kappa": statistic}, weights, codes, criterion, rng=rng, replicates=replicates
    )


def _cohen(
    criterion: Criterion,
    humans: HumanLabels,
    weights: Mapping[Weights, Matrix],
    seeds: Seeds,
    replicates: int,
) -> dict[str, Estimates]:
    if humans.n_raters != 2:
        return _undefined(("cohen_kappa",), weights, NOT_TWO.format(number=humans.n_raters))
    codes = humans.table(criterion.n_units)
    rng = seeds.generator("cohen_kappa")
    statistics: dict[str, ByWeights] = {"cohen_kappa": weighted_cohen_statistic}
    return _by_weights(statistics, weights, codes, criterion, rng=rng, replicates=replicates)


def _by_weights(
    statistics: Mapping[str, ByWeights],
    weights: Mapping[Weights, Matrix],
    rows: Codes,
    criterion: Criterion,
    **resampling: Unpack[Resampling],
) -> dict[str, Estimates]:
    """Return every statistic with every kind of weights, all from the same replicates.

    ``rows`` has what the statistics need of each unit. Where instances were drawn, units have weights
    too.
    """
    columns, design = slice(0, rows.shape[1]), DesignWeights.of(criterion)
    combined = {
        (name, kind): on_columns(statistic(table), columns)
        for name, statistic in statistics.items()
        for kind, table in weights.items()
    }
    of_units = None if design is None else UnitWeights.of(design.of_units)
    if of_units is not None:
        rows = np.column_stack([rows, of_units.codes])
    patterns = Patterns.of(rows, clusters=criterion.clusters)
    estimates = estimate_each(weighted(combined, of_units), patterns, **resampling)
    if design is not None:
        rated = np.asarray(criterion.humans.sum(axis=1) > 0)
        estimates = design.scoped(estimates, rated, criterion)
    return {name: {kind: estimates[name, kind] for kind in weights} for name in statistics}


def _undefined(
    statistics: Iterable[str], weights: Iterable[Weights], reason: str
) -> dict[str, Estimates]:
    return {name: {kind: undefined(reason) for kind in weights} for name in statistics}


def _intraclass(
    criterion: Criterion, humans: HumanLabels, seeds: Seeds, replicates: int
) -> Estimates:
    if criterion.values is None:
        return {form: undefined(NO_NUMBERS) for form in "1AC"}
    score = criterion.values[humans.label] - criterion.values[0]
    number, total, squares = (
        np.bincount(humans.unit, weights=column, minlength=criterion.n_units)
        for column in (np.ones_like(score), score, score**2)
    )
    design = DesignWeights.of(criterion)
    one_way = one_way_correlation(
        number,
        total,
        squares,
        weights=None if design is None else design.of_units,
        clusters=criterion.clusters,
        rng=seeds.generator("icc1"),
        replicates=replicates,
    )
    estimates = {"1": one_way} | {
        form: _crossed(
            criterion, humans, form, rng=seeds.generator(f"icc{form}"), replicates=replicates
        )
        for form in ("A", "C")
    }
    return estimates if design is None else design.scoped(estimates, number > 1, criterion)


def _crossed(
    criterion: Criterion, humans: HumanLabels, form: str, **resampling: Unpack[Resampling]
) -> Estimate:
    """Return the correlation of units that all raters rated, if there are no others to compare."""
    number = criterion.humans.sum(axis=1)
    design = DesignWeights.of(criterion)
    raters = n_distinct(humans.rater[number[humans.unit] > 1])
    if raters < 2:
        return undefined(NO_PAIR)
    if (number[number > 1] != raters).any():
        return undefined(NOT_CROSSED, int((number > 1).sum()))
    scores = np.full((criterion.n_units, humans.n_raters), np.nan)
    scores[humans.unit, humans.rater] = np.asarray(criterion.values)[humans.label]
    scores[number < 2] = np.nan
    return intraclass_correlation(
        scores,
        form="A" if form == "A" else "C",
        weights=None if design is None else design.of_units,
        clusters=criterion.clusters,
        **resampling,
    )
