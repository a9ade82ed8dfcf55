"""How often 95% intervals contain the dataset's value where instances were drawn unequally.

`python -m tests.stats.test_coverage_of_weights 1000` prints the shares of 1,000 studies, with weights and
without. Half of the dataset's instances are rarely drawn, and differ in everything. What a statistic says
of a very large dataset is the truth.
"""

import sys
from collections.abc import Callable
from dataclasses import dataclass
from functools import partial

import numpy as np
import pytest
from numpy.typing import NDArray
from scipy.stats import binomtest

from tiebreak.stats import (
    Comparison,
    Estimate,
    bradley_terry_fit,
    calibration,
    cohen_kappa,
    collect_rating_sets,
    consistency_by_separability,
    drop_one_influence,
    intraclass_correlation,
    position_debiasing,
    summarise_rating_sets,
)
from tiebreak.stats.core.bootstrap import estimate
from tiebreak.stats.core.unit_weights import UnitWeights, weighted
from tiebreak.stats.raters.rank_correlations import means_statistic

INSTANCES, DATASET, REPLICATES, RATERS = 200, 100_000, 300, 3
RARE, COMMON = 0.05, 0.4  # with which probability an instance is drawn
LOWEST, HIGHEST, MAX_UNWEIGHTED = 0.92, 0.98, 0.85
STUDIES = 300
PAIRS = np.array([[0, 1], [1, 2], [0, 2]])

Numbers = NDArray[np.float64]
Weights = Numbers | None


@dataclass(frozen=True, eq=False)
class Study:
    """Ratings of instances from 0 to 2, a judge's probability and three answers about pairs of each."""

    is_rare: NDArray[np.bool_]
    labels: NDArray[np.int64]
    judge: Numbers
    wins: NDArray[np.int64]

    @classmethod
    def of(cls, is_rare: NDArray[np.bool_], rng: np.random.Generator) -> "Study":
        n = len(is_rare)
        true = rng.integers(0, 3, n)
        # Raters agree on rare instances; the judge is sure, and wrong, on common ones.
        sure = np.where(is_rare, 0.85, 0.4)[:, None]
        guesses = rng.integers(0, 3, (n, RATERS))
        labels = np.where(rng.random((n, RATERS)) < sure, true[:, None], guesses)
        wrong = rng.random(n) < np.where(is_rare, 0.1, 0.5)
        says = np.where(wrong, 2 - true, true)
        judge = np.clip(0.1 + 0.4 * says + rng.normal(0, 0.05, n), 0, 1)
        # Cyclic preferences that differ in sign, so that the systems of the dataset are equal.
        wins = rng.random((n, 3)) < 0.5 + np.where(is_rare, 0.2, -0.2)[:, None] * [1, 1, -1]
        return cls(is_rare, labels, judge, wins.astype(np.int64))

    @classmethod
    def drawn(cls, rng: np.random.Generator) -> "Study":
        return cls.of(rng.random(INSTANCES) < RARE / (RARE + COMMON), rng)

    @classmethod
    def dataset(cls) -> "Study":
        rng = np.random.default_rng(7)
        return cls.of(rng.random(DATASET) < 0.5, rng)

    @property
    def weights(self) -> Numbers:
        return 1 / np.where(self.is_rare, RARE, COMMON)


def brier(study: Study, weights: Weights, **options) -> Estimate:
    positive = (study.labels == 2).sum(axis=1)
    labelled = np.full(len(positive), RATERS)
    return calibration(study.judge, positive, labelled, weights=weights, **options).brier_score


def debiased(study: Study, weights: Weights, **options) -> Estimate:
    better, worse = ((study.labels == label).sum(axis=1) for label in (2, 0))
    found = position_debiasing(study.judge, better, better + worse, weights=weights, **options)
    return found.debiased


def sets(study: Study):
    n = len(study.labels)
    instances, raters = np.divmod(np.arange(n * RATERS), RATERS)
    both = np.column_stack([study.labels.ravel(), np.repeat(study.labels[:, 0], RATERS)]) - 1
    return collect_rating_sets(
        both.ravel(), instances=np.repeat(instances, 2), raters=np.repeat(raters, 2), set_size=2
    )


def consistency(study: Study, weights: Weights, **options) -> Estimate:
    weights = None if weights is None else np.repeat(weights, RATERS)
    return summarise_rating_sets(sets(study), weights=weights, **options).consistency


def consistency_in_range(study: Study, weights: Weights, **options) -> Estimate:
    weights = None if weights is None else np.repeat(weights, RATERS)
    delta = np.repeat(study.judge, RATERS)
    edges = {"edges": [0, 0.5, 1], "weights": weights}
    return consistency_by_separability(sets(study), delta, **edges, **options)[1].consistency


