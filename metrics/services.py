"""Keep a study's report up to date: pages request it, and a worker builds it."""

import hashlib
from datetime import datetime, timedelta
from typing import Any

from annotation.models import Rating
from jobs.clock import database_now
from jobs.queue import enqueue
from metrics.messages import REPORT_PENDING
from metrics.models import ReportSnapshot
from metrics.selectors import source_of
from studies.models import Study
from tiebreak.errors import DomainError
from tiebreak.report import build_report
from tiebreak.report.build import REPORT_VERSION

# A request that no worker has served after this time is repeated.
STALE_AFTER = timedelta(minutes=2)
# A rating this many keys behind the newest belongs to no unfinished transaction.
UNSETTLED = 5_000
# Rows are settled again after this many new keys, counted over all studies.
STRIDE = 2 * UNSETTLED


def watermark(study: Study) -> str:
    """Return an identifier of the state of everything that a study's report depends on.

    Ratings are append-only, so their number shows whether any was added. The counter changes with
    flags and separability scores, and the digest with edited names and scales. The cost does not
    grow with the study.
    """
    changes, key, rows = (
        Study.objects.filter(pk=study.pk)
        .values_list(
            "report_changes__n", "report_snapshot__settled_key", "report_snapshot__settled_rows"
        )
        .get()
    )
    total = _count_ratings(study, key or 0, rows or 0)
    return f"{REPORT_VERSION}-{total}-{changes or 0}-{_design(study)}"


def _count_ratings(study: Study, key: int, rows: int) -> int:
    """Count the study's ratings, of which ``rows`` up to ``key`` have been counted before."""
    newest = Rating.objects.order_by("-pk").values_list("pk", flat=True).first() or 0
    ratings = Rating.objects.filter(unit__study=study)
    if newest - key > STRIDE:
        settled = newest - UNSETTLED
        rows += ratings.filter(pk__gt=key, pk__lte=settled).count()
        key = settled
        ReportSnapshot.objects.filter(study=study).update(settled_key=key, settled_rows=rows)
    return rows + ratings.filter(pk__gt=key).count()


def _design(study: Study) -> str:
    """Return a digest of the names and scales that the report uses."""
    criteria = study.criteria.values_list("pk", "name", "scale", "position")
    systems = study.study_systems.values_list("system", "system__name", "position")
    design = repr(([*criteria], [*systems]))
    return hashlib.sha256(design.encode()).hexdigest()[:12]


def refresh_report(*, study: Study) -> ReportSnapshot:
    """Build and store the report. The same ratings give the same digits."""
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
    """Return the newest report, and request another if it is not of ``state``.

    A study has one request at a time, however many pages are open. Ratings that arrive while a
    report is being built lead to a request at the next call after it. Raises `DomainError` if the
    broker cannot be reached.
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


def newest_report(*, study: Study, must_be_current: bool = False) -> tuple[dict[str, Any], bool]:
    """Return the study's newest report, and whether it is of the current ratings.

    Requests a newer one if it is not. Raises `DomainError` with the code ``report_pending`` if there
    is no report yet, or none of the current ratings and ``must_be_current`` is set.
    """
    state, refusal = watermark(study), None
    try:
        snapshot = ensure_fresh(study=study, state=state)
    except DomainError as error:
        snapshot, refusal = ReportSnapshot.objects.get(study=study), error
    is_current = snapshot.report is not None and snapshot.watermark == state
    if snapshot.report is None or (must_be_current and not is_current):
        raise refusal or DomainError("report_pending", REPORT_PENDING)
    return in_order(snapshot.report), is_current


def in_order(report: dict[str, Any]) -> dict[str, Any]:
    """Return a stored report with its criteria in order, which a database need not keep."""
    criteria = {name: report["criteria"][name] for name in report["criteria_order"]}
    return {**report, "criteria": criteria}


def _is_overdue(snapshot: ReportSnapshot, now: datetime) -> bool:
    return snapshot.requested_at is None or snapshot.requested_at < now - STALE_AFTER


def _claim(snapshot: ReportSnapshot, state: str, now: datetime) -> bool:
    """Record the request, unless another page did so since this row was read."""
    as_read = ReportSnapshot.objects.filter(
        pk=snapshot.pk, requested=snapshot.requested, requested_at=snapshot.requested_at
    )
    return bool(as_read.update(requested=state, requested_at=now))
