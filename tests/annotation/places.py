"""Places and units without a browser."""

from datetime import datetime

from annotation.models import Assignment, HITUnit, Participation
from annotation.selectors import units_by_position
from annotation.services.places import find_work


def take_place(*, participation: Participation, now: datetime | None = None) -> Assignment:
    """Return the assignment that `find_work` finds."""
    return find_work(participation=participation, now=now).assignment


def hit_units_of(assignment: Assignment) -> list[HITUnit]:
    """Return the units that this assignment has to answer, in the annotator's random order."""
    return list(units_by_position(assignment).values())
