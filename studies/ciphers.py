"""Encryption with keys that are derived from the server's secret key, one key per purpose."""

import base64
import hashlib
from typing import Any

from cryptography.fernet import Fernet, MultiFernet
from django.conf import settings
from django.db import models


class Encrypted(models.TextField):  # type: ignore[type-arg]
    """A text that is stored as `seal` returns it, so that the database alone does not reveal it.

    Migrations know it as a text. `studies.rotation` finds all of these fields by their class.
    """

    def __init__(self, *args: Any, purpose: str = "", **options: Any) -> None:
        super().__init__(*args, **options)
        self.purpose = purpose

    def deconstruct(self) -> Any:
        name, _, args, options = super().deconstruct()
        return name, "django.db.models.TextField", args, options


def seal(purpose: str, text: str) -> str:
    return cipher(purpose).encrypt(text.encode()).decode()


def unseal(purpose: str, sealed: str) -> str:
    """Return a stored text. Raises `InvalidToken` if it was sealed with a key that is gone."""
    return cipher(purpose).decrypt(sealed.encode()).decode()


def cipher(purpose: str) -> MultiFernet:
    """Return a cipher that encrypts with the current secret key and can decrypt with old ones."""
    secrets = [settings.SECRET_KEY, *settings.SECRET_KEY_FALLBACKS]
    return MultiFernet([_fernet(purpose, secret) for secret in secrets])


def current_cipher(purpose: str) -> Fernet:
    """Return a cipher that knows the current secret key alone."""
    return _fernet(purpose, settings.SECRET_KEY)


def _fernet(purpose: str, secret: str) -> Fernet:
    digest = hashlib.sha256(f"{purpose}:{secret}".encode()).digest()
    return Fernet(base64.urlsafe_b64encode(digest))
