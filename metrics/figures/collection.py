"""The figure of progress: responses completed over time, and how long the rest will take."""

from datetime import datetime, timedelta
from typing import Any

from django.db.models import Count, Max, Min, Q
from django.db.models.functions import TruncDay, TruncHour, TruncMinute
from django.db.models.functions.datetime import TruncBase

from jobs.clock import database_now
from metrics.charts.curves import time_chart
from metrics.figures.figure import Figure, empty_figure
from studies.models import Study

READING = (
    "The area shows how many responses were complete at each time, and the line at the top how many"
    " are planned. A response is one annotator's ratings of one task (HIT). The forecast assumes the"
    " pace of the last hour."
)
COLUMNS = ("until", "responses_completed")


def progress_figure(study: Study, now: datetime | None = None) -> Figure:
    """Return the responses completed over time, with a forecast while the study is open."""
    size = _size(study, now or database_now())
    if size["first"] is None:
        return empty_figure("progress", "No response is complete yet", "")
    moments = _completed(study, size["first"], size["last"])
    done, planned = size["done"], size["planned"]
    finding, sentence = "Responses completed over time", f"{done} of {planned}."
    if study.status == Study.Status.OPEN and done < planned:
        finding, sentence = _forecast(size["last_hour"], planned - done)
    chart = time_chart(moments, goal=planned, finding=finding, unit="responses completed")
    rows = tuple((when.isoformat(), n) for when, n in moments)
    return Figure("progress", finding, sentence, chart, COLUMNS, rows, READING)


def _size(study: Study, now: datetime) -> dict[str, Any]:
    is_recent = Q(completed_at__gte=now - timedelta(hours=1))
    return study.places.aggregate(
        first=Min("completed_at"),
        last=Max("completed_at"),
        planned=Count("pk"),
        done=Count("completed_at"),
        last_hour=Count("pk", filter=is_recent),
    )


def _forecast(per_hour: int, remaining: int) -> tuple[str, str]:
    if not per_hour:
        return "No response was completed in the last hour", ""
    finding = f"At this pace, the rest takes {_in_words(timedelta(hours=remaining / per_hour))}"
    return finding, f"Responses completed in the last hour: {per_hour}."


def _in_words(time: timedelta) -> str:
    hours = time.total_seconds() / 3600
    if hours < 1:
        return f"about {max(1, round(hours * 60))} minutes"
    return f"about {round(hours)} hours" if hours < 48 else f"about {round(hours / 24)} days"


def _completed(study: Study, first: datetime, last: datetime) -> list[tuple[datetime, int]]:
    """Return how many responses were complete at the end of each minute, hour or day."""
    places = study.places.filter(completed_at__isnull=False)
    truncate, width = _step(last - first)
    steps = places.annotate(step=truncate("completed_at")).order_by("step").values_list("step")
    total, moments = 0, [(first, 0)]
    for step, n in steps.annotate(n=Count("pk")):
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
