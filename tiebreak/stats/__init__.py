"""Statistics for human preference studies: functions take arrays and return result objects.

Functions take counts (units × labels) or aligned vectors. They return an `Estimate` or a frozen
dataclass that contains several estimates. An estimate has a value, an interval, the number of units
used, and a reason if the value or the interval is undefined. If ``clusters`` names the
instance of each unit, the bootstrap resamples instances; otherwise it resamples units.

Functions with ``**resampling`` take the options of the bootstrap as keyword arguments: ``rng``, a
`numpy.random.Generator` (omit it for no interval); ``replicates``, 10,000 by default;
``confidence_level``, 0.95 by default; and ``batch``, the number of replicates in memory at a time,
which does not affect the results.

Agreement among raters
======================
krippendorff_alpha    Krippendorff's α, for any level of measurement and missing ratings
percentage_agreement  mean share of a unit's ratings that give its modal or median label
randolph_kappa        Randolph's free-marginal κ
fleiss_kappa          Fleiss' κ, for any number of ratings per unit
cohen_kappa           Cohen's κ between two raters
gwet_ac               Gwet's AC1 and AC2, which hold up where one label prevails
brennan_prediger      agreement beyond that of equally probable labels, with weights
weighted_cohen_kappa  Cohen's κ with linear or quadratic weights
weighted_fleiss_kappa  Fleiss' κ with linear or quadratic weights
conger_kappa          Cohen's κ for more than two raters, with weights
intraclass_correlation  share of the variance of ratings that lies between units
majority_agreement    how often two groups of raters have the same majority label
spearman_brown        reliability of the mean of several ratings
leave_one_out         probability that a rating equals the mode of the unit's other ratings
agreement             α, percentage agreement, Randolph's and Fleiss' κ and leave-one-out together
Agreement             what `agreement` returns

Single raters
=============
pairwise_agreement  share of equal labels and Cohen's κ for each pair of raters
PairwiseAgreement   what `pairwise_agreement` returns
drop_one_influence  how α changes when each rater is left out
Influence           what `drop_one_influence` returns for a rater
self_consistency    share of planned repeats that each rater answered the same way
rater_variance      how much raters differ in what they prefer
RaterVariance       what `rater_variance` returns
dawid_skene         true labels and raters' confusion matrices by expectation-maximisation
DawidSkene          what `dawid_skene` returns

Humans against machines
=======================
Comparison            ratings of humans and one machine on the same units, reduced once
human_machine         agreement and correlation of the human majority with the machine's majority
single_human_machine  the same for a random single human
machine_machine       agreement among the machine's runs
delta                 agreement among humans minus agreement of humans with the machine
random_baseline       agreement and correlation that uniformly drawn labels would reach
rank_correlation      Spearman's ρ or Kendall's τ-b of medians or means
binned_js             Jensen–Shannon distance of label distributions by human majority
jensen_shannon        Jensen–Shannon distance or divergence of two distributions
classification        accuracy, precision, recall and F1 of the machine
HumanMachine          what `human_machine` and its relatives return
Classification        what `classification` returns

calibration                 whether a machine's probabilities fit the shares of human labels
Calibration                 what `calibration` returns
ReliabilityBin              the units of one range of probabilities
position_debiasing          what debiasing changes in a judge's agreement with humans
PositionDebiasing           what `position_debiasing` returns
debiasing_threshold         threshold at which half of the answers prefer the text shown first
prior_shift                 factor on the odds that makes the mean probability ½

alternative_annotator_test  whether the machine may replace an annotator
AlternativeAnnotatorTest    what `alternative_annotator_test` returns
composite_shares            the best machine of each category, for new units
cross_validated_composite   the best machine of each category, chosen on other units
Composite                   what `cross_validated_composite` returns
jury                        label of several raters together for each unit
Jury                        what `jury` returns
JuryRule                    how a jury decides
noise_ceiling               the most that any machine could agree with one annotator
agreement_with_machine      for each human label whether the machine's is the same
agreement_drift             whether a machine agrees less often than it did, looked at after every label
AgreementDrift              what `agreement_drift` returns

Rankings of systems
===================
outcome_counts     counts on a preference scale, converted to wins of A, ties and wins of B
win_rate           expected win rate of system A
win_rates          expected win rates of any number of systems
WinRates           what `win_rates` returns
bradley_terry      strengths by maximum likelihood in the Bradley–Terry or Davidson's model
BradleyTerry       what `bradley_terry` returns
controlled_win_rates  win rates with length and other covariates held equal
Controlled         what `controlled_win_rates` returns
elo                expected Elo ratings over random orders; SEP-Elo with separabilities
separability_step  the step size of a game in SEP-Elo
Elo                what `elo` returns
EloConstants       K, α, β and T, with the published values as defaults
ranks              ranks with bootstrap intervals
joint_ranks        ranks with intervals from the joint errors of the scores
shared_ranks       ranks, shared by systems whose intervals overlap
rank_sets          ranks that each system may have, simultaneously
RankSet            what `rank_sets` returns for a system
system_difference  difference of two systems, and the margins within which they are equally good
SystemDifference   what `system_difference` returns
smallest_difference  what difference of two systems a study of this size can show
neighbours         how large a study would separate adjacent systems
Neighbours         what `neighbours` returns for two systems
joint_confidence_level  the level of single intervals that hold simultaneously
RatedMean          ratings with a mean, which these three functions take
top_robustness     a small set of ratings whose removal puts another system first
pair_robustness    the fewest ratings whose removal reverses the order of two systems
interval_robustness  ratings whose removal makes an interval include a value
Robustness         what the first two functions return
RemovedRatings     ratings of one kind in such a set
cyclic_triads      share of three systems of which each beats the next
Triads             what `cyclic_triads` returns
bradley_terry_fit  whether one strength for each system explains the win rates of all pairs
ModelFit           what `bradley_terry_fit` returns
schedule           which pairs of candidates to compare
win_loss_ratio     share of comparisons that each candidate won

Rating sets
===========
consistency                  consistency of one rating set
collect_rating_sets          rating sets from a long table of ratings
RatingSets                   what `collect_rating_sets` returns
summarise_rating_sets        mean consistency and preference strength, and shares of extreme sets
RatingSetSummary             what `summarise_rating_sets` returns
consistency_by_separability  the same for each range of separability
SeparabilityRange            what `consistency_by_separability` returns for a range

Bias and discernment
====================
position_bias          preference for the text shown first
length_bias            preference for the longer text
family_bias            a judge's preference for texts of its own model family, beside people's
FamilyBias             what `family_bias` returns
position_slope         change of an outcome over the positions of a rater's sequence
discernment            whether a rater sees a perturbation of a text
Discernment            what `discernment` returns
harmonic_mean_p        weighted harmonic mean of p-values
discernment_score      discernment score D of a p-value
summarise_discernment  mean and minimum of D over perturbations
DiscernmentSummary     what `summarise_discernment` returns

Separability of systems on an instance
======================================
separability             separability δ from similarities of generations
Separability             what `separability` returns
normalised_separability  δ from min–max normalised alignments
NormalisedSeparability   what `normalised_separability` returns
range_edges              edges of ranges of equal width
range_of                 the range that contains each δ

Selection of instances
======================
select            a draw of instances with known inclusion probabilities
Selection         what `select` returns
logistic_weights  weights for a draw that increase with δ on a logistic curve
floored_weights   weights for a draw that are proportional to δ, plus a constant
pooled_doubts     how much machine raters together doubt each instance
expected_deviations  how far labels depart from predictions at each doubt, from a pilot
bounded_densities    weights in proportion to deviations, none far below those of a uniform draw
hajek_estimate    a mean or ratio from instances drawn with unequal probabilities
instances_saved   number of instances that the draw saved, with an interval
ratings_saved     number of instances that the draw saved, from two estimates

Inference with few labels
=========================
prediction_powered_mean      mean human label, estimated with the help of machine labels
prediction_powered_win_rate  the same for the win rate of system A
PredictionPowered            what both functions return
stacked_mean                 mean human label, estimated with the help of several machines
stacked_win_rate             the same for the win rate of system A
StackedMean                  what both functions return
effective_sample_size        how many human labels an estimate with the help of machines is worth
cross_fitted_slopes          how much weight machine labels get where instances were drawn

Tests and intervals
===================
paired_t_test            two-sided t test of a mean difference of 0
permutation_test         two-sided sign-flip test of a mean difference of 0
p_value_curve            p-values by number of instances
PValueCurve              what `p_value_curve` returns
two_way_interval         an interval that allows for other instances and other raters
two_way_mean             the same for a mean over ratings, such as a win rate
agreement_contributions  what each rating contributes to a statistic of agreement
confidence_sequence      intervals of a mean that stay valid however often one looks
ConfidenceSequence       what `confidence_sequence` returns
StopDecision             whether collection may stop

Design of a study
=================
variance_components  variances between instances, units, raters and ratings in a pilot study
VarianceComponents   what `variance_components` returns
design_grid          number of instances by units per instance and ratings per unit
DesignOption         what `design_grid` returns for a design
mixed_gain           gain of rating most units once, estimated from a pilot
stack_gain           gain of correcting labels by machine labels, estimated from a pilot
active_design        a draw of instances that machines doubt, with its gain, estimated from a pilot
ActiveDesign         what `active_design` returns
draw_gain            gain of any draw of instances, estimated from a pilot
explained_share      share of the variance between units that machine labels explain

Strata of units
===============
Stratum              units of one class
all_units            every unit
agreement_strata     units by their percentage agreement
unique_label_strata  units by their number of distinct labels
key_strata           units by any key, such as a category
separability_strata  units by range of separability
AGREEMENT_STRATA     names of the strata that `agreement_strata` returns

Data and results
================
Scale          labels of a criterion and their level of measurement
infer_scale    the scale that a set of labels suggests
count_matrix   counts (units × labels) from a long table of ratings
Patterns       counts reduced to their distinct rows
generator_for  a random generator from a seed and names
Estimate       a value with its interval, or the reason why there is no value or interval
undefined      an undefined estimate, with its reason
"""

