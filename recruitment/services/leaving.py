"""Leaving a study, at its end or between two HITs, and the amount that is owed then."""

from datetime import datetime
from decimal import Decimal

from django.db import transaction

from annotation.models import Participation
from annotation.selectors import hits_of_visit, progress_of
from annotation.services.exclusion import stop_work
from annotation.services.places import has_work
from recruitment.costs import share_of_reward
from recruitment.messages import NOTHING_COMPLETED, ONE_PAYMENT_FOR_ALL
from recruitment.models import Channel, Submission
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
    if not hits_of_visit(participation):
        raise DomainError("nothing_complete", NOTHING_COMPLETED)


def owed_on_leaving(participation: Participation) -> Decimal | None:
    """Return the share of the reward for the completed HITs; the full reward if no work is left."""
    study, progress = participation.study, progress_of(participation)
    reward, completed = study.reward, hits_of_visit(participation)
    is_share = study.hits_per_annotator is not None and completed < progress.total
    if reward is None or not is_share or not has_work(participation):
        return reward
    return share_of_reward(reward, completed, progress.total)


def leave_early(*, participation: Participation, now: datetime | None = None) -> None:
    """End a participation at the annotator's request. Completed HITs count, an active one is freed.

    Stores the amount owed. A repeated call changes nothing. Raises `DomainError` as
    `check_may_leave_early` does.
    """
    check_may_leave_early(participation)
    owed = owed_on_leaving(participation)
    with transaction.atomic():
        if stop_work(participation=participation, status=Participation.Status.LEFT, now=now):
            Submission.objects.filter(participation=participation).update(owed=owed)
