"""Charts of a number that changes along a horizontal axis, with a target."""

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from functools import partial

from tiebreak.digits import in_digits
from tiebreak.reading.charts.axes import Axis, padded
from tiebreak.reading.charts.chart import (
    END,
    LINE_HEIGHT,
    NARROW,
    NOTHING,
    SIZES,
    Chart,
    words_at,
    x_axis,
    y_grid,
)
from tiebreak.reading.charts.curves import field_chart
from tiebreak.reading.charts.svg import Canvas, Kind, Point, width_of

FAR = 1.5  # times x of another point


@dataclass(frozen=True)
class Line:
    """Points (x, y) in order of x; a line of the second kind is dashed, and its mark is hollow."""

    kind: Kind
    name: str
    points: tuple[Point, ...]


def line_chart(
    lines: Sequence[Line],
    *,
    finding: str,
    x_label: str,
    y_label: str,
    target: float | None = None,
    target_name: str = "target",
    unit: str = "",
    sign: str = "",
    noted: Callable[[float], str] | None = None,
) -> Chart:
    """Draw lines with a mark at their end, and the target as a horizontal line.

    With a `unit` of x, such as "ratings", the numbers of a line's end are written at its mark, with
    what is ``noted`` of x below; of a falling line that reaches the target, those of where it does.
    The lines then have no legend, the target has its name at its end that is free, and the axis ends
    with them. ``sign`` stands before each y.
    """
    drawn = [line for line in lines if line.points]
    if not drawn:
        return NOTHING
    right = max(x for line in drawn for x, _ in line.points)
    if not unit:
        _, right = padded([right], include=0.0)
    heights = [y for line in drawn for _, y in line.points]
    _, top = padded([*heights, *([] if target is None else [target])], include=0.0)
    x, y = Axis(0.0, right, is_of_counts=True), Axis(0.0, top)

    def draw(canvas: Canvas) -> Iterator[str]:
        yield from y_grid(canvas, y)
        if target is not None:
            yield canvas.line((0, 1 - y.at(target)), (1, 1 - y.at(target)), "reference")
        for line in drawn:
            yield from _drawn(line, x, y, canvas)
            for point in _told(line, target) if unit else ():
                at, words = (x.at(point[0]), 1 - y.at(point[1])), _numbers(point, unit, sign)
                if point != line.points[-1]:
                    yield canvas.mark(at, line.kind, words)
        if target is not None and unit:
            ends_above = any(line.points[-1][1] >= target for line in drawn)
            yield _named(canvas, 1 - y.at(target), named, ends_above, beside)
        for at, words, dy in beside:
            yield words_at(canvas, at, words, dy=dy, font_weight=600)

    def numbers(point: Point) -> Iterator[tuple[Point, str, int]]:
        at, note = (x.at(point[0]), 1 - y.at(point[1])), noted(point[0]) if noted else ""
        # Beside a falling line there is room above at its right, and below at its left.
        top = -12 - LINE_HEIGHT * bool(note) if at[0] < 1 - END else 20
        yield at, _numbers(point, unit, sign), top
        if note:
            yield at, note, top + LINE_HEIGHT

    told = [point for line in drawn for point in _told(line, target)] if unit else []
    beside = [one for point in told for one in numbers(point)]
    words = "; ".join(map(partial(_in_words, target=target), drawn))
    named = f"{target_name} {sign}{in_digits(target)}" if target is not None else ""
    legend = tuple((line.kind, line.name) for line in drawn) if len(drawn) > 1 else ()
    legend = () if unit else (*legend, *[("reference", named)] * bool(named))
    below = x_axis(x, x_label)
    return field_chart(
        draw, finding=finding, words=words, y=y, y_label=y_label, below=below, legend=legend
    )


def _named(
    canvas: Canvas,
    height: float,
    name: str,
    at_start: bool,
    beside: Sequence[tuple[Point, str, int]],
) -> str:
    """Write the name of the target where no line ends, which a narrow page hides if it meets other words."""
    place, style = (float(not at_start), height), "start" if at_start else "y-tick"
    left = 4 if at_start else NARROW - width_of(name)
    ends = [NARROW * at[0] + width_of(words) * (at[0] < 1 - END) for at, words, _ in beside]
    meets = any(
        left < end
        and end - width_of(words) < left + width_of(name)
        and abs((at[1] - height) * SIZES["field"] + dy + 6) < LINE_HEIGHT
        for end, (at, words, dy) in zip(ends, beside, strict=True)
    )
    hidden = {"data_n": 1} if meets else {}
    return canvas.text(place, name, style, dx=4 * at_start, dy=-6, **hidden)


def _reached(line: Line, target: float | None) -> Point | None:
    """Return the first point at which a line that begins above the target is not above it any more."""
    if target is None or line.points[0][1] <= target:
        return None
    return next((point for point in line.points if point[1] <= target), None)


def _told(line: Line, target: float | None) -> list[Point]:
    """Return the points with numbers: where a line reaches the target, and its end if that is far."""
    (last, _), reached = line.points[-1], _reached(line, target)
    if reached is None:
        return [line.points[-1]]
    is_forecast = line.kind.endswith("-open")
    return [reached] if is_forecast or last < FAR * reached[0] else [reached, line.points[-1]]


def _numbers(point: Point, unit: str, sign: str) -> str:
    return f"{point[0]:,.0f} {unit}: {sign}{in_digits(point[1])}"


def _drawn(line: Line, x: Axis, y: Axis, canvas: Canvas) -> Iterator[str]:
    points = [(x.at(a), 1 - y.at(b)) for a, b in line.points]
    dashes = {"stroke_dasharray": "5 4"} if line.kind.endswith("-open") else {}
    name = f"{line.kind.removesuffix('-open')}-line"
    yield canvas.path([points], name, stroke_width=2, **dashes)
    a, b = line.points[-1]
    yield canvas.mark(points[-1], line.kind, f"{line.name}: {a:,.0f}, {in_digits(b)}")


def _in_words(line: Line, target: float | None = None) -> str:
    (first_x, first_y), (last_x, last_y) = line.points[0], line.points[-1]
    words = (
        f"{line.name}: {in_digits(first_y)} at {first_x:,.0f}, {in_digits(last_y)} at {last_x:,.0f}"
    )
    reached = _reached(line, target)
    return f"{words}, {in_digits(reached[1])} at {reached[0]:,.0f}" if reached else words
