"""Models of long-running work: jobs, their chunks, and the times of periodic tasks."""

from django.conf import settings
from django.db import models
from django.db.models import Q

from jobs.clock import Moment
from tiebreak.identifiers import new_public_id

UNFINISHED = ("queued", "running", "paused")


class Job(models.Model):
    """Long-running work in chunks, which any number of workers share.

    The rows are the truth and Celery's messages only hints: a lost, duplicated or late message
    changes nothing, because workers claim chunks from the database.
    """

    class Status(models.TextChoices):
        QUEUED = "queued"
        RUNNING = "running"
        PAUSED = "paused"
        DONE = "done"
        FAILED = "failed"
        # A researcher stopped the job for good. Unlike a failed job, it cannot be resumed.
        STOPPED = "stopped"

    public_id = models.CharField(max_length=22, unique=True, default=new_public_id, editable=False)
    # The name of a `jobs.kinds.JobKind`.
    kind = models.CharField(max_length=20)
    # The public id of the study that the job works for; empty if there is none yet.
    owner = models.CharField(max_length=22, blank=True, db_index=True)
    # Of the unfinished jobs, at most one has a given key, such as `scoring:7` for dataset 7.
    exclusive_key = models.CharField(max_length=100, blank=True)
    queue = models.CharField(max_length=20, default="default")
    options = models.JSONField(default=dict, blank=True)
    status = models.CharField(max_length=10, choices=Status.choices, default=Status.QUEUED)
    # When the first worker divided the job into chunks.
    planned_at = models.DateTimeField(null=True)
    # Sums over the chunks, updated together with them.
    done = models.PositiveIntegerField(default=0)
    total = models.PositiveIntegerField(default=0)
    failed = models.PositiveIntegerField(default=0)
    truncated = models.PositiveIntegerField(default=0)
    # The value of `done` when the current run began, so that the rate refers to this run only.
    done_before = models.PositiveIntegerField(default=0)
    problem = models.TextField(blank=True)
    # A result that is not stored in rows of its own.
    result = models.JSONField(default=dict, blank=True)
    created_by = models.ForeignKey(
        settings.AUTH_USER_MODEL, null=True, on_delete=models.SET_NULL, related_name="+"
    )
    created_at = models.DateTimeField(db_default=Moment(), editable=False)
    # When it was queued, however often its messages were sent again since then.
    queued_at = models.DateTimeField(null=True)
    # When a message was last sent to its queue.
    sent_at = models.DateTimeField(null=True)
    started_at = models.DateTimeField(null=True)
    finished_at = models.DateTimeField(null=True)

    class Meta:
        ordering = ["-id"]
        constraints = [
            models.UniqueConstraint(
                fields=["exclusive_key"],
                condition=Q(status__in=UNFINISHED) & ~Q(exclusive_key=""),
                name="one_unfinished_job_per_key",
            )
        ]

    def __str__(self) -> str:
        return f"{self.kind} ({self.status})"

    @property
    def is_moving(self) -> bool:
        return self.status in {Job.Status.QUEUED, Job.Status.RUNNING}

    @property
    def seconds(self) -> float | None:
        """How long it took; None unless it has ended."""
        if self.started_at is None or self.finished_at is None:
            return None
        return (self.finished_at - self.started_at).total_seconds()


class JobChunk(models.Model):
    """A part of a job that one worker does at a time.

    A worker claims a chunk for the length of a lease, which it renews while it works. When the
    lease of a dead worker ends, another worker may claim the chunk.
    """

    class Status(models.TextChoices):
        WAITING = "waiting"
        RUNNING = "running"
        DONE = "done"
        FAILED = "failed"

    job = models.ForeignKey(Job, on_delete=models.CASCADE, related_name="chunks")
    number = models.PositiveIntegerField()
    payload = models.JSONField(default=dict, blank=True)
    size = models.PositiveIntegerField(default=0)
    status = models.CharField(max_length=10, choices=Status.choices, default=Status.WAITING)
    claim = models.CharField(max_length=22, blank=True)
    lease_until = models.DateTimeField(null=True)
    attempts = models.PositiveSmallIntegerField(default=0)
    done = models.PositiveIntegerField(default=0)
    failed = models.PositiveIntegerField(default=0)
    truncated = models.PositiveIntegerField(default=0)
    problem = models.TextField(blank=True)

    class Meta:
        ordering = ["number"]
        constraints = [
            models.UniqueConstraint(fields=["job", "number"], name="chunk_number_once_per_job")
        ]
        indexes = [models.Index(fields=["job", "status", "number"], name="chunk_to_claim")]

    def __str__(self) -> str:
        return f"{self.job} {self.number} ({self.status})"


class Round(models.Model):
    """A periodic task, with the time at which any worker last started it."""

    name = models.CharField(max_length=50, primary_key=True)
    begun_at = models.DateTimeField()

    def __str__(self) -> str:
        return self.name
