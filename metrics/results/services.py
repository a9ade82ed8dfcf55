"""Keeping a study's report up to date. Pages request a report, and a worker builds it."""

import hashlib
import json
from dataclasses import asdict, replace
from datetime import datetime, timedelta
from typing import Any

from django.db.models import CharField, FilteredRelation, OuterRef, Q, Subquery, Value
from django.db.models.functions import Now
from django.dispatch import receiver

from annotation.counts import count_plan, count_ratings, progress_of
from annotation.filter_choices import FilterChoices, filter_choices
from annotation.filters import EVERYTHING, NO_FAILED_CHECK, Filter, ratings_in
from annotation.models import Rater, Rating
from annotation.services.screening import check_records
from jobs.clock import database_now
from jobs.queue import enqueue
from metrics.messages import OUTCOME_HIDDEN, REPORT_PENDING
from metrics.models import ReportSnapshot, SectionSnapshot
from metrics.results.collection_figure import completed_over_time
from metrics.results.rater_rows import page_rows, take_out
from metrics.results.selectors import source_of, stored_plan, stored_report
from metrics.results.stopping import with_stopping
from recruitment.services.erasure import person_erased
from studies.models import Study, Unit
from tiebreak import __version__
from tiebreak.errors import DomainError
from tiebreak.report import REPORT_VERSION, Report
from tiebreak.report.analysis_plan import ANALYSIS_SETTINGS
from tiebreak.report.build import report_from
from tiebreak.report.model.report import OPTIONAL_SECTIONS, CriterionSection
from tiebreak.report.registry import after_closing
from tiebreak.report.schema import report_schema
from tiebreak.report.source import Source

# The version of the format with a digest of the report's classes, which may change within a version,
# and of the release: a number of two releases side by side may differ in its interval.
_CLASSES = json.dumps([report_schema(), __version__], sort_keys=True).encode()
REPORT_FORM = f"{REPORT_VERSION}.{hashlib.sha256(_CLASSES).hexdigest()[:8]}"
# A request that no worker has served after this time is repeated.
STALE_AFTER = timedelta(minutes=2)
# Ratings this many keys behind the newest rating are no longer in an unfinished transaction.
UNSETTLED = 5_000
# The stored count is renewed once so many keys are newer, over all studies: each poll of a page counts them.
STRIDE = UNSETTLED + 1_000
# Reports of so many parts of a study are kept, those that were requested last.
MAX_PARTS = 20
# The optional parts of a criterion's report that do not say which system is preferred.
SHOWN_WITHOUT_OUTCOME = {"bias", "self_consistency", "fatigue"}


@receiver(person_erased)
def forget_reports(*, studies: list[Study], **_: object) -> None:
    """Delete what is stored of reports, which the next request makes anew without an erased person."""
    ReportSnapshot.objects.filter(study__in=studies).delete()


def watermark(study: Study) -> str:
    return watermark_now(study)[0]


def watermark_now(study: Study) -> tuple[str, datetime]:
    """Return an identifier of the state of everything that a study's report depends on, and the time.

    Ratings are append-only, so their number shows whether ratings were added. The counter changes
    with flags and separability scores, and the digest changes with names and scales; a study that is
    closed has votes that were set aside. The state begins with
    the form of reports so that they are computed anew after an update that changes it. The cost does
    not grow with the study.
    """
    newest = Subquery(Rating.objects.order_by("-pk").values("pk")[:1])
    changes, key, rows, newest_key, status, *analysis, now = (
        Study.objects.filter(pk=study.pk)
        .annotate(
            whole=FilteredRelation("report_snapshots", condition=Q(report_snapshots__digest=""))
        )
        .values_list(
            *("report_changes__n", "whole__settled_key", "whole__settled_rows", newest),
            *("status", "main_machine"),
            *ANALYSIS_SETTINGS,
            Now(),
        )
        .get()
    )
    total = _count_ratings(study, key or 0, rows or 0, newest_key or 0)
    state = f"{REPORT_FORM}-{total}-{changes or 0}-{_design(study, analysis)}"
    return (f"{state}-closed" if status == Study.Status.CLOSED else state), now


