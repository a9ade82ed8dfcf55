"""`/metrics` for Prometheus: the state of studies, jobs and queues, and how long requests take.

What is stored is counted in the database, so that every web server tells the same and no restart
loses anything. Names and texts of people are not among the labels.
"""

from collections.abc import Iterator
from datetime import datetime

from django.conf import settings
from django.db import DatabaseError
from django.db.models import Count, Min, Q, Sum
from django.http import HttpRequest, HttpResponse
from django.utils.crypto import constant_time_compare
from django.views.decorators.cache import never_cache
from django.views.decorators.http import require_safe
from prometheus_client import CONTENT_TYPE_LATEST, CollectorRegistry, generate_latest
from prometheus_client.core import CounterMetricFamily, GaugeMetricFamily, Metric

from annotation.models import Place, Rating
from annotation.services.recount import known_differences
from api.problems import problem
from config.observing import measured
from jobs.clock import database_now
from jobs.health import OK, Health, current_health, waiting_messages
from jobs.models import Job, JobChunk
from machine_raters.models import JudgeFailure, SyntheticText, SyntheticVerdict, Verdict
from metrics.models import ReportSnapshot
from studies.client_address import is_from_this_host
from studies.models import Study

FORBIDDEN = (
    "The metrics are for this server's monitoring. Ask from the server itself, or set"
    " TIEBREAK_METRICS_TOKEN and send it in the header Authorization: Bearer …"
)
ENDED = [Job.Status.DONE, Job.Status.STOPPED]


@require_safe
@never_cache
def metrics(request: HttpRequest) -> HttpResponse:
    if not _may_read(request):
        return problem(403, "metrics_forbidden", FORBIDDEN)
    registry = CollectorRegistry()
    registry.register(Stored())
    return HttpResponse(measured() + generate_latest(registry), content_type=CONTENT_TYPE_LATEST)


def _may_read(request: HttpRequest) -> bool:
    token = settings.TIEBREAK_METRICS_TOKEN
    if not token:
        return is_from_this_host(request)
    return constant_time_compare(request.headers.get("Authorization", ""), f"Bearer {token}")


class Stored:
    """Counts what is stored whenever Prometheus asks; without the database, only the health."""

    def collect(self) -> Iterator[Metric]:
        health = current_health()
        yield from _components(health)
        if health.broker == OK:
            yield _gauge("queue_messages", "Messages in a queue", "queue", waiting_messages())
        if health.database == OK and health.schema == OK:
            try:
                yield from [*_studies(now := database_now()), *_jobs(now), *_models()]
            except DatabaseError:  # it went away within the last seconds
                return


def _components(health: Health) -> Iterator[Metric]:
    statuses = {name: float(status == OK) for name, status in health.statuses.items()}
    yield _gauge(
        "component_ok", "Whether /health/ has no complaint about it", "component", statuses
    )
    if health.scheduler_age_seconds is not None:
        age = health.scheduler_age_seconds
        yield GaugeMetricFamily("tiebreak_scheduler_age_seconds", "Since the last round", age)


def _studies(now: datetime) -> Iterator[Metric]:
    ratings = Rating.objects.order_by().values_list("rater__kind").annotate(n=Count("pk"))
    yield _counter("ratings_saved", "Ratings stored", "source", dict(ratings))
    places = Place.objects.filter(study__status=Study.Status.OPEN)
    is_done, lease = Q(completed_at__isnull=False), Q(lease_until__gt=now)
    states = places.aggregate(
        completed=Count("pk", filter=is_done),
        held=Count("pk", filter=~is_done & lease),
        expired=Count("pk", filter=~is_done & Q(lease_until__lte=now)),
        free=Count("pk", filter=~is_done & Q(lease_until__isnull=True)),
    )
    differing = {study: float(sum(n.values())) for study, n in known_differences().items()}
    yield _gauge(
        "recount_differences", "Counts that the nightly recount denies", "study", differing
    )
    yield _gauge("places", "Places of open studies, by the state of their lease", "state", states)
    reports = ReportSnapshot.objects.filter(study__status=Study.Status.OPEN, digest="")
    ages = {
        study: (now - made_at).total_seconds()
        for study, made_at in reports.values_list("study", "made_at")
        if made_at is not None
    }
    yield _gauge("report_age_seconds", "Age of an open study's report", "study", ages)


def _jobs(now: datetime) -> Iterator[Metric]:
    jobs = Job.objects.exclude(status__in=ENDED).order_by()
    of_status = jobs.values_list("queue", "status").annotate(n=Count("pk"))
    family = GaugeMetricFamily("tiebreak_jobs", "Jobs not done", labels=["queue", "status"])
    for queue, status, number in of_status:
        family.add_metric([queue, status], number)
    yield family
    waiting = jobs.filter(status=Job.Status.QUEUED, queued_at__isnull=False)
    oldest = {
        queue: (now - queued_at).total_seconds()
        for queue, queued_at in waiting.values_list("queue").annotate(first=Min("queued_at"))
    }
    yield _gauge("queue_oldest_job_seconds", "Wait of a queue's oldest job", "queue", oldest)
    chunks = JobChunk.objects.filter(job__in=jobs).order_by()
    states = dict(chunks.values_list("status").annotate(n=Count("pk")))
    yield _gauge("job_chunks", "Chunks of jobs not done", "status", states)
    failed = dict(Job.objects.order_by().values_list("kind").annotate(n=Sum("failed")))
    yield _gauge("job_failed_items", "Items that jobs of a kind could not do", "kind", failed)


def _models() -> Iterator[Metric]:
    written = {
        "judging": Verdict.objects.aggregate(n=Sum("tokens"))["n"],
        "prompts of judging": Verdict.objects.aggregate(n=Sum("prompt_tokens"))["n"],
        "synthetic texts": SyntheticText.objects.aggregate(n=Sum("tokens"))["n"],
        "synthetic verdicts": SyntheticVerdict.objects.aggregate(n=Sum("tokens"))["n"],
    }
    told = {use: tokens or 0 for use, tokens in written.items()}
    yield _counter("model_tokens", "Tokens of stored answers, as servers told", "use", told)
    failures = JudgeFailure.objects.order_by().values_list("code").annotate(n=Count("pk"))
    yield _gauge("model_errors", "Questions of judges without an answer", "code", dict(failures))


def _gauge(name: str, help_text: str, label: str, values: dict[str, float]) -> Metric:
    family = GaugeMetricFamily(f"tiebreak_{name}", f"{help_text}.", labels=[label])
    for key, value in values.items():
        family.add_metric([key], value)
    return family


def _counter(name: str, help_text: str, label: str, values: dict[str, float]) -> Metric:
    family = CounterMetricFamily(f"tiebreak_{name}", f"{help_text}.", labels=[label])
    for key, value in values.items():
        family.add_metric([key], value)
    return family
