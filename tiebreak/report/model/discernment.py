"""Sections of a report about perturbed texts."""

from dataclasses import dataclass, field

from tiebreak.stats import Estimate


@dataclass(frozen=True)
class ScoreSummary:
    """Distribution of scores: their mean and quartiles, all null if there is none.

    Attributes
    ----------
    mean : float
        Mean.
    lower_quartile : float
        Score that a quarter of the texts does not exceed.
    median : float
        Median.
    upper_quartile : float
        Score that three quarters of the texts do not exceed.
    """

    mean: float
    lower_quartile: float
    median: float
    upper_quartile: float


@dataclass(frozen=True)
class PerturbationTest:
    """Whether a rater gives copies with one perturbation lower scores on one criterion.

    Attributes
    ----------
    level : str
        Level of the perturbation: characters, words, sentences or other.
    pairs : int
        Number of copies that have a score, and whose original has one.
    incomplete : int
        Number of other copies.
    unchanged : int
        Number of pairs with equal scores.
    p : Estimate
        One-sided Wilcoxon signed-rank test, in which pairs with equal scores do not count.
    p_pratt : Estimate
        The same, in which pairs with equal scores are ranked (Pratt).
    score : Estimate
        Discernment D = log₀.₀₅ of `p`.
    original : ScoreSummary
        Scores of the originals in the pairs.
    copy : ScoreSummary
        Scores of the copies in the pairs.
    """

    level: str
    pairs: int
    incomplete: int
    unchanged: int
    p: Estimate
    p_pratt: Estimate
    score: Estimate
    original: ScoreSummary
    copy: ScoreSummary


@dataclass(frozen=True)
class RaterDiscernment:
    """Discernment of one rater on one criterion.

    Attributes
    ----------
    tests : dict of str to PerturbationTest
        Test of each perturbation.
    average : Estimate
        Mean of the levels' mean scores.
    minimum : Estimate
        Smallest score of a perturbation.
    levels : dict of str to Estimate
        Mean score of each level.
    """

    tests: dict[str, PerturbationTest]
    average: Estimate
    minimum: Estimate
    levels: dict[str, Estimate]


@dataclass(frozen=True)
class CombinedTest:
    """Whether a rater gives copies with one perturbation lower scores, over several criteria.

    Attributes
    ----------
    level : str
        Level of the perturbation.
    weights : dict of str to float
        Weight of each criterion that counts; together they are 1.
    p : Estimate
        Weighted harmonic mean of the criteria's p-values.
    score : Estimate
        Discernment D = log₀.₀₅ of `p`.
    """

    level: str
    weights: dict[str, float]
    p: Estimate
    score: Estimate


@dataclass(frozen=True)
class DiscernmentOverCriteria:
    """Discernment of one rater over several criteria.

    Attributes
    ----------
    tests : dict of str to CombinedTest
        Test of each perturbation.
    average : Estimate
        Mean of the levels' mean scores.
    minimum : Estimate
        Smallest score of a perturbation.
    levels : dict of str to Estimate
        Mean score of each level.
    """

    tests: dict[str, CombinedTest]
    average: Estimate
    minimum: Estimate
    levels: dict[str, Estimate]


@dataclass(frozen=True)
class DiscernmentSection:
    """Whether raters give perturbed copies of texts lower scores than the originals.

    Attributes
    ----------
    raters : dict of str to RaterDiscernment
        Annotators together, and each machine, on this criterion.
    criteria : tuple of str
        Criteria that `all_criteria` combines.
    all_criteria : dict of str to DiscernmentOverCriteria
        Each rater over all criteria, which have equal weights. The same in all criteria.
    expert_weighted : dict of str to DiscernmentOverCriteria
        Each rater over all criteria with experts' weights; empty if none were given.
    """

    raters: dict[str, RaterDiscernment]
    criteria: tuple[str, ...]
    all_criteria: dict[str, DiscernmentOverCriteria] = field(default_factory=dict)
    expert_weighted: dict[str, DiscernmentOverCriteria] = field(default_factory=dict)
