"""Programs that take a study through the annotators' own pages over HTTP, and say what they are."""

import random
from collections.abc import Iterator, Sequence
from contextlib import contextmanager, nullcontext
from dataclasses import dataclass, field
from html.parser import HTMLParser
from math import exp
from time import sleep
from urllib.parse import urljoin, urlsplit

import httpx
from django.conf import settings
from django.core.signals import request_finished, request_started
from django.core.signing import BadSignature, Signer
from django.core.wsgi import get_wsgi_application
from django.db import close_old_connections
from django.http import HttpRequest
from django.urls import reverse

from metrics.similarity import similarity
from studies.errors import DomainError
from studies.models import Study

MAX_PAGES = 100_000
HEADER = "X-Tiebreak-Simulated"
# How much the seconds on a unit vary, as the deviation of their logarithm.
SPREAD = 0.5
# Who does not read answers in this share of the time.
HASTE = 0.05


@dataclass(frozen=True)
class Bot:
    """How a program rates.

    It prefers the text closer to the source (without one, the longer): with probability
    `accuracy` it says so, else the opposite. Texts nearer to one another than `indifference` are
    a tie where the scale has one. With probability `position_bias` it takes what is shown first
    without reading, with probability `malice` anything at all, in a twentieth of the time.
    `seconds` is the median it spends on a unit. It leaves after `hits` HITs, and on each page
    with probability `drop_out`.
    """

    name: str
    accuracy: float = 0.8
    position_bias: float = 0.0
    indifference: float = 0.02
    drop_out: float = 0.0
    malice: float = 0.0
    seconds: float = 8.0
    hits: int | None = None


def simulate_raters(
    *,
    study: Study,
    bots: Sequence[Bot],
    seed: int = 0,
    url: str | None = None,
    in_real_time: bool = False,
) -> int:
    """Let each bot work until there is nothing left for it. Returns how many answers were given.

    Without ``url``, the origin of a running server, the pages are served by this process itself.
    The study must be open. Every rating is marked simulated: the bots say so under a signature
    that only who has this server's secret key can write.
    """
    if study.status != Study.Status.OPEN:
        raise DomainError("study_not_open", "Open the study first: bots come in by its link.")
    with nullcontext() if url else _one_connection():
        return sum(
            _Visit(study, bot, random.Random(f"{seed}:{bot.name}"), url, in_real_time).work()
            for bot in bots
        )


@contextmanager
def _one_connection() -> Iterator[None]:
    """Pages that this process serves to itself stay on its connection and in its transaction."""
    for signal in (request_started, request_finished):
        signal.disconnect(close_old_connections)
    try:
        yield
    finally:
        for signal in (request_started, request_finished):
            signal.connect(close_old_connections)


def is_simulated(request: HttpRequest, study_id: str) -> bool:
    """Whether who asks says that it is a program, and proves that it comes from here."""
    word = request.headers.get(HEADER, "")
    try:
        return bool(word) and _signer().unsign(word) == study_id
    except BadSignature:
        return False


def _signer() -> Signer:
    return Signer(salt="annotation.simulated")


def _client(study: Study, url: str | None) -> httpx.Client:
    headers = {HEADER: _signer().sign(study.pk)}
    if url is None:
        host = next((name for name in settings.ALLOWED_HOSTS if name[0] not in ".*"), "localhost")
        scheme = "https" if settings.SESSION_COOKIE_SECURE else "http"
        transport = httpx.WSGITransport(app=get_wsgi_application())
        url = f"{scheme}://{host}"
        return httpx.Client(transport=transport, base_url=url, headers={**headers, "Referer": url})
    return httpx.Client(base_url=url, headers={**headers, "Referer": url}, timeout=30)


