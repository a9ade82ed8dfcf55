"""Webhooks and signed links: what proves that Prolific sent them."""

import base64
import hashlib
import hmac
import json
from collections.abc import Iterator
from datetime import UTC, datetime, timedelta
from typing import Any

import httpx
import jwt
import pytest
from cryptography.hazmat.primitives.asymmetric import rsa
from cryptography.hazmat.primitives.serialization import Encoding, PublicFormat

from recruitment.platforms.prolific.client import ProlificClient
from recruitment.platforms.prolific.signatures import (
    EntryRefused,
    ForgedEvent,
    fetch_keys,
    verify_entry_token,
    verify_webhook,
)
from tests.recruitment.platforms.fake_prolific import KEY_ID, FakeProlific, jwks, signing_key
from tests.recruitment.platforms.prolific_study import URL, active_study, connect
from tests.refusals import refused
from tiebreak.errors import DomainError


@pytest.fixture
def fake() -> Iterator[FakeProlific]:
    with FakeProlific() as running:
        yield running


@pytest.fixture
def client(fake: FakeProlific) -> Iterator[ProlificClient]:
    with connect(fake) as connected:
        yield connected


NOW = datetime(2026, 5, 4, 12, 0, tzinfo=UTC)


class TestWebhooks:
    def verify(self, headers: dict[str, str], content: bytes, **changes: Any) -> None:
        arguments = {
            "secret": "s3cret",
            "timestamp": headers["X-Prolific-Request-Timestamp"],
            "signature": headers["X-Prolific-Request-Signature"],
            "body": content,
            "now": NOW,
        }
        verify_webhook(**{**arguments, **changes})

    def signed(self, fake: FakeProlific, sent_at: datetime = NOW) -> tuple[dict[str, str], bytes]:
        event = fake.announce("submission.status.change", "turn", status="RETURNED")
        return fake.event(event, secret="s3cret", sent_at=sent_at)

    def accepts(self, headers: dict[str, str], body: bytes) -> bool:
        try:
            self.verify(headers, body)
        except ForgedEvent:
            return False
        return True

    def test_it_works(self, fake: FakeProlific) -> None:
        headers, body = self.signed(fake)
        assert self.accepts(headers, body)
        assert not self.accepts(headers, body + b" ")

    def test_a_known_answer(self) -> None:
        """Computed independently, with OpenSSL; a byte more or less is refused."""
        known = {
            "secret": "s3cret",
            "timestamp": "1777896000",
            "body": b'{"event_type": "study.status.change"}',
            "signature": "f+im0PJdYyfr83O49KFS3Wc3r2HtenJD5m8qZOXVKc0=",
            "now": NOW,
        }
        verify_webhook(**known)
        with pytest.raises(DomainError):
            verify_webhook(**known | {"body": known["body"] + b" "})

    @pytest.mark.parametrize(
        "changes",
        [
            {"body": b'{"event_type": "submission.status.change", "status": "APPROVED"}'},
            {"secret": "other"},
            {"secret": ""},
            {"signature": ""},
            {"signature": "é"},
            {"timestamp": "1777896001"},
            {"timestamp": "now"},
        ],
    )
    def test_forged(self, fake: FakeProlific, changes: dict[str, Any]) -> None:
        with refused("event_forged"):
            self.verify(*self.signed(fake), **changes)

    def test_no_secret_is_no_signature(self, fake: FakeProlific) -> None:
        event = fake.announce("study.status.change", "s1")
        with pytest.raises(ForgedEvent):
            self.verify(*fake.event(event, secret="", sent_at=NOW), secret="")

    @pytest.mark.parametrize("apart_s", [-301, 301, 86_400])
    def test_old_or_early(self, fake: FakeProlific, apart_s: int) -> None:
        sent = NOW - timedelta(seconds=apart_s)
        with refused("event_stale"):
            self.verify(*self.signed(fake, sent))

    def test_within_the_window(self, fake: FakeProlific) -> None:
        accepted = {
            apart_s: self.accepts(*self.signed(fake, NOW - timedelta(seconds=apart_s)))
            for apart_s in (-301, -300, 300, 301)
        }
        assert accepted == {-301: False, -300: True, 300: True, 301: False}


