"""Cases of findings of sections that are computed on request."""

from metrics.figures.controlled import controlled_figures, davidson_figures
from metrics.figures.figure import Figure
from metrics.figures.of_part import of_part
from metrics.figures.on_request import (
    paired_tests_figures,
    pairwise_figures,
    robustness_figures,
)
from metrics.messages import (
    NO_FINDING_YET,
)
from metrics.watching import while_unreached
from tests.metrics.findings.case import Case, figure_text, of
from tests.metrics.findings.situations import (
    UNDEFINED,
    WHY,
    base,
    interval,
    sequence,
    watched,
    without_interval,
)
from tiebreak.report.model import (
    ControlledWinRateSection,
    DavidsonSection,
    PairedTests,
    PairwiseAgreementSection,
    PValuePoint,
    RaterPair,
    RobustnessSection,
)
from tiebreak.stats import Estimate, Robustness
from tiebreak.stats.robustness import RemovedRatings

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
    return of("", figure_text(while_unreached(figure, section)), figure.chart)


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


ON_REQUEST = (
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
