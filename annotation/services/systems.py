"""Removing a system from a draft, with its texts and the plan that shows them."""

from django.db import transaction
from django.db.models import Q, QuerySet

from annotation.models import Rating
from annotation.services.items import BUSY
from annotation.services.planning import remove_plan
from studies.data.dataset_jobs import has_unfinished_job
from studies.models import Dataset, Study, StudySystem, System, Unit
from studies.services import is_frozen, systems_named
from studies.systems.services import NOT_A_DRAFT
from tiebreak.errors import DomainError

ELSEWHERE = "Another study compares {name}, so it stays in the dataset. Take it out of the list of systems of this study."
RATED = "Texts of {name} were rated. Clone the study, and leave the system out there."


def system_removal_problem(study: Study, system: System) -> DomainError | None:
    """Return why a system cannot be removed, or None if it can be."""
    if is_frozen(study):
        return DomainError("not_a_draft", NOT_A_DRAFT)
    rows = StudySystem.objects.filter(system__in=_with_copies(system))
    if rows.exclude(study=study).exists():
        return DomainError("in_another_study", ELSEWHERE.format(name=system.name))
    if Rating.objects.filter(unit__in=_units(study, system)).exists():
        return DomainError("rated", RATED.format(name=system.name))
    return DomainError("dataset_busy", BUSY) if has_unfinished_job(system.dataset) else None


@transaction.atomic
def remove_system(*, study: Study, name: str) -> None:
    """Remove a system with its texts, scores and copies from a draft and its dataset.

    A plan that shows it is removed as well. Locks the study and the dataset.
    """
    study = Study.objects.select_for_update().get(pk=study.pk)
    Dataset.objects.select_for_update(no_key=True).filter(pk=study.dataset_id).first()
    [system] = systems_named(study, [name])
    problem = system_removal_problem(study, system)
    if problem is not None:
        raise problem
    units = _units(study, system)
    if units.exists():
        is_reference = units.exclude(role=Unit.Role.MAIN).exists()
        remove_plan(study, with_reference_units=is_reference)
    study.study_systems.filter(system__in=_with_copies(system)).delete()
    _with_copies(system).delete()


def _with_copies(system: System) -> QuerySet[System]:
    """Return a system with its variants at other temperatures and its perturbed copies."""
    return System.objects.filter(
        Q(pk=system.pk) | Q(variant_of=system.pk) | Q(perturbed_from=system.pk)
    )


def _units(study: Study, system: System) -> QuerySet[Unit]:
    return study.units.filter(texts__system__in=_with_copies(system)).distinct()
