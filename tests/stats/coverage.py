"""How often 95% intervals for new raters contain the true value, and how often a winner is invented.

`python -m tests.stats.coverage 1000` prints tables for 1,000 studies of each design, and 5,000 studies
without any difference between systems; with `--write` it puts them into docs/methods/coverage.md.
`python -m tests.stats.coverage few 2000` does the same for win rates of few instances.

The studies are drawn by code of their own: a rating prefers A with a probability that depends on the
instance, the unit and the rater. The true win rate is the mean over all of them, and the true agreement
that of a very large study in which every unit has its own raters.
"""

import sys
from collections.abc import Iterator
from concurrent.futures import ProcessPoolExecutor
from dataclasses import dataclass
from functools import cache, partial
from itertools import product
from statistics import NormalDist
from typing import NamedTuple

import numpy as np
from scipy.special import ndtr, ndtri
from scipy.stats import binomtest

from tests.paths import ROOT
from tiebreak.stats import (
    Estimate,
    RatedMean,
    agreement,
    agreement_contributions,
    count_matrix,
    hajek_estimate,
    joint_confidence_level,
    krippendorff_alpha,
    logistic_weights,
    rank_sets,
    select,
    two_way_interval,
    two_way_mean,
    win_rate,
)

SPREAD = 0.15  # standard deviation of the probability between instances; half of it between units
POPULATION = 400_000
DATASET = 5  # times as many instances as are drawn
LOWEST, HIGHEST, HIGHEST_OF_FEW, FEW = 0.925, 0.98, 0.995, 20
MAX_FALSE, NULL_STUDIES = 0.059, 5_000
REPLICATES = 200
PAGE = ROOT / "docs" / "methods" / "coverage.md"
# Standard deviations on the probit scale, of instances and of raters, and what is judged of few instances.
OF_INSTANCES, OF_RATERS, RATERS = 0.8, 0.3, 12
LOWEST_OF_FEW, MOST_ON_BOUND = 0.92, 0.05
QUANTILES = [NormalDist().inv_cdf((k + 0.5) / 40) for k in range(40)]


@dataclass(frozen=True)
class Design:
    """A pool of raters that differ by a standard deviation, and how many units they rate."""

    raters: int
    differ: float
    instances: int
    units: int = 1
    per_unit: int = 3
    share: float = 0.5
    missing: float = 0.0
    is_unequal: bool = False
    draw: str = ""
    systems: int = 2

    def __str__(self) -> str:
        return (
            f"{self.raters} raters, sd {self.differ:g}; {self.instances} × {self.units} units,"
            f" {self.per_unit} each; {self.share:g}; {self.missing:.0%} missing"
            f"{'; unequal loads' if self.is_unequal else ''}"
            f"{f'; drawn ({self.draw})' if self.draw else ''}"
            f"{f'; {self.systems} systems' if self.systems > 2 else ''}"
        )

    @property
    def highest(self) -> float:
        """The most that the coverage may be: with few raters, intervals are wider than needed."""
        return HIGHEST_OF_FEW if self.raters < FEW else HIGHEST


class Study(NamedTuple):
    """Ratings: whether A wins, the unit, instance and rater; with probabilities after a draw."""

    is_win: np.ndarray
    unit: np.ndarray
    instance: np.ndarray
    rater: np.ndarray
    inclusion: np.ndarray | None
    truth: float
    alpha: float


def study(design: Design, rng: np.random.Generator) -> Study:
    skill = rng.normal(0, design.differ, design.raters)
    leaning, inclusion, *truths = _instances(design, rng)
    instance = np.repeat(np.arange(design.instances), design.units)
    # Of many systems, one takes part in few comparisons; only these enter its win rate.
    takes_part = rng.random(len(instance)) < 2 / design.systems
    instance = instance[takes_part]
    leaning = leaning[instance] + rng.normal(0, SPREAD / 2, len(instance))
    rater = _raters(design, len(instance), rng)
    wins = np.clip(design.share + leaning[:, None] + skill[rater], 0, 1)
    is_win = rng.random(wins.shape) < wins
    kept = rng.random(wins.shape) >= design.missing
    unit = np.repeat(np.arange(len(instance)), rater.shape[1]).reshape(kept.shape)
    chosen = unit[kept]
    wins = is_win[kept].astype(int)
    return Study(wins, chosen, instance[chosen], rater[kept], inclusion, *truths)


