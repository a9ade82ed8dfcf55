"""Charts of what raters cost and how well they agree, on an axis of powers of ten."""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from math import ceil, floor, log10

from tiebreak.reading.charts.axes import Axis, padded
from tiebreak.reading.charts.chart import (
    LINE_HEIGHT,
    NARROW,
    NOTHING,
    SIZES,
    Chart,
    x_axis,
    y_grid,
)
from tiebreak.reading.charts.curves import Series, drawn_points, field_chart
from tiebreak.reading.charts.svg import MAX_MARKS, Canvas, Fixed, width_of
from tiebreak.stats import Estimate

LINE = LINE_HEIGHT / SIZES["field"]  # of the height of a plot
WIDE = 1100  # pixels of the width of a plot on a wide screen
ASIDE = 10  # pixels between a mark and its name
FREE = 0.35  # of a step, from the left end to what is free


@dataclass(frozen=True)
class Box:
    """What something covers of a plot, in shares of its sides."""

    left: float
    right: float
    top: float
    bottom: float

    @property
    def is_inside(self) -> bool:
        return min(self.left, self.top) >= 0 and max(self.right, self.bottom) <= 1

    def meets(self, other: "Box") -> bool:
        across = self.left < other.right and other.left < self.right
        return across and self.top < other.bottom and other.top < self.bottom


@dataclass(frozen=True)
class Label:
    """Words that begin or end at a mark, or so many pixels beside it, and what they cover at most."""

    at: float
    box: Box
    style: str
    dx: int
    words: str = ""


@dataclass(frozen=True)
class Decades(Axis):
    """An axis between two powers of ten, with a tick at each; what is free stands left of them."""

    has_free: bool = False

    @classmethod
    def of(cls, values: Sequence[float]) -> "Decades":
        known = [log10(value) for value in values if value > 0]
        has_free = len(known) < len(values)
        low = floor(min(known)) - has_free
        return cls(low, max(ceil(max(known)), low + 1), has_free=has_free)

    def at(self, value: float) -> float:
        return super().at(log10(value) if value > 0 else self.low + FREE)

    def ticks(self) -> list[float]:
        first, *others = (10.0**n for n in range(int(self.low), int(self.high) + 1))
        return [0.0 if self.has_free else first, *others]

    def tick_name(self, value: float) -> str:
        return f"{value:,.10g}" if value else "free"


def cost_chart(
    raters: Sequence[Series],
    most: tuple[str, Estimate],
    among: Estimate,
    *,
    finding: str,
    x_label: str,
    y_label: str,
) -> Chart:
    """Draw each rater at its cost with its interval, and a line at ``most``, above which no rater can be expected.

    The interval of ``among`` is a band. The names of raters stand at their marks.
    """
    drawn = [(cost, one) for rater in raters for cost, one in rater.drawn]
    if not any(cost for cost, _ in drawn):
        return NOTHING
    (name, bound), x = most, Decades.of([cost for cost, _ in drawn])
    known = [*(estimate for _, estimate in drawn), among]
    ends = [end for one in known for end in (one.value, one.low, one.high)]
    low, high = padded([*ends, bound.value])
    y = Axis(max(low, 0.0), min(high, 1.0))
    at_most = 1 - y.at(bound.value)

    def named(canvas: Canvas, pixels: float, **shown: int) -> Iterator[str]:
        taken = [Box(1 - width_of(name) / pixels, 1, at_most - LINE, at_most)] * bound.is_defined
        for one in names_at_marks(raters, x, y, taken, pixels):
            at = one.at, (one.box.top + one.box.bottom) / 2
            yield canvas.text(at, one.words, one.style, dx=one.dx, dy=5, font_weight=600, **shown)

    def draw(canvas: Canvas) -> Iterator[str]:
        yield from y_grid(canvas, y)
        if among.has_interval:
            corners = (0, 1 - y.at(among.high)), (1, 1 - y.at(among.low))
            yield canvas.bar(*corners, "human", fill_opacity=0.16)
        if bound.is_defined:
            yield canvas.line((0, 1 - y.at(bound.value)), (1, 1 - y.at(bound.value)), "reference")
        for rater in raters:
            yield from drawn_points(rater, x, y, canvas)
        if isinstance(canvas, Fixed):
            yield from named(canvas, canvas.width)
        else:
            yield from named(canvas, NARROW, data_n=0)
            yield from named(canvas, WIDE, data_n=2)
        if bound.is_defined:
            yield canvas.text((1, 1 - y.at(bound.value)), name, "y-tick", dy=-5)

    words = "; ".join(
        f"{rater.name} at {x.tick_name(cost)}: {rater.words(one.value)}"
        for rater in raters
        for cost, one in rater.drawn
    )
    return field_chart(
        draw,
        finding=finding,
        words=words,
        y=y,
        y_label=y_label,
        below=x_axis(x, x_label),
    )


def names_at_marks(
    raters: Sequence[Series], x: Axis, y: Axis, taken: Sequence[Box], pixels: float
) -> list[Label]:
    """Return where the names of raters stand: at their marks, or else below or above their intervals.

    A plot has a width of so many pixels.

    A name is not on the interval of another rater, nor on what is `taken`, as far as there is room.
    Raters that are too many to differ in their marks have none.
    """
    marks = [(x.at(cost), rater.name, one) for rater in raters for cost, one in rater.drawn]
    if len(raters) > MAX_MARKS:
        return []
    gap = ASIDE / pixels
    lines = {name: _line(at, one, y, gap) for at, name, one in marks}
    choices = []
    for at, name, one in marks:
        others = [*taken, *(line for other, line in lines.items() if other != name)]
        places = _places(at, 1 - y.at(one.value), lines[name], width_of(name) / pixels)
        free = [place for place in places if not any(map(place.box.meets, others))]
        choices.append((len(free), name, free or places[:1]))
    found: list[Label] = []
    for _, name, places in sorted(choices, key=lambda choice: choice[:2]):  # the least free first
        free = [one for one in places if not any(one.box.meets(other.box) for other in found)]
        found.append(replace((free or places)[0], words=name))
    return found


def _line(at: float, one: Estimate, y: Axis, gap: float) -> Box:
    ends = (one.high, one.low) if one.has_interval else (one.value, one.value)
    top, bottom = (1 - y.at(end) for end in ends)
    return Box(at - gap / 2, at + gap / 2, top, bottom)


def _places(at: float, height: float, line: Box, wide: float) -> list[Label]:
    """Return where a name has room in the plot, or if it has none, at the right of its mark."""
    gap, middles = line.right - line.left, (height, line.bottom + LINE / 2, line.top - LINE / 2)
    half = round(wide / gap * ASIDE / 2)  # of the name, in pixels
    places = [
        Label(at, Box(*ends, middle - LINE / 2, middle + LINE / 2), style, dx)
        for middle, aside in zip(middles, (gap, 0, 0), strict=True)
        for ends, style, dx in (
            ((at + aside, at + aside + wide), "start", ASIDE * bool(aside)),
            *[((at - wide / 2, at + wide / 2), "y-tick", half)] * (not aside),
            ((at - aside - wide, at - aside), "y-tick", -ASIDE * bool(aside)),
        )
    ]
    return [label for label in places if label.box.is_inside] or places[:1]
