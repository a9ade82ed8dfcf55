"""Bots that take part in a study through the annotators' pages, as people do."""

import random
from collections import Counter
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass, field
from itertools import count
from math import exp
from time import sleep
from urllib.parse import urljoin, urlsplit

import httpx
from lxml.html import submit_form

from recruitment.simulation.bot_pages import Field, Page
from tiebreak.similarity import similarity

MAX_PAGES = 100_000
# After this many views of the same page, the bot is stuck.
MAX_SAME_PAGE = 30
MAX_REDIRECTS = 10
# Standard deviation of the logarithm of the seconds on a unit.
LOG_SECONDS_SD = 0.5
# Share of the usual time that a bot takes when it answers without reading.
UNREAD_TIME_SHARE = 0.05
# Share of the answers that are no label, where the study allows them.
NONRESPONSE_SHARE = 0.05
REASON = "I compared the text with its source. "


@dataclass(frozen=True)
class Bot:
    """How a bot rates.

    It prefers the text closer to the source (without a source, the longer text) with probability
    `accuracy`, and the other one otherwise. Texts whose closeness differs by less than
    `indifference` are a tie where the scale has one. With probability `position_bias` it chooses
    the text shown first, and with probability `malice` a random answer in a twentieth of the time.
    `seconds` is the median time on a unit, and `comments` the share of units on which it comments.
    It leaves after `hits` HITs, and on each page with probability `drop_out`.
    """

    name: str
    accuracy: float = 0.8
    position_bias: float = 0.0
    indifference: float = 0.02
    drop_out: float = 0.0
    malice: float = 0.0
    seconds: float = 8.0
    hits: int | None = None
    comments: float = 0.0


@dataclass
class Visit:
    """What happened to one bot: pages by name, answers, refusals, and where and why it ended."""

    bot: str
    answers: int = 0
    seconds: float = 0.0
    pages: Counter[str] = field(default_factory=Counter)
    refusals: list[str] = field(default_factory=list)
    # Name and message of the last page.
    ending: str = ""
    sentence: str = ""
    # Why the bot could not go on; empty if it left by itself or came to an end of the study.
    problem: str = ""


# Known answers, by the question and the texts in the order shown; see `known_by`.
Known = Mapping[tuple[str, ...], str]


def known_by(question: str, texts: Iterable[str] = ()) -> tuple[str, ...]:
    """Return the key of a known answer. Whitespace is normalised, because pages may change it."""
    return tuple(" ".join(words.split()) for words in (question, *texts))


