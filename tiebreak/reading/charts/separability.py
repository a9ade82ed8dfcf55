"""Distributions of separability, and the alignments that it is computed from."""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass

from tiebreak.digits import in_digits, percent
from tiebreak.reading.charts.axes import Axis, padded
from tiebreak.reading.charts.svg import (
    COLOURS,
    LINE,
    NOTHING,
    Kind,
    Svg,
    grid_line,
    line,
    mark,
    name_text,
    svg,
    tag,
    text,
    x_grid,
    y_grid,
)

LEFT, RIGHT, WIDTH, TOP = 12, 408, 420, 6
HEADING, NAME, TALLEST = 28, 22, 32


@dataclass(frozen=True)
class Ridge:
    """A name with the shares of values in bins (low, high, share) and the mean.

    Without bins it is a heading.
    """

    name: str
    kind: Kind = "human"
    bins: tuple[tuple[float, float, float], ...] = ()
    mean: float = 0.0

    @property
    def height(self) -> int:
        return NAME + TALLEST if self.bins else HEADING


def ridges_chart(ridges: Sequence[Ridge], *, finding: str, label: str, reference: float) -> Svg:
    """Draw a histogram per name below each other on one axis; heights are shares on one scale.

    ``reference`` is the value to compare with, drawn as a line.
    """
    drawn = [ridge for ridge in ridges if ridge.bins]
    if not drawn:
        return NOTHING
    ends = [end for ridge in drawn for low, high, _ in ridge.bins for end in (low, high)]
    axis = Axis(*padded(ends, include=reference), LEFT, RIGHT)
    bottom = TOP + sum(ridge.height for ridge in ridges)
    body = [
        x_grid(axis, TOP, bottom),
        text((LEFT + RIGHT) / 2, bottom + 38, label),
        *_ridges(ridges, axis, reference, max(s for ridge in drawn for *_, s in ridge.bins)),
    ]
    words = "; ".join(
        f"{ridge.name}: mean {in_digits(ridge.mean)}, from {in_digits(ridge.bins[0][0])} to"
        f" {in_digits(ridge.bins[-1][1])}"
        for ridge in drawn
    )
    return svg(WIDTH, bottom + 48, f"{finding}. {words}", body)


def _ridges(ridges: Sequence[Ridge], axis: Axis, reference: float, highest: float) -> Iterator[str]:
    base, at = float(TOP), axis.at(reference)
    for ridge in ridges:
        base += ridge.height
        if not ridge.bins:
            yield text(LEFT, base - 4, ridge.name, "start", "group")
            continue
        yield name_text(LEFT, base - TALLEST - 4, ridge.name, "start")
        yield line((at, base - TALLEST), (at, base), "reference", LINE)
        for low, high, share in ridge.bins:
            yield _bar(axis.at(low), axis.at(high), base, TALLEST * share / highest, percent(share))
        yield mark(axis.at(ridge.mean), base, ridge.kind, f"mean {in_digits(ridge.mean)}")


def _bar(left: float, right: float, base: float, height: float, title: str) -> str:
    return tag(
        "rect",
        tag("title", title),
        x=left,
        y=base - height,
        width=max(right - left - 0.5, 0.5),
        height=height,
        class_="human",
        fill=COLOURS["human"],
        fill_opacity=0.45,
    )


def scenarios_chart(cross: list[float], best_self: list[float]) -> Svg:
    """Draw instances by cross-alignment (x) and the higher of the two self-alignments (y).

    The four corners are the four scenarios of Ghosh et al. 2024, figure 2. Above the diagonal, the
    systems can be told apart.
    """
    if not cross:
        return NOTHING
    x, y = Axis(0.0, 1.0, 50, 350), Axis(0.0, 1.0, 320, 20)
    body = [
        x_grid(x, y.end, y.start),
        y_grid(y, x.start, x.end),
        grid_line((x.start, y.start), (x.end, y.end)).replace("grid", "reference"),
    ]
    for c, s in zip(cross, best_self, strict=True):
        body.append(
            tag(
                "circle",
                cx=x.at(c),
                cy=y.at(s),
                r=3.5,
                class_="human",
                fill=COLOURS["human"],
                fill_opacity=0.45,
            )
        )
    body.append(text(200, 356, "similarity between the two systems"))
    body.append(text(52, 12, "similarity within the more consistent system", "start"))
    above = sum(s > c for c, s in zip(cross, best_self, strict=True))
    description = (
        f"Self-alignment against cross-alignment of {len(cross)} instances, {above} of them above"
        " the diagonal"
    )
    return svg(400, 364, description, body)
