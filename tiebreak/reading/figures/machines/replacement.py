"""The figure of where machine raters may replace an annotator."""

from collections.abc import Iterator, Sequence
from itertools import chain
from math import isnan

from tiebreak.reading.charts.intervals import IntervalRow, Mark, interval_chart
from tiebreak.reading.charts.svg import kinds_of
from tiebreak.reading.figures.figure import Cell, Figure, Simple, draws_raters, empty_figure
from tiebreak.reading.figures.raters.agreement import MAX_STRATA
from tiebreak.reading.findings import stratum_name
from tiebreak.reading.messages import DESCRIBED_ONLY, READING_IF_DRAWN
from tiebreak.report.model.machines import MachineReplacement, ReplacementStratum
from tiebreak.stats import Estimate

TITLE = "Machine raters compared with single annotators, by kind of item"
READING = (
    "The advantage probability ρ: how often the machine rater fits the other annotators at least as"
    " well as the annotator who is left out. At 0.5 or more it does so in every second comparison, or"
    " ties. The table has the winning rate ω for each ε, which decides the test: 0.2 for experts, 0.15"
    " for trained annotators and 0.1 for crowd workers, or the largest smaller one that at most 5% of"
    " simulated coins pass. All numbers apply to these annotators. Of many"
    " groups of items some pass by chance, so do not look for a group that passes. A test that is not"
    " passed does not show that the machine rater is worse."
)
NOTHING_TO_TEST = (
    "No annotator rated 30 instances that another annotator and a machine rater also rated."
)
COLUMNS = (
    *("machine", "items_of", "items", "labels", "instances", "agreement", "epsilon"),
    *("winning_rate", "coin_winning_rate", "coins_passing", "advantage_probability"),
    *("annotators", "left_out", "speaks_of", "reason"),
)


@draws_raters("machine_replacement")
def machine_replacement_figures(
    section: Sequence[ReplacementStratum], simple: Simple = None
) -> list[Figure]:
    named = [
        (machine, stratum, one)
        for stratum in section
        for machine, one in sorted(stratum.machines.items())
    ]
    rows, kinds = [], kinds_of((machine for machine, *_ in named), simple)
    for machine, stratum, one in named:
        if one.tests:  # the advantage probability does not depend on ε
            advantage = Estimate(one.tests[0].advantage_probability, n=one.labels)
            name = stratum_name(stratum.stratifier, stratum.stratum, section)
            rows.append(IntervalRow(f"{machine}: {name}", (Mark(kinds[machine], advantage),)))
    rows = [row for row in rows if row.drawn]
    if not rows:
        reasons = (one.reason for *_, one in named if one.reason)
        return [empty_figure("machine-replacement", TITLE, next(reasons, NOTHING_TO_TEST))]
    chart = interval_chart(
        rows[:MAX_STRATA], finding=TITLE, label="advantage probability ρ", bounds=(0, 1)
    )
    cells = tuple(chain.from_iterable(_cells(section, *row) for row in named))
    tests = chain.from_iterable(one.tests for one in section[0].machines.values())
    # Which instances the tests of all items describe; the table has it for each test.
    described = next((test.speaks_of for test in tests if not test.reason), "these")
    reading = READING + READING_IF_DRAWN[described]
    return [Figure("machine-replacement", TITLE, "", chart, COLUMNS, cells, reading)]


def _cells(
    strata: Sequence[ReplacementStratum],
    machine: str,
    stratum: ReplacementStratum,
    one: MachineReplacement,
) -> Iterator[tuple[Cell, ...]]:
    agreement = None if isnan(one.agreement) else one.agreement
    name = stratum_name(stratum.stratifier, stratum.stratum, strata)
    about = (machine, name, stratum.n_units, one.labels, one.instances, agreement)
    if not one.tests:
        yield (*about, *(None,) * 8, one.reason or DESCRIBED_ONLY)
    for test in one.tests:
        coins = (test.coin_winning_rate, test.coins_passing)
        rates = (test.winning_rate, *coins, test.advantage_probability)
        yield (
            *about,
            test.epsilon,
            *(None if isnan(rate) else rate for rate in rates),
            test.annotators,
            test.left_out,
            test.speaks_of,
            test.reason or "",
        )
