"""Charts with a horizontal and a vertical axis: points by range, lines over time, and scatters."""

from collections import Counter
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, field
from datetime import datetime, timedelta
from functools import partial
from itertools import pairwise
from math import ceil

from tiebreak.digits import in_digits
from tiebreak.reading.charts.axes import MAX_TICKS, Axis, are_counts, padded
from tiebreak.reading.charts.chart import (
    LINE_HEIGHT,
    NOTHING,
    Chart,
    Strip,
    stand_apart,
    x_axis,
    x_grid,
    y_grid,
)
from tiebreak.reading.charts.svg import MAX_MARKS, Canvas, Kind, tag
from tiebreak.stats import Estimate

OFFSET = 9
HOUR, DAY = timedelta(hours=1), timedelta(days=1)
TEN_HOURS = 10 * HOUR
MOST_BY_HOUR = timedelta(days=4)
TIME_STEPS = [timedelta(hours=n / 60) for n in (1, 2, 5, 10, 20, 30)]
TIME_STEPS += [timedelta(hours=n) for n in (1, 2, 3, 6, 12, 24, 48, 168, 336, 672)]


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
    y_label: str,
    y_bounds: tuple[float, float] = (0.0, 1.0),
    diagonal: str = "",
) -> Chart:
    """Draw each series' estimates at their values of x, side by side.

    With more than two ``edges``, the ranges between them are marked. ``diagonal`` names what the line
    from corner to corner stands for. Where series are too many to
    differ in their marks, each machine is drawn apart, with people.
    """
    drawn = [one for one in series if one.drawn]
    if not drawn:
        return NOTHING
    is_of_counts = are_counts(x for one in drawn for x, _ in one.drawn)
    x, y = Axis(edges[0], edges[-1], is_of_counts), Axis(*y_bounds)
    people = [one for one in drawn if one.kind.startswith("human")]
    groups, size = [drawn], "field"
    if len(drawn) > MAX_MARKS:
        groups, size = [[*people, one] for one in drawn if one not in people], "small"
    strips = [Strip(words=y_label, css="start")]
    for group in groups:
        if len(groups) > 1:
            strips.append(Strip(group[-1].name, css="group"))
        plot = partial(_ranges, group, x, y, edges=edges[1:-1], diagonal=diagonal)
        strips.append(Strip(draw=plot, size=size))
    words = "; ".join(f"{one.name} at {_in_words(one)}" for one in drawn)
    named = people if len(groups) > 1 else drawn if len(drawn) > 1 else []
    legend = (*((one.kind, one.name) for one in named), *_key_of(diagonal))
    strips += x_axis(x, x_label)
    return Chart(
        finding,
        words,
        tuple(strips),
        legend,
        y_axis=y,
    )


def _in_words(series: Series) -> str:
    return ", ".join(
        f"{at if isinstance(at, int) else in_digits(at)}: {series.words(estimate.value)}"
        for at, estimate in series.drawn
    )


def _ranges(
    series: Sequence[Series],
    x: Axis,
    y: Axis,
    canvas: Canvas,
    *,
    edges: Sequence[float],
    diagonal: str,
) -> Iterator[str]:
    yield from y_grid(canvas, y)
    yield canvas.path([((x.at(edge), 0), (x.at(edge), 1)) for edge in edges], "grid")
    if diagonal:
        yield _diagonal(canvas)
    for position, one in enumerate(series):
        shift = (position - (len(series) - 1) / 2) * OFFSET
        points = "".join(drawn_points(one, x, y, canvas))
        yield tag("g", points, transform=f"translate({shift:g} 0)") if shift else points


def drawn_points(series: Series, x: Axis, y: Axis, canvas: Canvas) -> Iterator[str]:
    for value, estimate in series.drawn:
        at = x.at(value)
        if estimate.has_interval:
            low, high = 1 - y.at(estimate.low), 1 - y.at(estimate.high)
            yield canvas.whisker((at, low), (at, high), series.kind)
        title = f"{series.name}: {series.words(estimate.value)}, n = {estimate.n:,}"
        yield canvas.mark((at, 1 - y.at(estimate.value)), series.kind, title)


