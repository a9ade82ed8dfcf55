"""All counts of a study, in one place, for every page and export."""

from collections.abc import Collection, Iterable
from dataclasses import dataclass
from datetime import datetime, timedelta
from typing import Any, cast

from django.db.models import Case, Count, F, Max, OuterRef, Q, QuerySet, Subquery, When
from django.db.models.functions import Coalesce, Now

from annotation.models import HIT, Assignment, HITUnit, Place, Rating
from annotation.models.rating import (
    COUNTED,
    IN_STATISTICS,
    MAIN_FIRST,
    RatingQuerySet,
    is_unparsed,
)
from studies.design.steps import count_of
from studies.models import Study, Unit
from tiebreak.reading.words import RATING_GROUPS

# A rating with several flags is counted under the first: decisions on late answers set others.
FLAGS = ("late", "superseded", "excluded", "partial", "surplus")


@dataclass(frozen=True)
class RatingCounts:
    """Numbers of ratings, by group.

    `counted` is the number of ratings in the statistics: first answers to main units without an
    excluding flag. `people` and `machines` add up to `counted`; `unparsed` (machine answers that
    could not be parsed) and `invented` (marked as simulated) are parts of `machines`, and `simulated`
    (given by bots in place of people) of `people`. Every other rating is in exactly one group: `repeats`, a role, `nonresponses`, or a flag.
    These are counted on first answers to main units only, so all groups add up to `rows`. Ratings of a
    unit that was set aside are `excluded`.
    """

    rows: int = 0
    counted: int = 0
    people: int = 0
    machines: int = 0
    unparsed: int = 0
    invented: int = 0
    simulated: int = 0
    repeats: int = 0
    training: int = 0
    test: int = 0
    gold: int = 0
    nonresponses: int = 0
    superseded: int = 0
    excluded: int = 0
    late: int = 0
    partial: int = 0
    surplus: int = 0

    @property
    def computed(self) -> int:
        """The ratings of machines that a rule or a model made of the texts."""
        return self.machines - self.invented

    @property
    def flagged(self) -> int:
        return sum(getattr(self, flag) for flag in FLAGS)

    @property
    def left_out_in_all(self) -> int:
        return self.rows - self.counted

    @property
    def left_out(self) -> list[tuple[str, int]]:
        """The groups that are not in the statistics, in words, each with its number of ratings."""
        groups = ((words, getattr(self, group)) for group, words in RATING_GROUPS.items())
        return [(words, n) for words, n in groups if n and words != RATING_GROUPS["counted"]]


@dataclass(frozen=True)
class CountedRatings:
    """The numbers of a study's ratings, and of the annotators who gave those in the statistics."""

    rows: RatingCounts = RatingCounts()
    annotators: int = 0


@dataclass(frozen=True)
class Progress:
    """How many places a study has, and how many are filled."""

    places: int
    completed: int
    live: int
    completed_last_hour: int
    first_completed_at: datetime | None
    last_completed_at: datetime | None
    newest_place: int | None

    @property
    def remaining(self) -> int:
        return self.places - self.completed

    @property
    def share(self) -> float:
        return self.completed / self.places if self.places else 0.0


NO_PLACES = Progress(0, 0, 0, 0, None, None, None)


@dataclass(frozen=True)
class PlanCounts:
    """The size of a study's plan.

    `answers` and `repeated` are the numbers of units and of repeats in all places together. A plan
    changes only with its places, so their number and the newest one of the last HIT identify it.
    """

    instances: int
    hits: int
    units: int
    repeats: int
    answers: int
    repeated: int
    places: int = 0
    newest_place: int | None = None

    def is_of(self, progress: Progress) -> bool:
        current = (progress.places, progress.newest_place)
        return bool(self.places) and (self.places, self.newest_place) == current


@dataclass(frozen=True)
class StudyCounts(Progress):
    """The size of a study's plan, its progress, and its ratings.

    `expected` is the number of human ratings in the statistics once every place is filled: one per
    place, unit and criterion. `expected_repeats` is the number of additional ratings of repeats.
    """

    instances: int
    hits: int
    units: int
    repeats: int
    expected: int
    expected_repeats: int
    annotators: int
    unverified: int
    rows: RatingCounts

    @property
    def ratings(self) -> int:
        """The number of ratings in the statistics."""
        return self.rows.counted

    @property
    def simulated(self) -> int:
        return self.rows.simulated