class _Visit:
    """One bot's browser: it fetches pages, reads them and sends their forms."""

    def __init__(
        self, study: Study, bot: Bot, rng: random.Random, url: str | None, in_real_time: bool
    ) -> None:
        self.study, self.bot, self.rng, self.in_real_time = study, bot, rng, in_real_time
        self.browser = _client(study, url)
        self.closeness = similarity("rouge1")

    def work(self) -> int:
        with self.browser:
            return self._work()

    def _work(self) -> int:
        answers, met = 0, set()
        page = self._send(reverse("annotation:welcome", args=[self.study.pk]), None)
        for _ in range(MAX_PAGES):
            form = page.form
            if form is None or page.is_the_end:
                return answers
            if "assignment" in form.fields:
                met.add(form.fields["assignment"])
                is_enough = self.bot.hits is not None and len(met) > self.bot.hits
                if is_enough or self.rng.random() < self.bot.drop_out:
                    return answers
                answers += 1
            page = self._send(page.action, self._filled(form, page))
        return answers

    def _send(self, address: str, data: dict[str, str] | None) -> "_Page":
        """Get, or post where there is something to send; the page that follows."""
        answer = self.browser.get(address) if data is None else self._post(address, data)
        while answer.is_redirect:
            answer = self.browser.get(answer.headers["Location"])
        page = _Page(address=str(answer.url))
        page.feed(answer.text)
        if answer.is_error:
            raise DomainError("refused", f"{self.bot.name} was refused: {answer.text[:500]}")
        return page

    def _post(self, address: str, data: dict[str, str]) -> httpx.Response:
        return self.browser.post(address, data=data)

    def _filled(self, form: "_Form", page: "_Page") -> dict[str, str]:
        if "assignment" not in form.fields:
            chosen = {name: self.rng.choice(values) for name, values in form.choices.items()}
            return {**form.fields, **form.buttons, **chosen}
        is_malicious = self.rng.random() < self.bot.malice
        seconds = self.bot.seconds * exp(self.rng.gauss(0, SPREAD)) * (HASTE if is_malicious else 1)
        if self.in_real_time:
            sleep(seconds)
        chosen = {
            name: self.rng.choice(values) if is_malicious else self._choose(values, page)
            for name, values in form.choices.items()
        }
        return {**form.fields, **chosen, "duration_ms": str(round(1000 * seconds))}

    def _choose(self, values: list[str], page: "_Page") -> str:
        numbers = sorted(int(v) for v in values if v.lstrip("-").isdecimal())
        if len(page.texts) < 2 or not numbers:
            return self.rng.choice(values)
        first, second = numbers[0], numbers[-1]
        if self.rng.random() < self.bot.position_bias:
            return str(first)
        lead = self._worth(page.texts[1], page.source) - self._worth(page.texts[0], page.source)
        if abs(lead) < self.bot.indifference and 0 in numbers:
            return "0"
        better, worse = (second, first) if lead > 0 else (first, second)
        return str(better if self.rng.random() < self.bot.accuracy else worse)

    def _worth(self, text: str, source: str) -> float:
        return self.closeness(text, source) if source else len(text) / 1000


@dataclass
class _Form:
    """Where a form goes, what it sends without being asked, and the choices of each question."""

    action: str
    fields: dict[str, str] = field(default_factory=dict)
    choices: dict[str, list[str]] = field(default_factory=dict)
    # The first button of a form, if it says something.
    buttons: dict[str, str] = field(default_factory=dict)


@dataclass
class _Page(HTMLParser):
    """What a bot sees of a page: its forms, source and texts."""

    address: str
    forms: list[_Form] = field(default_factory=list)
    source: str = ""
    texts: list[str] = field(default_factory=list)

    def __post_init__(self) -> None:
        super().__init__(convert_charrefs=True)
        self._reading = ""
        self._section = ""

    @property
    def form(self) -> _Form | None:
        return next(iter(self.forms), None)

    @property
    def action(self) -> str:
        assert self.form is not None
        return urljoin(self.address, self.form.action)

    @property
    def is_the_end(self) -> bool:
        """Only forms that look for more, or leave for the platform, are on the last page."""
        path = urlsplit(self.action).path
        return path.endswith(("/again/", "/externalSubmit"))

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        given = {name: value or "" for name, value in attrs}
        classes = given.get("class", "").split()
        if tag == "form":
            self.forms.append(_Form(given.get("action", "")))
        elif tag in {"input", "button"} and self.forms:
            self._field(tag, given)
        elif tag == "section":
            self._section = classes[0] if classes else ""
        elif tag == "p" and "text" in classes:
            self._reading = "source" if self._section == "source" else "text"
            if self._reading == "text":
                self.texts.append("")

    def _field(self, tag: str, given: dict[str, str]) -> None:
        form, name = self.forms[-1], given.get("name", "")
        if tag == "button":
            if name and not form.buttons:
                form.buttons[name] = given.get("value", "")
        elif given.get("type") == "hidden":
            form.fields[name] = given.get("value", "")
        elif given.get("type") == "radio":
            form.choices.setdefault(name, []).append(given.get("value", ""))

    def handle_endtag(self, tag: str) -> None:
        if tag == "p":
            self._reading = ""

    def handle_data(self, data: str) -> None:
        if self._reading == "source":
            self.source += data
        elif self._reading == "text":
            self.texts[-1] += data
