"""How well a machine's scores of single texts tell which of two is better, against its comparisons.

Source: Liusie et al. 2024, which compares scoring with comparative assessment. A score needs one answer
for each text, and comparisons up to two for each pair of texts.
"""

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from itertools import product
from typing import get_args

import numpy as np
from numpy.typing import NDArray

from tiebreak.errors import InvalidInput
from tiebreak.report.criterion import Codes, Criterion
from tiebreak.report.design_weights import DesignWeights
from tiebreak.report.generators import Seeds
from tiebreak.report.model.machines import (
    ScoringAgreement,
    ScoringComparison,
    ScoringSection,
    SystemCorrelations,
    TieRule,
)
from tiebreak.report.needs import has_systems_and_machines
from tiebreak.report.outcomes import NO_SYSTEMS
from tiebreak.report.registry import section
from tiebreak.report.sections.systems.rank_correlations import (
    MIN_SYSTEMS,
    TOO_FEW_SYSTEMS,
    row_correlations,
)
from tiebreak.stats import Estimate, Patterns, outcome_counts
from tiebreak.stats.core.bootstrap import (
    Mean,
    Resampling,
    Statistic,
    difference,
    estimate_each,
    ratio,
)
from tiebreak.stats.core.groups import n_distinct
from tiebreak.stats.core.unit_weights import UnitWeights, weighted
from tiebreak.stats.core.validation import FloatArray, IntArray

Numbers = NDArray[np.float64]
_Text = tuple[str, str, float]  # instance, system and sample
ROUNDING = 1e-9
ERROR_LEVEL = 0.05
# Among more hardly a difference could be distinguished from chance.
MAX_COMPARISONS = 60
NOBODY = (
    "No machine rater has scored single texts that a machine rater and an annotator have compared. Let a"
    " machine rater score the texts in a study of single texts with the same instances, and name it as"
    " the study of scores, or in a file give rows with a system_a and no system_b."
)
NO_UNIT = "No pair was rated by an annotator and both machines."
NO_RANKS = "All systems have the same mean score or win rate, so there are no ranks."
POINTS: Numbers = np.array([1, 0.5, 0])
# What a rater's answer (a row) agrees by with an annotator's (a column): A is better, a tie, B is.
CREDIT: dict[TieRule, Numbers] = {
    "as an answer": np.eye(3),
    "as half": np.array([[1, 0.5, 0], [0.5, 0.5, 0.5], [0, 0.5, 1]]),
}
# Columns of a pair: annotators' outcomes, then outcomes and unreadable answers of both machines.
HUMANS, SCORES, COMPARISONS = slice(0, 3), slice(3, 7), slice(7, 11)
SIDES = ("scores", "comparisons")


@section(
    "scoring_against_pairwise",
    "Scoring single texts against comparing two",
    question="machines",
    on_request=True,
    asks="Is it enough to let a machine rater score each text, or must it compare two at a time?",
    offered=has_systems_and_machines,
    options=("scored",),
)
def scoring_section(
    criterion: Criterion, seeds: Seeds, replicates: int, *, scored: Sequence[Criterion] = ()
) -> ScoringSection:
    """Return scoring against pairwise comparison: ``scored`` are criteria that may have scores."""
    if criterion.scale.kind != "preference":
        raise InvalidInput("no_systems", NO_SYSTEMS)
    compared = _Compared.of(criterion)
    joint = dict(_joint(compared, scored))
    if not joint:
        return ScoringSection({}, 1 - ERROR_LEVEL, reason=NOBODY)
    # The most pairs of texts in the same order come first.
    by_size = sorted(joint, key=lambda name: (-len(joint[name].units), name))
    left_out = tuple(by_size[MAX_COMPARISONS:])
    joint = {name: one for name, one in joint.items() if name not in left_out}
    level = 1 - ERROR_LEVEL / (len(joint) * len(compared.rules))  # Bonferroni
    how: Resampling = {"replicates": replicates, "confidence_level": level}
    comparisons = {
        name: one.comparison(how | {"rng": seeds.generator(name)}) for name, one in joint.items()
    }
    return ScoringSection(comparisons, level, left_out)


