"""Figures of the leaderboard: every pair of systems, win rates by different accounts, the next two."""

from collections.abc import Iterator, Sequence
from dataclasses import replace
from math import ceil

from tiebreak.digits import counted
from tiebreak.reading.charts.intervals import IntervalRow, Mark, interval_chart
from tiebreak.reading.charts.matrices import matrix_chart
from tiebreak.reading.charts.svg import shortened
from tiebreak.reading.figures.figure import (
    ESTIMATE_COLUMNS,
    Cell,
    Figure,
    about_thick_lines,
    draws,
    empty_figure,
    estimate_cells,
    estimate_rows,
    table_of,
)
from tiebreak.reading.figures.systems.transitivity import has_several
from tiebreak.reading.findings import best_first
from tiebreak.reading.while_open import unreached
from tiebreak.report.model.fields import Estimates
from tiebreak.report.model.rankings import HiddenPart, LeaderboardSection, NextPair
from tiebreak.report.model.report import CriterionSection
from tiebreak.report.model.systems import SystemsSection
from tiebreak.stats import Estimate

MAX_SYSTEMS = 12  # of which a matrix is drawn; a phone shows about four columns at a time
MAX_COLUMNS = 9  # wider charts have no room for numbers
MAX_ROWS = 40
MAX_SENTENCES = 3
MATRIX_TITLE = "Win rates of each system against each other"
MATRIX_READING = (
    "Each cell is the share of their comparisons that the system of the row wins against the"
    " system of the column, where a tie counts as half a win; darker cells are larger shares, and –"
    " means that the two were not compared. Systems are numbered by what ranks them. The table has every"
    " pair with its number of items, its 95% interval and who that applies to. Read a row to see"
    " which systems it wins against. Of many cells some lie far from 50% by chance, and intervals of"
    " single pairs do not allow for how many there are: do not pick out a pair after looking. Pairs that were"
    " compared on different items are not comparable with each other."
)
MATRIX_SEVERAL = "With two systems, their win rates say all that a matrix of pairs would."
MATRIX_LATER = (
    "Win rates of pairs are shown once the planned number of responses is reached. Until then, the"
    " sequences above hold."
)
MATRIX_COLUMNS = ("system", "other", *ESTIMATE_COLUMNS)
BOARD_TITLE = "Leaderboard: win rates as they are and with length and style held equal"
BOARD_READING = (
    "● a system's win rate over all its comparisons, where a tie counts as half a win; ○ the expected win rate"
    " over the same comparisons if both texts were equally long, used as much Markdown and had no"
    " advantage of position, as far as these are known. Lines are 95% intervals of one system alone,"
    " so overlapping or separate lines do not show which systems differ: the sets of ranks on the"
    " page do. Rates of systems that met different opponents do not rank them. Holding length equal may also take merit away, because longer texts may say more."
)
COLUMNS_TITLE = "Board of systems"
COLUMNS_READING = (
    "Each cell is a system's win rate, where a tie counts as half a win; the table has its interval and"
    " number of items. Systems are named after the ranks that they may have, which hold at once for all:"
    " those with ranks in common are not shown to differ. Columns are the ratings of annotators; the same"
    " with length and style held equal; annotators' ratings completed by all machine raters"
    " (prediction-powered), which estimate what annotators would prefer on all items; each machine"
    " rater's own ratings of the items that annotators rated, too, which say what it prefers; and"
    " annotators' ratings in each category. This describes where systems are strong. It is no test: no"
    " interval allows for the number of columns, so the best and the worst cell are extreme partly by"
    " chance. Do not conclude that a system is better in a category unless you named that category before"
    " looking, and then look at its interval. Categories with fewer than 10 instances have none."
)
ONLY_MACHINES = (
    " Systems marked *machines only* were rated by no annotator: they have rates by machine raters with"
    " a licence in force for all items, no ranks, and errors that no annotator has seen."
)
UNLICENSED = (
    "Left out: {systems} rated by machine raters alone, none of which is known to have a licence in force for"
    " all items."
)
ANNOTATORS, EQUAL, POWERED, BY = "annotators", "held equal", "prediction-powered", "by {machine}"
BOTH, ALONE = "annotators", "machines only"
COLUMNS = ("system", "rated_by", "ranks", "column", *ESTIMATE_COLUMNS)
NEXT_TITLE = "What would separate adjacent systems"
NEXT_READING = (
    "● the difference of the win rates of a system and the next one, with the interval that holds"
    " simultaneously with those of all pairs: the two are separated if it excludes 0. The table says from how many"
    " instances and ratings on it would, if the difference and the variances stay as they are and each"
    " annotator rates as many items as now, so the number of annotators grows by the same factor. Even if the"
    " difference is exactly right, about half of the studies of that size separate the two, and four of five of"
    " the likely size. The observed difference is itself uncertain: if the true one is at the far end"
    " of its interval, the least number is enough, and if it is 0 or has the other sign, no number is."
    " Do not stop collecting as soon as the two are separated, unless the plan said so, and do not"
    " conclude that systems are equal because the number is large."
)
NEXT_COLUMNS = (
    *("ahead", "behind", "instances", "ratings", "needed_instances", "needed_ratings"),
    *("likely_instances", "least_instances", "why_not", *ESTIMATE_COLUMNS),
)
HIDDEN_TITLE = "Does the board by machine raters foretell annotators’ board of hidden instances?"
HIDDEN = (
    "Annotators’ ratings of {hidden} of {instances} are hidden from the board, drawn with seed {seed}{fixed}."
    " Only the correlations below use them."
)
FORETOLD = "machine on public, annotators on hidden instances"
REVERSED = "machine on hidden, annotators on public instances"
HIDDEN_READING = (
    "● Spearman’s ρ of the systems’ win rates by a machine rater on the public instances and by annotators on the"
    " hidden ones; ○ the reverse. 1 means the same order. The interval reaches to ρ of all orders that both boards leave"
    " possible, so it is wide where neighbours are not separated. Whoever chose the"
    " machine rater by the board must look at the hidden part once only, and a part that was fixed after the"
    " ratings were seen is not hidden from those who saw them."
)
HIDDEN_COLUMNS = ("machine", "compares", *ESTIMATE_COLUMNS)
NO_PAIRS = (
    "There is only one system, or not all pairs of systems were compared the same number of times, so differences of"
    " win rates do not say which is better."
)


