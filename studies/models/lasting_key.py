import secrets
from collections.abc import Iterable

from cryptography.fernet import InvalidToken
from django.conf import settings
from django.core.signing import Signer
from django.db import models

from studies.ciphers import Encrypted, seal, unseal

PURPOSE = "tiebreak.lasting-key"


class LastingKey(models.Model):
    """A key for what must be known again after the server's secret key has changed.

    That are digests of erased ids and of addresses, and personal links. The first row that can be
    read makes new ones.
    """

    sealed = Encrypted(purpose=PURPOSE)

    def __str__(self) -> str:
        return f"key {self.pk}"


def lasting_keys() -> list[str]:
    """Return the keys that can be read, of which there is at least one.

    A key that was sealed with a lost secret key stays: it is readable again with that in
    `TIEBREAK_SECRET_KEY_FALLBACKS`.
    """
    keys = []
    for row in LastingKey.objects.order_by("pk"):
        try:
            keys.append(unseal(PURPOSE, row.sealed))
        except InvalidToken:
            continue
    return keys or [_new_key()]


def stored_keys() -> list[str]:
    """Return all keys as they are stored, for a server to which a study goes."""
    return list(LastingKey.objects.order_by("pk").values_list("sealed", flat=True))


def add_keys(sealed: Iterable[str]) -> None:
    """Store the keys of another server after this one's, so that what they made is known here, too."""
    lasting_keys()  # of which the first is this server's own
    known = stored_keys()
    for one in sealed:
        if one not in known:
            LastingKey.objects.create(sealed=one)


def known_keys() -> list[str]:
    """Return the lasting keys, and the secret keys that made digests and links before there were any."""
    return [*lasting_keys(), settings.SECRET_KEY, *settings.SECRET_KEY_FALLBACKS]


def lasting_signer(salt: str) -> Signer:
    """Return what signs links that stay valid when the secret key changes."""
    key, *former = known_keys()
    return Signer(key=key, fallback_keys=[*former], salt=salt)


def _new_key() -> str:
    key = secrets.token_urlsafe(50)
    LastingKey.objects.create(sealed=seal(PURPOSE, key))
    return key
