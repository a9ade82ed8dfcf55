"""What is agreed with a platform, what it reported, and what was paid."""

from decimal import Decimal

from cryptography.fernet import InvalidToken
from django.db import models
from django.db.models import Q

from annotation.models.rater import Participation, Recruitment
from studies.ciphers import cipher
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

    recruitment = models.ForeignKey(Recruitment, on_delete=models.CASCADE, related_name="events")
    event_id = models.CharField(max_length=200)
    received_at = models.DateTimeField(auto_now_add=True)

    class Meta:
        constraints = [
            models.UniqueConstraint(fields=["recruitment", "event_id"], name="event_once")
        ]

    def __str__(self) -> str:
        return self.event_id
