"""How well fewer comparisons of a machine give the ranking of all of them, and annotators' ranking.

Source: Liusie et al. 2024, section 3 and figure 2. The candidates are the systems on one instance, and
a score is wins divided by comparisons.
"""

from collections.abc import Iterable
from dataclasses import dataclass, replace
from math import comb

import numpy as np
import scipy
from numpy.typing import NDArray

from tiebreak.errors import InvalidInput
from tiebreak.report.criterion import Criterion
from tiebreak.report.design_weights import DesignWeights, in_population
from tiebreak.report.generators import Seeds
from tiebreak.report.model.machines import BudgetPoint, ComparisonBudget
from tiebreak.report.needs import has_machines_and_three_systems
from tiebreak.report.outcomes import NO_SYSTEMS
from tiebreak.report.registry import section
from tiebreak.stats.core.bootstrap import ratio
from tiebreak.stats.core.results import Instances
from tiebreak.stats.core.validation import IntArray
from tiebreak.stats.design.schedules import Schedule, schedule, win_loss_ratio

Numbers = NDArray[np.float64]
DRAWS = 100
SHARES = (0.1, 0.2, 0.3, 0.4, 0.5, 0.6, 0.7, 0.8, 0.9, 1.0)
KINDS: tuple[Schedule, ...] = ("random", "no-repeat", "symmetric")
MIN_CANDIDATES = 3
NOT_COMPLETE = (
    "A curve needs instances on which this machine rater compared the same three systems or more,"
    " each pair in both orders of the texts."
)
SAME_SCORES = "All systems have the same score, so there is no ranking to find."


@dataclass(frozen=True, eq=False)
class _Judged:
    """What a machine answered on the instances of which all ordered pairs are known.

    `results` has the mean result for the text shown first and `weights` what each comparison counts,
    0 on the diagonal; both have the shape (instances, systems, systems). `by_people` has annotators'
    mean result for each system on these instances, NaN without a rating, from `ratings` ratings.
    """

    systems: int
    speaks_of: Instances
    results: Numbers
    weights: Numbers
    by_people: Numbers
    ratings: int

    @property
    def scores(self) -> Numbers:
        """Return wins divided by comparisons, from all of them."""
        wins, losses = self.weights * self.results, self.weights * (1 - self.results)
        points = wins.sum(axis=(0, 2)) + losses.sum(axis=(0, 1))
        return np.asarray(points / (self.weights.sum(axis=(0, 2)) + self.weights.sum(axis=(0, 1))))


@section(
    "comparison_budget",
    "A machine rater's ranking from fewer comparisons",
    question="machines",
    on_request=True,
    asks="How many comparisons does a machine rater need, and in which schedule, to rank systems?",
    offered=has_machines_and_three_systems,
    takes=("seeds",),
)
def comparison_budget_section(criterion: Criterion, seeds: Seeds) -> dict[str, ComparisonBudget]:
    """Return the curves of each machine that compared all pairs of systems in both orders."""
    if criterion.scale.kind != "preference":
        raise InvalidInput("no_systems", NO_SYSTEMS)
    return {
        name: _curves(_judged(criterion, name), seeds.generator(name))
        for name in sorted(criterion.machines)
    }


def _judged(criterion: Criterion, name: str) -> _Judged:
    """Return a machine's answers with a known order; several runs are averaged."""
    a, b = (side[criterion.unit] for side in criterion.systems)
    order = criterion.rows.coded("order").values.astype(str)
    strength = np.sign(criterion.strength)
    is_ours = ~criterion.is_human & criterion.rows.coded("rater").equals(name)
    used = is_ours & ~np.isnan(strength) & criterion.compares[criterion.unit]
    used &= np.isin(order, ["ab", "ba"]) & in_population(criterion)[criterion.unit]
    units = criterion.unit[used]
    entered = np.isin(np.arange(criterion.n_units), units)
    of_units, speaks_of = DesignWeights.of_entering(criterion, entered)
    is_swapped = order[used] == "ba"
    sides = np.where(is_swapped, [b[used], a[used]], [a[used], b[used]])
    results = (1 - np.where(is_swapped, -1, 1) * strength[used]) / 2
    names, codes = np.unique(sides, return_inverse=True)
    _, instance = np.unique(criterion.clusters[units], return_inverse=True)
    cell = (instance, *codes.reshape(sides.shape))
    answers, points, weights = np.zeros((3, len({*instance.tolist()}), len(names), len(names)))
    np.add.at(answers, cell, 1)
    np.add.at(points, cell, results)
    weights[cell] = of_units[units]
    known = np.asarray(answers[:, ~np.eye(len(names), dtype=bool)].all(axis=1))
    means = points[known] / np.maximum(answers[known], 1)
    by_people, ratings = _by_people(criterion, names, np.unique(units[known[instance]]), of_units)
    return _Judged(len(names), speaks_of, means, weights[known], by_people, ratings)


