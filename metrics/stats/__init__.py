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
from metrics.stats.bootstrap import generator_for
from metrics.stats.counts import Patterns, count_matrix
from metrics.stats.leave_one_out import leave_one_out
from metrics.stats.results import Estimate, undefined
from metrics.stats.scales import Scale, infer_scale

__all__ = [
    "Agreement",
    "Estimate",
    "Patterns",
    "Scale",
    "agreement",
    "cohen_kappa",
    "count_matrix",
    "fleiss_kappa",
    "generator_for",
    "infer_scale",
    "krippendorff_alpha",
    "leave_one_out",
    "percentage_agreement",
    "randolph_kappa",
    "undefined",
]
