"""Distributions of separability, and the alignments that it is computed from."""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from functools import partial

from tiebreak.digits import in_digits, percent
from tiebreak.reading.charts.axes import Axis, padded
from tiebreak.reading.charts.chart import NOTHING, Chart, Strip, words_at, x_axis, x_grid
from tiebreak.reading.charts.curves import scatter_chart
from tiebreak.reading.charts.svg import Canvas, Kind


@dataclass(frozen=True)
class Ridge:
    """A name with the shares of values in bins (low, high, share) and the mean.

    Without bins it is a heading. `chosen` has the share of each bin that is of chosen values.
    """

    name: str
    kind: Kind = "human"
    bins: tuple[tuple[float, float, float], ...] = ()
    mean: float = 0.0
    chosen: tuple[float, ...] = ()


def ridges_chart(
    ridges: Sequence[Ridge], *, finding: str, label: str, reference: tuple[float, str]
) -> Chart:
    """Draw a histogram per name below each other on one axis; heights are shares on one scale.

    ``reference`` is the value to compare with, drawn as a line with its name.
    """
    drawn = [ridge for ridge in ridges if ridge.bins]
    if not drawn:
        return NOTHING
    ends = [end for ridge in drawn for low, high, _ in ridge.bins for end in (low, high)]
    axis = Axis(*padded(ends, include=reference[0]))
    at = axis.at(reference[0])
    highest = max(share for ridge in drawn for *_, share in ridge.bins)
    words = "; ".join(
        f"{ridge.name}: mean {in_digits(ridge.mean)}, from {in_digits(ridge.bins[0][0])} to"
        f" {in_digits(ridge.bins[-1][1])}"
        for ridge in drawn
    )
    strips = [
        Strip(
            ridge.name,
            partial(_bins, ridge, axis, at, highest),
            f"mean {in_digits(ridge.mean)}",
            size="ridge",
        )
        if ridge.bins
        else Strip(ridge.name, partial(_ground, axis, at), css="group")
        for ridge in ridges
    ]
    named = Strip(
        draw=lambda canvas: [words_at(canvas, (at, 0.5), reference[1], dy=5)], size="line"
    )
    is_marked = any(ridge.chosen for ridge in drawn)
    legend: tuple[tuple[Kind, str], ...] = (
        (("human", "chosen"), ("human-open", "not chosen")) if is_marked else ()
    )
    return Chart(finding, words, (named, *strips, *x_axis(axis, label)), legend)


def _ground(axis: Axis, at: float, canvas: Canvas) -> Iterator[str]:
    yield x_grid(canvas, axis)
    yield canvas.line((at, 0), (at, 1), "reference")


def _bins(ridge: Ridge, axis: Axis, at: float, highest: float, canvas: Canvas) -> Iterator[str]:
    yield from _ground(axis, at, canvas)
    base = 0.85
    pale = 0.2 if ridge.chosen else 0.45
    chosen = ridge.chosen or (0.0,) * len(ridge.bins)
    for (low, high, share), marked in zip(ridge.bins, chosen, strict=True):
        for height, opacity in ((share, pale), (marked, 0.75)):
            top = base * (1 - height / highest)
            ends = (axis.at(low), top), (axis.at(high), base)
            if height:
                yield canvas.bar(*ends, ridge.kind, percent(height), fill_opacity=opacity)
    mean = f"mean {in_digits(ridge.mean)}"
    yield canvas.mark((axis.at(ridge.mean), base), ridge.kind, mean)


def scenarios_chart(cross: list[float], best_self: list[float]) -> Chart:
    """Draw instances by cross-alignment (x) and the higher of the two self-alignments (y).

    The four corners are the four scenarios of Ghosh et al. 2024, figure 2. Above the diagonal, the
    systems can be told apart.
    """
    points = list(zip(cross, best_self, strict=True))
    above = sum(s > c for c, s in points)
    return scatter_chart(
        [(c, s, "human", "") for c, s in points],
        finding=f"Self-alignment against cross-alignment of {len(cross)} instances",
        words=f"{above} of them above the diagonal",
        x_label="similarity between the two systems",
        y_label="similarity within the more consistent system",
        diagonal="as alike between systems as within one",
    )
