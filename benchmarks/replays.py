"""Replays of published studies under other designs: `make bench-replays`.

Each study is a finite population: its items with all their human ratings. A replay draws items and
ratings by a design, estimates the win rate with the library, and is compared with the win rate of all
ratings. Intervals are for the dataset and its raters.
"""

import json
import os
import sys
from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from pathlib import Path

import numpy as np
from numpy.typing import NDArray

from benchmarks.harness import RESULTS
from tiebreak.errors import InvalidInput
from tiebreak.formats.readers import convert
from tiebreak.formats.readers.converted import Converted
from tiebreak.similarity import align, similarity
from tiebreak.stats import (
    Estimate,
    active_design,
    bounded_densities,
    cross_fitted_slopes,
    floored_weights,
    hajek_estimate,
    pooled_doubts,
    select,
    separability,
)
from tiebreak.stats.design.pilot_gains import mixed_gain, stack_gain

Numbers = NDArray[np.float64]
Counts = NDArray[np.int64]

DATA = Path(os.environ.get("TIEBREAK_DATA", "../shared/data"))
REPLICATES, SEED = 300, 0
FLOOR = 0.5
PILOT_SHARE, PILOT_RATINGS = 0.2, 2
REPEATED_SHARE = 0.15
ACTIVE_PILOT_SHARE = 1 / 3


@dataclass(frozen=True, eq=False)
class Population:
    """The items of a study: human ratings (items × ratings), machine labels, δ and sources."""

    name: str
    values: Numbers
    judges: Numbers
    delta: Numbers
    sources: Counts
    budget: int

    @property
    def truth(self) -> float:
        return float(self.values.mean())

    @property
    def max_ratings(self) -> int:
        return int(self.values.shape[1])

    def by_separability(self) -> Numbers:
        return floored_weights(self.delta, floor=FLOOR)

    def by_doubt(self) -> Numbers:
        """Return most where the machines' mean label is a tie, and least where all agree."""
        return floored_weights(1 - np.abs(2 * self.judges.mean(axis=1) - 1), floor=FLOOR)

    def by_bounded_doubt(self) -> Numbers:
        """Return weights by the same doubts, none below 0.9 times that of a uniform draw."""
        return bounded_densities(pooled_doubts(self.judges))


@dataclass(frozen=True, eq=False)
class Sample:
    """Drawn items with their inclusion probabilities and numbers of ratings."""

    items: Counts
    inclusion: Numbers
    ratings: Counts


def population(name: str, files: Sequence[Path], format_name: str, budget: int) -> Population:
    """Read a published study; ½ stands for ties and for machine answers that could not be read."""
    study = convert(format_name, list(files))
    human: dict[str, list[float]] = {}
    machines: dict[str, dict[str, list[float]]] = {}
    rows = {row["unit"]: row for row in study.ratings}
    for row in study.ratings:
        score = (1 - (row.get("label") or 0)) / 2
        if row.get("kind") == "machine":
            machines.setdefault(row["rater"], {}).setdefault(row["unit"], []).append(score)
        else:
            human.setdefault(row["unit"], []).append(score)
    units = sorted(human)
    judges = [[np.mean(of.get(unit, [0.5])) for of in machines.values()] for unit in units]
    sources = np.unique([rows[unit]["instance"] for unit in units], return_inverse=True)[1]
    delta = np.array(_separabilities(study, [rows[unit] for unit in units]))
    return Population(
        name,
        np.array([human[unit] for unit in units]),
        np.array(judges).reshape(len(units), len(machines)),
        delta,
        sources,
        budget,
    )


