"""What platforms are asked outside of web requests. Tasks take ids and may run twice."""

import logging
from collections.abc import Callable
from functools import partial

from celery import shared_task

import recruitment.services.dry_runs  # noqa: F401  registers what a job of its kind does
from annotation.models import Participation
from recruitment.models import Channel
from recruitment.services.platform_actions import run_action
from recruitment.services.platform_sync import (
    confirm_participation,
    renew_keys,
    sync_channel,
    sync_submission,
)
from studies.models import Study
from tiebreak.errors import DomainError

log = logging.getLogger(__name__)


@shared_task(ignore_result=True)  # type: ignore[untyped-decorator]
def confirm_participation_task(participation_id: int) -> None:
    found = Participation.objects.select_related("study", "submission__channel__study", "rater")
    participation = found.filter(pk=participation_id).first()
    if participation is not None:
        # Whoever waits asks again: the next try is the page's.
        _without_noise(lambda: confirm_participation(participation=participation))


@shared_task(ignore_result=True)  # type: ignore[untyped-decorator]
def sync_submission_task(channel_id: int, submission_id: str) -> None:
    channel = Channel.objects.filter(pk=channel_id).select_related("study").first()
    if channel is not None:
        _without_noise(lambda: sync_submission(channel=channel, submission_id=submission_id))


@shared_task(ignore_result=True)  # type: ignore[untyped-decorator]
def renew_keys_task(channel_id: int) -> None:
    channel = Channel.objects.filter(pk=channel_id).first()
    if channel is not None:
        _without_noise(lambda: renew_keys(channel=channel))


@shared_task(ignore_result=True)  # type: ignore[untyped-decorator]
def sync_channels_task() -> None:
    """All studies that collect or collected lately: what no webhook brought is found here."""
    active = Channel.objects.exclude(study__status=Study.Status.DRAFT).exclude(external_id="")
    for channel in active.select_related("study").order_by("pk"):
        _without_noise(partial(sync_channel, channel=channel))


def _without_noise(ask: Callable[[], object]) -> None:
    """A platform that does not answer is the next round's business; the recruitment says so."""
    try:
        ask()
    except DomainError:
        return
    except Exception:
        log.exception("a platform was asked")


@shared_task(ignore_result=True)  # type: ignore[untyped-decorator]
def platform_verb_task(channel_id: int, verb: str, arguments: dict[str, str], key: str) -> None:
    """One thing that a researcher asked of a platform; what came of it stands on their page."""
    channel = Channel.objects.filter(pk=channel_id).select_related("study").first()
    if channel is not None:
        run_action(channel=channel, verb=verb, arguments=arguments, key=key)
