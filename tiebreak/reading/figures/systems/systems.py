"""Figures of the systems: win rates, strengths, and Elo ratings."""

from collections.abc import Iterable, Iterator

from tiebreak.reading.charts.intervals import IntervalRow, Mark, interval_chart
from tiebreak.reading.figures.figure import (
    Figure,
    about_thick_lines,
    empty_figure,
    legend_of,
    table_of,
)
from tiebreak.reading.figures.systems.success_rates import known_order_sentence
from tiebreak.reading.findings import best_first, win_rate_finding
from tiebreak.reading.while_open import unreached
from tiebreak.reading.words import counted, counts_lines
from tiebreak.report.model import CriterionSection, Estimates
from tiebreak.stats import Estimate

MAX_DESCRIBED = 6  # pairs whose counts the text alternative has; all are next to the figure
WIN_RATES_READING = (
    "A point is a system's win rate: the share of its comparisons that it wins, where a tie counts"
    " as half a win. The line through it is the 95% interval. The heading names a system whose interval lies to"
    " the right of ½; with several systems, one whose wider interval does. Where the intervals of two systems overlap, do not conclude that"
    " they are equally good."
)
SEQUENCE_READING = (
    "A point is the share that the first system of the pair wins, averaged over the complete instances,"
    " where a tie counts as half a win. The line is a confidence sequence: it stays right however often you"
    " look at it, so you may stop as soon as it excludes ½."
)
POWERED_READING = (
    " Squares combine annotators with a machine rater (prediction-powered inference). They need a"
    " machine rating of every item, and are right even if the machine is biased."
)
MACHINE_WIN_RATES_TITLE = "Win rates by annotators and by each machine rater alone"
MACHINE_WIN_RATES_READING = (
    "A circle is a system's win rate by annotators, and each square its win rate by the ratings of one"
    " machine rater, in both orders if it rated in both; lines are 95% intervals, which for machine"
    " raters apply to similar instances and to these machine raters as they are. A machine rater may have"
    " rated other items than annotators did. Where a square lies far from the circle, do not take"
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
ELO_READING = (
    "Elo ratings are averages over random orders of the comparisons, and so are their intervals, which"
    " apply to new instances and these annotators only. In the rating weighted by"
    " separability (SEP-Elo), comparisons of texts that are easy to tell apart count more. The order of the points alone"
    " shows nothing where their intervals overlap."
)


def win_rates_figure(section: CriterionSection) -> Figure:
    """Return the win rates of the systems."""
    systems = section.systems
    if systems is None:
        reason = section.problems.get("systems", "This criterion compares no systems.")
        return empty_figure("win-rates", "Win rates", reason)
    finding, sentence = win_rate_finding(section)
    if stopping := unreached(section):
        # A chart of other intervals would show what the heading must not say.
        rates = {" against ".join(p.systems): p.win_rate for p in stopping.pairs.values()}
        rows, reading = _rows(rates, {}), SEQUENCE_READING
    else:
        powered = systems.prediction_powered or {}
        ordered = {name: systems.win_rate[name] for name in best_first(systems)}
        rows = _rows(ordered, powered)
        reading = WIN_RATES_READING + (POWERED_READING if powered else "")
        sentence = f"{sentence} {known_order_sentence(systems.known_order)}".rstrip()
    counts = counts_lines(section)
    description = ". ".join([finding, *counts[:MAX_DESCRIBED]])
    chart = interval_chart(
        rows, finding=description, label="win rate", reference=0.5, bounds=(0, 1)
    )
    return Figure(
        "win-rates",
        finding,
        f"{sentence}{about_thick_lines(mark.estimate for row in rows for mark in row.marks)}",
        chart,
        *table_of(rows),
        reading,
        legend_of(rows),
        title="Win rates",
        counts=counts,
    )


def machine_win_rates_figure(section: CriterionSection) -> Figure:
    """Return the win rates by annotators with those by each machine rater alone."""
    systems = section.systems
    machines = (systems and systems.machine_win_rates) or {}
    if systems is None or not machines:
        reason = "No machine rater has compared the systems."
        return empty_figure("machine-win-rates", MACHINE_WIN_RATES_TITLE, reason)
    # Before the planned number is reached, the page of systems has the annotators' sequences.
    by_people = {} if unreached(section) else systems.win_rate
    rows = [
        IntervalRow(
            name,
            (
                *((Mark("human", by_people[name], "annotators"),) if name in by_people else ()),
                *(Mark("machine", of[name], machine) for machine, of in machines.items()),
            ),
        )
        for name in best_first(systems)
    ]
    chart = interval_chart(
        list(_row_per_rater(rows)),
        finding=MACHINE_WIN_RATES_TITLE,
        label="win rate",
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


def elo_figure(section: CriterionSection) -> Figure:
    """Return Elo ratings with Elo ratings weighted by separability."""
    systems, title = section.systems, "Elo ratings, plain and weighted by separability"
    if systems is None or not systems.elo:
        return empty_figure("elo", title, "There are no Elo ratings.")
    weighted = systems.sep_elo or {}
    rows = [
        IntervalRow(
            name,
            (Mark("human", elo, "Elo"),)
            + ((Mark("human-open", weighted[name], "SEP-Elo"),) if name in weighted else ()),
        )
        for name, elo in _best_first(systems.elo).items()
    ]
    chart = interval_chart(rows, finding=title, label="Elo rating")
    sentence = _why_undefined([*systems.elo.values(), *weighted.values()])
    return Figure("elo", title, sentence, chart, *table_of(rows), ELO_READING, legend_of(rows))


def _best_first(estimates: Estimates) -> Estimates:
    def key(name: str) -> tuple[float, str]:
        estimate = estimates[name]
        return (-estimate.value if estimate.is_defined else float("inf"), name)

    return {name: estimates[name] for name in sorted(estimates, key=key)}


def _rows(rates: Estimates, powered: dict[str, Estimates]) -> list[IntervalRow]:
    return [
        IntervalRow(
            name,
            (
                Mark("human", rate, "annotators"),
                *(
                    Mark("machine", of_machine[name], f"annotators and {machine}")
                    for machine, of_machine in sorted(powered.items())
                    if name in of_machine
                ),
            ),
        )
        for name, rate in rates.items()
    ]


def _row_per_rater(rows: Iterable[IntervalRow]) -> Iterator[IntervalRow]:
    """Yield each system as a heading, and below it a row for each of its raters."""
    for row in rows:
        yield IntervalRow(row.name)
        yield from (IntervalRow(one.series, (one,)) for one in row.marks)


def _why_undefined(estimates: Iterable[Estimate]) -> str:
    return " ".join(dict.fromkeys(e.reason for e in estimates if e.reason))
