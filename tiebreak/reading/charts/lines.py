"""Charts of a number that changes along a horizontal axis, with a target."""

from collections.abc import Sequence
from dataclasses import dataclass

from tiebreak.digits import in_digits
from tiebreak.reading.charts.axes import Axis, padded
from tiebreak.reading.charts.curves import BOTTOM, HEIGHT, LEFT, RIGHT, TOP, WIDTH
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
    x_grid,
    y_grid,
)

Point = tuple[float, float]


@dataclass(frozen=True)
class Line:
    """Points (x, y) in order of x; the marks of the second kind are hollow."""

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
) -> Svg:
    """Draw lines with a mark at their ends, and the target as a horizontal line."""
    drawn = [line for line in lines if line.points]
    if not drawn:
        return NOTHING
    include = 0.0 if from_zero else None
    _, right = padded([x for line in drawn for x, _ in line.points], include=include)
    heights = [y for line in drawn for _, y in line.points]
    _, top = padded([*heights, *([] if target is None else [target])], include=0.0)
    x, y = Axis(0.0, right, LEFT, RIGHT), Axis(0.0, top, BOTTOM, TOP)
    body = [x_grid(x, TOP, BOTTOM), y_grid(y, LEFT, RIGHT)]
    body += [text((LEFT + RIGHT) / 2, BOTTOM + 46, x_label), text(LEFT, 12, y_label, "start")]
    if target is not None:
        at = y.at(target)
        body.append(grid_line((LEFT, at), (RIGHT, at)).replace("grid", "reference"))
        body.append(text(RIGHT, at - 5, f"target {in_digits(target)}", "end"))
    body += [_drawn(line, x, y) for line in drawn]
    return svg(WIDTH, HEIGHT, f"{finding}. {'; '.join(map(_in_words, drawn))}", body)


def _drawn(line: Line, x: Axis, y: Axis) -> str:
    name = line.kind.partition("-")[0]
    path = "L".join(f"{x.at(a):.1f} {y.at(b):.1f}" for a, b in line.points)
    colour = COLOURS[name]
    stroke = tag(
        "path", d=f"M{path}", class_=f"{name}-line", fill="none", stroke=colour, stroke_width=2
    )
    marks = [
        mark(x.at(a), y.at(b), line.kind, f"{line.name}: {a:,.0f}, {in_digits(b)}")
        for a, b in (line.points[0], line.points[-1])
    ]
    return stroke + "".join(marks)


def _in_words(line: Line) -> str:
    (first_x, first_y), (last_x, last_y) = line.points[0], line.points[-1]
    return (
        f"{line.name}: {in_digits(first_y)} at {first_x:,.0f}, {in_digits(last_y)} at {last_x:,.0f}"
    )