def _instances(
    design: Design, rng: np.random.Generator
) -> tuple[np.ndarray, np.ndarray | None, float, float]:
    """Return how much the rated instances lean to A, their probabilities, true rate and true α.

    After a draw, the truth is that of the dataset. The more separable an instance is, the more it leans,
    so that raters agree more on what is drawn.
    """
    if not design.draw:
        leaning = rng.normal(0, SPREAD, design.instances)
        return leaning, None, true_rate(design), true_alpha(design)
    total = DATASET * design.instances
    delta = rng.random(total)
    leaning = rng.normal(0, SPREAD, total) * 3 * delta**2 + 0.3 * (delta - 0.5)
    drawn = select(
        delta,
        design.instances,
        design=design.draw,
        weights=logistic_weights(delta),
        # Of the most separable, at least thirty controls are needed for the dataset.
        control_share=max(0.2, 30 / design.instances if design.draw == "top" else 0),
        rng=rng,
    )
    chosen = drawn.selected
    return leaning[chosen], drawn.inclusion[chosen], *_of_dataset(design, leaning)


def _of_dataset(design: Design, leaning: np.ndarray) -> tuple[float, float]:
    """Return the win rate and α of a dataset, over all units of its instances and all raters."""
    quantiles = np.array(QUANTILES)
    of_units = design.share + leaning[:, None] + SPREAD / 2 * quantiles
    skill = design.differ * quantiles
    share = np.clip(of_units[..., None] + skill, 0, 1).mean(axis=-1)
    rate = float(share.mean())
    return rate, 1 - float((share * (1 - share)).mean()) / (rate * (1 - rate))


def _raters(design: Design, units: int, rng: np.random.Generator) -> np.ndarray:
    """Return the raters of each unit; whoever has the smallest waiting times rates it."""
    load = np.ones(design.raters)
    if design.is_unequal:
        load = rng.gamma(1.0, size=design.raters) + 0.05
    waits = rng.exponential(size=(units, design.raters)) / load
    return np.argsort(waits, axis=1)[:, : min(design.per_unit, design.raters)]


@cache
def true_rate(design: Design) -> float:
    rng = np.random.default_rng(7)
    sds = (SPREAD, SPREAD / 2, design.differ)
    sums = design.share + sum(rng.normal(0, sd, POPULATION) for sd in sds)
    return float(np.clip(sums, 0, 1).mean())


@cache
def true_alpha(design: Design) -> float:
    """Return α of a study so large that its error does not matter; each unit has its own raters."""
    rng, n = np.random.default_rng(8), POPULATION // 2
    leaning = rng.normal(0, SPREAD, n) + rng.normal(0, SPREAD / 2, n)
    skill = rng.normal(0, design.differ, (n, 2))
    label = rng.random((n, 2)) < np.clip(design.share + leaning[:, None] + skill, 0, 1)
    counts = np.stack([(~label).sum(axis=1), label.sum(axis=1)], axis=1)
    return krippendorff_alpha(counts).value


def rate_interval(ratings: Study, rng: np.random.Generator) -> Estimate:
    """Return the win rate of A as the report has it."""
    is_win, _, instance, rater, inclusion, *_ = ratings
    if inclusion is None:
        counts = np.stack([is_win, np.zeros_like(is_win), 1 - is_win], axis=1)
        narrow = win_rate(counts, clusters=instance, rng=rng, replicates=REPLICATES)
        return two_way_mean(is_win, instance, rater, narrow=narrow)
    present = np.unique(instance)
    sizes, wins = (np.bincount(instance, weights)[present] for weights in (None, is_win))
    narrow = hajek_estimate(wins, inclusion[present], sizes=sizes)
    return two_way_mean(is_win, instance, rater, narrow=narrow, weights=1 / inclusion[instance])


