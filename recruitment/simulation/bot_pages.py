"""A page as a bot sees it: what it shows, what it asks, and the one step it offers first."""

from collections.abc import Iterator
from dataclasses import dataclass
from functools import cached_property
from typing import Any
from urllib.parse import urljoin, urlsplit

from lxml import html

# The button or link that a page puts first, in document order.
PRIMARY = (
    "//*[self::a or self::button or self::input][contains(concat(' ', @class, ' '), ' primary ')]"
)
# Typed and not chosen.
TYPED = {"text", "number", "email", "search", "tel", "url"}


@dataclass(frozen=True)
class Field:
    """One question of a form: its words, and what may be answered.

    ``choices`` are values with their words; without any, something is typed: a number where
    ``is_number``, between ``low`` and ``high`` where they are given, in steps of ``step``.
    """

    name: str
    words: str
    kind: str
    choices: tuple[tuple[str, str], ...] = ()
    is_required: bool = False
    low: float | None = None
    high: float | None = None
    step: float | None = None

    @property
    def is_number(self) -> bool:
        return self.kind == "number"


@dataclass(frozen=True)
class Step:
    """Where a page leads: a link, or a form with what its button says."""

    address: str
    form: Any = None
    button: tuple[str, str] | None = None

    @property
    def is_post(self) -> bool:
        return self.form is not None and self.form.method == "POST"


class Page:
    """An HTML page under its address."""

    def __init__(self, address: str, text: str) -> None:
        self.address = address
        self.root = html.document_fromstring(text or "<p></p>", base_url=address)

    @cached_property
    def source(self) -> str:
        """What the texts are compared with: a source text, or a conversation."""
        return "\n".join(_text(each) for each in self._classed("text", "source"))

    @cached_property
    def texts(self) -> tuple[str, ...]:
        """The texts to be rated, in the order in which they are shown."""
        return tuple(_text(each) for each in self.root.xpath(f"//article//*[{_has('text')}]"))

    @cached_property
    def hit(self) -> str:
        """The words that number the HIT; "" where there is none, as in training or a test."""
        numbered = f"//*[{_has('hits')} and not({_has('stage')})]"
        return " ".join(_words(each) for each in self.root.xpath(numbered))

    @cached_property
    def name(self) -> str:
        """What people would call it: the part of the study for a unit, else its heading."""
        if self.texts:
            part = " ".join(_words(each) for each in self._classed("hits"))
            return part.partition(" ")[0].rstrip(":") or "Unit"
        headings = [*self.root.xpath("//main//h2"), *self.root.xpath("//title")]
        return next((words for words in map(_words, headings) if words), "a page without a name")

    @cached_property
    def sentence(self) -> str:
        """What it says besides its heading: an alarm first, else its first paragraph of prose."""
        alarms = self.root.xpath(f"//*[{_has('alarm')} or @role='alert']")
        prose = self.root.xpath(f"//*[{_has('prose')}] | //main//p | //body//p")
        found = (_words(each) for each in [*alarms, *prose])
        return next((words for words in found if words), "")[:500]

    @cached_property
    def shown(self) -> str:
        """All words of it with what is filled in: two pages that look the same have it in common."""
        body = self.root.find("body")
        checked = self.root.xpath("//input[@checked]/@value | //input[@type='number']/@value")
        return " ".join([_words(self.root if body is None else body), *map(str, checked)])

    @cached_property
    def step(self) -> Step | None:
        """What it puts first, or None: then it is a last page. Another site is none of ours."""
        for element in self.root.xpath(PRIMARY):
            step = None if "disabled" in element.attrib else self._step(element)
            if step is not None:
                return step if _host(step.address) == _host(self.address) else None
        return None

    @property
    def fields(self) -> tuple[Field, ...]:
        """The questions of its step's form, in order; none where the step is a link."""
        form = self.step.form if self.step else None
        return tuple(self._questions(form)) if form is not None else ()

    def _step(self, element: Any) -> Step | None:
        if element.tag == "a":
            target = element.get("href")
            return Step(urljoin(self.address, target)) if target else None
        form = self._form_of(element)
        if form is None or element.get("type", "submit") != "submit":
            return None
        name = element.get("name")
        button = (name, element.get("value", "")) if name else None
        return Step(urljoin(self.address, form.get("action") or ""), form, button)

    def _form_of(self, element: Any) -> Any:
        """The form around a button, or the one that the button names."""
        if element.get("form"):
            return next((f for f in self.root.forms if f.get("id") == element.get("form")), None)
        return next(element.iterancestors("form"), None)

    def _questions(self, form: Any) -> Iterator[Field]:
        met: set[str] = set()
        for control in form.inputs:
            name = control.name
            if not name or name in met or "disabled" in control.attrib:
                continue
            field = self._question(form, control)
            if field is not None:
                met.add(name)
                yield field

    def _question(self, form: Any, control: Any) -> Field | None:
        kind = control.tag if control.tag != "input" else (control.get("type") or "text")
        words, is_required = self._asked(control), "required" in control.attrib
        if kind == "radio":
            group = [each for each in form.inputs if each.name == control.name]
            choices = tuple((each.get("value", ""), self._label(each)) for each in group)
            return Field(control.name, words, kind, choices, is_required)
        if kind == "select":
            options = control.xpath(".//option[not(@disabled) and (not(@value) or @value != '')]")
            choices = tuple((each.get("value", _words(each)), _words(each)) for each in options)
            return Field(control.name, words, kind, choices, is_required)
        if kind == "checkbox":
            return Field(control.name, words, kind, (), is_required)
        if kind in TYPED or kind == "textarea":
            limits = (_number(control.get(limit)) for limit in ("min", "max", "step"))
            return Field(control.name, words, kind, (), is_required, *limits)
        return None

    def _asked(self, control: Any) -> str:
        """The question above a group of choices, else the words at the field itself."""
        legends = control.xpath("ancestor::fieldset[1]/legend")
        return _words(legends[0]) if legends else self._label(control)

    def _label(self, control: Any) -> str:
        around = next(control.iterancestors("label"), None)
        label = control.label if around is None else around
        return "" if label is None else _words(label)

    def _classed(self, name: str, within: str = "") -> list[Any]:
        above = f"//*[{_has(within)}]" if within else ""
        found: list[Any] = self.root.xpath(f"{above}//*[{_has(name)}]")
        return found


def _has(name: str) -> str:
    return f"contains(concat(' ', @class, ' '), ' {name} ')"


def _text(element: Any) -> str:
    return str(element.text_content())


def _words(element: Any) -> str:
    return " ".join(_text(element).split())


def _host(address: str) -> str:
    return urlsplit(address).netloc


def _number(text: str | None) -> float | None:
    try:
        return float(text) if text is not None else None
    except ValueError:  # "any"
        return None
