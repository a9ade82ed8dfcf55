"""Running long work: one worker at a time, chunk by chunk, to be paused and taken up again."""

import logging
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from dataclasses import dataclass
from datetime import datetime, timedelta
from threading import Event, Thread

from django.contrib.auth.models import User
from django.db import DatabaseError, connection, transaction
from django.db.models import F, Q, QuerySet

from jobs.queue import enqueue
from studies.clock import database_now
from studies.models import Dataset, Job, Study
from tiebreak.errors import DomainError
from tiebreak.gateway import GatewayError
from tiebreak.identifiers import new_public_id

log = logging.getLogger(__name__)

# For so long nobody else takes up a job whose worker is silent.
LEASE = timedelta(minutes=2)
# A job may wait for so long behind others before its message is taken for lost.
REQUEUE_AFTER = timedelta(minutes=10)
UNFINISHED = (Job.Status.QUEUED, Job.Status.RUNNING, Job.Status.PAUSED)
UNFORESEEN = (
    "Something went wrong that nobody foresaw ({}); the worker's log says where. What was made is"
    " kept, and the job can go on from there."
)
QUEUES = {Job.Kind.SAMPLING: "gpu", Job.Kind.SCORING: "default", Job.Kind.DRY_RUN: "default"}


@dataclass(frozen=True)
class Progress:
    """How far a job is, what it could not do, and, where it must not go on, why."""

    done: int
    total: int
    failed: int = 0
    truncated: int = 0
    problem: str = ""
    must_stop: bool = False


# What a job of each kind does: it yields after each chunk that is safe in the database.
Work = Callable[[Job], Iterator[Progress]]
Jobs = QuerySet[Job]
WORK: dict[str, Work] = {}


def register_handler(kind: str) -> Callable[[Work], Work]:
    def register(work: Work) -> Work:
        WORK[kind] = work
        return work

    return register


def start_job(
    *, study: Study, kind: Job.Kind, options: dict[str, object], by: User | None = None
) -> Job:
    """Queue a job for a study's dataset. One of a kind at a time for each dataset."""
    if study.dataset is None:
        raise DomainError("no_dataset", "The study has no dataset. Choose one first.")
    with transaction.atomic():
        job = Job(
            study=study,
            dataset=study.dataset,
            kind=kind,
            options=options,
            created_by=by,
            created_at=(now := database_now()),
            queued_at=now,
        )
        _check_is_only_one(job)
        job.save()
    send(job)
    return job


def _check_is_only_one(job: Job) -> None:
    """Refuse where another of its kind is unfinished. Locks the dataset, so that both wait here."""
    # Not against whoever adds instances, which an import may do for a long time.
    Dataset.objects.select_for_update(no_key=True).get(pk=job.dataset_id)
    unfinished = Job.objects.filter(dataset=job.dataset_id, kind=job.kind, status__in=UNFINISHED)
    studies = set(unfinished.exclude(pk=job.pk).values_list("study", flat=True))
    if not studies:
        return
    said = f"A job to {Job.Kind(job.kind).label} is not finished yet"
    if job.study_id in studies:
        raise DomainError("job_unfinished", f"{said}: let it go on, or stop it first.")
    # Another study may be one that this researcher must not know of.
    said += " on this dataset. Please try again when it is."
    raise DomainError("dataset_busy", said)


def send(job: Job) -> None:
    """Hand a job to the queue of its kind, once what is known of it is committed."""
    own = Job.objects.filter(pk=job.pk)
    own.update(sent_at=database_now())
    try:
        enqueue("studies.tasks.run_job_task", job.pk, queue=queue_of(job))
    except DomainError:
        own.update(sent_at=None)
        raise


def queue_of(job: Job) -> str:
    """The queue that its workers listen to."""
    return str(job.options.get("queue") or QUEUES[Job.Kind(job.kind)])


def pause_job(*, job: Job) -> None:
    """Let the worker stop after the chunk it is at. What is done stays done."""
    Job.objects.filter(pk=job.pk, status__in=["queued", "running"]).update(
        status=Job.Status.PAUSED, claim="", lease_until=None
    )


def resume_job(*, job: Job) -> None:
    """Go on with a job that was paused, or that failed, if no other of its kind is under way."""
    with transaction.atomic():
        _check_is_only_one(job)
        halted = Job.objects.filter(pk=job.pk, status__in=["paused", "failed"])
        if not halted.update(
            status=Job.Status.QUEUED, queued_at=database_now(), problem="", finished_at=None
        ):
            raise DomainError(
                "not_stopped",
                "Only a job that is paused or failed can go on. Start a new one instead: what this"
                " one made is kept.",
            )
    send(job)


