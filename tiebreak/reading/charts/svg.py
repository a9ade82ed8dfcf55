"""Elements of charts, drawn at shares of a plot: in percent on a page, in pixels in a file.

On a page, classes set the light and dark colours of the page; in a file, attributes set those for
white paper. Raters differ in shape as well as colour: people are round, machines angular.
"""

import re
from collections.abc import Callable, Collection, Iterable, Sequence
from dataclasses import dataclass
from functools import lru_cache
from typing import Any
from unicodedata import east_asian_width
from xml.sax.saxutils import escape, quoteattr

Point = tuple[float, float]
# "human" or "machine"; "-2" to "-5" for further machines; "-open" for simple rules, and where
# a rater has two measures for the second;
# "reference" for a line to compare with.
Kind = str

INK, LINE, PAPER = "#000000", "#c9c4b9", "#ffffff"
COLOURS = {"human": "#1f5f5b", "machine": "#b8721f", "machine-2": "#6d4310"}
SHADES = {"machine-3": "machine", "machine-4": "machine-2", "machine-5": "machine"}
SHAPES = {
    "machine": "M-4.5-4.5h9v9h-9Z",
    "machine-2": "M0-6 6 5H-6Z",
    "machine-3": "M0-6.5 6.5 0 0 6.5-6.5 0Z",
    "machine-4": "M-2-6h4v4h4v4H2v4h-4V2h-4v-4h4Z",
    "machine-5": "M0 6 6-5H-6Z",
}
MAX_MARKS = len(SHAPES) + 1
FONT, LETTER = "system-ui, Helvetica, Arial, Liberation Sans, DejaVu Sans, sans-serif", 14
MAX_NAME = 48
WIDE, NARROW = frozenset("mwMW@%—−…"), frozenset("fijlrtI.,:;'|!()[]/-· ")


class Svg(str):
    """Markup of which every text is escaped, so a template need not escape it again."""

    __slots__ = ()

    def __html__(self) -> str:
        return self


def kinds_of(machines: Iterable[str], simple: Collection[str] | None = None) -> dict[str, Kind]:
    """Return a mark for each machine rater, hollow for those that follow a simple rule.

    Where they are too many to differ, all have one shape.
    """
    names = sorted(set(machines))
    shapes = SHAPES if len(names) <= len(SHAPES) else ["machine"] * len(names)
    kinds = zip(names, shapes, strict=False)
    return {name: open_kind(kind) if name in (simple or ()) else kind for name, kind in kinds}


def open_kind(kind: Kind) -> Kind:
    return f"{kind}-open"


def tag(name: str, content: str = "", **attributes: Any) -> str:
    markup = ""
    for key, value in attributes.items():
        text = _number(value) if isinstance(value, float) else str(value)
        markup += _attribute(key, text)
    return f"<{name}{markup}>{content}</{name}>" if content else f"<{name}{markup}/>"


@lru_cache(maxsize=4096)  # rows of a chart share most of theirs, and quoting is most of drawing
def _attribute(key: str, text: str) -> str:
    return f" {key.rstrip('_').replace('_', '-')}={quoteattr(text)}"


def _number(value: float) -> str:
    return f"{value:.2f}".rstrip("0").rstrip(".")


def titled(title: str) -> str:
    return tag("title", escape(title)) if title else ""


def shortened(name: str) -> str:
    if len(name) <= MAX_NAME:
        return name
    return f"{name[: MAX_NAME - 13]}…{name[-12:]}"


def width_of(words: str, size: float = LETTER) -> float:
    """Return how wide a text is at most, in the widest of the fonts that systems use."""
    return sum(map(_width, words)) * size / 12


@lru_cache(maxsize=4096)
def _width(character: str) -> float:
    if character in WIDE or east_asian_width(character) in "WF":
        return 12.0
    if character in NARROW:
        return 5.0
    return 9.2 if character.isupper() else 7.7


