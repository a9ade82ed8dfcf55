from django.conf import settings
from django.core.validators import MinValueValidator
from django.db import models
from django.utils import timezone

from studies.models.dataset import Dataset
from studies.models.study import Study
from tiebreak.identifiers import new_public_id


class Job(models.Model):
    """Long-running work in chunks: its kind, its progress and the worker that holds it.

    Each chunk's results are committed, so a job that was paused or crashed continues where it
    stopped. A worker holds a lease; when the lease runs out, another worker may claim the job.
    """

    class Kind(models.TextChoices):
        SAMPLING = "sampling", "sample generations"
        SCORING = "scoring", "score separability"
        DRY_RUN = "dry_run", "do a dry run"

    class Status(models.TextChoices):
        QUEUED = "queued"
        RUNNING = "running"
        PAUSED = "paused"
        DONE = "done"
        FAILED = "failed"
        # A researcher stopped the job for good. Unlike a failed job, it cannot be resumed.
        STOPPED = "stopped"

    public_id = models.CharField(max_length=22, unique=True, default=new_public_id, editable=False)
    kind = models.CharField(max_length=10, choices=Kind.choices)
    study = models.ForeignKey(Study, on_delete=models.CASCADE, related_name="jobs")
    dataset = models.ForeignKey(Dataset, on_delete=models.PROTECT, related_name="jobs")
    options = models.JSONField(default=dict, blank=True)
    status = models.CharField(max_length=10, choices=Status.choices, default=Status.QUEUED)
    done = models.PositiveIntegerField(default=0)
    total = models.PositiveIntegerField(default=0, validators=[MinValueValidator(0)])
    # The value of `done` when the current run began, so that the rate refers to this run only.
    done_before = models.PositiveIntegerField(default=0)
    failed = models.PositiveIntegerField(default=0)
    truncated = models.PositiveIntegerField(default=0)
    problem = models.TextField(blank=True)
    # A result that is not stored in rows of its own.
    result = models.JSONField(default=dict, blank=True)
    claim = models.CharField(max_length=22, blank=True)
    lease_until = models.DateTimeField(null=True)
    created_by = models.ForeignKey(
        settings.AUTH_USER_MODEL, null=True, on_delete=models.SET_NULL, related_name="+"
    )
    created_at = models.DateTimeField(default=timezone.now)
    # When the job was queued, however often its message was sent again since then.
    queued_at = models.DateTimeField(null=True)
    # When the job's message was last sent to the queue.
    sent_at = models.DateTimeField(null=True)
    started_at = models.DateTimeField(null=True)
    finished_at = models.DateTimeField(null=True)

    class Meta:
        ordering = ["-id"]

    def __str__(self) -> str:
        return f"{self.get_kind_display()} ({self.status})"
