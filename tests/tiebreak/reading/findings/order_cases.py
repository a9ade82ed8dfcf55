"""Cases of findings on one order of the systems."""

from dataclasses import replace

from tests.tiebreak.reading.findings.case import SELECTED, Case, figure_text, of
from tests.tiebreak.reading.findings.situations import (
    UNDEFINED,
    WHY,
    base,
    interval,
)
from tiebreak.reading.figures.systems.transitivity import ORDER_TITLE, order_figure
from tiebreak.report.model.rankings import BradleyTerryFit, TransitivitySection
from tiebreak.stats import Estimate
from tiebreak.stats.rankings.transitivity import Triads

CONTRADICTED = "One order of the systems does not explain the win rates of all pairs"
NOT_CONTRADICTED = "No contradiction of one order of the systems is shown"
CYCLES = "1 of 1 triples of systems with a winner in each pair form a cycle (100%)."
CYCLE = "One is a over b, b over c, and c over a."
DEVIATION = "The largest deviation is a against b: 0.70 observed, 0.50 by the strengths. p = 0.010."


def order(p: Estimate, *, cyclic: int = 1, pair: tuple[str, ...] = ("a", "b")) -> str:
    systems = base().systems
    names = ("a", "b", "c")
    joined = {f"{x} vs {y}": interval(0.4, 0.6) for x, y in ("ab", "bc", "ac")}
    three = replace(
        systems,
        win_rate=dict.fromkeys(names, interval(0.4, 0.6)),
        pairs=joined,
        bradley_terry=dict.fromkeys(names, interval(-0.1, 0.1)),
    )
    share = Estimate(float(cyclic), n=1) if cyclic else UNDEFINED
    triads = Triads(share, cyclic, cyclic, names if cyclic else ())
    fit = BradleyTerryFit(p, 0.2, pair, 0.7, 0.5)
    section = replace(base(), systems=three, transitivity=TransitivitySection(triads, fit))
    return of("", figure_text(order_figure(section)))


ORDER = (
    Case(
        "p below 0.05",
        lambda: order(Estimate(0.01, n=3)),
        (f"| {CONTRADICTED} |", CYCLES, CYCLE, DEVIATION),
        (NOT_CONTRADICTED,),
    ),
    Case(
        "p of 0.05, and no cycle",
        lambda: order(Estimate(0.05, n=3), cyclic=0, pair=()),
        (f"| {NOT_CONTRADICTED} |", "p = 0.050."),
        (CONTRADICTED, CYCLES, CYCLE, DEVIATION),
    ),
    Case(
        "p after a draw",
        lambda: order(
            replace(Estimate(0.01, n=3), stated_scope=interval(0, 1, instances="selected").scope)
        ),
        (f"| {CONTRADICTED}{SELECTED} |",),
        (f"| {CONTRADICTED} |",),
    ),
    Case(
        "no p-value of few instances",
        lambda: order(UNDEFINED),
        (f"| {ORDER_TITLE} |", WHY),
        (CONTRADICTED, NOT_CONTRADICTED, "p = 0.010."),
    ),
)
