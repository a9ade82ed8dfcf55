"""Removes dummy texts from a dataset, with everything that was derived from them."""

from dataclasses import dataclass

from django.db import transaction
from django.db.models import Q, QuerySet

from annotation.models import Rating
from annotation.services.planning import remove_plan
from studies.data.dataset_jobs import has_unfinished_job
from studies.models import (
    Dataset,
    Generation,
    InstanceSelection,
    SelectedInstance,
    SeparabilityScore,
    Study,
    System,
    Unit,
)
from tiebreak.errors import DomainError


@dataclass(frozen=True)
class DummyTexts:
    """A dataset's dummy texts, and the scores, selections and plans derived from them."""

    texts: int
    systems: tuple[str, ...]
    scores: int
    draws: int
    plans: int


NO_DUMMIES = DummyTexts(0, (), 0, 0, 0)


def dummy_texts(dataset: Dataset) -> DummyTexts:
    texts, systems = _texts(dataset).count(), _systems(dataset)
    if not texts:
        return NO_DUMMIES
    return DummyTexts(
        texts=texts,
        systems=tuple(systems.order_by("name").values_list("name", flat=True)),
        scores=_scores(systems).count(),
        draws=_draws(systems).count(),
        plans=_planned(dataset).count(),
    )


@transaction.atomic
def remove_dummy_generations(*, dataset: Dataset, confirmed: int) -> DummyTexts:
    """Delete a dataset's dummy texts, their scores, and the selections and plans based on them.

    ``confirmed`` must be the number of dummy texts that the researcher was shown. Afterwards the
    dataset has real texts only, and drafts that were planned with dummy texts have no plan. Raises
    `DomainError` while a job may create more dummy texts, or if a study with dummy texts was
    opened. Locks the dataset and its studies so that no study is planned in the meantime.
    """
    dataset = Dataset.objects.select_for_update(no_key=True).get(pk=dataset.pk)
    list(dataset.studies.select_for_update().order_by("pk"))
    removed = dummy_texts(dataset)
    _check_can_remove(dataset, removed, confirmed)
    for study in list(_planned(dataset)):
        _check_never_opened(study)
        remove_plan(study, with_reference_units=True)
    systems = _systems(dataset)
    SelectedInstance.objects.filter(study__in=_draws(systems).values("study")).delete()
    _draws(systems).delete()
    _scores(systems).delete()
    _texts(dataset).delete()
    System.objects.filter(dataset=dataset, generations=None).exclude(variant_of=None).delete()
    return removed


def _check_can_remove(dataset: Dataset, present: DummyTexts, confirmed: int) -> None:
    if has_unfinished_job(dataset):
        raise DomainError(
            "job_unfinished",
            "A job on this dataset is not finished. Wait until it is finished, or stop it, before"
            " you remove the dummy texts.",
        )
    if present.texts != confirmed:
        raise DomainError(
            "dummies_changed",
            f"The number of dummy texts is now {present.texts} instead of {confirmed}. Please check"
            " it and confirm again.",
        )


def _check_never_opened(study: Study) -> None:
    has_ratings = Rating.objects.filter(unit__study=study).exists()
    if study.status != Study.Status.DRAFT or has_ratings:
        raise DomainError(
            "dummies_in_use",
            f"The study “{study.title}” uses dummy texts and was opened, so they cannot be removed."
            " Delete that study first.",
        )


def _texts(dataset: Dataset) -> QuerySet[Generation]:
    return Generation.objects.filter(instance__dataset=dataset, is_dummy=True)


def _systems(dataset: Dataset) -> QuerySet[System]:
    return System.objects.filter(pk__in=_texts(dataset).order_by().values("system"))


def _scores(systems: QuerySet[System]) -> QuerySet[SeparabilityScore]:
    return SeparabilityScore.objects.filter(Q(system_a__in=systems) | Q(system_b__in=systems))


def _draws(systems: QuerySet[System]) -> QuerySet[InstanceSelection]:
    """Return the drafts' selections, as an opened study's inclusion probabilities never change."""
    drafts = Study.objects.filter(systems__in=systems, status=Study.Status.DRAFT)
    return InstanceSelection.objects.filter(study__in=drafts)


def _planned(dataset: Dataset) -> QuerySet[Study]:
    units = Unit.objects.filter(texts__generation__in=_texts(dataset))
    return Study.objects.filter(pk__in=units.order_by().values("study"))
