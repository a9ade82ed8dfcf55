"""Sections of a report about machine raters."""

from dataclasses import dataclass, field
from typing import Literal

from tiebreak.report.model.fields import CountOrNaN, Proportion, ProportionOrNaN, Stratifier
from tiebreak.stats import (
    AlternativeAnnotatorTest,
    Estimate,
    FamilyBias,
    PositionDebiasing,
    ReliabilityBin,
)
from tiebreak.stats.core.results import NAN, Instances

MAX_COINS_PASSING = 0.05


@dataclass(frozen=True)
class AnnotatorTestSection(AlternativeAnnotatorTest):
    """The alternative annotator test of one machine; it applies to these annotators only."""

    epsilon: Proportion
    winning_rate: ProportionOrNaN
    advantage_probability: ProportionOrNaN
    speaks_of: Instances = "these"
    """Instances that the test describes: ``"these"``; after a draw, with weights, ``"dataset"``, or
    ``"selected"`` if the drawn instances do not represent it."""


@dataclass(frozen=True)
class LicenceTest(AnnotatorTestSection):
    """The test of one machine, and of 200 simulated coins on the same units."""

    coin_winning_rate: ProportionOrNaN = NAN
    """Winning rate of a coin, on average; NaN without a test."""
    coins_passing: ProportionOrNaN = NAN
    """Share of the coins that pass; NaN without a test."""


@dataclass(frozen=True)
class MachineReplacement:
    """The evidence for replacing an annotator with one machine in one class of units."""

    labels: int
    """Number of human labels of units that the machine answered."""
    instances: int
    """Number of instances with such labels."""
    simulated: int
    """How many of the labels were given by bots, not by people."""
    agreement: ProportionOrNaN
    """How often the machine's label equals an annotator's, averaged over instances, after a draw
    with weights; NaN without labels, and on scales with many values."""
    unweighted_agreement: ProportionOrNaN
    """The same without weights, with which drift compares new labels of such instances."""
    tests: tuple[LicenceTest, ...]
    """The alternative annotator test for each ε; empty for classes by agreement among annotators."""
    agreement_low: ProportionOrNaN = NAN
    """Lower end of the 95% interval of the agreement for these annotators."""
    guessing: dict[str, Proportion] = field(default_factory=dict)
    """Agreement of guesses on the same labels: of a coin, of the label that agrees most often, and
    where lengths are known, of the longer and the shorter text."""
    reason: str | None = None
    """Why there is no agreement although there are labels."""

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
    """Where each machine may replace an annotator, in one class of units."""

    stratifier: Stratifier
    """Name of the classification."""
    stratum: str
    """Name of the class."""
    n_units: int
    """Number of units in the class."""
    machines: dict[str, MachineReplacement]
    """The evidence for each machine."""


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


@dataclass(frozen=True)
class NoiseCeiling:
    """How often labels equal one annotator's, on the items that a machine and two annotators rated."""

    agreement: Estimate
    """How often the machine's label equals that of one annotator at random, in which an answer
    that could not be parsed is a disagreement."""
    annotators: Estimate
    """How often two annotators give equal labels."""
    ceiling: Estimate
    """The most that any machine could agree with one annotator at random; see `noise_ceiling`."""


ProbabilitySource = Literal["probabilities", "shares"]


@dataclass(frozen=True)
class MachineProbabilities:
    """What a machine's probabilities of labels say."""

    source: ProbabilitySource
    """Probabilities that came with the ratings, or shares of several answers to the same question."""
    answer: Literal["A", "most probable"]
    """Whose probability is calibrated: that system A is preferred or, on other scales, the
    unit's most probable label."""
    n_units: int
    """Number of units with probabilities."""
    n_answers: int
    """Number of units and presentation orders with probabilities."""
    bins: tuple[ReliabilitySection, ...]
    """The reliability diagram."""
    expected_calibration_error: Estimate
    """Mean distance between probability and share of human labels, biased upwards for few units."""
    brier_score: Estimate
    """Mean squared distance between the probability and each human label."""
    debiasing: DebiasingSection | None = None
    """Debiasing of the position, for preferences whose presentation order is known."""
    both_orders: Estimate | None = None
    """Share of human preferences that the judge shares if the probabilities of both orders are
    averaged, where there are units with both."""


@dataclass(frozen=True)
class AgreementByCategory:
    """Leave-one-out agreement of one rater with humans, or among humans."""

    all_units: Estimate
    """Agreement on all units together."""
    categories: dict[str, Estimate]
    """Agreement on the units of each category; units without one are in the category "undefined"."""


@dataclass(frozen=True)
class CompositeSection:
    """The composite of machines, which uses the best one of each category.

    Each unit's machine was chosen on units of other folds. All parts cover the same units: those
    with two human ratings and an answer of every machine in `machines`. After a draw, units are
    weighted, including in the choice.
    """

    folds: int
    """Number of folds; 0 if there is no composite."""
    n_units: int
    """Number of units."""
    machines: dict[str, AgreementByCategory]
    """Agreement of each machine with humans."""
    chosen: dict[str, dict[str, int]]
    """For each category, in how many folds each machine was chosen, if it was chosen in any."""
    left_out: dict[str, int]
    """Machines that were left out because they answered too few units with two human ratings,
    and how many they answered."""
    humans: AgreementByCategory | None = None
    """Agreement among humans."""
    composite: AgreementByCategory | None = None
    """Agreement of the composite with humans."""
    reason: str | None = None
    """Why there is no composite."""


