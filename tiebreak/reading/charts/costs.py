"""Charts of what raters cost and how well they agree, on an axis of powers of ten."""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from math import ceil, floor, log10

from tiebreak.reading.charts.axes import Axis, padded
from tiebreak.reading.charts.chart import (
    END,
    LINE_HEIGHT,
    NOTHING,
    SIZES,
    Chart,
    words_at,
    x_axis,
    x_grid,
    y_grid,
)
from tiebreak.reading.charts.curves import Series, drawn_points, field_chart
from tiebreak.reading.charts.svg import MAX_MARKS, Canvas, Point
from tiebreak.stats import Estimate

LINE = LINE_HEIGHT / SIZES["field"]  # of the height of a plot
REACH = 0.45  # of the width of a plot, within which names would meet


@dataclass(frozen=True)
class Decades(Axis):
    """An axis between two powers of ten, with a tick at each; what is free stands at its left end."""

    has_free: bool = False

    @classmethod
    def of(cls, values: Sequence[float]) -> "Decades":
        known = [log10(value) for value in values if value > 0]
        has_free = len(known) < len(values)
        low = floor(min(known)) - has_free
        return cls(low, max(ceil(max(known)), low + 1), has_free=has_free)

    def at(self, value: float) -> float:
        return super().at(log10(value)) if value > 0 else 0.0

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
    labels = _labels(raters, x, y, 1 - y.at(bound.value) - LINE / 2 if bound.is_defined else -1.0)

    def draw(canvas: Canvas) -> Iterator[str]:
        yield x_grid(canvas, x)
        yield from y_grid(canvas, y)
        if among.has_interval:
            corners = (0, 1 - y.at(among.high)), (1, 1 - y.at(among.low))
            yield canvas.bar(*corners, "human", fill_opacity=0.16)
        if bound.is_defined:
            yield canvas.line((0, 1 - y.at(bound.value)), (1, 1 - y.at(bound.value)), "reference")
        for rater in raters:
            yield from drawn_points(rater, x, y, canvas)
        for at, words in labels:
            # Beside its mark: at the right, or where there is no room, at the left.
            aside = {"dx": 10, "dy": 5} if at[0] < 1 - END else {"dx": -10, "dy": 5}
            yield words_at(canvas, at, words, **aside, font_weight=600)
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
        y_label=y_label,
        below=x_axis(x, x_label),
    )


def _labels(raters: Sequence[Series], x: Axis, y: Axis, taken: float) -> list[tuple[Point, str]]:
    """Return where the names of raters stand: at their marks, or below what stands there already.

    Raters that are too many to differ in their marks have none. `taken` is a height at the right.
    """
    placed = [(1.0, taken)]
    found = []
    for at, name in sorted(
        ((x.at(cost), 1 - y.at(one.value)), rater.name)
        for rater in raters
        for cost, one in rater.drawn
        if len(raters) <= MAX_MARKS
    ):
        height = at[1]
        while any(abs(at[0] - left) < REACH and abs(height - top) < LINE for left, top in placed):
            height += LINE
        placed.append((at[0], height))
        found.append(((at[0], height), name))
    return found
