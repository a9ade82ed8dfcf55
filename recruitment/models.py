"""What is agreed with a platform, what it reported, and what was paid."""

from decimal import Decimal

from cryptography.fernet import InvalidToken
from django.db import models
from django.db.models import Q

from annotation.models.rater import Participation
from studies.ciphers import cipher
from studies.models import Study
from studies.models.bounds import MAX_REWARD, between
from tiebreak.errors import DomainError
from tiebreak.identifiers import new_public_id

PURPOSE = "tiebreak.platform-secrets"


def encrypted(text: str) -> str:
    """For secrets of platforms: unreadable to who has the database and not the settings."""
    return cipher(PURPOSE).encrypt(text.encode()).decode() if text else ""


def decrypted(text: str) -> str:
    if not text:
        return ""
    try:
        return cipher(PURPOSE).decrypt(text.encode()).decode()
    except InvalidToken as error:
        raise DomainError(
            "unreadable_secret",
            "The platform's secret was stored under another secret key. Enter it again.",
        ) from error


class Channel(models.Model):
    """A study's way in through one provider: its settings there, and its own id of the study."""

    study = models.ForeignKey(Study, on_delete=models.CASCADE, related_name="channels")
    provider = models.SlugField(max_length=100)
    settings = models.JSONField(default=dict, blank=True)
    # Encrypted; see `encrypted` above.
    secret = models.TextField(blank=True, editable=False)
    webhook_secret = models.TextField(blank=True, editable=False)
    external_id = models.CharField(max_length=200, blank=True)
    external_status = models.CharField(max_length=50, blank=True, editable=False)
    synced_at = models.DateTimeField(null=True, editable=False)
    # What the platform is being asked now, and what went wrong the last time.
    pending = models.CharField(max_length=200, blank=True, editable=False)
    pending_key = models.CharField(max_length=22, blank=True, editable=False)
    pending_at = models.DateTimeField(null=True, editable=False)
    problem = models.TextField(blank=True, editable=False)
    sync_problem = models.TextField(blank=True, editable=False)
    # From then on nobody new enters; who agreed before goes on.
    closed_at = models.DateTimeField(null=True, editable=False)
    created_at = models.DateTimeField(auto_now_add=True)

    class Meta:
        constraints = [
            models.UniqueConstraint(fields=["study", "provider"], name="provider_once_per_study")
        ]

    def __str__(self) -> str:
        return f"{self.provider}, a way into {self.study}"

    @property
    def is_unpublished(self) -> bool:
        """Whether its study there, if it has one, is a draft as far as we know."""
        return self.external_status in {"", "UNPUBLISHED"}


class Submission(models.Model):
    """What recruiting adds to a participation: where it came from, and what is owed and paid."""

    participation = models.OneToOneField(
        Participation, on_delete=models.CASCADE, related_name="submission"
    )
    # None by the open link of a study for which no channel is stored.
    channel = models.ForeignKey(
        Channel, null=True, on_delete=models.PROTECT, related_name="submissions"
    )
    completion_code = models.CharField(max_length=22, default=new_public_id)
    # What the platform said on arrival and wants to hear again in the end.
    return_params = models.JSONField(default=dict)
    # SHA-256 of the token in the cookie of the browser that agreed, where an id is bound to it;
    # and when another browser came with the same id, which the researcher allows.
    browser = models.CharField(max_length=32, blank=True)
    reentered_at = models.DateTimeField(null=True)
    # When the platform was last asked whether this submission is active.
    asked_platform_at = models.DateTimeField(null=True)
    # The platform's own words on it, and when they were true.
    platform_status = models.CharField(max_length=50, blank=True)
    platform_seen_at = models.DateTimeField(null=True)
    entered_code = models.CharField(max_length=100, blank=True)
    # What somebody who left early was told they are owed, whatever becomes of them or the study.
    owed = models.DecimalField(
        max_digits=10, decimal_places=2, null=True, validators=between(Decimal(0), MAX_REWARD)
    )
    # A researcher looked at what does not add up, and let it be.
    settled_at = models.DateTimeField(null=True)

    def __str__(self) -> str:
        return f"submission of {self.participation}"


class Payment(models.Model):
    """Money for one participation. Made before the platform is asked, so that it is asked once."""

    class Kind(models.TextChoices):
        REWARD = "reward"
        BONUS = "bonus"
        SCREEN_OUT = "screen_out"
        # The reward of whose submission the platform closed: it goes out as a bonus, once.
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
    created_at = models.DateTimeField()

    class Meta:
        ordering = ["id"]
        constraints = [
            models.UniqueConstraint(
                fields=["participation", "kind"],
                condition=~Q(kind="bonus") & ~Q(status="refused"),
                name="paid_once",
            )
        ]

    def __str__(self) -> str:
        return f"{self.kind} {self.amount} {self.currency}"


class PlatformEvent(models.Model):
    """A webhook that was let in, by the platform's id of it: the same again is known."""

    channel = models.ForeignKey(Channel, on_delete=models.CASCADE, related_name="events")
    event_id = models.CharField(max_length=200)
    received_at = models.DateTimeField(auto_now_add=True)

    class Meta:
        constraints = [models.UniqueConstraint(fields=["channel", "event_id"], name="event_once")]

    def __str__(self) -> str:
        return self.event_id
