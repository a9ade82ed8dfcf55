"""The report as objects. Their fields are the keys of the published JSON, in its order.

`docs/report.schema.json` is generated from these classes, with their docstrings as descriptions. A
field that is None has no key. A number that is NaN is written as null.
"""

from dataclasses import dataclass, field, fields
from typing import Annotated, Any, Literal, Self

from tiebreak.report.serialization import from_json, to_json
from tiebreak.scales import Label, Level
from tiebreak.stats import (
    Agreement,
    AlternativeAnnotatorTest,
    Classification,
    Estimate,
    HumanMachine,
    Influence,
    PositionDebiasing,
    RankSet,
    ReliabilityBin,
    Robustness,
    Triads,
)
from tiebreak.stats.rating_sets import RatingSetSummary, SeparabilityRange

REPORT_VERSION = 1
BY_KEY = ("category", "separability", "systems")
CROSSED = "systems_agreement"  # only in the section `pairs_by_agreement`
STRATIFIERS = ("all", "agreement", "unique_labels", *BY_KEY, CROSSED)

# Annotations carry what the JSON schema requires in addition to the type.
Version = Annotated[int, {"const": REPORT_VERSION}]
Seed = Annotated[int, {"minimum": None}]  # other whole numbers are counts and not negative
Proportion = Annotated[float, {"minimum": 0, "maximum": 1}]
ProportionOrNaN = Annotated[float, {"type": ["number", "null"], "minimum": 0, "maximum": 1}]
CountOrNaN = Annotated[float, {"type": ["number", "null"], "minimum": 0}]
Sha256 = Annotated[str, {"pattern": "^[0-9a-f]{64}$"}]
Stratifier = Annotated[str, {"enum": list(STRATIFIERS)}]
Reason = Annotated[str, {"minLength": 1}]

Votes = dict[str, int]
Distribution = dict[str, ProportionOrNaN]
Estimates = dict[str, Estimate]
Problems = dict[str, Reason]
Matrix = tuple[tuple[float, ...], ...]


@dataclass(frozen=True)
class Origin:
    """Where ratings come from.

    Attributes
    ----------
    kind : {"file", "bundle", "study"}
        What was read.
    sha256 : str
        Digest of the ratings file, or of a study's rows.
    part : dict of str to str, optional
        Values of the filter by which the ratings were chosen. Missing for all ratings.
    """

    kind: Literal["file", "bundle", "study"]
    sha256: Sha256
    part: dict[str, str] | None = None


@dataclass(frozen=True, kw_only=True)
class SourceSection(Origin):
    """The ratings of a report.

    Attributes
    ----------
    rows_sha256 : str
        Digest of the rows, which does not depend on their order or on the file's format.
    n_rows : int
        Number of ratings.
    n_used : int
        Number of ratings that count. Ratings with flags and repeats do not.
    """

    rows_sha256: Sha256
    n_rows: int
    n_used: int


@dataclass(frozen=True)
class MachineAgreement:
    """Agreement of one machine with itself and with humans.

    Attributes
    ----------
    machine_machine : Agreement
        Agreement among the machine's runs.
    human_machine : HumanMachine
        Comparison with the majority label of humans.
    single_human_machine : HumanMachine
        Comparison with one human drawn at random.
    delta : Agreement
        Agreement among humans minus agreement of the machine with their majority.
    classification : Classification
        The machine as a predictor of the majority label.
    random_baseline : HumanMachine
        What a machine with random labels would reach.
    """

    machine_machine: Agreement
    human_machine: HumanMachine
    single_human_machine: HumanMachine
    delta: Agreement
    classification: Classification
    random_baseline: HumanMachine


@dataclass(frozen=True)
class StratumSection:
    """Agreement in one class of units.

    Attributes
    ----------
    stratifier : str
        Name of the classification.
    stratum : str
        Name of the class.
    n_units : int
        Number of units in the class.
    share : float
        Share of all units that are in the class.
    human_human : Agreement
        Agreement among humans.
    machines : dict of str to MachineAgreement
        Agreement with each machine.
    """

    stratifier: Stratifier
    stratum: str
    n_units: int
    share: Proportion
    human_human: Agreement
    machines: dict[str, MachineAgreement]


@dataclass(frozen=True)
class PerceptionBin:
    """Labels of the units with one majority label.

    Attributes
    ----------
    label : str
        The majority label (or median) of human ratings.
    share : float
        Share of the units with human ratings. A unit with several modes is divided equally.
    humans : dict of str to float
        Share of each label among human ratings.
    machines : dict of str to dict
        Share of each label among each machine's ratings; NaN if it did not rate these units.
    """

    label: str
    share: Proportion
    humans: Distribution
    machines: dict[str, Distribution]


@dataclass(frozen=True)
class RaterSection:
    """Ratings of one rater.

    Attributes
    ----------
    kind : {"human", "machine"}
        Kind of rater.
    n_ratings : int
        Number of ratings that could be parsed.
    n_unparsed : int
        Number of answers that could not be parsed.
    votes : dict of str to int
        Number of times that the rater gave each label.
    leave_one_out : Estimate, optional
        Agreement of a human with the most frequent label among the other humans.
    confusion : tuple of tuple of float, optional
        Number of units by the most frequent label among the other humans (rows) and the label that
        this rater gave (columns), both in the order of `labels`. A unit with several most frequent
        labels is divided equally. Left out for scales with many labels.
    """

    kind: Literal["human", "machine"]
    n_ratings: int
    n_unparsed: int
    votes: Votes
    leave_one_out: Estimate | None = None
    confusion: Matrix | None = None


