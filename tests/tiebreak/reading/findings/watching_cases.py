"""Cases of findings while the planned number of responses is not reached."""

from dataclasses import replace

from tests.tiebreak.reading.findings.case import A_WINS, HERE, SIMILAR_RATERS, Case, figure_text
from tests.tiebreak.reading.findings.situations import (
    UNDEFINED,
    WHY,
    base,
    interval,
    sequence,
    watched,
    with_rates,
)
from tests.tiebreak.reading.findings.win_rate_cases import wins
from tiebreak.reading.figures.planning.stopping import width_figures
from tiebreak.reading.messages import (
    NO_FINDING_YET,
    WATCHED,
    WATCHED_SCOPE,
    WATCHED_UNITS,
)
from tiebreak.report.model.report import CriterionSection

SO_FAR = "No finding: 60 of 180 planned responses are missing"
A_OVER_B, B_OVER_A = f"{HERE}a wins more often than b", f"{HERE}b wins more often than a"
VALID = WATCHED.format(level=1 - 0.05 / 3, statements="3 comparisons")
ENTERED = "a vs b: 40 of 60 instances entered."
WAITING = "a vs b: 40 of 60 instances entered, 5 complete ones wait."


def watching() -> CriterionSection:
    """Return a running study whose interval for one look excludes one half, unlike its sequence."""
    rates = with_rates(a=interval(0.55, 0.7), b=interval(0.3, 0.45))
    return watched(rates, sequence(0.45, 0.75))


WATCHING = (
    Case(
        "a running study whose sequence includes one half",
        lambda: wins(watching()),
        (f"{SO_FAR} |", VALID, WATCHED_UNITS, ENTERED, WATCHED_SCOPE),
        (A_WINS, A_OVER_B, B_OVER_A, WAITING, SIMILAR_RATERS),
    ),
    Case(
        "a running study whose sequence excludes one half",
        lambda: wins(watched(base(), sequence(0.52, 0.8))),
        (f"{A_OVER_B} |", WATCHED_SCOPE),
        (B_OVER_A, SO_FAR),
    ),
    Case(
        "a sequence below one half, with instances that wait",
        lambda: wins(watched(base(), sequence(0.2, 0.48, held_back=5))),
        (f"{B_OVER_A} |", WAITING),
        (A_OVER_B, SO_FAR, ENTERED),
    ),
    Case(
        "a sequence that ends at one half",
        lambda: wins(watched(base(), sequence(0.5, 0.8))),
        (SO_FAR,),
        (A_OVER_B,),
    ),
    Case(
        "a running study without pairs to watch",
        lambda: wins(watched(base(), reason=WHY)),
        (f"Win rates | {NO_FINDING_YET} {WHY}",),
        (SO_FAR, VALID),
    ),
    Case(
        "the planned number is reached",
        lambda: wins(replace(watching(), stopping=replace(watching().stopping, is_reached=True))),
        (f"{A_WINS}: win rate 0", SIMILAR_RATERS),
        (VALID, WATCHED_UNITS, WATCHED_SCOPE, SO_FAR, NO_FINDING_YET),
    ),
    Case(
        "the width of a sequence",
        lambda: figure_text(width_figures(watched(base(), sequence(0.52, 0.8)), None)[0]),
        (
            "a vs b: the interval is 0.28 wide after 120 ratings",
            "It runs from 0.52 to 0.80.",
        ),
        ("The first planned instance is not complete yet.",),
    ),
    Case(
        "the width before the first instance is complete",
        lambda: figure_text(width_figures(watched(base(), _unstarted()), None)[0]),
        ("The first planned instance is not complete yet.",),
        ("a vs b: the interval is 0.28 wide after 120 ratings", "It runs from 0.52 to 0.80."),
    ),
)


def _unstarted():
    start = sequence(0.5, 0.5)
    return replace(start, path=(), win_rate=replace(UNDEFINED, reason=None))
