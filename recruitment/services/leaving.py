"""The way out: back to where somebody came from, at the end or between two HITs."""

from datetime import datetime
from decimal import ROUND_UP, Decimal

from django.db import transaction

from annotation.models import Participation
from annotation.selectors import hits_of_visit, progress_of
from annotation.services.exclusion import stop_work
from annotation.services.places import has_work
from recruitment.models import Channel, Submission
from recruitment.platforms import Ending, ReturnInstructions, get_platform
from tiebreak.errors import DomainError


def return_instructions(participation: Participation, ending: Ending) -> ReturnInstructions:
    """The way out of somebody who was in."""
    submission = participation.submission
    channel = submission.channel or Channel(
        study_id=participation.study_id, provider=participation.provider
    )
    return get_platform(channel.provider).return_instructions(channel, submission, ending)


def check_may_leave_early(participation: Participation) -> None:
    """Raises `DomainError` with what to do instead."""
    if not participation.may_leave_early:
        raise DomainError("one_sum_for_all", ONE_SUM)
    if not hits_of_visit(participation):
        raise DomainError("nothing_complete", NOTHING_YET)


def owed_on_leaving(participation: Participation) -> Decimal | None:
    """The share of the reward that their HITs are, in whole cents; all where no work is left."""
    study, share = participation.study, progress_of(participation)
    reward, done = study.reward, hits_of_visit(participation)
    is_share = study.hits_per_annotator is not None and done < share.total
    if reward is None or not is_share or not has_work(participation):
        return reward
    return (reward * done / share.total).quantize(Decimal("0.01"), ROUND_UP)


def leave_early(*, participation: Participation, now: datetime | None = None) -> None:
    """End one's part by one's own wish: complete HITs count, and the one in work is given away.

    What they are owed is kept with them. Raises `DomainError` as `check_may_leave_early` does. The
    same again changes nothing.
    """
    check_may_leave_early(participation)
    owed = owed_on_leaving(participation)
    with transaction.atomic():
        if stop_work(participation=participation, status=Participation.Status.LEFT, now=now):
            Submission.objects.filter(participation=participation).update(owed=owed)


ONE_SUM = (
    "Where you came from, one sum is paid for all tasks together, so a part of them has no code."
    " You may pause and come back in this browser. If you do not wish to go on, return your"
    " submission there."
)
NOTHING_YET = (
    "In this visit you have completed no task yet, so there is nothing to be paid for. If you do not"
    " wish to go on, just close this page. Your place is then given to somebody else."
)
