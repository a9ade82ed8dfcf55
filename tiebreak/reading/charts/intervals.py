"""Values with their intervals: a small glyph for a table's cell, and charts with a row per name."""

import math
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import partial

from tiebreak.digits import in_digits
from tiebreak.reading.charts.axes import Axis, padded
from tiebreak.reading.charts.chart import (
    END,
    NO_KEY,
    NOTHING,
    Chart,
    ItemsName,
    Key,
    Strip,
    key_in,
    words_at,
    x_axis,
    x_grid,
)
from tiebreak.reading.charts.svg import MAX_MARKS, Canvas, Fluid, Kind, Svg, svg, tag, titled
from tiebreak.stats import Estimate

# What the line to compare with stands for in the picture, by how the title of its axis begins.
LINES = {
    **{"win rate": "no preference", "share that the first": "no preference"},
    **{"Krippendorff": "chance", "agreement": "chance", "bias": "no bias"},
    **{"difference": "no difference", "Δ": "no difference", "change": "no change"},
    **{"rank correlation": "no relation", "correlation": "no relation"},
    **{"strength": "average system", "log odds": "even odds"},
    **{"share of ratings removed": "none", "discernment": "p = 0.05", "p-value": "0.05"},
}
LINE_KEY = "line: 95% interval"
THICK_KEY = "whole line: 95% interval for annotators like these; thick: for these alone"
BARE_KEY = "a point without a line has no interval"
LEAST_SPAN = 0.5  # of the possible values, on the axis of points without intervals
Reference = tuple[float, str]
Ground = Callable[[Canvas], Iterable[str]]


@dataclass(frozen=True)
class Mark:
    """One estimate of a row, and how it is drawn and written."""

    kind: Kind
    estimate: Estimate
    series: str = ""
    words: Callable[[float], str] = in_digits


@dataclass(frozen=True)
class IntervalRow:
    """A name with its estimates below each other, on a band; without estimates it is a heading.

    Where a heading says a part of the name, `under`, the picture has neither it nor the name's note, whose
    numbers would stand in the row unnamed.
    """

    name: str
    marks: tuple[Mark, ...] = ()
    band: Estimate | None = None
    under: str = ""

    @property
    def key(self) -> Key:
        """The class of items that it is about."""
        return key_in(self.name)

    @property
    def drawn(self) -> list[Mark]:
        return [mark for mark in self.marks if mark.estimate.is_defined]


def interval_glyph(
    estimate: Estimate,
    *,
    low: float = -1.0,
    high: float = 1.0,
    kind: Kind = "human",
    reference: float | None = None,
) -> Svg:
    """Draw a value with the interval that is printed beside it on a small axis as wide as a page's style sheet has it.

    Without an interval, the number says as much. ``reference`` is drawn as a dashed line, in place of the middle of the axis.
    """
    if not estimate.has_interval:
        return Svg()
    axis, canvas = Axis(low, high), Fluid()
    drawn = Mark(kind, replace(estimate, narrower=()))
    line = "tick" if reference is None else "reference"
    if reference is None:
        reference = 0.0 if low < 0 else (low + high) / 2
    middle = axis.at(reference)
    ground = [
        canvas.line((0, 0.5), (1, 0.5), "grid"),
        canvas.line((middle, 0), (middle, 1), line),
    ]
    words, body = in_words(drawn), [*ground, *drawn_mark(axis, drawn, canvas)]
    about = {"role": "img", "class_": "glyph", "aria_label": words}
    return Svg(tag("svg", titled(words) + "".join(body), width="140", height="14", **about))


def range_glyph(first: int, last: int, of: int) -> Svg:
    """Draw the places from the first to the last of so many, the first of all at the left."""
    axis, canvas = Axis(0.8, of + 0.2), Fluid()
    ends = (axis.at(first), 0.5), (axis.at(last), 0.5)
    marks = [canvas.mark(end, "human") for end in dict.fromkeys(ends)]
    body = [canvas.line((0, 0.5), (1, 0.5), "grid"), canvas.whisker(*ends, "human"), *marks]
    words = f"{first} to {last} of {of}"
    about = {"role": "img", "class_": "glyph", "aria_label": words}
    return Svg(tag("svg", titled(words) + "".join(body), width="140", height="14", **about))


