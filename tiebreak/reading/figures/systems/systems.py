"""Figures of the systems: win rates, strengths, and other rates and ranks on request."""

from collections.abc import Iterable, Mapping
from dataclasses import replace

from tiebreak.digits import counted
from tiebreak.reading.charts.intervals import THICK_KEY, IntervalRow, Mark, interval_chart
from tiebreak.reading.charts.svg import kinds_of, open_kind
from tiebreak.reading.figures.figure import (
    NO_ENDS,
    Cell,
    Figure,
    Simple,
    about_thick_lines,
    draws,
    empty_figure,
    estimate_cells,
    table_of,
)
from tiebreak.reading.figures.systems.success_rates import FULL, TUNED, known_order_sentence
from tiebreak.reading.findings import (
    best_first,
    rates_of_heading,
    scope_sentence,
    speaks_of_these,
    win_rate_finding,
)
from tiebreak.reading.messages import NO_SEQUENCE_YET, NO_SHARED_RANK
from tiebreak.reading.while_open import has_sequences, unreached, without_interval
from tiebreak.reading.words import counts_lines, elo_in_words
from tiebreak.report.model.fields import Estimates
from tiebreak.report.model.report import CriterionSection
from tiebreak.report.model.systems import SystemsSection
from tiebreak.stats import Estimate
from tiebreak.stats.core.results import NarrowerInterval

WIN_RATE = "win rate over the other systems (a tie counts half)"
MAX_DESCRIBED = 6  # pairs whose counts the text alternative has; all are next to the figure
WIN_RATES_READING = (
    "A point is a system's win rate: the share of its comparisons that it wins, where a tie counts"
    " as half a win. The line through it is the 95% interval. The heading names a system whose interval lies to"
    " the right of ½. Where the intervals of two systems overlap, do not conclude that"
    " they are equally good."
)
SEQUENCE_READING = (
    "A point is the share that the first system of the pair wins, averaged over the complete instances,"
    " where a tie counts as half a win. The line is a confidence sequence: it stays right however often you"
    " look at it, so you may stop as soon as it excludes ½."
)
POINTS_READING = (
    "A point is a system's win rate so far: the share of its comparisons that it wins, where a tie counts as half"
    " a win. Intervals are drawn from the first complete instance on, or once the planned number of responses is"
    " reached."
)
POWERED_READING = (
    " Squares combine annotators with machine raters (prediction-powered inference): with each, or with"
    " all of them stacked if annotators rated fewer than 100 instances. They need a machine rating of"
    " every item, and are right even if the machine is biased."
)
MACHINE_WIN_RATES_TITLE = "Win rates by annotators and by each machine rater alone"
MACHINE_WIN_RATES_READING = (
    "A circle is a system's win rate by annotators, and each angular mark its win rate by the ratings of one"
    " machine rater, in both orders if it rated in both; lines are 95% intervals, which for machine"
    " raters apply to similar instances and to these machine raters as they are. A machine rater may have"
    " rated other items than annotators did. Where one lies far from the circle, do not take"
    " the machine rater's ranking for annotators'. Where it lies close, the two may still disagree item by"
    " item: the agreement below says how often."
)
WITHOUT_ANNOTATORS_READING = (
    " Win rates by annotators are left out until the planned number of responses is reached."
)
STRENGTH_READING = (
    "A point is a system's strength in the Bradley–Terry model, on the logarithmic scale, and the line"
    " its 95% interval. Only differences between systems have a meaning: a difference of 1 means odds"
    " of 2.7 to 1 in a comparison without ties. The interval applies to one strength, so overlapping lines"
    " do not show that two systems are equal."
)
ELO_TITLE = "Elo ratings, plain and weighted by separability"
ELO_READING = (
    "Elo ratings are averages over random orders of the comparisons, and so are their intervals, which"
    " apply to new instances and these annotators only. In the rating weighted by"
    " separability (SEP-Elo), comparisons of texts that are easy to tell apart count more. Points whose intervals"
    " overlap do not show that the systems differ."
)

