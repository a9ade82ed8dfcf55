"""HTTP transport to one model server: address checks, concurrency limits, retries and errors.

The API key is passed only to aiohttp. Our errors contain neither the key nor a reference to
aiohttp's errors, which hold the request and its headers. Requests are sent with aiohttp because
httpx takes about three times as much processor time per request, and the model server may run on
the same machine.
"""

import asyncio
import json
import re
from collections.abc import Callable, Collection, Mapping
from dataclasses import dataclass, field
from functools import cache
from ssl import SSLContext, create_default_context
from typing import Any, TypeVar

import aiohttp
import httpx
from tenacity import (
    AsyncRetrying,
    RetryCallState,
    retry_if_exception,
    stop_after_attempt,
    wait_exponential,
    wait_random_exponential,
)

from tiebreak.gateway import http_errors
from tiebreak.gateway.http_errors import retry_after_s
from tiebreak.gateway.protocol import GatewayError

T = TypeVar("T")
JsonObject = dict[str, Any]
Reader = Callable[[JsonObject], T]

# If Retry-After is longer, the request fails immediately instead of waiting.
MAX_WAIT_S = 60.0
MAX_RESPONSE_BYTES = 64 * 2**20
# As JSON writes it, after an even number of backslashes.
NUL = re.compile(r"(?<!\\)((?:\\\\)*)\\u0000")
DEFAULT_PORTS = {"http": 80, "https": 443}
# After these errors, every further request to the same server would fail in the same way.
FATAL_CODES = frozenset({"refused_key", "forbidden", "unknown_model", "moved", "other_model"})


@dataclass(frozen=True)
class Limits:
    """Limits for one server: concurrency, timeouts and retries; see `OpenAIServer`."""

    concurrency: int
    timeout_s: float
    connect_timeout_s: float
    max_attempts: int
    initial_backoff_s: float
    max_consecutive_failures: int


@dataclass(frozen=True)
class Address:
    """The checked address of a server.

    ``api`` is the base URL of the API, ``root`` is the same without ``/v1``, and ``authority`` is
    ``host:port``.
    """

    root: str
    api: str
    authority: str


def parse_address(base_url: str, allowed_hosts: Collection[str]) -> Address:
    """Return the parsed address if its ``host:port`` is one of the allowed hosts.

    The URL has ``http`` or ``https``; if it has no path, the path is ``/v1``. Allowed hosts need a
    port. Raises `GatewayError` for another host (``host_not_allowed``) or an invalid address
    (``bad_settings``).
    """
    url, authority = _parsed(base_url)
    if authority not in {allowed.casefold() for allowed in allowed_hosts}:
        raise http_errors.host_not_allowed(authority)
    path = (url.path.rstrip("/") or "/v1").removesuffix("/")
    origin = f"{url.scheme}://{authority}"
    return Address(origin + path.removesuffix("/v1"), origin + path, authority)


def host_of(base_url: str) -> str:
    """Return the ``host:port`` of an address, to allow it. Raises `GatewayError` (``bad_settings``)."""
    return _parsed(base_url)[1]


def _parsed(base_url: str) -> tuple[httpx.URL, str]:
    try:
        url = httpx.URL(base_url)
    except (httpx.InvalidURL, TypeError):
        raise http_errors.bad_address() from None
    if url.scheme not in DEFAULT_PORTS or not url.host or url.userinfo or url.query or url.fragment:
        raise http_errors.bad_address()
    host = f"[{url.host}]" if ":" in url.host else url.host
    return url, f"{host}:{url.port or DEFAULT_PORTS[url.scheme]}"


