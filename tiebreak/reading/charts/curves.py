"""Charts with a horizontal and a vertical axis: points by range, lines over time, and scatters."""

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, field
from datetime import datetime

from tiebreak.digits import in_digits
from tiebreak.reading.charts.axes import Axis, padded
from tiebreak.reading.charts.svg import (
    COLOURS,
    NOTHING,
    Kind,
    Svg,
    grid_line,
    mark,
    svg,
    tag,
    text,
    whisker,
    x_grid,
    y_grid,
)
from tiebreak.stats import Estimate

LEFT, RIGHT, TOP, BOTTOM, WIDTH, HEIGHT = 56, 480, 24, 230, 500, 290
OFFSET = 9


@dataclass(frozen=True)
class Series:
    """Estimates of one kind of rater at values of x, and how they are written."""

    kind: Kind
    name: str
    points: tuple[tuple[float, Estimate], ...]
    words: Callable[[float], str] = field(default=in_digits, kw_only=True)

    @property
    def drawn(self) -> list[tuple[float, Estimate]]:
        return [(x, estimate) for x, estimate in self.points if estimate.is_defined]


def range_chart(
    series: Sequence[Series],
    edges: Sequence[float],
    *,
    finding: str,
    x_label: str,
    y_bounds: tuple[float, float] = (0.0, 1.0),
    with_diagonal: bool = False,
) -> Svg:
    """Draw each series' estimates at their values of x, side by side.

    With more than two ``edges``, the ranges between them are marked on the axis.
    """
    if not any(one.drawn for one in series):
        return NOTHING
    x, y = Axis(edges[0], edges[-1], LEFT, RIGHT), Axis(*y_bounds, BOTTOM, TOP)
    body = [y_grid(y, LEFT, RIGHT), text((LEFT + RIGHT) / 2, BOTTOM + 46, x_label)]
    if len(edges) > 2:
        body += [text(x.at(edge), BOTTOM + 18, in_digits(edge)) for edge in edges]
    else:
        body.append(x_grid(x, BOTTOM, BOTTOM))
    if with_diagonal:
        body.append(_diagonal())
    words = []
    for position, one in enumerate(series):
        shift = (position - (len(series) - 1) / 2) * OFFSET
        body += _points(one, x, y, shift)
        values = ", ".join(
            f"{at if isinstance(at, int) else in_digits(at)}: {one.words(estimate.value)}"
            for at, estimate in one.drawn
        )
        words.append(f"{one.name} at {values}")
    return svg(WIDTH, HEIGHT, f"{finding}. {'; '.join(words)}", body)


def _points(series: Series, x: Axis, y: Axis, shift: float) -> Iterator[str]:
    for value, estimate in series.drawn:
        at = x.at(value) + shift
        if estimate.has_interval:
            yield whisker((at, y.at(estimate.low)), (at, y.at(estimate.high)), series.kind)
        title = f"{series.name}: {series.words(estimate.value)}, n = {estimate.n}"
        yield mark(at, y.at(estimate.value), series.kind, title)


def _diagonal() -> str:
    return grid_line((LEFT, BOTTOM), (RIGHT, TOP)).replace("grid", "reference")


def scatter_chart(
    points: Sequence[tuple[float, float, Kind, str]],
    *,
    finding: str,
    x_label: str,
    y_label: str,
    y_bounds: tuple[float, float] = (0.0, 1.0),
    with_diagonal: bool = False,
) -> Svg:
    """Draw a mark per point (x, y, kind, name); with a diagonal, both axes have the same bounds."""
    if not points:
        return NOTHING
    x_bounds = y_bounds if with_diagonal else (0.0, padded([x for x, *_ in points], include=0.0)[1])
    x, y = Axis(*x_bounds, LEFT, RIGHT), Axis(*y_bounds, BOTTOM, TOP)
    body = [x_grid(x, TOP, BOTTOM), y_grid(y, LEFT, RIGHT)]
    if with_diagonal:
        body.append(_diagonal())
    body += [text((LEFT + RIGHT) / 2, BOTTOM + 46, x_label), text(LEFT, 12, y_label, "start")]
    body += [mark(x.at(a), y.at(b), kind, name) for a, b, kind, name in points]
    return svg(WIDTH, HEIGHT, f"{finding}. {len(points)} points", body)


def time_chart(
    moments: Sequence[tuple[datetime, int]], *, goal: int, finding: str, unit: str
) -> Svg:
    """Draw a count that grows with time, and the line that it should reach."""
    if not moments:
        return NOTHING
    first, last = moments[0][0], moments[-1][0]
    x = Axis(0, max((last - first).total_seconds(), 1.0), LEFT, RIGHT)
    y = Axis(0, max(goal, moments[-1][1], 1), BOTTOM, TOP)
    path = " ".join(
        f"L{x.at((when - first).total_seconds()):.1f} {y.at(n):.1f}" for when, n in moments
    )
    area = f"M{LEFT} {BOTTOM} {path} L{RIGHT} {BOTTOM} Z"
    body = [
        y_grid(y, LEFT, RIGHT),
        tag("path", d=area, class_="human", fill=COLOURS["human"], fill_opacity=0.25),
        tag(
            "path",
            d=f"M{path[1:]}",
            class_="human-line",
            fill="none",
            stroke=COLOURS["human"],
            stroke_width=2,
        ),
        grid_line((LEFT, y.at(goal)), (RIGHT, y.at(goal))).replace("grid", "reference"),
        text(LEFT, BOTTOM + 20, f"{first:%-d %b %H:%M}", "start"),
        text(RIGHT, BOTTOM + 20, f"{last:%-d %b %H:%M} UTC", "end"),
        text(LEFT, 12, unit, "start"),
    ]
    words = (
        f"{finding}. From {first:%-d %b %H:%M} to {last:%-d %b %H:%M}: {moments[-1][1]} of {goal}"
    )
    return svg(WIDTH, BOTTOM + 34, words, body)