from tiebreak.field_docs import list_fields
from tiebreak.scales import Scale, infer_scale
from tiebreak.stats.core.bootstrap import generator_for
from tiebreak.stats.core.counts import Patterns, count_matrix
from tiebreak.stats.core.ranges import range_edges, range_of
from tiebreak.stats.core.results import Estimate, undefined
from tiebreak.stats.core.simultaneous import (
    RankSet,
    RatedMean,
    joint_confidence_level,
    rank_sets,
)
from tiebreak.stats.core.two_way import two_way_interval, two_way_mean
from tiebreak.stats.design.confidence_sequences import (
    ConfidenceSequence,
    StopDecision,
    confidence_sequence,
)
from tiebreak.stats.design.design_grid import DesignOption, design_grid
from tiebreak.stats.design.hajek import hajek_estimate, instances_saved, ratings_saved
from tiebreak.stats.design.pilot_gains import (
    ActiveDesign,
    active_design,
    draw_gain,
    explained_share,
    mixed_gain,
    stack_gain,
)
from tiebreak.stats.design.sample_size import VarianceComponents, variance_components
from tiebreak.stats.design.schedules import schedule, win_loss_ratio
from tiebreak.stats.design.selection import Selection, floored_weights, logistic_weights, select
from tiebreak.stats.design.separability import (
    NormalisedSeparability,
    Separability,
    normalised_separability,
    separability,
)
from tiebreak.stats.design.size_to_separate import Neighbours, neighbours, smallest_difference
from tiebreak.stats.machines.active_sampling import (
    bounded_densities,
    expected_deviations,
    pooled_doubts,
)
from tiebreak.stats.machines.agreement_drift import (
    AgreementDrift,
    agreement_drift,
    agreement_with_machine,
)
from tiebreak.stats.machines.alternative_annotators import (
    AlternativeAnnotatorTest,
    alternative_annotator_test,
)
from tiebreak.stats.machines.calibration import Calibration, ReliabilityBin, calibration
from tiebreak.stats.machines.classification import Classification
from tiebreak.stats.machines.comparison import Comparison
from tiebreak.stats.machines.composite import (
    Composite,
    composite_shares,
    cross_validated_composite,
)
from tiebreak.stats.machines.debiasing import (
    PositionDebiasing,
    debiasing_threshold,
    position_debiasing,
    prior_shift,
)
from tiebreak.stats.machines.discernment import (
    Discernment,
    DiscernmentSummary,
    discernment,
    discernment_score,
    harmonic_mean_p,
    summarise_discernment,
)
from tiebreak.stats.machines.family_bias import FamilyBias, family_bias
from tiebreak.stats.machines.human_machine import (
    HumanMachine,
    binned_js,
    classification,
    delta,
    human_machine,
    machine_machine,
    random_baseline,
    rank_correlation,
    single_human_machine,
)
from tiebreak.stats.machines.jury import Jury, JuryRule, jury
from tiebreak.stats.machines.noise_ceiling import noise_ceiling
from tiebreak.stats.machines.prediction_powered import (
    PredictionPowered,
    prediction_powered_mean,
    prediction_powered_win_rate,
)
from tiebreak.stats.machines.stacked_prediction import (
    StackedMean,
    cross_fitted_slopes,
    effective_sample_size,
    stacked_mean,
    stacked_win_rate,
)
from tiebreak.stats.rankings.bradley_terry import BradleyTerry, bradley_terry
from tiebreak.stats.rankings.controlled import Controlled, controlled_win_rates
from tiebreak.stats.rankings.elo import Elo, EloConstants, elo, separability_step
from tiebreak.stats.rankings.equivalence import SystemDifference, system_difference
from tiebreak.stats.rankings.paired_tests import (
    PValueCurve,
    p_value_curve,
    paired_t_test,
    permutation_test,
)
from tiebreak.stats.rankings.ranks import joint_ranks, ranks, shared_ranks
from tiebreak.stats.rankings.robustness import (
    RemovedRatings,
    Robustness,
    interval_robustness,
    pair_robustness,
    top_robustness,
)
from tiebreak.stats.rankings.transitivity import ModelFit, Triads, bradley_terry_fit, cyclic_triads
from tiebreak.stats.rankings.win_rates import WinRates, outcome_counts, win_rate, win_rates
from tiebreak.stats.raters.agreement import (
    Agreement,
    agreement,
    cohen_kappa,
    fleiss_kappa,
    krippendorff_alpha,
    percentage_agreement,
    randolph_kappa,
)
from tiebreak.stats.raters.bias import length_bias, position_bias
from tiebreak.stats.raters.chance_corrected import (
    brennan_prediger,
    gwet_ac,
    weighted_fleiss_kappa,
)
from tiebreak.stats.raters.contributions import agreement_contributions
from tiebreak.stats.raters.dawid_skene import DawidSkene, dawid_skene
from tiebreak.stats.raters.intraclass import intraclass_correlation
from tiebreak.stats.raters.jensen_shannon import jensen_shannon
from tiebreak.stats.raters.leave_one_out import leave_one_out
from tiebreak.stats.raters.majority import majority_agreement, spearman_brown
from tiebreak.stats.raters.position_slopes import position_slope
from tiebreak.stats.raters.rater_agreement import (
    Influence,
    PairwiseAgreement,
    drop_one_influence,
    pairwise_agreement,
    self_consistency,
)
from tiebreak.stats.raters.rater_variance import RaterVariance, rater_variance
from tiebreak.stats.raters.rating_sets import (
    RatingSets,
    RatingSetSummary,
    SeparabilityRange,
    collect_rating_sets,
    consistency,
    consistency_by_separability,
    summarise_rating_sets,
)
from tiebreak.stats.raters.strata import (
    AGREEMENT_STRATA,
    Stratum,
    agreement_strata,
    all_units,
    key_strata,
    separability_strata,
    unique_label_strata,
)
from tiebreak.stats.raters.weighted_kappa import conger_kappa, weighted_cohen_kappa

