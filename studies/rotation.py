"""Gives what was stored with a former secret key the current one, so that the former key can go."""

from collections import Counter
from collections.abc import Callable, Iterator
from typing import Any

from cryptography.fernet import InvalidToken
from django.apps import apps
from django.contrib.auth import HASH_SESSION_KEY, SESSION_KEY
from django.contrib.auth.models import User
from django.contrib.sessions.backends.db import SessionStore
from django.contrib.sessions.models import Session
from django.core import signing
from django.db.models import QuerySet
from django.utils.crypto import constant_time_compare

from jobs.clock import database_now
from studies.ciphers import Encrypted, cipher, current_cipher

RENEWED, CURRENT, UNREADABLE = "renewed", "already current", "unreadable"
# What a stored text becomes, and what was done; the text is None if it stays.
Renewal = Callable[[str], tuple[str, str | None]]


def rotate_secrets() -> dict[str, Counter[str]]:
    """Encrypt and sign anew what only a former key opens, and count it by where it is stored.

    Each row is changed alone, and only if nobody changed it meanwhile: this may be stopped, and run
    again while the server runs.
    """
    counts = {
        f"{field.model._meta.label}.{field.name}": _renew(
            field.model._base_manager.exclude(**{field.name: ""}), field.name, _resealed(field)
        )
        for field in encrypted_fields()
    }
    sessions = Session.objects.filter(expire_date__gt=database_now())
    return counts | {"sessions": _renew(sessions, "session_data", _signed_anew)}


def encrypted_fields() -> Iterator[Encrypted]:
    for model in apps.get_models():
        yield from (one for one in model._meta.local_concrete_fields if isinstance(one, Encrypted))


def _renew(rows: QuerySet[Any], name: str, renewal: Renewal) -> Counter[str]:
    counts: Counter[str] = Counter()
    for key, stored in rows.order_by("pk").values_list("pk", name).iterator():
        state, renewed = renewal(stored)
        counts[state] += 1
        if renewed is not None:
            rows.filter(pk=key, **{name: stored}).update(**{name: renewed})
    return counts


def _resealed(field: Encrypted) -> Renewal:
    def renewal(sealed: str) -> tuple[str, str | None]:
        try:
            current_cipher(field.purpose).decrypt(sealed.encode())
        except InvalidToken:
            try:
                return RENEWED, cipher(field.purpose).rotate(sealed.encode()).decode()
            except InvalidToken:
                return UNREADABLE, None
        return CURRENT, None

    return renewal


def _signed_anew(stored: str) -> tuple[str, str | None]:
    store = SessionStore()
    about = {"salt": store.key_salt, "serializer": store.serializer}
    try:
        signing.loads(stored, fallback_keys=[], **about)
    except signing.BadSignature:
        try:
            content = signing.loads(stored, **about)
        except signing.BadSignature:
            return UNREADABLE, None
        return RENEWED, store.encode(_with_current_hash(content))
    return CURRENT, None


def _with_current_hash(content: dict[str, Any]) -> dict[str, Any]:
    """Renew the digest of the password that keeps somebody logged in, if it was right."""
    user = User.objects.filter(pk=content.get(SESSION_KEY) or 0).first()
    former = content.get(HASH_SESSION_KEY, "")
    if user is not None and any(
        constant_time_compare(former, one) for one in user.get_session_auth_fallback_hash()
    ):
        content[HASH_SESSION_KEY] = user.get_session_auth_hash()
    return content