def has_scores(criterion: Criterion) -> bool:
    """Return whether a criterion's labels are scores, and higher ones may count as better."""
    return criterion.scale.kind != "preference" and criterion.numbers is not None


@dataclass(frozen=True, eq=False)
class _Compared:
    """The units of a preference that name two texts, and annotators' outcomes, shape (units, 3)."""

    criterion: Criterion
    texts: tuple[list[_Text], list[_Text]]
    humans: IntArray

    @classmethod
    def of(cls, criterion: Criterion) -> "_Compared":
        humans = outcome_counts(criterion.humans, criterion.labels)
        return cls(criterion, (_texts(criterion, "a"), _texts(criterion, "b")), humans)

    @property
    def rules(self) -> list[TieRule]:
        """On a scale without ties, a tie can never be the answer of an annotator."""
        has_tie = 0 in self.criterion.labels
        return [rule for rule in get_args(TieRule) if has_tie or rule != "as an answer"]


def _texts(criterion: Criterion, side: str) -> list[_Text]:
    """Return the text of each unit; its sample is −1 if it has none."""
    columns = (f"system_{side}", f"sample_{side}")
    system, sample = (criterion.of_units(name) for name in columns)
    samples = np.nan_to_num(sample.astype(float), nan=-1.0)
    instances = criterion.of_units("instance").astype(str).tolist()
    return list(zip(instances, system.astype(str).tolist(), samples.tolist(), strict=True))


def _joint(compared: _Compared, scored: Sequence[Criterion]) -> Iterator[tuple[str, "_Joint"]]:
    """Yield the machines that scored and compared pairs of two instances or more in common."""
    for criterion in filter(has_scores, scored):
        texts = _Texts.of(criterion)
        for scorer in sorted(criterion.machines):
            scores = texts.scored_by(scorer)
            for comparer in sorted(compared.criterion.machines):
                joint = _Joint.of(compared, scores, comparer)
                if joint.instances > 1:
                    yield f"{scorer} ({criterion.name}) vs {comparer}", joint


@dataclass(frozen=True, eq=False)
class _Texts:
    """The single texts of a criterion: units of one system that are no perturbed copies.

    `number` has a number for each text, and `of_unit` that of each unit, or −1.
    """

    criterion: Criterion
    number: Mapping[_Text, int]
    of_unit: Codes

    @classmethod
    def of(cls, criterion: Criterion) -> "_Texts":
        texts = _texts(criterion, "a")
        others = (criterion.of_units(name).astype(str) for name in ("system_b", "perturbation"))
        is_single = np.logical_and.reduce([other == "" for other in others])
        number: dict[_Text, int] = {}
        of_unit = np.full(len(texts), -1, dtype=np.int64)
        for unit in np.flatnonzero(is_single).tolist():
            if texts[unit][0] and texts[unit][1]:
                of_unit[unit] = number.setdefault(texts[unit], len(number))
        return cls(criterion, number, of_unit)

    def scored_by(self, rater: str) -> "_Scores":
        about = self.criterion
        rows = ~about.is_human & about.rows.coded("rater").equals(rater)
        answered = rows & ((about.label >= 0) | about.is_unparsed)
        text = self.of_unit[about.unit[answered]]
        answers = np.bincount(text[text >= 0], minlength=len(self.number)).astype(np.int64)
        return _Scores(
            about.name, rater, self.number, about.mean_scores(rows, self.of_unit), answers
        )


@dataclass(frozen=True, eq=False)
class _Scores:
    """A machine's mean score of each text, and how many answers it took; NaN if none was readable."""

    criterion: str
    rater: str
    number: Mapping[_Text, int]
    means: Numbers
    answers: IntArray


