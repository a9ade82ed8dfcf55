"""Sections of a report about machine raters."""

from dataclasses import dataclass, field
from typing import Literal

from tiebreak.report.model.fields import CountOrNaN, Proportion, ProportionOrNaN, Stratifier
from tiebreak.stats import AlternativeAnnotatorTest, Estimate, PositionDebiasing, ReliabilityBin
from tiebreak.stats.core.results import NAN, Instances

MAX_COINS_PASSING = 0.05


@dataclass(frozen=True)
class AnnotatorTestSection(AlternativeAnnotatorTest):
    """Result of the alternative annotator test for one machine; it applies to these annotators only.

    Attributes
    ----------
    speaks_of : str
        Instances that the test describes: ``"these"``; after a draw, with weights, ``"dataset"``, or
        ``"selected"`` if the drawn instances do not represent it.
    """

    epsilon: Proportion
    winning_rate: ProportionOrNaN
    advantage_probability: ProportionOrNaN
    speaks_of: Instances = "these"


@dataclass(frozen=True)
class LicenceTest(AnnotatorTestSection):
    """The test of one machine, and of 200 simulated coins on the same units.

    Attributes
    ----------
    coin_winning_rate : float
        Winning rate of a coin, on average; NaN without a test.
    coins_passing : float
        Share of the coins that pass; NaN without a test.
    """

    coin_winning_rate: ProportionOrNaN = NAN
    coins_passing: ProportionOrNaN = NAN


@dataclass(frozen=True)
class MachineReplacement:
    """The evidence for replacing an annotator with one machine in one class of units.

    Attributes
    ----------
    labels : int
        Number of human labels of units that the machine answered.
    instances : int
        Number of instances with such labels.
    simulated : int
        How many of the labels were given by bots, not by people.
    agreement : float
        How often the machine's label equals an annotator's, averaged over instances, after a draw
        with weights; NaN without labels, and on scales with many values.
    unweighted_agreement : float
        The same without weights, with which drift compares new labels of such instances.
    tests : tuple of LicenceTest
        The alternative annotator test for each ε; empty for classes by agreement among annotators.
    agreement_low : float
        Lower end of the 95% interval of the agreement for these annotators.
    guessing : dict of str to float
        Agreement of guesses on the same labels: of a coin, of the label that agrees most often, and
        where lengths are known, of the longer and the shorter text.
    reason : str, optional
        Why there is no agreement although there are labels.
    """

    labels: int
    instances: int
    simulated: int
    agreement: ProportionOrNaN
    unweighted_agreement: ProportionOrNaN
    tests: tuple[LicenceTest, ...]
    agreement_low: ProportionOrNaN = NAN
    guessing: dict[str, Proportion] = field(default_factory=dict)
    reason: str | None = None

    @property
    def best_guess(self) -> float:
        return max(self.guessing.values(), default=NAN)

    def test_of_licence(self, epsilon: float) -> LicenceTest | None:
        """Return the test with the largest ε up to this one that coins rarely pass, if any.

        If they pass with every ε, it is the test with this one.
        """
        allowed = [test for test in self.tests if test.epsilon <= epsilon]
        rarely = (test for test in allowed if not test.coins_passing > MAX_COINS_PASSING)
        return next(rarely, next(iter(allowed), None))

    def refusal(self, epsilon: float) -> str:
        """Return the code of what a licence with an ε up to this one lacks, or an empty text."""
        test = self.test_of_licence(epsilon)
        if test is None or test.reason or self.reason:
            return "not_testable"
        if test.coins_passing > MAX_COINS_PASSING:
            return "coins_pass"
        if not test.passes:
            return "not_passed"
        return "" if self.agreement_low > self.best_guess else "not_above_guessing"


@dataclass(frozen=True)
class ReplacementStratum:
    """Where each machine may replace an annotator, in one class of units.

    Attributes
    ----------
    stratifier : str
        Name of the classification.
    stratum : str
        Name of the class.
    n_units : int
        Number of units in the class.
    machines : dict of str to MachineReplacement
        The evidence for each machine.
    """

    stratifier: Stratifier
    stratum: str
    n_units: int
    machines: dict[str, MachineReplacement]


@dataclass(frozen=True)
class ReliabilitySection(ReliabilityBin):
    """A range of probabilities, with the share of human labels; it applies to these annotators."""

    low: Proportion
    high: Proportion
    probability: ProportionOrNaN


@dataclass(frozen=True)
class DebiasingSection(PositionDebiasing):
    """What debiasing of the position changes; agreement applies to these annotators."""

    prefers_first: ProportionOrNaN
    threshold: ProportionOrNaN
    alpha: CountOrNaN
    prior_shift: CountOrNaN


