"""Celery tasks that talk to platforms outside of web requests. They take IDs and may run twice."""

import logging
from collections.abc import Callable
from functools import partial

from celery import shared_task

from annotation.models import Participation
from recruitment.models import Channel
from recruitment.services.platform_actions import run_action
from recruitment.services.platform_sync import (
    confirm_participation,
    renew_keys,
    sync_channel,
    sync_submission,
)
from recruitment.services.retention import remove_what_is_due
from studies.models import Study
from tiebreak.errors import DomainError

log = logging.getLogger(__name__)


@shared_task(ignore_result=True)  # type: ignore[untyped-decorator]
def confirm_participation_task(participation_id: int) -> None:
    participations = Participation.objects.select_related(
        "study", "submission__channel__study", "rater"
    )
    participation = participations.filter(pk=participation_id).first()
    if participation is not None:
        # No retry here: the page of the waiting participant asks again.
        _quietly(lambda: confirm_participation(participation=participation))


@shared_task(ignore_result=True)  # type: ignore[untyped-decorator]
def sync_submission_task(channel_id: int, submission_id: str) -> None:
    channel = Channel.objects.filter(pk=channel_id).select_related("study").first()
    if channel is not None:
        _quietly(lambda: sync_submission(channel=channel, submission_id=submission_id))


@shared_task(ignore_result=True)  # type: ignore[untyped-decorator]
def renew_keys_task(channel_id: int) -> None:
    channel = Channel.objects.filter(pk=channel_id).first()
    if channel is not None:
        _quietly(lambda: renew_keys(channel=channel))


@shared_task(ignore_result=True)  # type: ignore[untyped-decorator]
def sync_channels_task() -> None:
    """Sync every channel with a study on its platform, whether or not webhooks arrive."""
    active = Channel.objects.exclude(study__status=Study.Status.DRAFT).exclude(external_id="")
    for channel in active.select_related("study").order_by("pk"):
        _quietly(partial(sync_channel, channel=channel))


def _quietly(request: Callable[[], object]) -> None:
    """Run a request to a platform. After a failure, the next sync tries again."""
    try:
        request()
    except DomainError:
        return
    except Exception:
        log.exception("a request to a platform failed")


@shared_task(ignore_result=True)  # type: ignore[untyped-decorator]
def platform_action_task(channel_id: int, action: str, arguments: dict[str, str], key: str) -> None:
    """Run a researcher's action on a platform; the recruitment page shows the result."""
    channel = Channel.objects.filter(pk=channel_id).select_related("study").first()
    if channel is not None:
        run_action(channel=channel, action=action, arguments=arguments, key=key)


@shared_task(ignore_result=True)  # type: ignore[untyped-decorator]
def remove_what_is_due_task() -> None:
    remove_what_is_due()
