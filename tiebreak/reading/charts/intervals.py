"""Values with their intervals: a small glyph for a table's cell, and charts with a row per name."""

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass

from tiebreak.digits import in_digits
from tiebreak.reading.charts.axes import Axis, padded
from tiebreak.reading.charts.svg import (
    NOTHING,
    Kind,
    Svg,
    grid_line,
    mark,
    name_text,
    svg,
    text,
    whisker,
    width_of,
    x_grid,
)
from tiebreak.stats import Estimate

PLOT, STEP, TOP, RIGHT = 380, 16, 14, 20


@dataclass(frozen=True)
class Mark:
    """One estimate of a row, and how it is drawn and written."""

    kind: Kind
    estimate: Estimate
    series: str = ""
    words: Callable[[float], str] = in_digits


@dataclass(frozen=True)
class IntervalRow:
    """A name with its estimates below each other; without estimates it is a heading."""

    name: str
    marks: tuple[Mark, ...] = ()

    @property
    def drawn(self) -> list[Mark]:
        return [mark for mark in self.marks if mark.estimate.is_defined]

    @property
    def height(self) -> int:
        return 18 + STEP * max(len(self.drawn), 1)


def interval_glyph(estimate: Estimate, *, low: float = -1.0, high: float = 1.0) -> Svg:
    """Draw a value with its interval on a small axis, or return "" if the value is undefined."""
    if not estimate.is_defined:
        return NOTHING
    axis = Axis(low, high, 6, 134)
    middle = axis.at(0.0 if low < 0 else (low + high) / 2)
    drawn = Mark("human", estimate)
    body = [grid_line((middle, 0), (middle, 14)), _drawn(axis, 7, drawn)]
    return svg(140, 14, _in_words(drawn), body, "glyph")


def interval_chart(
    rows: Sequence[IntervalRow],
    *,
    finding: str,
    label: str,
    reference: float | None = None,
    bounds: tuple[float, float] | None = None,
) -> Svg:
    """Draw a row per name with its values and intervals, or return "" if none is defined.

    ``reference`` is the value to compare with, drawn as a line. ``bounds`` limit the axis.
    """
    marks = [mark for row in rows for mark in row.drawn]
    if not marks:
        return NOTHING
    left = 24 + max(width_of(row.name) for row in rows)
    bottom = TOP + sum(row.height for row in rows)
    axis = Axis(*_range(marks, reference, bounds), left, left + PLOT)
    body = [x_grid(axis, TOP, bottom), text(left + PLOT / 2, bottom + 38, label)]
    if reference is not None:
        x = axis.at(reference)
        body.append(grid_line((x, TOP), (x, bottom)).replace('class="grid"', 'class="reference"'))
    body += _rows(rows, axis)
    return svg(left + PLOT + RIGHT, bottom + 48, f"{finding}. {_alternative(rows)}", body)


def _range(
    marks: list[Mark], reference: float | None, bounds: tuple[float, float] | None
) -> tuple[float, float]:
    ends = [
        end
        for mark in marks
        for end in (mark.estimate.value, mark.estimate.low, mark.estimate.high)
    ]
    low, high = padded(ends, include=reference)
    return (max(low, bounds[0]), min(high, bounds[1])) if bounds else (low, high)


def _rows(rows: Sequence[IntervalRow], axis: Axis) -> Iterator[str]:
    top = float(TOP)
    for row in rows:
        middle = top + row.height / 2
        if row.marks:
            yield name_text(axis.start - 12, middle + 4, row.name)
        else:
            yield name_text(2, middle + 4, row.name, "start", "group")
        first = middle - STEP * (len(row.drawn) - 1) / 2
        for position, drawn in enumerate(row.drawn):
            yield _drawn(axis, first + position * STEP, drawn)
        top += row.height


def _drawn(axis: Axis, y: float, drawn: Mark) -> str:
    estimate = drawn.estimate
    name = f"{drawn.series}: {_in_words(drawn)}" if drawn.series else ""
    whole = mark(axis.at(estimate.value), y, drawn.kind, name)
    if not estimate.has_interval:
        return whole
    ends = [(estimate.low, estimate.high, 2.0)]
    ends += [(inner.low, inner.high, 5.0) for inner in estimate.narrower[:1]]
    lines = (
        whisker((axis.at(low), y), (axis.at(high), y), drawn.kind, width=width)
        for low, high, width in ends
    )
    return "".join(lines) + whole


def _in_words(drawn: Mark) -> str:
    estimate, written = drawn.estimate, drawn.words
    words = written(estimate.value)
    if estimate.has_interval:
        words += f", interval {written(estimate.low)} to {written(estimate.high)}"
    for inner in estimate.narrower[:1]:
        words += f", these raters alone {written(inner.low)} to {written(inner.high)}"
    return words


def _alternative(rows: Sequence[IntervalRow]) -> str:
    """Return all values in words, for readers who cannot see the chart."""
    words = []
    for row in rows:
        values = [f"{m.series} {_in_words(m)}".strip() for m in row.drawn]
        if values:
            words.append(f"{row.name}: {', '.join(values)}")
    return "; ".join(words)
