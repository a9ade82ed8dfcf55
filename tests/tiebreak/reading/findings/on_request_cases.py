"""Cases of findings of sections that are computed on request."""

from dataclasses import replace

from tests.tiebreak.reading.findings.case import Case, figure_text, of
from tests.tiebreak.reading.findings.situations import (
    UNDEFINED,
    WHY,
    base,
    interval,
    sequence,
    watched,
    without_interval,
)
from tiebreak.reading.figures.figure import Figure
from tiebreak.reading.figures.machines.probabilities import machine_probability_figures
from tiebreak.reading.figures.of_part import of_part
from tiebreak.reading.figures.raters.rater_pairs import pairwise_figures
from tiebreak.reading.figures.systems.controlled import controlled_figures, davidson_figures
from tiebreak.reading.figures.systems.leaderboard import NEXT_TITLE, leaderboard_figures
from tiebreak.reading.figures.systems.paired_tests import paired_tests_figures
from tiebreak.reading.figures.systems.robustness import robustness_figures
from tiebreak.reading.messages import NO_FINDING_YET
from tiebreak.reading.while_open import while_unreached
from tiebreak.report.model.machines import (
    DebiasingSection,
    MachineProbabilities,
    ReliabilitySection,
)
from tiebreak.report.model.rankings import (
    DavidsonSection,
    LeaderboardSection,
    NextPair,
    RobustnessSection,
)
from tiebreak.report.model.raters import PairwiseAgreementSection, RaterPair
from tiebreak.report.model.systems import ControlledWinRateSection, PairedTests, PValuePoint
from tiebreak.stats import Estimate, Robustness
from tiebreak.stats.rankings.robustness import RemovedRatings

FIRST = "Without 3 of 60 ratings, b would be first instead of a"
FIRST_OR_FEWER = "Without 3 or fewer of 60 ratings, b would be first instead of a"
REMOVED = "The removed ratings are 2 of a over b, 1 of a tied with b."


def robustness(*, is_fewest: bool = True, part: str = "", running: bool = False) -> str:
    removed = (RemovedRatings("a", "b", "won", 2), RemovedRatings("a", "b", "tied", 1))
    top = Robustness("a", "b", 3, 60, is_fewest, removed)
    (figure,) = robustness_figures(RobustnessSection(top, top, {}, {}))
    return _shown(figure, part=part, running=running)


def _shown(figure: Figure, *, part: str = "", running: bool = False) -> str:
    figure = of_part(figure, part) if part else figure
    section = watched(base(), sequence(0.4, 0.6), reached=not running)
    return of("", figure_text(while_unreached(figure, section)), figure.chart.file())


PARTED = "a and b are separated by these ratings."
TO_PART = "four of five studies with about 180 instances would separate a and b (now 40)."


def next_systems(needed: int | None, *, part: str = "", running: bool = False) -> str:
    ratings, reason = (None, WHY) if needed is None else (3 * needed, None)
    likely = None if needed is None else 2 * needed
    pair = NextPair("a", "b", interval(0.1, 0.3), 40, 120, needed, ratings, likely, needed, reason)
    rates = {"a": interval(0.5, 0.7), "b": interval(0.3, 0.5)}
    *_, figure = leaderboard_figures(LeaderboardSection(rates, (), {}, 0, (pair,)))
    return _shown(figure, part=part, running=running)


HALF = "In half of the subsets or more, p is below 0.05 from 20 instances on."
NEVER_HALF = "At no size is p below 0.05 in half of the subsets."


def curve(significant: float, *, part: str = "", running: bool = False) -> str:
    points = tuple(PValuePoint(n, 0.04, 0.01, 0.3, significant) for n in (20, 40))
    pair = PairedTests(("a", "b"), 40, 0.1, Estimate(0.04), Estimate(0.04), points, None)
    return _shown(paired_tests_figures({"a vs b": pair})[1], part=part, running=running)


PAIRS = (
    "12 pairs of annotators with at least 10 items in common; the median share of equal answers is"
    " 70%. The 1 with the lowest share are listed."
)
LEFT_OUT = "5 pairs with fewer common items left out."


def pairwise(few_shared: int) -> str:
    lowest = (RaterPair(("r0", "r1"), 20, 0.5, interval(0.1, 0.3)),)
    return figure_text(
        pairwise_figures(PairwiseAgreementSection(12, few_shared, 0.7, lowest, None))[0]
    )


WOULD_TIE = "Two equally strong systems would tie in 20% of comparisons (95% interval 10% to 30%)."
HELD = "Held equal: length."


def davidson(tie: Estimate) -> str:
    strengths = {"a": interval(0.1, 0.5), "b": interval(-0.5, -0.1)}
    return figure_text(davidson_figures(DavidsonSection(strengths, tie))[0])


def controlled(**effects: Estimate) -> str:
    rates = {"a": interval(0.5, 0.6), "b": interval(0.4, 0.5)}
    return figure_text(controlled_figures(ControlledWinRateSection(rates, rates, {}, effects))[0])


