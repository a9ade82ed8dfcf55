"""Sections of a report about perturbed texts."""

from dataclasses import dataclass, field

from tiebreak.stats import Estimate


@dataclass(frozen=True)
class ScoreSummary:
    """Distribution of scores: their mean and quartiles, all null if there is none."""

    mean: float
    """Mean."""
    lower_quartile: float
    """Score that a quarter of the texts does not exceed."""
    median: float
    """Median."""
    upper_quartile: float
    """Score that three quarters of the texts do not exceed."""


@dataclass(frozen=True)
class PerturbationTest:
    """Whether a rater gives copies with one perturbation lower scores on one criterion."""

    level: str
    """Level of the perturbation: characters, words, sentences or other."""
    pairs: int
    """Number of copies that have a score, and whose original has one."""
    incomplete: int
    """Number of other copies."""
    unchanged: int
    """Number of pairs with equal scores."""
    p: Estimate
    """One-sided Wilcoxon signed-rank test, in which pairs with equal scores do not count."""
    p_pratt: Estimate
    """The same, in which pairs with equal scores are ranked (Pratt)."""
    score: Estimate
    """Discernment D = log₀.₀₅ of `p`."""
    original: ScoreSummary
    """Scores of the originals in the pairs."""
    copy: ScoreSummary
    """Scores of the copies in the pairs."""


@dataclass(frozen=True)
class ResponseStyle:
    """How one rater uses the scale on one criterion, on originals and on copies of all kinds."""

    n_originals: int
    """Number of originals with a score."""
    n_copies: int
    """Number of copies with a score."""
    originals: dict[str, float]
    """Share of the originals with each score."""
    copies: dict[str, float]
    """Share of the copies with each score."""


@dataclass(frozen=True)
class RaterDiscernment:
    """Discernment of one rater on one criterion."""

    tests: dict[str, PerturbationTest]
    """Test of each perturbation."""
    average: Estimate
    """Mean of the levels' mean scores."""
    minimum: Estimate
    """Smallest score of a perturbation."""
    levels: dict[str, Estimate]
    """Mean score of each level."""
    style: ResponseStyle | None = None
    """How the rater uses the scale."""


@dataclass(frozen=True)
class CombinedTest:
    """Whether a rater gives copies with one perturbation lower scores, over several criteria."""

    level: str
    """Level of the perturbation."""
    weights: dict[str, float]
    """Weight of each criterion that counts; together they are 1."""
    p: Estimate
    """Weighted harmonic mean of the criteria's p-values."""
    score: Estimate
    """Discernment D = log₀.₀₅ of `p`."""


@dataclass(frozen=True)
class DiscernmentOverCriteria:
    """Discernment of one rater over several criteria."""

    tests: dict[str, CombinedTest]
    """Test of each perturbation."""
    average: Estimate
    """Mean of the levels' mean scores."""
    minimum: Estimate
    """Smallest score of a perturbation."""
    levels: dict[str, Estimate]
    """Mean score of each level."""


@dataclass(frozen=True)
class DiscernmentSection:
    """Whether raters give perturbed copies of texts lower scores than the originals."""

    raters: dict[str, RaterDiscernment]
    """Annotators together, and each machine, on this criterion."""
    criteria: tuple[str, ...]
    """Criteria that `all_criteria` combines."""
    all_criteria: dict[str, DiscernmentOverCriteria] = field(default_factory=dict)
    """Each rater over all criteria, which have equal weights. The same in all criteria."""
    expert_weighted: dict[str, DiscernmentOverCriteria] = field(default_factory=dict)
    """Each rater over all criteria with experts' weights; empty if none were given."""
    correlations: dict[str, dict[str, Estimate]] = field(default_factory=dict)
    """Spearman's ρ of the scores that two raters gave the same originals on this criterion."""