def win_matrix_figure(section: CriterionSection) -> Figure:
    """Return the win rates of all pairs; the chart has the first systems."""
    systems, name = section.systems, "win-matrix"
    if systems is None or not has_several(section):
        return empty_figure(name, MATRIX_TITLE, MATRIX_SEVERAL)
    if unreached(section):
        return empty_figure(name, MATRIX_TITLE, MATRIX_LATER)
    ranked = best_first(systems)
    cells = dict(both_ways(systems))
    drawn = ranked[:MAX_SYSTEMS]
    numbers = [str(k) for k in range(1, len(drawn) + 1)]
    chart = matrix_chart(
        [f"{number}. {shortened(name)}" for number, name in zip(numbers, drawn, strict=True)],
        [[_value(cells.get((row, column))) for column in drawn] for row in drawn],
        finding=MATRIX_TITLE,
        labels=("system", "against the system of this number"),
        columns=numbers,
    )
    if not chart:
        return empty_figure(name, MATRIX_TITLE, MATRIX_SEVERAL)
    cut = f" The chart shows the first {MAX_SYSTEMS} systems."
    order = {system: k for k, system in enumerate(ranked)}
    listed = sorted(cells.items(), key=lambda item: [order.get(s, len(order)) for s in item[0]])
    return Figure(
        name,
        MATRIX_TITLE,
        cut.strip() if len(ranked) > MAX_SYSTEMS else "",
        chart,
        MATRIX_COLUMNS,
        estimate_rows(listed),
        MATRIX_READING,
    )


def both_ways(systems: SystemsSection) -> Iterator[tuple[tuple[str, str], Estimate]]:
    """Yield the win rate of each system of a pair against the other.

    The names of a pair come from its counts, because a system's own name may look like a pair's.
    """
    for name, counts in (systems.counts or {}).items():
        first, second = counts.systems
        if name in systems.pairs:
            yield (first, second), systems.pairs[name]
            yield (second, first), _of_other(systems.pairs[name])