def _key_of(diagonal: str) -> list[tuple[Kind, str]]:
    return [("reference", diagonal)] if diagonal else []


def _diagonal(canvas: Canvas) -> str:
    return canvas.line((0, 1), (1, 0), "reference")


def scatter_chart(
    points: Sequence[tuple[float, float, Kind, str]],
    *,
    finding: str,
    x_label: str,
    y_label: str,
    y_bounds: tuple[float, float] = (0.0, 1.0),
    diagonal: str = "",
    words: str = "",
) -> Chart:
    """Draw a mark per point (x, y, kind, name); with a named diagonal, both axes have the same bounds."""
    if not points:
        return NOTHING
    x_bounds = y_bounds if diagonal else (0.0, padded([x for x, *_ in points], include=0.0)[1])
    x, y = Axis(*x_bounds), Axis(*y_bounds)

    def draw(canvas: Canvas) -> Iterator[str]:
        yield x_grid(canvas, x)
        yield from y_grid(canvas, y)
        if diagonal:
            yield _diagonal(canvas)
        for a, b, kind, name in points:
            yield canvas.mark((x.at(a), 1 - y.at(b)), kind, name)

    return field_chart(
        draw,
        finding=finding,
        words=words or f"{len(points)} points",
        y=y,
        y_label=y_label,
        below=x_axis(x, x_label),
        legend=tuple(_key_of(diagonal)),
    )


def field_chart(
    draw: Callable[[Canvas], Iterator[str]],
    *,
    finding: str,
    words: str,
    y: Axis,
    y_label: str,
    below: tuple[Strip, ...],
    legend: tuple[tuple[Kind, str], ...] = (),
    size: str = "field",
) -> Chart:
    """Return a chart of one plot, with the title of its vertical axis above it."""
    strips = (Strip(words=y_label, css="start"), Strip(draw=draw, size=size), *below)
    return Chart(finding, words, strips, legend, y_axis=y)


def time_chart(
    moments: Sequence[tuple[datetime, int]],
    *,
    goal: int,
    finding: str,
    unit: str,
    expected: datetime | None = None,
    none_since: datetime | None = None,
) -> Chart:
    """Draw a count that grows with time with the line that it should reach, and its pace below.

    ``expected`` is when it would reach it at this pace. The axis reaches
    there, or as far again as the past. ``none_since`` is when the count last grew, where that is to be
    said.
    """
    if not moments:
        return NOTHING
    (first, _), (last, reached) = moments[0], moments[-1]
    end = min(expected, last + (last - first)) if expected else last
    x = Axis(0, max((end - first).total_seconds(), 1.0))
    y = Axis(
        0, max(goal, reached, 1) * 1.15, is_of_counts=True
    )  # leaves room for what stands above the lines
    points = [(x.at((when - first).total_seconds()), 1 - y.at(n)) for when, n in moments]

    def draw(canvas: Canvas) -> Iterator[str]:
        yield from y_grid(canvas, y, max(goal, reached))
        yield canvas.path([[(0, 1), *points, (points[-1][0], 1)]], "human", fill_opacity=0.25)
        yield canvas.path([points], "human-line", stroke_width=2)
        yield canvas.line((0, 1 - y.at(goal)), (1, 1 - y.at(goal)), "reference")
        # What is expected stands at its end of the line, below how many these are.
        is_ahead = expected is not None and expected > last
        place, style = (
            ((1, 1 - y.at(goal)), "y-tick") if is_ahead else ((0, 1 - y.at(goal)), "start")
        )
        yield canvas.text(place, f"{goal:,} planned", style, dy=-5 - LINE_HEIGHT * is_ahead)
        if expected and is_ahead:
            share = (end - last) / (expected - last)
            there = (1.0, 1 - y.at(reached + share * (goal - reached)))
            dashes = {"stroke_width": 2, "stroke_dasharray": "4 4"}
            yield canvas.path([(points[-1], there)], "human-line", **dashes)
            then = f"at about {_about(expected, last)}"
            yield canvas.text(place, then, style, dy=-5, font_weight=600)
        yield canvas.mark(points[-1], "human", words)
        # It ends at its point, because a forecast rises into what would follow.
        style = "y-tick" if points[-1][0] else "start"
        yield canvas.text(points[-1], here, style, dy=-9, font_weight=600)

    since = f", none since {_clock(none_since, last)}" if none_since else ""
    here = f"{reached:,}{since or f' at {_clock(last, first)}'}"
    words = f"From {first:%-d %b %H:%M} to {last:%-d %b %H:%M}: {reached:,} of {goal:,}{since}"
    below = (*_pace(moments, x, unit), *_time_axis(first, end))
    return field_chart(
        draw, finding=finding, words=words, y=y, y_label=unit, below=below, size="low"
    )


