"""Keeping a study's report fresh: asked for by pages, made by a worker."""

from datetime import datetime, timedelta

from django.db import transaction
from django.db.models import Count, Max, Q, Sum
from kombu.exceptions import OperationalError

from annotation.models import Rating
from annotation.models.rating import EXCLUDING_FLAGS
from metrics.models import ReportSnapshot
from metrics.report import build_report
from metrics.selectors import source_of
from studies.clock import database_now
from studies.errors import DomainError
from studies.models import Study

# A request that no worker answered for so long is made again.
PATIENCE = timedelta(minutes=2)


def watermark(study: Study) -> str:
    """Names the state of a study's ratings: any new row or flag changes it."""
    flags = {flag: Sum("pk", filter=Q(**{flag: True})) for flag in EXCLUDING_FLAGS}
    state = Rating.objects.filter(unit__study=study).aggregate(
        rows=Count("pk"), last=Max("pk"), **flags
    )
    scored = study.units.filter(separability_raw__isnull=False).count()
    return "-".join(str(value or 0) for value in [*state.values(), scored])


def refresh_report(*, study: Study) -> ReportSnapshot:
    """Make the report now and keep it. The same ratings give the same digits."""
    state = watermark(study)
    source = source_of(study)
    report = build_report(
        source.table, scales=source.scales, source=source.about, order=source.order
    )
    snapshot, _ = ReportSnapshot.objects.update_or_create(
        study=study,
        defaults={"watermark": state, "report": report, "made_at": database_now()},
    )
    return snapshot


def ensure_fresh(*, study: Study, now: datetime | None = None) -> ReportSnapshot:
    """The newest report there is, with a newer one asked for if ratings came since.

    One request per state of the ratings, so that many open pages ask once. Raises `DomainError`
    where no broker takes the request.
    """
    from metrics.tasks import refresh_report_task  # noqa: PLC0415  tasks call this module

    now = now or database_now()
    state = watermark(study)
    snapshot, _ = ReportSnapshot.objects.get_or_create(study=study)
    if snapshot.watermark == state and snapshot.report is not None:
        return snapshot
    unanswered = ~Q(requested=state) | Q(requested_at__lt=now - PATIENCE)
    with transaction.atomic():
        asked = ReportSnapshot.objects.filter(unanswered, pk=snapshot.pk).update(
            requested=state, requested_at=now
        )
    if asked:
        try:
            refresh_report_task.delay(study.pk)
        except OperationalError as error:
            ReportSnapshot.objects.filter(pk=snapshot.pk).update(requested="")
            raise DomainError(
                "no_broker",
                "The numbers cannot be brought up to date: no job queue answers. Start the"
                " worker and its broker, then reload this page.",
                status=503,
            ) from error
    snapshot.refresh_from_db()
    return snapshot
