"""What is done to the systems of a draft's dataset. Removing one is in `annotation/services/systems.py`."""

from collections.abc import Iterable, Mapping
from typing import Any

from django.db import transaction
from django.db.models import Max, Q, QuerySet

from jobs.models import UNFINISHED, Job
from studies.models import Dataset, Generation, Study, StudySystem, System
from studies.services import check_is_draft, systems_named, use_dataset_systems
from studies.systems.prompts import check_template
from tiebreak.errors import DomainError

SETTINGS = ("server", "language_model", "prompt_template", "decoding")
NOT_A_DRAFT = "The study was opened, so its systems cannot change. Clone it to compare others."
NO_DATASET = "The study has no dataset. Upload the prompts first."
NAME_TAKEN = "The dataset has a system {name} already. Choose another name."
TEXTS_MADE = (
    "Texts of {name} were made with these settings, so they cannot change any more. Copy the system,"
    " and change the copy."
)
TEXTS_IMPORTED = (
    "Texts of {name} were imported, and keep its name. Add a system with another name for the texts of"
    " a model."
)
BEING_MADE = (
    "Texts of this dataset are being made. Wait until the job is finished, or stop it first."
)


@transaction.atomic
def add_system(*, study: Study, name: str, **settings: Any) -> System:
    """Add a system to a draft and its dataset, the last of its systems. Locks the study and the dataset."""
    study, dataset = _locked(study)
    system = _checked(System(dataset=dataset, name=name, **settings))
    system.save()
    if not use_dataset_systems(study=study):
        last = study.study_systems.aggregate(last=Max("position"))["last"]
        StudySystem.objects.create(study=study, system=system, position=last + 1)
    return system


@transaction.atomic
def change_system(*, study: Study, system: System, **values: Any) -> System:
    """Change a system until its texts are made. Locks the study and the dataset.

    Imported texts keep the name of their system, but which model wrote them can be said.
    """
    system = System.objects.get(pk=system.pk)
    if all(getattr(system, name) == value for name, value in values.items()):
        return system
    is_renamed = values.get("name", system.name) != system.name
    _, dataset = _locked(study, is_draft=is_renamed)
    own = Generation.objects.filter(system=system, is_dummy=False)
    if made_here(own).exists():
        raise DomainError("texts_made", TEXTS_MADE.format(name=system.name))
    if is_renamed and own.exists():
        raise DomainError("texts_imported", TEXTS_IMPORTED.format(name=system.name))
    jobs = Job.objects.filter(owner__in=dataset.studies.values("pk"), status__in=UNFINISHED)
    if jobs.filter(kind="sampling").exists():
        raise DomainError("job_unfinished", BEING_MADE)
    for name, value in values.items():
        setattr(system, name, value)
    _checked(system).save()
    return system


@transaction.atomic
def describe_systems(*, study: Study, rows: Iterable[Mapping[str, Any]]) -> list[System]:
    """Change the models, prompts and decoding settings of systems that are given by name."""
    described = [dict(row) for row in rows]
    systems = systems_named(study, [row.pop("name") for row in described])
    return [
        change_system(study=study, system=system, **row)
        for system, row in zip(systems, described, strict=True)
    ]


def made_here(texts: QuerySet[Generation]) -> QuerySet[Generation]:
    """Return the texts that a job sampled, here or where a study was exported: they say how."""
    return texts.filter(params__has_key="server")


def imported(texts: QuerySet[Generation]) -> QuerySet[Generation]:
    return texts.filter(~Q(params__has_key="server"), is_dummy=False)


def _locked(study: Study, *, is_draft: bool = True) -> tuple[Study, Dataset]:
    study = Study.objects.select_for_update().get(pk=study.pk)
    if is_draft:
        check_is_draft(study, NOT_A_DRAFT)
    dataset = Dataset.objects.select_for_update(no_key=True).filter(pk=study.dataset_id).first()
    if dataset is None:
        raise DomainError("no_dataset", NO_DATASET)
    return study, dataset


def _checked(system: System) -> System:
    same = System.objects.filter(dataset=system.dataset_id, name=system.name)
    if same.exclude(pk=system.pk).exists():
        raise DomainError("name_taken", NAME_TAKEN.format(name=system.name))
    check_template(system.prompt_template, system.dataset)
    system.full_clean()
    return system