def _count_ratings(study: Study, key: int, rows: int, newest: int) -> int:
    """Count the study's ratings, given that there are ``rows`` ratings up to ``key``.

    ``newest`` is the key of the newest rating of all studies.
    """
    ratings = Rating.objects.filter(unit__study=study)
    if newest - key > STRIDE:
        settled = newest - UNSETTLED
        rows += ratings.filter(pk__gt=key, pk__lte=settled).count()
        key = settled
        whole = ReportSnapshot.objects.filter(study=study, digest="")
        whole.update(settled_key=key, settled_rows=rows)
    # A few thousand ratings: their units are looked up, where a join would read all of the study's.
    of_unit = Subquery(Unit.objects.filter(pk=OuterRef("unit")).values("study"))
    return rows + Rating.objects.alias(of=of_unit).filter(pk__gt=key, of=study.pk).count()


def _design(study: Study, analysis: list[Any]) -> str:
    """Return a digest of the names and scales that the report uses, and of settings of the analysis."""
    kind = {name: Value(name, output_field=CharField()) for name in ("criterion", "system", "")}
    criteria = study.criteria.order_by().values_list(kind["criterion"], "name", "scale", "position")
    systems = study.study_systems.order_by().values_list(
        kind["system"], "system__name", kind[""], "position"
    )
    design = repr([*sorted(criteria.union(systems, all=True)), *analysis])
    return hashlib.sha256(design.encode()).hexdigest()[:12]


def refresh_report(*, study: Study, chosen: Filter = EVERYTHING) -> ReportSnapshot:
    """Build and store the report. The same ratings give the same digits."""
    state = watermark(study)
    source = source_of(study, chosen)
    report = report_from(
        source, sections=after_closing() if source.is_closed and not chosen else ()
    )
    if not chosen:
        report = with_stopping(report, study)
    if chosen.raters == NO_FAILED_CHECK:
        report = without_outcome(report)
    return store_report(study=study, state=state, source=source, report=report, chosen=chosen)


def store_report(
    *, study: Study, state: str, source: Source, report: Report, chosen: Filter = EVERYTHING
) -> ReportSnapshot:
    """Store a report of these ratings, with everything that pages show next to it."""
    records = check_records(study.pk)
    names = Rater.objects.filter(pk__in=records).values_list("pk", "pseudonym")
    checks = {name: records[pk] for pk, name in names}
    written, rows = report.as_json(), page_rows(source, checks)
    per_rater = {"report": take_out(written["criteria"]), "rows": take_out(rows)}
    snapshot, _ = ReportSnapshot.objects.update_or_create(
        study=study,
        digest=chosen.digest,
        defaults={
            "part": chosen.values,
            "watermark": state,
            "report": written,
            "page_rows": rows,
            "per_rater": per_rater,
            "counted": asdict(count_ratings(ratings_in(study, chosen))),
            **({} if chosen else _of_whole(study)),
            "made_at": database_now(),
            "requested": "",
        },
    )
    return snapshot


def without_outcome(report: Report) -> Report:
    """Return the report without anything that says which system is preferred.

    Who leaves people out by their quality must not see what that does to the outcome, because it
    would be a selection on the outcome.
    """
    criteria = {name: _section_without_outcome(part) for name, part in report.criteria.items()}
    return replace(report, criteria=criteria)


def _section_without_outcome(section: CriterionSection) -> CriterionSection:
    optional = {*OPTIONAL_SECTIONS} - SHOWN_WITHOUT_OUTCOME
    labels: dict[str, Any] = {"votes": {}, "perception": (), "perception_by_systems": {}}
    empty = labels | dict.fromkeys(optional)
    hidden = [name for name in empty if name != "votes" and getattr(section, name)]
    problems = section.problems | dict.fromkeys([*hidden, "confusion"], OUTCOME_HIDDEN)
    raters = {
        name: replace(rater, votes={}, confusion=None) for name, rater in section.raters.items()
    }
    return replace(section, **empty, raters=raters, problems=problems)