def wrapped(words: str, width: float, size: float = LETTER) -> list[str]:
    """Return lines of at most a width, broken after spaces, hyphens and slashes, or anywhere."""
    lines = [""]
    for part in re.findall(r"[^\s/-]*[\s/-]?", words):
        if lines[-1] and width_of(f"{lines[-1]}{part}".rstrip(), size) > width:
            lines.append("")
        if width_of(part.rstrip(), size) <= width:
            lines[-1] += part
            continue
        for letter in part:
            if lines[-1] and width_of(f"{lines[-1]}{letter}".rstrip(), size) > width:
                lines.append("")
            lines[-1] += letter
    return [line.strip() for line in lines]


class Canvas:
    """A plot on which positions are shares: x from left to right, y from top to bottom."""

    def x(self, share: float) -> str:
        raise NotImplementedError

    def y(self, share: float) -> str:
        raise NotImplementedError

    def size(self, width: float, height: float) -> str:
        """Return a share of the width or of the height, of which the other is 0."""
        raise NotImplementedError

    def paint(self, name: str) -> dict[str, Any]:
        raise NotImplementedError

    def within(self, start: Point, end: Point) -> "Canvas":
        """Return the part of the plot between two corners."""
        raise NotImplementedError

    def is_narrower_than(self, _: float) -> bool:
        """Return whether the plot is known to have less than a width in pixels."""
        return False

    def pinned(self, at: Point, body: str) -> str:
        """Return what is drawn in pixels around a position."""
        raise NotImplementedError

    def path(self, lines: Iterable[Sequence[Point]], name: str, **attributes: Any) -> str:
        """Return lines through positions, as one element."""
        raise NotImplementedError

    def line(self, start: Point, end: Point, name: str, **attributes: Any) -> str:
        (x1, y1), (x2, y2) = start, end
        ends = {"x1": self.x(x1), "y1": self.y(y1), "x2": self.x(x2), "y2": self.y(y2)}
        return tag("line", **ends, **self.paint(name), **attributes)

    def text(self, at: Point, words: str, name: str = "tick", **attributes: Any) -> str:
        x, y = self.x(at[0]), self.y(at[1])
        return tag("text", escape(words), x=x, y=y, **self.paint(name), **attributes)

    def bar(self, start: Point, end: Point, kind: Kind, title: str = "", **attributes: Any) -> str:
        """Return a filled rectangle between its upper left and its lower right corner."""
        (left, top), (right, bottom) = start, end
        place = {"x": self.x(left), "y": self.y(top)}
        size = {"width": self.size(right - left, 0), "height": self.size(0, bottom - top)}
        return tag("rect", titled(title), **place, **size, **self.paint(kind), **attributes)

    def mark(self, at: Point, kind: Kind, title: str = "") -> str:
        return self.pinned(at, mark(kind, self.paint(kind), title))

    def whisker(self, start: Point, end: Point, kind: Kind, width: float = 2.5) -> str:
        return self.line(start, end, f"{kind.removesuffix('-open')}-line", stroke_width=width)


def mark(kind: Kind, paint: dict[str, Any], title: str = "") -> str:
    """Return a circle for annotators or the shape of a machine, around the origin."""
    shape = kind.removesuffix("-open")
    if shape == "reference":  # a line that only the legend names
        return tag("path", d="M-8 0H8", **paint)
    if shape == "human":
        return tag("circle", titled(title), r=5, **paint)
    return tag("path", titled(title), d=SHAPES[shape], **paint)


@dataclass(frozen=True)
class Fluid(Canvas):
    """A plot of any width and height, which a style sheet paints."""

    def x(self, share: float) -> str:
        return f"{_number(100 * share)}%"

    y = x

    def size(self, width: float, height: float) -> str:
        return self.x(width + height)

    def paint(self, name: str) -> dict[str, Any]:
        return {"class_": name}

    def pinned(self, at: Point, body: str) -> str:
        return f'<svg x="{self.x(at[0])}" y="{self.y(at[1])}">{body}</svg>'

    def path(self, lines: Iterable[Sequence[Point]], name: str, **attributes: Any) -> str:
        d = _path(lines, lambda at: (100 * at[0], 100 * at[1]))
        drawn = tag("path", d=d, **self.paint(name), **attributes)
        return f'<svg viewBox="0 0 100 100" preserveAspectRatio="none">{drawn}</svg>'