def _separabilities(study: Converted, rows: Sequence[dict[str, object]]) -> list[float]:
    """Return δ by ROUGE-1, with one text per system 1 minus their similarity."""
    texts: dict[tuple[object, object], dict[object, str]] = {}
    for one in study.generations:
        texts.setdefault((one.instance, one.system), {})[one.sample_index] = one.text
    measure = similarity("rouge1")
    is_sampled = all(len(of) > 2 for of in texts.values())
    deltas = []
    for row in rows:
        sides = [texts.get((row["instance"], row[f"system_{side}"]), {}) for side in "ab"]
        if not is_sampled:
            sides = [
                {0: of.get(row.get(f"sample_{s}", 0), "")}
                for s, of in zip("ab", sides, strict=True)
            ]
        made = align(list(sides[0].values()), list(sides[1].values()), measure)
        if is_sampled:
            deltas.append(separability(made.self_a, made.self_b, made.cross).delta)
        else:
            deltas.append(1 - float(made.cross.mean()))
    return deltas


def drawn(
    study: Population, rng: np.random.Generator, ratings: Counts, weights: Numbers | None = None
) -> Sample:
    """Draw as many items as `ratings` has entries, uniformly or in proportion to weights."""
    n, total = len(ratings), len(study.values)
    if weights is None:
        items, inclusion = rng.choice(total, n, replace=False), np.full(n, n / total)
    else:
        draw = select(weights, n, design="proportional", weights=weights, rng=rng, control_share=0)
        items = rng.permutation(np.flatnonzero(draw.selected))
        inclusion = draw.inclusion[items]
    return Sample(items, inclusion, ratings)


def scores_of(study: Population, rng: np.random.Generator, sample: Sample) -> Numbers:
    """Return each drawn item's mean over ratings that are drawn from all of its ratings."""
    shuffled = rng.permuted(study.values[sample.items], axis=1)
    sums = np.cumsum(shuffled, axis=1)[np.arange(len(sample.items)), sample.ratings - 1]
    return np.asarray(sums / sample.ratings)


def estimated(study: Population, sample: Sample, y: Numbers, *, judges: Numbers) -> Estimate:
    """Return the win rate of the dataset, with the help of machines if there are any."""
    if judges.shape[1]:
        f = (judges - judges.mean(axis=0))[sample.items]
        weights, sources = 1 / sample.inclusion, study.sources[sample.items]
        corrected = y - (f * cross_fitted_slopes(y, f, weights=weights, clusters=sources)).sum(
            axis=1
        )
        with_machines = hajek_estimate(corrected, sample.inclusion)
        if with_machines.has_interval:
            return with_machines
    # Where a judge is right on all items of a sample, nothing is known of its error.
    return hajek_estimate(y, sample.inclusion)


