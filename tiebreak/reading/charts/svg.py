"""Elements of SVG charts. Attributes set colours for print, classes the page's light and dark ones.

Every chart has a text alternative, and annotators and machines differ in shape as well as colour.
"""

from collections.abc import Iterable
from typing import Any, Literal
from unicodedata import east_asian_width
from xml.sax.saxutils import escape, quoteattr

from tiebreak.reading.charts.axes import Axis

Point = tuple[float, float]
Kind = Literal["human", "human-open", "machine", "machine-open"]

COLOURS = {"human": "#1f5f5b", "machine": "#b8721f"}
LINE, SOFT, PAPER = "#dfdbd2", "#67635b", "#ffffff"
FONT = "system-ui, sans-serif"
MAX_NAME = 48
WIDE, NARROW = frozenset("mwMW@%—−…"), frozenset("fijlrtI.,:;'|!()[]/-· ")


class Svg(str):
    """Markup of which every text is escaped, so a template need not escape it again."""

    __slots__ = ()

    def __html__(self) -> str:
        return self


NOTHING = Svg()


def tag(name: str, content: str = "", **attributes: Any) -> str:
    markup = ""
    for key, value in attributes.items():
        is_float = isinstance(value, float)
        text = f"{value:.2f}".rstrip("0").rstrip(".") if is_float else str(value)
        markup += f" {key.rstrip('_').replace('_', '-')}={quoteattr(text)}"
    return f"<{name}{markup}>{content}</{name}>"


def text(x: float, y: float, words: str, anchor: str = "middle", css_class: str = "tick") -> str:
    return tag(
        "text",
        escape(words),
        x=x,
        y=y,
        text_anchor=anchor,
        class_=css_class,
        fill=SOFT,
        font_size=12,
        font_family=FONT,
    )


def name_text(x: float, y: float, name: str, anchor: str = "end", css_class: str = "name") -> str:
    """Return a name that a study chose, shortened in its middle, with the full name as a title."""
    short = shortened(name)
    words = text(x, y, short, anchor, css_class)
    return words if short == name else tag("g", tag("title", escape(name)) + words)


def shortened(name: str) -> str:
    if len(name) <= MAX_NAME:
        return name
    return f"{name[: MAX_NAME - 13]}…{name[-12:]}"


def width_of(name: str) -> float:
    """Return how wide a name is in a chart, in the widest of the fonts that systems use."""
    return sum(map(_width, shortened(name)))


def _width(character: str) -> float:
    if character in WIDE or east_asian_width(character) in "WF":
        return 12.0
    if character in NARROW:
        return 5.0
    return 9.2 if character.isupper() else 7.7


def line(start: Point, end: Point, css_class: str, colour: str, *, width: float = 1) -> str:
    (x1, y1), (x2, y2) = start, end
    return tag(
        "line", x1=x1, y1=y1, x2=x2, y2=y2, class_=css_class, stroke=colour, stroke_width=width
    )


def grid_line(start: Point, end: Point) -> str:
    return line(start, end, "grid", LINE)


def whisker(start: Point, end: Point, kind: Kind, *, width: float = 2) -> str:
    name = kind.partition("-")[0]
    return line(start, end, f"{name}-line", COLOURS[name], width=width)


def mark(x: float, y: float, kind: Kind, title: str = "") -> str:
    """Return a circle for annotators or a square for machines, hollow for the second of two."""
    name, _, variant = kind.partition("-")
    colour = COLOURS[name]
    style: dict[str, str | int] = {"class_": name, "fill": colour}
    if variant:
        style = {"class_": kind, "fill": PAPER, "stroke": colour, "stroke_width": 2}
    inner = tag("title", escape(title)) if title else ""
    if name == "human":
        return tag("circle", inner, cx=x, cy=y, r=4.5, **style)
    return tag("rect", inner, x=x - 4, y=y - 4, width=8, height=8, **style)


def x_grid(axis: Axis, top: float, bottom: float) -> str:
    """Draw an axis from left to right: a line and a number at each tick."""
    return "".join(
        grid_line((axis.at(tick), top), (axis.at(tick), bottom))
        + text(axis.at(tick), bottom + 18, axis.tick_name(tick))
        for tick in axis.ticks()
    )


def y_grid(axis: Axis, left: float, right: float) -> str:
    """Draw an axis from bottom to top: a line and a number at each tick."""
    return "".join(
        grid_line((left, axis.at(tick)), (right, axis.at(tick)))
        + text(left - 8, axis.at(tick) + 4, axis.tick_name(tick), "end")
        for tick in axis.ticks()
    )


def with_description(chart: Svg, description: str) -> Svg:
    """Return a chart of `svg` with another text alternative."""
    head, _, body = chart.partition("</title>")
    start = head[: head.index(" aria-label=")]
    label, title = quoteattr(description), tag("title", escape(description))
    return Svg(f"{start} aria-label={label}>{title}{body}")


def svg(
    width: float, height: float, description: str, body: Iterable[str], css_class: str = "chart"
) -> Svg:
    title = tag("title", escape(description))
    return Svg(  # `tag` and `escape` escaped every text in it
        tag(
            "svg",
            title + "".join(body),
            xmlns="http://www.w3.org/2000/svg",
            viewBox=f"0 0 {width:g} {height:g}",
            width=f"{width:g}",
            height=f"{height:g}",
            role="img",
            class_=css_class,
            aria_label=description,
        )
    )
