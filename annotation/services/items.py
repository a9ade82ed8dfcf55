"""Looking at the items of a study, and removing them from a draft."""

from collections import defaultdict
from collections.abc import Callable, Iterable
from dataclasses import dataclass
from itertools import islice
from typing import Any

from django.contrib.auth.models import User
from django.db import transaction
from django.db.models import Count, Exists, F, OuterRef, Q, QuerySet

from annotation.models import Rater, Rating, Tally
from annotation.models.rating import EXCLUDING_FLAGS
from annotation.services.planning import remove_plan
from studies.data.dataset_jobs import has_unfinished_job
from studies.freshness import note_change
from studies.models import Dataset, Generation, Instance, Study, StudyEvent, System, Unit, UnitText
from studies.services import is_frozen, record_event
from tiebreak.errors import DomainError
from tiebreak.nonresponse import BROKEN, CANNOT_SAY
from tiebreak.odd_texts import MAX_TEXTS, OddTexts
from tiebreak.reading.words import named_instances

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


def odd_items_of(study: Study, query: str = "") -> QuerySet[Instance]:
    """Return the items of which a text is hardly what a system wrote."""
    rows = Generation.objects.filter(
        instance__dataset=study.dataset_id, system__in=study.ordered_systems(), is_dummy=False
    )
    texts = OddTexts()
    values = rows.order_by("pk").values_list("instance__key", "system__name", "text")
    for key, system, text in islice(values.iterator(chunk_size=500), MAX_TEXTS):
        texts.add(key, system, text)
    return items_of(study, query).filter(key__in={text.instance for text in texts.found()})


def uncompared_items_of(study: Study, query: str = "") -> QuerySet[Instance]:
    """Return the items that at least one pair of systems has no texts to compare of."""
    pairs = study.system_pairs() if study.unit_kind == Study.UnitKind.COMPARISON else ()
    counts = [count for pair in pairs for count in common_texts(study, pair)]
    return items_of(study, query).filter(pk__in={item for item, common in counts if not common})


def same_items_of(study: Study, query: str = "") -> QuerySet[Instance]:
    """Return the items of which annotators would see the same text twice."""
    return items_of(study, query).filter(pk__in=same_units(study).values("instance"))


def same_units(study: Study) -> QuerySet[Unit]:
    """Return the planned comparisons of two texts that are the same."""
    main = study.units.filter(role=Unit.Role.MAIN)
    return main.filter(text_a__generation__text=F("text_b__generation__text"))


def common_texts(study: Study, pair: tuple[System, System]) -> list[tuple[int, int]]:
    """Return each instance to be compared, with the number of generations by both systems."""
    a, b = pair
    same_sample = {
        "instance__generations__system": b,
        "instance__generations__sample_index": F("sample_index"),
    }
    rows = Generation.objects.filter(system=a, **same_sample).order_by()
    counts = dict(rows.values_list("instance").annotate(n=Count("pk")))
    return [(instance, counts.get(instance, 0)) for instance in _shown(study, pair)]


def _shown(study: Study, pair: tuple[System, System]) -> Iterable[int]:
    drawn = study.selected.filter(system_a=pair[0], system_b=pair[1])
    if study.selected.exists():
        return drawn.values_list("instance", flat=True)
    return items_of(study).order_by().values_list("pk", flat=True)


@dataclass(frozen=True)
class ItemList:
    """Some of a study's items that a check is about, which the page of items lists by this name."""

    name: str
    # What they have, after the word "instances".
    words: str
    find: Callable[[Study, str], QuerySet[Instance]]

    @property
    def address(self) -> str:
        """The query of the page of items."""
        return f"only={self.name}#items-heading"

    def named(self, study: Study) -> str:
        """Name the first of them."""
        keys = self.find(study, "").values_list("key", flat=True)
        return named_instances(keys)


ODD = ItemList("odd", "with texts that are worth a look", odd_items_of)
UNCOMPARED = ItemList("uncompared", "without texts of two systems to compare", uncompared_items_of)
SAME = ItemList("same", "of which two systems have the same text", same_items_of)
LISTS = {one.name: one for one in (ODD, UNCOMPARED, SAME)}


def with_answers(units: QuerySet[Unit]) -> Any:
    """Add the numbers of annotators `cannot_say`, `broken`, and `people` who answered at all."""
    people = Q(ratings__rater__kind=Rater.Kind.HUMAN, ratings__repeat=0)
    people &= Q(**{f"ratings__{flag}": False for flag in EXCLUDING_FLAGS})
    cannot_say, broken = (
        Count("ratings__rater", filter=people & Q(ratings__nonresponse=name), distinct=True)
        for name in (CANNOT_SAY, BROKEN)
    )
    return units.annotate(
        people=Count("ratings__rater", filter=people, distinct=True),
        cannot_say=cannot_say,
        broken=broken,
    )


