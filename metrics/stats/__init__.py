"""The numerics: arrays in, result objects out. No Django, no database, no clock."""

from metrics.stats.agreement import (
    Agreement,
    agreement,
    cohen_kappa,
    fleiss_kappa,
    krippendorff_alpha,
    percentage_agreement,
    randolph_kappa,
)
from metrics.stats.bias import length_bias, position_bias
from metrics.stats.bootstrap import generator_for
from metrics.stats.classification import Classification
from metrics.stats.counts import Patterns, count_matrix
from metrics.stats.human_machine import (
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
from metrics.stats.jensen_shannon import jensen_shannon
from metrics.stats.leave_one_out import leave_one_out
from metrics.stats.rankings import WinRates, outcome_counts, win_rate, win_rates
from metrics.stats.rating_sets import (
    RatingSets,
    RatingSetSummary,
    SeparabilityRange,
    collect_rating_sets,
    consistency,
    consistency_by_separability,
    summarise_rating_sets,
)
from metrics.stats.results import Estimate, undefined
from metrics.stats.scales import Scale, infer_scale
from metrics.stats.separability import (
    NormalisedSeparability,
    Separability,
    normalised_separability,
    range_edges,
    range_of,
    separability,
)
from metrics.stats.strata import (
    AGREEMENT_STRATA,
    Stratum,
    agreement_strata,
    all_units,
    key_strata,
    separability_strata,
    unique_label_strata,
)

__all__ = [
    "AGREEMENT_STRATA",
    "Agreement",
    "Classification",
    "Comparison",
    "Estimate",
    "HumanMachine",
    "NormalisedSeparability",
    "Patterns",
    "RatingSetSummary",
    "RatingSets",
    "Scale",
    "Separability",
    "SeparabilityRange",
    "Stratum",
    "WinRates",
    "agreement",
    "agreement_strata",
    "all_units",
    "binned_js",
    "classification",
    "cohen_kappa",
    "collect_rating_sets",
    "consistency",
    "consistency_by_separability",
    "count_matrix",
    "delta",
    "fleiss_kappa",
    "generator_for",
    "human_machine",
    "infer_scale",
    "jensen_shannon",
    "key_strata",
    "krippendorff_alpha",
    "leave_one_out",
    "length_bias",
    "machine_machine",
    "normalised_separability",
    "outcome_counts",
    "percentage_agreement",
    "position_bias",
    "randolph_kappa",
    "random_baseline",
    "range_edges",
    "range_of",
    "rank_correlation",
    "separability",
    "separability_strata",
    "single_human_machine",
    "summarise_rating_sets",
    "undefined",
    "unique_label_strata",
    "win_rate",
    "win_rates",
]
