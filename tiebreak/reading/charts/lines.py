"""Charts of a number that changes along a horizontal axis, with a target."""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass

from tiebreak.digits import in_digits
from tiebreak.reading.charts.axes import Axis, padded
from tiebreak.reading.charts.chart import END, NOTHING, Chart, words_at, x_axis, x_grid, y_grid
from tiebreak.reading.charts.curves import field_chart
from tiebreak.reading.charts.svg import Canvas, Kind, Point


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
    from_zero: bool = True,
    unit: str = "",
) -> Chart:
    """Draw lines with a mark at their end, and the target as a horizontal line.

    With a `unit` of x, such as "ratings", the numbers of a line's end are written at its mark.
    """
    drawn = [line for line in lines if line.points]
    if not drawn:
        return NOTHING
    include = 0.0 if from_zero else None
    _, right = padded([x for line in drawn for x, _ in line.points], include=include)
    heights = [y for line in drawn for _, y in line.points]
    _, top = padded([*heights, *([] if target is None else [target])], include=0.0)
    x, y = Axis(0.0, right, is_of_counts=True), Axis(0.0, top)

    def draw(canvas: Canvas) -> Iterator[str]:
        yield x_grid(canvas, x)
        yield from y_grid(canvas, y)
        if target is not None:
            height = 1 - y.at(target)
            yield canvas.line((0, height), (1, height), "reference")
            yield canvas.text((1, height), f"target {in_digits(target)}", "y-tick", dy=-5)
        for line in drawn:
            yield from _drawn(line, x, y, canvas)
            a, b = line.points[-1]
            if unit:
                at = (x.at(a), 1 - y.at(b))
                # Beside a falling line there is room above at its right, and below at its left.
                dy = -12 if at[0] < 1 - END else 20
                yield words_at(canvas, at, f"{a:,.0f} {unit}: {in_digits(b)}", dy=dy)

    words = "; ".join(map(_in_words, drawn))
    legend = tuple((line.kind, line.name) for line in drawn) if len(drawn) > 1 else ()
    below = x_axis(x, x_label)
    return field_chart(
        draw, finding=finding, words=words, y_label=y_label, below=below, legend=legend
    )


def _drawn(line: Line, x: Axis, y: Axis, canvas: Canvas) -> Iterator[str]:
    points = [(x.at(a), 1 - y.at(b)) for a, b in line.points]
    dashes = {"stroke_dasharray": "5 4"} if line.kind.endswith("-open") else {}
    name = f"{line.kind.removesuffix('-open')}-line"
    yield canvas.path([points], name, stroke_width=2, **dashes)
    a, b = line.points[-1]
    yield canvas.mark(points[-1], line.kind, f"{line.name}: {a:,.0f}, {in_digits(b)}")


def _in_words(line: Line) -> str:
    (first_x, first_y), (last_x, last_y) = line.points[0], line.points[-1]
    return (
        f"{line.name}: {in_digits(first_y)} at {first_x:,.0f}, {in_digits(last_y)} at {last_x:,.0f}"
    )
