"""What every figure has: a finding, a chart, its data, and how to read it."""

import math
import re
from collections.abc import Callable, Collection, Iterable, Iterator, Sequence
from dataclasses import dataclass
from typing import Any, TypeVar

from tiebreak.digits import (
    duration,
    in_digits,
    in_thousands,
    p_in_digits,
    percent,
    small_in_digits,
)
from tiebreak.reading.charts.chart import NOTHING, Chart
from tiebreak.reading.charts.intervals import IntervalRow
from tiebreak.reading.charts.svg import Kind
from tiebreak.reading.messages import READING_IF_DRAWN, THICK
from tiebreak.stats import Estimate

Cell = str | int | float | None
MAX_ROWS = 200
MAX_DRAWN = 40
ESTIMATE_COLUMNS = (
    *("value", "low", "high", "n", "method", "instances", "raters", "reason"),
    *("low_these_raters", "high_these_raters"),
)
P_FIGURES = ("paired-tests", "p-values")
P_VALUE = re.compile(r"(^|_)p(_|$)")  # columns of p-values
SLOPES = "fatigue-slopes"
COLUMNS = {"share": percent, "typical_seconds": duration, "seconds": duration}  # by their beginning
NO_ENDS = (None, None)
NOTHING_GIVES = "–: no rating of its row gives this number."
# What pages call columns that programs know by shorter names.
HEADINGS = {
    "low": "95% from",
    "high": "to",
    "n": "based on",
    "method": "method of the interval",
    "reason": "why a number is missing",
    "low_these_raters": "these raters alone, from",
    "high_these_raters": "these raters alone, to",
    "low_all_at_once": "for all systems at once, from",
    "half_width": "win rate to ±",
    "high_all_at_once": "for all systems at once, to",
}
# Before the estimate, columns of these names are counts.
SCOPES = {"instances": "holds for instances", "raters": "holds for raters"}


@dataclass(frozen=True)
class Figure:
    """A chart with its finding as the heading, and the numbers that are drawn.

    `chart` is empty if there is nothing to draw; `sentence` then says why. `title` says what a
    figure shows whose heading states a finding, and is empty where the heading states none. `query`
    is what the addresses of its files also need, if the address of the page chose something.
    A part of the ratings changes only what `is_of_ratings`. `counts` says in plain numbers what rates
    are of. `machine` names the machine rater of a figure that is about one alone.
    """

    name: str
    finding: str
    sentence: str
    chart: Chart
    columns: tuple[str, ...]
    rows: tuple[tuple[Cell, ...], ...]
    reading: str
    title: str = ""
    query: str = ""
    is_of_ratings: bool = True
    machine: str = ""
    counts: tuple[str, ...] = ()

    @property
    def caption(self) -> str:
        """What a paper says below the picture: the finding, or the title, and what lines and bands are."""
        key = self.chart.caption
        return ". ".join(filter(None, (self.finding, f"{key[:1].upper()}{key[1:]}"))) + "."

    @property
    def legend(self) -> tuple[tuple[Kind, str], ...]:
        """The marks of the chart with their names."""
        return self.chart.legend

    @property
    def headings(self) -> list[str]:
        """The columns' display names."""
        estimate = self.columns.index("value") if "value" in self.columns else len(self.columns)
        return [
            (HEADINGS | SCOPES if n > estimate else HEADINGS).get(column, column.replace("_", " "))
            for n, column in enumerate(self.columns)
        ]

    @property
    def cells(self) -> Iterator[list[str]]:
        """The first rows for display, with a dash for what is undefined.

        Where rows have reasons, one without a reason lacks nothing: what it has no number for stays empty.
        """
        lacks = self.columns.index("reason") if "reason" in self.columns else None
        return (
            [
                self._in_words(column, cell, "–" if lacks is None or row[lacks] else "")
                for column, cell in zip(self.columns, row, strict=True)
            ]
            for row in self.rows[:MAX_ROWS]
        )

    @property
    def page_table(self) -> tuple[list[str], list[list[str]]]:
        """The headings and the rows of a page, without the columns that are empty in all rows."""
        cells = list(self.cells)
        kept = [n for n in range(len(self.columns)) if any(row[n] for row in cells)]
        headings = self.headings
        return [headings[n] for n in kept], [[row[n] for n in kept] for row in cells]

    @property
    def why_missing(self) -> tuple[str, ...]:
        """Why there are dashes, for tables whose rows do not say so."""
        rows = self.rows[:MAX_ROWS]
        if "reason" not in self.columns:
            return (NOTHING_GIVES,) * any(None in row for row in rows)
        if "value" not in self.columns:
            return ()
        value, reason = self.columns.index("value"), self.columns.index("reason")
        return tuple(
            f"–: {why}" for why in dict.fromkeys(r[reason] for r in rows if r[value] is None)
        )

    def _in_words(self, column: str, cell: Cell, missing: str) -> str:
        if isinstance(cell, str):
            return cell
        if not isinstance(cell, float):
            return missing if cell is None else in_thousands(cell)
        if P_VALUE.search(column) or self.name.startswith(P_FIGURES):
            return p_in_digits(cell)
        if self.name == SLOPES:
            return small_in_digits(cell)
        kinds = (in_word for words, in_word in COLUMNS.items() if column.startswith(words))
        return next(kinds, in_digits)(cell)

    @property
    def left_out(self) -> int:
        """How many rows only the file of the data has."""
        return max(0, len(self.rows) - MAX_ROWS)


