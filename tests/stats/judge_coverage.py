"""How often the report's intervals recover a machine rater's agreement with people and its biases.

`python -m tests.stats.judge_coverage 300` prints the share of intervals that hold the true value in 300
studies of each design; with `--write` it puts the table into docs/methods/coverage.md.

The studies are drawn by code of their own, and pass through the report's code as rows of a file. In a
unit, one text is the better one and one is longer. Annotators find the better one with a probability
that depends on the instance and the annotator; the judge with another one, to which its preferences for
the longer and the first text are added. Both know less of some instances than of others, and the judge
ties more on those. The truths are those of new instances, this judge and these annotators.
"""

import sys
from collections.abc import Iterator
from concurrent.futures import ProcessPoolExecutor
from dataclasses import dataclass, replace
from functools import cache, partial
from typing import NamedTuple

import numpy as np
from scipy.stats import binomtest

from tests.paths import ROOT
from tiebreak.formats import RatingTable
from tiebreak.report.criterion import read_criteria
from tiebreak.report.generators import Seeds
from tiebreak.report.sections.raters.bias import bias_section
from tiebreak.report.sections.raters.strata import all_units, strata_section
from tiebreak.stats import Estimate

SCALE = {"preference": "preference:tie"}
ANNOTATORS_FIND = 0.75  # how often annotators prefer the better text, on average
SPREAD = 0.1  # half the range of that probability over instances, of annotators and of the judge
POPULATION = 100_000
REPLICATES = 1_000
# The judge's true biases are the same in all studies, so they are worth a larger population.
FACTOR = 20
LOWEST, HIGHEST = 0.93, 0.97
PAGE = ROOT / "docs" / "methods" / "coverage.md"
START, END = "<!-- judges -->", "<!-- end of judges -->"
COLUMNS = {
    "majority": "agreement with the majority",
    "single": "with one annotator",
    "position": "position bias",
    "length": "length bias",
}


@dataclass(frozen=True)
class Design:
    """A judge's accuracy and biases, and the size of the study.

    `accuracy` is how often the judge prefers the better text, `position` is added to the probability
    of the first and taken from that of the second, and half of `length` to that of the longer text.
    `alike` is the share of units that the judge decides by one draw in both orders. `better_longer` is
    the share of units whose better text is longer.
    """

    accuracy: float
    position: float = 0.0
    length: float = 0.0
    instances: int = 200
    units: int = 1
    orders: int = 2
    raters: int = 12
    per_unit: int = 3
    differ: float = 0.1
    ties: float = 0.1
    alike: float = 0.8
    better_longer: float = 0.5

    def __str__(self) -> str:
        orders = "both orders" if self.orders == 2 else "one order"
        longer = f"; better text longer in {self.better_longer:.0%}"
        return (
            f"accuracy {self.accuracy:g}, position {self.position:+g}, length {self.length:+g};"
            f" {self.instances} × {self.units} units, {orders}; {self.ties:.0%} ties"
            f"{longer if self.better_longer != 0.5 else ''}"
        )


class Drawn(NamedTuple):
    """Units of new instances: signs of the sides, and preferences, −1 for the first text, 0, or +1.

    `longer` has the shape (units,), `humans` and `raters` (units, per unit), `verdicts` and `first`
    (units, orders): in the first of two orders, system A is shown first.
    """

    instance: np.ndarray
    longer: np.ndarray
    humans: np.ndarray
    raters: np.ndarray
    verdicts: np.ndarray
    first: np.ndarray


def draw(design: Design, skill: np.ndarray, instances: int, rng: np.random.Generator) -> Drawn:
    instance = np.repeat(np.arange(instances), design.units)
    n = len(instance)
    ease, judge_ease = rng.uniform(-1, 1, (2, instances))[:, instance]
    better = rng.choice([-1, 1], n)
    # Whether the better text is longer differs between instances, too.
    tendency = np.clip(design.better_longer + rng.uniform(-0.3, 0.3, instances), 0, 1)[instance]
    longer = better * np.where(rng.random(n) < tendency, 1, -1)
    raters = np.argsort(rng.random((n, len(skill))), axis=1)[:, : design.per_unit]
    finds = np.clip(ANNOTATORS_FIND + SPREAD * ease[:, None] + skill[raters], 0, 1)
    humans = better[:, None] * np.where(rng.random(finds.shape) < finds, 1, -1)
    first = np.array([-1, 1]) * np.ones((n, 1), dtype=int)
    if design.orders == 1:
        first = rng.choice([-1, 1], (n, 1))
    by_content = (design.accuracy - 0.5 + SPREAD * judge_ease) * better + design.length / 2 * longer
    prefers_b = 0.5 + by_content[:, None] + design.position * first
    luck = np.where(rng.random((n, 1)) < design.alike, rng.random((n, 1)), rng.random(first.shape))
    verdicts = np.where(luck < prefers_b, 1, -1)
    is_tie = rng.random((n, 1)) < design.ties * (1 - judge_ease[:, None])
    return Drawn(instance, longer, humans, raters, np.where(is_tie, 0, verdicts), first)


def skills(design: Design, rng: np.random.Generator) -> np.ndarray:
    return rng.normal(0, design.differ, design.raters)


