"""What platforms are asked outside of web requests. Tasks take ids and may run twice."""

import logging
from collections.abc import Callable
from functools import partial

from celery import shared_task

import recruitment.services.dry_runs  # noqa: F401  registers what a job of its kind does
from annotation.models import Participation
from recruitment.models import Recruitment
from recruitment.services.platform_actions import carry_out
from recruitment.services.platform_sync import (
    confirm_participation,
    renew_keys,
    sync_recruitment,
    sync_submission,
)
from studies.models import Study
from tiebreak.errors import DomainError

log = logging.getLogger(__name__)


@shared_task(ignore_result=True)  # type: ignore[untyped-decorator]
def confirm_participation_task(participation_id: int) -> None:
    found = Participation.objects.select_related("study", "submission__recruitment__study", "rater")
    participation = found.filter(pk=participation_id).first()
    if participation is not None:
        # Whoever waits asks again: the next try is the page's.
        _without_noise(lambda: confirm_participation(participation=participation))


@shared_task(ignore_result=True)  # type: ignore[untyped-decorator]
def sync_submission_task(recruitment_id: int, submission_id: str) -> None:
    recruitment = Recruitment.objects.filter(pk=recruitment_id).select_related("study").first()
    if recruitment is not None:
        _without_noise(
            lambda: sync_submission(recruitment=recruitment, submission_id=submission_id)
        )


@shared_task(ignore_result=True)  # type: ignore[untyped-decorator]
def renew_keys_task(recruitment_id: int) -> None:
    recruitment = Recruitment.objects.filter(pk=recruitment_id).first()
    if recruitment is not None:
        _without_noise(lambda: renew_keys(recruitment=recruitment))


@shared_task(ignore_result=True)  # type: ignore[untyped-decorator]
def sync_recruitments_task() -> None:
    """All studies that collect or collected lately: what no webhook brought is found here."""
    active = Recruitment.objects.exclude(study__status=Study.Status.DRAFT).exclude(external_id="")
    for channel in active.select_related("study").order_by("pk"):
        _without_noise(partial(sync_recruitment, recruitment=channel))


def _without_noise(ask: Callable[[], object]) -> None:
    """A platform that does not answer is the next round's business; the recruitment says so."""
    try:
        ask()
    except DomainError:
        return
    except Exception:
        log.exception("a platform was asked")


@shared_task(ignore_result=True)  # type: ignore[untyped-decorator]
def platform_verb_task(recruitment_id: int, verb: str, arguments: dict[str, str], key: str) -> None:
    """One thing that a researcher asked of a platform; what came of it stands on their page."""
    recruitment = Recruitment.objects.filter(pk=recruitment_id).select_related("study").first()
    if recruitment is not None:
        carry_out(recruitment=recruitment, verb=verb, arguments=arguments, key=key)
