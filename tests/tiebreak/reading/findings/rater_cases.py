"""Cases of findings on single raters."""

from dataclasses import replace

from tests.tiebreak.reading.findings.case import (
    B_WINS,
    HERE,
    SIMILAR_RATERS,
    THESE_RATERS,
    Case,
    figure_text,
    of,
)
from tests.tiebreak.reading.findings.situations import (
    UNDEFINED,
    WHY,
    base,
    by_raters,
    interval,
    without_interval,
)
from tiebreak.reading.figures.raters.single_raters import (
    confusion_figure,
    dawid_skene_figure,
    self_consistency_figure,
)
from tiebreak.reading.figures.systems.systems import win_rates_figure
from tiebreak.reading.messages import THICK
from tiebreak.report.model.raters import DawidSkeneRater, DawidSkeneSection, SelfConsistencySection
from tiebreak.stats import Estimate

REPEATED = "80% of planned repeats were answered as the first time"
TRUE_LABEL = "The probability of the true label is 80%."
ANNOTATORS = "1 annotators and 20 units."
EQUAL_TO_OTHERS = "17% of 60 answers equal the most frequent answer of the others, where several count in equal parts."


def repeats(humans: Estimate) -> str:
    raters = {"r0": humans} if humans.is_defined else {}
    section = replace(base(), self_consistency=SelfConsistencySection(humans, raters))
    return of("", figure_text(self_consistency_figure(section)))


def model(rater: str, *, converged: bool = True) -> str:
    third = ((0.8, 0.1, 0.1),) * 3
    fit = DawidSkeneSection(20, converged, {}, {"r0": DawidSkeneRater(0.8, third)}, None)
    return figure_text(dawid_skene_figure(replace(base(), dawid_skene=fit), rater))


RATERS = (
    Case(
        "repeats with an interval",
        lambda: repeats(interval(0.7, 0.9, raters="these")),
        (f"| These annotators: {REPEATED} |", THESE_RATERS),
        (SIMILAR_RATERS,),
    ),
    Case(
        "repeats of few instances",
        lambda: repeats(without_interval(0.8)),
        (f"| Planned repeats | {REPEATED}. {WHY}",),
        (f"| These annotators: {REPEATED}",),
    ),
    Case("no repeats", lambda: repeats(UNDEFINED), (WHY,), (REPEATED,)),
    Case("one rater in the model", lambda: model("r0"), (TRUE_LABEL,), (ANNOTATORS,)),
    Case("all raters in the model", lambda: model(""), (ANNOTATORS,), (TRUE_LABEL,)),
    Case(
        "a model that does not converge",
        lambda: model("r0", converged=False),
        ("The estimation did not come to an end.",),
        (TRUE_LABEL, ANNOTATORS),
    ),
    Case(
        "answers of others",
        lambda: figure_text(confusion_figure(base())),
        (EQUAL_TO_OTHERS,),
        ("No item has answers of two annotators yet.",),
    ),
    Case(
        "no answers of others",
        lambda: figure_text(confusion_figure(by_raters(1))),
        ("No item has answers of two annotators yet.",),
        (EQUAL_TO_OTHERS,),
    ),
    Case(
        "the figure of win rates has thick parts",
        lambda: figure_text(win_rates_figure(base())),
        (THICK,),
    ),
    Case(
        "the figure of two raters has none",
        lambda: figure_text(win_rates_figure(by_raters(2))),
        (f"{HERE}{B_WINS}",),
        (THICK,),
    ),
)
