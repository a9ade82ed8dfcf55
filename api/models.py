"""Tokens with which programs authenticate, and webhooks that notify them of events."""

from typing import TYPE_CHECKING

from django.conf import settings
from django.db import models

from jobs.clock import Moment
from studies.ciphers import Encrypted
from studies.models import Study
from tiebreak.identifiers import new_public_id

if TYPE_CHECKING:
    from django.contrib.auth.models import User

PURPOSE = "tiebreak.webhook-secrets"


class ApiToken(models.Model):
    """A researcher's token, of which only the SHA-256 is stored.

    It opens what its researcher may see, or only the chosen studies among that. Whether it covers
    all studies is a separate field so that a token whose chosen studies are all deleted opens
    nothing.
    """

    class Access(models.TextChoices):
        READ = "read", "read only"
        WRITE = "write", "read and write"

    public_id = models.CharField(max_length=22, unique=True, default=new_public_id, editable=False)
    user: "models.ForeignKey[User, User]" = models.ForeignKey(
        settings.AUTH_USER_MODEL, on_delete=models.CASCADE, related_name="api_tokens"
    )
    name = models.CharField(max_length=100)
    # The beginning of the token, by which its researcher recognises it.
    prefix = models.CharField(max_length=12)
    digest = models.CharField(max_length=64, unique=True)
    access = models.CharField(max_length=5, choices=Access.choices, default=Access.READ)
    covers_all = models.BooleanField(default=False)
    studies = models.ManyToManyField(Study, related_name="api_tokens", blank=True)
    created_at = models.DateTimeField(db_default=Moment(), editable=False)
    expires_at = models.DateTimeField(null=True, blank=True)
    revoked_at = models.DateTimeField(null=True)
    last_used_at = models.DateTimeField(null=True)

    class Meta:
        ordering = ["-id"]

    def __str__(self) -> str:
        return f"{self.name} ({self.prefix}…)"

    @property
    def can_write(self) -> bool:
        return self.access == ApiToken.Access.WRITE


class Webhook(models.Model):
    """An address that is notified of a study's events. Its secret signs what is sent."""

    public_id = models.CharField(max_length=22, unique=True, default=new_public_id, editable=False)
    study = models.ForeignKey(Study, on_delete=models.CASCADE, related_name="webhooks")
    url = models.CharField(max_length=500)
    secret = Encrypted(purpose=PURPOSE)
    created_at = models.DateTimeField()
    # The newest entry of the study's log at that time. Its times come from the web server's clock,
    # all others from the database's.
    after_event = models.PositiveBigIntegerField(default=0)
    # Events up to this time have been looked for.
    looked_until = models.DateTimeField()

    class Meta:
        ordering = ["id"]
        constraints = [
            models.UniqueConstraint(fields=["study", "url"], name="webhook_once_per_study")
        ]

    def __str__(self) -> str:
        return self.url


class WebhookDelivery(models.Model):
    """One event for one webhook. Its public id is the event's, the same in every attempt."""

    class Status(models.TextChoices):
        WAITING = "waiting"
        DELIVERED = "delivered"
        FAILED = "failed"

    public_id = models.CharField(max_length=22, unique=True, default=new_public_id, editable=False)
    webhook = models.ForeignKey(Webhook, on_delete=models.CASCADE, related_name="deliveries")
    # Identifies what happened so that an event that is found twice is stored once.
    key = models.CharField(max_length=100)
    event = models.CharField(max_length=30)
    time = models.DateTimeField()
    data = models.JSONField()
    status = models.CharField(max_length=10, choices=Status.choices, default=Status.WAITING)
    attempts = models.PositiveSmallIntegerField(default=0)
    due_at = models.DateTimeField()
    sent_at = models.DateTimeField(null=True)
    # What the last attempt ended with: an HTTP status, or a code.
    outcome = models.CharField(max_length=30, blank=True)

    class Meta:
        ordering = ["-id"]
        verbose_name_plural = "webhook deliveries"
        constraints = [
            models.UniqueConstraint(fields=["webhook", "key"], name="event_once_per_webhook")
        ]
        indexes = [
            models.Index(
                fields=["due_at"],
                condition=models.Q(status="waiting"),
                name="webhook_delivery_due",
            )
        ]

    def __str__(self) -> str:
        return f"{self.event} ({self.status})"
