"""Statistics for human preference studies: functions take arrays and return result objects.

Functions take counts (units × labels) or aligned vectors. They return an `Estimate` or a frozen
dataclass that contains several estimates. An estimate has a value, an interval, the number of units
used, and a reason if the value or the interval is undefined.

If ``clusters``, of shape (n_units,), names the instance of each unit, the bootstrap resamples
instances; otherwise it resamples units. ``weights`` are above 0, such as the inverse of the
probability with which an instance was drawn. Only their ratios count, and equal weights change
nothing.

Functions with ``**resampling`` take the options of the bootstrap as keyword arguments: ``rng``, a
`numpy.random.Generator` (omit it for no interval); ``replicates``, 10,000 by default;
``confidence_level``, 0.95 by default; and ``batch``, the number of replicates in memory at a time,
which does not affect the results.

The documentation (``docs/methods.md``) lists the statistics by topic and says what each estimates.
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

# Sorted by topic, as the reference lists them, not alphabetically.
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
