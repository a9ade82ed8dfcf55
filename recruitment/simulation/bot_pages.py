"""Parse a page for a bot: its texts, the fields of its form, and its primary action."""

from dataclasses import dataclass
from functools import cached_property
from typing import Any
from urllib.parse import urlsplit

from lxml import html

from annotation.forms import NO_LABEL
from annotation.screen_keys import read_screen_key

# The primary buttons and links of a page.
PRIMARY = (
    "//*[self::a or self::button or self::input][contains(concat(' ', @class, ' '), ' primary ')]"
)
# Input types that take free text or a number.
TYPED = {"text", "number", "email", "search", "tel", "url"}


@dataclass(frozen=True)
class Field:
    """One field of a form: its label, and the values that it accepts.

    ``choices`` are pairs of a value and its label, and ``nonresponses`` the values that are no
    label. Without choices, the value is typed. It is a number if ``is_number``, from ``low`` to
    ``high`` (unless they are None) in steps of ``step``. A reason has at least ``least`` characters.
    """

    name: str
    words: str
    kind: str
    choices: tuple[tuple[str, str], ...] = ()
    nonresponses: tuple[str, ...] = ()
    is_required: bool = False
    low: float | None = None
    high: float | None = None
    step: float | None = None
    least: int | None = None

    @property
    def is_number(self) -> bool:
        return self.kind == "number"


@dataclass(frozen=True)
class Step:
    """A page's primary action: a link, or a form with the name and value of its button."""

    address: str
    form: html.FormElement | None = None
    button: tuple[str, str] | None = None


class Page:
    """An HTML page and its address."""

    def __init__(self, address: str, text: str) -> None:
        self.address = address
        self.root = html.document_fromstring(text or "<p></p>", base_url=address)
        self.root.make_links_absolute()

    @cached_property
    def source(self) -> str:
        """The source text or conversation that the rated texts belong to."""
        return "\n".join(_text(element) for element in self._classed("text", "source"))

    @cached_property
    def texts(self) -> tuple[str, ...]:
        """The texts to be rated, in the order in which they are shown."""
        elements = self.root.xpath(f"//article//*[{_has('text')}]")
        return tuple(_text(element) for element in elements)

    @cached_property
    def hit(self) -> str:
        """The id of the HIT's assignment; "" if there is none, as in training or a test."""
        if self._classed("task", "stage"):
            return ""
        shown = "".join(self.root.xpath("//form[@id='answer']//input[@name='assignment']/@value"))
        assignment, _ = read_screen_key(shown) or (shown, 1)
        return assignment

    @cached_property
    def name(self) -> str:
        """The part of the study for a page with a unit, otherwise the page's heading."""
        if self.texts:
            part = " ".join(map(_words, self._classed("task")))
            return part.partition(" ")[0].rstrip(":") or "Unit"
        headings = [*self.root.xpath("//main//h2"), *self.root.xpath("//title")]
        return next((words for words in map(_words, headings) if words), "a page without a name")

    @cached_property
    def sentence(self) -> str:
        """The first alert of the page, otherwise its first paragraph."""
        alarms = self.root.xpath(f"//*[{_has('alarm')} or @role='alert']")
        prose = self.root.xpath(f"//*[{_has('prose')}] | //main//p | //body//p")
        paragraphs = map(_words, [*alarms, *prose])
        return next((words for words in paragraphs if words), "")[:500]

    @cached_property
    def shown(self) -> str:
        """All words and filled-in values of the page, equal for pages that look the same."""
        body = self.root.find("body")
        checked = self.root.xpath("//input[@checked]/@value | //input[@type='number']/@value")
        return " ".join([_words(self.root if body is None else body), *map(str, checked)])

    @cached_property
    def step(self) -> Step | None:
        """The primary action; None if there is none or it leads to another site."""
        for element in self.root.xpath(PRIMARY):
            step = None if "disabled" in element.attrib else self._step(element)
            if step is not None:
                return step if _host(step.address) == _host(self.address) else None
        return None

    @property
    def comment_form(self) -> html.FormElement | None:
        """The form in which a comment is left; None if the study takes no comments."""
        return next((form for form in self.root.forms if form.get("id") == "comment"), None)

    @property
    def fields(self) -> tuple[Field, ...]:
        """The fields of the form that the primary action submits; empty if it is a link."""
        form = self.step.form if self.step else None
        if form is None:
            return ()
        names = form.inputs.keys()
        fields = (_field(form.inputs[name]) for name in names)
        return tuple(field for field in fields if field is not None)

    @property
    def has_timer(self) -> bool:
        """Whether the form has the hidden field in which the page's script reports the duration."""
        form = self.step.form if self.step else None
        return form is not None and "duration_ms" in form.inputs

    def _step(self, element: Any) -> Step | None:
        if element.tag == "a":
            return Step(element.get("href")) if element.get("href") else None
        form = self._form_of(element)
        if form is None or element.get("type", "submit") != "submit":
            return None
        name = element.get("name")
        button = (name, element.get("value", "")) if name else None
        return Step(form.action or self.address, form, button)

    def _form_of(self, element: Any) -> Any:
        """Return the form that a button submits: the form it names, or the one around it."""
        if element.get("form"):
            return next((f for f in self.root.forms if f.get("id") == element.get("form")), None)
        return next(element.iterancestors("form"), None)

    def _classed(self, name: str, within: str = "") -> list[Any]:
        above = f"//*[{_has(within)}]" if within else ""
        elements: list[Any] = self.root.xpath(f"{above}//*[{_has(name)}]")
        return elements


def _field(control: Any) -> Field | None:
    """Return a control or group of radio buttons as a field; None if a bot cannot fill it in."""
    buttons = control if isinstance(control, html.RadioGroup) else [control]
    first = buttons[0]
    kind = first.type if first.tag == "input" else first.tag
    choices: list[tuple[str, str]] = []
    limits: list[float | None] = []
    if kind == "radio":
        choices = [(button.get("value", ""), _label(button)) for button in buttons]
    elif kind == "select":
        options = first.xpath(".//option[not(@disabled) and (not(@value) or @value != '')]")
        choices = [(option.get("value", _words(option)), _words(option)) for option in options]
    elif kind in TYPED:
        limits = [_number(first.get(name)) for name in ("min", "max", "step")]
    elif kind not in ("checkbox", "textarea"):
        return None
    nonresponses = tuple(value for value, _ in choices if value.startswith(NO_LABEL))
    labels = tuple(choice for choice in choices if choice[0] not in nonresponses)
    is_required = "required" in first.attrib
    least = first.get("data-least")
    low, high, step = limits or (None, None, None)
    legends = first.xpath("ancestor::fieldset[1]/legend")
    return Field(
        first.name,
        _words(legends[0]) if legends else _label(first),
        kind,
        labels,
        nonresponses,
        is_required=is_required,
        low=low,
        high=high,
        step=step,
        least=None if least is None else int(least),
    )


def _label(control: Any) -> str:
    """Return the words of the label around a control, or of the label that refers to it."""
    label = next(control.iterancestors("label"), control.label)
    return "" if label is None else _words(label)


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
