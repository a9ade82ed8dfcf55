"""A table of raters and kinds of items: in each cell a value in digits and drawn with its interval."""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from functools import partial
from html import escape
from typing import ClassVar

from tiebreak.digits import in_digits
from tiebreak.reading.charts.axes import Axis, padded
from tiebreak.reading.charts.chart import NOTHING, WIDTH, Chart, Key, Strip, key_of, link_to
from tiebreak.reading.charts.intervals import Ground, Mark, drawn_mark, in_words
from tiebreak.reading.charts.svg import Canvas, Fluid, Kind, Svg, shortened, wrapped
from tiebreak.stats import Estimate

LARGER = {"font_weight": 600}
PLOTS = 0.66  # of the width of a file, which its columns share
AT_MOST = "reference"  # the kind of a row that is a bound, drawn as a line in every cell


@dataclass(frozen=True)
class Column:
    """A kind of item: its name, how many items there are, and what a page may link to it."""

    name: str
    note: str
    key: Key


@dataclass(frozen=True)
class Row:
    """A rater with a value in each column, and what is known of it beside its name."""

    name: str
    kind: Kind
    cells: tuple[Estimate, ...]
    note: str = ""

    @property
    def title(self) -> str:
        return f"{self.name} ({self.note})" if self.note else self.name


@dataclass(frozen=True)
class TableChart(Chart):
    """A chart that is a table on a page; its strips are the rows of a file."""

    corner: str = ""
    label: str = ""
    columns: tuple[Column, ...] = ()
    rows: tuple[Row, ...] = ()
    reasons: tuple[str, ...] = ()
    most: float = 1.0
    names: ClassVar[float] = 0.2

    @property
    def keys(self) -> list[Key]:
        return [column.key for column in self.columns]

    def page(self) -> Svg:
        """Return the chart as a table, whose rows are blocks where its box is narrow."""
        if not self:
            return Svg()
        heads = "".join(f"<th scope='col'>{self._head(column)}</th>" for column in self.columns)
        cells = _plots(self.rows, self.most)
        body = "".join(
            f"<tr><th scope='row'>{_rater(row)}</th>{self._cells(row, drawn)}</tr>"
            for row, drawn in zip(self.rows, cells, strict=True)
            if row.kind != AT_MOST or any(one.n for one in row.cells)
        )
        key = "; ".join(filter(None, (self.label, self.below)))
        key = f"<p class='axis'>{escape(f'{key[:1].upper()}{key[1:]}')}</p>" if key else ""
        reasons = "".join(f"<p class='axis'>{escape(reason)}</p>" for reason in self.reasons)
        table = (
            f"<table class='chart' aria-label='{escape(self.finding)}'>"
            f"<thead><tr><td class='note'>{escape(self.corner)}</td>{heads}</tr></thead>"
            f"<tbody>{body}</tbody></table>"
        )
        return Svg(f"<div class='chart-box'>{key}{table}{reasons}</div>")

    def _head(self, column: Column) -> str:
        name = link_to(escape(shortened(column.name)), self.links.get(column.key))
        return f"<span class='name'>{name}</span> <span class='note'>{escape(column.note)}</span>"

    def _cells(self, row: Row, plots: Sequence[partial[Iterator[str]]]) -> str:
        return "".join(
            f"<td data-label='{escape(column.name)}'>{_value(estimate)}"
            f"<div class='plot'><svg aria-hidden='true'>{''.join(plot(Fluid()))}</svg></div></td>"
            for column, estimate, plot in zip(self.columns, row.cells, plots, strict=True)
        )


def table_chart(
    columns: Sequence[Column],
    rows: Sequence[Row],
    *,
    finding: str,
    corner: str,
    label: str,
    caption: str = "",
    most: float = 1.0,
) -> Chart:
    """Return a table with a row per rater, or nothing if no value is defined.

    The interval of the first row is a band in every cell, and the value of a row of the kind
    ``AT_MOST`` a line, of which a page has a row if it is an estimate. Values are from 0 to ``most``.
    """
    if not any(estimate.is_defined for row in rows for estimate in row.cells):
        return NOTHING
    strips = [Strip(corner, partial(_heads, columns), size="heads")]
    for row, plots in zip(rows, _plots(rows, most), strict=True):
        strips.append(Strip(row.title, partial(_row, row, plots), size="cells"))
    reasons = dict.fromkeys(
        f"–: {estimate.reason}" for row in rows for estimate in row.cells if not estimate.is_defined
    )
    strips.append(Strip(words=label, css="axis"))
    strips += [Strip(words=reason, css="undefined") for reason in reasons]
    words = "; ".join(_in_words(column, n, rows) for n, column in enumerate(columns))
    return TableChart(
        finding,
        words,
        tuple(strips),
        caption=caption,
        corner=corner,
        label=label,
        columns=tuple(columns),
        rows=tuple(rows),
        reasons=tuple(reasons),
        most=most,
    )


