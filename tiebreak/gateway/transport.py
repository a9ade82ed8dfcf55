"""One server over HTTP: where requests may go, how often they are made, and what went wrong.

The key goes to aiohttp and stands in no message and no repr, and none of its errors is chained to
ours, because those carry the request. httpx takes some three times the processor time for a request,
which a server on the same machine lacks.
"""

import asyncio
import json
from collections.abc import Callable, Collection, Mapping
from dataclasses import dataclass, field
from functools import cache
from itertools import count
from random import Random
from ssl import SSLContext, create_default_context
from typing import Any, TypeVar

import aiohttp
import httpx

from tiebreak.gateway.protocol import GatewayError
from tiebreak.gateway.retry_after import retry_after_s

T = TypeVar("T")
Data = dict[str, Any]
Reader = Callable[[Data], T]

# Whoever is told to wait longer is not kept: the request fails, and may be tried later.
LONGEST_PAUSE_S = 60.0
LARGEST_ANSWER_BYTES = 64 * 2**20
DEFAULT_PORTS = {"http": 80, "https": 443}
LATER = " Please try again in some minutes."
# After these the same would be said to every other request.
STOPPING = frozenset({"refused_key", "forbidden", "unknown_model", "moved", "other_model"})


@dataclass(frozen=True)
class Limits:
    """How a server is asked; times in seconds, `patience` in failed requests one after another."""

    concurrency: int
    timeout_s: float
    connect_timeout_s: float
    attempts: int
    first_pause_s: float
    patience: int


@dataclass(frozen=True)
class Address:
    """A checked address: `root` without, and `api` with the path under which the API lies."""

    root: str
    api: str
    host: str


def checked_address(base_url: str, allowed_hosts: Collection[str]) -> Address:
    """The address, if its ``host:port`` is on the list letter by letter.

    Parameters
    ----------
    base_url : str
        ``http`` or ``https``; the path is that of the API, ``/v1`` where none is given.
    allowed_hosts : collection of str
        Each as ``host:port``, the port written out.

    Raises
    ------
    GatewayError
        ``bad_settings`` for what is no such address, ``host_not_allowed``.
    """
    try:
        url = httpx.URL(base_url)
    except (httpx.InvalidURL, TypeError):
        raise _bad_address() from None
    if url.scheme not in DEFAULT_PORTS or not url.host or url.userinfo or url.query or url.fragment:
        raise _bad_address()
    host = f"[{url.host}]" if ":" in url.host else url.host
    place = f"{host}:{url.port or DEFAULT_PORTS[url.scheme]}"
    if place not in {one.casefold() for one in allowed_hosts}:
        raise GatewayError(
            "host_not_allowed",
            f"Model servers at {place} are not allowed here. If this one is right, please have"
            f" “{place}” added to the allowed hosts in the settings.",
        )
    api = (url.path.rstrip("/") or "/v1").removesuffix("/")
    root = f"{url.scheme}://{place}"
    return Address(root + api.removesuffix("/v1"), root + api, place)


def _bad_address() -> GatewayError:
    return GatewayError(
        "bad_settings",
        "The address of a model server looks like http://host:8000/v1, with no name, password,"
        " question mark or # in it: please correct it in the settings.",
    )