def _of_other(rate: Estimate) -> Estimate:
    """Return the win rate of the other system, which is the rest to 1."""
    narrower = tuple(replace(one, low=1 - one.high, high=1 - one.low) for one in rate.narrower)
    return replace(
        rate, value=1 - rate.value, low=1 - rate.high, high=1 - rate.low, narrower=narrower
    )


@draws("leaderboard")
def leaderboard_figures(section: LeaderboardSection) -> list[Figure]:
    figures = [
        board_figure(section),
        _board_figure(section),
        _next_figure(section.next_pairs),
    ]
    return figures if section.hidden is None else [*figures, _hidden_figure(section.hidden)]


def _hidden_figure(part: HiddenPart) -> Figure:
    """Return the rank correlations of the public and the hidden part."""
    rows = [
        IntervalRow(
            name,
            (Mark("human", one.of_hidden, FORETOLD), Mark("human-open", one.of_public, REVERSED)),
        )
        for name, one in part.machines.items()
    ]
    named = [
        ((name, mark.series), mark.estimate)
        for name, row in zip(part.machines, rows, strict=True)
        for mark in row.marks
    ]
    chart = interval_chart(
        rows[:MAX_ROWS], finding=HIDDEN_TITLE, label="Spearman’s ρ", bounds=(-1, 1)
    )
    fixed = f", fixed on {part.fixed_at[:10]}" if part.fixed_at else ""
    sentence = HIDDEN.format(
        hidden=part.hidden,
        instances=counted(part.instances, "instance"),
        seed=part.seed,
        fixed=fixed,
    )
    if not chart:
        reasons = dict.fromkeys(estimate.reason for _, estimate in named if estimate.reason)
        return empty_figure("hidden-part", HIDDEN_TITLE, " ".join([sentence, *reasons]))
    cells = estimate_rows(named)
    return Figure(
        "hidden-part", HIDDEN_TITLE, sentence, chart, HIDDEN_COLUMNS, cells, HIDDEN_READING
    )


def _board_figure(section: LeaderboardSection) -> Figure:
    held = section.controlled or {}
    rows = [
        IntervalRow(
            name,
            (
                Mark("human", section.win_rate[name], "as it is"),
                *((Mark("human-open", held[name], "held equal"),) if name in held else ()),
            ),
        )
        for name in _best_first(section.win_rate)
    ]
    chart = interval_chart(
        rows[:MAX_ROWS], finding=BOARD_TITLE, label="win rate", reference=0.5, bounds=(0, 1)
    )
    equal = f"Held equal: {', '.join(section.held_equal)}." if held else section.controlled_reason
    thick = about_thick_lines(section.win_rate.values())
    return Figure(
        "leaderboard",
        BOARD_TITLE,
        f"{equal}{thick}",
        chart,
        *table_of(rows),
        BOARD_READING,
    )


def board_figure(section: LeaderboardSection) -> Figure:
    """Return the table of systems, a column for each account of their win rates."""
    columns, (systems, alone) = _columns(section), _systems(section)
    drawn, names = list(columns)[:MAX_COLUMNS], [*systems, *alone]
    ranks = {name: _ranks(section, name) for name in names}
    labels = [
        *(f"{ranks[name]}. {name}" if ranks[name] else name for name in systems),
        *(f"{name} ({ALONE})" for name in alone),
    ]
    chart = matrix_chart(
        labels[:MAX_ROWS],
        [[_value(columns[one].get(name)) for one in drawn] for name in names[:MAX_ROWS]],
        finding=COLUMNS_TITLE,
        labels=("ranks and system", "win rate"),
        columns=drawn,
    )
    rows = estimate_rows(
        ((name, ALONE if name in alone else BOTH, ranks[name], column), rates[name])
        for name in names
        for column, rates in columns.items()
        if name in rates and (rates[name].is_defined or name not in alone)
    )
    reading = COLUMNS_READING + ONLY_MACHINES * bool(alone)
    notes = _left_out(section, len(columns), alone)
    return Figure("board", COLUMNS_TITLE, notes, chart, COLUMNS, rows, reading)


