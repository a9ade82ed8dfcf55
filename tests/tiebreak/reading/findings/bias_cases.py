"""Cases of findings on biases, and on changes over an annotator's items."""

from metrics.results.rater_rows import TaskSpeed
from metrics.results.raters_figure import fatigue_figure
from tests.tiebreak.reading.findings.case import (
    SELECTED,
    SIMILAR_RATERS,
    THESE_RATERS,
    Case,
    figure_text,
    of,
)
from tests.tiebreak.reading.findings.situations import (
    UNDEFINED,
    WHY,
    interval,
    with_biases,
    with_fatigue,
    without_interval,
)
from tiebreak.reading.figures.raters.bias import bias_figure
from tiebreak.reading.figures.raters.fatigue import fatigue_slopes_figure
from tiebreak.reading.messages import THICK
from tiebreak.stats import Estimate

PREFER_FIRST = "Annotators prefer the text shown first"
PREFER_SHORT = "Annotators prefer the text shown second and shorter texts"
PREFER_LONG = "Annotators prefer longer texts"
NO_BIAS = "No preference for a side or for length is shown"
OTHERS_UNKNOWN = "; whether others do is not shown"


def bias(position: Estimate, length: Estimate) -> str:
    return of("", *[figure_text(bias_figure(with_biases(position, length)))])


BIASES = (
    Case(
        "position above 0",
        lambda: bias(interval(0.05, 0.2, these=(0.1, 0.2)), interval(-0.1, 0.1)),
        (f"| {PREFER_FIRST} |", SIMILAR_RATERS, THICK),
        (PREFER_SHORT, PREFER_LONG, NO_BIAS, OTHERS_UNKNOWN, "longer texts"),
    ),
    Case(
        "both below 0",
        lambda: bias(interval(-0.2, -0.05), interval(-0.3, -0.1)),
        (f"| {PREFER_SHORT} |",),
        (PREFER_FIRST, "longer texts", NO_BIAS, THICK),
    ),
    Case(
        "length alone, where sides are not known",
        lambda: bias(UNDEFINED, interval(0.1, 0.3)),
        (f"| {PREFER_LONG} |", SIMILAR_RATERS),
        ("only for these instances", "the text shown first", "shorter texts"),
    ),
    Case(
        "these annotators alone",
        lambda: bias(interval(-0.3, 0.1, these=(-0.2, -0.05)), interval(-0.1, 0.1)),
        (f"| These annotators prefer the text shown second{OTHERS_UNKNOWN} |", THESE_RATERS),
        (NO_BIAS, PREFER_FIRST, PREFER_SHORT, SIMILAR_RATERS),
    ),
    Case(
        "a bias of two raters",
        lambda: bias(interval(0.1, 0.2, raters="these"), UNDEFINED),
        ("| These annotators prefer the text shown first |", THESE_RATERS),
        (f"| {PREFER_FIRST} |", OTHERS_UNKNOWN),
    ),
    Case(
        "a bias after a draw without a control sample",
        lambda: bias(interval(0.1, 0.2, instances="selected"), UNDEFINED),
        (f"| {PREFER_FIRST}{SELECTED} |",),
        (f"| {PREFER_FIRST} |",),
    ),
    Case(
        "intervals with 0",
        lambda: bias(interval(-0.1, 0.1), interval(0.0, 0.1)),
        (f"| {NO_BIAS} |",),
        (
            PREFER_FIRST,
            PREFER_LONG,
            f"These annotators prefer the text shown second{OTHERS_UNKNOWN}",
        ),
    ),
    Case(
        "a position that is not identified beside lengths of two raters",
        lambda: bias(UNDEFINED, interval(0.1, 0.2, raters="these")),
        ("| These annotators prefer longer texts |", THESE_RATERS, WHY),
        (NO_BIAS, PREFER_LONG, SIMILAR_RATERS),
    ),
    Case(
        "no intervals",
        lambda: bias(without_interval(0.3), without_interval(0.9)),
        ("| Position and length bias |",),
        (NO_BIAS, PREFER_FIRST, PREFER_LONG),
    ),
)


LESS = "Annotators agree less with the others the more items they have done"
MORE = "Annotators agree more with the others the more items they have done"
NO_CHANGE = "No change of agreement over an annotator's items is shown"


def fatigue(agreement: Estimate, duration: Estimate = UNDEFINED) -> str:
    return of("", figure_text(fatigue_slopes_figure(with_fatigue(agreement, duration))))


FATIGUE = (
    Case(
        "agreement falls",
        lambda: fatigue(interval(-0.04, -0.02), interval(-0.1, -0.06)),
        (
            f"| {LESS} |",
            "For 10 items more, agreement changes by −0.030 (−0.040 to −0.020) and the time per"
            " answer by −8.0% (−10.0% to −6.0%).",
            SIMILAR_RATERS,
        ),
        (MORE, NO_CHANGE),
    ),
    Case(
        "agreement rises, by two raters",
        lambda: fatigue(interval(0.02, 0.04, raters="these")),
        ("| These annotators agree more with the others the more items they have done |",),
        (f"| {MORE} |", LESS, NO_CHANGE, "the time per answer by −8.0%"),
    ),
    Case("agreement rises", lambda: fatigue(interval(0.02, 0.04)), (f"| {MORE} |",), (LESS,)),
    Case(
        "an interval of the change with 0",
        lambda: fatigue(interval(-0.04, 0.02, instances="selected")),
        (f"| {NO_CHANGE}{SELECTED} |",),
        (LESS, MORE),
    ),
    Case(
        "a change without an interval",
        lambda: fatigue(without_interval(-0.1), interval(-0.1, -0.06)),
        (
            "| Agreement and time per answer over an annotator's items |",
            "For 10 items more, agreement changes by −0.100 and the time per answer by −8.0% (−10.0%"
            " to −6.0%).",
        ),
        (LESS, NO_CHANGE),
    ),
    Case(
        "no change is known",
        lambda: fatigue(UNDEFINED),
        (WHY,),
        (
            "agreement changes by ",
            "For 10 items more, agreement changes by −0.100 and the time per answer by −8.0% (−10.0%"
            " to −6.0%).",
            NO_CHANGE,
        ),
    ),
    Case(
        "speed by task",
        lambda: figure_text(fatigue_figure([TaskSpeed(1, 9.0, 5), TaskSpeed(2, 7.0, 4)])),
        ("9 seconds per answer in the first task (5 annotators), 7 in task 2 (4).",),
    ),
    Case(
        "one task",
        lambda: figure_text(fatigue_figure([TaskSpeed(1, 9.0, 5)])),
        ("Fewer than two annotators have done a second task.",),
        ("9 seconds per answer in the first task (5 annotators), 7 in task 2 (4).",),
    ),
)