class TestEntryTokens:
    def verify(self, token: str, **changes: Any) -> dict[str, str]:
        arguments = {
            "keys": jwt.PyJWKSet.from_dict(jwks()),
            "audience": URL,
            "submission_id": "turn1",
            "now": NOW,
        }
        return verify_entry_token(token, **{**arguments, **changes})

    def token(self, fake: FakeProlific, **claims: Any) -> str:
        return fake.entry_token(URL, "turn1", now=claims.pop("now", NOW), **claims)

    def test_it_works(self, fake: FakeProlific) -> None:
        token = self.token(fake, prolific={"who": "ann", "study": "s1", "turn": "turn1"})
        keys = fetch_keys(fake.jwks_url, timeout_s=5)
        assert self.verify(token, keys=keys) == {"who": "ann", "study": "s1", "turn": "turn1"}

    def test_the_whole_way(self, fake: FakeProlific, client: ProlificClient) -> None:
        study = active_study(client, is_external_study_url_secure=True)
        own_submission = fake.reserve(study, "ann")
        query = httpx.URL(fake.start(own_submission)).params
        signed = self.verify(
            query["prolific_token"], submission_id=own_submission, now=datetime.now(UTC)
        )
        assert (query["who"], query["turn"]) == ("ann", own_submission)
        assert signed["who"] == "ann"

    def test_the_audience_with_ids_filled_in(self, fake: FakeProlific) -> None:
        filled = "https://study.example/crowd/7/?who=ann&study=s1&turn=turn1&lang=en"
        assert self.verify(self.token(fake, aud=filled)) == {"workspace_id": "workspace"}

    @pytest.mark.parametrize("late_s", [-10, 0, 120, 130])
    def test_within_two_minutes(self, fake: FakeProlific, late_s: int) -> None:
        signed = self.verify(self.token(fake), now=NOW + timedelta(seconds=late_s))
        assert signed == {"workspace_id": "workspace"}

    @pytest.mark.parametrize(
        "claims",
        [
            {"now": NOW - timedelta(seconds=131)},
            {"now": NOW - timedelta(seconds=131), "exp": int(NOW.timestamp()) + 3600},
            {"now": NOW + timedelta(seconds=11)},
            {"exp": int(NOW.timestamp()) - 11},
        ],
    )
    def test_expired(self, fake: FakeProlific, claims: dict[str, Any]) -> None:
        with refused("entry_expired"):
            self.verify(self.token(fake, **claims))

    @pytest.mark.parametrize(
        "claims",
        [
            {"aud": "https://evil.example/crowd/7/?lang=en"},
            {"aud": "https://study.example/crowd/8/?lang=en"},
            {"aud": "https://study.example/crowd/7/?lang=de"},
            {"aud": "http://study.example/crowd/7/?lang=en"},
            {"aud": [URL]},
            {"sub": "turn2"},
            {"iss": "https://evil.example"},
            {"iat": "yesterday"},
            {"exp": None},
            {"iat": True},
        ],
    )
    def test_wrong_claims(self, fake: FakeProlific, claims: dict[str, Any]) -> None:
        with refused("entry_forged"):
            self.verify(self.token(fake, **claims))

    @pytest.mark.parametrize("missing", ["iss", "aud", "sub", "iat", "exp"])
    def test_missing_claims(self, missing: str) -> None:
        claims = {key: value for key, value in self.claims().items() if key != missing}
        with refused("entry_forged"):
            self.verify(jwt.encode(claims, signing_key(), "RS256", headers={"kid": KEY_ID}))

    def claims(self) -> dict[str, Any]:
        issued = int(NOW.timestamp())
        return {
            "iss": "https://www.prolific.com",
            "aud": URL,
            "sub": "turn1",
            "iat": issued,
            "exp": issued + 120,
        }

    def test_without_a_signature(self) -> None:
        token = jwt.encode(self.claims(), None, algorithm="none", headers={"kid": KEY_ID})
        with refused("entry_forged"):
            self.verify(token)

    def test_signed_with_the_public_key_as_a_secret(self) -> None:
        public = signing_key().public_key()
        pem = public.public_bytes(Encoding.PEM, PublicFormat.SubjectPublicKeyInfo)
        token = hs256(self.claims(), pem)
        with refused("entry_forged"):
            self.verify(token)

    def test_signed_with_another_key(self) -> None:
        other = rsa.generate_private_key(public_exponent=65537, key_size=2048)
        token = jwt.encode(self.claims(), other, "RS256", headers={"kid": KEY_ID})
        with refused("entry_forged"):
            self.verify(token)

    @pytest.mark.parametrize("headers", [{"kid": "new-key"}, {}])
    def test_an_unknown_key_has_its_own_code(self, headers: dict[str, str]) -> None:
        token = jwt.encode(self.claims(), signing_key(), "RS256", headers=headers)
        with refused("entry_key_unknown"):
            self.verify(token)

    @pytest.mark.parametrize("token", ["", "a.b.c", "ä", "e30.e30.e30", "." * 9])
    def test_nonsense(self, token: str) -> None:
        with pytest.raises(EntryRefused):
            self.verify(token)

    @pytest.mark.parametrize("kind", ["html", "list", "shape", "cut"])
    def test_keys_that_cannot_be_read(self, fake: FakeProlific, kind: str) -> None:
        fake.garble_next(kind)
        with refused("platform_keys") as broken:
            fetch_keys(fake.jwks_url, timeout_s=5)
        assert broken.value.is_retryable


def hs256(claims: dict[str, Any], key: bytes) -> str:
    """By hand, because PyJWT refuses to sign with a public key."""

    def part(data: bytes) -> str:
        return base64.urlsafe_b64encode(data).rstrip(b"=").decode()

    header = {"alg": "HS256", "typ": "JWT", "kid": KEY_ID}
    signed = f"{part(json.dumps(header).encode())}.{part(json.dumps(claims).encode())}"
    return f"{signed}.{part(hmac.digest(key, signed.encode(), hashlib.sha256))}"