def shares_glyph(counts: Mapping[str, int]) -> Svg:
    """Draw counts as parts of a bar, in colours by their names, as the words beside it say them."""
    total, left, parts = sum(counts.values()), 0.0, []
    for name, n in counts.items():
        width = 200 * n / total if total else 0.0
        parts.append(tag("rect", x=left, y=0, width=width, height=12, class_=f"part-{name}"))
        left += width
    words = "; ".join(f"{n:,}" for n in counts.values())
    return svg(200, 12, words, parts, "glyph", preserveAspectRatio="none")


def interval_chart(
    rows: Sequence[IntervalRow],
    *,
    finding: str,
    label: str,
    reference: float | None = None,
    also: Sequence[Reference] = (),
    bounds: tuple[float, float] | None = None,
    thick: str = THICK_KEY,
    rests: str = "",
) -> Chart:
    """Draw a row per name with its values and intervals, or return nothing if none is defined.

    ``thick`` says what lines with a thick part are, and ``rests`` on which the heading rests.

    ``reference`` is the value to compare with, drawn as a line, and ``also`` has more of them with
    their names. ``bounds`` limit the axis.
    """
    marks = [mark for row in rows for mark in row.drawn]
    if not marks:
        return NOTHING
    legend, words = _legend(rows), _alternative(rows)
    if len(legend) > MAX_MARKS:
        legend = tuple((kind, f"{name} (band)") for kind, name in legend if kind == "human")
        rows = list(_row_per_machine(rows))
    lines = [(value, name) for value, name in also if math.isfinite(value)]
    if reference is not None:
        named = next(name for start, name in LINES.items() if label.startswith(start))
        lines.insert(0, (reference, named))
    axis = Axis(*_range(marks, [value for value, _ in lines], bounds))
    ground = partial(_ground, axis, [value for value, _ in lines])
    strips = [_names_of(axis, lines)] if lines else []
    strips += [strip for row in rows for strip in _strips(row, axis, ground)]
    values = {name: in_digits(value) if value else "0" for value, name in lines}
    said = [f"{name}: {value}" for name, value in values.items() if name != value]
    words = "; ".join([*said, words])
    caption = ""
    if any(mark.estimate.has_interval for mark in marks):
        caption = thick if any(mark.estimate.narrower for mark in marks) else LINE_KEY
    rests = rests if caption else ""
    if any(mark.estimate.reason and not mark.estimate.has_interval for mark in marks):
        caption += "; " * bool(caption) + BARE_KEY
    strips += x_axis(axis, label)
    return Chart(finding, words, tuple(strips), legend, caption=caption, rests=rests)


def _legend(rows: Sequence[IntervalRow]) -> tuple[tuple[Kind, str], ...]:
    """Return each series once; one alone, or one that its row names, needs no legend."""
    named = ((row.name, mark) for row in rows for mark in row.drawn)
    series = dict.fromkeys(
        (mark.kind, mark.series) for name, mark in named if mark.series not in ("", name)
    )
    return tuple(series) if len(series) > 1 else ()


def _row_per_machine(rows: Sequence[IntervalRow]) -> Iterator[IntervalRow]:
    """Yield each machine as a heading, and below it a row per name, with people as a band."""
    machines = dict.fromkeys(m.series for row in rows for m in row.marks if m.kind != "human")
    for machine in machines:
        yield IntervalRow(machine)
        for row in rows:
            band = next((one.estimate for one in row.drawn if one.kind == "human"), None)
            if own := tuple(one for one in row.marks if one.series == machine):
                yield replace(row, marks=own, band=band)


def _range(
    marks: list[Mark], references: list[float], bounds: tuple[float, float] | None
) -> tuple[float, float]:
    ends = [
        end
        for mark in marks
        for end in (mark.estimate.value, mark.estimate.low, mark.estimate.high)
    ]
    if bounds is None:
        return padded([*ends, *references])
    # Where nothing says how far apart is far, points do not fill the picture.
    has_intervals = any(mark.estimate.has_interval for mark in marks)
    least = 0.0 if has_intervals else LEAST_SPAN * (bounds[1] - bounds[0])
    low, high = padded([*ends, *references], least=least)
    return max(low, bounds[0]), min(high, bounds[1])


