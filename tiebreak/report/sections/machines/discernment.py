"""Whether raters give perturbed copies of texts lower scores than the originals."""

from collections.abc import Iterator, Mapping
from dataclasses import dataclass, replace
from functools import cached_property
from itertools import combinations, pairwise

import numpy as np
import scipy
from numpy.typing import NDArray

from tiebreak.errors import InvalidInput
from tiebreak.report.criterion import Criterion
from tiebreak.report.model.discernment import (
    CombinedTest,
    DiscernmentOverCriteria,
    DiscernmentSection,
    PerturbationTest,
    RaterDiscernment,
    ResponseStyle,
    ScoreSummary,
)
from tiebreak.report.needs import has_scores
from tiebreak.report.registry import section
from tiebreak.stats import (
    Estimate,
    discernment,
    discernment_score,
    harmonic_mean_p,
    summarise_discernment,
)
from tiebreak.stats.core.results import NAN, undefined

ANNOTATORS = "annotators"
LEVELS = ("characters", "words", "sentences")
OTHER_LEVEL = "other"
ORIGINAL = ""
NO_ORDER = "Discernment needs scores: numbers, or labels with an order that are no preferences."
NO_COPIES = (
    "No perturbed copy was rated. Add copies to a scoring study before it opens, or give the"
    " columns perturbation and original_system in a file."
)
NO_ORIGINALS = (
    "No copy has its original among the items. The original has the copy's instance and sample_a, and"
    " the copy's original_system as system_a."
)
FEW_ORIGINALS = "The two raters scored fewer than three originals in common."
SAME_SCORES = "One of the two raters gave all these originals the same score."
MIN_CORRELATED, _DECIMALS = 3, 9
# So many different scores are counted one by one, such as 0 to 10, and more of them in ranges.
MAX_CLASSES, RANGES = 11, 10
MISSING = "A criterion has no p-value for this perturbation."

Scores = NDArray[np.float64]
Weights = Mapping[str, Mapping[str, float]]


@section(
    "discernment",
    "Discernment: do raters notice perturbed copies?",
    question="machines",
    of_rated_items="the tests ask whether raters notice what was done to these texts",
    on_request=True,
    asks="Which known damage to a text does each rater notice, and which does it miss?",
    offered=has_scores,
    takes=(),
)
def discernment_section(criterion: Criterion) -> DiscernmentSection:
    """Return the tests of every rater on this criterion; `over_criteria` adds those over all."""
    if criterion.scale.kind == "preference" or criterion.numbers is None:
        raise InvalidInput("no_order", NO_ORDER)
    pairs = _Pairs.of(criterion)
    raters = {ANNOTATORS: criterion.is_human} if criterion.is_human.any() else {}
    names = criterion.rows.coded("rater")
    raters |= {name: ~criterion.is_human & names.equals(name) for name in criterion.machines}
    units = np.arange(criterion.n_units)
    means = {rater: criterion.mean_scores(rows, units) for rater, rows in raters.items()}
    classes = _Classes.of(criterion.numbers)
    section = {}
    for rater, scores in means.items():
        tests = {name: _test(name, *pairs.scores(name, scores)) for name in pairs.names}
        style = _style(classes, scores[pairs.distinct_originals], scores[pairs.copies])
        section[rater] = RaterDiscernment(tests, *_summary(tests), style)
    of_originals = {rater: scores[pairs.distinct_originals] for rater, scores in means.items()}
    return DiscernmentSection(
        raters=section, criteria=(criterion.name,), correlations=_correlations(of_originals)
    )