WIN_OR_TIE_TITLE = "Win-or-tie rates and win rates"
WIN_OR_TIE_READING = (
    "● the win rate, where a tie counts as half a win; ○ the share of its comparisons that a system wins or"
    " ties. Use win-or-tie where being as good is enough, for example to replace a system with a cheaper"
    " one. A system can win or tie in most comparisons and still lose more often than it wins, and"
    " win-or-tie rates of two systems add to more than 1: so ½ is no mark for them. With more ties,"
    " all of them are higher, so do not compare them between studies with different scales."
)
SHARED_RANKS_TITLE = "Ranks shared where intervals overlap"
SHARED_RANKS_READING = (
    "Each system is preceded by 1 plus the number of systems whose whole interval of the win rate lies"
    " above its own, as in table 5 of HREF (Lyu et al. 2024). Only for comparison with that paper: a"
    " shared rank does not show that systems are equally good. Report rank sets instead."
)
EACH_MACHINE_TITLE = "Win rates with each machine rater alone"
EACH_MACHINE_READING = (
    "● the win rate by annotators; filled angles the same corrected by one machine rater, whose weight λ is tuned;"
    " hollow ones with its full weight (λ = 1), as in ARES. All stay right if the machine rater is biased. Do not"
    " choose among them after you have seen them: the shortest of several intervals is too short."
)
PEOPLE = "annotators"
RESTS_ON_THICK = "the heading rests on the thick part"
ALL_AT_ONCE = "whole line: 95% interval for all systems{these} at once; thick: for one alone"
NO_MACHINES: Mapping[str, Estimates] = {}
NO_UNRATED = "No machine rater has rated items that annotators did not."


def win_rates_figure(section: CriterionSection) -> Figure:
    """Return the win rates of the systems."""
    systems = section.systems
    if systems is None:
        reason = section.problems.get("systems", "This criterion compares no systems.")
        return empty_figure("win-rates", "Win rates", reason)
    finding, sentence = win_rate_finding(section)
    stopping, thick, rests = unreached(section), THICK_KEY, ""
    if stopping and not has_sequences(stopping):
        rates = {name: systems.win_rate[name] for name in best_first(systems)}
        points = {name: without_interval(rate, NO_SEQUENCE_YET) for name, rate in rates.items()}
        rows, reading, label = _rows(points), POINTS_READING, WIN_RATE
    elif stopping:
        rates = {" against ".join(p.systems): p.win_rate for p in stopping.pairs.values()}
        rows, reading = _rows(rates), SEQUENCE_READING
        label = "share that the first system wins (a tie counts half)"
    else:
        powered = systems.prediction_powered or _stacks(systems)
        label = WIN_RATE
        ordered = {name: systems.win_rate[name] for name in best_first(systems)}
        rows = _rows(ordered, powered, section.simple_raters)
        drawn, thick, rests = _as_in_heading(section, rows)
        reading = WIN_RATES_READING + (POWERED_READING if powered else "")
        sentence = f"{sentence} {known_order_sentence(systems.known_order)}".rstrip()
        if drawn is rows:
            sentence += about_thick_lines(mark.estimate for row in rows for mark in row.marks)
    counts = counts_lines(section)
    description = ". ".join([finding, *counts[:MAX_DESCRIBED]])
    chart = interval_chart(
        rows if stopping else drawn,
        finding=description,
        label=label,
        reference=0.5,
        bounds=(0, 1),
        thick=thick,
        rests=rests,
    )
    return Figure(
        "win-rates",
        finding,
        sentence,
        chart,
        *_table(section, rows),
        reading,
        title="Win rates",
        counts=counts,
    )


def _as_in_heading(
    section: CriterionSection, rows: list[IntervalRow]
) -> tuple[list[IntervalRow], str, str]:
    """Return the rows as drawn, what lines with thick parts are, and what the heading rests on but whole lines.

    Of several systems that is the wider one that holds for all of them at once.
    """
    together = section.systems.simultaneous if section.systems else None
    if together is None or together.n_win_rates < 2:
        rests = RESTS_ON_THICK if speaks_of_these(section) else ""
        return rows, THICK_KEY, rests
    wide, of_these = rates_of_heading(section), speaks_of_these(section)

    def drawn(name: str, one: Mark) -> Mark:
        alone = one.estimate
        inner = alone.narrower[:1] if of_these else ()
        ends = inner or (NarrowerInterval(alone.low, alone.high, alone.scope, alone.method),)
        line = wide.get(name, alone) if one.series == PEOPLE else alone
        return replace(one, estimate=replace(line, narrower=ends if line.has_interval else ()))

    marks = [tuple(drawn(row.name, one) for one in row.marks) for row in rows]
    return (
        [replace(row, marks=of_row) for row, of_row in zip(rows, marks, strict=True)],
        ALL_AT_ONCE.format(these=" and these annotators" * of_these),
        "",
    )


