from django.conf import settings
from django.core.validators import MinValueValidator
from django.db import models
from django.utils import timezone

from studies.models.dataset import Dataset
from studies.models.study import Study
from tiebreak.identifiers import new_public_id


class Job(models.Model):
    """Long work in chunks: what it is, how far it came, and who is at it.

    What a chunk made is committed with it, so a job that was stopped, by hand or by a crash, goes
    on where it was. Whoever works holds a lease; when that is over, anybody may take the job up.
    """

    class Kind(models.TextChoices):
        SAMPLING = "sampling", "sample generations"
        SCORING = "scoring", "score separability"
        DRY_RUN = "dry_run", "take a dry run"

    class Status(models.TextChoices):
        QUEUED = "queued"
        RUNNING = "running"
        PAUSED = "paused"
        DONE = "done"
        FAILED = "failed"
        # By a researcher and for good: unlike what failed, it does not go on.
        STOPPED = "stopped"

    public_id = models.CharField(max_length=22, unique=True, default=new_public_id, editable=False)
    kind = models.CharField(max_length=10, choices=Kind.choices)
    study = models.ForeignKey(Study, on_delete=models.CASCADE, related_name="jobs")
    dataset = models.ForeignKey(Dataset, on_delete=models.PROTECT, related_name="jobs")
    options = models.JSONField(default=dict, blank=True)
    status = models.CharField(max_length=10, choices=Status.choices, default=Status.QUEUED)
    done = models.PositiveIntegerField(default=0)
    total = models.PositiveIntegerField(default=0, validators=[MinValueValidator(0)])
    # What was there when the present run began: the rate is of this run.
    done_before = models.PositiveIntegerField(default=0)
    failed = models.PositiveIntegerField(default=0)
    truncated = models.PositiveIntegerField(default=0)
    problem = models.TextField(blank=True)
    # What a job found, where it is not rows of its own.
    result = models.JSONField(default=dict, blank=True)
    claim = models.CharField(max_length=22, blank=True)
    lease_until = models.DateTimeField(null=True)
    created_by = models.ForeignKey(
        settings.AUTH_USER_MODEL, null=True, on_delete=models.SET_NULL, related_name="+"
    )
    created_at = models.DateTimeField(default=timezone.now)
    # Since when it waits, however often its message was sent.
    queued_at = models.DateTimeField(null=True)
    # When its message last went to the queue.
    sent_at = models.DateTimeField(null=True)
    started_at = models.DateTimeField(null=True)
    finished_at = models.DateTimeField(null=True)

    class Meta:
        ordering = ["-id"]

    def __str__(self) -> str:
        return f"{self.get_kind_display()} ({self.status})"
