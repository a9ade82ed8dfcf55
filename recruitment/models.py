"""Channels, the submissions that arrive through them, payments and platform events."""

from decimal import Decimal
from typing import Any

from cryptography.fernet import InvalidToken
from django.db import models
from django.db.models import Q

from annotation.models.rater import Participation
from jobs.clock import Moment
from studies.ciphers import Encrypted, seal, unseal
from studies.models import Study
from studies.models.bounds import MAX_REWARD, between
from tiebreak.errors import DomainError
from tiebreak.identifiers import new_public_id

PURPOSE = "tiebreak.platform-secrets"


def encrypted(text: str) -> str:
    """Encrypt a platform's secret so that the database alone does not reveal it."""
    return seal(PURPOSE, text) if text else ""


def decrypted(text: str) -> str:
    """Decrypt a platform's secret; raises `DomainError` if the server's key has changed."""
    if not text:
        return ""
    try:
        return unseal(PURPOSE, text)
    except InvalidToken as error:
        raise DomainError(
            "unreadable_secret",
            "The secret of this channel was encrypted with a different server key, so it cannot be"
            " read. Enter the access token again on the recruitment page, or replace the signing"
            " key.",
        ) from error


class FormValues(models.JSONField):
    """What a form asked for: a value that was left empty is stored nowhere, whoever stores it.

    Python, PostgreSQL and SQLite read an absent value alike, but not a JSON null or an empty text.
    """

    def get_db_prep_save(self, value: Any, connection: Any) -> Any:
        if isinstance(value, dict):  # otherwise an expression
            value = {name: one for name, one in value.items() if one is not None and one != ""}
        return super().get_db_prep_save(value, connection)


class Channel(models.Model):
    """A way for annotators of one platform to enter a study, with its settings and IDs."""

    study = models.ForeignKey(Study, on_delete=models.CASCADE, related_name="channels")
    provider = models.SlugField(max_length=100)
    settings = FormValues(default=dict, blank=True)
    # As `encrypted` above returns them.
    secret = Encrypted(purpose=PURPOSE, blank=True, editable=False)
    webhook_secret = Encrypted(purpose=PURPOSE, blank=True, editable=False)
    external_id = models.CharField(max_length=200, blank=True)
    external_status = models.CharField(max_length=50, blank=True, editable=False)
    synced_at = models.DateTimeField(null=True, editable=False)
    # The pending action on the platform, and the error of the last one.
    pending = models.CharField(max_length=200, blank=True, editable=False)
    pending_key = models.CharField(max_length=22, blank=True, editable=False)
    pending_at = models.DateTimeField(null=True, editable=False)
    problem = models.TextField(blank=True, editable=False)
    sync_problem = models.TextField(blank=True, editable=False)
    # Why someone's link was refused since the settings were saved.
    link_problem = models.TextField(blank=True, editable=False)
    # Nobody new can enter after this time; participants who agreed before may continue.
    closed_at = models.DateTimeField(null=True, editable=False)
    created_at = models.DateTimeField(db_default=Moment(), editable=False)

    class Meta:
        constraints = [
            models.UniqueConstraint(fields=["study", "provider"], name="provider_once_per_study")
        ]

    def __str__(self) -> str:
        return f"{self.provider} channel of {self.study}"

    @property
    def is_unpublished(self) -> bool:
        """Whether the platform has no study yet, or only a draft as far as we know."""
        return self.external_status in {"", "UNPUBLISHED"}


class Eligibility(models.Model):
    """What a platform offers to choose participants by, and how many people the choice leaves."""

    channel = models.OneToOneField(Channel, on_delete=models.CASCADE, related_name="eligibility")
    # The platform's filters, as `OfferedFilter` in JSON.
    offered = models.JSONField(default=list)
    # The number of people that pass the filters in `counted_for`; None before it was asked.
    people = models.PositiveIntegerField(null=True)
    counted_for = models.JSONField(default=list)
    asked_at = models.DateTimeField()

    class Meta:
        verbose_name_plural = "eligibilities"

    def __str__(self) -> str:
        return f"eligibility for {self.channel}"


