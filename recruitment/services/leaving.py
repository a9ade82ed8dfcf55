"""Leaving a study, at its end or before, and the amount that is owed then."""

from datetime import datetime

from annotation.models import Participation
from annotation.services.exclusion import stop_work
from recruitment.messages import ONE_PAYMENT_FOR_ALL
from recruitment.models import Channel
from recruitment.platforms import Ending, ReturnInstructions, get_platform
from tiebreak.errors import DomainError


def return_instructions(participation: Participation, ending: Ending) -> ReturnInstructions:
    """Return how this participant goes back to the platform they came from."""
    submission = participation.submission
    channel = submission.channel or Channel(
        study=participation.study, provider=participation.provider
    )
    return get_platform(channel.provider).return_instructions(channel, submission, ending)


def check_may_leave_early(participation: Participation) -> None:
    """Raise `DomainError`, with what to do instead, if the participant may not leave early."""
    if not participation.may_leave_early:
        raise DomainError("one_payment_for_all", ONE_PAYMENT_FOR_ALL)


def leave_early(*, participation: Participation, now: datetime | None = None) -> None:
    """End a participation at the annotator's request. Completed HITs count, an active one is freed.

    Whoever has completed none is no longer among the people whom the channel admits.

    A repeated call changes nothing. Raises `DomainError` as `check_may_leave_early` does.
    """
    check_may_leave_early(participation)
    stop_work(participation=participation, status=Participation.Status.LEFT, now=now)
