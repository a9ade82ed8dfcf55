"""Programs that take a study through the annotators' own pages, and say that they are programs."""

import random
from collections.abc import Sequence
from dataclasses import dataclass, field
from html.parser import HTMLParser

from django.test import Client
from django.urls import reverse

from annotation.models import Participation
from metrics.similarity import similarity
from studies.errors import DomainError
from studies.models import Study

MAX_PAGES = 100_000


@dataclass(frozen=True)
class Bot:
    """How a program rates.

    It prefers the text closer to the source (without one, the longer): with probability
    `accuracy` it says so, else the opposite. Texts nearer to one another than `indifference` are
    a tie where the scale has one. With probability `position_bias` it takes what is shown first
    without reading. It leaves after `hits` HITs, and each page with probability `drop_out`.
    """

    name: str
    accuracy: float = 0.8
    position_bias: float = 0.0
    indifference: float = 0.02
    drop_out: float = 0.0
    hits: int | None = None


def simulate_raters(*, study: Study, bots: Sequence[Bot], seed: int = 0) -> int:
    """Let each bot work until there is nothing left for it. Returns how many answers were given.

    The study must be open. Every rating is marked simulated.
    """
    if study.status != Study.Status.OPEN:
        raise DomainError("study_not_open", "Open the study first: bots come in by its link.")
    return sum(_Visit(study, bot, random.Random(f"{seed}:{bot.name}")).work() for bot in bots)


class _Visit:
    """One bot's browser: it fetches pages, reads them and posts their forms."""

    def __init__(self, study: Study, bot: Bot, rng: random.Random) -> None:
        self.study, self.bot, self.rng = study, bot, rng
        self.browser = Client(HTTP_HOST="localhost", raise_request_exception=True)
        self.here = reverse("annotation:rate", args=[study.pk])
        self.closeness = similarity("rouge1")

    def work(self) -> int:
        self._enter()
        answers, met = 0, set()
        for _ in range(MAX_PAGES):
            page = self._fetch(self.here)
            if "assignment" not in page.fields or self.rng.random() < self.bot.drop_out:
                return answers
            met.add(page.fields["assignment"])
            if self.bot.hits is not None and len(met) > self.bot.hits:
                return answers
            self._answer(page)
            answers += 1
        return answers

    def _enter(self) -> None:
        welcome = reverse("annotation:welcome", args=[self.study.pk])
        version = self._fetch(welcome).fields.get("version", "")
        self.browser.post(welcome, {"choice": "agree", "version": version})
        cookie = self.browser.cookies[f"part-{self.study.pk}"].value
        Participation.objects.filter(public_id=cookie.split(":")[0]).update(simulated=True)
        guidelines = reverse("annotation:guidelines", args=[self.study.pk])
        self.browser.post(guidelines, {})

    def _fetch(self, address: str) -> "_Page":
        page = _Page()
        page.feed(self.browser.get(address).content.decode())
        return page

    def _answer(self, page: "_Page") -> None:
        hidden = {n: page.fields[n] for n in ("assignment", "position", "client_key")}
        chosen = {name: self._choose(values, page) for name, values in page.choices.items()}
        duration = str(self.rng.randrange(2_000, 20_000))
        address = reverse("annotation:answer", args=[self.study.pk])
        answer = self.browser.post(address, {**hidden, **chosen, "duration_ms": duration})
        if answer.status_code >= 400:
            raise DomainError("refused", f"{self.bot.name} was refused: {answer.content.decode()}")

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
class _Page(HTMLParser):
    """What a bot sees of a page: hidden fields, choices per question, source and texts."""

    fields: dict[str, str] = field(default_factory=dict)
    choices: dict[str, list[str]] = field(default_factory=dict)
    source: str = ""
    texts: list[str] = field(default_factory=list)

    def __post_init__(self) -> None:
        super().__init__(convert_charrefs=True)
        self._reading = ""
        self._section = ""

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        given = {name: value or "" for name, value in attrs}
        classes = given.get("class", "").split()
        if tag == "input":
            self._input(given)
        elif tag == "section":
            self._section = classes[0] if classes else ""
        elif tag == "p" and "text" in classes:
            self._reading = "source" if self._section == "source" else "text"
            if self._reading == "text":
                self.texts.append("")

    def _input(self, given: dict[str, str]) -> None:
        if given.get("type") == "hidden":
            self.fields[given.get("name", "")] = given.get("value", "")
        elif given.get("type") == "radio":
            self.choices.setdefault(given.get("name", ""), []).append(given.get("value", ""))

    def handle_endtag(self, tag: str) -> None:
        if tag == "p":
            self._reading = ""

    def handle_data(self, data: str) -> None:
        if self._reading == "source":
            self.source += data
        elif self._reading == "text":
            self.texts[-1] += data