@dataclass
class Connection:
    """The HTTP session for one batch of requests to one server, as an asynchronous context manager.

    After `stop`, all outstanding requests fail with the error ``stopped_by``.
    """

    address: Address
    limits: Limits
    api_key: str = field(repr=False)
    stopped_by: GatewayError | None = None

    async def __aenter__(self) -> "Connection":
        limits = self.limits
        authorization = {"Authorization": f"Bearer {self.api_key}"} if self.api_key else {}
        self._session = aiohttp.ClientSession(
            headers={
                "Accept": "application/json",
                "Accept-Encoding": "identity",
                **authorization,
            },
            # `_send` limits the total time of an attempt.
            timeout=aiohttp.ClientTimeout(total=None, sock_connect=limits.connect_timeout_s),
            connector=aiohttp.TCPConnector(limit=limits.concurrency, ssl=_ssl_context()),
            cookie_jar=aiohttp.DummyCookieJar(),
            trust_env=False,
        )
        self._slots = asyncio.Semaphore(limits.concurrency)
        self._stop_event = asyncio.Event()
        self._consecutive_failures = 0
        self._paused_until = 0.0
        # A wait doubles after each attempt, and half of it is random to spread clients out.
        half, max_half = limits.initial_backoff_s / 2, MAX_WAIT_S / 2
        wait = wait_exponential(half, max=max_half) + wait_random_exponential(half, max=max_half)
        self._retrying = AsyncRetrying(
            stop=stop_after_attempt(limits.max_attempts),
            wait=wait,
            retry=retry_if_exception(_is_worth_retrying),
            before_sleep=self._honour_retry_after,
            sleep=self._sleep,
            reraise=True,
        )
        return self

    async def __aexit__(self, *_: object) -> None:
        await self._session.close()

    async def post(self, path: str, body: Mapping[str, object], reader: Reader[T]) -> T:
        """POST to a path of the API, with retries, and return the response as parsed by ``reader``.

        ``reader`` may raise `GatewayError`, or `MalformedResponse` if the response lacks something.
        """
        return await self._request("POST", self.address.api + path, body, reader)

    async def post_root(self, path: str, body: Mapping[str, object], reader: Reader[T]) -> T:
        """POST to a path outside ``/v1``, where vLLM has its extensions of OpenAI's API."""
        return await self._request("POST", self.address.root + path, body, reader)

    async def get(self, path: str, reader: Reader[T]) -> T:
        """GET a path of the API, otherwise like `post`."""
        return await self._request("GET", self.address.api + path, None, reader)

    async def get_root(self, path: str, reader: Reader[T]) -> T:
        """GET a path outside ``/v1``, otherwise like `post`."""
        return await self._request("GET", self.address.root + path, None, reader)

    def note_failure(self, error: GatewayError) -> None:
        """Stop after a fatal error, or after too many consecutive failures."""
        self._consecutive_failures += not error.is_request_fault
        is_too_many = self._consecutive_failures >= self.limits.max_consecutive_failures
        if error.code in FATAL_CODES or is_too_many:
            self.stop(error)

    def note_success(self) -> None:
        self._consecutive_failures = 0

    def stop(self, error: GatewayError) -> None:
        """Send nothing more, and wake every request that is waiting to be retried."""
        self.stopped_by = self.stopped_by or error
        self._stop_event.set()

    async def _request(
        self, method: str, url: str, body: Mapping[str, object] | None, reader: Reader[T]
    ) -> T:
        # Copied because tenacity keeps the state of the current call on the object.
        return await self._retrying.copy()(self._attempt, method, url, body, reader)

    def _honour_retry_after(self, state: RetryCallState) -> None:
        """Pause all requests, not only this one, for as long as Retry-After says."""
        error = state.outcome.exception() if state.outcome else None
        if isinstance(error, GatewayError):
            until = asyncio.get_running_loop().time() + error.retry_after_s
            self._paused_until = max(self._paused_until, until)

    async def _sleep(self, seconds: float) -> None:
        """Sleep for this time, or until the connection is stopped."""
        try:
            async with asyncio.timeout(seconds):
                await self._stop_event.wait()
        except TimeoutError:
            return

    async def _attempt(
        self, method: str, url: str, body: Mapping[str, object] | None, reader: Reader[T]
    ) -> T:
        """Make one attempt when a slot is free and no pause is in force."""
        async with self._slots:
            pause_s = self._paused_until - asyncio.get_running_loop().time()
            if pause_s > 0:
                await self._sleep(pause_s)
            if self.stopped_by is not None:
                raise self.stopped_by.copy()
            return _read(await self._send(method, url, body), reader)

    async def _send(self, method: str, url: str, body: Mapping[str, object] | None) -> JsonObject:
        # Errors are raised after the except clauses so that their context is not aiohttp's error.
        try:
            async with (
                asyncio.timeout(self.limits.timeout_s),
                self._session.request(method, url, json=body, allow_redirects=False) as response,
            ):
                content = await _content(response)
        except aiohttp.ClientSSLError:
            error = http_errors.untrusted_certificate(self.address.authority)
        except (aiohttp.ClientConnectorError, aiohttp.ConnectionTimeoutError):
            error = http_errors.unreachable(self.address.authority)
        except TimeoutError:
            error = http_errors.timed_out(self.limits.timeout_s)
        except (aiohttp.ClientError, OSError):
            error = http_errors.connection_lost()
        else:
            return self._json_object(response, content)
        raise error

    def _json_object(self, response: aiohttp.ClientResponse, content: bytes) -> JsonObject:
        if not 200 <= response.status < 300:
            wait_s = retry_after_s(response.headers.get("Retry-After", ""))
            raise http_errors.status_error(response.status, self._error_detail(content), wait_s)
        data = _parse_json(content)
        if not isinstance(data, dict):
            raise http_errors.malformed_response()
        return data

    def _error_detail(self, content: bytes) -> str:
        """Return the server's error message, shortened and with any API key redacted."""
        detail = _error_message(_parse_json(content))
        if self.api_key:
            detail = detail.replace(self.api_key, "…")
        return " ".join(detail.split())[:300].rstrip(".")


class MalformedResponse(ValueError):
    """A response that lacks a required field, or has one of the wrong type."""


def _is_worth_retrying(error: BaseException) -> bool:
    return (
        isinstance(error, GatewayError) and error.is_retryable and error.retry_after_s <= MAX_WAIT_S
    )


@cache
def _ssl_context() -> SSLContext:
    """Return the SSL context, cached because loading root certificates is slower than a request."""
    return create_default_context()


def _read(data: JsonObject, reader: Reader[T]) -> T:
    try:
        return reader(data)
    except MalformedResponse:
        error = http_errors.malformed_response()
    raise error


async def _content(response: aiohttp.ClientResponse) -> bytes:
    """Return the whole body, or raise if it is longer than `MAX_RESPONSE_BYTES`."""
    content = bytearray()
    async for chunk in response.content.iter_any():
        content += chunk
        if len(content) > MAX_RESPONSE_BYTES:
            raise http_errors.malformed_response()
    return bytes(content)


def _parse_json(content: bytes) -> object:
    """Return the JSON value, or None if it is invalid.

    NUL is left out and lone surrogates are replaced, because databases cannot store them.
    """
    try:
        text = content.decode(json.detect_encoding(content), "surrogatepass")
        data: object = json.loads(NUL.sub(r"\1", text))
        if "\\ud" in text.lower():
            data = json.loads(json.dumps(data, ensure_ascii=False).encode(errors="replace"))
    except (ValueError, RecursionError):
        return None
    return data


def _error_message(data: object) -> str:
    """Return the message of an error in OpenAI's or FastAPI's format, or "" for other formats."""
    if not isinstance(data, dict):
        return ""
    error = data.get("error", data)
    message = error.get("message", error.get("detail", "")) if isinstance(error, dict) else error
    return message if isinstance(message, str) else ""