def alpha_interval(
    ratings: Study, rng: np.random.Generator, *, is_weighted: bool = True
) -> Estimate:
    """Return Krippendorff's α as the report has it."""
    is_win, unit, instance, rater, inclusion, *_ = ratings
    units, unit = np.unique(unit, return_inverse=True)
    counts = count_matrix(unit, is_win, n_units=len(units), n_labels=2)
    clusters = np.zeros(len(units), dtype=int)
    clusters[unit] = instance
    weights = np.ones(len(units))
    if inclusion is not None and is_weighted:
        weights = 1 / inclusion[clusters]
    every = agreement(counts, weights=weights, clusters=clusters, rng=rng, replicates=REPLICATES)
    narrow = every.krippendorff_alpha
    by_name = agreement_contributions(unit, is_win, n_units=len(units), n_labels=2, weights=weights)
    ours = by_name["krippendorff_alpha"]
    kept = ~np.isnan(ours)
    return two_way_interval(
        ours[kept],
        instance[kept],
        rater[kept],
        narrow=narrow,
        weights=weights[unit][kept],
        bounds=(-1, 1),
    )


class Coverage(NamedTuple):
    """How many studies had an interval for new raters, and in how many it held the true value."""

    intervals: int
    held: int

    @property
    def share(self) -> float:
        return self.held / self.intervals if self.intervals else float("nan")

    def misses(self, design: Design) -> bool:
        """Whether the 99% interval of the coverage lies outside of what is allowed."""
        if not self.intervals:
            return False
        ends = binomtest(self.held, self.intervals).proportion_ci(0.99)
        return bool(ends.high < LOWEST or ends.low > design.highest)

    def __str__(self) -> str:
        return f"{self.share:.1%} of {self.intervals:,}" if self.intervals else "–"


def coverage(design: Design, studies: int) -> tuple[Coverage, Coverage]:
    """Return the coverage of the win rate and of α."""
    of_rate, of_alpha = [], []
    for number in range(studies):
        rng = np.random.default_rng([number, design.raters, design.instances, design.units])
        ratings = study(design, rng)
        of_rate += _holds(rate_interval(ratings, rng), ratings.truth)
        if design.per_unit > 1:
            of_alpha += _holds(alpha_interval(ratings, rng), ratings.alpha)
    return Coverage(len(of_rate), sum(of_rate)), Coverage(len(of_alpha), sum(of_alpha))


def _holds(estimate: Estimate, truth: float) -> list[bool]:
    if not estimate.has_interval or estimate.scope.raters != "new":
        return []
    return [estimate.low <= truth <= estimate.high]


def designs() -> list[Design]:
    """Return a fraction of all combinations, in which every value of every factor occurs."""
    factors = (
        (3, 6, 12, 40, 200),
        (0.0, 0.1, 0.2),
        (10, 20, 30, 100, 400),
        (1, 5),
        (1, 3, 5),
        (0.2, 0.5, 0.8),
        (0.0, 0.1),
        (False, True),
    )
    every = [Design(*values) for values in product(*factors)]
    chosen = np.random.default_rng(0).choice(len(every), 36, replace=False)
    drawn = product(("uniform", "proportional", "strata", "top"), ((100, 0.1), (400, 0.2)))
    return [
        *(every[k] for k in sorted(chosen)),
        *(Design(40, sd, n, draw=draw) for draw, (n, sd) in drawn),
        *(Design(12, 0.1, n, units=5, systems=s) for n, s in product((30, 100), (4, 10))),
    ]


def finds_a_winner(number: int, instances: int, systems: int) -> bool:
    """Whether a study of equally good systems names one that wins more often than it loses."""
    means = rated_systems(number, instances, np.zeros(systems))
    # The rates of two systems add up to 1.
    level = joint_confidence_level(means if systems > 2 else means[:1])
    return any(_is_ahead(mean, level) for mean in means)


