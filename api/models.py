"""Tokens with which programs authenticate."""

from typing import TYPE_CHECKING

from django.conf import settings
from django.db import models
from django.utils import timezone

from studies.models import Study
from tiebreak.identifiers import new_public_id

if TYPE_CHECKING:
    from django.contrib.auth.models import User


class ApiToken(models.Model):
    """A researcher's token, of which only the SHA-256 is stored.

    It opens what its researcher may see, or only the chosen studies among that. Whether it covers
    all studies is a field of its own, so that a token whose chosen studies are all deleted opens
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
    created_at = models.DateTimeField(default=timezone.now)
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
