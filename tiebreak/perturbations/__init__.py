"""Perturbed copies of texts, which are worse than the originals in a known way."""

from tiebreak.field_docs import list_fields
from tiebreak.perturbations.by_models import (
    MODEL_PERTURBATIONS,
    check_model_can_perturb,
    copy_by_model,
    instruction_of,
    model_perturbation_named,
)
from tiebreak.perturbations.edits import Edit, edited
from tiebreak.perturbations.kinds import (
    PERTURBATIONS,
    Perturbation,
    PerturbedText,
    perturbation_named,
    perturbed,
)

__all__ = [
    "MODEL_PERTURBATIONS",
    "PERTURBATIONS",
    "Edit",
    "Perturbation",
    "PerturbedText",
    "check_model_can_perturb",
    "copy_by_model",
    "edited",
    "instruction_of",
    "model_perturbation_named",
    "perturbation_named",
    "perturbed",
]

list_fields(globals())
