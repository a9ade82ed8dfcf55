"""Perturbed copies of texts, which are worse than the originals in a known way."""

from tiebreak.perturbations.edits import Edit, edited
from tiebreak.perturbations.kinds import (
    PERTURBATIONS,
    Perturbation,
    PerturbedText,
    perturbation_named,
    perturbed,
)

__all__ = [
    "PERTURBATIONS",
    "Edit",
    "Perturbation",
    "PerturbedText",
    "edited",
    "perturbation_named",
    "perturbed",
]