def _clock(time: datetime, beside: datetime) -> str:
    """Return a time of day, with its day if it is another one than that of what stands beside it."""
    return f"{time:%H:%M}" if time.date() == beside.date() else f"{time:%-d %b, %H:%M}"


def _about(time: datetime, now: datetime) -> str:
    """Return a time to come as exactly as a forecast is: to ten minutes, an hour or a day."""
    if time - now > MOST_BY_HOUR:
        return f"{time:%-d %b}"
    step = 10 if time - now < TEN_HOURS else 60
    rounded = time - timedelta(minutes=time.minute % step - step * (time.minute % step >= step / 2))
    return _clock(rounded, now)


def _time_axis(first: datetime, last: datetime) -> tuple[Strip, Strip]:
    """Return round times below a plot, of which a narrow page may show every other one, and the days."""
    span = max(last - first, timedelta(seconds=1))
    step = next((s for s in TIME_STEPS if span / s <= MAX_TICKS), span / MAX_TICKS)
    midnight = first.replace(hour=0, minute=0, second=0, microsecond=0)
    times = [
        midnight + k * step
        for k in range(ceil((first - midnight) / step), (last - midnight) // step + 1)
    ]

    names = [
        ((time - first) / span, f"{time:%-d %b}" if step >= DAY else f"{time:%H:%M}")
        for time in times
    ]
    hides = not stand_apart(names)

    def draw(canvas: Canvas) -> Iterator[str]:
        for n, (at, name) in enumerate(names):
            hidden = {"data_n": 1} if n % 2 and hides else {}
            yield canvas.text((at, 0.5), name, "tick", dy=5, **hidden)

    days = dict.fromkeys((f"{first:%-d %b %Y}", f"{last:%-d %b %Y}"))
    return Strip(draw=draw, size="ticks"), Strip(words=f"{' to '.join(days)}, UTC", css="axis")


def per_step(moments: Sequence[tuple[datetime, int]]) -> tuple[timedelta, dict[int, int]]:
    """Return by how much a count grew in each hour after the first moment, or in each day."""
    first, last = moments[0][0], moments[-1][0]
    step = HOUR if last - first <= MOST_BY_HOUR else DAY
    grown: Counter[int] = Counter()
    for (_, before), (when, n) in pairwise(moments):
        grown[max(0, ceil((when - first) / step) - 1)] += n - before
    return step, grown


def _pace(moments: Sequence[tuple[datetime, int]], x: Axis, unit: str) -> tuple[Strip, ...]:
    """Return the strips of the pace; a count that grew within one hour has none."""
    step, grown = per_step(moments)
    if moments[-1][0] - moments[0][0] <= step:
        return ()
    most, wide = max(1, *grown.values()), step.total_seconds()
    name = "an hour" if step == HOUR else "a day"

    def draw(canvas: Canvas) -> Iterator[str]:
        for k, n in grown.items():
            left, right = x.at(k * wide), min(1.0, x.at((k + 1) * wide))
            inset = (right - left) / 10
            start, end = (left + inset, 1 - n / most), (right - inset, 1.0)
            yield canvas.bar(start, end, "human", f"{n:,} {unit}")
        yield canvas.line((0, 1), (1, 1), "grid")

    title = Strip(words=f"{unit} {name}, {most:,} at most", css="start")
    return (title, Strip(draw=draw, size="ridge"))
