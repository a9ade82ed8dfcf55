"""The figure of progress: responses completed over time, and how long the rest will take."""

from collections.abc import Sequence
from datetime import datetime, timedelta

from django.db.models import Count
from django.db.models.functions import TruncDay, TruncHour, TruncMinute
from django.db.models.functions.datetime import TruncBase

from annotation.counts import Progress
from jobs.clock import database_now
from recruitment.admission import maximum
from recruitment.launch.limits import responses_possible
from studies.models import Study
from tiebreak.reading.charts.curves import time_chart
from tiebreak.reading.figures.figure import Figure, empty_figure

READING = (
    "The area shows how many responses were complete at each time, and the line at the top how many"
    " are planned. The dashed line is the forecast. The bars below show how many were completed in each hour or day. A response is one annotator's ratings of one task. The forecast assumes the"
    " pace of the last hour, or of the time since the first response if that is less."
)
COLUMNS = ("until", "responses_completed")
HOUR, EARLIEST = timedelta(hours=1), timedelta(minutes=10)
Moments = Sequence[tuple[datetime, int]]


def progress_figure(
    study: Study,
    counts: Progress,
    moments: Moments | None = None,
    now: datetime | None = None,
    possible: int | None = None,
) -> Figure:
    """Return the responses completed over time, with a forecast while the study is open.

    ``moments`` says how many were complete at which times, and ``now`` is the time, if known. There
    is no forecast if fewer responses are ``possible`` than are missing.
    """
    first, last = counts.first_completed_at, counts.last_completed_at
    if study.is_imported:
        return empty_figure("progress", "The ratings were imported", "")
    if first is None or last is None:
        return empty_figure("progress", "No response is complete yet", "")
    moments, planned = moments or completed_over_time(study, counts), counts.places
    finding, sentence = "Responses completed over time", f"{counts.completed:,} of {planned:,}."
    expected = since = None
    if study.status == Study.Status.OPEN and counts.remaining:
        now, is_timed = now or database_now(), has_pace(study, counts)
        moments = [*moments, (max(now, moments[-1][0]), moments[-1][1])]
        since = last if is_timed and not counts.completed_last_hour else None
        if possible is None or possible >= counts.remaining:
            finding, sentence = _forecast(study, counts, now)
            rest = _rest(counts, now) if is_timed else None
            expected = now + rest if rest else None
    chart = time_chart(
        moments,
        goal=planned,
        finding=finding,
        unit="responses completed",
        expected=expected,
        none_since=since,
    )
    rows = tuple((when.isoformat(), n) for when, n in moments)
    return Figure("progress", finding, sentence, chart, COLUMNS, rows, READING)


def still_possible(study: Study, counts: Progress, hits: int | None = None) -> int | None:
    """Return how many of the missing responses can come while a study collects, else None.

    ``hits`` is the number of its tasks, if it is known.
    """
    if study.status != Study.Status.OPEN or not (counts.remaining and counts.completed):
        return None
    hits = study.hits.main().count() if hits is None else hits
    return responses_possible(study, maximum(study, hits), hits=hits, missing=counts.remaining)


def has_pace(study: Study, counts: Progress) -> bool:
    """Whether all responses were given here, so that when they came says how fast."""
    first, opened = counts.first_completed_at, study.opened_at
    return first is None or opened is None or first > opened


def _forecast(study: Study, counts: Progress, now: datetime) -> tuple[str, str]:
    if not has_pace(study, counts):
        return "Imported responses have no pace", "When they were given here is not known."
    if not counts.completed_last_hour:
        return "No response was completed in the last hour", ""
    sentence = f"Responses completed in the last hour: {counts.completed_last_hour:,}."
    rest = rest_in_words(counts, now)
    return (
        f"At this pace, the rest takes {rest}" if rest else "It is too early for a forecast"
    ), sentence


def rest_in_words(counts: Progress, now: datetime) -> str:
    """Return how long the missing responses take at this pace; "" if it is too early to say."""
    rest = _rest(counts, now)
    return in_words(rest) if rest else ""


def _rest(counts: Progress, now: datetime) -> timedelta | None:
    per_hour = pace(counts, now)
    return timedelta(hours=counts.remaining / per_hour) if per_hour else None


def pace(counts: Progress, now: datetime) -> float | None:
    """Return the responses an hour; None if it is too early.

    In the first hour, those after the first response are divided by the time since the first.
    """
    first = counts.first_completed_at
    if first is None or now - first >= HOUR:
        return counts.completed_last_hour or None
    if now - first < EARLIEST or counts.completed_last_hour < 2:
        return None
    return (counts.completed_last_hour - 1) * (HOUR / (now - first))


def in_words(time: timedelta) -> str:
    """Return a time in minutes, hours or days."""
    hours = time.total_seconds() / 3600
    if hours < 1:
        return f"about {max(1, round(hours * 60))} minutes"
    return f"about {round(hours)} hours" if hours < 48 else f"about {round(hours / 24)} days"


def completed_over_time(study: Study, counts: Progress) -> Moments:
    """Return how many responses were complete at both ends of each minute, hour or day in which some were."""
    first, last = counts.first_completed_at, counts.last_completed_at
    if first is None or last is None:
        return []
    places = study.places.filter(completed_at__isnull=False)
    truncate, width = _step(last - first)
    steps = places.annotate(step=truncate("completed_at")).order_by("step").values_list("step")
    total, moments = 0, [(first, 0)]
    for step, n in steps.annotate(n=Count("pk")):
        if step > moments[-1][0]:  # after a time in which none was completed
            moments.append((step, total))
        total += n
        moments.append((min(step + width, last), total))
    return moments


def _step(span: timedelta) -> tuple[type[TruncBase], timedelta]:
    """Return the step of time for a figure with at most about 400 steps."""
    if span < timedelta(hours=6):
        return TruncMinute, timedelta(minutes=1)
    if span < timedelta(days=15):
        return TruncHour, timedelta(hours=1)
    return TruncDay, timedelta(days=1)