@dataclass(frozen=True, eq=False)
class _Joint:
    """Pairs that an annotator and both machines rated: their units, and numbers of their texts.

    `rows` has the columns `HUMANS`, `SCORES` and `COMPARISONS`, shape (pairs, 11). `design` has the
    weights of units after a draw.
    """

    compared: _Compared
    scores: _Scores
    comparer: str
    units: IntArray
    first: IntArray
    second: IntArray
    rows: IntArray
    design: DesignWeights | None

    @classmethod
    def of(cls, compared: _Compared, scores: _Scores, comparer: str) -> "_Joint":
        machine = compared.criterion.machines[comparer]
        answers = outcome_counts(machine.counts, compared.criterion.labels)
        both = np.column_stack([answers, machine.unparsed])
        first, second = (
            np.array([scores.number.get(text, -1) for text in side], dtype=np.int64)
            for side in compared.texts
        )
        used = compared.humans.any(axis=1) & both.any(axis=1) & (first != second)
        for text in (first, second):
            used &= (text >= 0) & (np.append(scores.answers, 0)[text] > 0)
        units = np.flatnonzero(used)
        first, second = first[units], second[units]
        implied = _implied(scores.means[first], scores.means[second])
        rows = np.column_stack([compared.humans[units], implied, both[units]])
        design = DesignWeights.of(compared.criterion, used)
        return cls(compared, scores, comparer, units, first, second, rows, design)

    @property
    def weights(self) -> Numbers:
        """The weight of each pair: 1 without a draw."""
        return np.ones(len(self.units)) if self.design is None else self.design.of_units[self.units]

    @property
    def entered(self) -> NDArray[np.bool_]:
        return np.isin(np.arange(self.compared.criterion.n_units), self.units)

    @property
    def clusters(self) -> Codes:
        return self.compared.criterion.clusters[self.units]

    @property
    def instances(self) -> int:
        return n_distinct(self.clusters)

    @property
    def texts(self) -> IntArray:
        """The numbers of all texts of the pairs."""
        return np.unique(np.concatenate([self.first, self.second]))

    @property
    def of_texts(self) -> Numbers:
        """The weight of each text, which is the mean of its pairs' weights; NaN if it has none."""
        text, weights = np.concatenate([self.first, self.second]), np.tile(self.weights, 2)
        n = np.bincount(text, minlength=len(self.scores.means))
        total = np.bincount(text, weights, minlength=len(self.scores.means))
        return ratio(np.asarray(total, dtype=np.float64), n.astype(np.float64))

    def comparison(self, how: Resampling) -> ScoringComparison:
        of = self._estimates(how)
        return ScoringComparison(
            score_criterion=self.scores.criterion,
            scorer=self.scores.rater,
            comparer=self.comparer,
            pairs=len(self.units),
            instances=self.instances,
            score_answers=int(self.scores.answers[self.texts].sum()),
            comparison_answers=int(self.rows[:, COMPARISONS].sum()),
            scores_tied=of["tied", "scores"],
            comparisons_tied=of["tied", "comparisons"],
            agreement={
                rule: ScoringAgreement(*(of[rule, name] for name in (*SIDES, "difference")))
                for rule in self.compared.rules
            },
            systems=_system_correlations(self),
        )

    def _estimates(self, how: Resampling) -> dict[tuple[str, str], Estimate]:
        weights = UnitWeights.of(self.weights)
        rows = np.column_stack([self.rows, weights.codes])
        of = estimate_each(
            weighted(dict(_statistics(self.compared.rules)), weights),
            Patterns.of(rows, clusters=self.clusters),
            **how,
        )
        if self.design is None:
            return of
        return self.design.scoped(of, self.entered, self.compared.criterion)


def _implied(first: Numbers, second: Numbers) -> IntArray:
    """Return which of two scores is higher as A, tie, B or unreadable, shape (pairs, 4)."""
    apart = first - second
    equal = np.isclose(first, second, rtol=0, atol=ROUNDING)
    outcomes = [(apart > 0) & ~equal, equal, (apart < 0) & ~equal, np.isnan(apart)]
    return np.stack(outcomes, axis=1).astype(np.int64)


def _statistics(rules: Sequence[TieRule]) -> Iterator[tuple[tuple[str, str], Statistic]]:
    """Yield the agreement of both machines by each rule for ties with its difference, and ties."""
    columns = dict(zip(SIDES, (SCORES, COMPARISONS), strict=True))
    for rule in rules:
        both = [_agreement(CREDIT[rule], columns[side]) for side in SIDES]
        yield from zip(product([rule], SIDES), both, strict=True)
        yield (rule, "difference"), difference(*both, sides=SIDES)
    for side in SIDES:
        yield ("tied", side), _tied(columns[side])