def stop_job(*, job: Job) -> None:
    """End a job for good, as it stands."""
    ended = [Job.Status.DONE, Job.Status.STOPPED]
    Job.objects.exclude(status__in=ended).filter(pk=job.pk).update(
        status=Job.Status.STOPPED,
        problem=STOPPED,
        claim="",
        lease_until=None,
        finished_at=database_now(),
    )


STOPPED = "Stopped by a researcher."


def run_job(*, job_id: int, now: Callable[[], datetime] = database_now) -> bool:
    """Work on a job until it is done, paused, taken over or stuck. Returns whether it was free.

    A compare-and-set claims it: of two workers that got the same message, one goes away.
    """
    claim = new_public_id()
    free = Q(lease_until__isnull=True) | Q(lease_until__lte=now())
    waiting = Job.objects.filter(free, pk=job_id, status__in=["queued", "running"])
    claimed = waiting.update(
        claim=claim,
        status=Job.Status.RUNNING,
        lease_until=now() + LEASE,
        started_at=now(),
        done_before=F("done"),
        failed=0,
        truncated=0,
        problem="",
    )
    if not claimed:
        return False
    job = Job.objects.select_related("study", "dataset").get(pk=job_id)
    own = Job.objects.filter(pk=job_id, claim=claim, status=Job.Status.RUNNING)
    try:
        with _kept_alive(own, now):
            last = _work(job, own, now)
    except (DomainError, GatewayError) as error:
        _fail(own, error.message, now())
    except Exception as error:
        log.exception("job %s stopped", job.public_id)
        _fail(own, UNFORESEEN.format(type(error).__name__), now())
    else:
        if last is not None:
            _finish(own, last, now())
    return True


@contextmanager
def _kept_alive(own: Jobs, now: Callable[[], datetime]) -> Iterator[None]:
    """Renew the lease while this process lives: a slow server may be silent for longer than it."""
    is_over = Event()

    def renew() -> None:
        while not is_over.wait(LEASE.total_seconds() / 4):
            with suppress(DatabaseError):  # the work itself meets it too
                own.update(lease_until=now() + LEASE)
        connection.close()

    thread = Thread(target=renew, daemon=True)
    thread.start()
    try:
        yield
    finally:
        is_over.set()
        thread.join()


def _work(job: Job, own: Jobs, now: Callable[[], datetime]) -> Progress | None:
    """All chunks; None where the job was paused or taken over meanwhile."""
    last = Progress(0, 0)
    for last in WORK[job.kind](job):
        kept = own.update(
            done=last.done,
            total=last.total,
            failed=last.failed,
            truncated=last.truncated,
            problem=last.problem,
            lease_until=now() + LEASE,
        )
        if not kept:
            return None
        if last.must_stop:
            break
    return last


def _fail(own: Jobs, problem: str, now: datetime) -> None:
    own.update(
        status=Job.Status.FAILED, problem=problem, finished_at=now, lease_until=None, claim=""
    )


def _finish(own: Jobs, last: Progress, now: datetime) -> None:
    is_whole = not last.must_stop and not last.failed
    own.update(
        status=Job.Status.DONE if is_whole else Job.Status.FAILED,
        finished_at=now,
        lease_until=None,
        claim="",
    )


def requeue_stale_jobs(now: datetime | None = None) -> int:
    """Queue again what nobody works on: its worker died, or the broker lost the message."""
    now = now or database_now()
    unsent = Q(sent_at=None, created_at__lte=now - LEASE)
    silent = Q(status=Job.Status.RUNNING, lease_until__lte=now)
    silent &= Q(sent_at=None) | Q(sent_at__lte=now - LEASE)
    lost = Q(status=Job.Status.QUEUED) & (unsent | Q(sent_at__lte=now - REQUEUE_AFTER))
    abandoned = list(Job.objects.filter(silent | lost))
    for job in abandoned:
        send(job)
    return len(abandoned)


@dataclass(frozen=True)
class Pace:
    """Work per second in this run, and the seconds that are left at that rate."""

    rate: float | None
    seconds_left: float | None


def pace_of(job: Job, now: datetime | None = None) -> Pace:
    now = now or database_now()
    if job.started_at is None or job.status != Job.Status.RUNNING:
        return Pace(None, None)
    made, seconds = job.done - job.done_before, (now - job.started_at).total_seconds()
    rate = made / seconds if made > 0 and seconds > 0 else None
    return Pace(rate, (job.total - job.done) / rate if rate else None)
