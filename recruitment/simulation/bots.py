"""Programs that take a study through the annotators' own pages, as people do."""

import random
from collections import Counter
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass, field
from itertools import count
from math import exp
from time import sleep
from urllib.parse import urljoin, urlsplit

import httpx

from recruitment.simulation.bot_pages import Field, Page
from tiebreak.similarity import similarity

MAX_PAGES = 100_000
# A page that looks the same so often leads nowhere, whatever is answered on it.
MAX_SAME_PAGE = 30
MAX_REDIRECTS = 10
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


@dataclass
class Visit:
    """What one bot met: pages by name, answers, refusals, and where and why it ended."""

    bot: str
    answers: int = 0
    seconds: float = 0.0
    pages: Counter[str] = field(default_factory=Counter)
    refusals: list[str] = field(default_factory=list)
    # The last page, and what it said.
    ending: str = ""
    sentence: str = ""
    # Set where it was not the bot's own wish, nor the study's end for it, to go no further.
    problem: str = ""


# What is held right, by the question and the texts it is asked of, in the order shown.
Known = Mapping[tuple[str, ...], str]


def known_by(question: str, texts: Iterable[str] = ()) -> tuple[str, ...]:
    """What a known answer is looked up by: spaces and line ends are the page's own matter."""
    return tuple(" ".join(each.split()) for each in (question, *texts))


class Walk:
    """One bot's way through a study: it opens the entry link and then does what pages offer."""

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
        """All pages that are left of the visit; what it met."""
        for _ in self.pages():
            pass
        return self.visit

    def pages(self) -> Iterator[Page]:
        """Every page as it is met; the bot acts on it when the next one is asked for."""
        with self.browser:
            page = self._get(self.entry)
            for number in count(1):
                self._note(page)
                yield page
                if page.step is None or self.visit.problem or self._leaves(page):
                    break
                if number >= MAX_PAGES:
                    self.visit.problem = f"{self.bot.name} saw {MAX_PAGES} pages and no end."
                    break
                page = self._act(page)
        self.visit.ending, self.visit.sentence = page.name, page.sentence

    def _note(self, page: Page) -> None:
        self.visit.pages[page.name] += 1
        self._seen[page.shown] += 1
        if self._seen[page.shown] >= MAX_SAME_PAGE:
            self.visit.problem = (
                f"{self.bot.name} saw the page “{page.name}” at {urlsplit(page.address).path}"
                f" {MAX_SAME_PAGE} times and got no further. It says: {page.sentence or page.shown[:200]}"
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
        data = self._filled(page)
        self.visit.answers += bool(page.texts)
        if not step.is_post:
            return self._read(self.browser.get(step.address, params=data))
        return self._read(self.browser.post(step.address, data=data))

    def _get(self, address: str) -> Page:
        return self._read(self.browser.get(address))

    def _read(self, answer: httpx.Response) -> Page:
        for _ in range(MAX_REDIRECTS):
            if not answer.is_redirect:
                break
            answer = self.browser.get(urljoin(str(answer.url), answer.headers["Location"]))
        page = Page(str(answer.url), answer.text)
        if answer.is_error or answer.is_redirect:
            said = page.sentence or page.shown[:500] or "nothing"
            self.visit.refusals.append(f"{answer.status_code}: {said}")
            if page.step is None:
                self.visit.problem = f"{self.bot.name} was refused: {said}"
        return page

    def _filled(self, page: Page) -> dict[str, str | list[str]]:
        """All that the form sends: what stands in it, what is answered, and its button."""
        step = page.step
        assert step is not None
        chosen = self._rated(page) if page.texts else self._guessed(page)
        data: dict[str, str | list[str]] = {}
        for name, value in step.form.form_values():
            if name not in {each.name for each in page.fields}:
                data[name] = value
        return {**data, **chosen, **dict([step.button] if step.button else [])}

    def _guessed(self, page: Page) -> dict[str, str]:
        """Answers to questions without texts: what is known with the bot's accuracy, else any."""
        answers: dict[str, str] = {}
        for each in page.fields:
            right = self._right(each, ())
            is_right = right is not None and self.rng.random() < self.bot.accuracy
            given = right if is_right else self._any(each)
            if given is not None:
                answers[each.name] = given
        return answers

    def _rated(self, page: Page) -> dict[str, str]:
        is_malicious = self.rng.random() < self.bot.malice
        seconds = self.bot.seconds * exp(self.rng.gauss(0, SPREAD)) * (HASTE if is_malicious else 1)
        self.visit.seconds += seconds
        if self.in_real_time:
            sleep(seconds)
        choose = self._any if is_malicious else lambda each: self._choose(each, page)
        given = ((each.name, choose(each)) for each in page.fields)
        answers = {name: value for name, value in given if value is not None}
        return {**answers, "duration_ms": str(round(1000 * seconds))}

    def _choose(self, question: Field, page: Page) -> str | None:
        numbers = sorted(int(v) for v, _ in question.choices if v.lstrip("-").isdecimal())
        is_compared = len(page.texts) == 2 and bool(numbers)
        if is_compared and self.rng.random() < self.bot.position_bias:
            return str(numbers[0])
        right = self._right(question, page.texts)
        if right is not None:
            return right if self.rng.random() < self.bot.accuracy else self._other(question, right)
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
        """A grade or a number for how close the text is to its source; of other choices any."""
        if not (numbers or question.is_number) or self.rng.random() >= self.bot.accuracy:
            return self._any(question)
        worth = min(1.0, max(0.0, self._worth(page.texts[-1], page.source)))
        if question.is_number:
            return _typed(question, worth)
        return str(numbers[round(worth * (len(numbers) - 1))])

    def _right(self, question: Field, texts: tuple[str, ...]) -> str | None:
        """The choice that the bot knows to be right, told by its value or its words."""
        known = self.known.get(known_by(question.words, texts))
        if known is None or not question.choices:
            return known
        return next((value for value, words in question.choices if known in (value, words)), None)

    def _other(self, question: Field, right: str) -> str | None:
        others = [value for value, _ in question.choices if value != right]
        return self.rng.choice(others) if others else self._any(question)

    def _any(self, question: Field) -> str | None:
        """Any answer that the field takes; a box that need not be ticked is left alone."""
        if question.kind == "checkbox":
            return "on" if question.is_required else None
        if question.choices:
            return self.rng.choice(question.choices)[0]
        return _typed(question, self.rng.random()) if question.is_number else self.bot.name

    def _worth(self, text: str, source: str) -> float:
        return self.closeness(text, source) if source else len(text) / 1000


def _typed(question: Field, share: float) -> str:
    """A number so far between the field's bounds; where it has none, between 0 and 100."""
    low = question.low if question.low is not None else 0.0
    high = question.high if question.high is not None else low + 100
    step = question.step or 0.1
    number = min(high, low + round(share * (high - low) / step) * step)
    return f"{round(number, 6):g}"
