"""What pages and programs say about synthetic sets: what was kept, dropped and found with judges."""

from collections import defaultdict
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from django.db.models import Count, OuterRef, Q, QuerySet

from machine_raters.models import SyntheticItem, SyntheticSet, SyntheticText
from machine_raters.synthetic.accuracy import accuracies
from studies.models import Study

# How many items of a set are shown: the items of its first two questions.
SHOWN_ITEMS = 10


@dataclass(frozen=True)
class DroppedTexts:
    """How many texts of a kind were dropped for a reason."""

    kind: str
    reason: str
    number: int


def synthetic_sets_of(study: Study) -> QuerySet[Any]:
    """Return the study's synthetic sets, with the numbers of their questions and items."""
    questions = Q(texts__kind=SyntheticText.Kind.QUESTION)
    return SyntheticSet.objects.filter(study=study).annotate(
        questions=Count("texts", filter=questions, distinct=True),
        kept=Count("texts", filter=questions & Q(texts__rank=1), distinct=True),
        n_items=Count("items", distinct=True),
    )


def summaries(study: Study, **only: Any) -> list[Any]:
    """Return the study's synthetic sets, each with its texts that were `dropped`, and `judges`."""
    sets, dropped, tested = synthetic_sets_of(study), dropped_texts(study), accuracies(study)
    made = list(sets.filter(**only))
    for one in made:
        one.dropped = dropped.get(one.pk, [])
        one.judges = [accuracy for accuracy in tested if accuracy.synthetic_set == one.pk]
    return made


def dropped_texts(study: Study) -> Mapping[int, list[DroppedTexts]]:
    """Return how many texts of each set were dropped, by kind of text and reason."""
    counts = (
        SyntheticText.objects.filter(synthetic_set__study=study)
        .exclude(dropped="")
        .values_list("synthetic_set", "kind", "dropped")
        .annotate(n=Count("pk"))
        .order_by("synthetic_set", "kind", "dropped")
    )
    dropped = defaultdict(list)
    for of_set, kind, reason, n in counts:
        label = str(SyntheticText.Dropped(reason).label)
        dropped[of_set].append(DroppedTexts(kind, label, n))
    return dropped


def shown_items(study: Study) -> Mapping[int, list[SyntheticItem]]:
    """Return the first items of each set, for researchers to look at."""
    first = SyntheticItem.objects.filter(synthetic_set=OuterRef("synthetic_set")).order_by("pk")
    items = SyntheticItem.objects.filter(
        synthetic_set__study=study, pk__in=first.values("pk")[:SHOWN_ITEMS]
    )
    shown = defaultdict(list)
    for item in items.select_related("question", "answer", "other_answer", "passage").order_by(
        "pk"
    ):
        shown[item.synthetic_set_id].append(item)
    return shown
