"""Cases of findings on agreement among annotators."""

from tests.tiebreak.reading.findings.case import (
    DATASET,
    SELECTED,
    SIMILAR_RATERS,
    THESE_RATERS,
    Case,
    of,
)
from tests.tiebreak.reading.findings.situations import (
    UNDEFINED,
    WHY,
    interval,
    sequence,
    watched,
    with_alpha,
    without_interval,
)
from tiebreak.reading.agreement_findings import agreement_finding
from tiebreak.reading.messages import MACHINES_FIRST, NO_FINDING_YET, OTHERS_AGREE
from tiebreak.report.model.report import CriterionSection

AGREE, THESE_AGREE = "Annotators agree beyond chance", "These annotators agree beyond chance"
DISAGREE = "Annotators disagree more than chance predicts"
THESE_DISAGREE = "These annotators disagree more than chance predicts"
NO_AGREEMENT = "No agreement beyond chance is shown"
INCLUDES_0 = (
    "The interval of α includes 0. This does not show that annotators rate at random, because the texts"
    " may be hard to tell apart."
)
TWO_WAYS = "Check whether the guidelines can be read in two ways."
UNANIMOUS = "All annotators agree on 0% of 20 rated items with two ratings or more."


def agreement(section: CriterionSection) -> str:
    return of("", *agreement_finding(section))


AGREEMENT = (
    Case(
        "α above 0 for new raters, with a machine rater",
        lambda: agreement(with_alpha(interval(0.1, 0.5), machine=True)),
        (f"| {AGREE} |", MACHINES_FIRST, UNANIMOUS, SIMILAR_RATERS),
        (THESE_AGREE, NO_AGREEMENT, DISAGREE, OTHERS_AGREE, TWO_WAYS),
    ),
    Case(
        "α above 0 without a machine rater",
        lambda: agreement(with_alpha(interval(0.1, 0.5))),
        (f"| {AGREE} |",),
        (MACHINES_FIRST,),
    ),
    Case(
        "α above 0 for these annotators alone",
        lambda: agreement(with_alpha(interval(-0.1, 0.5, these=(0.1, 0.4)))),
        (f"| {THESE_AGREE} |", OTHERS_AGREE, THESE_RATERS),
        (f"| {AGREE} |", NO_AGREEMENT, SIMILAR_RATERS),
    ),
    Case(
        "α of two raters",
        lambda: agreement(with_alpha(interval(0.1, 0.5, raters="these"))),
        (f"| {THESE_AGREE} |", THESE_RATERS),
        (f"| {AGREE} |", OTHERS_AGREE, SIMILAR_RATERS),
    ),
    Case(
        "α below 0",
        lambda: agreement(with_alpha(interval(-0.5, -0.1))),
        (f"| {DISAGREE} |", TWO_WAYS),
        (f"| {AGREE} |", NO_AGREEMENT, INCLUDES_0),
    ),
    Case(
        "α of two raters below 0",
        lambda: agreement(with_alpha(interval(-0.5, -0.1, raters="these"))),
        (f"| {THESE_DISAGREE} |",),
        (f"| {DISAGREE} |",),
    ),
    Case(
        "an interval of α with 0",
        lambda: agreement(with_alpha(interval(-0.1, 0.3))),
        (f"| {NO_AGREEMENT} |", INCLUDES_0),
        (f"| {AGREE} |", f"| {THESE_AGREE} |", f"| {DISAGREE} |", TWO_WAYS),
    ),
    Case(
        "an interval of α that starts at 0",
        lambda: agreement(with_alpha(interval(0.0, 0.3, these=(0.0, 0.2)))),
        (f"| {NO_AGREEMENT} |",),
        (f"| {AGREE} |", f"| {THESE_AGREE} |"),
    ),
    Case(
        "α after a draw with a control sample",
        lambda: agreement(with_alpha(interval(0.1, 0.3, instances="dataset"))),
        (f"{AGREE}{DATASET} |", UNANIMOUS),
        (SELECTED,),
    ),
    Case(
        "α after a draw without a control sample",
        lambda: agreement(with_alpha(interval(-0.1, 0.3, instances="selected", raters="these"))),
        (
            f"{NO_AGREEMENT}{SELECTED} |",
            "This holds only for the selected instances, not for other annotators.",
        ),
        (DATASET,),
    ),
    Case(
        "α without an interval",
        lambda: agreement(with_alpha(without_interval(0.9))),
        (
            f"| 4 items are too few to say whether annotators agree: 10 are needed | {UNANIMOUS} {WHY}",
        ),
        (AGREE, NO_AGREEMENT),
    ),
    Case(
        "α undefined",
        lambda: agreement(with_alpha(UNDEFINED)),
        (f"| Agreement among annotators | Krippendorff's α is undefined. {WHY}",),
        (UNANIMOUS, NO_AGREEMENT),
    ),
    Case(
        "α is defined",
        lambda: agreement(with_alpha(interval(0.1, 0.3))),
        (UNANIMOUS,),
        (f"Krippendorff's α is undefined. {WHY}",),
    ),
    Case(
        "α while the study runs",
        lambda: agreement(watched(with_alpha(interval(0.1, 0.5)), sequence(0.4, 0.6))),
        (f"| Agreement among annotators | {NO_FINDING_YET}",),
        (AGREE, UNANIMOUS),
    ),
)
