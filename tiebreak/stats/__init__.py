"""The numerics: arrays in, result objects out. No Django, no database, no clock."""

from tiebreak.scales import Scale, infer_scale
from tiebreak.stats.agreement import (
    Agreement,
    agreement,
    cohen_kappa,
    fleiss_kappa,
    krippendorff_alpha,
    percentage_agreement,
    randolph_kappa,
)
from tiebreak.stats.bias import length_bias, position_bias
from tiebreak.stats.bootstrap import generator_for
from tiebreak.stats.bradley_terry import BradleyTerry, bradley_terry
from tiebreak.stats.classification import Classification
from tiebreak.stats.confidence_sequences import (
    ConfidenceSequence,
    StopDecision,
    confidence_sequence,
)
from tiebreak.stats.counts import Patterns, count_matrix
from tiebreak.stats.dawid_skene import DawidSkene, dawid_skene
from tiebreak.stats.discernment import (
    Discernment,
    DiscernmentSummary,
    discernment,
    discernment_score,
    harmonic_mean_p,
    summarise_discernment,
)
from tiebreak.stats.elo import Elo, elo, separability_step
from tiebreak.stats.hajek import hajek_estimate, instances_saved, ratings_saved
from tiebreak.stats.human_machine import (
    Comparison,
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
from tiebreak.stats.jensen_shannon import jensen_shannon
from tiebreak.stats.leave_one_out import leave_one_out
from tiebreak.stats.paired_tests import PValueCurve, p_value_curve, paired_t_test, permutation_test
from tiebreak.stats.prediction_powered import (
    PredictionPowered,
    prediction_powered_mean,
    prediction_powered_win_rate,
)
from tiebreak.stats.rankings import WinRates, outcome_counts, win_rate, win_rates
from tiebreak.stats.ranks import ranks, shared_ranks
from tiebreak.stats.rater_agreement import (
    Influence,
    PairwiseAgreement,
    drop_one_influence,
    pairwise_agreement,
    self_consistency,
)
from tiebreak.stats.rating_sets import (
    RatingSets,
    RatingSetSummary,
    SeparabilityRange,
    collect_rating_sets,
    consistency,
    consistency_by_separability,
    summarise_rating_sets,
)
from tiebreak.stats.results import Estimate, undefined
from tiebreak.stats.sample_size import (
    PlannedStudy,
    SampleSize,
    VarianceComponents,
    sample_size,
    variance_components,
)
from tiebreak.stats.schedules import schedule, win_loss_ratio
from tiebreak.stats.selection import Selection, floored_weights, logistic_weights, select
from tiebreak.stats.separability import (
    NormalisedSeparability,
    Separability,
    normalised_separability,
    range_edges,
    range_of,
    separability,
)
from tiebreak.stats.strata import (
    AGREEMENT_STRATA,
    Stratum,
    agreement_strata,
    all_units,
    key_strata,
    separability_strata,
    unique_label_strata,
)
from tiebreak.stats.two_way import two_way

__all__ = [
    "AGREEMENT_STRATA",
    "Agreement",
    "BradleyTerry",
    "Classification",
    "Comparison",
    "ConfidenceSequence",
    "DawidSkene",
    "Discernment",
    "DiscernmentSummary",
    "Elo",
    "Estimate",
    "HumanMachine",
    "Influence",
    "NormalisedSeparability",
    "PValueCurve",
    "PairwiseAgreement",
    "Patterns",
    "PlannedStudy",
    "PredictionPowered",
    "RatingSetSummary",
    "RatingSets",
    "SampleSize",
    "Scale",
    "Selection",
    "Separability",
    "SeparabilityRange",
    "StopDecision",
    "Stratum",
    "VarianceComponents",
    "WinRates",
    "agreement",
    "agreement_strata",
    "all_units",
    "binned_js",
    "bradley_terry",
    "classification",
    "cohen_kappa",
    "collect_rating_sets",
    "confidence_sequence",
    "consistency",
    "consistency_by_separability",
    "count_matrix",
    "dawid_skene",
    "delta",
    "discernment",
    "discernment_score",
    "drop_one_influence",
    "elo",
    "fleiss_kappa",
    "floored_weights",
    "generator_for",
    "hajek_estimate",
    "harmonic_mean_p",
    "human_machine",
    "infer_scale",
    "instances_saved",
    "jensen_shannon",
    "key_strata",
    "krippendorff_alpha",
    "leave_one_out",
    "length_bias",
    "logistic_weights",
    "machine_machine",
    "normalised_separability",
    "outcome_counts",
    "p_value_curve",
    "paired_t_test",
    "pairwise_agreement",
    "percentage_agreement",
    "permutation_test",
    "position_bias",
    "prediction_powered_mean",
    "prediction_powered_win_rate",
    "randolph_kappa",
    "random_baseline",
    "range_edges",
    "range_of",
    "rank_correlation",
    "ranks",
    "ratings_saved",
    "sample_size",
    "schedule",
    "select",
    "self_consistency",
    "separability",
    "separability_step",
    "separability_strata",
    "shared_ranks",
    "single_human_machine",
    "summarise_discernment",
    "summarise_rating_sets",
    "two_way",
    "undefined",
    "unique_label_strata",
    "variance_components",
    "win_loss_ratio",
    "win_rate",
    "win_rates",
]
