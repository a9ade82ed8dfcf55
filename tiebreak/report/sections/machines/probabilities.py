"""The probabilities of machines' labels: whether they are calibrated, and whether a position is preferred."""

from dataclasses import dataclass, replace
from functools import partial

import numpy as np
from numpy.typing import NDArray

from tiebreak.errors import InvalidInput
from tiebreak.formats import RatingTable
from tiebreak.formats.rating_cells import label_probabilities
from tiebreak.report.criterion import Codes, Criterion
from tiebreak.report.design_weights import DesignWeights
from tiebreak.report.generators import Seeds
from tiebreak.report.model.machines import (
    DebiasingSection,
    MachineProbabilities,
    ProbabilitySource,
    ReliabilitySection,
)
from tiebreak.report.needs import has_machines
from tiebreak.report.registry import section
from tiebreak.report.sections.raters.bias import first_shown
from tiebreak.scales import Label
from tiebreak.stats import Estimate, calibration, position_debiasing

MAX_REPLICATES = 2_000
NO_PROBABILITIES = (
    "No machine rater has probabilities: they need a judge that answers by probability, a column"
    " probabilities in its ratings, or several answers to the same item and order."
)
TOO_MANY_VALUES = "Probabilities are not read on scales with many different values."

Numbers = NDArray[np.float64]


@section(
    "machine_probabilities",
    "Probabilities of machine raters: calibration and debiasing",
    question="machines",
    on_request=True,
    asks="May a machine rater's probabilities be used as they are, or only after debiasing, or not at all?",
    offered=has_machines,
)
def machine_probabilities_section(
    criterion: Criterion, seeds: Seeds, replicates: int
) -> dict[str, MachineProbabilities]:
    """Return what the probabilities of each machine say; machines without any are left out."""
    if criterion.has_many_values:
        raise InvalidInput("too_many_values", TOO_MANY_VALUES)
    read = {name: Answers.of(criterion, name) for name in criterion.machines}
    design = DesignWeights.of(criterion)
    section = {
        name: _machine(
            criterion, answers, design, seeds.below(name), min(replicates, MAX_REPLICATES)
        )
        for name, answers in read.items()
        if answers is not None
    }
    if not section:
        raise InvalidInput("no_probabilities", NO_PROBABILITIES)
    return section