ProbabilitySource = Literal["probabilities", "shares"]


@dataclass(frozen=True)
class MachineProbabilities:
    """What a machine's probabilities of labels say.

    Attributes
    ----------
    source : {"probabilities", "shares"}
        Probabilities that came with the ratings, or shares of several answers to the same question.
    answer : {"A", "most probable"}
        Whose probability is calibrated: that system A is preferred or, on other scales, the unit's
        most probable label.
    n_units : int
        Number of units with probabilities.
    n_answers : int
        Number of units and presentation orders with probabilities.
    bins : tuple of ReliabilitySection
        The reliability diagram.
    expected_calibration_error : Estimate
        Mean distance between probability and share of human labels, biased upwards for few units.
    brier_score : Estimate
        Mean squared distance between the probability and each human label.
    debiasing : DebiasingSection, optional
        Debiasing of the position, for preferences whose presentation order is known.
    both_orders : Estimate, optional
        Share of human preferences that the judge shares if the probabilities of both orders are
        averaged, where there are units with both.
    """

    source: ProbabilitySource
    answer: Literal["A", "most probable"]
    n_units: int
    n_answers: int
    bins: tuple[ReliabilitySection, ...]
    expected_calibration_error: Estimate
    brier_score: Estimate
    debiasing: DebiasingSection | None = None
    both_orders: Estimate | None = None


@dataclass(frozen=True)
class AgreementByCategory:
    """Leave-one-out agreement of one rater with humans, or among humans.

    Attributes
    ----------
    all_units : Estimate
        Agreement on all units together.
    categories : dict of str to Estimate
        Agreement on the units of each category; units without one are in the category "undefined".
    """

    all_units: Estimate
    categories: dict[str, Estimate]


@dataclass(frozen=True)
class CompositeSection:
    """The composite of machines, which uses the best one of each category.

    Each unit's machine was chosen on units of other folds. All parts cover the same units: those
    with two human ratings and an answer of every machine in `machines`. After a draw, units are
    weighted, including in the choice.

    Attributes
    ----------
    folds : int
        Number of folds; 0 if there is no composite.
    n_units : int
        Number of units.
    machines : dict of str to AgreementByCategory
        Agreement of each machine with humans.
    chosen : dict of str to dict of str to int
        For each category, in how many folds each machine was chosen, if it was chosen in any.
    left_out : dict of str to int
        Machines that were left out because they answered too few units with two human ratings, and
        how many they answered.
    humans : AgreementByCategory, optional
        Agreement among humans.
    composite : AgreementByCategory, optional
        Agreement of the composite with humans.
    reason : str, optional
        Why there is no composite.
    """

    folds: int
    n_units: int
    machines: dict[str, AgreementByCategory]
    chosen: dict[str, dict[str, int]]
    left_out: dict[str, int]
    humans: AgreementByCategory | None = None
    composite: AgreementByCategory | None = None
    reason: str | None = None


@dataclass(frozen=True)
class MachineDifference:
    """Agreement of two machines with annotators, on the units that both answered.

    Attributes
    ----------
    first_machine, second_machine : str
        The machines.
    first, second : Estimate
        Agreement of each with one annotator at random, as in `single_human_machine`: a machine's runs
        and orders give one label, and a unit with unparsed answers only is a disagreement.
    difference : Estimate
        The first minus the second, on the same replicates.
    """

    first_machine: str
    second_machine: str
    first: Estimate
    second: Estimate
    difference: Estimate


@dataclass(frozen=True)
class MachineDifferencesSection:
    """All pairs of machines.

    Attributes
    ----------
    pairs : dict of str to MachineDifference
        The pairs that have two instances in common.
    confidence_level : float
        Level of each interval, such that all hold simultaneously with 95% (Bonferroni).
    left_out : tuple of str
        Machines that are in no pair, because twelve others answered more of the units that annotators
        rated, or the same number and come first by name.
    reason : str, optional
        Why there is no pair.
    """

    pairs: dict[str, MachineDifference]
    confidence_level: float
    left_out: tuple[str, ...] = ()
    reason: str | None = None


