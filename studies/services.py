"""Operations on a study's design: saving, versions, freezing, cloning and the activity log."""

from collections.abc import Iterable, Mapping
from typing import Any, TypeVar

from django.contrib.auth.models import User
from django.db import transaction
from django.db.models import Model

from jobs.clock import database_now
from studies.data.dataset_jobs import dataset_of, jobs_of
from studies.models import (
    ComprehensionQuestion,
    Criterion,
    Dataset,
    InstanceSelection,
    Membership,
    Screening,
    SelectedInstance,
    Study,
    StudyEvent,
    StudySystem,
    StudyVersion,
    System,
)
from studies.models.settings import FreeSettings, FrozenSettings, VersionedSettings, fields_of
from tiebreak.errors import DomainError
from tiebreak.report.analysis_plan import ANALYSIS_SETTINGS

Row = TypeVar("Row", bound=Model)

VERSIONED_FIELDS = tuple(fields_of(VersionedSettings))
COPY, LONGEST_TITLE = " (copy)", 200
DATASET_IN_USE = "A study uses this dataset, so it cannot be deleted. Delete its drafts first."
NOT_DELETED = (
    "The study is {}. Only drafts can be deleted, because ratings and what they refer to are kept."
)
HAS_TEXTS = "The study has texts already, or was opened. Import the file as a new study instead."
R_GROWS = "The number of ratings per task (R) is {} and can only be increased. To collect fewer ratings, close the study or clone it."
MOST_ANSWERS = "the one with the most answers"
# Settings of the analysis, whose changes are logged once the study was opened.
LOGGED = {name: fields_of(FreeSettings)[name] for name in ANALYSIS_SETTINGS}
FROZEN_FIELDS = ("dataset", *fields_of(FrozenSettings))


def is_frozen(study: Study) -> bool:
    """Whether the design is frozen, because the study was opened. A clone's design can change."""
    return study.status != Study.Status.DRAFT


def check_is_draft(study: Study, why: str) -> None:
    """Raise `DomainError` if the study was opened; `why` says what can no longer change."""
    if is_frozen(study):
        raise DomainError("not_a_draft", why)


@transaction.atomic
def record_version(*, study: Study) -> StudyVersion:
    """Return the study's current version, which is a new one if texts or limits have changed."""
    Study.objects.select_for_update().get(pk=study.pk)
    current = {field: getattr(study, field) for field in VERSIONED_FIELDS}
    latest = study.versions.order_by("-number").first()
    if latest and current == {field: getattr(latest, field) for field in VERSIONED_FIELDS}:
        return latest
    number = latest.number + 1 if latest else 1
    return StudyVersion.objects.create(study=study, number=number, **current)


def record_event(
    *,
    study: Study,
    verb: StudyEvent.Verb,
    by: User | None = None,
    details: Mapping[str, object] | None = None,
) -> StudyEvent:
    """Add an entry to a study's activity log, in the transaction of the action."""
    return StudyEvent.objects.create(
        study=study, verb=verb, by=by, details=dict(details or {}), at=database_now()
    )


@transaction.atomic
def save_design(*, study: Study, by: User | None = None) -> Study:
    """Save an edited study. Raises `DomainError` if a frozen setting was changed.

    In an opened study, new texts or limits get a version, and settings of the analysis are logged, because
    they may be chosen after a look at the results.
    """
    stored = Study.objects.select_for_update().filter(pk=study.pk).first()
    if stored is not None and is_frozen(stored):
        changed = [f for f in FROZEN_FIELDS if getattr(stored, f) != getattr(study, f)]
        if changed:
            raise DomainError(
                "frozen_design",
                f"The study is {stored.status}, so these settings cannot change:"
                f" {', '.join(changed)}. Clone the study to change its design.",
            )
    study.save()
    if is_frozen(study):
        record_version(study=study)
    if stored is not None and is_frozen(stored):
        _log_analysis(stored, study, by)
    return study


def _log_analysis(stored: Study, study: Study, by: User | None) -> None:
    """Log which settings of the analysis were changed."""
    if stored.main_machine != study.main_machine:
        details = {"from": stored.main_machine, "to": study.main_machine or MOST_ANSWERS}
        record_event(study=study, verb=StudyEvent.Verb.MAIN_MACHINE, by=by, details=details)
    for name, field in LOGGED.items():
        before, after = getattr(stored, name), getattr(study, name)
        if before != after:
            changed = {"setting": str(field.verbose_name), "from": before, "to": after}
            record_event(study=study, verb=StudyEvent.Verb.ANALYSIS, by=by, details=changed)


@transaction.atomic
def save_rows(*, study: Study, model: type[Model], rows: Iterable[Mapping[str, Any]]) -> None:
    """Replace a draft's criteria, systems, screening or comprehension questions. Locks the study.

    Raises `DomainError` if the study was opened, and `ValidationError` if a row is not valid.
    """
    stored = Study.objects.select_for_update().get(pk=study.pk)
    if is_frozen(stored):
        raise DomainError(
            "frozen_design",
            f"The study is {stored.status}, so its design cannot change. Clone the study to change"
            " its design.",
        )
    replace_rows(stored, model, rows)