def unlabelled_items(study: Study) -> QuerySet[Unit, Any]:
    """Return the units that were set aside or have answers without a label, the most often reported first."""
    told = Rating.objects.filter(unit__study=study).exclude(nonresponse="").values("unit")
    candidates = study.units.filter(Q(pk__in=told) | Q(set_aside=True), role=Unit.Role.MAIN)
    is_told = Q(set_aside=True) | Q(cannot_say__gt=0) | Q(broken__gt=0)
    units: QuerySet[Any] = with_answers(candidates)
    return units.filter(is_told).order_by("-broken", "-cannot_say", "pk")


_BY_PEOPLE = Tally.objects.filter(unit=OuterRef("pk"), rater=None, n__gt=0)
_BY_CRITERION = _BY_PEOPLE.order_by().values("criterion").annotate(labels=Count("pk"))
STATES: dict[str, tuple[str, Q]] = {
    "rated": ("rated", Q(Exists(_BY_PEOPLE))),
    "unrated": ("not rated yet", ~Q(Exists(_BY_PEOPLE))),
    "contested": ("contested: labels differ", Q(Exists(_BY_CRITERION.filter(labels__gt=1)))),
    "aside": ("set aside", Q(set_aside=True)),
    "told": ("could not be labelled, or set aside", Q()),
}


def listed_items(
    study: Study,
    *,
    text: str = "",
    system: str = "",
    instance: str = "",
    role: str = "",
    state: str = "",
) -> QuerySet[Unit, Any]:
    """Return the units of a study that fit everything that is not empty."""
    units: QuerySet[Unit, Any] = study.units.order_by("pk")
    if state:
        units = (unlabelled_items(study) if state == "told" else units).filter(STATES[state][1])
    if system:
        shows = UnitText.objects.filter(unit=OuterRef("pk"), system__name=system)
        units = units.filter(Exists(shows))
    if instance:
        units = units.filter(instance__key=instance)
    if role:
        units = units.filter(role=role)
    for word in text.split():
        shown = UnitText.objects.filter(unit=OuterRef("pk"), generation__text__icontains=word)
        of_instance = Q(instance__key__icontains=word) | Q(instance__source__icontains=word)
        units = units.filter(Q(key__icontains=word) | of_instance | Exists(shown))
    return units


def least_agreement(units: Iterable[Unit]) -> dict[int, tuple[int, int]]:
    """Return by unit the votes for the most frequent label, and all votes, where fewest agree."""
    votes = defaultdict[tuple[int, int], list[int]](list)
    of_people = Tally.objects.filter(unit__in=units, rater=None, n__gt=0)
    for unit, criterion, n in of_people.values_list("unit", "criterion", "n"):
        votes[unit, criterion].append(n)
    least: dict[int, tuple[int, int]] = {}
    for (unit, _), counts in votes.items():
        top, n = max(counts), sum(counts)
        if unit not in least or top / n < least[unit][0] / least[unit][1]:
            least[unit] = top, n
    return least


def reasons_for(study: Study, items: Iterable[Instance]) -> defaultdict[int, list[Rating]]:
    """Return the current answers with a reason by instance."""
    rows = Rating.objects.filter(
        unit__study=study, unit__instance__in=items, superseded=False
    ).exclude(reason="")
    by_instance = defaultdict[int, list[Rating]](list)
    for row in rows.select_related("unit", "criterion"):
        by_instance[row.unit.instance_id or 0].append(row)
    return by_instance


@transaction.atomic
def set_item_aside(*, study: Study, key: str, aside: bool, by: User | None = None) -> None:
    """Take a unit out of the results for all, or put it back. Its ratings are kept."""
    changed = study.units.filter(key=key, role=Unit.Role.MAIN).exclude(set_aside=aside)
    if not changed.update(set_aside=aside):
        raise DomainError(
            "unknown_item",
            f"There is no item {key!r} here that could be {'set aside' if aside else 'put back'}."
            " Reload the page to see the current state.",
            status=404,
        )
    verb = StudyEvent.Verb.SET_ASIDE if aside else StudyEvent.Verb.PUT_BACK
    record_event(study=study, verb=verb, by=by, details={"item": key})
    note_change(study.pk)


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
