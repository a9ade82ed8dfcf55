"""What a design must have before its HITs can be planned."""

from collections.abc import Mapping

from annotation.models import Rating
from annotation.pairing import budget_of
from studies.comparable import HAS_PAIRS, HAS_TEXTS
from studies.models import Study
from studies.services import check_is_draft
from tiebreak.errors import DomainError

NOTHING_TO_PLAN = (
    "No instance of the dataset has the texts that an item needs: for a comparison, those of two systems of"
    " the study. Look at Data: the ids may not say which texts belong together, or texts may still have to be"
    " generated."
)


class IncompleteDesign(DomainError):
    """The design lacks parts that a plan needs; `missing` names them, and `parts` says what each is."""

    def __init__(self, missing: Mapping[str, str]) -> None:
        needed = " and ".join(missing.values())
        super().__init__(
            "incomplete_design", f"The study cannot be planned yet. Please add {needed} first."
        )
        self.missing, self.parts = tuple(missing), missing


def check_can_plan(study: Study) -> None:
    check_is_draft(
        study,
        f"This study is {study.status}, and only drafts can be planned. Clone the study to change"
        " its design.",
    )
    if Rating.objects.filter(unit__study=study).exists():
        raise DomainError(
            "has_ratings",
            "This study has ratings, so its plan cannot change. Clone the study to plan it anew.",
        )
    check_design(study)


def has_design(study: Study) -> bool:
    try:
        check_design(study)
    except DomainError:
        return False
    return True


def check_design(study: Study) -> None:
    """Raise `DomainError` if no tasks could be planned from the design, whatever the state."""
    missing = {}
    if study.dataset is None:
        missing["dataset"] = "a dataset"
    if study.study_systems.count() < _systems_needed(study):
        missing["systems"] = "two systems" if _systems_needed(study) == 2 else "a system"
    if not study.criteria.exists():
        missing["criterion"] = "a criterion"
    if missing:
        raise IncompleteDesign(missing)
    compares = study.unit_kind == Study.UnitKind.COMPARISON
    if not Study.objects.filter(HAS_PAIRS if compares else HAS_TEXTS, pk=study.pk).exists():
        raise DomainError("nothing_to_plan", NOTHING_TO_PLAN)
    _check_pairing(study)
    n = study.comparisons_per_hit
    if study.repeats_per_hit and (study.repeats_per_hit > n or study.repeat_distance > n):
        raise DomainError(
            "repeats_do_not_fit",
            f"With {n} items per task, at most {n} can be repeated, each at most {n} items later."
            " Reduce the repeats or their distance, or put more items into each task.",
        )


def _check_pairing(study: Study) -> None:
    """Raise `DomainError` if the pairs of systems cannot be compared as the design says."""
    names = {system.name for system in study.ordered_systems()}
    if study.pairing == Study.Pairing.BASELINE and study.baseline_system not in {*names, ""}:
        raise DomainError(
            "unknown_baseline",
            f"The baseline “{study.baseline_system}” is not a system of this study. Enter one of"
            f" {', '.join(sorted(names))}, or leave it empty for the first system.",
        )
    check_both_orders(study)
    if budget_of(study, len(names)) is not None and study.selected.exists():
        raise DomainError(
            "draw_and_budget",
            "Instances were drawn for each pair of systems, so their pairs cannot be drawn again."
            " Use every instance, or compare all pairs or those with a baseline.",
        )


def check_both_orders(study: Study) -> None:
    """Raise `DomainError` if a symmetric design would show one order more often than the other."""
    if not study.shows_orders_alike:
        raise DomainError(
            "symmetric_needs_even_ratings",
            "In a symmetric design, each order of two texts is shown to half of the annotators, so"
            f" the number of ratings per task (R) must be even; it is {study.planned_ratings}.",
        )


def _systems_needed(study: Study) -> int:
    return 2 if study.unit_kind == Study.UnitKind.COMPARISON else 1