def _table(
    section: CriterionSection, rows: list[IntervalRow]
) -> tuple[tuple[str, ...], tuple[tuple[Cell, ...], ...]]:
    """Return what the rows have, and the ends that hold for all systems at once, if these differ."""
    columns, cells = table_of(rows)
    together = section.systems.simultaneous if section.systems else None
    if together is None or together.n_win_rates < 2 or unreached(section):
        return columns, cells
    rates = rates_of_heading(section)
    wide: dict[tuple[Cell, ...], Estimate] = {(name, PEOPLE): rates[name] for name in rates}
    ends = (estimate_cells(wide[row[:2]])[1:3] if row[:2] in wide else NO_ENDS for row in cells)
    added = zip(cells, ends, strict=True)
    return (*columns, "low_all_at_once", "high_all_at_once"), tuple((*a, *b) for a, b in added)


def machine_win_rates_figure(section: CriterionSection) -> Figure:
    """Return the win rates by annotators with those by each machine rater alone."""
    systems = section.systems
    machines = (systems and systems.machine_win_rates) or {}
    if systems is None or not machines:
        reason = "No machine rater has compared the systems."
        return empty_figure("machine-win-rates", MACHINE_WIN_RATES_TITLE, reason)
    # Before the planned number is reached, the page of systems has the annotators' sequences.
    by_people = {} if unreached(section) else systems.win_rate
    kinds = kinds_of(machines, section.simple_raters)
    rows = [
        IntervalRow(
            name,
            (
                *((Mark("human", by_people[name], "annotators"),) if name in by_people else ()),
                *(Mark(kinds[machine], of[name], machine) for machine, of in machines.items()),
            ),
        )
        for name in best_first(systems)
    ]
    chart = interval_chart(
        rows,
        finding=MACHINE_WIN_RATES_TITLE,
        label=WIN_RATE,
        reference=0.5,
        bounds=(0, 1),
    )
    note = "" if by_people else WITHOUT_ANNOTATORS_READING
    return Figure(
        "machine-win-rates",
        MACHINE_WIN_RATES_TITLE,
        f"{counted(len(machines), 'machine rater')}.{note}",
        chart,
        *table_of(rows),
        MACHINE_WIN_RATES_READING,
    )


def strengths_figure(section: CriterionSection) -> Figure:
    systems = section.systems
    strengths = _best_first(systems.bradley_terry) if systems and systems.bradley_terry else {}
    title = "Bradley–Terry strengths"
    if not strengths:
        return empty_figure("strengths", title, "There are no Bradley–Terry strengths.")
    rows = [IntervalRow(name, (Mark("human", e),)) for name, e in strengths.items()]
    chart = interval_chart(rows, finding=title, label="strength (log odds)", reference=0)
    sentence = f"{_why_undefined(strengths.values())}{about_thick_lines(strengths.values())}"
    return Figure("strengths", title, sentence, chart, *table_of(rows), STRENGTH_READING)


@draws("elo")
def elo_figures(systems: SystemsSection) -> list[Figure]:
    """Return Elo ratings with Elo ratings weighted by separability."""
    title, ratings, weighted = ELO_TITLE, systems.elo or {}, systems.sep_elo or {}
    rows = [
        IntervalRow(
            name,
            (Mark("human", elo, "Elo"),)
            + ((Mark("human-open", weighted[name], "SEP-Elo"),) if name in weighted else ()),
        )
        for name, elo in _best_first(ratings).items()
    ]
    chart = interval_chart(rows, finding=title, label="Elo rating")
    sentence = _why_undefined([*ratings.values(), *weighted.values()])
    columns, cells = table_of(rows)
    reading = ELO_READING
    if constants := systems.elo_constants:
        reading += f" {elo_in_words(constants)}"
        columns += tuple(vars(constants))
        cells = tuple((*row, *vars(constants).values()) for row in cells)
    return [Figure("elo", title, sentence, chart, columns, cells, reading)]