def uniform(budget: int, ratings: int) -> Counts:
    return np.full(budget // ratings, ratings)


def mixed(budget: int, share: float, ratings: int) -> Counts:
    """Return ratings of items: `ratings` for a share of the items, and one for the others."""
    n = int(budget / (1 + share * (ratings - 1)))
    repeated = min(int(np.ceil(share * n)), (budget - n) // (ratings - 1))
    return np.concatenate([np.full(repeated, ratings), np.ones(n - repeated, dtype=int)])


Design = Callable[[Population, np.random.Generator], Estimate]


def replayed(
    ratings: Callable[[Population], Counts],
    *,
    machines: slice | None = None,
    by: Callable[[Population], Numbers] | None = None,
) -> Design:
    def design(study: Population, rng: np.random.Generator) -> Estimate:
        sample = drawn(study, rng, ratings(study), None if by is None else by(study))
        judges = study.judges[:, machines or slice(0)]
        return estimated(study, sample, scores_of(study, rng, sample), judges=judges)

    return design


def active(machines: slice) -> Design:
    """Draw by the bounded doubts of some judges, and correct with their labels."""
    alone = replayed(all_ratings, machines=ALL, by=Population.by_bounded_doubt)

    def design(study: Population, rng: np.random.Generator) -> Estimate:
        return alone(replace(study, judges=study.judges[:, machines]), rng)

    return design


def active_from_pilot(study: Population, rng: np.random.Generator) -> Estimate:
    """Use a third of the ratings as a uniform control sample that decides how the others are drawn."""
    ratings = all_ratings(study)
    n_control = int(ACTIVE_PILOT_SHARE * len(ratings))
    control = rng.permutation(len(study.values))[:n_control]
    first = Sample(control, np.ones(n_control), ratings[:n_control])
    y = np.full(len(study.values), np.nan)
    y[control] = scores_of(study, rng, first)
    design = active_design(y, study.judges, control_share=ACTIVE_PILOT_SHARE)
    weights = design.densities if design.gain.low > 1 else np.ones(len(y))
    rest = np.flatnonzero(np.isnan(y))
    second = drawn(
        replace(study, values=study.values[rest]), rng, ratings[n_control:], weights[rest]
    )
    share = n_control / len(y)
    of_rest = np.minimum(1, weights * (len(second.items) / weights[rest].sum()))
    items = np.concatenate([control, rest[second.items]])
    sample = Sample(items, (share + (1 - share) * of_rest)[items], ratings[: len(items)])
    further = Sample(rest[second.items], second.inclusion, second.ratings)
    scores = np.concatenate([y[control], scores_of(study, rng, further)])
    return estimated(study, sample, scores, judges=study.judges)


def planned(study: Population, rng: np.random.Generator) -> Estimate:
    """Use a fifth of the ratings as a pilot, and choose by the lower bounds of its gains."""
    pilot = uniform(int(PILOT_SHARE * study.budget), PILOT_RATINGS)
    rest = study.budget - pilot.sum()
    order = drawn(study, rng, np.ones(len(study.values), dtype=int)).items
    items, n = order[: len(pilot)], len(pilot)
    shuffled = rng.permuted(study.values, axis=1)
    values, units = shuffled[items, :PILOT_RATINGS].ravel(), np.repeat(np.arange(n), PILOT_RATINGS)
    try:
        is_mixed = mixed_gain(values, units=units, share=REPEATED_SHARE).low > 1
    except InvalidInput:
        is_mixed = False
    further = uniform(rest, PILOT_RATINGS)
    if is_mixed:
        repeated = max(0, int(np.ceil((REPEATED_SHARE * (n + rest) - n) / (1 + REPEATED_SHARE))))
        singles = np.ones(rest - 2 * repeated, dtype=int)
        further = np.concatenate([np.full(repeated, PILOT_RATINGS), singles])
    y = values.reshape(n, PILOT_RATINGS).mean(axis=1)
    judges = study.judges[:, :0]
    if study.judges.shape[1] and stack_gain(y, study.judges[items]).low > 1:
        judges = study.judges
    ratings = np.concatenate([pilot, further])[: len(order)]
    chosen = order[: len(ratings)]
    sample = Sample(chosen, np.full(len(chosen), len(chosen) / len(order)), ratings)
    sums = np.cumsum(shuffled[chosen], axis=1)[np.arange(len(chosen)), ratings - 1]
    return estimated(study, sample, sums / ratings, judges=judges)


def all_ratings(study: Population) -> Counts:
    return uniform(study.budget, study.max_ratings)


def fifth(study: Population) -> Counts:
    return mixed(study.budget, 0.2, study.max_ratings)


ALL, ONE, TWO = slice(None), slice(1), slice(1, 2)
CLASSICAL = "classical: random items, all with R ratings"
DESIGNS: dict[str, Design] = {
    CLASSICAL: replayed(all_ratings),
    "one judge": replayed(all_ratings, machines=ONE),
    "the other judge": replayed(all_ratings, machines=TWO),
    "all judges stacked": replayed(all_ratings, machines=ALL),
    "more of the separable items": replayed(all_ratings, by=Population.by_separability),
    "more of those that judges doubt": replayed(all_ratings, by=Population.by_doubt),
    "the same, stacked": replayed(all_ratings, machines=ALL, by=Population.by_doubt),
    "doubts, bounded": replayed(all_ratings, by=Population.by_bounded_doubt),
    "the same with the first judge": active(ONE),
    "the same with the second judge": active(TWO),
    "the same, both stacked": active(ALL),
    "the same, if a pilot of a third shows it": active_from_pilot,
    "a fifth of items R, others one rating": replayed(fifth),
    "the same, all judges stacked": replayed(fifth, machines=ALL),
    "the best design by a pilot": planned,
}
RANDOM_DESIGNS: dict[str, Design] = {
    "a judge that guesses": replayed(all_ratings, machines=ALL),
    "more of those that it doubts": replayed(all_ratings, by=Population.by_doubt),
    "those that it doubts, bounded": replayed(all_ratings, by=Population.by_bounded_doubt),
    "the same, stacked with it": active(ALL),
    "the same with it, if a pilot shows it": active_from_pilot,
    "the best design by a pilot with it": planned,
}
NEED_REPEATS = ("a fifth", "the same, all", "the best design")
NEED_JUDGES = ("one judge", "the other", "all judges", "more of those", "doubts", "the same")


def with_random_judge(study: Population) -> Population:
    guesses = np.random.default_rng(SEED).choice([0, 0.5, 1], (len(study.values), 1))
    return replace(study, judges=guesses)


def applies(name: str, study: Population) -> bool:
    """Return whether the study has the ratings or judges that the design needs."""
    if study.max_ratings == 1 and name.startswith(NEED_REPEATS):
        return False
    return study.judges.shape[1] > 0 or not name.startswith(NEED_JUDGES)


def measured(study: Population, design: Design) -> tuple[float, float]:
    """Return the mean squared width of the interval, and its coverage of the full data's rate."""
    rng = np.random.default_rng(SEED)
    made = [design(study, rng) for _ in range(REPLICATES)]
    widths = [(one.high - one.low) ** 2 for one in made]
    covers = [one.low <= study.truth <= one.high for one in made]
    return float(np.mean(widths)), float(np.mean(covers))


def results_of(study: Population) -> dict[str, dict[str, float]]:
    measures = {
        name: measured(study, design) for name, design in DESIGNS.items() if applies(name, study)
    }
    guessing = with_random_judge(study)
    measures |= {
        name: measured(guessing, design)
        for name, design in RANDOM_DESIGNS.items()
        if applies(name, guessing)
    }
    classical = measures[CLASSICAL][0]
    return {
        name: {"gain": classical / width, "coverage": coverage}
        for name, (width, coverage) in measures.items()
    }


def studies() -> list[Population]:
    batches = sorted((DATA / "separability").glob("*.csv"))
    return [
        population("PandaLM", [DATA / "pandalm"], "pandalm", 300),
        population("LLMBar", [DATA / "llmbar"], "llmbar", 40),
        *(population(path.name.split("_")[2], [path], "mturk", 150) for path in batches),
    ]


def main() -> int:
    populations = studies()
    results = {study.name: results_of(study) for study in populations}
    RESULTS.mkdir(parents=True, exist_ok=True)
    file = RESULTS / "replays.json"
    facts = {"replicates": REPLICATES, "seed": SEED, "studies": results}
    file.write_text(json.dumps(facts, indent=1) + "\n", encoding="utf-8")
    print("Gain in ratings for the same width (coverage of the full data's win rate)")
    print(f"{'':44}" + "".join(f"{study.name:>16}" for study in populations))
    for name in DESIGNS | RANDOM_DESIGNS:
        cells = [results[study.name].get(name) for study in populations]
        texts = ["–" if c is None else f"{c['gain']:.2f} ({c['coverage']:.1%})" for c in cells]
        print(f"{name:44}" + "".join(f"{text:>16}" for text in texts))
    print(f"Written to {file}.")
    return 0


if __name__ == "__main__":
    sys.exit(main())
