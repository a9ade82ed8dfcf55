"""Records when annotators have read the guidelines and when they have finished."""

from datetime import datetime

from annotation.models import Participation
from annotation.services.screening import clear_participation
from jobs.clock import database_now


def mark_guidelines_read(*, participation: Participation, now: datetime | None = None) -> None:
    """Record when the annotator first read the guidelines. Later pages only link to them."""
    now = now or database_now()
    unread = Participation.objects.filter(pk=participation.pk, guidelines_read_at__isnull=True)
    unread.update(guidelines_read_at=now)
    participation.refresh_from_db(fields=["guidelines_read_at", "cleared_at"])
    clear_participation(participation=participation, now=now)


def finish_participation(*, participation: Participation, now: datetime | None = None) -> None:
    """Mark an active participation as finished so that its completion code may be shown."""
    active = Participation.objects.filter(pk=participation.pk, status=Participation.Status.ACTIVE)
    active.update(status=Participation.Status.FINISHED, finished_at=now or database_now())
