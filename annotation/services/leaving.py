"""The way out: back to where somebody came from, at the end or between two HITs."""

from datetime import datetime

from annotation.crowd import Departure, Ending, provider_named
from annotation.models import Participation, Recruitment
from annotation.selectors import share_of
from annotation.services.withdrawing import stop_work
from studies.errors import DomainError


def departure(participation: Participation, ending: Ending) -> Departure:
    """The way out of somebody who was in."""
    recruitment = participation.recruitment or Recruitment(
        study_id=participation.study_id, provider=participation.provider
    )
    try:
        provider = provider_named(recruitment.provider)
    except DomainError:  # an imported or a test's participation has no platform behind it
        return Departure(code=participation.completion_code if ending == "completed" else "")
    return provider.depart(recruitment, participation, ending)


def may_leave_early(participation: Participation) -> bool:
    """Whether the way they came by pays for the HITs that somebody did, and not for all or none."""
    try:
        return provider_named(participation.provider).pays_by_hit(participation.study)
    except DomainError:  # as above: nobody pays
        return True


def check_may_leave_early(participation: Participation) -> None:
    """Raises `DomainError` with what to do instead."""
    if not may_leave_early(participation):
        raise DomainError("one_sum_for_all", ONE_SUM)
    if not share_of(participation).done:
        raise DomainError("nothing_complete", NOTHING_YET)


def leave_early(*, participation: Participation, now: datetime | None = None) -> None:
    """End one's part by one's own wish: complete HITs count, and the one in work is given away.

    Raises `DomainError` as `check_may_leave_early` does. The same again changes nothing.
    """
    check_may_leave_early(participation)
    stop_work(participation=participation, status=Participation.Status.LEFT, now=now)


ONE_SUM = (
    "Where you came from, one sum is paid for all HITs together, so there is no code for a part of"
    " them. You may pause and come back in this browser; if you do not wish to go on, return your"
    " submission there."
)
NOTHING_YET = (
    "You have completed no HIT yet, so there is nothing to be paid for. If you do not wish to go"
    " on, just close this page: your place is given to somebody else."
)