@draws("win_or_tie")
def win_or_tie_figures(systems: SystemsSection) -> list[Figure]:
    rows = [
        IntervalRow(
            name,
            (
                Mark("human", systems.win_rate[name], "win rate"),
                Mark("human-open", rate, "win or tie"),
            ),
        )
        for name, rate in _best_first(systems.win_or_tie or {}).items()
    ]
    return [_of_rates("win-or-tie", WIN_OR_TIE_TITLE, rows, WIN_OR_TIE_READING)]


@draws("shared_ranks")
def shared_ranks_figures(systems: SystemsSection) -> list[Figure]:
    ranks = systems.shared_ranks or {}
    if not ranks:
        return [empty_figure("shared-ranks", SHARED_RANKS_TITLE, NO_SHARED_RANK)]
    rows = [
        IntervalRow(f"{ranks[name]}: {name}", (Mark("human", systems.win_rate[name]),))
        for name in sorted(ranks, key=lambda name: (ranks[name], name))
    ]
    return [_of_rates("shared-ranks", SHARED_RANKS_TITLE, rows, SHARED_RANKS_READING)]


@draws("prediction_powered")
def each_machine_figures(systems: SystemsSection) -> list[Figure]:
    """Return the win rates with each machine, with tuned and with full weight."""
    full, tuned = systems.prediction_powered_lambda_1 or {}, systems.prediction_powered or {}
    if not tuned:
        return [empty_figure("each-machine", EACH_MACHINE_TITLE, NO_UNRATED)]
    kinds = kinds_of([*tuned, *full])
    rows = [
        IntervalRow(
            name,
            (
                Mark("human", systems.win_rate[name], "annotators"),
                *(Mark(kinds[m], of[name], TUNED.format(machine=m)) for m, of in tuned.items()),
                *(
                    Mark(open_kind(kinds[m]), of[name], FULL.format(machine=m))
                    for m, of in full.items()
                ),
            ),
        )
        for name in best_first(systems)
    ]
    return [_of_rates("each-machine", EACH_MACHINE_TITLE, rows, EACH_MACHINE_READING)]


def _of_rates(name: str, title: str, rows: list[IntervalRow], reading: str) -> Figure:
    """Return a figure of shares of comparisons."""
    chart = interval_chart(rows, finding=title, label="share of comparisons", bounds=(0, 1))
    rates = [mark.estimate for row in rows for mark in row.marks]
    sentence = f"{scope_sentence(rates[-1])}{about_thick_lines(rates)}" if chart else ""
    return Figure(name, title, sentence, chart, *table_of(rows), reading)


def _best_first(estimates: Estimates) -> Estimates:
    def key(name: str) -> tuple[float, str]:
        estimate = estimates[name]
        return (-estimate.value if estimate.is_defined else float("inf"), name)

    return {name: estimates[name] for name in sorted(estimates, key=key)}


def _rows(
    rates: Estimates, powered: Mapping[str, Estimates] = NO_MACHINES, simple: Simple = None
) -> list[IntervalRow]:
    kinds = kinds_of(powered, simple)
    return [
        IntervalRow(
            name,
            (
                Mark("human", rate, PEOPLE),
                *(
                    Mark(kinds[machine], of_machine[name], f"annotators and {machine}")
                    for machine, of_machine in sorted(powered.items())
                    if name in of_machine
                ),
            ),
        )
        for name, rate in rates.items()
    ]


def _stacks(systems: SystemsSection) -> dict[str, Estimates]:
    """Return the win rates with all machines together, as those of one machine are given."""
    stacks = {name: one.stack for name, one in (systems.powered or {}).items()}
    return {"machine raters, stacked": stacks} if stacks else {}


def _why_undefined(estimates: Iterable[Estimate]) -> str:
    return " ".join(dict.fromkeys(e.reason for e in estimates if e.reason))
