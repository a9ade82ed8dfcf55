"""What is so: the annotator's seats, their order and sides, a study's progress."""

import random
from collections import defaultdict
from dataclasses import dataclass
from datetime import datetime

from django.db.models import Count, Q
from django.utils import timezone

from annotation.models import HIT, Assignment, HITUnit, Participation, Place, Rating
from annotation.models.rating import RatingQuerySet
from studies.models import Study


def is_a_first(assignment: Assignment, seat: HITUnit) -> bool:
    """Whether system A is shown first: the seat's bit xor the parity of the place."""
    return int(seat.side_bit) ^ assignment.parity == 0


def seats_of(assignment: Assignment) -> list[HITUnit]:
    """The seats this assignment is to fill, in this annotator's own random order.

    Where abandoned work is offered by units, those that an earlier holder of the place answered
    are left out.
    """
    seats = list(
        HITUnit.objects.filter(hit=assignment.hit_id)
        .exclude(pk__in=_filled_by_others(assignment))
        .select_related("unit__generation_a", "unit__generation_b", "unit__instance")
        .order_by("pk")
    )
    seed = assignment.participation.order_seed if assignment.participation else ""
    random.Random(f"{seed}:{assignment.hit_id}").shuffle(seats)
    return seats


def answered_seats(assignment: Assignment) -> set[int]:
    """The seats whose every criterion this assignment has answered."""
    return _full_seats(assignment.hit, Rating.objects.filter(assignment=assignment))


def missing_units(place: Place) -> set[int]:
    """The seats of a place's HIT that nobody's counted answers fill for it yet."""
    seats = set(place.hit.hit_units.values_list("pk", flat=True))
    return seats - _full_seats(place.hit, Rating.objects.counted().filter(place=place))


def _full_seats(hit: HIT, ratings: RatingQuerySet) -> set[int]:
    criteria = set(hit.study.criteria.values_list("pk", flat=True))
    answered: dict[tuple[int, int], set[int]] = defaultdict(set)
    rows = ratings.filter(superseded=False).values_list("unit_id", "repeat", "criterion_id")
    for unit, repeat, criterion in rows:
        answered[unit, repeat].add(criterion)
    seats = hit.hit_units.values_list("pk", "unit_id", "repeat")
    return {pk for pk, unit, repeat in seats if answered[unit, repeat] >= criteria}


def _filled_by_others(assignment: Assignment) -> set[int]:
    place = Place.objects.filter(assignment=assignment).first()
    if place is None:
        return set()
    others = Rating.objects.counted().filter(place=place).exclude(assignment=assignment)
    return _full_seats(assignment.hit, others)


@dataclass(frozen=True)
class Progress:
    """How far a study is: its places by state, its counted ratings, its annotators."""

    hits: int
    places: int
    completed: int
    live: int
    annotators: int
    ratings: int
    simulated: int

    @property
    def remaining(self) -> int:
        return self.places - self.completed

    @property
    def share(self) -> float:
        return self.completed / self.places if self.places else 0.0


def progress(study: Study, now: datetime | None = None) -> Progress:
    now = now or timezone.now()
    places = study.places.aggregate(
        all=Count("pk"),
        completed=Count("pk", filter=Q(completed_at__isnull=False)),
        live=Count("pk", filter=Q(completed_at__isnull=True, lease_until__gt=now)),
    )
    ratings = Rating.objects.counted().filter(unit__study=study)
    counts = ratings.aggregate(all=Count("pk"), simulated=Count("pk", filter=Q(simulated=True)))
    return Progress(
        hits=study.hits.count(),
        places=places["all"],
        completed=places["completed"],
        live=places["live"],
        annotators=ratings.filter(rater__kind="human").values("rater").distinct().count(),
        ratings=counts["all"],
        simulated=counts["simulated"],
    )


@dataclass(frozen=True)
class Share:
    """One annotator's progress: HITs done, and how many there are for them at most."""

    done: int
    of: int


def share_of(participation: Participation) -> Share:
    study = participation.study
    done = participation.assignments.filter(status=Assignment.Status.COMPLETED).count()
    hits = study.hits.count()
    return Share(done=done, of=min(study.hits_per_annotator or hits, hits))
