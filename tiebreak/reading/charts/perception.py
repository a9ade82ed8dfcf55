"""Labels of annotators and a machine by the majority label of annotators."""

import math
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass

from tiebreak.digits import percent
from tiebreak.reading.charts.axes import Axis
from tiebreak.reading.charts.svg import COLOURS, NOTHING, Kind, Svg, svg, tag, text, y_grid
from tiebreak.report.model import PerceptionBin

LEFT, RIGHT, BAND, BARS, HEADING = 48, 20, 190, 110, 24
FEW_LABELS = 3


@dataclass(frozen=True)
class Band:
    """The bins of one group of items; without a name they need no heading."""

    name: str
    bins: Sequence[PerceptionBin]


@dataclass(frozen=True)
class _Widths:
    """How wide the bars are, which depends on how many labels there are."""

    labels: int

    @property
    def bar(self) -> int:
        return 20 if self.labels <= FEW_LABELS else 11

    @property
    def step(self) -> int:
        return 2 * self.bar + (16 if self.labels <= FEW_LABELS else 8)

    @property
    def group(self) -> int:
        return max(self.labels * self.step, 150) + 24


def perception_chart(
    bands: Sequence[Band],
    labels: Sequence[str],
    *,
    names: Mapping[str, str],
    machine: str | None,
    central: str,
) -> Svg:
    """Draw the labels of annotators and of one machine for each central label of annotators.

    ``central`` says which label of annotators divides the units: the majority or the median.
    """
    if not any(band.bins for band in bands):
        return NOTHING
    widths = _Widths(len(labels))
    groups = max(len(band.bins) for band in bands)
    width = max(600, LEFT + groups * widths.group + RIGHT)
    body, top = [], 0.0
    for band in bands:
        if band.name:
            top += HEADING
            body.append(text(2, top - 6, band.name, "start", "group"))
        y = Axis(0.0, 1.0, top + 30 + BARS, top + 30)
        body.append(y_grid(y, LEFT, width - RIGHT))
        for index, row in enumerate(band.bins):
            left = LEFT + 12 + index * widths.group
            title = (
                f"{central.capitalize()}: {names.get(row.label, row.label)} · {percent(row.share)}"
            )
            body.append(text(left + (widths.group - 24) / 2, top + 18, title))
            body += _group(row, labels, names, machine, _Place(left, y, widths))
        top += BAND
    return svg(width, top, _in_words(bands, names, machine, central), body)


@dataclass(frozen=True)
class _Place:
    left: float
    y: Axis
    widths: _Widths


def _group(
    row: PerceptionBin,
    labels: Sequence[str],
    names: Mapping[str, str],
    machine: str | None,
    place: _Place,
) -> Iterator[str]:
    bar = place.widths.bar
    for position, label in enumerate(labels):
        x = place.left + position * place.widths.step + (0 if machine else bar / 2 + 1)
        yield _bar(x, bar, place.y, row.humans[label], "human")
        if machine is not None:
            yield _bar(x + bar + 2, bar, place.y, row.machines[machine][label], "machine")
        middle = x + (bar + 1 if machine else bar / 2)
        yield text(middle, place.y.start + 16, names.get(label, label))


def _bar(x: float, width: int, y: Axis, share: float, kind: Kind) -> str:
    top = y.at(0.0 if math.isnan(share) else share)
    return tag(
        "rect",
        tag("title", "no ratings" if math.isnan(share) else percent(share)),
        x=x,
        y=top,
        width=width,
        height=y.start - top,
        rx=4 if kind == "human" else 0,
        class_=kind,
        fill=COLOURS[kind],
    )


def _in_words(
    bands: Sequence[Band], names: Mapping[str, str], machine: str | None, central: str
) -> str:
    raters = f"annotators and {machine}" if machine else "annotators"
    parts = []
    for band in bands:
        shares = "; ".join(
            f"{names.get(row.label, row.label)} in {percent(row.share)} of items"
            for row in band.bins
        )
        parts.append(f"{band.name}: {shares}" if band.name else shares)
    return f"Labels of {raters} by {central} label of annotators. {'. '.join(parts)}"
