"""The second factor of an account: codes of an app, and recovery codes that work once each.

A code goes through Django's `authenticate`, so that wrong ones are counted as wrong passwords are.
Six digits are soon guessed from many addresses by somebody who knows the password. Therefore a wrong
code also makes the next one wait, ever longer, but never in a browser in which the owner logged in.
"""

from base64 import b32encode, b64encode
from contextlib import suppress
from hashlib import sha256
from secrets import token_bytes
from textwrap import wrap
from typing import Any

from cryptography.fernet import InvalidToken
from django.conf import settings
from django.contrib.auth.backends import ModelBackend
from django.contrib.auth.models import User
from django.db import transaction
from django.http import HttpRequest
from django_otp.models import Device
from django_otp.oath import TOTP
from django_otp.plugins.otp_static.models import StaticDevice, StaticToken

from studies.ciphers import seal
from studies.members.login_throttle import known_browser
from studies.models import AppDevice
from studies.models.accounts import APP_PURPOSE
from tiebreak.errors import DomainError

RECOVERY_CODES = 10
DIGITS = 6

WRONG_CODE = (
    "This code is not right, or was used already. Wait a moment, and enter the code that your app"
    " shows then, or one of your recovery codes."
)
IS_ON = "Your account has a second factor already. Turn it off before you use another device."


class PasswordBackend(ModelBackend):
    """Checks passwords where second factors are required, and opens no session.

    Sessions that were opened with a password alone, before they were required, end with it.
    """

    def get_user(self, user_id: Any) -> None:  # noqa: ARG002  the signature is Django's
        return None


class SecondFactorBackend(ModelBackend):
    """Checks codes, and opens the sessions of those who gave one."""

    def authenticate(  # type: ignore[override]
        self, request: HttpRequest | None, username: str = "", code: str = "", **_: Any
    ) -> User | None:
        if request is None or not code:
            return None
        user = User.objects.filter(username=username, is_active=True, is_staff=True).first()
        return user if user is not None and _is_right(request, user, code) else None


def _is_right(request: HttpRequest, user: User, code: str) -> bool:
    """Whether an app or a recovery code of a user says this; it is then used up."""
    plain = "".join(code.split()).lower()
    is_of_app = plain.isdecimal() and len(plain) == DIGITS
    kind: type[Device] = AppDevice if is_of_app else StaticDevice
    token = plain if is_of_app else stored_recovery_code(plain)
    with transaction.atomic():
        for device in kind.objects.select_for_update().filter(user=user, confirmed=True):
            if known_browser(request, user.get_username()):
                device.throttling_enabled = False
            # Who has an app whose secret cannot be read has recovery codes.
            with suppress(InvalidToken):
                if device.verify_token(token):
                    return True
    return False


def is_required() -> bool:
    """Whether everybody who logs in needs a second factor."""
    return bool(settings.TIEBREAK_TWO_FACTOR == "required")


def has_second_factor(user: User) -> bool:
    return bool(AppDevice.objects.filter(user=user, confirmed=True).exists())


def new_device(user: User, key: str) -> AppDevice:
    """Return a device that is not stored: its secret is known once the app has shown a code."""
    sealed = seal(APP_PURPOSE, key)
    return AppDevice(user=user, key="", sealed=sealed, digits=DIGITS, name="app")


@transaction.atomic
def turn_on(*, user: User, key: str, code: str) -> list[str]:
    """Store a device whose app shows the right code, and return the recovery codes once."""
    User.objects.select_for_update().get(pk=user.pk)
    if has_second_factor(user):
        raise DomainError("two_factor_is_on", IS_ON)
    device = new_device(user, key)
    plain = "".join(code.split())
    totp = TOTP(device.bin_key, device.step, device.t0, device.digits)
    if not (plain.isdecimal() and totp.verify(int(plain), device.tolerance)):
        raise DomainError("wrong_code", WRONG_CODE)
    device.last_t = totp.t()
    device.save()
    return new_recovery_codes(user)


@transaction.atomic
def new_recovery_codes(user: User) -> list[str]:
    """Replace the recovery codes, which are shown only now."""
    StaticDevice.objects.filter(user=user).delete()
    device = StaticDevice.objects.create(user=user, name="recovery codes")
    # 80 random bits, which nobody finds from their digest.
    codes = [b32encode(token_bytes(10)).decode().lower() for _ in range(RECOVERY_CODES)]
    stored = (stored_recovery_code(code) for code in codes)
    StaticToken.objects.bulk_create(StaticToken(device=device, token=one) for one in stored)
    return [" ".join(wrap(code, 4)) for code in codes]


def stored_recovery_code(code: str) -> str:
    """Return what is stored of a recovery code: as much of its SHA-256 as the column takes."""
    return b64encode(sha256(code.encode()).digest()[:12]).decode()


@transaction.atomic
def turn_off(user: User) -> bool:
    """Delete the devices and recovery codes of a user. Returns whether there was a device."""
    StaticDevice.objects.filter(user=user).delete()
    deleted, _ = AppDevice.objects.filter(user=user).delete()
    return bool(deleted)
