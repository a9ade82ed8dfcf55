"""Simulated annotators over HTTP, each with a thread, a connection and cookies."""

import http.client
import random
import re
import threading
import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from urllib.parse import urlencode

HIDDEN = re.compile(r'<input type="hidden" name="(\w+)" value="([^"]*)"')
CHOICE = re.compile(r'<input type="radio" name="([^"]+)" value="([^"]*)"')
TIMEOUT = 30
REDIRECTS = (301, 302, 303)
AGREE = 'value="agree"'


@dataclass
class Record:
    """Response times in seconds, errors and answers of all annotators, appended by threads."""

    saves: list[float] = field(default_factory=list)
    nexts: list[float] = field(default_factory=list)
    errors: list[str] = field(default_factory=list)
    acknowledged: list[tuple[str, str]] = field(default_factory=list)
    endings: list[str] = field(default_factory=list)
    times: list[float] = field(
        default_factory=list
    )  # when answers were stored, if somebody notes it
    requests: int = 0

    def add(self, other: "Record") -> None:
        """Add the records of another run."""
        for name in ("saves", "nexts", "errors", "acknowledged", "endings"):
            getattr(self, name).extend(getattr(other, name))
        self.requests += other.requests

    def percentile(self, which: str, share: float) -> float:
        times = sorted(getattr(self, which))
        return times[min(int(share * len(times)), len(times) - 1)] if times else float("nan")


class Browser:
    """A connection with cookies. After a failure, the next request goes to the next web server."""

    def __init__(self, servers: Sequence[str], record: Record, timeout: float = TIMEOUT) -> None:
        self.servers, self.record, self.timeout = list(servers), record, timeout
        self.cookies: dict[str, str] = {}
        self.connection: http.client.HTTPConnection | None = None

    def ask(
        self, method: str, path: str, data: dict[str, str] | str | None = None, **headers: str
    ) -> tuple[int, str]:
        """Return the status and body of the response; the status is 0 if there is no response."""
        self.record.requests += 1
        if self.connection is None:
            self.connection = http.client.HTTPConnection(self.servers[0], timeout=self.timeout)
        sent = {"Cookie": "; ".join(f"{k}={v}" for k, v in self.cookies.items()), **headers}
        body = urlencode(data) if isinstance(data, dict) else data
        if isinstance(data, dict):
            sent["Content-Type"] = "application/x-www-form-urlencoded"
        try:
            self.connection.request(method, path, body, sent)
            response = self.connection.getresponse()
            text = response.read().decode()
        except (OSError, http.client.HTTPException):
            self.move()
            return 0, ""
        for cookie in response.headers.get_all("Set-Cookie") or ():
            name, _, value = cookie.split(";")[0].partition("=")
            self.cookies[name] = value
        if method == "GET" and response.status in REDIRECTS:
            return self.ask("GET", response.headers["Location"], **headers)
        return response.status, text

    def move(self) -> None:
        """Close the connection, and turn to the next server."""
        if self.connection is not None:
            self.connection.close()
        self.connection = None
        self.servers.append(self.servers.pop(0))


@dataclass(frozen=True)
class Habits:
    """The behaviour of the annotators of a run."""

    pause: float = 0.0  # seconds between answers
    abandons: float = 0.0  # share of pages on which an annotator leaves for good
    look_for_s: float = 0.0  # seconds to look for more work after it has run out
    retries: bool = False  # whether failed requests are retried, as the page does
    timeout: float = TIMEOUT  # seconds to wait for a response