@dataclass(frozen=True, eq=False)
class Answers:
    """A machine's probabilities of labels for each unit and presentation order.

    `shares` has a row for each unit and order, in which it is the mean over the machine's answers,
    and a column for each label. `first` is −1 where system A was shown first, 1 where B was, and 0
    where the order is unknown.
    """

    source: ProbabilitySource
    unit: Codes
    first: Codes
    shares: Numbers

    @classmethod
    def of(cls, criterion: Criterion, name: str) -> "Answers | None":
        """Return the stated probabilities or, without any, the shares of repeated answers.

        After a draw, only units that humans rated are used, as machines also rate others.
        """
        mine = ~criterion.is_human & criterion.rows.coded("rater").equals(name)
        if DesignWeights.of(criterion) is not None:
            mine &= (criterion.humans.sum(axis=1) > 0)[criterion.unit]
        stated = mine & ~criterion.rows.coded("probabilities").equals("")
        if stated.any():
            rows = criterion.rows.select(stated)
            shares = _stated(rows, criterion)
            return cls._mean("probabilities", criterion, stated, shares)
        labelled = mine & (criterion.label >= 0)
        shares = np.eye(len(criterion.labels))[criterion.label[labelled]]
        answers = cls._mean("shares", criterion, labelled, shares)
        # With one answer to each question, shares are 0 or 1 and no probabilities.
        return answers if len(answers.unit) < labelled.sum() else None

    @classmethod
    def _mean(
        cls,
        source: ProbabilitySource,
        criterion: Criterion,
        chosen: NDArray[np.bool_],
        shares: Numbers,
    ) -> "Answers":
        unit, first = criterion.unit[chosen], first_shown(criterion.rows.select(chosen))
        is_known = ~np.isnan(shares).any(axis=1)
        key = (unit * 3 + first + 1)[is_known]
        keys, group = np.unique(key, return_inverse=True)
        sums = np.zeros((len(keys), shares.shape[1]))
        np.add.at(sums, group, shares[is_known])
        means = sums / np.bincount(group, minlength=len(keys))[:, None]
        return cls(source, keys // 3, keys % 3 - 1, means)

    def of_units(self, n_units: int) -> Numbers:
        """Return the mean over the orders of each unit; NaN for units without an answer."""
        sums = np.zeros((n_units, self.shares.shape[1]))
        np.add.at(sums, self.unit, self.shares)
        orders = np.bincount(self.unit, minlength=n_units)[:, None]
        return np.divide(sums, orders, out=np.full_like(sums, np.nan), where=orders > 0)


def _stated(rows: RatingTable, criterion: Criterion) -> Numbers:
    """Return the probability of each counted label; NaN where no counted label is possible."""
    column = rows.coded("probabilities")
    known = np.full((len(column.distinct), len(criterion.labels)), np.nan)
    for code in column.used.tolist():
        shares = label_probabilities(column.distinct[code], criterion.scale)
        counted = np.array([shares.get(label, 0.0) for label in criterion.labels])
        if counted.sum() > 0:
            known[code] = counted / counted.sum()
    return known[column.codes]


def _machine(
    criterion: Criterion,
    answers: Answers,
    design: DesignWeights | None,
    seeds: Seeds,
    replicates: int,
) -> MachineProbabilities:
    units = np.unique(answers.unit)
    shares, humans = answers.of_units(criterion.n_units)[units], criterion.humans[units]
    chosen = _of_interest(criterion, shares)
    fit = calibration(
        (shares * chosen).sum(axis=1).clip(0, 1),
        (humans * chosen).sum(axis=1),
        humans.sum(axis=1),
        weights=None if design is None else design.of_units[units],
        clusters=criterion.clusters[units],
        rng=seeds.generator("calibration"),
        replicates=replicates,
    )
    debiasing, both_orders = _debiasing(criterion, answers, design, seeds, replicates)
    found = MachineProbabilities(
        source=answers.source,
        answer="A" if criterion.scale.kind == "preference" else "most probable",
        n_units=len(units),
        n_answers=len(answers.unit),
        bins=tuple(ReliabilitySection(**vars(one)) for one in fit.bins),
        expected_calibration_error=fit.expected_calibration_error,
        brier_score=fit.brier_score,
        debiasing=debiasing,
        both_orders=both_orders,
    )
    return found if design is None else _scoped(found, design, units, criterion)


def _scoped(
    found: MachineProbabilities, design: DesignWeights, units: Codes, criterion: Criterion
) -> MachineProbabilities:
    """Return the section, whose estimates have the scope of weighted ones."""
    entered = np.isin(np.arange(criterion.n_units), units)
    scoped = partial(design.scoped_part, entered=entered, criterion=criterion)
    debiasing = found.debiasing and scoped(found.debiasing)
    bins = tuple(scoped(one) for one in found.bins)
    return replace(scoped(found), bins=bins, debiasing=debiasing)


def _of_interest(criterion: Criterion, shares: Numbers) -> NDArray[np.int64]:
    """Return 1 for the labels whose probability is looked at: that prefer A, or the most probable."""
    if criterion.scale.kind == "preference":
        return np.tile(_prefers(criterion, -1), (len(shares), 1))
    best = shares.argmax(axis=1)
    return np.asarray(np.arange(shares.shape[1]) == best[:, None], dtype=np.int64)


def _prefers(criterion: Criterion, side: int) -> NDArray[np.int64]:
    """Return 1 for the labels that prefer a side."""

    def is_of(label: Label) -> bool:
        return criterion.scale.side_of(label) == side

    return np.array([is_of(label) for label in criterion.labels], dtype=np.int64)


def _debiasing(
    criterion: Criterion,
    answers: Answers,
    design: DesignWeights | None,
    seeds: Seeds,
    replicates: int,
) -> tuple[DebiasingSection | None, Estimate | None]:
    """Return what debiasing changes, and agreement if both orders are averaged, where known."""
    if criterion.scale.kind != "preference":
        return None, None
    for_a, for_b = (answers.shares @ _prefers(criterion, side) for side in (-1, 1))
    usable = (answers.first != 0) & (for_a + for_b > 0)
    if not usable.any():
        return None, None
    unit, first = answers.unit[usable], answers.first[usable]
    share_a = (for_a[usable] / (for_a + for_b)[usable]).clip(0, 1)
    votes = np.stack([criterion.humans @ _prefers(criterion, side) for side in (-1, 1)], axis=1)
    is_a_first, of_units = first < 0, None if design is None else design.of_units
    result = position_debiasing(
        np.where(is_a_first, share_a, 1 - share_a),
        np.where(is_a_first, votes[unit, 0], votes[unit, 1]),
        votes[unit].sum(axis=1),
        weights=None if of_units is None else of_units[unit],
        clusters=criterion.clusters[unit],
        rng=seeds.generator("debiasing"),
        replicates=replicates,
    )
    twice = np.flatnonzero(np.bincount(unit, minlength=criterion.n_units) == 2)
    if not len(twice):
        return DebiasingSection(**vars(result)), None
    averaged = np.bincount(unit, share_a, minlength=criterion.n_units)[twice] / 2
    both = position_debiasing(
        averaged.clip(0, 1),
        votes[twice, 0],
        votes[twice].sum(axis=1),
        weights=None if of_units is None else of_units[twice],
        clusters=criterion.clusters[twice],
        rng=seeds.generator("both orders"),
        replicates=replicates,
    )
    return DebiasingSection(**vars(result)), both.agreement
