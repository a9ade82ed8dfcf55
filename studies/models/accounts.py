from typing import TYPE_CHECKING

from django.conf import settings
from django.db import models
from django_otp.plugins.otp_totp.models import TOTPDevice

from jobs.clock import Moment
from studies.ciphers import Encrypted, unseal
from studies.models.study import Membership, Study
from tiebreak.identifiers import new_public_id

if TYPE_CHECKING:
    from django.contrib.auth.models import User

APP_PURPOSE = "tiebreak.second-factor"


class Invitation(models.Model):
    """An e-mail address whose owner may join a study or, without a study, the server.

    The row is deleted when the invitation is accepted or withdrawn, so that its link works once.
    """

    public_id = models.CharField(max_length=22, unique=True, default=new_public_id, editable=False)
    study = models.ForeignKey(
        Study, null=True, on_delete=models.CASCADE, related_name="invitations"
    )
    email = models.EmailField()
    role = models.CharField(max_length=10, choices=Membership.Role.choices, blank=True)
    invited_by: "models.ForeignKey[User, User]" = models.ForeignKey(
        settings.AUTH_USER_MODEL, on_delete=models.CASCADE, related_name="+"
    )
    # Whether the link was sent, so that whoever has it owns the address, and nobody else sees it.
    is_sent = models.BooleanField(default=False)
    created_at = models.DateTimeField(db_default=Moment(), editable=False)
    expires_at = models.DateTimeField()

    class Meta:
        ordering = ["-id"]

    def __str__(self) -> str:
        return self.email


class AppDevice(TOTPDevice):  # type: ignore[misc]
    """An app that shows codes. Its secret is stored encrypted, and the plain field of its parent is empty."""

    sealed = Encrypted(purpose=APP_PURPOSE)

    @property
    def bin_key(self) -> bytes:
        return bytes.fromhex(unseal(APP_PURPOSE, self.sealed))


class SingleSignOn(models.Model):
    """By what a provider of single sign-on knows the owner of an account."""

    user: "models.ForeignKey[User, User]" = models.ForeignKey(
        settings.AUTH_USER_MODEL, on_delete=models.CASCADE, related_name="single_sign_ons"
    )
    issuer = models.CharField(max_length=500)
    subject = models.CharField(max_length=255)

    class Meta:
        constraints = [
            models.UniqueConstraint(fields=["issuer", "subject"], name="sign_on_is_of_one_account"),
            models.UniqueConstraint(fields=["issuer", "user"], name="account_has_one_sign_on"),
        ]

    def __str__(self) -> str:
        return f"{self.user} by {self.issuer}"