def estimate_cells(estimate: Estimate) -> tuple[Cell, ...]:
    """Return an estimate in the order of `ESTIMATE_COLUMNS`, with None for what is undefined."""
    numbers = (estimate.value, estimate.low, estimate.high)
    scope = estimate.scope
    return (
        *(None if math.isnan(number) else float(number) for number in numbers),
        estimate.n,
        estimate.method,
        scope.instances,
        scope.raters,
        estimate.reason or "",
        *next(((inner.low, inner.high) for inner in estimate.narrower), NO_ENDS),
    )


def estimate_rows(
    named: Iterable[tuple[Sequence[Cell], Estimate]],
) -> tuple[tuple[Cell, ...], ...]:
    return tuple((*names, *estimate_cells(estimate)) for names, estimate in named)


def table_of(
    rows: Iterable[IntervalRow], of: str = "system"
) -> tuple[tuple[str, ...], tuple[tuple[Cell, ...], ...]]:
    """Return the columns and rows of what a chart of intervals draws; ``of`` names its rows."""
    named = (((row.name, mark.series), mark.estimate) for row in rows for mark in row.marks)
    return (of, "series", *ESTIMATE_COLUMNS), estimate_rows(named)


def about_thick_lines(estimates: Iterable[Estimate]) -> str:
    """Return the sentence about the thick parts of a chart's lines, if there are any."""
    return THICK if any(estimate.narrower for estimate in estimates) else ""


def reading_if_drawn(estimates: Iterable[Estimate]) -> str:
    """Return the sentence about the instances that weighted estimates describe after a draw."""
    instances = {one.scope.instances for one in estimates if one.is_defined}
    narrowest = next((name for name in ("selected", "dataset") if name in instances), "these")
    return READING_IF_DRAWN[narrowest]


def empty_figure(name: str, title: str, reason: str) -> Figure:
    """Return a figure without a chart, and the reason."""
    return Figure(name, title, reason, NOTHING, (), (), "")


Draw = Callable[[Any], list[Figure]]
# The machine raters that follow a simple rule, whose marks are hollow.
Simple = Collection[str] | None
DrawRaters = Callable[[Any, Simple], list[Figure]]
F = TypeVar("F", bound=Draw)
R = TypeVar("R", bound=DrawRaters)
DRAWN: dict[str, DrawRaters] = {}


def draws(name: str) -> Callable[[F], F]:
    """Declare that a function draws a section of the report, from the section alone."""

    def register(draw: F) -> F:
        DRAWN[name] = lambda section, _: draw(section)
        return draw

    return register


def draws_raters(name: str) -> Callable[[R], R]:
    """Declare that a function draws a section of the report with a mark for each rater."""

    def register(draw: R) -> R:
        DRAWN[name] = draw
        return draw

    return register