@dataclass(frozen=True, eq=False)
class _Classes:
    """The classes of scores that are counted: the labels or, of many, ranges of equal width."""

    names: tuple[str, ...]
    centres: Scores

    @classmethod
    def of(cls, labels: Scores) -> "_Classes":
        if len(labels) <= MAX_CLASSES:
            return cls(tuple(f"{label:g}" for label in labels), labels)
        ends = np.linspace(labels.min(), labels.max(), RANGES + 1)
        both = list(pairwise(ends.tolist()))
        names = tuple(f"{low:.4g} to {high:.4g}" for low, high in both)
        return cls(names, np.array([(low + high) / 2 for low, high in both]))

    def shares(self, scores: Scores) -> dict[str, float]:
        """Return the share of scores in each class; a mean counts as the nearest, or the lower of two."""
        nearest = np.abs(scores[:, None] - self.centres).argmin(axis=1)
        counts = np.bincount(nearest, minlength=len(self.names))
        shares = counts / len(scores) if len(scores) else np.full(len(counts), NAN)
        return dict(zip(self.names, shares.tolist(), strict=True))


def _style(classes: _Classes, originals: Scores, copies: Scores) -> ResponseStyle:
    originals, copies = (scores[~np.isnan(scores)] for scores in (originals, copies))
    shares = classes.shares(originals), classes.shares(copies)
    return ResponseStyle(len(originals), len(copies), *shares)


def _correlations(scores: Mapping[str, Scores]) -> dict[str, dict[str, Estimate]]:
    """Return ρ of each two raters; one that comes later has no row of those before."""
    found: dict[str, dict[str, Estimate]] = {}
    for one, other in combinations(scores, 2):
        found.setdefault(one, {})[other] = _correlation(scores[one], scores[other])
    return found


def _correlation(one: Scores, other: Scores) -> Estimate:
    both = ~np.isnan(one) & ~np.isnan(other)
    # Equal means may differ by a rounding error, which would rank them.
    x, y, n = one[both].round(_DECIMALS), other[both].round(_DECIMALS), int(both.sum())
    if n < MIN_CORRELATED:
        return undefined(FEW_ORIGINALS, n)
    if np.ptp(x) == 0 or np.ptp(y) == 0:
        return undefined(SAME_SCORES, n)
    return Estimate(float(scipy.stats.spearmanr(x, y).statistic), n=n, method="Spearman's ρ")


@dataclass(frozen=True, eq=False)
class _Pairs:
    """The units of copies with those of their originals, and copies that lack an original."""

    perturbations: NDArray[np.str_]
    copies: NDArray[np.int64]
    originals: NDArray[np.int64]

    @classmethod
    def of(cls, criterion: Criterion) -> "_Pairs":
        changes = criterion.of_units("perturbation").astype(np.str_)
        if not (changes != ORIGINAL).any():
            raise InvalidInput("no_copies", NO_COPIES)
        columns = ("instance", "system_a", "original_system", "sample_a")
        instance, system, source, sample = (criterion.of_units(name) for name in columns)
        samples = np.nan_to_num(sample.astype(float), nan=-1.0)
        unit_of = {
            (instance[unit], system[unit], samples[unit]): unit
            for unit in np.flatnonzero(changes == ORIGINAL).tolist()
        }
        copies = np.flatnonzero(changes != ORIGINAL)
        keys = [(instance[unit], source[unit], samples[unit]) for unit in copies.tolist()]
        originals = np.array([unit_of.get(key, -1) for key in keys], dtype=np.int64)
        if (originals < 0).all():
            raise InvalidInput("no_originals", NO_ORIGINALS)
        return cls(changes[copies], copies, originals)

    @cached_property
    def names(self) -> list[str]:
        """The perturbations, by level and then by name."""
        return sorted({*self.perturbations.tolist()}, key=lambda name: (_rank(name), name))

    @cached_property
    def distinct_originals(self) -> NDArray[np.int64]:
        """The units of originals, each once however many copies it has."""
        return np.unique(self.originals[self.originals >= 0])

    def scores(self, name: str, means: Scores) -> tuple[Scores, Scores]:
        """Return the mean scores of a perturbation's originals and copies; NaN where one is missing."""
        chosen = self.perturbations == name
        originals = self.originals[chosen]
        of_originals = np.where(originals < 0, NAN, means[originals])
        return of_originals, means[self.copies[chosen]]


def level_of(name: str) -> str:
    """Return the level of a perturbation that is named as level/kind/degree."""
    level = name.partition("/")[0]
    return level if level in LEVELS else OTHER_LEVEL


