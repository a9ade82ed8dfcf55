"""Creates, checks and revokes tokens."""

import hashlib
import secrets
from collections.abc import Iterable
from datetime import datetime, timedelta

from django.contrib.auth.models import User
from django.db import transaction
from django.db.models import Q

from api.messages import BAD_NAME, CREDENTIALS_REFUSED, TOO_MANY_TOKENS, UNKNOWN_STUDY
from api.models import ApiToken
from jobs.clock import database_now
from studies.access import studies_of
from studies.models import Study
from tiebreak.errors import DomainError

PREFIX = "tb_"
# The random part has 256 bits, so a plain hash is enough.
BYTES, SHOWN = 32, 9
MAX_NAME = 100
MAX_TOKENS = 100
# A token's last use is stored at most once in this time.
USE_NOTED_EVERY = timedelta(minutes=1)


@transaction.atomic
def create_token(
    *,
    user: User,
    name: str,
    access: ApiToken.Access = ApiToken.Access.READ,
    studies: Iterable[Study] | None = None,
    expires_at: datetime | None = None,
) -> tuple[ApiToken, str]:
    """Store a token and return it with its text, which cannot be shown again.

    Without ``studies``, the token opens all studies of the researcher, including later ones. Raises
    `DomainError` if the researcher may not see one of the studies, has too many tokens, or
    gives the token no name or too long a one.
    """
    if not name.strip() or len(name) > MAX_NAME:
        raise DomainError("bad_name", BAD_NAME.format(MAX_NAME), status=400)
    chosen = None if studies is None else list(studies)
    keys = {study.pk for study in chosen or ()}
    if studies_of(user).filter(pk__in=keys).count() < len(keys):
        raise DomainError("unknown_study", UNKNOWN_STUDY, status=404)
    if ApiToken.objects.filter(user=user, revoked_at=None).count() >= MAX_TOKENS:
        raise DomainError("too_many_tokens", TOO_MANY_TOKENS)
    text = PREFIX + secrets.token_urlsafe(BYTES)
    token = ApiToken.objects.create(
        user=user,
        name=name,
        prefix=text[:SHOWN],
        digest=digest_of(text),
        access=access,
        covers_all=chosen is None,
        expires_at=expires_at,
    )
    token.studies.set(chosen or [])
    return token, text


def digest_of(text: str) -> str:
    return hashlib.sha256(text.encode(errors="replace")).hexdigest()


def valid_token(text: str, now: datetime | None = None) -> ApiToken:
    """Return the token with this text, and note its use.

    Raises `DomainError` with one code, whether the token never existed, was revoked, has expired, or
    belongs to someone who is no longer a researcher.
    """
    now = now or database_now()
    unexpired = Q(expires_at=None) | Q(expires_at__gt=now)
    token = (
        ApiToken.objects.select_related("user")
        .filter(unexpired, digest=digest_of(text), revoked_at=None)
        .filter(user__is_active=True, user__is_staff=True)
        .first()
    )
    if token is None:
        raise DomainError("wrong_token", CREDENTIALS_REFUSED, status=401)
    if token.last_used_at is None or token.last_used_at <= now - USE_NOTED_EVERY:
        ApiToken.objects.filter(pk=token.pk).update(last_used_at=now)
    return token


def revoke_token(*, user: User, public_id: str) -> None:
    """End a token for good. Someone else's token, or an unknown one, raises `DomainError`."""
    known = ApiToken.objects.filter(user=user, public_id=public_id)
    if not known.exists():
        raise DomainError(
            "no_such_token", "You have no such token. Reload the page to see yours.", status=404
        )
    known.filter(revoked_at=None).update(revoked_at=database_now())
