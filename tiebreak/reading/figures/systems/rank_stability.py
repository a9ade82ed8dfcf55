"""Figures of the ranking by baseline, and between parts of the instances."""

from collections.abc import Iterator

from tiebreak.reading.charts.intervals import IntervalRow, Mark, interval_chart
from tiebreak.reading.charts.matrices import matrix_chart
from tiebreak.reading.charts.svg import Kind, kinds_of
from tiebreak.reading.figures.figure import Cell, Figure, Simple, draws_raters, empty_figure
from tiebreak.reading.messages import READING_IF_DRAWN
from tiebreak.report.model.rankings import NamedPart, RankStabilitySection, SplitHalves
from tiebreak.report.sections.systems.rank_stability import ANNOTATORS
from tiebreak.stats import Estimate, undefined

BASELINES_TITLE = "Win rates against each system as the baseline"
BASELINES_READING = (
    "A cell is the expected win rate, by annotators, of the system in its column against the baseline in"
    " its row, with ties as half a win. The table also has the machine raters, and Spearman's correlation"
    " of each row with the win rates against all systems. A benchmark has one baseline: where rows rank"
    " the systems otherwise, its ranking depends on that choice, and should be reported with it. Rates"
    " have no intervals here, so do not read differences between cells as findings; intervals of pairs are"
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
PARTS_TITLE = "Ranking in each named part of the data, and in the rest"
PARTS_READING = (
    "A point is Spearman's correlation of the systems' win rates between the instances of one category"
    " and all others. If categories are the open and the hidden part of a benchmark, that is one row."
    " The table has two p-values, from 1,000 random parts of the same size with the part itself among"
    " them: the share whose correlation with the rest is as low (p), and the share whose win rates differ"
    " as much from the rest (p of rates), which also notices changes that turn no ranks. Adjusted, they"
    " are multiplied by the number of parts of the same rater. A low correlation is usual where there"
    " are few instances or the systems are close: only a small p shows that the part is no random one."
    " It does not show why: the part may favour other systems, have other pairs, or be easier or harder. A large p does"
    " not show that both parts rank alike; if the part and the rest are as large and rank in opposite"
    " orders, random parts have low correlations too, and only the p of rates is small."
)
PART, RANDOM = "the part and the rest", "random parts (median)"
ALL_OTHERS = "all others"
LEFT_OUT = "Categories with fewer instances are not shown: {n}."
NO_RATER = "Neither annotators nor a machine rater have compared three systems."


@draws_raters("rank_stability")
def rank_stability_figures(
    section: dict[str, RankStabilitySection], simple: Simple = None
) -> list[Figure]:
    if not section:
        return [empty_figure("baselines", BASELINES_TITLE, NO_RATER)]
    return [_baselines(section), _halves(section, simple), _parts(section)]


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
    reading = BASELINES_READING + READING_IF_DRAWN[one.speaks_of]
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


def _halves(section: dict[str, RankStabilitySection], simple: Simple) -> Figure:
    halves = {name: one.halves for name, one in section.items()}
    kinds = kinds_of(halves.keys() - {ANNOTATORS}, simple) | {ANNOTATORS: "human"}
    rows = [IntervalRow(name, (Mark(kinds[name], _estimate(one)),)) for name, one in halves.items()]
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
    reading = HALVES_READING + _how_counted(section)
    return Figure("halves", HALVES_TITLE, " ".join(reasons), chart, columns, cells, reading)


def _how_counted(section: dict[str, RankStabilitySection]) -> str:
    drawn = (one.speaks_of for one in section.values() if one.speaks_of != "these")
    return READING_IF_DRAWN[next(drawn, "these")]


def _estimate(halves: SplitHalves) -> Estimate:
    if halves.median is None or halves.low is None or halves.high is None:
        return undefined(halves.reason or "")
    return Estimate(halves.median, halves.low, halves.high, n=halves.instances)


def _parts(section: dict[str, RankStabilitySection]) -> Figure:
    """Return the correlations of named parts; points without lines, because they have no interval."""
    parts = {rater: one.parts for rater, one in section.items() if one.parts}
    named = [
        (rater, name, part) for rater, one in parts.items() for name, part in one.parts.items()
    ]
    reasons = [one.reason for one in parts.values() if one.reason]
    reasons += [part.reason for _, _, part in named if part.reason]
    left_out = max((one.left_out for one in parts.values()), default=0)
    sentences = [*dict.fromkeys(reasons), *([LEFT_OUT.format(n=left_out)] if left_out else [])]
    columns = (
        *("rater", "part", "rest", "instances", "other_instances", "correlation"),
        *("random_median", "random_percentile_2.5", "p", "p_of_rates"),
        *("p_adjusted", "p_of_rates_adjusted", "reason"),
    )
    cells = tuple(
        (
            *(rater, name, one.rest or ALL_OTHERS, one.instances, one.other_instances),
            *(one.correlation, one.median, one.low, one.p, one.p_rates),
            *(one.p_adjusted, one.p_rates_adjusted, one.reason or ""),
        )
        for rater, name, one in named
    )
    rows, reading = [*_part_rows(section)], PARTS_READING + _how_counted(section)
    chart = interval_chart(
        rows, finding=PARTS_TITLE, label="rank correlation", reference=0, bounds=(-1, 1)
    )
    return Figure(
        *("parts", PARTS_TITLE, " ".join(sentences), chart, columns, cells, reading),
    )


def _part_rows(section: dict[str, RankStabilitySection]) -> Iterator[IntervalRow]:
    """Yield a heading for each rater, and below it a row for each part."""
    for rater, one in section.items():
        parts = one.parts.parts.items() if one.parts else ()
        ranked = [(name, part) for name, part in parts if part.correlation is not None]
        if ranked:
            yield IntervalRow(rater)
        for name, part in ranked:
            yield _part_row(f"{name} against {part.rest or ALL_OTHERS}", rater, part)


def _part_row(name: str, rater: str, part: NamedPart) -> IntervalRow:
    is_human = rater == ANNOTATORS
    kinds: tuple[Kind, Kind] = ("human", "human-open") if is_human else ("machine", "machine-open")
    whose = ANNOTATORS if is_human else "machine raters"
    numbers = zip(kinds, (part.correlation, part.median), (PART, RANDOM), strict=True)
    return IntervalRow(
        name,
        tuple(
            Mark(of, Estimate(value, n=part.instances), f"{whose}, {series}")
            for of, value, series in numbers
            if value is not None
        ),
    )
