"""A chart: strips below each other, each with a name, a plot and a value, drawn for page and file.

On a page the strips are rows of HTML, whose style sheet places names beside or above their plots;
a file is one SVG of a fixed width with the same plots.
"""

from collections.abc import Callable, Iterable, Iterator, Mapping
from dataclasses import dataclass, field, replace
from functools import lru_cache
from html import escape
from itertools import pairwise
from math import ceil, inf
from typing import Any, ClassVar, Self

from tiebreak.reading.charts.axes import Axis
from tiebreak.reading.charts.svg import (
    LETTER,
    PAPER,
    Canvas,
    Fixed,
    Fluid,
    Kind,
    Point,
    Svg,
    mark,
    paint,
    shortened,
    svg,
    tag,
    titled,
    width_of,
    wrapped,
)

Draw = Callable[[Canvas], Iterable[str]]
Key = tuple[str, str]  # a classification of items and one of its classes
NO_KEY: Key = ("", "")
# The heights of strips in pixels; on a page they are classes, and long names make a strip higher.
SIZES = {"row": 28, "line": 20, "gap": 8, "ticks": 22, "cell": 36, "ridge": 40, "small": 130}
SIZES |= {"heads": 68, "cells": 58}  # of a table, which only a file has as strips
TALL = {"small": 130, "low": 190, "field": 250}
SIZES |= TALL
WIDTH, PAD, GAP, LINE_HEIGHT = 720, 16, 12, 18
NAMES = 0.34  # of the width at most
END = 0.4  # of a plot, in which words end at what they name, for lack of room after it
MARGIN = 24  # beside a plot, for the numbers at its ends
NARROW = 220  # pixels of the width of the narrowest plot


class ItemsName(str):
    """The name of a class of items with a note in brackets, which knows the class so that a page can link it."""

    key: Key = NO_KEY
    parts: tuple[str, str] = ("", "")

    @classmethod
    def of(cls, words: str, key: Key, note: str = "") -> "ItemsName":
        name = cls(f"{words} ({note})" if note else words)
        name.key, name.parts = key, (words, note)
        return name

    def noted(self, note: str) -> "ItemsName":
        """Return the name with one more note, if there is one."""
        words, known = self.parts
        return ItemsName.of(words, self.key, ", ".join(filter(None, (known, note))))

    def without(self, said: str) -> "ItemsName":
        """Return the name without its note and the words that stand above it."""
        return ItemsName.of(self.parts[0].replace(said, "", 1), self.key)


def key_in(name: object) -> Key:
    """Return the class of items that a name stands for, if it stands for one."""
    return name.key if isinstance(name, ItemsName) else NO_KEY


@dataclass(frozen=True)
class Strip:
    """A plot with its name at the left and its value at the right, or a line of words.

    `words` stand in the place of the plot, in the style of the class `css`; a name of the class
    `group` is a heading, behind which the lines of the plot go on. `key` is the class of items that
    it is about, which a page may link.
    """

    name: str = ""
    draw: Draw | None = None
    value: str = ""
    words: str = ""
    size: str = "row"
    css: str = "name"
    key: Key = NO_KEY


