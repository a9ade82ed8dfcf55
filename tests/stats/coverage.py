"""How often 95% intervals for new raters and new instances contain the true value.

Run `python -m tests.stats.coverage 1000` for 1,000 studies of each design; it prints a table.

The studies are drawn by code of their own: a rating prefers A with a probability that depends on the
instance, the unit and the rater, and the true value is the mean over all of them.
"""

import sys
from dataclasses import dataclass
from itertools import product

import numpy as np
from scipy.stats import binomtest

from tiebreak.stats import Estimate, two_way_mean, win_rate

SPREAD = 0.15  # standard deviation of the probability between instances; half of it between units
POPULATION = 2_000_000
LOWEST, HIGHEST, HIGHEST_OF_FEW, FEW = 0.925, 0.98, 0.995, 20


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

    def __str__(self) -> str:
        return (
            f"{self.raters} raters, sd {self.differ:g}; {self.instances} × {self.units} units,"
            f" {self.per_unit} each; {self.share:g}; {self.missing:.0%} missing"
            f"{'; unequal loads' if self.is_unequal else ''}"
        )

    @property
    def highest(self) -> float:
        """The most that the coverage may be: with few raters, intervals are wider than needed."""
        return HIGHEST_OF_FEW if self.raters < FEW else HIGHEST


Ratings = tuple[np.ndarray, np.ndarray, np.ndarray]


def study(design: Design, rng: np.random.Generator) -> Ratings:
    """Return for each rating of a study whether A wins, the instance, and the rater."""
    skill = rng.normal(0, design.differ, design.raters)
    load = (
        rng.gamma(1.0, size=design.raters) + 0.05 if design.is_unequal else np.ones(design.raters)
    )
    instance = np.repeat(np.arange(design.instances), design.units)
    leaning = rng.normal(0, SPREAD, design.instances)[instance]
    leaning += rng.normal(0, SPREAD / 2, len(instance))
    n = min(design.per_unit, design.raters)
    # Whoever has the smallest waiting times rates the unit, which favours high loads.
    waits = rng.exponential(size=(len(instance), design.raters)) / load
    rater = np.argsort(waits, axis=1)[:, :n]
    wins = np.clip(design.share + leaning[:, None] + skill[rater], 0, 1)
    is_win = rng.random(wins.shape) < wins
    kept = rng.random(wins.shape) >= design.missing
    return is_win[kept].astype(float), np.repeat(instance, n).reshape(kept.shape)[kept], rater[kept]


def true_rate(design: Design) -> float:
    rng = np.random.default_rng(7)
    sds = (SPREAD, SPREAD / 2, design.differ)
    return float(
        np.clip(design.share + sum(rng.normal(0, sd, POPULATION) for sd in sds), 0, 1).mean()
    )


def interval(ratings: Ratings, rng: np.random.Generator) -> Estimate:
    """Return the win rate of A as the report has it."""
    is_win, instance, rater = ratings
    counts = np.stack([is_win, np.zeros_like(is_win), 1 - is_win], axis=1).astype(int)
    narrow = win_rate(counts, clusters=instance, rng=rng, replicates=200)
    return two_way_mean(is_win, instance, rater, narrow=narrow)


def coverage(design: Design, studies: int) -> tuple[float, int]:
    """Return the share of intervals for new raters that contain the true rate, and their number."""
    truth, held = true_rate(design), []
    for number in range(studies):
        rng = np.random.default_rng([number, design.raters, design.instances, design.units])
        rate = interval(study(design, rng), rng)
        if rate.has_interval and rate.scope.raters == "new":
            held.append(rate.low <= truth <= rate.high)
    return (float(np.mean(held)) if held else float("nan")), len(held)


def misses(share: float, n: int, design: Design) -> bool:
    """Whether the 99% interval of the coverage lies outside of what is allowed."""
    ends = binomtest(round(share * n), n).proportion_ci(0.99)
    return bool(ends.high < LOWEST or ends.low > design.highest)


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
    chosen = np.random.default_rng(0).choice(len(every), 48, replace=False)
    return [every[k] for k in sorted(chosen)]


def main() -> int:
    studies, missed = int(sys.argv[1]), 0
    print("| design | intervals | coverage |  |\n| --- | --- | --- | --- |")
    for design in designs():
        share, n = coverage(design, studies)
        is_missed = n > 0 and misses(share, n, design)
        missed += is_missed
        print(f"| {design} | {n} | {share:.1%} | {'missed' if is_missed else ''} |", flush=True)
    return int(missed > 0)


if __name__ == "__main__":
    sys.exit(main())