def _by_people(
    criterion: Criterion, names: NDArray[np.str_], units: IntArray, of_units: Numbers
) -> tuple[Numbers, int]:
    """Return annotators' mean result for each system on these units, and the number of ratings."""
    strength = np.sign(criterion.strength)
    used = criterion.is_human & np.isin(criterion.unit, units) & ~np.isnan(strength)
    unit, first_wins = criterion.unit[used], (1 - strength[used]) / 2
    points, counts = np.zeros((2, len(names)))
    for side, results in (("system_a", first_wins), ("system_b", 1 - first_wins)):
        system = np.searchsorted(names, criterion.of_units(side).astype(str)[unit])
        np.add.at(points, system, of_units[unit] * results)
        np.add.at(counts, system, of_units[unit])
    return ratio(points, counts), len(unit)


def _curves(judged: _Judged, rng: np.random.Generator) -> ComparisonBudget:
    empty = ComparisonBudget(
        *(judged.systems, len(judged.results), (), judged.speaks_of),
        system_pairs=int(_parted(judged.by_people).sum()),
        ratings=judged.ratings,
    )
    if judged.systems < MIN_CANDIDATES or not len(judged.results):
        return replace(empty, reason=NOT_COMPLETE)
    full = judged.scores
    if np.ptp(full) < 1e-12:
        return replace(empty, reason=SAME_SCORES)
    curve = tuple(
        _point(judged, full, kind, comparisons, rng)
        for kind in KINDS
        for comparisons in _budgets(judged.systems, kind)
    )
    return replace(empty, curve=curve)


def _budgets(systems: int, kind: Schedule) -> list[int]:
    """Return the numbers of comparisons of one instance, up to all of the schedule's."""
    most = comb(systems, 2) * (1 if kind == "no-repeat" else 2)
    step = 2 if kind == "symmetric" else 1
    return sorted({max(step, round(share * most / step) * step) for share in SHARES})


def _point(
    judged: _Judged, full: Numbers, kind: Schedule, comparisons: int, rng: np.random.Generator
) -> BudgetPoint:
    """Return both measures over draws of a schedule for each instance."""
    drawn = [_drawn(judged, kind, comparisons, rng) for _ in range(DRAWS)]
    low, median, high = _range(_correlation(one, full) for one in drawn)
    point = BudgetPoint(kind, comparisons, median, low, high)
    if not _parted(judged.by_people).any():
        return point
    low, median, high = _range(_accuracy(one, judged.by_people) for one in drawn)
    return replace(point, accuracy=median, accuracy_low=low, accuracy_high=high)


def _range(values: Iterable[float]) -> list[float]:
    quantiles: list[float] = np.quantile([*values], [0.025, 0.5, 0.975]).tolist()
    return quantiles


def _drawn(judged: _Judged, kind: Schedule, comparisons: int, rng: np.random.Generator) -> Numbers:
    """Return the systems' scores from one draw for each instance."""
    systems = judged.systems
    pairs = [schedule(systems, comparisons, kind=kind, rng=rng) for _ in judged.results]
    outcomes, weights = (
        np.concatenate([table[tuple(drawn.T)] for table, drawn in zip(tables, pairs, strict=True)])
        for tables in (judged.results, judged.weights)
    )
    shares = win_loss_ratio(np.concatenate(pairs), outcomes, candidates=systems, weights=weights)
    # A system that was never compared has no score: it stands where nothing is known, at one half.
    return np.array([0.5 if share.n == 0 else share.value for share in shares])


def _correlation(scores: Numbers, full: Numbers) -> float:
    """Return Spearman's ρ with the scores of all comparisons; 0 if the draw parts no systems."""
    a, b = (scipy.stats.rankdata(np.round(one, 12)) for one in (scores, full))
    return float(np.corrcoef(a, b)[0, 1]) if a.std() else 0.0


def _accuracy(scores: Numbers, by_people: Numbers) -> float:
    """Return the share of pairs that annotators separate which have the same order; ties count as half."""
    parted = _parted(by_people)
    same = _orders(scores) * _orders(by_people)
    return float(((1 + same[parted]) / 2).mean())


def _parted(scores: Numbers) -> NDArray[np.bool_]:
    """Return which pairs of systems, each once, have different scores, of which both are known."""
    orders = _orders(scores)
    return np.asarray(np.triu(~np.isnan(orders) & (orders != 0)))


def _orders(scores: Numbers) -> Numbers:
    """Return 1 for each pair whose first system has the higher score, −1 for the lower, else 0."""
    return np.asarray(np.sign(np.round(np.subtract.outer(scores, scores), 12)))
