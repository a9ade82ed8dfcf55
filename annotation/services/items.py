"""Looking at the items of a study, and removing them from a draft."""

from django.db import transaction
from django.db.models import Q, QuerySet

from annotation.services.planning import remove_plan
from studies.data.dataset_jobs import has_unfinished_job
from studies.models import Dataset, Instance, Study
from studies.services import is_frozen
from tiebreak.errors import DomainError

NOT_A_DRAFT = (
    "The study was opened, so its instances cannot be removed. Clone the study and select other instances"
    " there."
)
SHARED = (
    "Another study uses this dataset, so its instances cannot be removed. Select the instances that you need"
    " on the Generate & select page instead."
)
BUSY = "A job works on this dataset. Wait until it is finished, or stop it first."


def items_of(study: Study, query: str = "") -> QuerySet[Instance]:
    """Return the items of a study in which a text occurs."""
    items = (
        Instance.objects.filter(dataset=study.dataset_id)
        if study.dataset_id
        else Instance.objects.none()
    )
    for word in query.split():
        occurs = Q(key__icontains=word) | Q(category__icontains=word) | Q(source__icontains=word)
        in_texts = Q(pk__in=items.filter(generations__text__icontains=word).values("pk"))
        items = items.filter(occurs | Q(reference__icontains=word) | in_texts)
    return items.order_by("pk")


def removal_problem(study: Study) -> DomainError | None:
    """Return why items of a study cannot be removed, or None if they can be."""
    if is_frozen(study):
        return DomainError("not_a_draft", NOT_A_DRAFT)
    if study.dataset is None:
        return DomainError("no_dataset", "The study has no dataset.")
    if study.dataset.studies.exclude(pk=study.pk).exists():
        return DomainError("dataset_shared", SHARED)
    return DomainError("dataset_busy", BUSY) if has_unfinished_job(study.dataset) else None


@transaction.atomic
def remove_item(*, study: Study, key: str) -> None:
    """Remove an item with its texts from a draft whose dataset no other study uses.

    A plan that was made is removed as well, because its HITs may contain the item.
    """
    study = Study.objects.select_for_update().get(pk=study.pk)
    Dataset.objects.select_for_update().filter(pk=study.dataset_id).first()
    problem = removal_problem(study)
    if problem is not None:
        raise problem
    item = items_of(study).filter(key=key).first()
    if item is None:
        raise DomainError(
            "unknown_item", f"There is no instance {key!r} in this study.", status=404
        )
    remove_plan(study, with_reference_units=item.units.exclude(role="main").exists())
    item.delete()