# Sorted by topic, like the list in the docstring, not alphabetically.
__all__ = [  # noqa: RUF022
    # Agreement among raters
    "krippendorff_alpha",
    "percentage_agreement",
    "randolph_kappa",
    "fleiss_kappa",
    "cohen_kappa",
    "gwet_ac",
    "brennan_prediger",
    "weighted_cohen_kappa",
    "weighted_fleiss_kappa",
    "conger_kappa",
    "intraclass_correlation",
    "majority_agreement",
    "spearman_brown",
    "leave_one_out",
    "agreement",
    "Agreement",
    # Single raters
    "pairwise_agreement",
    "PairwiseAgreement",
    "drop_one_influence",
    "Influence",
    "self_consistency",
    "rater_variance",
    "RaterVariance",
    "dawid_skene",
    "DawidSkene",
    # Humans against machines
    "Comparison",
    "human_machine",
    "single_human_machine",
    "machine_machine",
    "delta",
    "random_baseline",
    "rank_correlation",
    "binned_js",
    "jensen_shannon",
    "classification",
    "HumanMachine",
    "Classification",
    "calibration",
    "Calibration",
    "ReliabilityBin",
    "position_debiasing",
    "PositionDebiasing",
    "debiasing_threshold",
    "prior_shift",
    "alternative_annotator_test",
    "AlternativeAnnotatorTest",
    "composite_shares",
    "cross_validated_composite",
    "Composite",
    "jury",
    "Jury",
    "JuryRule",
    "noise_ceiling",
    "agreement_with_machine",
    "agreement_drift",
    "AgreementDrift",
    # Rankings of systems
    "outcome_counts",
    "win_rate",
    "win_rates",
    "WinRates",
    "bradley_terry",
    "BradleyTerry",
    "controlled_win_rates",
    "Controlled",
    "elo",
    "separability_step",
    "Elo",
    "EloConstants",
    "ranks",
    "joint_ranks",
    "shared_ranks",
    "rank_sets",
    "RankSet",
    "system_difference",
    "SystemDifference",
    "smallest_difference",
    "neighbours",
    "Neighbours",
    "joint_confidence_level",
    "RatedMean",
    "top_robustness",
    "pair_robustness",
    "interval_robustness",
    "Robustness",
    "RemovedRatings",
    "cyclic_triads",
    "Triads",
    "bradley_terry_fit",
    "ModelFit",
    "schedule",
    "win_loss_ratio",
    # Rating sets
    "consistency",
    "collect_rating_sets",
    "RatingSets",
    "summarise_rating_sets",
    "RatingSetSummary",
    "consistency_by_separability",
    "SeparabilityRange",
    # Bias and discernment
    "position_bias",
    "length_bias",
    "family_bias",
    "FamilyBias",
    "position_slope",
    "discernment",
    "Discernment",
    "harmonic_mean_p",
    "discernment_score",
    "summarise_discernment",
    "DiscernmentSummary",
    # Separability of systems on an instance
    "separability",
    "Separability",
    "normalised_separability",
    "NormalisedSeparability",
    "range_edges",
    "range_of",
    # Selection of instances
    "select",
    "Selection",
    "logistic_weights",
    "floored_weights",
    "pooled_doubts",
    "expected_deviations",
    "bounded_densities",
    "hajek_estimate",
    "instances_saved",
    "ratings_saved",
    # Inference with few labels
    "prediction_powered_mean",
    "prediction_powered_win_rate",
    "PredictionPowered",
    "stacked_mean",
    "stacked_win_rate",
    "StackedMean",
    "effective_sample_size",
    "cross_fitted_slopes",
    # Tests and intervals
    "paired_t_test",
    "permutation_test",
    "p_value_curve",
    "PValueCurve",
    "two_way_interval",
    "two_way_mean",
    "agreement_contributions",
    "confidence_sequence",
    "ConfidenceSequence",
    "StopDecision",
    # Design of a study
    "variance_components",
    "VarianceComponents",
    "design_grid",
    "DesignOption",
    "mixed_gain",
    "stack_gain",
    "active_design",
    "ActiveDesign",
    "draw_gain",
    "explained_share",
    # Strata of units
    "Stratum",
    "all_units",
    "agreement_strata",
    "unique_label_strata",
    "key_strata",
    "separability_strata",
    "AGREEMENT_STRATA",
    # Data and results
    "Scale",
    "infer_scale",
    "count_matrix",
    "Patterns",
    "generator_for",
    "Estimate",
    "undefined",
]

list_fields(globals())