@dataclass(frozen=True)
class Chart:
    """What a figure draws. Without strips there is nothing to draw.

    `words` say what is drawn to those who cannot see it; the finding comes before them. `links` are
    a page's addresses of the classes of items that are drawn. `caption` says what lines and bands
    are, and `rests` on which of them the heading rests, below the picture. `notice` stands in files.
    """

    finding: str = ""
    words: str = ""
    strips: tuple[Strip, ...] = ()
    legend: tuple[tuple[Kind, str], ...] = ()
    y_axis: Axis | None = None
    links: Mapping[Key, str] = field(default_factory=dict)
    caption: str = ""
    rests: str = ""
    notice: str = ""
    names: ClassVar[float] = NAMES

    def __bool__(self) -> bool:
        return bool(self.strips)

    @property
    def gutter(self) -> int:
        """The pixels left of a plot that the numbers of a vertical axis need, in steps that a style sheet has."""
        if self.y_axis is None:
            return MARGIN
        widest = max(width_of(self.y_axis.tick_name(tick)) for tick in self.y_axis.ticks())
        return 10 * min(max(3, ceil((widest + 7) / 10)), 9)

    @property
    def keys(self) -> list[Key]:
        """The classes of items that it is about."""
        return [strip.key for strip in self.strips]

    def linked(self, addresses: Mapping[Key, str]) -> Self:
        """Return the chart with links to those of its classes of items that have an address."""
        links = {key: addresses[key] for key in self.keys if key in addresses}
        return replace(self, links=links) if links else self

    def __str__(self) -> str:
        return self.page()

    def __reduce__(self) -> tuple[type["Kept"], tuple[Svg], dict[str, str]]:
        """A cache, which cannot keep functions that draw, keeps what a page shows."""
        return Kept, (self.page(),), {"caption": self.caption}

    @property
    def below(self) -> str:
        """What a page says below the picture."""
        return "; ".join(filter(None, (self.caption, self.rests)))

    @property
    def alternative(self) -> str:
        return f"{self.finding}. {self.words}"

    def page(self) -> Svg:
        """Return the chart as HTML that takes the width of its box."""
        if not self:
            return Svg()
        key = "".join(f"<span>{key_of(kind)}{escape(name)}</span>" for kind, name in self.legend)
        key = f'<div class="key">{key}</div>' if key else ""
        body = "".join(_html(strip, self.links.get(strip.key)) for strip in self.strips)
        if self.below:
            body += _html(Strip(words=self.below, css="axis below"))
        css = f"chart with-y y-{self.gutter}" if self.y_axis else "chart"
        # A picture hides the links in it from screen readers, which a group does not.
        role = "group" if self.links else "img"
        start = f'<div class="{css}" role="{role}" aria-label="{escape(self.alternative)}">'
        return Svg(f'<div class="chart-box">{start}{key}{body}</div></div>')

    def file(self, *, alone: bool = False) -> Svg:
        """Return the chart as an SVG of a fixed width, on its own ground if it stands alone."""
        if not self:
            return Svg()
        layout = _Layout(self)
        if self.notice:
            layout.write(self.notice, "axis", WIDTH / 2, WIDTH - 2 * PAD)
        layout.draw_legend()
        for strip in self.strips:
            layout.draw_strip(strip)
        height = layout.top + PAD
        ground = [tag("rect", width=WIDTH, height=height, fill=PAPER)] if alone else []
        return svg(WIDTH, height, self.alternative, [*ground, *layout.drawn])


class Kept(Svg):
    """A chart out of a cache, as a page shows it, with its caption."""

    caption: str = ""


NOTHING = Chart()


def key_of(kind: Kind) -> Svg:
    """Return a mark as it stands before a name on a page."""
    drawn = mark(kind, {"class_": kind})
    return Svg(f'<svg class="mark" viewBox="-8 -8 16 16" aria-hidden="true">{drawn}</svg>')


def link_to(markup: str, address: str | None) -> str:
    """Return a name of a class of items that leads to these items alone, if it has an address."""
    return (
        f'<a href="{escape(address)}" title="only these items">{markup}</a>' if address else markup
    )


def _html(strip: Strip, address: str | None = None) -> str:
    if strip.css == "group":
        heading = f'<span class="group">{link_to(escape(strip.name), address)}</span>'
        return f'<div class="strip heading">{_plot(strip)}{heading}</div>'
    words, note = strip.name.parts if isinstance(strip.name, ItemsName) else (strip.name, "")
    short = shortened(words)
    title = "" if short == words else f' title="{escape(strip.name)}"'
    name = link_to(escape(short), address)
    name += f' <small class="note">{escape(note)}</small>' if note else ""
    parts = f'<span class="name"{title}>{name}</span>' if strip.name else ""
    parts += _plot(strip)
    if strip.words:
        parts += f'<span class="words {strip.css}">{escape(strip.words)}</span>'
    if strip.value:
        parts += f'<span class="value">{escape(strip.value)}</span>'
    return f'<div class="strip">{parts}</div>'


def _plot(strip: Strip) -> str:
    if strip.draw is None:
        return ""
    return f'<div class="plot {strip.size}"><svg>{"".join(strip.draw(Fluid()))}</svg></div>'