class Walk:
    """One bot's visit: opens the entry link, then takes the primary action of each page."""

    def __init__(
        self,
        *,
        bot: Bot,
        entry: str,
        browser: httpx.Client,
        rng: random.Random,
        in_real_time: bool = False,
        known: Known | None = None,
    ) -> None:
        self.bot, self.entry, self.browser, self.rng = bot, entry, browser, rng
        self.in_real_time, self.known = in_real_time, known or {}
        self.closeness = similarity("rouge1")
        self.visit = Visit(bot.name)
        self._seen: Counter[str] = Counter()
        self._hits: set[str] = set()

    def finish(self) -> Visit:
        """Walk through all remaining pages and return what happened."""
        for _ in self.pages():
            pass
        return self.visit

    def pages(self) -> Iterator[Page]:
        """Yield the pages in order; the bot acts on a page when the next one is requested."""
        with self.browser:
            page = self._get(self.entry)
            for number in count(1):
                self._note(page)
                yield page
                if page.step is None or self.visit.problem or self._leaves(page):
                    break
                if number >= MAX_PAGES:
                    self.visit.problem = f"{self.bot.name} saw {MAX_PAGES} pages without an end."
                    break
                page = self._act(page)
        self.visit.ending, self.visit.sentence = page.name, page.sentence

    def _note(self, page: Page) -> None:
        self.visit.pages[page.name] += 1
        self._seen[page.shown] += 1
        if self._seen[page.shown] >= MAX_SAME_PAGE:
            self.visit.problem = (
                f"{self.bot.name} saw the “{page.name}” page at {urlsplit(page.address).path}"
                f" {MAX_SAME_PAGE} times and got no further. It says:"
                f" {page.sentence or page.shown[:200]}"
            )

    def _leaves(self, page: Page) -> bool:
        if not (page.texts and page.fields):
            return False
        if page.hit:
            self._hits.add(page.hit)
        is_enough = self.bot.hits is not None and len(self._hits) > self.bot.hits
        return is_enough or self.rng.random() < self.bot.drop_out

    def _act(self, page: Page) -> Page:
        """Follow the page's link, or fill in its form and press its button."""
        step = page.step
        assert step is not None
        if step.form is None:
            return self._get(step.address)
        self.visit.answers += bool(page.texts)
        if self.bot.comments and page.texts and self.rng.random() < self.bot.comments:
            form = page.comment_form
            if form is not None:
                form.fields["comment"] = f"{self.bot.name} on: {page.texts[0][:100]}"
                self._read(submit_form(form, open_http=self._submit))
        step.form.fields.update(self._rated(page) if page.texts else self._guessed(page))
        button = [step.button] if step.button else []
        return self._read(submit_form(step.form, button, open_http=self._submit))

    def _submit(self, method: str, address: str, values: list[tuple[str, str]]) -> httpx.Response:
        if method == "GET":
            return self.browser.get(address, params=dict(values))
        return self.browser.post(address, data=dict(values))

    def _get(self, address: str) -> Page:
        return self._read(self.browser.get(address))

    def _read(self, response: httpx.Response) -> Page:
        for _ in range(MAX_REDIRECTS):
            if not response.is_redirect:
                break
            response = self.browser.get(urljoin(str(response.url), response.headers["Location"]))
        page = Page(str(response.url), response.text)
        if response.is_error or response.is_redirect:
            message = page.sentence or page.shown[:500] or "nothing"
            self.visit.refusals.append(f"{response.status_code}: {message}")
            if page.step is None:
                self.visit.problem = f"{self.bot.name} was refused: {message}"
        return page

    def _guessed(self, page: Page) -> dict[str, str | None]:
        """Answer questions without texts; known answers are correct with the bot's accuracy."""
        answers: dict[str, str | None] = {}
        for question in page.fields:
            right = self._right(question, ())
            is_right = right is not None and self.rng.random() < self.bot.accuracy
            answers[question.name] = right if is_right else self._any(question)
        return answers

    def _rated(self, page: Page) -> dict[str, str | None]:
        """Answer the questions about the page's texts, and record how long the bot took."""
        is_malicious = self.rng.random() < self.bot.malice
        seconds = self.bot.seconds * exp(self.rng.gauss(0, LOG_SECONDS_SD))
        seconds *= UNREAD_TIME_SHARE if is_malicious else 1
        self.visit.seconds += seconds
        if self.in_real_time:
            sleep(seconds)
        answers = {
            question.name: self._any(question) if is_malicious else self._answer(question, page)
            for question in page.fields
        }
        if page.has_timer:
            answers["duration_ms"] = str(round(1000 * seconds))
        return answers

    def _answer(self, question: Field, page: Page) -> str | None:
        has_none = bool(question.nonresponses) and self.rng.random() < NONRESPONSE_SHARE
        if has_none:
            return self.rng.choice(question.nonresponses)
        return self._choose(question, page)

    def _choose(self, question: Field, page: Page) -> str | None:
        if question.least is not None:
            return self._any(question)
        numbers = sorted(int(v) for v, _ in question.choices if v.lstrip("-").isdecimal())
        is_compared = len(page.texts) == 2 and bool(numbers)
        if is_compared and self.rng.random() < self.bot.position_bias:
            return str(numbers[0])
        right = self._right(question, page.texts)
        if right is not None:
            if self.rng.random() < self.bot.accuracy:
                return right
            others = [value for value, _ in question.choices if value != right]
            return self.rng.choice(others) if others else self._any(question)
        if is_compared:
            return self._preferred(numbers, page)
        return self._judged(question, numbers, page)

    def _preferred(self, numbers: list[int], page: Page) -> str:
        first, second = numbers[0], numbers[-1]
        lead = self._worth(page.texts[1], page.source) - self._worth(page.texts[0], page.source)
        if abs(lead) < self.bot.indifference and 0 in numbers:
            return "0"
        better, worse = (second, first) if lead > 0 else (first, second)
        return str(better if self.rng.random() < self.bot.accuracy else worse)

    def _judged(self, question: Field, numbers: list[int], page: Page) -> str | None:
        """Return a grade or number by the text's closeness to its source; other choices are random."""
        if not (numbers or question.is_number) or self.rng.random() >= self.bot.accuracy:
            return self._any(question)
        worth = min(1.0, max(0.0, self._worth(page.texts[-1], page.source)))
        if question.is_number:
            return _typed(question, worth)
        return str(numbers[round(worth * (len(numbers) - 1))])

    def _right(self, question: Field, texts: tuple[str, ...]) -> str | None:
        """Return the known answer, looked up among the choices by its value or its label."""
        known = self.known.get(known_by(question.words, texts))
        if known is None or not question.choices:
            return known
        return next((value for value, words in question.choices if known in (value, words)), None)

    def _any(self, question: Field) -> str | None:
        """Return a random valid answer; None leaves an optional checkbox unticked."""
        if question.kind == "checkbox":
            return "on" if question.is_required else None
        if question.choices:
            return self.rng.choice(question.choices)[0]
        if question.least is not None:
            return REASON * (1 + question.least // len(REASON))
        return _typed(question, self.rng.random()) if question.is_number else self.bot.name

    def _worth(self, text: str, source: str) -> float:
        return self.closeness(text, source) if source else len(text) / 1000


def _typed(question: Field, share: float) -> str:
    """Return the number at this share of the field's range, which is 0 to 100 by default."""
    low = question.low if question.low is not None else 0.0
    high = question.high if question.high is not None else low + 100
    step = question.step or 0.1
    number = min(high, low + round(share * (high - low) / step) * step)
    return f"{round(number, 6):g}"