def population(design: Design, skill: np.ndarray, seed: int, factor: int = 1) -> Drawn:
    rng = np.random.default_rng([seed, 1])
    return draw(design, skill, factor * POPULATION // design.units, rng)


def shared(drawn: Drawn) -> tuple[float, float]:
    """Return how often the judge's majority is that of the annotators, or one annotator's answer.

    Where several labels are the most frequent, each is the majority with the same probability.
    """
    of_humans, of_judge = _modes(drawn.humans), _modes(drawn.verdicts)
    of_one = np.stack([(drawn.humans == label).mean(axis=1) for label in (-1, 0, 1)])
    majority, single = ((side * of_judge).sum(axis=0).mean() for side in (of_humans, of_one))
    return float(majority), float(single)


def _modes(labels: np.ndarray) -> np.ndarray:
    """Return the probability of each label to be the majority, with the shape (3, units)."""
    numbers = np.stack([(labels == label).sum(axis=1) for label in (-1, 0, 1)])
    is_mode = numbers == numbers.max(axis=0)
    return np.asarray(is_mode / is_mode.sum(axis=0))


@cache
def true_biases(design: Design) -> tuple[float, float]:
    """Return position and length bias; annotators do not enter."""
    drawn = population(design, np.zeros(design.raters), 5, FACTOR)
    decided = drawn.verdicts != 0
    first = float((drawn.verdicts == drawn.first)[decided].mean())
    longer = float((drawn.verdicts == drawn.longer[:, None])[decided].mean())
    return first - 0.5, 2 * longer - 1


def rows(drawn: Drawn) -> Iterator[dict[str, object]]:
    """Yield the ratings as rows of a file, with the longer text twice as long."""
    chars = {-1: (200, 100), 1: (100, 200)}
    for unit, instance in enumerate(drawn.instance.tolist()):
        a, b = chars[int(drawn.longer[unit])]
        texts = {"system_a": "a", "system_b": "b", "chars_a": a, "chars_b": b}
        both = {"unit": f"u{unit}", "instance": f"i{instance}", "criterion": "preference", **texts}
        for rater, label in zip(drawn.raters[unit], drawn.humans[unit], strict=True):
            yield {**both, "rater": f"r{rater}", "kind": "human", "label": int(label)}
        for first, label in zip(drawn.first[unit], drawn.verdicts[unit], strict=True):
            order = {"order": "ab" if first < 0 else "ba", "run": 1}
            yield {**both, **order, "rater": "judge", "kind": "machine", "label": int(label)}


def reported(drawn: Drawn) -> dict[str, Estimate]:
    """Return the intervals of the report."""
    (criterion,), _ = read_criteria(RatingTable.from_rows(rows(drawn)), SCALE, None)
    everything = [all_units(criterion.n_units)]
    every = strata_section(criterion, Seeds(0), REPLICATES, everything)[0].machines["judge"]
    bias = bias_section(criterion).machines["judge"]
    return {
        "majority": every.classification.accuracy,
        "single": every.single_human_machine.percentage_agreement,
        "position": bias.position,
        "length": bias.length,
    }


def holds(design: Design, number: int) -> dict[str, bool | None]:
    """Return for each interval of one study whether it has the truth; None without an interval."""
    rng = np.random.default_rng([number, design.instances, design.units])
    skill = skills(design, rng)
    estimates = reported(draw(design, skill, design.instances, rng))
    of_majority, of_single = shared(population(design, skill, number))
    position, length = true_biases(design)
    truths = {"majority": of_majority, "single": of_single, "position": position, "length": length}
    return {
        name: one.low <= truths[name] <= one.high if one.has_interval else None
        for name, one in estimates.items()
    }


class Coverage(NamedTuple):
    """How many studies had an interval, and in how many it held the true value."""

    intervals: int
    held: int

    @property
    def misses(self) -> bool:
        """Whether the 99% binomial interval of the coverage lies outside of 93 to 97%."""
        ends = binomtest(self.held, self.intervals).proportion_ci(0.99)
        return bool(ends.high < LOWEST or ends.low > HIGHEST)

    def __str__(self) -> str:
        return f"{self.held / self.intervals:.1%}"


def coverage(
    design: Design, studies: int, pool: ProcessPoolExecutor | None = None
) -> dict[str, Coverage]:
    """Return the coverage of each interval."""
    run = partial(holds, design)
    every = pool.map(run, range(studies), chunksize=10) if pool else map(run, range(studies))
    answers = list(every)
    known = {name: [one[name] for one in answers if one[name] is not None] for name in COLUMNS}
    return {name: Coverage(len(held), sum(map(bool, held))) for name, held in known.items()}


def designs() -> list[Design]:
    biased = Design(0.75, 0.1, 0.1)
    return [
        Design(0.9, ties=0.0),
        Design(0.8),
        biased,
        replace(biased, orders=1),
        replace(biased, better_longer=0.65),
        replace(biased, instances=100, units=5),
        replace(biased, instances=100, units=5, orders=1),
        Design(0.65, 0.15, 0.2, instances=400, ties=0.2),
        Design(0.55, -0.2, 0.3, instances=100),
    ]


def table(studies: int) -> Iterator[str]:
    yield f"| judge and study | {' | '.join(COLUMNS.values())} |  |"
    yield f"| --- |{' --- |' * (len(COLUMNS) + 1)}"
    with ProcessPoolExecutor() as pool:
        for design in designs():
            by_name = coverage(design, studies, pool)
            cells = " | ".join(str(by_name[name]) for name in COLUMNS)
            mark = "missed" if any(one.misses for one in by_name.values()) else ""
            yield f"| {design} | {cells} | {mark} |"


def main() -> int:
    lines = []
    for line in table(int(sys.argv[1])):
        print(line, flush=True)
        lines.append(line)
    if "--write" in sys.argv:
        before, rest = PAGE.read_text(encoding="utf-8").split(START)
        text = "\n".join([f"{before}{START}", "", *lines, "", f"{END}{rest.split(END)[1]}"])
        PAGE.write_text(text, encoding="utf-8")
    return int(any("missed" in line for line in lines))


if __name__ == "__main__":
    sys.exit(main())
