"""What a page calls the unit that it shows, where two pages must not show that they share a task."""

from base64 import urlsafe_b64decode, urlsafe_b64encode
from hashlib import sha256

from cryptography.exceptions import InvalidTag
from cryptography.hazmat.primitives.ciphers.aead import AESSIV
from django.conf import settings


def screen_key(assignment: str, position: int) -> str:
    """Return a text that is the same whenever the unit is shown, and that only this server reads."""
    text = f"{assignment} {position}".encode()
    return urlsafe_b64encode(_cipher(settings.SECRET_KEY).encrypt(text, None)).decode()


def read_screen_key(key: str) -> tuple[str, int] | None:
    """Return the assignment and the position of a key; None if the text is no key."""
    for secret in (settings.SECRET_KEY, *settings.SECRET_KEY_FALLBACKS):
        try:
            text = _cipher(secret).decrypt(urlsafe_b64decode(key), None).decode()
        except (InvalidTag, ValueError):
            continue
        assignment, position = text.split()
        return assignment, int(position)
    return None


def _cipher(secret: str) -> AESSIV:
    return AESSIV(sha256(f"screen:{secret}".encode()).digest())