def misses_a_rank(number: int, instances: int, qualities: tuple[float, ...]) -> bool:
    """Whether any set of ranks misses the true one, 1 plus the number of better systems."""
    means = rated_systems(number, instances, np.array(qualities))
    sets = rank_sets({str(k): mean for k, mean in enumerate(means)})
    true = [1 + sum(other > one for other in qualities) for one in qualities]
    # Of equally good systems, each may have any rank that they share.
    last = [sum(other >= one for other in qualities) for one in qualities]
    return any(
        one.best > first or one.worst < end
        for one, first, end in zip(sets.values(), true, last, strict=True)
    )


def rated_systems(number: int, instances: int, qualities: np.ndarray) -> list[RatedMean]:
    """Return the ratings of every system; qualities add to the probability of a win."""
    systems = len(qualities)
    rng = np.random.default_rng([number, instances, systems])
    per_instance, per_unit, raters = systems // 2, 3, 12
    instance = np.repeat(np.arange(instances), per_instance)
    # Every instance compares each system once, with a random other one.
    pairs = np.array([rng.permutation(systems) for _ in range(instances)]).reshape(-1, 2)
    leaning = rng.normal(0, SPREAD, (instances, systems)) + qualities
    skill = rng.normal(0, 0.1, (raters, systems))
    rater = np.argsort(rng.random((len(pairs), raters)), axis=1)[:, :per_unit]
    first, second = pairs.T
    ahead = (leaning[instance, first] - leaning[instance, second])[:, None]
    ahead = ahead + skill[rater, first[:, None]] - skill[rater, second[:, None]]
    is_win = (rng.random(ahead.shape) < np.clip(0.5 + ahead, 0, 1)).astype(int)
    return [RatedMean(*_of_system(s, pairs, is_win, instance, rater)) for s in range(systems)]


def _of_system(
    system: int, pairs: np.ndarray, is_win: np.ndarray, instance: np.ndarray, rater: np.ndarray
) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    as_first, as_second = pairs[:, 0] == system, pairs[:, 1] == system
    plays = as_first | as_second
    values = np.where(as_first[:, None], is_win, 1 - is_win)[plays].ravel()
    return values, np.repeat(instance[plays], is_win.shape[1]), rater[plays].ravel()


def _is_ahead(mean: RatedMean, level: float) -> bool:
    """Whether the interval for new raters is above ½."""
    value = float(np.mean(mean.values))
    point = Estimate(value, value, value)
    rate = two_way_mean(
        mean.values, mean.instances, mean.raters, narrow=point, confidence_level=level
    )
    return rate.scope.raters == "new" and rate.low > 0.5


def false_findings(
    pool: ProcessPoolExecutor, studies: int, instances: int, systems: int
) -> Coverage:
    find = partial(finds_a_winner, instances=instances, systems=systems)
    return Coverage(studies, sum(pool.map(find, range(studies), chunksize=100)))


class FewCoverage(NamedTuple):
    """Shares of intervals that held, for these raters and for new ones, and of samples on a bound."""

    these: float
    new: float
    on_bound: float

    @property
    def is_judged(self) -> bool:
        return self.on_bound <= MOST_ON_BOUND

    @property
    def misses(self) -> bool:
        is_held = (
            LOWEST_OF_FEW <= self.these <= HIGHEST and LOWEST_OF_FEW <= self.new <= HIGHEST_OF_FEW
        )
        return self.is_judged and not is_held

    def __str__(self) -> str:
        mark = "" if self.is_judged else " ○"
        return f"{self.these:.1%}{mark} | {self.new:.1%}{mark}"


