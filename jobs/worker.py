"""Works on jobs: claims chunks, renews their leases, stores their progress, ends the job.

Every change is a compare-and-set on the chunk's claim. A worker that was too slow and lost its
chunk therefore changes nothing, and leaves.
"""

import logging
from collections.abc import Callable, Iterator
from contextlib import closing, contextmanager, suppress
from datetime import datetime, timedelta
from threading import Event, Thread

from django.conf import settings
from django.db import DatabaseError, OperationalError, connection, transaction
from django.db.models import Exists, F, OuterRef, Q, QuerySet

from jobs.clock import database_now
from jobs.deletion import until_deleted
from jobs.kinds import OF_ANOTHER_VERSION, JobKind, Progress, kind_of
from jobs.log_context import note_in_log
from jobs.models import Job, JobChunk
from jobs.services import LEASE, send
from tiebreak.errors import DomainError
from tiebreak.formats.confined import FULL
from tiebreak.gateway import GatewayError
from tiebreak.identifiers import new_public_id

log = logging.getLogger(__name__)

# After this long a worker sends itself a new message, so that other jobs have their turn.
TURN = timedelta(seconds=settings.TIEBREAK_JOB_TURN_SECONDS)
UNFORESEEN = (
    "An unexpected error occurred ({}). The worker's log has the details. The results so far are"
    " kept, and the job can be resumed."
)
DISK_FULL = (
    "The server's disk is full. Anything not written completely is deleted. Ask the server's"
    " administrator for room, then resume the job."
)
Status, ChunkStatus = Job.Status, JobChunk.Status
Clock = Callable[[], datetime]
# A chunk of a running job. As `EXISTS` and not as a join, because PostgreSQL would then check the
# other conditions of an update on an old version of the row.
IS_RUNNING = Exists(Job.objects.filter(pk=OuterRef("job"), status=Status.RUNNING))


def run_job(*, job_id: int, now: Clock = database_now) -> bool:
    """Process the unclaimed chunks of a job. Return whether there were any."""
    job = _begin(job_id, now())
    if job is None:
        return False
    chunks = sum(1 for _ in _free_chunks(job, now))
    _end_if_complete(job, now())
    return chunks > 0


def work(*, job_id: int, now: Clock = database_now) -> bool:
    """Work on a job for one turn. Returns whether there may be more to do."""
    until = now() + TURN
    job = _begin(job_id, now())
    if job is None:
        return False
    if job.planned_at is None:  # this worker planned it, so the others need not come earlier
        send(Job.objects.get(pk=job_id))
    for _ in _free_chunks(job, now):
        if now() >= until:
            return True
    _end_if_complete(job, now())
    return False


def job_in_turn(job_id: int) -> int:
    """Return the job to work on with a message of this job: one that waits longer, or itself.

    The messages of a job's lanes stand in the queue one behind the other. With few workers, each
    job would otherwise wait for as many turns of the one before it.
    """
    job = Job.objects.filter(pk=job_id).first()
    if job is None or not job.is_moving or job.sent_at is None:
        return job_id
    alive = JobChunk.objects.filter(
        job=OuterRef("pk"), status=ChunkStatus.RUNNING, lease_until__gt=database_now()
    )
    waiting = Job.objects.filter(
        ~Exists(alive),
        queue=job.queue,
        status__in=[Status.QUEUED, Status.RUNNING],
        sent_at__lt=job.sent_at,
    )
    return waiting.order_by("sent_at").values_list("pk", flat=True).first() or job_id


def note_turn(job_id: int) -> None:
    """Note that a job had a turn by a message of another job, as its own message would."""
    Job.objects.filter(pk=job_id).update(sent_at=database_now())


def _begin(job_id: int, now: datetime) -> Job | None:
    """Mark a queued job as running and plan its chunks. Returns None if it may not run here."""
    jobs = Job.objects.filter(pk=job_id)
    if any(kind_of(job) is OF_ANOTHER_VERSION for job in jobs):
        return None  # later messages find a worker of that version
    jobs.filter(status=Status.QUEUED).update(
        status=Status.RUNNING, started_at=now, done_before=F("done"), problem=""
    )
    job = jobs.filter(status=Status.RUNNING).first()
    if job is None:
        return None
    note_in_log(job=job.public_id, **({"study": job.owner} if job.owner else {}))
    with _failing_unforeseen(job, now):
        _plan(job, now)
        return job
    return None


def _plan(job: Job, now: datetime) -> None:
    """Create the chunks, unless another worker did or is just doing it."""
    with transaction.atomic():
        if not Job.objects.filter(pk=job.pk, planned_at=None).update(planned_at=now):
            return
        chunks = [
            JobChunk(job=job, number=number, size=chunk.size, payload=chunk.payload)
            for number, chunk in enumerate(kind_of(job).plan(job))
        ]
        JobChunk.objects.bulk_create(chunks, batch_size=1000)
        Job.objects.filter(pk=job.pk).update(total=sum(chunk.size for chunk in chunks))


def _free_chunks(job: Job, now: Clock) -> Iterator[None]:
    """Claim and do one chunk after another; yield after each."""
    kind = kind_of(job)
    while (chunk := _claim(job, kind, now())) is not None:
        _do(job, kind, chunk, now)
        yield