@dataclass(frozen=True)
class FamilyPreference(FamilyBias):
    """How often a machine prefers texts of its own model family, and how often annotators do.

    Of units in which the machine compared such a text with one of another family and an annotator rated.
    """

    family: str
    """Its family; empty if none is declared."""
    own: tuple[str, ...]
    """Systems of its family that it compared with others."""
    others: tuple[str, ...]
    """These others."""
    n_units: int
    """Number of units."""
    n_without_family: int
    """Number of units that it compared and that are left out, because the other system's family is not declared."""


@dataclass(frozen=True)
class MachineDifference:
    """Agreement of two machines with annotators, on the units that both answered."""

    first_machine: str
    second_machine: str
    """The machines."""
    first: Estimate
    second: Estimate
    """Agreement of each with one annotator at random, as in `single_human_machine`: a machine's
    runs and orders give one label, and a unit with unparsed answers only is a disagreement."""
    difference: Estimate
    """The first minus the second, on the same replicates."""


@dataclass(frozen=True)
class MachineDifferencesSection:
    """All pairs of machines."""

    pairs: dict[str, MachineDifference]
    """The pairs that have two instances in common."""
    confidence_level: float
    """Level of each interval, such that all hold simultaneously with 95% (Bonferroni)."""
    left_out: tuple[str, ...] = ()
    """Machines that are in no pair, because twelve others answered more of the units that
    annotators rated, or the same number and come first by name."""
    reason: str | None = None
    """Why there is no pair."""


@dataclass(frozen=True)
class BudgetPoint:
    """How well a schedule of comparisons gives the full ranking."""

    schedule: str
    """"random", "no-repeat" or "symmetric"."""
    comparisons: int
    """Number of comparisons on each instance."""
    median: float
    low: float
    high: float
    """Median, 2.5% and 97.5% quantiles over draws of Spearman's ρ with the
    scores of all comparisons."""
    accuracy: float | None = None
    accuracy_low: float | None = None
    accuracy_high: float | None = None
    """The same of the share of pairs of systems that are in the same order as by annotators; equal
    scores count as half right. None if annotators separate no pair."""


@dataclass(frozen=True)
class ComparisonBudget:
    """A machine's ranking of systems from fewer comparisons."""

    systems: int
    instances: int
    """Number of systems, and of instances on which all pairs were compared in both orders."""
    curve: tuple[BudgetPoint, ...]
    """Points by schedule and number of comparisons."""
    speaks_of: Instances = "these"
    """Instances that the scores describe: ``"these"``; after a draw, with weights, ``"dataset"``,
    or ``"selected"`` if the drawn instances do not represent it."""
    system_pairs: int = 0
    ratings: int = 0
    """Number of pairs of systems that annotators part on these instances, and of annotators'
    ratings by which they do."""
    reason: str | None = None
    """Why there is no curve."""


TieRule = Literal["as an answer", "as half"]


@dataclass(frozen=True)
class ScoringAgreement:
    """Agreement with one annotator's answer at random under one rule for ties.

    Each of the comparisons of a pair has equal weight, as if one of them were drawn at random; several
    scores of a text are averaged instead.
    """

    scores: Estimate
    comparisons: Estimate
    """Agreement of the preferences that scores imply, and of those from comparisons."""
    difference: Estimate
    """The first minus the second, on the same replicates."""


@dataclass(frozen=True)
class SystemCorrelations:
    """Spearman's ρ of systems' mean scores and win rates on the same pairs."""

    systems: int
    """Number of systems."""
    scores_with_annotators: float | None = None
    comparisons_with_annotators: float | None = None
    scores_with_comparisons: float | None = None
    """Mean scores or win rates by comparisons with annotators' win rates, and with each other."""
    reason: str | None = None
    """Why a correlation is missing."""
    speaks_of: Instances = "these"
    """Instances that the correlations describe. "dataset": drawn instances, weighted by inverse
    inclusion probabilities; "selected": drawn ones that do not represent the dataset."""


@dataclass(frozen=True)
class ScoringComparison:
    """A machine's scores of texts, compared with a machine's comparisons of the same pairs."""

    score_criterion: str
    """The criterion of the scores."""
    scorer: str
    comparer: str
    """The machine that scored and the one that compared; they may be the same."""
    pairs: int
    instances: int
    """Number of pairs of texts that an annotator and both machines rated, and of their instances."""
    score_answers: int
    comparison_answers: int
    """Number of answers that the scores and the comparisons of these pairs took."""
    scores_tied: Estimate
    comparisons_tied: Estimate
    """Share of these pairs with equal scores, and with a comparison that is a tie."""
    agreement: dict[str, ScoringAgreement]
    """Agreement with annotators by rule for ties: "as an answer", where only an annotator's tie
    agrees with a tie (only on scales with one), and "as half", where a coin decides each tie."""
    systems: SystemCorrelations
    """How the systems' mean scores and win rates correlate."""


@dataclass(frozen=True)
class ScoringSection:
    """Scoring against pairwise comparison, for all machines that did the one or the other."""

    comparisons: dict[str, ScoringComparison]
    """The scores of each criterion and machine against the comparisons of each machine."""
    confidence_level: float
    """Level of each interval, such that those of all differences hold
    simultaneously with 95% (Bonferroni)."""
    left_out: tuple[str, ...] = ()
    """Names of comparisons that are left out, because sixty others have more pairs of texts, or the
    same number and come first by name."""
    reason: str | None = None
    """Why there is nothing to compare."""