def kappa(study: Study, weights: Weights, **options) -> Estimate:
    first, second, _ = study.labels.T
    return cohen_kappa(first, second, n_labels=3, weights=weights, **options)


def without_a_rater(study: Study, weights: Weights, **options) -> Estimate:
    n = len(study.labels)
    unit, rater = np.divmod(np.arange(n * RATERS), RATERS)
    shape = {"n_units": n, "n_raters": RATERS, "n_labels": 3}
    label = study.labels.ravel()
    return drop_one_influence(unit, rater, label, **shape, weights=weights, **options)[0].without


def intraclass(study: Study, weights: Weights, *, form: str, **options) -> Estimate:
    scores = study.labels.astype(float)
    return intraclass_correlation(scores, form=form, weights=weights, **options)


def correlation_of_means(study: Study, weights: Weights, **options) -> Estimate:
    humans = (study.labels[:, :, None] == np.arange(3)).sum(axis=1)
    machine = np.eye(3, dtype=int)[(study.judge * 2.5 - 0.25).round().clip(0, 2).astype(int)]
    of_units = None if weights is None else UnitWeights.of(weights)
    compared = Comparison.of(humans, machine, split=None if of_units is None else of_units.codes)
    pairs, rows = compared.pairs(level="ordinal"), compared.patterns.rows
    statistic = means_statistic(pairs, rows, "spearman", values=[0, 1, 2])
    return estimate(weighted({"": statistic}, of_units)[""], compared.patterns, **options)


STATISTICS: dict[str, Callable[..., Estimate]] = {
    "Brier score": brier,
    "agreement after debiasing": debiased,
    "consistency of rating sets": consistency,
    "consistency in a range": consistency_in_range,
    "Cohen's κ of two raters": kappa,
    "α without a rater": without_a_rater,
    "ICC(1)": partial(intraclass, form="1"),
    "ICC(A)": partial(intraclass, form="A"),
    "ICC(C)": partial(intraclass, form="C"),
    "Spearman's ρ of means": correlation_of_means,
}
TRANSITIVE = "p of one order below 0.05"


def fits(study: Study, weights: Weights) -> bool:
    """Return whether the test of one order, which holds in the dataset, does not reject it."""
    counts = np.stack([study.wins, np.zeros_like(study.wins), 1 - study.wins], axis=2).reshape(
        -1, 3
    )
    n, names = len(study.wins), np.array(["x", "y", "z"])
    a, b = (np.tile(names[side], n).tolist() for side in PAIRS.T)
    repeated = None if weights is None else np.repeat(weights, 3)
    clusters = np.repeat(np.arange(n), 3)
    fit = bradley_terry_fit(counts, system_a=a, system_b=b, weights=repeated, clusters=clusters)
    return fit.p.value > 0.05


def held(seed: int, truths: dict[str, float]) -> dict[str, tuple[bool, bool]]:
    """Return of a study whether each interval contains the truth, with weights and without."""
    study, found = Study.drawn(np.random.default_rng(seed)), {}
    for name, statistic in STATISTICS.items():
        estimates = [
            statistic(study, weights, rng=np.random.default_rng(seed), replicates=REPLICATES)
            for weights in (study.weights, None)
        ]
        found[name] = tuple(one.low <= truths[name] <= one.high for one in estimates)
    return found | {TRANSITIVE: (fits(study, study.weights), fits(study, None))}


def coverage(studies: int) -> dict[str, tuple[float, float]]:
    """Return the shares of studies whose intervals contain the truth, with weights and without."""
    dataset = Study.dataset()
    truths = {name: statistic(dataset, None).value for name, statistic in STATISTICS.items()}
    rows = [held(seed, truths) for seed in range(studies)]
    return {name: tuple(np.mean([row[name] for row in rows], axis=0)) for name in rows[0]}


@pytest.mark.thorough
def test_intervals_contain_the_datasets_value_only_with_weights():
    for name, (with_weights, without) in coverage(STUDIES).items():
        inside = round(with_weights * STUDIES)
        assert binomtest(inside, STUDIES, LOWEST, alternative="less").pvalue > 0.001, name
        assert binomtest(inside, STUDIES, HIGHEST, alternative="greater").pvalue > 0.001, name
        assert without < MAX_UNWEIGHTED, name


if __name__ == "__main__":
    for name, shares in coverage(int(sys.argv[1])).items():
        print(f"{name}: {shares[0]:.1%} with weights, {shares[1]:.1%} without")
