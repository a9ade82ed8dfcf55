"""The numerics: arrays in, result objects out. No Django, no database, no clock."""

from metrics.stats.agreement import (
    AGREEMENT,
    agreement,
    cohen_kappa,
    fleiss_kappa,
    krippendorff_alpha,
    percentage_agreement,
    randolph_kappa,
)
from metrics.stats.bias import length_bias, position_bias
from metrics.stats.bootstrap import generator
from metrics.stats.human_machine import HumanMachine, human_machine, jensen_shannon
from metrics.stats.rankings import win_rate
from metrics.stats.rating_sets import consistency, consistency_by_separability, rating_sets
from metrics.stats.results import Estimate, undefined
from metrics.stats.scales import Scale, infer_scale
from metrics.stats.separability import normalised_separability, separability
from metrics.stats.strata import AGREEMENT_STRATA, by_agreement, by_unique_labels

__all__ = [
    "AGREEMENT",
    "AGREEMENT_STRATA",
    "Estimate",
    "HumanMachine",
    "Scale",
    "agreement",
    "by_agreement",
    "by_unique_labels",
    "cohen_kappa",
    "consistency",
    "consistency_by_separability",
    "fleiss_kappa",
    "generator",
    "human_machine",
    "infer_scale",
    "jensen_shannon",
    "krippendorff_alpha",
    "length_bias",
    "normalised_separability",
    "percentage_agreement",
    "position_bias",
    "randolph_kappa",
    "rating_sets",
    "separability",
    "undefined",
    "win_rate",
]
