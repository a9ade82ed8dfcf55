"""Figures of the ranking by baseline, and between halves of the instances."""

from collections.abc import Iterator

from metrics.charts.intervals import IntervalRow, Mark, interval_chart
from metrics.charts.matrices import matrix_chart
from metrics.figures.figure import Cell, Figure, empty_figure
from metrics.messages import HOW_COUNTED
from tiebreak.report.model import RankStabilitySection, SplitHalves
from tiebreak.report.rank_stability import ANNOTATORS
from tiebreak.stats import Estimate, undefined

BASELINES_TITLE = "Win rates against each system as the baseline"
BASELINES_READING = (
    "A cell is the expected win rate, by annotators, of the system in its column against the baseline in"
    " its row, with ties as half a win. The table also has the machine raters, and Spearman's correlation"
    " of each row with the win rates against all systems. A benchmark has one baseline: where rows rank"
    " the systems otherwise, its ranking depends on that choice, and should be reported with it. Rates"
    " have no intervals here, so do not read differences between cells as findings; those of pairs are"
    " above."
)
HALVES_TITLE = "Ranking of hidden instances, foretold by the open half"
HALVES_READING = (
    "Instances are divided into an open and a hidden half at random, 1,000 times. A point is the median of"
    " Spearman's correlation of the systems' win rates between the two halves, and the line covers 95% of"
    " the splits; it is no confidence interval. Where it is low, a ranking on so many instances is mostly"
    " chance, and a leaderboard on open instances says little about hidden ones. All instances together"
    " are more than half, so their ranking is steadier than this. A high correlation does not show that"
    " instances of another kind would give the same ranking, nor that systems next to each other differ."
)
NO_RATER = "Neither annotators nor a machine rater have compared three systems."


def rank_stability_figures(section: dict[str, RankStabilitySection]) -> list[Figure]:
    if not section:
        return [empty_figure("baselines", BASELINES_TITLE, NO_RATER)]
    return [_baselines(section), _halves(section)]


def _baselines(section: dict[str, RankStabilitySection]) -> Figure:
    name = ANNOTATORS if ANNOTATORS in section else next(iter(section))
    one = section[name]
    rates = [[change.win_rates.get(s) for s in one.systems] for change in one.baselines.values()]
    chart = matrix_chart(
        [*one.baselines],
        rates,
        finding=BASELINES_TITLE,
        labels=("baseline", f"win rate by {name}"),
        columns=one.systems,
        kind="human" if name == ANNOTATORS else "machine",
    )
    columns = (
        *("rater", "baseline", "system", "win_rate", "correlation_with_overall"),
        *("speaks_of", "reason"),
    )
    reading = BASELINES_READING + HOW_COUNTED[one.speaks_of]
    return Figure("baselines", BASELINES_TITLE, "", chart, columns, tuple(_cells(section)), reading)


def _cells(section: dict[str, RankStabilitySection]) -> Iterator[tuple[Cell, ...]]:
    for rater, one in section.items():
        for baseline, change in one.baselines.items():
            for system in one.systems:
                rate = change.win_rates.get(system)
                yield (
                    *(rater, baseline, system, rate, change.correlation),
                    *(one.speaks_of, change.reason or ""),
                )


def _halves(section: dict[str, RankStabilitySection]) -> Figure:
    halves = {name: one.halves for name, one in section.items()}
    rows = [
        IntervalRow(name, (Mark("human" if name == ANNOTATORS else "machine", _estimate(one)),))
        for name, one in halves.items()
    ]
    chart = interval_chart(
        rows, finding=HALVES_TITLE, label="rank correlation", reference=0, bounds=(-1, 1)
    )
    reasons = dict.fromkeys(one.reason for one in halves.values() if one.reason)
    columns = (
        *("rater", "instances", "splits", "median", "percentile_2.5", "percentile_97.5"),
        *("same_first", "reason"),
    )
    cells = tuple(
        (name, h.instances, h.splits, h.median, h.low, h.high, h.same_first, h.reason or "")
        for name, h in halves.items()
    )
    drawn = next((one for one in section.values() if one.speaks_of != "these"), None)
    reading = HALVES_READING + (HOW_COUNTED[drawn.speaks_of] if drawn else "")
    return Figure("halves", HALVES_TITLE, " ".join(reasons), chart, columns, cells, reading)


def _estimate(halves: SplitHalves) -> Estimate:
    if halves.median is None or halves.low is None or halves.high is None:
        return undefined(halves.reason or "")
    return Estimate(halves.median, halves.low, halves.high, n=halves.instances)