class Submission(models.Model):
    """What recruitment stores about a participation: channel, platform status and amount owed."""

    participation = models.OneToOneField(
        Participation, on_delete=models.CASCADE, related_name="submission"
    )
    # None for the open link of a study for which no channel is stored.
    channel = models.ForeignKey(
        Channel, null=True, on_delete=models.PROTECT, related_name="submissions"
    )
    completion_code = models.CharField(max_length=22, default=new_public_id)
    # Parameters of the entry link that the platform expects back at the end.
    return_params = models.JSONField(default=dict)
    # SHA-256 of the cookie token of the browser that agreed, if the ID is bound to that browser.
    browser = models.CharField(max_length=32, blank=True)
    # When another browser used the same ID, if the researcher allows that.
    reentered_at = models.DateTimeField(null=True)
    # When the platform was last asked whether this submission is active.
    asked_platform_at = models.DateTimeField(null=True)
    # The platform's own status, and when it was reported.
    platform_status = models.CharField(max_length=50, blank=True)
    platform_seen_at = models.DateTimeField(null=True)
    entered_code = models.CharField(max_length=100, blank=True)
    # What the channel promised, when they agreed, to who fails the test; the reward and the number of
    # tasks are in the version that they agreed to.
    screen_out_reward = models.DecimalField(
        max_digits=10, decimal_places=2, null=True, validators=between(Decimal(0), MAX_REWARD)
    )
    # When a researcher marked the submission as settled in the ledger.
    settled_at = models.DateTimeField(null=True)

    def __str__(self) -> str:
        return f"submission of {self.participation}"


class Payment(models.Model):
    """A payment for one participation, stored before it is requested, so it is requested once."""

    class Kind(models.TextChoices):
        REWARD = "reward"
        BONUS = "bonus"
        SCREEN_OUT = "screen_out"
        # The reward for a submission that the platform closed, paid once as a bonus.
        OWED = "owed"

    class Status(models.TextChoices):
        ASKED = "asked"
        PAID = "paid"
        REFUSED = "refused"

    public_id = models.CharField(max_length=22, unique=True, default=new_public_id, editable=False)
    participation = models.ForeignKey(
        Participation, on_delete=models.PROTECT, related_name="payments"
    )
    kind = models.CharField(max_length=10, choices=Kind.choices)
    amount = models.DecimalField(
        max_digits=10, decimal_places=2, validators=between(Decimal(0), MAX_REWARD)
    )
    currency = models.CharField(max_length=3)
    status = models.CharField(max_length=10, choices=Status.choices, default=Status.ASKED)
    reason = models.TextField(blank=True)
    external_id = models.CharField(max_length=200, blank=True)
    # What tells a bonus that is requested again from another bonus; chosen by who requests it.
    request_key = models.CharField(max_length=64, blank=True)
    created_at = models.DateTimeField()

    class Meta:
        ordering = ["id"]
        constraints = [
            models.UniqueConstraint(
                fields=["participation", "kind"],
                condition=~Q(kind="bonus") & ~Q(status="refused"),
                name="paid_once",
            ),
            models.UniqueConstraint(
                fields=["participation", "request_key"],
                condition=~Q(request_key="") & ~Q(status="refused"),
                name="requested_once",
            ),
        ]

    def __str__(self) -> str:
        return f"{self.kind} {self.amount} {self.currency}"


class PlatformEvent(models.Model):
    """An accepted webhook or entry token, stored so that repetitions are recognised."""

    channel = models.ForeignKey(Channel, on_delete=models.CASCADE, related_name="events")
    event_id = models.CharField(max_length=200)
    received_at = models.DateTimeField(db_default=Moment(), editable=False)

    class Meta:
        constraints = [models.UniqueConstraint(fields=["channel", "event_id"], name="event_once")]

    def __str__(self) -> str:
        return self.event_id
