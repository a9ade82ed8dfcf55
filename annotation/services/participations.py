"""An annotator's entry to a study, and their way out of it."""

from datetime import datetime

from django.db import transaction
from django.utils import timezone

from annotation.models import Participation, Rater
from annotation.services.places import CLOSED_DOORS
from studies.errors import DomainError
from studies.models import Study


@transaction.atomic
def give_consent(
    *,
    study: Study,
    provider: str,
    external_id: str,
    submission_id: str,
    simulated: bool = False,
    now: datetime | None = None,
) -> Participation:
    """Enter a study. Nothing about the person is kept before this.

    The same submission again returns the participation it made. Raises `DomainError` where the
    study takes nobody in.
    """
    rater, _ = Rater.objects.get_or_create(provider=provider, external_id=external_id)
    existing = Participation.objects.filter(
        study=study, provider=provider, submission_id=submission_id
    ).first()
    if existing is not None:
        return existing
    if study.status != Study.Status.OPEN:
        raise DomainError("study_not_open", CLOSED_DOORS[study.status])
    participation, _ = Participation.objects.get_or_create(
        study=study,
        provider=provider,
        submission_id=submission_id,
        defaults={
            "rater": rater,
            "consented_version": study.versions.order_by("-number").first(),
            "consented_at": now or timezone.now(),
            "simulated": simulated,
        },
    )
    return participation


def mark_guidelines_read(*, participation: Participation, now: datetime | None = None) -> None:
    """Note the first time the guidelines were read, so that they are shown once and then linked."""
    unread = Participation.objects.filter(pk=participation.pk, guidelines_read_at__isnull=True)
    unread.update(guidelines_read_at=now or timezone.now())


def finish_participation(*, participation: Participation, now: datetime | None = None) -> None:
    """The annotator is done: their completion code may be shown from now on."""
    active = Participation.objects.filter(pk=participation.pk, status=Participation.Status.ACTIVE)
    active.update(status=Participation.Status.FINISHED, finished_at=now or timezone.now())


def resume_participation(*, participation: Participation) -> None:
    """Somebody who was done looks for more: a place may have become free meanwhile."""
    done = Participation.objects.filter(
        pk=participation.pk, status=Participation.Status.FINISHED, paid_at__isnull=True
    )
    done.update(status=Participation.Status.ACTIVE, finished_at=None)