def _columns(section: LeaderboardSection) -> dict[str, Estimates]:
    """Return the columns that have a value, by name."""
    licensed = _licensed(section)
    machines = {
        BY.format(machine=name): (section.machines or {}).get(name, {}) | licensed.get(name, {})
        for name in sorted({*(section.machines or {}), *licensed})
    }
    every = {
        ANNOTATORS: section.win_rate,
        EQUAL: section.controlled or {},
        POWERED: section.powered or {},
        **machines,
        **section.categories,
    }
    return {name: of for name, of in every.items() if any(one.is_defined for one in of.values())}


def _licensed(section: LeaderboardSection) -> dict[str, Estimates]:
    """Return the rates of systems without annotators' ratings by each machine with a licence."""
    only = section.machines_only or {}
    return {name: only[name] for name in section.licensed or () if name in only}


def _systems(section: LeaderboardSection) -> tuple[list[str], list[str]]:
    """Return the systems that annotators rated, best first, and those that only machines did."""
    licensed = _licensed(section)
    alone = sorted({system for of in licensed.values() for system in of})
    rated = [name for name in _best_first(section.win_rate) if section.win_rate[name].is_defined]
    sets = section.rank_sets or {}
    if sets.keys() >= {*rated}:
        rated.sort(key=lambda name: (sets[name].best, sets[name].worst))
    return rated, alone


def _ranks(section: LeaderboardSection, name: str) -> str:
    found = (section.rank_sets or {}).get(name)
    if found is None:
        return ""
    return f"{found.best}–{found.worst}" if found.best < found.worst else str(found.best)


def _left_out(section: LeaderboardSection, columns: int, alone: Sequence[str]) -> str:
    unlicensed = {name for of in (section.machines_only or {}).values() for name in of} - {*alone}
    more = section.categories_left_out
    notes = (
        f"The chart shows the first {MAX_COLUMNS} columns; the table has all."
        * (columns > MAX_COLUMNS),
        f"{more} categories with fewer items are left out." * bool(more),
        UNLICENSED.format(systems=counted(len(unlicensed), "system")) * bool(unlicensed),
    )
    return " ".join(filter(None, notes))


def _next_figure(pairs: Sequence[NextPair]) -> Figure:
    name = "next-systems"
    rows = [
        IntervalRow(f"{pair.ahead} − {pair.behind}", (Mark("human", pair.difference),))
        for pair in pairs
    ]
    chart = interval_chart(
        rows[:MAX_ROWS], finding=NEXT_TITLE, label="difference of win rates", reference=0
    )
    if not chart:
        return empty_figure(name, NEXT_TITLE, _reasons(pairs) or NO_PAIRS)
    sentence = " ".join(filter(None, [*map(_parted, pairs[:MAX_SENTENCES]), _reasons(pairs)]))
    cells = tuple(_next_cells(pair) for pair in pairs)
    return Figure(
        name, NEXT_TITLE, sentence, chart, NEXT_COLUMNS, cells, NEXT_READING, title=NEXT_TITLE
    )


def _parted(pair: NextPair) -> str:
    needed, likely = pair.needed_instances, pair.likely_instances
    if needed is None or likely is None:
        return ""
    both = f"{pair.ahead} and {pair.behind}"
    if needed <= pair.instances:
        return f"{both} are separated by these ratings."
    return (
        f"If the difference that was seen were the true one, four of five studies with about"
        f" {_rounded(likely):,} instances would separate {both} (now {pair.instances:,})."
    )


def _rounded(number: int) -> int:
    """Return a number with two digits that count, since more would claim too much; up, not down."""
    unit: int = 10 ** max(0, len(str(number)) - 2)
    return ceil(number / unit) * unit


def _next_cells(pair: NextPair) -> tuple[Cell, ...]:
    return (
        *(pair.ahead, pair.behind, pair.instances, pair.ratings),
        *(pair.needed_instances, pair.needed_ratings, pair.likely_instances),
        *(pair.least_instances, pair.reason or "", *estimate_cells(pair.difference)),
    )


def _reasons(pairs: Sequence[NextPair]) -> str:
    return " ".join(dict.fromkeys(pair.reason for pair in pairs if pair.reason))


def _best_first(rates: Estimates) -> list[str]:
    return sorted(rates, key=lambda name: (-(_value(rates[name]) or 0.0), name))


def _value(estimate: Estimate | None) -> float | None:
    return estimate.value if estimate is not None and estimate.is_defined else None
