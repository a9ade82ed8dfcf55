"""Keeping a study's report fresh: asked for by pages, made by a worker."""

import hashlib
from datetime import datetime, timedelta

from annotation.models import Rating
from jobs.queue import enqueue
from metrics.models import ReportSnapshot
from metrics.selectors import source_of
from studies.clock import database_now
from studies.models import Study
from tiebreak.errors import DomainError
from tiebreak.report import build_report
from tiebreak.report.build import REPORT_VERSION

# A request that no worker answered for so long is made again.
STALE_AFTER = timedelta(minutes=2)
# A key that so many came after belongs to no transaction that is still under way.
UNSETTLED = 5_000
# After so many keys, of any study, rows are settled anew.
STRIDE = 2 * UNSETTLED


def watermark(study: Study) -> str:
    """Names the state of all that a study's report is made of.

    Ratings are append-only, so their number says whether one came; the counter moves with flags
    and separabilities; and names and scales may be edited. Its cost does not grow with the study.
    """
    own = Study.objects.filter(pk=study.pk)
    changes, key, rows = own.values_list(
        "report_changes__n", "report_snapshot__settled_key", "report_snapshot__settled_rows"
    ).get()
    total = _rows(study, key or 0, rows or 0)
    return f"{REPORT_VERSION}-{total}-{changes or 0}-{_design(study)}"


def _rows(study: Study, key: int, rows: int) -> int:
    """How many ratings the study has; up to ``key`` they were counted before, and were ``rows``."""
    newest = Rating.objects.order_by("-pk").values_list("pk", flat=True).first() or 0
    own = Rating.objects.filter(unit__study=study)
    if newest - key > STRIDE:
        settled = newest - UNSETTLED
        rows += own.filter(pk__gt=key, pk__lte=settled).count()
        key = settled
        ReportSnapshot.objects.filter(study=study).update(settled_key=key, settled_rows=rows)
    return rows + own.filter(pk__gt=key).count()


def _design(study: Study) -> str:
    """A digest of the names and scales that the report uses."""
    criteria = study.criteria.values_list("pk", "name", "scale", "position")
    systems = study.study_systems.values_list("system", "system__name", "position")
    named = repr(([*criteria], [*systems]))
    return hashlib.sha256(named.encode()).hexdigest()[:12]


def refresh_report(*, study: Study) -> ReportSnapshot:
    """Make the report now and keep it. The same ratings give the same digits."""
    state = watermark(study)
    source = source_of(study)
    report = build_report(
        source.table, scales=source.scales, source=source.about, order=source.order
    )
    snapshot, _ = ReportSnapshot.objects.update_or_create(
        study=study,
        defaults={
            "watermark": state,
            "report": report,
            "made_at": database_now(),
            "requested": "",
        },
    )
    return snapshot


def ensure_fresh(
    *, study: Study, state: str | None = None, now: datetime | None = None
) -> ReportSnapshot:
    """The newest report there is, with a newer one asked for if its ratings are not of ``state``.

    One request at a time for a study, however many pages are open and ratings come: when it is
    answered, the next look asks for what came meanwhile. Raises `DomainError` where no broker
    takes the request.
    """
    now, state = now or database_now(), watermark(study) if state is None else state
    snapshot, _ = ReportSnapshot.objects.get_or_create(study=study)
    if snapshot.watermark == state and snapshot.report is not None:
        return snapshot
    if snapshot.requested and not _is_overdue(snapshot, now):
        return snapshot
    if not _claim(snapshot, state, now):
        return snapshot
    try:
        enqueue("metrics.tasks.refresh_report_task", study.pk)
    except DomainError:
        ReportSnapshot.objects.filter(pk=snapshot.pk).update(requested="")
        raise
    snapshot.refresh_from_db()
    return snapshot


def _is_overdue(snapshot: ReportSnapshot, now: datetime) -> bool:
    return snapshot.requested_at is None or snapshot.requested_at < now - STALE_AFTER


def _claim(snapshot: ReportSnapshot, state: str, now: datetime) -> bool:
    """Of many pages that look at once, one asks: the one that finds the row as it was read."""
    as_read = ReportSnapshot.objects.filter(
        pk=snapshot.pk, requested=snapshot.requested, requested_at=snapshot.requested_at
    )
    return bool(as_read.update(requested=state, requested_at=now))