class _Layout:
    """Where the strips of a file come to stand: names, plots and values in three columns."""

    def __init__(self, chart: Chart) -> None:
        self.chart, self.top, self.drawn = chart, float(PAD), list[str]()
        rows = [strip for strip in chart.strips if strip.css != "group"]
        names = max((width_of(shortened(strip.name)) for strip in rows), default=0.0)
        self.names = min(names, chart.names * WIDTH)
        values = max((width_of(strip.value) for strip in rows), default=0.0)
        self.left = PAD + self.names + chart.gutter
        self.right = WIDTH - PAD - values - MARGIN - (GAP if values else 0)

    def write(self, words: str, css: str, x: float, width: float) -> None:
        """Write lines of words from the top on, and leave the top below them."""
        for line in wrapped(words, width):
            self.drawn.append(tag("text", escape(line), x=x, y=self.top + LETTER, **paint(css)))
            self.top += LINE_HEIGHT

    def draw_legend(self) -> None:
        x = float(PAD)
        for kind, name in self.chart.legend:
            width = width_of(shortened(name)) + 2 * LETTER
            if x > PAD and x + width > WIDTH - PAD:
                x, self.top = float(PAD), self.top + LINE_HEIGHT + 4
            key = Fixed(x + 7, self.top + LINE_HEIGHT / 2, 0, 0)
            self.drawn.append(key.mark((0, 0), kind))
            words = key.text((0, 0), shortened(name), "start", dx=12, dy=5)
            self.drawn.append(words)
            x += width + GAP
        self.top += (LINE_HEIGHT + GAP) if self.chart.legend else 0

    def draw_strip(self, strip: Strip) -> None:
        if strip.css == "group":
            lines = wrapped(strip.name, WIDTH - 2 * PAD)
            height, wide = GAP / 2 + LINE_HEIGHT * len(lines), max(map(width_of, lines))
            if strip.draw:
                self.drawn += strip.draw(Fixed(self.left, self.top, self.right - self.left, height))
                self.drawn.append(
                    tag("rect", x=PAD, y=self.top, width=wide, height=height, fill=PAPER)
                )
            self.top += GAP / 2
            self.write(strip.name, "group", PAD, WIDTH - 2 * PAD)
            return
        if strip.words and strip.css == "axis":
            middle = (self.left + self.right) / 2
            self.write(strip.words, "axis", middle, 2 * (min(middle, WIDTH - middle) - PAD))
            return
        names = wrapped(shortened(strip.name), self.names) if strip.name else []
        words = wrapped(strip.words, self.right - self.left) if strip.words else []
        if strip.size in TALL:
            self.top += GAP / 2
        least = SIZES[strip.size] if strip.draw else SIZES["line"]
        height = max(least, LINE_HEIGHT * max(len(names), len(words)) + (4 if names else 0))
        column = self._column(names, PAD, height, "name")
        if shortened(strip.name) != strip.name:
            column = tag("g", titled(strip.name) + column)
        self.drawn += [column, self._column(words, self.left, height, strip.css)]
        if strip.value:
            self.drawn.append(self._column([strip.value], WIDTH - PAD, height, "value"))
        if strip.draw:
            self.drawn += strip.draw(Fixed(self.left, self.top, self.right - self.left, height))
        self.top += height

    def _column(self, lines: list[str], x: float, height: float, css: str) -> str:
        """Return lines in the middle of a strip."""
        first = self.top + height / 2 - LINE_HEIGHT * (len(lines) - 1) / 2 + 5
        return "".join(
            tag("text", escape(line), x=x, y=first + n * LINE_HEIGHT, **paint(css))
            for n, line in enumerate(lines)
        )


@lru_cache(maxsize=64)  # all strips of a page's chart have the same lines
def x_grid(canvas: Canvas, axis: Axis) -> str:
    """Draw a line from top to bottom at each tick."""
    return canvas.path([((axis.at(t), 0), (axis.at(t), 1)) for t in axis.ticks()], "grid")


def y_grid(canvas: Canvas, axis: Axis, most: float = inf) -> Iterator[str]:
    """Draw a line from left to right at each tick up to `most`, and its number; the axis goes upwards."""
    ticks = [tick for tick in axis.ticks() if tick <= most]
    yield canvas.path([((0, 1 - axis.at(t)), (1, 1 - axis.at(t))) for t in ticks], "grid")
    for tick in ticks:
        at = (0, 1 - axis.at(tick))
        yield canvas.text(at, axis.tick_name(tick), "y-tick", dx=-8, dy=5)


def words_at(canvas: Canvas, at: Point, words: str, **attributes: Any) -> str:
    """Write words that begin at a position, or end there where they would leave the plot."""
    return canvas.text(at, words, "start" if at[0] < 1 - END else "y-tick", **attributes)


def stand_apart(words: Iterable[tuple[float, str]]) -> bool:
    """Whether words have room in the narrowest plot, each with its middle at a share of the width."""
    return all(
        (width_of(one) + width_of(other)) / 2 + GAP <= NARROW * (right - left)
        for (left, one), (right, other) in pairwise(words)
    )


def x_axis(axis: Axis, label: str) -> tuple[Strip, Strip]:
    """Return the numbers below a plot, of which a narrow page may show every other one, and the title."""
    hides = not stand_apart((axis.at(tick), axis.tick_name(tick)) for tick in axis.ticks())

    def draw(canvas: Canvas) -> Iterator[str]:
        ticks = axis.ticks()
        is_narrow = canvas.is_narrower_than(sum(width_of(axis.tick_name(t)) for t in ticks))
        for n, tick in enumerate(ticks):
            if n % 2 and is_narrow:
                continue
            hidden = {"data_n": 1} if n % 2 and hides else {}
            yield canvas.text((axis.at(tick), 0.5), axis.tick_name(tick), "tick", dy=5, **hidden)

    return Strip(draw=draw, size="ticks"), Strip(words=label, css="axis")