def study_counts(
    study: Study,
    now: datetime | None = None,
    *,
    counted: CountedRatings | None = None,
    plan: PlanCounts | None = None,
) -> StudyCounts:
    """Count a study's plan, progress and ratings.

    ``counted`` are the counts of its ratings, and ``plan`` those of its plan, if they are known:
    counting them takes the time. Counts of a plan that has changed are not used.
    """
    ratings, progress = (
        counted or count_ratings(Rating.objects.filter(unit__study=study)),
        progress_of(study, now),
    )
    plan = count_plan(study, progress, known=plan)
    unverified = study.participations.exclude(address="").filter(simulated=False)
    counts = _values(study, {"criteria": study.criteria.all(), "unverified": unverified})
    return StudyCounts(
        instances=plan.instances,
        hits=plan.hits,
        units=plan.units,
        repeats=plan.repeats,
        expected=plan.answers * counts["criteria"],
        expected_repeats=plan.repeated * counts["criteria"],
        unverified=counts["unverified"],
        annotators=ratings.annotators,
        rows=ratings.rows,
        **vars(progress),
    )


def count_ratings(ratings: RatingQuerySet) -> CountedRatings:
    """Count ratings of a study, or of a part, and the annotators who gave those in the statistics."""
    people = Count("rater", distinct=True, filter=IN_STATISTICS & Q(rater__kind="human"))
    row = ratings.order_by().aggregate(**_EXPRESSIONS, annotators=people)
    return CountedRatings(_unprefixed(row), row["annotators"])


def progress_of(study: Study, now: datetime | None = None) -> Progress:
    """Count a study's places in one statement."""
    return progress_by_study([study.pk], now).get(
        study.pk, NO_PLACES
    )  # if it was deleted meanwhile


def progress_by_study(studies: Iterable[str], now: datetime | None = None) -> dict[str, Progress]:
    """Count the places of several studies in one statement."""
    counts = {f"{_PREFIX}{name}": number for name, number in _places(now or Now()).items()}
    rows = Study.objects.filter(pk__in=list(studies)).only(*_R).annotate(**counts)
    found = (
        (row, {name.removeprefix(_PREFIX): getattr(row, name) for name in counts}) for row in rows
    )
    return {row.pk: _progress(row, **numbers) for row, numbers in found}


def _progress(
    study: Study, places: int | None, hits: int, still_open: int, **others: Any
) -> Progress:
    places = study.places_of(hits) if places is None else places
    return Progress(places=places, completed=places - still_open, **others)


def number_of_places() -> Case:
    """Return as an expression how many places a study has; None where `Study.places_of` its HITs says it.

    That is where annotators were served, which takes every place of the plan; an import has only some.
    """
    served = Q(opened_at__isnull=False) & (Q(closed_at=None) | Q(closed_at__gt=F("opened_at")))
    counted = count_of(Place.objects.filter(study=OuterRef("pk")))
    # There is a place for each annotator of each task: to count those takes longer than all else.
    return Case(When(served, then=None), default=counted)


def number_of_hits() -> Coalesce:
    """Return as an expression how many main HITs a study has: the last one's number says it."""
    last = HIT.objects.main().filter(study=OuterRef("pk")).order_by("-number").values("number")
    return Coalesce(Subquery(last[:1]), 0)


def _places(now: datetime | Now) -> dict[str, Any]:
    """Return what is counted of a study's places, each found by an index.

    Every leased place has an active assignment, of which there are few.
    """
    places = Place.objects.filter(study=OuterRef("pk")).order_by()
    still_open, done = (places.filter(completed_at__isnull=is_open) for is_open in (True, False))
    held = {"assignment__status": Assignment.Status.ACTIVE}
    moments = done.values("completed_at")
    of_last_hit = Place.objects.filter(hit__study=OuterRef("pk"), hit__kind=HIT.Kind.MAIN)
    return {
        "places": number_of_places(),
        "hits": number_of_hits(),
        "still_open": count_of(still_open),
        "live": count_of(still_open.filter(lease_until__gt=now, **held)),
        "completed_last_hour": count_of(done.filter(completed_at__gte=now - timedelta(hours=1))),
        "first_completed_at": Subquery(moments.order_by("completed_at")[:1]),
        "last_completed_at": Subquery(moments.order_by("-completed_at")[:1]),
        "newest_place": Subquery(of_last_hit.order_by("-hit__number", "-pk").values("pk")[:1]),
    }