def _of_whole(study: Study) -> dict[str, Any]:
    """Return the plan's size, the responses completed over time, and what one can filter by."""
    progress = progress_of(study)
    moments = completed_over_time(study, progress)
    stored = ReportSnapshot.objects.filter(study=study, digest="").only("plan").first()
    return {
        "choices": filter_choices(study),
        "plan": asdict(count_plan(study, progress, known=stored_plan(stored) if stored else None)),
        "completed": [(when.isoformat(), n) for when, n in moments],
    }


def ensure_fresh(
    *,
    study: Study,
    chosen: Filter = EVERYTHING,
    state: str | None = None,
    now: datetime | None = None,
) -> ReportSnapshot:
    """Return the newest report, and request another if it was not built from ``state``.

    A study, or a part of it, has only one request at a time, however many pages are open. Ratings
    that arrive while a report is being built lead to another request at the first call after it.
    Raises `DomainError` if the broker cannot be reached.
    """
    now, state = now or database_now(), watermark(study) if state is None else state
    snapshot = _snapshot_of(study, chosen, now)
    if snapshot.watermark == state and snapshot.report is not None:
        return snapshot
    task = "metrics.tasks.refresh_report_task"
    request_once(snapshot, state, now, task, study.pk, *([chosen.digest] if chosen else []))
    return snapshot


def request_once(
    snapshot: ReportSnapshot | SectionSnapshot,
    state: str,
    now: datetime,
    task: str,
    *arguments: str,
) -> None:
    """Queue the task that computes what a row stores, unless that was requested already.

    Raises `DomainError` if the broker cannot be reached.
    """
    # A request that was not served for long is repeated.
    asked = snapshot.requested_at
    if snapshot.requested and asked is not None and asked >= now - STALE_AFTER:
        return
    row = type(snapshot)._default_manager.filter(pk=snapshot.pk)
    # Unless another page has requested it since this row was read.
    as_read = row.filter(requested=snapshot.requested, requested_at=asked)
    if not as_read.update(requested=state, requested_at=now):
        return
    try:
        enqueue(task, *arguments)
    except DomainError:
        row.update(requested="")
        raise
    snapshot.refresh_from_db()


def _snapshot_of(study: Study, chosen: Filter, now: datetime) -> ReportSnapshot:
    """Return the stored report of a part. A new part takes the place of the oldest."""
    snapshot, is_new = ReportSnapshot.objects.defer("per_rater").get_or_create(
        study=study,
        digest=chosen.digest,
        defaults={"part": chosen.values, "requested_at": now},
    )
    if is_new and chosen:
        parts = ReportSnapshot.objects.filter(study=study).exclude(digest="")
        oldest = parts.order_by("-requested_at", "-pk").values_list("pk", flat=True)[MAX_PARTS:]
        ReportSnapshot.objects.filter(pk__in=list(oldest)).delete()
    return snapshot


def choices_of(*, study: Study) -> FilterChoices:
    """Return what the study's ratings can be filtered by, which is stored with its report.

    Raises `DomainError` with the code ``report_pending`` if there is no report yet.
    """
    choices: FilterChoices = ensure_fresh(study=study).choices
    if not choices:
        raise DomainError("report_pending", REPORT_PENDING)
    return choices


def newest_report(
    *, study: Study, chosen: Filter = EVERYTHING, must_be_current: bool = False
) -> tuple[Report, bool]:
    """Return the newest report of a study or of a part, and whether it covers the current ratings.

    Requests a newer one if it is not. Raises `DomainError` with the code ``report_pending`` if there
    is no report yet, or none of the current ratings and ``must_be_current`` is set.
    """
    state, refusal = watermark(study), None
    try:
        snapshot = ensure_fresh(study=study, chosen=chosen, state=state)
    except DomainError as error:
        snapshot = ReportSnapshot.objects.get(study=study, digest=chosen.digest)
        refusal = error
    report = stored_report(snapshot)
    is_current = report is not None and snapshot.watermark == state
    if report is None or (must_be_current and not is_current):
        raise refusal or DomainError("report_pending", REPORT_PENDING)
    return report, is_current