def few_coverage(instances: int, rate: float, per_unit: int, studies: int) -> FewCoverage:
    """Return the coverage of a win rate that raters and instances vary about on the probit scale."""
    rng = np.random.default_rng([instances, round(100 * rate), per_unit])
    instance = np.repeat(np.arange(instances), per_unit)
    centre = float(ndtri(rate)) * (1 + OF_INSTANCES**2 + OF_RATERS**2) ** 0.5
    found = []
    for _ in range(studies):
        leaning = centre + OF_RATERS * rng.standard_normal(RATERS)
        rater = np.argsort(rng.random((instances, RATERS)), axis=1)[:, :per_unit].ravel()
        level = OF_INSTANCES * rng.standard_normal(instances)[instance] + leaning[rater]
        is_win = (rng.random(len(instance)) < ndtr(level)).astype(int)
        wins = np.bincount(instance, is_win).astype(int)
        counts = np.stack([wins, 0 * wins, per_unit - wins], axis=1)
        narrow = win_rate(counts, rng=rng, replicates=1)
        wide = two_way_mean(is_win, instance, rater, narrow=narrow)
        of_these = ndtr(leaning / (1 + OF_INSTANCES**2) ** 0.5).mean()
        held = narrow.low <= of_these <= narrow.high, wide.low <= rate <= wide.high
        assert wide.scope.raters == "new"
        found.append((*held, narrow.value in (0, 1)))
    return FewCoverage(*np.mean(found, axis=0).tolist())


def few_table(studies: int) -> Iterator[tuple[str, bool]]:
    """Yield the lines of the table of few instances, and whether a line misses what is allowed."""
    yield (
        "| true rate | instances | 1 rating: these raters | new | 3 ratings: these | new |  |",
        False,
    )
    yield "| --- | --- | --- | --- | --- | --- | --- |", False
    for rate, instances in product((0.5, 0.8, 0.93), (15, 20, 30, 50)):
        both = [few_coverage(instances, rate, per_unit, studies) for per_unit in (1, 3)]
        is_missed = any(one.misses for one in both)
        cells = " | ".join(map(str, both))
        yield f"| {rate} | {instances} | {cells} | {'missed' if is_missed else ''} |", is_missed


def tables(studies: int, null_studies: int) -> Iterator[tuple[str, bool]]:
    """Yield the lines of both tables, and whether a line misses what is allowed."""
    yield "| design | win rate | α |  |", False
    yield "| --- | --- | --- | --- |", False
    with ProcessPoolExecutor() as pool:
        every = designs()
        for design, both in zip(
            every, pool.map(partial(coverage, studies=studies), every), strict=True
        ):
            is_missed = any(one.misses(design) for one in both)
            of_rate, of_alpha = both
            mark = "missed" if is_missed else ""
            yield f"| {design} | {of_rate} | {of_alpha} | {mark} |", is_missed
        yield "", False
        yield "| equally good systems | instances | studies in which one is named |  |", False
        yield "| --- | --- | --- | --- |", False
        for systems, instances in product((2, 10), (10, 20, 50, 200)):
            result = false_findings(pool, null_studies, instances, systems)
            ends = binomtest(result.held, null_studies).proportion_ci(0.99)
            is_missed = bool(ends.low > MAX_FALSE)
            mark = "missed" if is_missed else f"at most {ends.high:.1%} (99%)"
            yield f"| {systems} | {instances} | {result} | {mark} |", is_missed


def write(lines: list[str], name: str) -> None:
    """Put the tables into the page, between the two marks with a name."""
    start, end = f"<!-- {name} -->", f"<!-- end of {name} -->"
    before, rest = PAGE.read_text(encoding="utf-8").split(start)
    _, after = rest.split(end)
    text = "\n".join([f"{before}{start}", "", *lines, "", f"{end}{after}"])
    PAGE.write_text(text, encoding="utf-8")


def main() -> int:
    numbers = [int(word) for word in sys.argv if word.isdecimal()]
    is_few, studies, missed, lines = "few" in sys.argv, numbers[0], 0, []
    null_studies = NULL_STUDIES if studies >= 1000 else studies
    for line, is_missed in few_table(studies) if is_few else tables(studies, null_studies):
        print(line, flush=True)
        lines.append(line)
        missed += is_missed
    if "--write" in sys.argv:
        write(lines, "few" if is_few else "coverage")
    return int(missed > 0)


if __name__ == "__main__":
    sys.exit(main())