def _agreement(credit: Numbers, columns: slice) -> Statistic:
    """Return the mean credit with one annotator at random; an unreadable answer has none."""

    def credit_of(rows: IntArray) -> FloatArray:
        humans, machine = rows[:, HUMANS], rows[:, columns]
        worth = np.einsum("uh,hm,um->u", humans, credit, machine[:, :3])
        return ratio(worth, (humans.sum(axis=1) * machine.sum(axis=1)).astype(float))

    return _mean(credit_of)


def _tied(columns: slice) -> Statistic:
    """Return the share of ties among a machine's answers, averaged over pairs."""

    def share_of(rows: IntArray) -> FloatArray:
        machine = rows[:, columns].astype(float)
        return ratio(machine[:, 1], machine.sum(axis=1))

    return _mean(share_of)


def _mean(value_of: Callable[[IntArray], FloatArray]) -> Statistic:
    def features(rows: IntArray) -> FloatArray:
        return np.column_stack([np.ones(len(rows)), value_of(rows)])

    mean = Mean()
    return Statistic(2, features, mean.value, NO_UNIT, NO_UNIT, mean=mean)


def _system_correlations(joint: _Joint) -> SystemCorrelations:
    names = [np.array([text[1] for text in side])[joint.units] for side in joint.compared.texts]
    systems, codes = np.unique(np.concatenate(names), return_inverse=True)
    first, second = np.split(codes, 2)
    _, speaks_of = DesignWeights.of_entering(joint.compared.criterion, joint.entered)
    if len(systems) < MIN_SYSTEMS:
        return SystemCorrelations(len(systems), reason=TOO_FEW_SYSTEMS, speaks_of=speaks_of)
    text_system = np.zeros(len(joint.scores.means), dtype=np.int64)
    text_system[joint.first], text_system[joint.second] = first, second
    by_comparisons = joint.rows[:, COMPARISONS][:, :3]
    of = {
        "scores": _mean_scores(joint, text_system, len(systems)),
        "annotators": _win_rates(joint, joint.rows[:, HUMANS], first, second),
        "comparisons": _win_rates(joint, by_comparisons, first, second),
    }
    values = {
        f"{x}_with_{y}": float(row_correlations(of[x][None], of[y][None])[0])
        for x, y in (
            ("scores", "annotators"),
            ("comparisons", "annotators"),
            ("scores", "comparisons"),
        )
    }
    known = {name: None if np.isnan(value) else value for name, value in values.items()}
    reason = NO_RANKS if None in known.values() else None
    return SystemCorrelations(len(systems), **known, reason=reason, speaks_of=speaks_of)


def _mean_scores(joint: _Joint, text_system: IntArray, systems: int) -> Numbers:
    """Return the mean score of each system; each text counts once, or by the weight of its pairs."""
    texts = joint.texts[~np.isnan(joint.scores.means[joint.texts])]
    system, means, weight = text_system[texts], joint.scores.means[texts], joint.of_texts[texts]
    n = np.bincount(system, weight, minlength=systems)
    total = np.bincount(system, weight * means, minlength=systems)
    return ratio(np.asarray(total, dtype=np.float64), np.asarray(n, dtype=np.float64))


def _win_rates(joint: _Joint, outcomes: IntArray, first: IntArray, second: IntArray) -> Numbers:
    """Return the win rate of each system; a pair counts by its weight, and with itself not at all."""
    systems, weight = int(max(first.max(), second.max())) + 1, joint.weights
    n_answers = outcomes.sum(axis=1).astype(np.float64)
    of_first = ratio(outcomes @ POINTS, n_answers)
    used = ~np.isnan(of_first) & (first != second)
    weight = weight[used]
    sides = ((first[used], of_first[used]), (second[used], 1 - of_first[used]))
    points = sum(np.bincount(side, weight * won, minlength=systems) for side, won in sides)
    n = sum(np.bincount(side, weight, minlength=systems) for side, _ in sides)
    return ratio(np.asarray(points, dtype=float), np.asarray(n, dtype=float))