def _plots(rows: Sequence[Row], most: float) -> list[list[partial[Iterator[str]]]]:
    """Return how to draw each cell, all on one axis."""
    known = [one for row in rows for one in row.cells if one.is_defined]
    low, high = padded([end for one in known for end in (one.value, one.low, one.high)])
    axis = Axis(max(low, 0.0), min(high, most))
    bounds = [row.cells for row in rows if row.kind == AT_MOST]
    grounds = [
        partial(_ground, axis, band, [cells[n] for cells in bounds])
        for n, band in enumerate(rows[0].cells)
    ]
    return [
        [
            partial(_plot, axis, Mark(row.kind, estimate), ground)
            for estimate, ground in zip(row.cells, grounds, strict=True)
        ]
        for row in rows
    ]


def _ground(
    axis: Axis, band: Estimate, bounds: Sequence[Estimate], canvas: Canvas
) -> Iterator[str]:
    yield canvas.line((0, 1), (1, 1), "grid")
    if band.has_interval:
        ends = (axis.at(band.low), 0.0), (axis.at(band.high), 1.0)
        yield canvas.bar(*ends, "human", fill_opacity=0.16)
    for bound in bounds:
        if bound.is_defined:
            at = axis.at(bound.value)
            yield canvas.line((at, 0), (at, 1), "reference")


def _plot(axis: Axis, drawn: Mark, ground: Ground, canvas: Canvas) -> Iterator[str]:
    yield from ground(canvas)
    if drawn.estimate.is_defined and drawn.kind != AT_MOST:
        yield from drawn_mark(axis, drawn, canvas)


def _heads(columns: Sequence[Column], canvas: Canvas) -> Iterator[str]:
    room = PLOTS * WIDTH / len(columns)
    for n, column in enumerate(columns):
        lines = [*wrapped(shortened(column.name), room)[:3], column.note]
        for line, words in enumerate(lines):
            at = n / len(columns), 1.0
            yield canvas.text(at, words, "start", dy=-4 - 16 * (len(lines) - 1 - line))


def _row(row: Row, plots: Sequence[partial[Iterator[str]]], canvas: Canvas) -> Iterator[str]:
    for n, (estimate, plot) in enumerate(zip(row.cells, plots, strict=True)):
        left, right = n / len(row.cells), (n + 0.9) / len(row.cells)
        value, interval = _in_digits(estimate)
        yield canvas.text((left, 0), value, "start", dy=16, **LARGER)
        yield canvas.text((left, 0), interval, "start", dy=33)
        yield from plot(canvas.within((left, 0.68), (right, 0.94)))


def _in_digits(estimate: Estimate) -> tuple[str, str]:
    if not estimate.is_defined:
        return "–", ""
    if not estimate.has_interval:
        return in_digits(estimate.value), ""
    return in_digits(estimate.value), f"{in_digits(estimate.low)} to {in_digits(estimate.high)}"


def _value(estimate: Estimate) -> str:
    value, interval = _in_digits(estimate)
    return f"<span class='value'>{value}</span> <span class='note'>{interval}</span>"


def _rater(row: Row) -> str:
    name = f"<span class='name'>{escape(shortened(row.name))}</span>"
    return f"{key_of(row.kind)}{name}<span class='note'>{escape(row.note)}</span>"


def _in_words(column: Column, n: int, rows: Sequence[Row]) -> str:
    values = (
        f"{row.name} {in_words(Mark(row.kind, row.cells[n]))}"
        for row in rows
        if row.cells[n].is_defined
    )
    return f"{column.name}: {', '.join(values)}"
