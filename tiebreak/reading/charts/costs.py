"""Charts of what raters cost and how well they agree, on an axis of powers of ten."""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from math import ceil, floor, log10

from tiebreak.reading.charts.axes import Axis, padded
from tiebreak.reading.charts.chart import NOTHING, Chart, x_axis, x_grid, y_grid
from tiebreak.reading.charts.curves import Series, drawn_points, field_chart
from tiebreak.reading.charts.svg import MAX_MARKS, Canvas
from tiebreak.stats import Estimate


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
    *,
    finding: str,
    x_label: str,
    y_label: str,
) -> Chart:
    """Draw each rater at its cost with its interval, above which no rater can be expected to be ``most``.

    That is a line with its name, and its interval a band.
    """
    drawn = [(cost, one) for rater in raters for cost, one in rater.drawn]
    if not any(cost for cost, _ in drawn):
        return NOTHING
    (name, bound), x = most, Decades.of([cost for cost, _ in drawn])
    known = [*(estimate for _, estimate in drawn), bound]
    low, high = padded([end for one in known for end in (one.value, one.low, one.high)])
    y = Axis(max(low, 0.0), min(high, 1.0))

    def draw(canvas: Canvas) -> Iterator[str]:
        yield x_grid(canvas, x)
        yield from y_grid(canvas, y)
        if bound.has_interval:
            ends = (0, 1 - y.at(bound.high)), (1, 1 - y.at(bound.low))
            yield canvas.bar(*ends, "human", fill_opacity=0.16)
        if bound.is_defined:
            yield canvas.line((0, 1 - y.at(bound.value)), (1, 1 - y.at(bound.value)), "reference")
        for rater in raters:
            yield from drawn_points(rater, x, y, canvas)

    words = "; ".join(
        f"{rater.name} at {x.tick_name(cost)}: {rater.words(one.value)}"
        for rater in raters
        for cost, one in rater.drawn
    )
    named = raters if len(raters) <= MAX_MARKS else []
    return field_chart(
        draw,
        finding=finding,
        words=words,
        y_label=y_label,
        below=x_axis(x, x_label),
        legend=(*((one.kind, one.name) for one in named), ("reference", name)),
    )