@dataclass(frozen=True)
class BudgetPoint:
    """How well a schedule of comparisons gives the full ranking.

    Attributes
    ----------
    schedule : str
        "random", "no-repeat" or "symmetric".
    comparisons : int
        Number of comparisons on each instance.
    median, low, high : float
        Median, 2.5% and 97.5% quantiles over draws of Spearman's ρ with the scores of all
        comparisons.
    accuracy, accuracy_low, accuracy_high : float, optional
        The same of the share of pairs of systems that are in the same order as by annotators; equal
        scores count as half right. None if annotators separate no pair.
    """

    schedule: str
    comparisons: int
    median: float
    low: float
    high: float
    accuracy: float | None = None
    accuracy_low: float | None = None
    accuracy_high: float | None = None


@dataclass(frozen=True)
class ComparisonBudget:
    """A machine's ranking of systems from fewer comparisons.

    Attributes
    ----------
    systems, instances : int
        Number of systems, and of instances on which all pairs were compared in both orders.
    curve : tuple of BudgetPoint
        Points by schedule and number of comparisons.
    speaks_of : str
        Instances that the scores describe: ``"these"``; after a draw, with weights, ``"dataset"``, or
        ``"selected"`` if the drawn instances do not represent it.
    system_pairs, ratings : int
        Number of pairs of systems that annotators part on these instances, and of annotators' ratings
        by which they do.
    reason : str, optional
        Why there is no curve.
    """

    systems: int
    instances: int
    curve: tuple[BudgetPoint, ...]
    speaks_of: Instances = "these"
    system_pairs: int = 0
    ratings: int = 0
    reason: str | None = None


TieRule = Literal["as an answer", "as half"]


@dataclass(frozen=True)
class ScoringAgreement:
    """Agreement with one annotator's answer at random under one rule for ties.

    Each of the comparisons of a pair has equal weight, as if one of them were drawn at random; several
    scores of a text are averaged instead.

    Attributes
    ----------
    scores, comparisons : Estimate
        Agreement of the preferences that scores imply, and of those from comparisons.
    difference : Estimate
        The first minus the second, on the same replicates.
    """

    scores: Estimate
    comparisons: Estimate
    difference: Estimate


@dataclass(frozen=True)
class SystemCorrelations:
    """Spearman's ρ of systems' mean scores and win rates on the same pairs.

    Attributes
    ----------
    systems : int
        Number of systems.
    scores_with_annotators, comparisons_with_annotators, scores_with_comparisons : float, optional
        Mean scores or win rates by comparisons with annotators' win rates, and with each other.
    reason : str, optional
        Why a correlation is missing.
    speaks_of : {"these", "selected", "dataset"}
        Instances that the correlations describe. "dataset": drawn instances, weighted by inverse
        inclusion probabilities; "selected": drawn ones that do not represent the dataset.
    """

    systems: int
    scores_with_annotators: float | None = None
    comparisons_with_annotators: float | None = None
    scores_with_comparisons: float | None = None
    reason: str | None = None
    speaks_of: Instances = "these"


@dataclass(frozen=True)
class ScoringComparison:
    """One machine's scores of single texts compared with a machine's comparisons of the same pairs.

    Attributes
    ----------
    score_criterion : str
        The criterion of the scores.
    scorer, comparer : str
        The machine that scored and the one that compared; they may be the same.
    pairs, instances : int
        Number of pairs of texts that an annotator and both machines rated, and of their instances.
    score_answers, comparison_answers : int
        Number of answers that the scores and the comparisons of these pairs took.
    scores_tied, comparisons_tied : Estimate
        Share of these pairs with equal scores, and with a comparison that is a tie.
    agreement : dict of str to ScoringAgreement
        Agreement with annotators by rule for ties: "as an answer", where only an annotator's tie
        agrees with a tie (only on scales with one), and "as half", where a coin decides each tie.
    systems : SystemCorrelations
        How the systems' mean scores and win rates correlate.
    """

    score_criterion: str
    scorer: str
    comparer: str
    pairs: int
    instances: int
    score_answers: int
    comparison_answers: int
    scores_tied: Estimate
    comparisons_tied: Estimate
    agreement: dict[str, ScoringAgreement]
    systems: SystemCorrelations


@dataclass(frozen=True)
class ScoringSection:
    """Scoring against pairwise comparison, for all machines that did the one or the other.

    Attributes
    ----------
    comparisons : dict of str to ScoringComparison
        The scores of each criterion and machine against the comparisons of each machine.
    confidence_level : float
        Level of each interval, such that those of all differences hold simultaneously with 95% (Bonferroni).
    left_out : tuple of str
        Names of comparisons that are left out, because sixty others have more pairs of texts, or
        the same number and come first by name.
    reason : str, optional
        Why there is nothing to compare.
    """

    comparisons: dict[str, ScoringComparison]
    confidence_level: float
    left_out: tuple[str, ...] = ()
    reason: str | None = None
