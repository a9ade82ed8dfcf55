"""Cases of findings on texts that are rated one by one: success rates, and perturbed copies."""

from dataclasses import replace

from tests.tiebreak.reading.findings.case import Case, figure_text, of
from tests.tiebreak.reading.findings.situations import UNDEFINED, WHY
from tiebreak.reading.figures.machines.discernment import discernment_figures
from tiebreak.reading.figures.systems.success_rates import success_rates_figure
from tiebreak.report.model.discernment import (
    DiscernmentOverCriteria,
    DiscernmentSection,
    PerturbationTest,
    RaterDiscernment,
    ScoreSummary,
)
from tiebreak.report.model.success import KnownOrder, SuccessRates
from tiebreak.stats import Estimate

SUCCESS = "A success is the answer “yes”."
TAU = (
    "Kendall's τ with the known order a, b (1 is the same order, −1 the reverse), of the points as they"
    " are: annotators: 1.00."
)
MISSING = "Without ratings: c."


def ordered(tau: Estimate | None, *, missing: tuple[str, ...] = ()) -> str:
    known = None if tau is None else KnownOrder(("a", "b"), missing, tau, {}, {}, {})
    return figure_text(success_rates_figure(SuccessRates("yes", {}, known)))


AT_MOST = "At most 12 texts with a scored copy for each perturbation."
NO_COPIES = "At most 0 texts with a scored copy for each perturbation."
LACKING = "3 copies or originals lack a score."
NO_AVERAGE = "No average, because a perturbation has no score on a criterion: annotators."


def discerned(average: Estimate, *, incomplete: int = 0, has_tests: bool = True) -> str:
    scores, d = ScoreSummary(3.0, 2.0, 3.0, 4.0), Estimate(1.5)
    test = PerturbationTest("words", 12, incomplete, 0, d, d, d, scores, replace(scores, mean=2.0))
    tests = {"words/deletion/major": test} if has_tests else {}
    section = DiscernmentSection(
        {"annotators": RaterDiscernment(tests, average, average, {"words": d})},
        ("fluency",),
        {"annotators": DiscernmentOverCriteria({}, average, average, {"words": d})},
    )
    return of(*map(figure_text, discernment_figures(section)))


TEXTS = (
    Case("a known order", lambda: ordered(Estimate(1.0)), (SUCCESS, TAU), (MISSING,)),
    Case(
        "a known order of which a system has no ratings",
        lambda: ordered(UNDEFINED, missing=("c",)),
        (SUCCESS, MISSING, WHY.rstrip(".").lower()),
        (TAU,),
    ),
    Case("no known order", lambda: ordered(None), (SUCCESS,), (TAU, MISSING)),
    Case("copies", lambda: discerned(Estimate(1.5)), (AT_MOST,), (LACKING, NO_AVERAGE, NO_COPIES)),
    Case(
        "copies without scores",
        lambda: discerned(UNDEFINED, incomplete=3),
        (f"{AT_MOST} {LACKING}", NO_AVERAGE),
        (NO_COPIES,),
    ),
    Case(
        "no copies",
        lambda: discerned(Estimate(1.5), has_tests=False),
        (NO_COPIES,),
        (AT_MOST, LACKING, NO_AVERAGE),
    ),
)