@dataclass
class Connection:
    """What is open to one server while a batch of requests is made.

    Entered, it has a client; `stopped_by` is the error after which nothing more is sent.
    """

    address: Address
    limits: Limits
    api_key: str = field(repr=False)
    stopped_by: GatewayError | None = None

    async def __aenter__(self) -> "Connection":
        limits = self.limits
        key = {"Authorization": f"Bearer {self.api_key}"} if self.api_key else {}
        self._client = aiohttp.ClientSession(
            headers={"Accept": "application/json", "Accept-Encoding": "identity", **key},
            # The whole attempt has its time in `_send`.
            timeout=aiohttp.ClientTimeout(total=None, sock_connect=limits.connect_timeout_s),
            connector=aiohttp.TCPConnector(limit=limits.concurrency, ssl=_certificates()),
            cookie_jar=aiohttp.DummyCookieJar(),
            trust_env=False,
        )
        self._places = asyncio.Semaphore(limits.concurrency)
        self._is_stopped = asyncio.Event()
        self._failures = 0
        self._resting_until = 0.0
        # Apart from every other process that was told to wait at the same moment.
        self._random = Random()
        return self

    async def __aexit__(self, *_: object) -> None:
        await self._client.close()

    async def post(self, path: str, body: Mapping[str, object], reader: Reader[T]) -> T:
        """What is read from the answer under the API's path, asked for as often as may help.

        `reader` raises `GatewayError`, or `Unreadable` where the answer lacks what it must have.
        """
        return await self._ask("POST", self.address.api + path, body, reader)

    async def post_root(self, path: str, body: Mapping[str, object], reader: Reader[T]) -> T:
        """The same beside the API's path, where vLLM has what OpenAI has not."""
        return await self._ask("POST", self.address.root + path, body, reader)

    async def get(self, path: str, reader: Reader[T]) -> T:
        return await self._ask("GET", self.address.api + path, None, reader)

    def note_failure(self, error: GatewayError) -> None:
        """Stop after an error that all others would get, or after too many one after another."""
        self._failures += not error.is_own_fault
        if error.code in STOPPING or self._failures >= self.limits.patience:
            self.stop(error)

    def stop(self, error: GatewayError) -> None:
        """Send nothing more; what waits ends at once."""
        self.stopped_by = self.stopped_by or error
        self._is_stopped.set()

    def note_success(self) -> None:
        self._failures = 0

    async def _ask(
        self, method: str, url: str, body: Mapping[str, object] | None, reader: Reader[T]
    ) -> T:
        for attempt in count(1):
            try:
                return _read(await self._attempt(method, url, body), reader)
            except _Refusal as refusal:
                failure = refusal
            if failure.is_final or attempt >= self.limits.attempts:
                raise failure.error
            self._rest(failure.retry_after_s)
            await self._pause(self._backoff_s(attempt))
        raise AssertionError

    def _rest(self, asked_s: float) -> None:
        """What one request is told holds for all: nothing is sent until then."""
        until = asyncio.get_running_loop().time() + asked_s
        self._resting_until = max(self._resting_until, until)

    def _backoff_s(self, attempt: int) -> float:
        """Twice as long each time, and somewhere in the upper half of it."""
        longest = min(LONGEST_PAUSE_S, self.limits.first_pause_s * 2.0 ** (attempt - 1))
        return longest * self._random.uniform(0.5, 1)

    async def _pause(self, seconds: float) -> None:
        """Wait, or until nothing more is to be sent."""
        try:
            async with asyncio.timeout(seconds):
                await self._is_stopped.wait()
        except TimeoutError:
            return

    async def _attempt(self, method: str, url: str, body: Mapping[str, object] | None) -> Data:
        """One request, when there is a place for it and nobody was asked to wait."""
        async with self._places:
            rest_s = self._resting_until - asyncio.get_running_loop().time()
            if rest_s > 0:
                await self._pause(rest_s)
            if self.stopped_by is not None:
                raise _Refusal(self.stopped_by.again(), is_final=True)
            return await self._send(method, url, body)

    async def _send(self, method: str, url: str, body: Mapping[str, object] | None) -> Data:
        try:
            async with (
                asyncio.timeout(self.limits.timeout_s),
                self._client.request(method, url, json=body, allow_redirects=False) as response,
            ):
                content = await _content(response)
        except aiohttp.ClientSSLError:
            failure = _Refusal(_untrusted(self.address.host))
        except (aiohttp.ClientConnectorError, aiohttp.ConnectionTimeoutError):
            failure = _Refusal(_unreachable(self.address.host))
        except TimeoutError:
            failure = _Refusal(_too_slow(self.limits.timeout_s))
        except (aiohttp.ClientError, OSError):
            failure = _Refusal(_broken_off())
        else:
            return self._data(response, content)
        raise failure

    def _data(self, response: aiohttp.ClientResponse, content: bytes) -> Data:
        if not 200 <= response.status < 300:
            error = _failure(response.status, self._quote(content))
            raise _Refusal(error, retry_after_s(response.headers.get("Retry-After", "")))
        data = _parsed(content)
        if not isinstance(data, dict):
            raise _Refusal(_nonsense())
        return data

    def _quote(self, content: bytes) -> str:
        """What the server says is wrong, without the key that it may repeat."""
        said = _detail(_parsed(content))
        if self.api_key:
            said = said.replace(self.api_key, "…")
        return " ".join(said.split())[:300].rstrip(".")