@dataclass(frozen=True)
class SelfConsistencySection:
    """Planned repeats: units that a rater saw a second time, with the sides swapped.

    Attributes
    ----------
    humans : Estimate
        Share of the planned repeats that humans answered as they had answered the first time.
    raters : dict of str to Estimate
        The same share for each rater with planned repeats.
    """

    humans: Estimate
    raters: Estimates


@dataclass(frozen=True)
class DawidSkeneRater:
    """A human rater in the model of Dawid and Skene.

    Attributes
    ----------
    accuracy : float
        Probability that the rater gives the true label.
    confusion : tuple of tuple of float
        Probability of each label that the rater gives (columns) for each true label (rows), both in
        the order of `labels`.
    """

    accuracy: ProportionOrNaN
    confusion: Matrix


@dataclass(frozen=True)
class DawidSkeneSection:
    """Estimates of the model of Dawid and Skene (1979), in which each unit has one true label.

    Attributes
    ----------
    n_units : int
        Number of units that entered.
    converged : bool
        Whether the estimation came to an end. Do not use estimates that did not.
    prior : dict of str to float
        Share of units with each true label; NaN without estimates.
    raters : dict of str to DawidSkeneRater
        Estimates of each human rater.
    reason : str, optional
        Why there are no estimates.
    """

    n_units: int
    converged: bool
    prior: Distribution
    raters: dict[str, DawidSkeneRater]
    reason: str | None = None


@dataclass(frozen=True)
class ChanceCorrectedSection:
    """Further coefficients of agreement among humans, of all units together; they speak of these raters.

    The coefficients of labels are listed by weights: `identity`, and for labels with an order also
    `linear` and `quadratic`.

    Attributes
    ----------
    gwet_ac : dict of str to Estimate
        Gwet's AC1 (identity) and AC2.
    brennan_prediger : dict of str to Estimate
        Coefficient of Brennan and Prediger.
    fleiss_kappa : dict of str to Estimate
        Fleiss' κ, in which units with one rating enter the shares of labels.
    conger_kappa : dict of str to Estimate
        Conger's κ, which is Cohen's κ for more than two raters.
    cohen_kappa : dict of str to Estimate
        Cohen's κ, if there are exactly two raters.
    intraclass_correlation : dict of str to Estimate
        Intraclass correlations of single ratings: `1`, `A` (absolute agreement), `C` (consistency).
    """

    gwet_ac: Estimates
    brennan_prediger: Estimates
    fleiss_kappa: Estimates
    conger_kappa: Estimates
    cohen_kappa: Estimates
    intraclass_correlation: Estimates


@dataclass(frozen=True)
class AnnotatorTestSection(AlternativeAnnotatorTest):
    """Result of the alternative annotator test for one machine; it speaks of these annotators only."""

    epsilon: Proportion
    winning_rate: ProportionOrNaN
    advantage_probability: ProportionOrNaN