@dataclass(frozen=True)
class Fixed(Canvas):
    """A plot at a place of a file, which attributes paint."""

    left: float
    top: float
    width: float
    height: float

    def x(self, share: float) -> str:
        return _number(self._placed((share, 0))[0])

    def y(self, share: float) -> str:
        return _number(self._placed((0, share))[1])

    def _placed(self, at: Point) -> Point:
        return self.left + at[0] * self.width, self.top + at[1] * self.height

    def size(self, width: float, height: float) -> str:
        return _number(width * self.width + height * self.height)

    def within(self, start: Point, end: Point) -> Canvas:
        left, top = self._placed(start)
        right, bottom = self._placed(end)
        return Fixed(left, top, right - left, bottom - top)

    def is_narrower_than(self, pixels: float) -> bool:
        return self.width < pixels

    def paint(self, name: str) -> dict[str, Any]:
        return paint(name)

    def pinned(self, at: Point, body: str) -> str:
        return f'<g transform="translate({self.x(at[0])} {self.y(at[1])})">{body}</g>'

    def path(self, lines: Iterable[Sequence[Point]], name: str, **attributes: Any) -> str:
        return tag("path", d=_path(lines, self._placed), **self.paint(name), **attributes)


def _path(lines: Iterable[Sequence[Point]], place: Callable[[Point], Point]) -> str:
    placed = ([place(at) for at in line] for line in lines)
    return "".join(f"M{_pair(*line[0])}{''.join(map(_step, line[1:], line))}" for line in placed)


def _step(at: Point, before: Point) -> str:
    (x, y), (left, top) = at, before
    return f"V{_number(y)}" if x == left else f"H{_number(x)}" if y == top else f"L{_pair(x, y)}"


def _pair(x: float, y: float) -> str:
    return f"{_number(x)} {_number(y)}"


# Words in a plot, through which no line of the grid goes.
HALO = {"paint_order": "stroke", "stroke": PAPER, "stroke_width": 4, "stroke_linejoin": "round"}
TEXTS: dict[str, dict[str, Any]] = {
    "tick": {"text_anchor": "middle"},
    "y-tick": {"text_anchor": "end", **HALO},
    "axis": {"text_anchor": "middle"},
    "value": {"text_anchor": "end"},
    "start": HALO,
    "numbered": HALO,
    "name": {},
    "cell": {"text_anchor": "middle"},
    "undefined": {"font_style": "italic"},
    "group": {"font_weight": 600},
}
LINES: dict[str, dict[str, Any]] = {
    "grid": {"stroke": LINE, "fill": "none"},
    "reference": {"stroke": INK, "stroke_dasharray": "3 3", "fill": "none"},
}


def paint(name: str) -> dict[str, Any]:
    """Return the attributes of what is drawn in a file, and its class."""
    if name in TEXTS:
        return {"class_": name, "fill": INK, **TEXTS[name]}
    if name in LINES:
        return {"class_": name, **LINES[name]}
    kind = name.removesuffix("-line").removesuffix("-open")
    colour = COLOURS[SHADES.get(kind, kind)]
    if name.endswith("-line"):
        return {"class_": name, "stroke": colour, "fill": "none"}
    if name.endswith("-open"):
        return {"class_": name, "fill": PAPER, "stroke": colour, "stroke_width": 2}
    return {"class_": name, "fill": colour}


def svg(
    width: float,
    height: float,
    description: str,
    body: Iterable[str],
    css_class: str = "chart",
    **attributes: Any,
) -> Svg:
    return Svg(  # `tag` and `escape` escaped every text in it
        tag(
            "svg",
            titled(description) + "".join(body),
            xmlns="http://www.w3.org/2000/svg",
            viewBox=f"0 0 {width:g} {height:g}",
            width=f"{width:g}",
            height=f"{height:g}",
            font_family=FONT,
            font_size=LETTER,
            role="img",
            class_=css_class,
            aria_label=description,
            **attributes,
        )
    )