def replace_rows(study: Study, model: type[Model], rows: Iterable[Mapping[str, Any]]) -> None:
    """Delete a study's rows of a model, and store others, which the model's validators judge."""
    model._default_manager.filter(study=study).delete()
    for values in rows:
        row = model(study=study, **values)
        row.full_clean()
        row.save()


@transaction.atomic
def create_study(*, study: Study, owner: User) -> Study:
    """Store a new draft with its owner, the systems of its dataset, and a first question."""
    save_design(study=study)
    Membership.objects.create(study=study, user=owner)
    use_dataset_systems(study=study)
    # The question that most studies ask, so that a new study can be previewed immediately.
    name, question, scale = _FIRST_CRITERIA[Study.UnitKind(study.unit_kind)]
    Criterion.objects.create(study=study, name=name, question=question, scale=scale)
    return study


def usual_currency(owner: User) -> str:
    """Return the currency of somebody's last study; without any, the default."""
    theirs = Study.objects.filter(memberships__user=owner).order_by("-created_at")
    return theirs.values_list("currency", flat=True).first() or Study().currency


def systems_named(study: Study, names: Iterable[str]) -> list[System]:
    """Return systems of the study's dataset in the order of these names.

    Raises `DomainError` if the study has no dataset, or its dataset no such system.
    """
    systems = System.objects.for_studies().filter(dataset=dataset_of(study))
    by_name = {system.name: system for system in systems}
    names = list(names)
    unknown = [name for name in names if name not in by_name]
    if unknown:
        raise DomainError(
            "unknown_system",
            f"The study's dataset has no system {unknown[0]!r}. It has"
            f" {', '.join(by_name) or 'none'}.",
        )
    return [by_name[name] for name in names]


@transaction.atomic
def delete_draft(*, study: Study) -> None:
    """Delete a draft with its jobs. Raises `DomainError` for a study that was opened.

    Studies that were opened are kept, because ratings are append-only.
    """
    stored = Study.objects.select_for_update().get(pk=study.pk)
    if is_frozen(stored):
        raise DomainError("not_a_draft", NOT_DELETED.format(stored.status))
    jobs_of(stored).delete()
    stored.delete()


@transaction.atomic
def delete_dataset(*, dataset: Dataset) -> None:
    """Delete a dataset that no study uses, with its texts and scores."""
    stored = Dataset.objects.select_for_update().get(pk=dataset.pk)
    if stored.studies.exists():
        raise DomainError("dataset_in_use", DATASET_IN_USE)
    stored.delete()


@transaction.atomic
def use_dataset_systems(*, study: Study) -> int:
    """Add all systems of the dataset in order of their names if the researcher listed none.

    Returns the number of systems added.
    """
    if study.dataset is None or study.study_systems.exists():
        return 0
    rows = StudySystem.objects.bulk_create(
        StudySystem(study=study, system=system, position=position)
        for position, system in enumerate(
            System.objects.competing().filter(dataset=study.dataset).order_by("name")
        )
    )
    return len(rows)


@transaction.atomic
def give_texts(*, key: str, dataset: Dataset, settings: Mapping[str, Any]) -> Study:
    """Give a draft without texts a dataset with its systems, and the settings that suit it.

    Raises `DomainError` if the study has texts, was opened or is gone.
    """
    study = Study.objects.select_for_update().filter(pk=key).first()
    if study is None or study.dataset_id is not None or is_frozen(study):
        raise DomainError("has_texts", HAS_TEXTS)
    for name, value in {"dataset": dataset, **settings}.items():
        setattr(study, name, value)
    save_design(study=study)
    use_dataset_systems(study=study)
    return study


# The question of a new study, by the kind of its units; researchers can change it.
_FIRST_CRITERIA = {
    Study.UnitKind.COMPARISON: ("preference", "Which text is better?", "preference:tie"),
    Study.UnitKind.GENERATION: ("quality", "How good is this text?", "ordinal:1..5"),
}


DESIGN: tuple[type[Model], ...] = (
    Criterion,
    StudySystem,
    Membership,
    InstanceSelection,
    SelectedInstance,
    Screening,
    ComprehensionQuestion,
)


@transaction.atomic
def copy_design(*, study: Study) -> Study:
    """Create a draft with the study's settings, criteria, systems, members and screening.

    The draft also has the study's instance selection, with the inclusion probabilities.
    """
    settings = {
        field.name: getattr(study, field.name)
        for field in Study._meta.concrete_fields
        if field.editable and field.name != "title"
    }
    title = f"{study.title[: LONGEST_TITLE - len(COPY)].rstrip()}{COPY}"
    clone = Study.objects.create(title=title, **settings)
    for model in DESIGN:
        copy_rows(model._default_manager.filter(study=study).order_by("pk"), study=clone)
    return clone


def copy_rows(rows: Iterable[Row], *, study: Study) -> list[Row]:
    """Copy rows to another study, and return the copies in the same order."""
    rows = list(rows)
    if not rows:
        return []
    model = type(rows[0])
    names = [f.attname for f in model._meta.concrete_fields if not f.primary_key]
    copies = [
        model(**{name: getattr(row, name) for name in names} | {"study_id": study.pk})
        for row in rows
    ]
    return model._default_manager.bulk_create(copies, batch_size=1000)