class Annotator(threading.Thread):
    """Enters the study, answers until no work is left, and may re-enter as another person."""

    def __init__(
        self,
        servers: Sequence[str],
        study: str,
        *,
        habits: Habits,
        record: Record,
        seed: int,
        stop: threading.Event,
        entrance: str = "",
    ) -> None:
        super().__init__(daemon=True)
        self.servers, self.study, self.habits, self.record = servers, study, habits, record
        self.entrance = entrance or f"/s/{study}/"
        self.rng, self.stop = random.Random(seed), stop

    def run(self) -> None:
        idle_since: float | None = None
        # Annotators start at different times, as people do.
        self.stop.wait(self.rng.random() * self.habits.pause)
        self._enter()
        while not self.stop.is_set():
            page = self._next()
            if page is None:
                idle_since = idle_since or time.monotonic()
                if time.monotonic() - idle_since > self.habits.look_for_s:
                    return
                self.stop.wait(1)
                self._look_again()
                continue
            idle_since = None
            if self.rng.random() < self.habits.abandons:
                self._enter()
                continue
            self._answer(page)
            if self.habits.pause:
                self.stop.wait(self.habits.pause)

    def _enter(self) -> None:
        self.browser = Browser(self.servers, self.record, self.habits.timeout)
        page = self._sure(lambda: self.browser.ask("GET", self.entrance))
        fields = dict(HIDDEN.findall(page))
        agreed = {**fields, "choice": "agree"}
        welcome = f"/s/{self.study}/"
        self._sure(lambda: self.browser.ask("POST", welcome, agreed), {303, 302})
        token = {"csrfmiddlewaretoken": fields.get("csrfmiddlewaretoken", "")}
        guidelines = f"/rate/{self.study}/guidelines/"
        self._sure(lambda: self.browser.ask("POST", guidelines, token), {303})

    def _next(self) -> str | None:
        start = time.perf_counter()
        page = self._sure(lambda: self.browser.ask("GET", f"/rate/{self.study}/"))
        if 'name="assignment"' in page:
            self.record.nexts.append(time.perf_counter() - start)
            return page
        if AGREE in page:  # the server does not know this participation any more
            self._enter()
        self.record.endings.append(page)
        self._token = dict(HIDDEN.findall(page)).get("csrfmiddlewaretoken", "")
        return None

    def _look_again(self) -> None:
        if self._token:
            data, path = {"csrfmiddlewaretoken": self._token}, f"/rate/{self.study}/again/"
            self._sure(lambda: self.browser.ask("POST", path, data), {303})

    def _answer(self, page: str) -> None:
        self._send(self._chosen(page))

    def _chosen(self, page: str) -> dict[str, str]:
        """Return the fields of the form with an answer to each question, drawn at random."""
        choices: dict[str, list[str]] = {}
        for name, value in CHOICE.findall(page):
            choices.setdefault(name, []).append(value)
        chosen = {name: self.rng.choice(values) for name, values in choices.items()}
        return dict(HIDDEN.findall(page)) | chosen

    def _send(self, fields: dict[str, str]) -> None:
        start = time.perf_counter()
        path, headers = f"/rate/{self.study}/answer/", {"HX-Request": "true"}
        if self._sure(lambda: self.browser.ask("POST", path, fields, **headers)):
            self.record.saves.append(time.perf_counter() - start)
            self.record.acknowledged.append((fields["assignment"], fields["position"]))

    def _sure(self, ask: Callable[[], tuple[int, str]], wanted: set[int] | None = None) -> str:
        """Return the body of an expected response, or ""; record others, and retry as the page does."""
        while True:
            status, body = ask()
            if status in (wanted or {200}):
                return body
            self.record.errors.append(f"{status} {body[:200]}")
            is_final = 0 < status < 500 and status != 429
            if is_final or not self.habits.retries or self.stop.is_set():
                return ""
            self.stop.wait(0.2 + self.rng.random() / 2)


def crowd(
    port: int, study: str, annotators: int, habits: Habits, *, max_seconds: float
) -> tuple[Record, float]:
    """Run annotators until no work or time is left, and return their record and the seconds."""
    record, stop = Record(), threading.Event()
    threads = [
        Annotator([f"127.0.0.1:{port}"], study, habits=habits, record=record, seed=seed, stop=stop)
        for seed in range(annotators)
    ]
    start = time.monotonic()
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join(max(0.1, start + max_seconds - time.monotonic()))
    stop.set()
    for thread in threads:
        thread.join(60)
    return record, time.monotonic() - start