@dataclass(frozen=True)
class MachineReplacement:
    """What speaks for replacing an annotator by one machine in one class of units.

    Attributes
    ----------
    labels : int
        Number of human labels of units that the machine answered.
    instances : int
        Number of instances with such labels.
    agreement : float
        How often the machine's label is that of an annotator, averaged over instances; NaN without
        labels.
    tests : tuple of AnnotatorTestSection
        The alternative annotator test for each ε; empty for classes by agreement among annotators.
    """

    labels: int
    instances: int
    agreement: ProportionOrNaN
    tests: tuple[AnnotatorTestSection, ...]


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
        What speaks for each machine.
    """

    stratifier: Stratifier
    stratum: str
    n_units: int
    machines: dict[str, MachineReplacement]


@dataclass(frozen=True)
class RaterSets(RatingSetSummary):
    """Means over complete rating sets, overall and by separability.

    Attributes
    ----------
    by_separability : tuple of SeparabilityRange
        Means in ranges of separability.
    spearman_separability : Estimate
        Spearman's ρ of separability and mean consistency.
    """

    by_separability: tuple[SeparabilityRange, ...]
    spearman_separability: Estimate


@dataclass(frozen=True)
class RatingSetsSection(RaterSets):
    """Rating sets of humans, and of each machine.

    Attributes
    ----------
    machines : dict of str to RaterSets
        The same for each machine, where each run and presentation order is a rater.
    """

    machines: dict[str, RaterSets]


@dataclass(frozen=True)
class PairCounts:
    """Human ratings of one pair of systems, by what they prefer.

    Attributes
    ----------
    systems : tuple of str
        The two systems, in alphabetical order.
    units : int
        Number of rated units that compare them.
    instances : int
        Number of instances that these units belong to.
    raters : int
        Number of people who rated them.
    ratings : int
        Number of ratings.
    first : int
        Number of ratings that prefer the first system, however strongly.
    ties : int
        Number of ratings without a preference.
    second : int
        Number of ratings that prefer the second system, however strongly.
    bad : int
        Number of ratings by which both texts are bad.
    """

    systems: tuple[str, ...]
    units: int
    instances: int
    raters: int
    ratings: int
    first: int
    ties: int
    second: int
    bad: int


@dataclass(frozen=True)
class SimultaneousSection:
    """Win rates with intervals that hold all at once, which findings about systems rest on.

    If many systems are equally good, the 95% interval of one of them often excludes ½ by chance. Here,
    in at most 5% of studies any interval misses the true value.

    Attributes
    ----------
    win_rate : dict of str to Estimate
        Win rate of each system.
    pairs : dict of str to Estimate
        Win rate of the first system of each pair.
    n_win_rates : int
        Number of intervals that hold at once in `win_rate`, over all criteria with preferences.
    n_pairs : int
        The same number for `pairs`.
    """

    win_rate: Estimates
    pairs: Estimates
    n_win_rates: int
    n_pairs: int


@dataclass(frozen=True)
class PoweredSystem:
    """A system's win rate without machine raters, with the best one, and with all of them stacked.

    All three are of the same ratings. Units have equal weight, or after a draw the weight of their
    instance.

    Attributes
    ----------
    human : Estimate
        Win rate by human ratings alone.
    best : Estimate
        Prediction-powered win rate with the machine whose interval is shortest.
    best_machine : str
        The name of this machine; empty if no machine's estimate has an interval.
    stack : Estimate
        Prediction-powered win rate with all machines, whose weights come from other instances.
    weights : dict of str to float
        Weight of each machine in the stack, averaged over the human ratings.
    ratings : int
        Number of human ratings.
    effective_best, effective_stack : float
        Number of human ratings that would give the interval of `best` or `stack` without machines;
        NaN without an interval.
    effective_by_machine : dict of str to float, optional
        The same number for the prediction-powered win rate with each machine alone.
    """

    human: Estimate
    best: Estimate
    best_machine: str
    stack: Estimate
    weights: dict[str, ProportionOrNaN]
    ratings: int
    effective_best: CountOrNaN
    effective_stack: CountOrNaN
    effective_by_machine: dict[str, CountOrNaN] | None = None


@dataclass(frozen=True)
class SystemsSection:
    """Rankings of the systems by human ratings; without systems, there are only empty win rates.

    Attributes
    ----------
    win_rate : dict of str to Estimate
        Win rate of each system over all its comparisons, where a tie counts half.
    pairs : dict of str to Estimate
        Win rate of the first system of each pair.
    bradley_terry : dict of str to Estimate, optional
        Bradley–Terry strengths.
    bradley_terry_rank : dict of str to Estimate, optional
        Ranks by Bradley–Terry strength.
    elo : dict of str to Estimate, optional
        Elo ratings.
    sep_elo : dict of str to Estimate, optional
        Elo ratings weighted by separability.
    prediction_powered : dict of str to dict, optional
        Prediction-powered win rates for each machine that also rated units without human ratings.
    counts : dict of str to PairCounts, optional
        How often each system of a pair was preferred, by the names of `pairs`.
    simultaneous : SimultaneousSection, optional
        The same win rates with intervals that hold for all systems, or all pairs, at once.
    win_or_tie : dict of str to Estimate, optional
        Share of its comparisons that each system does not lose, so that a tie counts as much as a
        win.
    shared_ranks : dict of str to int, optional
        1 plus the number of systems whose whole interval of the win rate lies above that of the
        system, as in table 5 of Lyu et al. (2024). Systems without an interval have none. Only a
        reproduction: intervals that overlap do not show that systems are equally good.
    prediction_powered_lambda_1 : dict of str to dict, optional
        Prediction-powered win rates in which the machine's ratings have their full weight.
    rank_sets : dict of str to RankSet, optional
        Ranks by win rate that each system may have. With a probability of 95%, all sets in all criteria
        with preferences contain the true ranks at once. None if no win rate has an interval.
    powered : dict of str to PoweredSystem, optional
        What machines add to the win rate of each system, one by one and stacked.
    machine_win_rates : dict of str to dict, optional
        Win rate of each system by each machine's own ratings, of all units that it rated; each
        order and run counts. They say what the machine prefers, and nothing about humans.
    """

    win_rate: Estimates
    pairs: Estimates
    bradley_terry: Estimates | None = None
    bradley_terry_rank: Estimates | None = None
    elo: Estimates | None = None
    sep_elo: Estimates | None = None
    prediction_powered: dict[str, Estimates] | None = None
    counts: dict[str, PairCounts] | None = None
    simultaneous: SimultaneousSection | None = None
    win_or_tie: Estimates | None = None
    shared_ranks: dict[str, int] | None = None
    prediction_powered_lambda_1: dict[str, Estimates] | None = None
    rank_sets: dict[str, RankSet] | None = None
    powered: dict[str, PoweredSystem] | None = None
    machine_win_rates: dict[str, Estimates] | None = None


@dataclass(frozen=True)
class BradleyTerryFit:
    """How far the win rates of pairs are from those of Bradley and Terry's model.

    Attributes
    ----------
    p : Estimate
        p-value of the hypothesis that one strength for each system explains all win rates.
    difference : float
        Root mean square of the differences between observed and fitted win rates of pairs.
    pair : tuple of str
        The pair whose win rate differs most from the fitted one; empty without a fit.
    observed : float
        Win rate of the first system of this pair.
    fitted : float
        Its win rate by the model.
    """

    p: Estimate
    difference: ProportionOrNaN
    pair: tuple[str, ...]
    observed: ProportionOrNaN
    fitted: ProportionOrNaN


@dataclass(frozen=True)
class TransitivitySection:
    """Whether the systems can be put in one order.

    Attributes
    ----------
    triads : Triads
        Cyclic triads: three systems of which each beats the next.
    fit : BradleyTerryFit
        Fit of Bradley and Terry's model.
    """

    triads: Triads
    fit: BradleyTerryFit


@dataclass(frozen=True)
class ControlledWinRateSection:
    """Win rates with the length, Markdown and position of texts held equal.

    Attributes
    ----------
    win_rate : dict of str to Estimate
        Win rate of each system over all its comparisons, where a tie counts half.
    controlled : dict of str to Estimate
        Expected win rate over the same comparisons if both texts were equal in every covariate.
    strengths : dict of str to Estimate
        Bradley–Terry strengths with the covariates in the model.
    effects : dict of str to Estimate
        Change of the log odds of winning by covariate; undefined for those that were left out.
    """

    win_rate: Estimates
    controlled: Estimates
    strengths: Estimates
    effects: Estimates


@dataclass(frozen=True)
class DavidsonSection:
    """Strengths of systems in Davidson's model, in which a tie is an outcome of its own.

    Attributes
    ----------
    systems : dict of str to Estimate
        Log-strengths.
    tie : Estimate
        Probability that a comparison of two equally strong systems is a tie.
    """

    systems: Estimates
    tie: Estimate


@dataclass(frozen=True)
class MachineSuccess:
    """A system's success rate by one machine, alone and corrected by human ratings.

    Attributes
    ----------
    alone : Estimate
        Share of the machine's ratings that are successes, without any correction.
    powered : Estimate
        Prediction-powered rate, in which the weight λ of the machine's ratings is tuned.
    powered_lambda_1 : Estimate
        Prediction-powered rate in which they have full weight.
    n_labelled, n_unlabelled : int
        Number of units with a machine rating that have a human rating, and that have none.
    """

    alone: Estimate
    powered: Estimate
    powered_lambda_1: Estimate
    n_labelled: int
    n_unlabelled: int


@dataclass(frozen=True)
class SystemSuccess:
    """How often the texts of a system are a success, where texts are rated one by one.

    Attributes
    ----------
    human : Estimate
        Share of the human ratings that are successes.
    machines : dict of str to MachineSuccess
        The rate by each machine.
    """

    human: Estimate
    machines: dict[str, MachineSuccess]


@dataclass(frozen=True)
class KnownOrder:
    """Kendall's τ-b of success rates with an order of the systems that is known from elsewhere.

    Attributes
    ----------
    order : tuple of str
        The systems in the known order, best first.
    missing : tuple of str
        Those of them without ratings, which are left out.
    human : Estimate
        τ of the rates by human ratings.
    machines, powered, powered_lambda_1 : dict of str to Estimate
        τ of the rates by each machine: alone, and corrected by human ratings with tuned and full
        weight.
    """

    order: tuple[str, ...]
    missing: tuple[str, ...]
    human: Estimate
    machines: Estimates
    powered: Estimates
    powered_lambda_1: Estimates


@dataclass(frozen=True)
class SuccessRates:
    """Success rates of systems whose texts are rated one by one with two labels.

    Attributes
    ----------
    success : str
        The label that counts as a success.
    systems : dict of str to SystemSuccess
        The rates of each system.
    known_order : KnownOrder, optional
        Agreement with a known order of the systems, if there is one.
    """

    success: str
    systems: dict[str, SystemSuccess]
    known_order: KnownOrder | None = None


@dataclass(frozen=True)
class RobustnessSection:
    """How few ratings decide the ranking.

    Attributes
    ----------
    top : Robustness
        Ratings whose removal makes another system first by Bradley–Terry strength.
    top_by_win_rate : Robustness
        Ratings whose removal makes another system first by win rate.
    pairs : dict of str to Robustness
        Ratings whose removal turns the order of two systems in their direct comparisons.
    findings : dict of str to Robustness
        Ratings whose removal makes the interval of a pair's win rate include ½, for pairs where it
        excludes ½.
    """

    top: Robustness
    top_by_win_rate: Robustness
    pairs: dict[str, Robustness]
    findings: dict[str, Robustness]


@dataclass(frozen=True)
class PValuePoint:
    """p-values of a paired t-test in random subsets of one size.

    Attributes
    ----------
    instances : int
        Number of instances in each subset.
    median : float
        Median of the p-values.
    low : float
        5th percentile of the p-values.
    high : float
        95th percentile of the p-values.
    significant : float
        Share of p-values below 0.05.
    """

    instances: int
    median: Proportion
    low: Proportion
    high: Proportion
    significant: Proportion


@dataclass(frozen=True)
class PairedTests:
    """Tests of whether instances prefer one of two systems.

    Attributes
    ----------
    systems : tuple of str
        The two systems.
    instances : int
        Number of instances with a preference or tie.
    difference : float
        Mean over instances of the share of ratings that prefer the first system minus the share that
        prefers the second; NaN without instances.
    t_test : Estimate
        p-value of the paired t-test over instances.
    permutation_test : Estimate
        p-value of the test that flips the sign of each instance's difference at random.
    curve : tuple of PValuePoint
        p-values of the paired t-test by number of instances.
    reason : str, optional
        Why there is no curve.
    """

    systems: tuple[str, str]
    instances: int
    difference: Annotated[float, {"type": ["number", "null"], "minimum": -1, "maximum": 1}]
    t_test: Estimate
    permutation_test: Estimate
    curve: tuple[PValuePoint, ...]
    reason: str | None = None


@dataclass(frozen=True)
class CrossedSection:
    """Agreement in the units of one pair of systems on which annotators agree to some degree.

    Attributes
    ----------
    strata : tuple of StratumSection
        One for each pair and each class of agreement that has units. They describe: the classes are
        made from the same ratings, so that intervals speak of these annotators.
    pairs : dict of str to str
        The pair of each stratum, by the name of the stratum.
    pairs_left_out : int
        Number of further pairs, which have fewer units.
    """

    strata: tuple[StratumSection, ...]
    pairs: dict[str, str]
    pairs_left_out: int


@dataclass(frozen=True)
class NextPair:
    """Two systems that follow each other by win rate, and how large a study would part them.

    Numbers of instances and ratings are those of either system, in all its comparisons. Each is for a
    study with as many more raters, each of whom rates as much as now.

    Attributes
    ----------
    ahead, behind : str
        The system with the higher win rate, and the next one.
    difference : Estimate
        Difference of the win rates, with an interval that holds at once with those of all pairs.
    instances, ratings : int
        Present numbers.
    needed_instances, needed_ratings : int or None
        Numbers from which on the interval excludes 0 if the difference and the variance stay as they
        are. At most the present ones if it already does. None with a reason in `reason`.
    likely_instances : int or None
        Instances at which four of five studies part the systems if the difference is the true one;
        at `needed_instances`, about half do.
    least_instances : int or None
        `needed_instances` if the true difference is at the far end of its interval.
    reason : str, optional
        Why the numbers cannot be told.
    """

    ahead: str
    behind: str
    difference: Estimate
    instances: int
    ratings: int
    needed_instances: int | None
    needed_ratings: int | None
    likely_instances: int | None
    least_instances: int | None
    reason: str | None = None


@dataclass(frozen=True)
class LeaderboardSection:
    """Win rates of the systems by different accounts, and what would part those that are close.

    Attributes
    ----------
    win_rate : dict of str to Estimate
        Win rate of each system over all its comparisons, where a tie counts half.
    held_equal : tuple of str
        What is held equal in `controlled`.
    categories : dict of str to dict
        Win rate of each system in each category of the units; empty without several categories. They
        describe: no interval allows for the number of categories.
    categories_left_out : int
        Number of further categories, which have fewer units.
    next_pairs : tuple of NextPair
        Each two systems that follow each other, best first.
    controlled : dict of str to Estimate, optional
        The win rates with length, Markdown and position held equal, as far as they are known.
    controlled_reason : str, optional
        Why there are no controlled win rates.
    """

    win_rate: Estimates
    held_equal: tuple[str, ...]
    categories: dict[str, Estimates]
    categories_left_out: int
    next_pairs: tuple[NextPair, ...]
    controlled: Estimates | None = None
    controlled_reason: str | None = None


@dataclass(frozen=True)
class ReliabilitySection(ReliabilityBin):
    """A range of probabilities, with the share of human labels; it speaks of these annotators."""

    low: Proportion
    high: Proportion
    probability: ProportionOrNaN


@dataclass(frozen=True)
class DebiasingSection(PositionDebiasing):
    """What debiasing of the position changes; agreement speaks of these annotators."""

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
class RaterPair:
    """Agreement of two annotators on the units that both rated.

    Attributes
    ----------
    raters : tuple of str
        The two annotators.
    shared : int
        Number of units that both rated.
    agreement : float
        Share of these units with equal labels.
    kappa : Estimate
        Cohen's κ.
    """

    raters: tuple[str, str]
    shared: int
    agreement: Proportion
    kappa: Estimate


@dataclass(frozen=True)
class PairwiseAgreementSection:
    """Agreement of annotators two by two.

    Attributes
    ----------
    pairs : int
        Number of pairs of annotators with at least 10 common units.
    few_shared : int
        Number of pairs with fewer common units, which are left out.
    median : float
        Median over pairs of the share of equal labels; NaN without pairs.
    lowest : tuple of RaterPair
        The pairs with the lowest share of equal labels.
    reason : str, optional
        Why there are no pairs.
    """

    pairs: int
    few_shared: int
    median: ProportionOrNaN
    lowest: tuple[RaterPair, ...]
    reason: str | None = None


@dataclass(frozen=True)
class MeanCorrelations:
    """Correlation of units' mean ratings by humans and by a machine.

    Attributes
    ----------
    spearman : Estimate
        Spearman's ρ.
    kendall : Estimate
        Kendall's τ-b.
    """

    spearman: Estimate
    kendall: Estimate


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

    Each unit's machine was chosen on units of other folds. All parts are of the same units: those
    with two human ratings and an answer of every machine in `machines`.

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
        Agreement of each with one annotator at random; an unparsed answer is a disagreement.
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
        Level of each interval, so that all hold together with 95% (Bonferroni).
    reason : str, optional
        Why there is no pair.
    """

    pairs: dict[str, MachineDifference]
    confidence_level: float
    reason: str | None = None


