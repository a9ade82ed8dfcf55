"""Encryption with keys that are derived from the server's secret key, one key per purpose."""

import base64
import hashlib

from cryptography.fernet import Fernet, MultiFernet
from django.conf import settings


def cipher(purpose: str) -> MultiFernet:
    """Return a cipher that encrypts with the current secret key and can decrypt with old ones."""
    secrets = [settings.SECRET_KEY, *settings.SECRET_KEY_FALLBACKS]
    return MultiFernet([_fernet(purpose, secret) for secret in secrets])


def _fernet(purpose: str, secret: str) -> Fernet:
    digest = hashlib.sha256(f"{purpose}:{secret}".encode()).digest()
    return Fernet(base64.urlsafe_b64encode(digest))
