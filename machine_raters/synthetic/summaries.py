"""What pages and programs say about synthetic sets: what was kept, dropped and found with judges."""

from collections import defaultdict
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from django.db.models import Count, OuterRef

from machine_raters.models import SyntheticItem, SyntheticSet, SyntheticText
from machine_raters.synthetic.accuracy import JudgeAccuracy, accuracies
from machine_raters.synthetic.services import synthetic_sets_of
from studies.models import Study

# So many items of a set are shown, which are those of its first two questions.
SHOWN_ITEMS = 10


@dataclass(frozen=True)
class DroppedTexts:
    """How many texts of a kind were dropped for a reason."""

    kind: str
    reason: str
    number: int


@dataclass(frozen=True)
class SetSummary:
    """A synthetic set: its questions, those that came back from the round trip, its items, the texts
    that were dropped, and the judges that were tested on it.
    """

    made: SyntheticSet
    questions: int
    kept: int
    items: int
    dropped: Sequence[DroppedTexts]
    judges: Sequence[JudgeAccuracy]


def summaries(study: Study) -> list[SetSummary]:
    """Return a summary of each of the study's synthetic sets."""
    dropped, tested = dropped_texts(study), accuracies(study)
    sets: Iterable[Any] = synthetic_sets_of(study)  # with their counts
    return [
        SetSummary(
            made,
            made.questions,
            made.kept,
            made.n_items,
            dropped.get(made.pk, []),
            [one for one in tested if one.synthetic_set == made.pk],
        )
        for made in sets
    ]


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