@dataclass(frozen=True)
class BaselineChange:
    """Win rates against one baseline.

    Attributes
    ----------
    win_rates : dict of str to float
        Expected win rate of each system against the baseline; its own is ½. A system that was never
        compared with it is left out.
    correlation : float, optional
        Spearman's ρ of these win rates and those against all systems.
    reason : str, optional
        Why there is no correlation.
    """

    win_rates: dict[str, float]
    correlation: float | None = None
    reason: str | None = None


@dataclass(frozen=True)
class SplitHalves:
    """Rank correlation of systems' win rates between an open and a hidden half of the instances.

    Attributes
    ----------
    instances, splits : int
        Number of instances, and of random splits with a correlation.
    median, low, high : float, optional
        Median, 2.5% and 97.5% quantiles of Spearman's ρ over splits.
    same_first : float, optional
        Share of splits in which both halves have the same first system, or the same ones.
    reason : str, optional
        Why there is no correlation.
    """

    instances: int
    splits: int
    median: float | None = None
    low: float | None = None
    high: float | None = None
    same_first: float | None = None
    reason: str | None = None


@dataclass(frozen=True)
class RankStabilitySection:
    """How a ranking changes with the baseline, and between halves of the instances.

    Attributes
    ----------
    systems : tuple of str
        The systems.
    baselines : dict of str to BaselineChange
        Win rates with each system as the baseline.
    halves : SplitHalves
        What the ranking of one half says of the other.
    """

    systems: tuple[str, ...]
    baselines: dict[str, BaselineChange]
    halves: SplitHalves


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
    """

    schedule: str
    comparisons: int
    median: float
    low: float
    high: float


@dataclass(frozen=True)
class ComparisonBudget:
    """A machine's ranking of systems from fewer comparisons.

    Attributes
    ----------
    systems, instances : int
        Number of systems, and of instances on which all pairs were compared in both orders.
    curve : tuple of BudgetPoint
        Points by schedule and number of comparisons.
    reason : str, optional
        Why there is no curve.
    """

    systems: int
    instances: int
    curve: tuple[BudgetPoint, ...]
    reason: str | None = None


@dataclass(frozen=True)
class FatigueSection:
    """How human answers change over the sequence of a rater's items.

    Attributes
    ----------
    n_ratings : int
        Number of ratings whose position is known.
    agreement : Estimate
        Change of the share of answers that equal the most frequent label among the other humans, for
        10 items more.
    duration : Estimate
        Relative change of the time per answer, for 10 items more: −0.1 is a tenth faster.
    """

    n_ratings: int
    agreement: Estimate
    duration: Estimate


@dataclass(frozen=True)
class PairSelection:
    """Win rates of one pair of systems on drawn instances.

    Attributes
    ----------
    systems : tuple of str
        The two systems. Win rates are those of the first.
    instances : int
        Number of rated instances with a preference or tie.
    control : int
        Number of these instances that are in the control sample.
    without_preference : int
        Number of instances that are left out, because no rating says which system is better.
    win_rate : Estimate
        Win rate in which instances are weighted by their inverse inclusion probability.
    win_rate_control : Estimate
        Win rate in the control sample.
    instances_saved : Estimate
        Number of instances saved in comparison with a uniform draw.
    ratings_saved : Estimate
        Number of ratings saved in comparison with a uniform draw.
    """

    systems: tuple[str, str]
    instances: int
    control: int
    without_preference: int
    win_rate: Estimate
    win_rate_control: Estimate
    instances_saved: Estimate
    ratings_saved: Estimate


@dataclass(frozen=True, kw_only=True)
class PairComponents:
    """Variance components of the ratings of one pair of systems, from which a study can be planned.

    Attributes
    ----------
    systems : tuple of str
        The two systems, in alphabetical order.
    ratings : int
        Number of human ratings with a preference or tie.
    mean : float
        Mean share of the ratings that the first system wins, where a tie counts half.
    instance, unit, rater, rating : float
        Variance between instances, between units of an instance, between raters, and of a single
        rating; NaN if they cannot be estimated.
    notes : tuple of str
        Which components could not be separated.
    reason : str, optional
        Why there are no components.
    mixed : Estimate, optional
        Gain in ratings if 15% of units get two ratings and the others one, instead of two for all.
    stack : Estimate, optional
        Gain in instances if machines rate the whole dataset; None without machine ratings.
    explained : float
        Share of the variance between units and instances that the machines explain; 0 if the lower
        bound of `stack` does not exceed 1.
    active : Estimate, optional
        Further gain in instances, beside that of `stack`, if instances that machines doubt are drawn
        more often, with at least 0.9 times the probability of a uniform draw and a control sample of
        a fifth; None without machine ratings.
    """

    systems: tuple[str, str]
    ratings: int
    mean: ProportionOrNaN
    instance: ProportionOrNaN
    unit: ProportionOrNaN
    rater: ProportionOrNaN
    rating: ProportionOrNaN
    notes: tuple[str, ...] = ()
    reason: str | None = None
    mixed: Estimate | None = None
    stack: Estimate | None = None
    explained: Proportion = 0.0
    active: Estimate | None = None


@dataclass(frozen=True)
class Bias:
    """Position and length bias of human raters together, or of one machine.

    Attributes
    ----------
    position : Estimate
        P(the text shown first is preferred) − ½.
    length : Estimate
        P(the longer text is preferred) − P(the shorter text is preferred).
    """

    position: Estimate
    length: Estimate


@dataclass(frozen=True)
class BiasSection(Bias):
    """Position and length bias of humans, and of each machine.

    Attributes
    ----------
    machines : dict of str to Bias
        The same for each machine.
    """

    machines: dict[str, Bias]


@dataclass(frozen=True)
class SequencePoint:
    """A confidence sequence after a number of instances.

    Attributes
    ----------
    instances : int
        Number of complete instances that entered.
    ratings : int
        Number of ratings of these instances.
    low, high : float
        Ends of the interval; NaN if every win rate is excluded.
    """

    instances: int
    ratings: int
    low: ProportionOrNaN
    high: ProportionOrNaN


@dataclass(frozen=True)
class NeededInstances:
    """A forecast of the number of instances at which a confidence sequence reaches a target.

    Attributes
    ----------
    instances : int, optional
        Number of instances, counting those that entered; missing if no forecast reaches it.
    width : float, optional
        The target width; missing if the target is to exclude ½.
    """

    instances: int | None = None
    width: float | None = None


@dataclass(frozen=True, kw_only=True)
class PairSequence:
    """Confidence sequence for the win rate of one pair of systems.

    Attributes
    ----------
    systems : tuple of str
        The two systems, in alphabetical order. The win rate is that of the first.
    planned : int
        Number of planned instances.
    complete : int
        Number of instances with all their planned ratings.
    held_back : int
        Number of complete instances that wait, because they follow an unfinished one.
    win_rate : Estimate
        Mean win share over the instances that entered, with the interval after the last of them.
    of_dataset : Estimate, optional
        The same mean with an interval for the planned instances alone, which are drawn without
        replacement. Missing if instances were drawn with probabilities.
    excluded_half_after : int, optional
        Number of instances after which the interval excluded ½ for the first time.
    path : tuple of SequencePoint
        The interval after some numbers of instances, the last of which is the current one.
    needed : tuple of NeededInstances
        Forecasts for several widths and for excluding ½; empty with few instances.
    """

    systems: tuple[str, str]
    planned: int
    complete: int
    held_back: int
    win_rate: Estimate
    of_dataset: Estimate | None = None
    excluded_half_after: int | None = None
    path: tuple[SequencePoint, ...]
    needed: tuple[NeededInstances, ...] = ()


@dataclass(frozen=True, kw_only=True)
class StoppingSection:
    """How far the study is, and what may be concluded before it is complete.

    Only a server knows this section, because files of ratings have no plan. The other intervals of
    a report hold for one look at the planned number of responses; these hold at every look.

    Attributes
    ----------
    is_reached : bool
        Whether the number of responses that was planned at opening is reached.
    responses : int
        Number of completed responses.
    planned_responses : int
        Number of responses that was planned when the study opened.
    statements : int
        Number of pairs of systems times main criteria, over which the error level is split.
    confidence_level : float
        Confidence level of each sequence, so that all hold together with 95%.
    pairs : dict of str to PairSequence
        The sequence of each pair of systems, by the names of the pairs in `systems`.
    reason : str, optional
        Why there are no sequences.
    """

    is_reached: bool
    responses: int
    planned_responses: int
    statements: int
    confidence_level: Proportion
    pairs: dict[str, PairSequence]
    reason: str | None = None


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


@dataclass(frozen=True, kw_only=True)
class CriterionSection:
    """Statistics of one criterion. A part that could not be computed is empty or left out.

    Attributes
    ----------
    scale : str
        Specification of the scale.
    scale_inferred : bool
        Whether the scale was inferred from the labels because none was declared.
    level : {"nominal", "ordinal", "interval", "ratio"}
        Level of measurement.
    labels : tuple of int, float or str
        Labels that are counted.
    n_units : int
        Number of units.
    n_ratings : int
        Number of human ratings.
    n_machine_ratings : int
        Number of machine ratings that could be parsed.
    n_unparsed : int
        Number of answers that could not be parsed.
    resampling : {"unit", "instance"}
        What intervals resample.
    votes : dict of str to int
        Number of times that humans gave each label.
    strata : tuple of StratumSection
        Agreement per stratum; the first stratum has all units.
    perception : tuple of PerceptionBin
        Labels by majority label.
    perception_by_systems : dict of str to tuple of PerceptionBin
        Labels by majority label for each pair of systems, if there are several pairs.
    raters : dict of str to RaterSection
        Ratings of each rater.
    self_consistency : SelfConsistencySection, optional
        Planned repeats that were answered alike.
    chance_corrected : ChanceCorrectedSection, optional
        Further coefficients of agreement among humans, of all units together.
    alternative_annotator_test : dict of str to AnnotatorTestSection, optional
        For each machine, whether it may replace one of these annotators.
    dawid_skene : DawidSkeneSection, optional
        Estimates of each human's probability of each label, given the true label.
    rating_sets : RatingSetsSection, optional
        Rating sets, for preferences.
    systems : SystemsSection, optional
        Rankings of the systems, for preferences.
    selection : dict of str to PairSelection, optional
        Win rates of each pair of systems on drawn instances, for preferences.
    bias : BiasSection, optional
        Position and length bias, for preferences.
    planning : dict of str to PairComponents, optional
        Variance components of each pair of systems, for preferences.
    stopping : StoppingSection, optional
        What may be concluded while the study runs, for studies of a server.
    transitivity : TransitivitySection, optional
        Whether the systems can be put in one order, for preferences.
    fatigue : FatigueSection, optional
        How human answers change over the sequence of a rater's items.
    mean_correlations : dict of str to MeanCorrelations, optional
        Correlation of units' mean ratings with each machine, for ordered labels.
    composite : CompositeSection, optional
        The best machine of each category, chosen on other units, if it was asked for.
    machine_differences : MachineDifferencesSection, optional
        Differences between machines' agreement with annotators, if they were asked for.
    rank_stability : dict of str to RankStabilitySection, optional
        How the ranking changes with baseline and instances, by annotators and each machine, for
        preferences, if it was asked for.
    comparison_budget : dict of str to ComparisonBudget, optional
        Each machine's ranking from fewer comparisons, for preferences, if it was asked for.
    machine_replacement : tuple of ReplacementStratum, optional
        Where each machine may replace an annotator, if it was asked for.
    pairs_by_agreement : CrossedSection, optional
        Agreement by pair of systems crossed with agreement, if it was asked for.
    pairwise_agreement : PairwiseAgreementSection, optional
        Agreement of annotators two by two, if it was asked for.
    drop_one_influence : dict of str to Influence, optional
        Krippendorff's α without each annotator, if it was asked for.
    paired_tests : dict of str to PairedTests, optional
        Paired tests of each pair of systems, for preferences, if they were asked for.
    robustness : RobustnessSection, optional
        How few ratings decide the ranking, for preferences, if it was asked for.
    success_rates : SuccessRates, optional
        Success rates of systems whose texts are rated one by one, for scales with two labels.
    controlled_win_rate : ControlledWinRateSection, optional
        Win rates with length and style held equal, for preferences, if they were asked for.
    davidson : DavidsonSection, optional
        Strengths with ties as an outcome of their own, for preferences, if they were asked for.
    discernment : DiscernmentSection, optional
        Whether raters notice perturbed copies, if it was asked for.
    leaderboard : LeaderboardSection, optional
        Win rates held equal and by category, and what parts the next two, if it was asked for.
    machine_probabilities : dict of str to MachineProbabilities, optional
        Calibration and debiasing of each machine with probabilities, if it was asked for.
    problems : dict of str to str
        Parts that could not be computed, by name, with the reasons.
    """

    scale: str
    scale_inferred: bool
    level: Level
    labels: tuple[Label, ...]
    n_units: int
    n_ratings: int
    n_machine_ratings: int
    n_unparsed: int
    resampling: Literal["unit", "instance"]
    votes: Votes
    strata: Annotated[tuple[StratumSection, ...], {"minItems": 1}]
    perception: tuple[PerceptionBin, ...]
    perception_by_systems: dict[str, tuple[PerceptionBin, ...]]
    raters: dict[str, RaterSection]
    self_consistency: SelfConsistencySection | None = None
    chance_corrected: ChanceCorrectedSection | None = None
    alternative_annotator_test: dict[str, AnnotatorTestSection] | None = None
    dawid_skene: DawidSkeneSection | None = None
    rating_sets: RatingSetsSection | None = None
    systems: SystemsSection | None = None
    selection: dict[str, PairSelection] | None = None
    bias: BiasSection | None = None
    planning: dict[str, PairComponents] | None = None
    stopping: StoppingSection | None = None
    transitivity: TransitivitySection | None = None
    fatigue: FatigueSection | None = None
    mean_correlations: dict[str, MeanCorrelations] | None = None
    composite: CompositeSection | None = None
    machine_differences: MachineDifferencesSection | None = None
    rank_stability: dict[str, RankStabilitySection] | None = None
    comparison_budget: dict[str, ComparisonBudget] | None = None
    machine_replacement: tuple[ReplacementStratum, ...] | None = None
    pairs_by_agreement: CrossedSection | None = None
    pairwise_agreement: PairwiseAgreementSection | None = None
    drop_one_influence: dict[str, Influence] | None = None
    paired_tests: dict[str, PairedTests] | None = None
    robustness: RobustnessSection | None = None
    success_rates: SuccessRates | None = None
    controlled_win_rate: ControlledWinRateSection | None = None
    davidson: DavidsonSection | None = None
    leaderboard: LeaderboardSection | None = None
    machine_probabilities: dict[str, MachineProbabilities] | None = None
    discernment: DiscernmentSection | None = None
    problems: Problems

    @property
    def all_units(self) -> StratumSection:
        """The stratum of all units."""
        return self.strata[0]


# The sections that a criterion has only if it allows them, or if they were asked for.
OPTIONAL_SECTIONS = tuple(part.name for part in fields(CriterionSection) if part.default is None)


@dataclass(frozen=True)
class AnalysisPlan:
    """What researchers fixed before the study opened.

    Attributes
    ----------
    main_criteria : tuple of str
        The criteria on which the study decides; empty for all.
    estimands : str
        What is estimated, in words.
    exclusions : str
        The rule by which people or ratings are left out, in words.
    stopping_rule : str
        When collecting ends.
    target_width : float, optional
        Target width of the interval.
    known_order : tuple of str
        An order of the systems that is known from elsewhere, best first; empty if there is none.
    """

    main_criteria: tuple[str, ...]
    estimands: str
    exclusions: str
    stopping_rule: str
    target_width: float | None = None
    known_order: tuple[str, ...] = ()


@dataclass(frozen=True)
class Report:
    """Report of a study's ratings.

    Attributes
    ----------
    report_version : int
        Version of the report's format.
    seed : int
        Seed of all intervals.
    replicates : int
        Number of bootstrap replicates, or 0 for no intervals.
    source : SourceSection
        Origin and number of the ratings.
    simulated : bool
        Whether any of the ratings was given by a program that simulates annotators.
    criteria_order : tuple of str
        The criteria in the order of the study or file.
    criteria : dict of str to CriterionSection
        Statistics of each criterion.
    problems : dict of str to str
        Criteria that could not be analyzed, by name, with the reasons.
    plan : AnalysisPlan, optional
        What was fixed before the study opened. Main criteria come first in `criteria_order`.

    See Also
    --------
    build_report : Build the report of a table of ratings.
    """

    report_version: Version
    seed: Seed
    replicates: int
    source: SourceSection
    simulated: bool
    criteria_order: Annotated[tuple[str, ...], {"uniqueItems": True}]
    criteria: dict[str, CriterionSection]
    problems: Problems
    plan: AnalysisPlan | None = None

    def as_json(self) -> dict[str, Any]:
        """Return the report as a dictionary that can be written as JSON.

        Returns
        -------
        dict of str to object
            Report as described by report.schema.json. NaN becomes None.
        """
        return dict(to_json(self))

    @classmethod
    def from_json(cls, data: dict[str, Any]) -> Self:
        """Return a report that was stored as JSON.

        Parameters
        ----------
        data : dict of str to object
            What `as_json` returned. Its keys may have another order.

        Returns
        -------
        Report
            The report, with its criteria in their order.
        """
        criteria = {name: data["criteria"][name] for name in data["criteria_order"]}
        report: Self = from_json(cls, data | {"criteria": criteria})
        return report
