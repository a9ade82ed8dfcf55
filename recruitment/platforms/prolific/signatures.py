"""Verify what Prolific signs: webhooks with a shared secret, entry links with a key pair."""

import base64
import hashlib
import hmac
import re
from datetime import datetime
from urllib.parse import parse_qsl, urlsplit

import httpx
import jwt
from jwt.types import Options

from recruitment.platforms.errors import PlatformError
from tiebreak.errors import DomainError

ISSUER = "https://www.prolific.com"
ENTRY_AGE_S = 120
LEEWAY_S = 10
# Time and audience are checked below, because the caller has the clock and the URL contains IDs.
OPTIONS: Options = {
    "require": ["exp", "iat", "iss", "aud", "sub"],
    "verify_exp": False,
    "verify_iat": False,
    "verify_nbf": False,
    "verify_aud": False,
}
KEYS_URL = "https://api.prolific.com/.well-known/study/jwks.json"


class ForgedEvent(DomainError):
    """An event without proof that Prolific sent it recently and unchanged."""


class EntryRefused(DomainError):
    """An invalid entry token: `entry_expired`, `entry_key_unknown`, `entry_forged`.

    With `entry_key_unknown` the keys may have changed since they were fetched.
    """


def verify_webhook(
    *,
    secret: str,
    timestamp: str,
    body: bytes,
    signature: str,
    now: datetime,
    window_s: int = 300,
) -> None:
    """Raise `ForgedEvent` unless the raw body was signed with the secret within the window.

    The same event can still arrive twice within the window; the caller has to check for that.
    """
    signed = hmac.new(secret.encode(), timestamp.encode() + body, hashlib.sha256).digest()
    is_same = hmac.compare_digest(base64.b64encode(signed), signature.encode())
    if not secret or not is_same:
        raise ForgedEvent(
            "event_forged", "This event does not have a valid signature of Prolific.", status=403
        )
    if not re.fullmatch(r"[0-9]{1,12}", timestamp) or (
        abs(now.timestamp() - int(timestamp)) > window_s
    ):
        raise ForgedEvent(
            "event_stale",
            "This event was signed too long ago, or in the future. Check the clock of this server.",
            status=403,
        )


def verify_entry_token(
    token: str, *, keys: jwt.PyJWKSet, audience: str, submission_id: str, now: datetime
) -> dict[str, str]:
    """Return the URL parameters that Prolific signed; raise `EntryRefused` if the token is invalid.

    `audience` is the study's URL as Prolific has it, `submission_id` the SESSION_ID that came with
    the token. The caller compares the participant and the study with the returned parameters.
    """
    claims = _claims(token, keys)
    # The page and the fixed parameters must agree, with or without filled-in placeholders.
    ours, theirs = urlsplit(audience), urlsplit(str(claims["aud"]))
    fixed = [pair for pair in parse_qsl(ours.query) if not pair[1].startswith("{{%")]
    query = parse_qsl(theirs.query)
    is_for_us = ours[:3] == theirs[:3] and all(pair in query for pair in fixed)
    if not is_for_us or claims["sub"] != submission_id:
        raise _forged()
    _check_age(claims["iat"], claims["exp"], now)
    signed = claims.get("prolific")
    return {str(k): str(v) for k, v in signed.items()} if isinstance(signed, dict) else {}


def check_claimed_age(token: str, now: datetime) -> None:
    """Raise `EntryRefused` if a token is too old according to its own unverified claims.

    Fetching the key of such a token would be pointless.
    """
    try:
        claims = jwt.decode(token, options={"verify_signature": False})
    except (jwt.PyJWTError, ValueError):
        raise _forged() from None
    _check_age(claims.get("iat"), claims.get("exp"), now)


def fetch_keys(url: str = KEYS_URL, timeout_s: float = 5.0) -> jwt.PyJWKSet:
    """Fetch Prolific's public keys, which should be stored and renewed at least daily."""
    try:
        response = httpx.get(url, timeout=timeout_s, follow_redirects=False)
        response.raise_for_status()
        return jwt.PyJWKSet.from_dict(response.json())
    except (httpx.HTTPError, jwt.PyJWTError, ValueError, TypeError, AttributeError):
        pass
    raise PlatformError(
        "platform_keys",
        "Prolific's keys cannot be fetched. Please try again in a few minutes.",
        is_retryable=True,
    )


def _claims(token: str, keys: jwt.PyJWKSet) -> dict[str, object]:
    try:
        claims: dict[str, object] = jwt.decode(
            token,
            _key(token, keys),
            algorithms=["RS256"],
            issuer=ISSUER,
            options=OPTIONS,
        )
    except (jwt.PyJWTError, ValueError):
        raise _forged() from None
    return claims


def _key(token: str, keys: jwt.PyJWKSet) -> jwt.PyJWK:
    header = jwt.get_unverified_header(token)
    if header.get("alg") != "RS256":
        raise _forged()
    key = next((key for key in keys.keys if key.key_id and key.key_id == header.get("kid")), None)
    if key is None:
        raise EntryRefused(
            "entry_key_unknown",
            "We could not verify this link. Please open the study from Prolific again. If this"
            " happens again, send the researchers a message on Prolific.",
            status=403,
        )
    return key


def _check_age(issued: object, expires: object, now: datetime) -> None:
    if not _is_number(issued) or not _is_number(expires):
        raise _forged()
    age_s, left_s = now.timestamp() - float(str(issued)), float(str(expires)) - now.timestamp()
    if -LEEWAY_S <= age_s <= ENTRY_AGE_S + LEEWAY_S and left_s >= -LEEWAY_S:
        return
    raise EntryRefused(
        "entry_expired",
        "This link was valid for two minutes and has expired. Please open the study from"
        " Prolific again.",
        status=403,
    )


def _is_number(value: object) -> bool:
    return isinstance(value, int | float) and not isinstance(value, bool)


def _forged() -> EntryRefused:
    return EntryRefused(
        "entry_forged",
        "This link is not valid. Please open the study from Prolific again.",
        status=403,
    )