def count_plan(study: Study, progress: Progress, *, known: PlanCounts | None = None) -> PlanCounts:
    """Count everything about the plan with these places in one statement, unless ``known`` counts are of it."""
    if known and known.is_of(progress):
        return known
    main = study.units.filter(role=Unit.Role.MAIN)
    hit_units = HITUnit.objects.filter(hit__study=study, hit__kind=HIT.Kind.MAIN)
    per_place = HITUnit.objects.filter(hit__places__study=study)
    parts: dict[str, QuerySet[Any]] = {
        "units": main,
        "hits": study.hits.main(),
        "repeats": hit_units.filter(repeat__gt=0),
        "answers": per_place.filter(repeat=0),
        "repeated": per_place.filter(repeat__gt=0),
    }
    counts = _values(study, parts, instances=count_of(main, Count("instance", distinct=True)))
    return PlanCounts(places=progress.places, newest_place=progress.newest_place, **counts)


def _values(study: Study, parts: dict[str, QuerySet[Any]], **more: Coalesce) -> dict[str, int]:
    """Return the numbers of rows of several queries, in one statement."""
    numbers = {name: count_of(rows) for name, rows in parts.items()} | more
    prefixed = {f"{_PREFIX}{name}": number for name, number in numbers.items()}
    row = cast(dict[str, Any], Study.objects.filter(pk=study.pk).values(**prefixed).get())
    return {name.removeprefix(_PREFIX): n for name, n in row.items()}


def rating_counts(ratings: RatingQuerySet) -> RatingCounts:
    """Return the counts of any set of ratings, which takes one statement."""
    return _unprefixed(ratings.order_by().aggregate(**_EXPRESSIONS))


def counts_by_participation(participations: Collection[int]) -> dict[int, tuple[int, datetime]]:
    """Return how many ratings of participations are in the statistics, and when each gave the last of all.

    Those without ratings are left out.
    """
    rows = (
        Rating.objects.filter(assignment__participation__in=participations)
        .order_by()
        .values_list("assignment__participation")
        .annotate(counted=Count("pk", filter=IN_STATISTICS), last=Max("created_at"))
    )
    return {participation: (counted, last) for participation, counted, last in rows}


def _unprefixed(row: dict[str, Any]) -> RatingCounts:
    return RatingCounts(**{name.removeprefix(_PREFIX): row[name] for name in _EXPRESSIONS})


def first_flag(flag: str) -> Q:
    """Return the condition for main ratings with this flag and none that is counted before it."""
    earlier_flags = dict.fromkeys(FLAGS[: FLAGS.index(flag)], False)
    return MAIN_FIRST & Q(**{flag: True}, **earlier_flags)


# An annotation cannot have the name of a column.
_PREFIX = "n_"
# What says how many places a HIT has.
_R = ("ratings_per_hit", "further_share", "further_ratings")
_WITHOUT_FLAG = COUNTED & MAIN_FIRST
_KINDS: dict[str, Q] = {
    "counted": IN_STATISTICS,
    "people": IN_STATISTICS & Q(rater__kind="human"),
    "machines": IN_STATISTICS & Q(rater__kind="machine"),
    "unparsed": IN_STATISTICS & is_unparsed(),
    "invented": IN_STATISTICS & Q(rater__kind="machine", simulated=True),
    "simulated": IN_STATISTICS & Q(rater__kind="human", simulated=True),
    "repeats": Q(unit__role=Unit.Role.MAIN) & ~Q(repeat=0),
    "training": Q(unit__role=Unit.Role.TRAINING),
    "test": Q(unit__role=Unit.Role.QUALIFICATION),
    "gold": Q(unit__role=Unit.Role.GOLD),
    "nonresponses": _WITHOUT_FLAG & Q(unit__set_aside=False) & ~Q(nonresponse=""),
    **{flag: first_flag(flag) for flag in FLAGS},
    "excluded": first_flag("excluded") | _WITHOUT_FLAG & Q(unit__set_aside=True),
}
_EXPRESSIONS: dict[str, Count] = {
    f"{_PREFIX}rows": Count("pk"),
    **{f"{_PREFIX}{name}": Count("pk", filter=which) for name, which in _KINDS.items()},
}
