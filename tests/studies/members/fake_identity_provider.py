"""A provider of single sign-on that answers over HTTP, with tokens signed as a real one's are."""

import json
import time
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from threading import Thread
from typing import Any
from urllib.parse import parse_qs, urlsplit

import jwt
from cryptography.hazmat.primitives.asymmetric import rsa

CLIENT, SECRET = "tiebreak", "the client's secret"


class FakeIdentityProvider:
    """Its claims, answers and keys can be changed by a test."""

    def __init__(self) -> None:
        self.key = rsa.generate_private_key(public_exponent=65537, key_size=2048)
        self.kid = "first"
        self.claims: dict[str, Any] = {
            "sub": "person-1",
            "email": "ruth@example.org",
            "email_verified": True,
        }
        self.userinfo: dict[str, Any] = {}
        self.metadata: dict[str, Any] = {}
        self.nonces: dict[str, str] = {}
        self.asked: list[tuple[str, dict[str, str]]] = []
        self.signed_by: Any = None
        self.algorithm = "RS256"

    def __enter__(self) -> "FakeIdentityProvider":
        handler = type("Handler", (Handler,), {"provider": self})
        self.server = ThreadingHTTPServer(("127.0.0.1", 0), handler)
        self.issuer = f"http://127.0.0.1:{self.server.server_address[1]}"
        Thread(target=self.server.serve_forever, daemon=True).start()
        return self

    def __exit__(self, *_: object) -> None:
        self.server.shutdown()
        self.server.server_close()

    def signs_in(self, address: str) -> dict[str, str]:
        """Return what the browser brings back to the server from this address of the provider."""
        asked = {name: values[0] for name, values in parse_qs(urlsplit(address).query).items()}
        self.asked.append(("authorize", asked))
        self.nonces["a-code"] = asked["nonce"]
        return {"code": "a-code", "state": asked["state"]}

    def token(self, code: str) -> str:
        now = int(time.time())
        claims = {
            "iss": self.issuer,
            "aud": CLIENT,
            "iat": now,
            "exp": now + 300,
            "nonce": self.nonces.pop(code),
        }
        whole = {k: v for k, v in {**claims, **self.claims}.items() if v is not None}
        key = self.key if self.signed_by is None else self.signed_by
        return jwt.encode(whole, key, algorithm=self.algorithm, headers={"kid": self.kid})

    def answer(self, path: str, form: dict[str, str]) -> Any:
        self.asked.append((path, form))
        if path == "/.well-known/openid-configuration":
            return {
                "issuer": self.issuer,
                "authorization_endpoint": f"{self.issuer}/authorize",
                "token_endpoint": f"{self.issuer}/token",
                "userinfo_endpoint": f"{self.issuer}/userinfo",
                "jwks_uri": f"{self.issuer}/jwks",
                "id_token_signing_alg_values_supported": ["RS256", "HS256", "none"],
                **self.metadata,
            }
        if path == "/jwks":
            public = json.loads(jwt.algorithms.RSAAlgorithm.to_jwk(self.key.public_key()))
            return {"keys": [{**public, "kid": self.kid, "use": "sig"}]}
        if path == "/userinfo":
            return self.userinfo
        if path == "/token" and form.get("code") in self.nonces:
            token = self.token(form["code"])
            return {"access_token": "an-access-token", "token_type": "Bearer", "id_token": token}
        return None


class Handler(BaseHTTPRequestHandler):
    provider: FakeIdentityProvider

    def do_GET(self) -> None:
        self._send({})

    def do_POST(self) -> None:
        body = self.rfile.read(int(self.headers["Content-Length"])).decode()
        self._send({name: values[0] for name, values in parse_qs(body).items()})

    def _send(self, form: dict[str, str]) -> None:
        answer = self.provider.answer(urlsplit(self.path).path, form)
        body = json.dumps({"error": "invalid_grant"} if answer is None else answer).encode()
        self.send_response(400 if answer is None else 200)
        self.send_header("Content-Type", "application/json")
        self.send_header("Content-Length", str(len(body)))
        self.end_headers()
        self.wfile.write(body)

    def log_message(self, *_: object) -> None:
        pass