def _rank(name: str) -> int:
    return (*LEVELS, OTHER_LEVEL).index(level_of(name))


def _test(name: str, originals: Scores, copies: Scores) -> PerturbationTest:
    both = ~np.isnan(originals) & ~np.isnan(copies)
    first, second = originals[both], copies[both]

    wilcox, pratt = (
        discernment(originals[:, None], copies[:, None], zero_method=zero_method)
        for zero_method in ("wilcox", "pratt")
    )
    return PerturbationTest(
        level=level_of(name),
        pairs=int(both.sum()),
        incomplete=int((~both).sum()),
        unchanged=int((first == second).sum()),
        p=wilcox.p_values[0],
        p_pratt=pratt.p_values[0],
        score=wilcox.score,
        original=_distribution(first),
        copy=_distribution(second),
    )


def _distribution(scores: Scores) -> ScoreSummary:
    if not len(scores):
        return ScoreSummary(NAN, NAN, NAN, NAN)
    quartiles = np.quantile(scores, (0.25, 0.5, 0.75))
    return ScoreSummary(float(scores.mean()), *map(float, quartiles))


def _summary(
    tests: Mapping[str, PerturbationTest | CombinedTest],
) -> tuple[Estimate, Estimate, dict[str, Estimate]]:
    """Return the average, the minimum, and the mean of each level."""
    summary = summarise_discernment(
        {name: test.score.value for name, test in tests.items()},
        {name: test.level for name, test in tests.items()},
    )
    return summary.average, summary.minimum, summary.levels


def over_criteria(
    sections: Mapping[str, DiscernmentSection], weights: Weights | None = None
) -> dict[str, DiscernmentSection]:
    """Return the sections of all criteria with tests over the criteria together.

    ``weights`` are experts' weights of the criteria for each perturbation. A criterion without a
    weight counts as 0, and a perturbation without weights has no expert-weighted score.
    """
    equal = _combined(sections, None)
    expert = _combined(sections, weights) if weights else {}
    return {
        name: replace(section, criteria=tuple(sections), all_criteria=equal, expert_weighted=expert)
        for name, section in sections.items()
    }


def _combined(
    sections: Mapping[str, DiscernmentSection], weights: Weights | None
) -> dict[str, DiscernmentOverCriteria]:
    raters = dict.fromkeys(rater for section in sections.values() for rater in section.raters)
    combined = {}
    for rater in raters:
        tests = dict(_over_criteria(sections, rater, weights))
        combined[rater] = DiscernmentOverCriteria(tests, *_summary(tests))
    return combined


def _over_criteria(
    sections: Mapping[str, DiscernmentSection], rater: str, weights: Weights | None
) -> Iterator[tuple[str, CombinedTest]]:
    of_rater = {n: s.raters[rater].tests for n, s in sections.items() if rater in s.raters}
    names = dict.fromkeys(name for tests in of_rater.values() for name in tests)
    for name in names:
        if weights is not None and name not in weights:
            continue
        p_values = {c: tests[name].p for c, tests in of_rater.items() if name in tests}
        shares = dict.fromkeys(p_values, 1.0) if weights is None else weights[name]
        yield name, _combined_test(name, p_values, shares)


def _combined_test(
    name: str, p_values: Mapping[str, Estimate], weights: Mapping[str, float]
) -> CombinedTest:
    used = {c: weights.get(c, 0.0) for c in p_values}
    total = sum(used.values())
    shares = {c: weight / total for c, weight in used.items() if weight} if total else {}
    n = min((p_values[c].n for c in shares), default=0)
    if not shares or not all(p_values[c].is_defined for c in shares):
        missing = undefined(MISSING, n)
        return CombinedTest(level_of(name), shares, missing, missing)
    mean = harmonic_mean_p([p_values[c].value for c in shares], weights=[*shares.values()])
    return CombinedTest(
        level_of(name),
        shares,
        Estimate(mean, n=n, method="harmonic mean of one-sided signed-rank tests"),
        Estimate(discernment_score(mean), n=n, method="log₀.₀₅ of the harmonic mean p"),
    )
