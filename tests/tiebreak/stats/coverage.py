"""Simulate how often 95% intervals contain the true value.

Run `python -m tests.tiebreak.stats.coverage 1500` for 1,500 studies of each design.

Studies are drawn from one population, whose statistics are known from a very large sample.
"""

import sys
from collections import defaultdict
from collections.abc import Iterator, Mapping
from dataclasses import dataclass

import numpy as np

from tiebreak.stats import Comparison, Estimate, Patterns, generator_for, win_rate
from tiebreak.stats.core.bootstrap import estimate_each, on_columns
from tiebreak.stats.machines.comparison_statistics import comparison_statistics
from tiebreak.stats.raters.agreement import agreement_statistics
from tiebreak.stats.raters.rating_sets import RatingSets, summarise_rating_sets

LABELS = 3
POPULATION = 400_000
REPLICATES = 1000


@dataclass(frozen=True)
class Design:
    """Numbers of instances, of units per instance, and of human ratings per unit in a study."""

    instances: int
    units: int = 1
    raters: int = 4
    level: str = "ordinal"

    def __str__(self) -> str:
        return f"{self.instances} × {self.units}"


def draw(design: Design, rng: np.random.Generator) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """Draw human counts, machine counts and instances; units of an instance are alike."""
    instance = np.repeat(np.arange(design.instances), design.units)
    leaning = rng.dirichlet([1.2, 0.8, 1.5], size=design.instances)[instance]
    shares = 0.7 * leaning + 0.3 * rng.dirichlet([1.0] * LABELS, size=len(instance))
    humans = rng.multinomial(design.raters, shares)
    machine = rng.multinomial(1, 0.6 * shares + 0.4 * np.array([0.2, 0.3, 0.5]))
    return humans, machine, instance


def estimates(design: Design, rng: np.random.Generator, replicates: int) -> dict[str, Estimate]:
    humans, machine, instance = draw(design, rng)
    pair = Comparison.of(humans, machine, clusters=instance)
    among = agreement_statistics(LABELS, level=design.level, values=None, k=LABELS)
    groups = comparison_statistics(pair, level=design.level)
    kept = ("human_machine", "single_human_machine", "delta", "classification")
    statistics = {f"human_human {n}": on_columns(s, pair.humans) for n, s in among.items()}
    statistics |= {f"{g} {name}": s for g in kept for name, s in groups[g].items()}
    options = {"rng": rng, "replicates": replicates}
    by_name = estimate_each(statistics, pair.patterns, **options)
    patterns = Patterns.of(humans, clusters=instance)
    by_name["win_rate"] = win_rate(patterns, **options)
    sets = RatingSets(_sets(humans), instance, 1, 0)
    summary = summarise_rating_sets(sets, **options)
    for name in ("consistency", "zero", "perfect", "preference_strength"):
        by_name[f"rating_sets {name}"] = getattr(summary, name)
    return by_name


def _sets(humans: np.ndarray) -> np.ndarray:
    """Return the ratings of each unit as if they were the rating set of one rater."""
    return np.column_stack([humans[:, 0], humans[:, 2], humans.sum(axis=1)])


def truth(design: Design) -> dict[str, float]:
    large = Design(POPULATION, design.units, design.raters, design.level)
    by_name = estimates(large, np.random.default_rng(99), replicates=0)
    return {name: estimate.value for name, estimate in by_name.items() if estimate.is_defined}


def coverage(design: Design, *, studies: int, seed: int = 0) -> dict[str, float]:
    """Return the share of intervals that contain the true value.

    It is NaN if 5% or more of the simulated studies have no interval.
    """
    true, hits = truth(design), defaultdict(list)
    for by_name in _studies(design, studies, seed):
        for name, value in true.items():
            estimate = by_name[name]
            hits[name].append(
                np.nan if np.isnan(estimate.low) else estimate.low <= value <= estimate.high
            )
    return {
        name: np.nanmean(held) if np.isnan(held).mean() < 0.05 else np.nan
        for name, held in hits.items()
    }


def _studies(design: Design, studies: int, seed: int) -> Iterator[Mapping[str, Estimate]]:
    for study in range(studies):
        yield estimates(design, generator_for(seed, str(design), str(study)), REPLICATES)


def main() -> int:
    designs = [
        Design(*shape) for shape in ((20,), (50,), (100,), (200,), (1000,), (40, 5), (200, 5))
    ]
    table = {str(design): coverage(design, studies=int(sys.argv[1])) for design in designs}
    print("| statistic |", " | ".join(table), "|")
    for name in table[str(designs[0])]:
        cells = [f"{100 * column.get(name, np.nan):.1f}" for column in table.values()]
        print(f"| {name} |", " | ".join(cells), "|")
    return 0


if __name__ == "__main__":
    sys.exit(main())
