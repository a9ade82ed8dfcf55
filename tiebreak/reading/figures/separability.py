"""Figures of separability (δ): its distribution by pair of systems, and the alignments behind it."""

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from itertools import groupby
from operator import attrgetter

import numpy as np

from tiebreak.digits import percent
from tiebreak.reading.charts.axes import round_step
from tiebreak.reading.charts.chart import Chart
from tiebreak.reading.charts.separability import Ridge, ridges_chart, scenarios_chart
from tiebreak.reading.figures.figure import Cell, Figure
from tiebreak.similarity import similarity_title

TITLE = "Separability (δ) by pair of systems"
READING = (
    "Each row is a pair of systems. The bars show which share of the instances has each separability"
    " δ, on one scale for all rows, and the point is the mean. The further to the right, the easier"
    " the systems' texts are to tell apart, and the more consistent ratings can be expected to be. At"
    " δ = 0 the texts of two systems differ no more than the texts of one of them. δ is not"
    " normalised; compare pairs and datasets only with the same similarity, and with the same number of"
    " generations at the same temperature."
)
READING_ALIGNMENTS = (
    "Each point is an instance: how alike the two systems' texts are (to the right), and how alike the"
    " texts of the more consistent system are (up). Above the diagonal, δ is above 0, and the systems can"
    " be told apart."
)
HIGH = "An alignment is high if it lies in the upper half between the smallest and the largest of this pair."
COLUMNS = ("study", "systems", "similarity", "statistic", "from", "to", "value")
MAX_ROWS, MAX_STEPS, MAX_POINTS = 30, 40, 2_000


@dataclass(frozen=True)
class Bin:
    """How many instances have a δ from `low` to below `high`, and how many of them are chosen."""

    low: float
    high: float
    n: int
    chosen: int = 0


@dataclass(frozen=True)
class ScoreDistribution:
    """δ of a pair of systems in a study; `above_zero` counts instances that can be told apart.

    `place` tells studies apart that have the same title.
    """

    study: str
    systems: tuple[str, str]
    n: int
    mean: float
    low: float
    high: float
    above_zero: int
    bins: tuple[Bin, ...]
    place: int = 0

    @property
    def name(self) -> str:
        return " – ".join(self.systems)


def bin_width(low: float, high: float) -> float:
    """Return the width of the bins of all pairs, whose δ are between these."""
    return round_step(high - low, MAX_STEPS)


def distributions_of(
    deltas: Mapping[tuple[str, str], np.ndarray[tuple[int], np.dtype[np.float64]]],
) -> list[ScoreDistribution]:
    """Return how δ is distributed for each pair that has any, with the same bins for all."""
    known = {pair: values[~np.isnan(values)] for pair, values in deltas.items()}
    known = {pair: values for pair, values in known.items() if len(values)}
    if not known:
        return []
    low, high = min(v.min() for v in known.values()), max(v.max() for v in known.values())
    width = bin_width(low, high)
    rows = []
    for pair, values in known.items():
        steps, counts = np.unique(np.floor(values / width).astype(int), return_counts=True)
        bins = (
            Bin(step * width, (step + 1) * width, int(n))
            for step, n in zip(steps.tolist(), counts, strict=True)
        )
        rows.append(
            ScoreDistribution(
                study="",
                systems=pair,
                n=len(values),
                mean=float(values.mean()),
                low=float(values.min()),
                high=float(values.max()),
                above_zero=int((values > 0).sum()),
                bins=tuple(bins),
            )
        )
    return rows


def chart_of_distributions(
    rows: Sequence[ScoreDistribution], similarity: str, *, finding: str
) -> Chart:
    """Return the picture of the first pairs, with the instances marked that are chosen."""
    return ridges_chart(
        list(_ridges(rows[:MAX_ROWS])),
        finding=finding,
        label=f"separability (δ) by {similarity_title(similarity)}",
        reference=(0, "alike"),
    )


def figure_of_distributions(
    rows: Sequence[ScoreDistribution], similarity: str, *, query: str = ""
) -> Figure:
    """Return δ by pair of systems, from at least one distribution."""
    chart = chart_of_distributions(rows, similarity, finding=TITLE)
    return Figure(
        "separability",
        TITLE,
        _sentence(rows),
        chart,
        COLUMNS,
        (*_summaries(rows, similarity), *_shares(rows, similarity)),
        READING,
        query=query,
        is_of_ratings=False,
    )


def alignments_figure(
    pair: tuple[str, str],
    cross: Sequence[float],
    best_self: Sequence[float],
    scenarios: Mapping[str, float],
) -> Figure:
    """Return the alignments of a pair's instances, of which the chart shows the first."""
    name = " – ".join(pair)
    return Figure(
        f"alignments-{'-'.join(pair)}",
        f"Alignments of {name}",
        scenarios_sentence(scenarios),
        scenarios_chart(list(cross[:MAX_POINTS]), list(best_self[:MAX_POINTS])),
        ("cross_alignment", "best_self_alignment"),
        tuple(zip(cross, best_self, strict=True)),
        READING_ALIGNMENTS,
        is_of_ratings=False,
    )


def scenarios_sentence(shares: Mapping[str, float]) -> str:
    """Return which share of a pair's instances each of the four scenarios has."""
    if not shares:
        return ""
    named = "; ".join(f"{name}: {percent(share)}" for name, share in shares.items())
    return f"Scenarios of the instances: {named}. {HIGH}"


def _ridges(rows: Iterable[ScoreDistribution]) -> Iterator[Ridge]:
    """Yield the pairs, under the studies' titles where there are several studies."""
    studies = [list(of_study) for _, of_study in groupby(rows, attrgetter("place"))]
    for of_study in studies:
        if len(studies) > 1:
            yield Ridge(of_study[0].study)
        for row in of_study:
            bins = tuple((one.low, one.high, one.n / row.n) for one in row.bins)
            chosen = tuple(one.chosen / row.n for one in row.bins)
            yield Ridge(row.name, "human", bins, row.mean, chosen if any(chosen) else ())


def _sentence(rows: Sequence[ScoreDistribution]) -> str:
    above, n = sum(row.above_zero for row in rows), sum(row.n for row in rows)
    sentence = (
        f"{percent(above / n)} of {n:,} scores, one for each instance and pair, are above 0: the texts of one"
        " system are more like each other than like the other system's texts."
    )
    if len(rows) > MAX_ROWS:
        sentence += f" The chart shows the first {MAX_ROWS} of {len(rows)} pairs."
    return sentence


def _summaries(rows: Iterable[ScoreDistribution], similarity: str) -> Iterator[tuple[Cell, ...]]:
    for row in rows:
        about = (row.study, row.name, similarity)
        yield (*about, "instances", row.low, row.high, row.n)
        yield (*about, "mean", row.low, row.high, row.mean)
        yield (*about, "share above 0", row.low, row.high, row.above_zero / row.n)


def _shares(rows: Iterable[ScoreDistribution], similarity: str) -> Iterator[tuple[Cell, ...]]:
    for row in rows:
        for one in row.bins:
            share = one.n / row.n
            yield (row.study, row.name, similarity, "share", one.low, one.high, share)