def _claim(job: Job, kind: JobKind, now: datetime) -> JobChunk | None:
    """Claim the next chunk that is free. Returns None if as many workers as may are at work."""
    free = Q(status=ChunkStatus.WAITING) | Q(status=ChunkStatus.RUNNING, lease_until__lte=now)
    candidates = job.chunks.filter(free, IS_RUNNING, attempts__lt=kind.max_attempts)
    lanes = kind.lanes_for(job.options)
    while job.chunks.filter(status=ChunkStatus.RUNNING, lease_until__gt=now).count() < lanes:
        chunk = candidates.order_by("number").first()
        if chunk is None:
            break
        claimed = candidates.filter(pk=chunk.pk, attempts=chunk.attempts).update(
            claim=(claim := new_public_id()),
            status=ChunkStatus.RUNNING,
            attempts=chunk.attempts + 1,
            lease_until=now + LEASE,
        )
        if claimed:
            return JobChunk.objects.get(pk=chunk.pk, claim=claim)
    return None


def _do(job: Job, kind: JobKind, chunk: JobChunk, now: Clock) -> None:
    """Do a chunk until it is done, the job is paused or ended, or the chunk was taken over."""
    claimed = JobChunk.objects.filter(pk=chunk.pk, claim=chunk.claim, status=ChunkStatus.RUNNING)
    jobs = Job.objects.filter(pk=job.pk)
    try:
        with until_deleted(jobs), _failing(job, now()), _heartbeat(claimed, now):
            if _is_finished(job, kind, chunk, claimed, now):
                status = ChunkStatus.FAILED if chunk.failed else ChunkStatus.DONE
                claimed.update(status=status, claim="", lease_until=None)
                return
    except Exception as error:
        log.exception("chunk %s of job %s failed", chunk.number, job.public_id)
        is_last = chunk.attempts >= kind.max_attempts
        problem = UNFORESEEN.format(type(error).__name__)
        status = ChunkStatus.FAILED if is_last else ChunkStatus.WAITING
        claimed.update(status=status, claim="", lease_until=None, problem=problem)
    else:
        claimed.update(
            status=ChunkStatus.WAITING, claim="", lease_until=None, attempts=chunk.attempts - 1
        )


def _is_finished(
    job: Job, kind: JobKind, chunk: JobChunk, claimed: QuerySet[JobChunk], now: Clock
) -> bool:
    """Do the parts of a chunk and store the progress after each. False if it was interrupted."""
    with closing(kind.run(job, chunk.payload)) as parts:  # type: ignore[type-var]
        for progress in parts:
            if not _is_stored(job, chunk, progress, claimed, now):
                return False
            if progress.must_stop:
                _fail(job, progress.problem, now())
                return False
    return True


@transaction.atomic
def _is_stored(
    job: Job, chunk: JobChunk, progress: Progress, claimed: QuerySet[JobChunk], now: Clock
) -> bool:
    """Add the progress to the chunk and the job. False if the chunk is not this worker's any more."""
    size = chunk.size if progress.size is None else progress.size
    counts = {
        "size": size,
        "done": progress.done,
        "failed": progress.failed,
        "truncated": progress.truncated,
    }
    is_ours = claimed.filter(IS_RUNNING).update(
        **counts, problem=progress.problem, lease_until=now() + LEASE
    )
    if not is_ours:
        return False
    added = {name: n - getattr(chunk, name) for name, n in counts.items()}
    added["total"] = added.pop("size")
    changes = {name: F(name) + n for name, n in added.items() if n}
    if progress.problem:
        changes["problem"] = progress.problem
    if changes:
        Job.objects.filter(pk=job.pk).update(**changes)
    for name, n in counts.items():
        setattr(chunk, name, n)
    return True


@contextmanager
def _heartbeat(claimed: QuerySet[JobChunk], now: Clock) -> Iterator[None]:
    """Renew the lease from a thread, because a part may take longer than the lease."""
    is_over = Event()

    def renew() -> None:
        while not is_over.wait(LEASE.total_seconds() / 4):
            with suppress(DatabaseError):  # the chunk itself will fail on it too
                claimed.update(lease_until=now() + LEASE)
        connection.close()

    thread = Thread(target=renew, daemon=True)
    thread.start()
    try:
        yield
    finally:
        is_over.set()
        thread.join()


@contextmanager
def _failing(job: Job, now: datetime) -> Iterator[None]:
    """End the job as failed if it is refused something that no further attempt would change."""
    try:
        yield
    except (DomainError, GatewayError) as error:
        _fail(job, error.message, now)
    except OSError as error:
        if error.errno not in FULL:
            raise
        _fail(job, DISK_FULL, now)


@contextmanager
def _failing_unforeseen(job: Job, now: datetime) -> Iterator[None]:
    """End the job as failed after any error but one of the database, which may be back soon.

    For what is done outside of chunks, whose attempts nobody counts.
    """
    try:
        with until_deleted(Job.objects.filter(pk=job.pk)), _failing(job, now):
            yield
    except OperationalError:
        raise
    except Exception as error:
        log.exception("job %s failed", job.public_id)
        _fail(job, UNFORESEEN.format(type(error).__name__), now)


def _fail(job: Job, problem: str, now: datetime) -> None:
    Job.objects.filter(pk=job.pk, status=Status.RUNNING).update(
        status=Status.FAILED, problem=problem, finished_at=now
    )


def _end_if_complete(job: Job, now: datetime) -> None:
    """End the job if every chunk is done or failed."""
    is_settled = Q(status__in=[ChunkStatus.DONE, ChunkStatus.FAILED])
    running = Job.objects.filter(pk=job.pk, status=Status.RUNNING)
    if job.chunks.exclude(is_settled).exists() or not running.exists():
        return
    failed = job.chunks.filter(status=ChunkStatus.FAILED).order_by("number").last()
    if failed is not None:
        _fail(job, failed.problem, now)
        return
    with _failing_unforeseen(job, now):
        note = kind_of(job).finish(job)
        running.update(status=Status.DONE, problem=note, finished_at=now)
