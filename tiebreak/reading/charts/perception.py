"""Labels of annotators and a machine by the majority label of annotators."""

import math
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import partial

from tiebreak.digits import percent
from tiebreak.reading.charts.axes import Axis
from tiebreak.reading.charts.chart import NOTHING, Chart, Strip, x_axis, x_grid
from tiebreak.reading.charts.svg import Canvas, Kind
from tiebreak.report.model.strata import PerceptionBin

SHARES = Axis(0.0, 1.0)


@dataclass(frozen=True)
class Band:
    """The bins of one group of items, with the names of their labels."""

    name: str
    bins: Sequence[PerceptionBin]
    names: Mapping[str, str]


def perception_chart(
    bands: Sequence[Band],
    labels: Sequence[str],
    *,
    machine: str | None,
    central: str,
) -> Chart:
    """Draw the labels of annotators and of one machine for each central label of annotators.

    ``central`` says which label of annotators divides the units: the majority or the median.
    """
    if not any(band.bins for band in bands):
        return NOTHING
    strips: list[Strip] = []
    for band in bands:
        prefix = f"{band.name}, {central}" if band.name else central.capitalize()
        for row in band.bins:
            title = (
                f"{prefix}: {band.names.get(row.label, row.label)} · {percent(row.share)} of items"
            )
            strips.append(Strip(title, css="group"))
            strips += [_strip(row, label, band.names, machine) for label in labels]
    raters: tuple[tuple[Kind, str], ...] = (("human", "annotators"),)
    if machine is not None:
        raters = (*raters, ("machine", machine))
    finding = (
        f"Labels of {' and '.join(name for _, name in raters)} by {central} label of annotators"
    )
    strips += x_axis(SHARES, "share of ratings")
    return Chart(finding, _in_words(bands), tuple(strips), raters if machine else ())


def _strip(row: PerceptionBin, label: str, names: Mapping[str, str], machine: str | None) -> Strip:
    shares: list[tuple[Kind, float]] = [("human", row.humans[label])]
    if machine is not None:
        shares.append(("machine", row.machines[machine][label]))
    return share_bars(names.get(label, label), shares)


def share_bars(name: str, shares: Sequence[tuple[Kind, float]]) -> Strip:
    """Return a strip with a bar below another for each share."""
    value = " · ".join("–" if math.isnan(share) else percent(share) for _, share in shares)
    return Strip(name, partial(_bars, shares), value)


def _bars(shares: Sequence[tuple[Kind, float]], canvas: Canvas) -> Iterator[str]:
    yield x_grid(canvas, SHARES)
    height = 0.8 / len(shares)
    for n, (kind, share) in enumerate(shares):
        title = "no ratings" if math.isnan(share) else percent(share)
        top, end = 0.1 + n * height, 0.0 if math.isnan(share) else share
        yield canvas.bar((0, top), (end, top + height), kind, title)


def _in_words(bands: Sequence[Band]) -> str:
    parts = []
    for band in bands:
        shares = "; ".join(
            f"{band.names.get(row.label, row.label)} in {percent(row.share)} of items"
            for row in band.bins
        )
        parts.append(f"{band.name}: {shares}" if band.name else shares)
    return ". ".join(parts)
