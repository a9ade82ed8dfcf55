"""How well fewer comparisons of a machine give the ranking that all of them give.

Source: Liusie et al. 2024, section 3 and figure 2. The candidates are the systems on one instance, and
a score is wins divided by comparisons.
"""

from collections import defaultdict
from dataclasses import dataclass, field
from math import comb

import numpy as np
from numpy.typing import NDArray
from scipy.stats import rankdata

from tiebreak.errors import InvalidInput
from tiebreak.report.criterion import Criterion
from tiebreak.report.generators import Seeds
from tiebreak.report.model import BudgetPoint, ComparisonBudget
from tiebreak.report.outcomes import NO_SYSTEMS
from tiebreak.stats.schedules import Schedule, schedule, win_loss_ratio

Numbers = NDArray[np.float64]
DRAWS = 100
SHARES = (0.1, 0.2, 0.3, 0.4, 0.5, 0.6, 0.7, 0.8, 0.9, 1.0)
KINDS: tuple[Schedule, ...] = ("random", "no-repeat", "symmetric")
MIN_CANDIDATES = 3
NOT_COMPLETE = (
    "A curve needs instances on which this machine rater compared the same three systems or more,"
    " each pair in both orders of the texts."
)
SAME_SCORES = "All systems won equally often, so there is no ranking to find."


@dataclass(eq=False)
class _Judged:
    """What a machine answered: the mean result for the text shown first, by instance and ordered pair."""

    systems: list[str]
    results: dict[int, Numbers] = field(default_factory=dict)

    @property
    def complete(self) -> Numbers:
        """Return the results of the instances of which all ordered pairs are known."""
        off = ~np.eye(len(self.systems), dtype=bool)
        kept = [one for one in self.results.values() if not np.isnan(one[off]).any()]
        return np.array(kept).reshape(len(kept), len(self.systems), len(self.systems))


def comparison_budget_section(
    criterion: Criterion, seeds: Seeds, _: int
) -> dict[str, ComparisonBudget]:
    """Return the curves of each machine that compared all pairs of systems in both orders."""
    if criterion.scale.kind != "preference":
        raise InvalidInput("no_systems", NO_SYSTEMS)
    return {
        name: _curves(_judged(criterion, name), seeds.generator(name))
        for name in sorted(criterion.machines)
    }


def _judged(criterion: Criterion, name: str) -> _Judged:
    """Return a machine's answers with a known order; several runs are averaged."""
    a, b = (
        criterion.of_units(side).astype(str)[criterion.unit] for side in ("system_a", "system_b")
    )
    order = criterion.rows.coded("order").values
    strength = np.sign(criterion.strength)
    is_ours = ~criterion.is_human & criterion.rows.coded("rater").equals(name)
    used = is_ours & ~np.isnan(strength) & (a != "") & (b != "") & (a != b)
    used &= np.isin(order.astype(str), ["ab", "ba"])
    rows = np.flatnonzero(used)
    systems = sorted({*a[rows].tolist(), *b[rows].tolist()})
    number = {system: i for i, system in enumerate(systems)}
    results: dict[tuple[int, int, int], list[float]] = defaultdict(list)
    for row in rows.tolist():
        of_a, pair = (1 - strength[row]) / 2, (number[a[row]], number[b[row]])
        instance = int(criterion.clusters[criterion.unit[row]])
        if order[row] == "ab":
            results[instance, *pair].append(of_a)
        else:
            results[instance, *pair[::-1]].append(1 - of_a)
    judged = _Judged(systems)
    for (instance, first, second), values in results.items():
        empty = np.full((len(systems), len(systems)), np.nan)
        judged.results.setdefault(instance, empty)[first, second] = np.mean(values)
    return judged


def _curves(judged: _Judged, rng: np.random.Generator) -> ComparisonBudget:
    table, systems = judged.complete, len(judged.systems)
    if systems < MIN_CANDIDATES or not len(table):
        return ComparisonBudget(systems, len(table), (), reason=NOT_COMPLETE)
    full = _full_scores(table)
    if np.ptp(full) < 1e-12:
        return ComparisonBudget(systems, len(table), (), reason=SAME_SCORES)
    curve = tuple(
        _point(table, full, kind, comparisons, rng)
        for kind in KINDS
        for comparisons in _budgets(systems, kind)
    )
    return ComparisonBudget(systems, len(table), curve)


def _budgets(systems: int, kind: Schedule) -> list[int]:
    """Return the numbers of comparisons of one instance, up to all of the schedule's."""
    most = comb(systems, 2) * (1 if kind == "no-repeat" else 2)
    step = 2 if kind == "symmetric" else 1
    return sorted({max(step, round(share * most / step) * step) for share in SHARES})


def _full_scores(table: Numbers) -> Numbers:
    """Return wins divided by comparisons, from all of them."""
    wins = np.nan_to_num(table).sum(axis=(0, 2)) + np.nan_to_num(_lost(table)).sum(axis=(0, 1))
    return np.asarray(wins / (2 * len(table) * (table.shape[1] - 1)))


def _lost(table: Numbers) -> Numbers:
    return 1 - table


def _point(
    table: Numbers, full: Numbers, kind: Schedule, comparisons: int, rng: np.random.Generator
) -> BudgetPoint:
    """Return the correlation with the full result over draws of a schedule for each instance."""
    values = [_drawn(table, full, kind, comparisons, rng) for _ in range(DRAWS)]
    low, median, high = np.nanquantile(values, [0.025, 0.5, 0.975]).tolist()
    return BudgetPoint(kind, comparisons, median, low, high)


def _drawn(
    table: Numbers, full: Numbers, kind: Schedule, comparisons: int, rng: np.random.Generator
) -> float:
    """Return Spearman's ρ of the scores of one draw; 0 if the draw tells no systems apart."""
    systems = len(full)
    pairs = [schedule(systems, comparisons, kind=kind, rng=rng) for _ in table]
    outcomes = [results[tuple(drawn.T)] for results, drawn in zip(table, pairs, strict=True)]
    shares = win_loss_ratio(np.concatenate(pairs), np.concatenate(outcomes), candidates=systems)
    # A system that was never compared has no score: it stands where nothing is known, at one half.
    scores = np.array([0.5 if share.n == 0 else share.value for share in shares])
    a, b = (rankdata(np.round(one, 12)) for one in (scores, full))
    return float(np.corrcoef(a, b)[0, 1]) if a.std() else 0.0