@cache
def _certificates() -> SSLContext:
    """Reading the authorities' certificates takes longer than many an answer."""
    return create_default_context()


class Unreadable(ValueError):
    """An answer without what it must have."""


class _Refusal(Exception):
    """An attempt came to nothing, how long the server asks to wait, and whether it is the last."""

    def __init__(
        self, error: GatewayError, retry_after_s: float = 0.0, *, is_final: bool = False
    ) -> None:
        super().__init__()
        self.error = error
        self.retry_after_s = retry_after_s
        self.is_final = is_final or not error.is_retryable or retry_after_s > LONGEST_PAUSE_S


def _read(data: Data, reader: Reader[T]) -> T:
    try:
        return reader(data)
    except Unreadable:
        error = _nonsense()
    except GatewayError as own:
        error = own
    raise _Refusal(error)


async def _content(response: aiohttp.ClientResponse) -> bytes:
    """The whole body, unless it is larger than any answer can be."""
    content = bytearray()
    async for chunk in response.content.iter_any():
        content += chunk
        if len(content) > LARGEST_ANSWER_BYTES:
            raise _Refusal(_nonsense())
    return bytes(content)


def _parsed(content: bytes) -> object:
    """JSON, with a replacement for what is half a character and could not be stored."""
    try:
        data: object = json.loads(content)
        if b"\\ud" in content.lower():
            data = json.loads(json.dumps(data, ensure_ascii=False).encode(errors="replace"))
    except (ValueError, RecursionError):
        return None
    return data


def _detail(data: object) -> str:
    """The sentence in OpenAI's error shape, or in FastAPI's."""
    if not isinstance(data, dict):
        return ""
    error = data.get("error", data)
    said = error.get("message", error.get("detail", "")) if isinstance(error, dict) else error
    return said if isinstance(said, str) else ""


def _failure(status: int, said: str) -> GatewayError:
    if status in REFUSALS:
        return GatewayError(*REFUSALS[status])
    if status in (408, 425, 429, 503):
        return GatewayError("busy", "The model server asks us to wait." + LATER, is_retryable=True)
    if status >= 500:
        sentence = f"The model server has a fault of its own (HTTP {status})." + LATER
        return GatewayError("broken", sentence, is_retryable=status != 501)
    if 300 <= status < 400:
        return GatewayError(*MOVED)
    quoted = f": {said}" if said else ""
    return GatewayError(
        "refused",
        f"The model server refused the request (HTTP {status}){quoted}. Please correct what was"
        " asked and try again.",
    )


REFUSALS = {
    401: (
        "refused_key",
        "The model server does not accept the key: please enter the right one in the settings.",
    ),
    403: (
        "forbidden",
        "The model server does not allow this with this key: please look at its rights there.",
    ),
    404: (
        "unknown_model",
        "The model server does not know this model or this address: please compare both with what"
        " it serves.",
    ),
}
MOVED = (
    "moved",
    "The model server sent the request elsewhere, where it does not go: please enter the server's"
    " own address in the settings.",
)


def _unreachable(host: str) -> GatewayError:
    return GatewayError(
        "unreachable",
        f"The model server at {host} cannot be reached. Please look whether it is running.",
        is_retryable=True,
    )


def _untrusted(host: str) -> GatewayError:
    return GatewayError(
        "bad_settings",
        f"The certificate of the model server at {host} is not one to trust. Please correct the"
        " address, or have the server's authority added to this machine's.",
    )


def _too_slow(timeout_s: float) -> GatewayError:
    return GatewayError(
        "too_slow",
        f"The model server did not answer within {timeout_s:g} seconds. Please try again, ask for"
        " fewer or shorter texts, or allow more time.",
        is_retryable=True,
    )


def _broken_off() -> GatewayError:
    return GatewayError(
        "incomplete", "The model server broke off in mid-answer." + LATER, is_retryable=True
    )


def _nonsense() -> GatewayError:
    return GatewayError(
        "nonsense",
        "The model server answered with something that cannot be read. Please check that its"
        " address is that of an OpenAI-compatible server.",
        is_retryable=True,
    )