def _strips(row: IntervalRow, axis: Axis, ground: Ground) -> Iterator[Strip]:
    if row.band and row.band.has_interval:
        ground = partial(_band, ground, axis, row.band)
    name = row.name
    if row.under and isinstance(name, ItemsName):
        name = name.without(row.under)
    if not row.marks:
        yield Strip(name, ground, css="group", key=row.key)
    elif not row.drawn:
        reason = row.marks[0].estimate.reason or "undefined"
        yield Strip(name, words=reason, css="undefined", key=row.key)
    elif len(row.drawn) == 1:
        plot = partial(_row, ground, axis, row.drawn[0])
        yield Strip(name, plot, _value(row.drawn[0]), key=row.key)
    else:
        for n, drawn in enumerate(row.drawn):
            plot = partial(_row, ground, axis, drawn)
            key = row.key if n == 0 else NO_KEY
            yield Strip("" if n else name, plot, _value(drawn), size="line", key=key)
        yield Strip(draw=ground, size="gap")


def _ground(axis: Axis, references: Iterable[float], canvas: Canvas) -> Iterator[str]:
    yield x_grid(canvas, axis)
    for value in references:
        yield canvas.line((axis.at(value), 0), (axis.at(value), 1), "reference")


def _names_of(axis: Axis, lines: Sequence[Reference]) -> Strip:
    """Name the lines to compare with at one height: one where it stands, several from left to right."""
    lines = sorted(lines)
    if len(lines) == 1:
        return Strip(draw=partial(_named, axis, lines[0]), size="line")
    names = ", ".join(name for _, name in lines)
    return Strip(words=f"dashed lines, from left to right: {names}", css="axis")


def _named(axis: Axis, line: Reference, canvas: Canvas) -> Iterator[str]:
    at = axis.at(line[0]), 0.5
    is_inside = END / 2 < at[0] < 1 - END / 2
    write = canvas.text if is_inside else partial(words_at, canvas)
    yield write(at, line[1], dy=5)


def _band(ground: Ground, axis: Axis, band: Estimate, canvas: Canvas) -> Iterator[str]:
    yield from ground(canvas)
    ends = (axis.at(band.low), 0.0), (axis.at(band.high), 1.0)
    yield canvas.bar(*ends, "human", fill_opacity=0.2)


def _row(ground: Ground, axis: Axis, drawn: Mark, canvas: Canvas) -> Iterator[str]:
    yield from ground(canvas)
    yield from drawn_mark(axis, drawn, canvas)


def drawn_mark(axis: Axis, drawn: Mark, canvas: Canvas) -> Iterator[str]:
    estimate = drawn.estimate
    if estimate.has_interval:
        ends = [(estimate.low, estimate.high, 2.5)]
        ends += [(inner.low, inner.high, 5.0) for inner in estimate.narrower[:1]]
        for low, high, width in ends:
            start, end = (axis.at(low), 0.5), (axis.at(high), 0.5)
            yield canvas.whisker(start, end, drawn.kind, width)
    name = f"{drawn.series}: {in_words(drawn)}" if drawn.series else ""
    yield canvas.mark((axis.at(estimate.value), 0.5), drawn.kind, name)


def _value(drawn: Mark) -> str:
    estimate, written = drawn.estimate, drawn.words
    value = written(estimate.value)
    if not estimate.has_interval:
        return value
    return f"{value} ({written(estimate.low)} to {written(estimate.high)})"


def in_words(drawn: Mark) -> str:
    estimate, written = drawn.estimate, drawn.words
    words = written(estimate.value)
    if estimate.has_interval:
        words += f", interval {written(estimate.low)} to {written(estimate.high)}"
    for inner in estimate.narrower[:1]:
        words += f", these annotators alone {written(inner.low)} to {written(inner.high)}"
    return words


def _alternative(rows: Sequence[IntervalRow]) -> str:
    """Return all values in words, for readers who cannot see the chart."""
    words = []
    for row in rows:
        values = [
            f"{m.series if m.series != row.name else ''} {in_words(m)}".strip() for m in row.drawn
        ]
        if values:
            words.append(f"{row.name}: {', '.join(values)}")
    return "; ".join(words)