RIGHT_ANSWER = "Probabilities of the answer that the first system is preferred came with the ratings of 40 items."
OF_SHARES = (
    "The probabilities of each item's most probable answer are shares of several answers to the same"
    " question about 40 items."
)
ERRORS = "Expected calibration error 0.15 (95% interval 0.10 to 0.20)."
BRIER = "Brier score 0.20 (no interval: Too few instances)."
SMALL_SAMPLES = (
    "The calibration error is biased upwards where items are few, so do not compare it between"
    " studies of different size."
)
POSITION = (
    "judge gives the text shown first the larger probability in 70% of 80 answers (ties aside), and in"
    " half of them one above the threshold 0.65."
)


def probabilities(**changes: object) -> MachineProbabilities:
    share = ReliabilitySection(0.5, 0.6, 120, 0.55, interval(0.5, 0.6))
    brier = Estimate(0.2, n=40, reason="Too few instances.")
    one = MachineProbabilities("probabilities", "A", 40, 80, (share,), interval(0.1, 0.2), brier)
    return replace(one, **changes)


def reliability(**changes: object) -> str:
    return figure_text(machine_probability_figures({"judge": probabilities(**changes)})[0])


def position() -> str:
    agreement = interval(0.6, 0.7)
    debiasing = DebiasingSection(80, 0.7, 0.65, 0.54, 0.5, agreement, agreement, agreement)
    return figure_text(
        machine_probability_figures({"judge": probabilities(debiasing=debiasing)})[1]
    )


ON_REQUEST = (
    Case(
        "probabilities that came with ratings",
        reliability,
        (RIGHT_ANSWER, ERRORS, BRIER, SMALL_SAMPLES),
        (OF_SHARES, POSITION),
    ),
    Case(
        "shares of repeated answers",
        lambda: reliability(
            source="shares",
            answer="most probable",
            expected_calibration_error=without_interval(0.15),
            brier_score=interval(0.1, 0.3),
        ),
        (OF_SHARES, SMALL_SAMPLES),
        (RIGHT_ANSWER, ERRORS, BRIER),
    ),
    Case("a position is preferred", position, (POSITION,), (RIGHT_ANSWER, SMALL_SAMPLES)),
    Case("the fewest ratings", robustness, (f"| {FIRST} |", REMOVED), (FIRST_OR_FEWER,)),
    Case(
        "fewer ratings were not tried",
        lambda: robustness(is_fewest=False),
        (f"| {FIRST_OR_FEWER} |",),
        (FIRST,),
    ),
    Case(
        "robustness of a part",
        lambda: robustness(part="news"),
        ("| How few ratings decide the ranking: news |",),
        (FIRST, REMOVED),
    ),
    Case(
        "robustness while the study runs",
        lambda: robustness(running=True),
        (f"| How few ratings decide the ranking | {NO_FINDING_YET}",),
        (f"| {FIRST} |", REMOVED),
    ),
    Case("systems that are parted", lambda: next_systems(30), (PARTED,), (TO_PART,)),
    Case("systems that more would part", lambda: next_systems(90), (TO_PART,), (PARTED,)),
    Case(
        "systems that nothing is known to part",
        lambda: next_systems(None),
        (WHY,),
        (PARTED, TO_PART),
    ),
    Case(
        "next systems of a part",
        lambda: next_systems(30, part="news"),
        (f"{NEXT_TITLE}: news",),
        (PARTED,),
    ),
    Case(
        "next systems while the study runs",
        lambda: next_systems(30, running=True),
        (NO_FINDING_YET,),
        (PARTED,),
    ),
    Case("p falls below 0.05", lambda: curve(0.5), (HALF,), (NEVER_HALF,)),
    Case("p does not fall below 0.05", lambda: curve(0.4), (NEVER_HALF,), (HALF,)),
    Case(
        "p of a part",
        lambda: curve(0.5, part="news"),
        ("p-value by number of instances: a vs b: news",),
        (HALF, NEVER_HALF),
    ),
    Case(
        "p while the study runs",
        lambda: curve(0.5, running=True),
        (NO_FINDING_YET,),
        (HALF, NEVER_HALF),
    ),
    Case("pairs of annotators", lambda: pairwise(5), (PAIRS, LEFT_OUT)),
    Case("pairs with enough items", lambda: pairwise(0), (PAIRS,), (LEFT_OUT,)),
    Case(
        "no pairs",
        lambda: figure_text(pairwise_figures(PairwiseAgreementSection(0, 5, 0.0, (), WHY))[0]),
        (WHY,),
        (PAIRS, LEFT_OUT),
    ),
    Case("ties in the model", lambda: davidson(interval(0.1, 0.3)), (WOULD_TIE,)),
    Case(
        "ties without an interval",
        lambda: davidson(without_interval(0.2)),
        ("Two equally strong systems would tie in 20% of comparisons.",),
        (WOULD_TIE,),
    ),
    Case(
        "no ties in the model",
        lambda: davidson(UNDEFINED),
        (WHY,),
        (WOULD_TIE, "Two equally strong systems would tie in 20% of comparisons."),
    ),
    Case("length held equal", lambda: controlled(length=interval(0.1, 0.3)), (HELD,)),
    Case(
        "length cannot be held equal",
        lambda: controlled(length=UNDEFINED, position=interval(0.1, 0.3)),
        ("Held equal: position.",),
        (HELD,),
    ),
)
