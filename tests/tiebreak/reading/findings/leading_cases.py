"""Cases of the leading numbers of the overview."""

from tests.tiebreak.reading.findings.case import SIMILAR_RATERS, THESE_RATERS, Case, of
from tests.tiebreak.reading.findings.situations import (
    interval,
    with_rates,
)
from tests.tiebreak.reading.findings.watching_cases import watching
from tiebreak.reading.leading_numbers import leading_numbers, scope_of
from tiebreak.reading.messages import NO_FINDING_YET, REST_OF_THESE_RATERS
from tiebreak.report.model.report import CriterionSection

HIGHEST = "Difference of win rates: a minus b, shown to be above 0."
OF_A = "Difference of win rates: a minus b."


def leading(section: CriterionSection, *, is_part: bool = False) -> str:
    numbers = leading_numbers(section, is_part=is_part)
    lines = [f"{n.title}: {n.sentence}. {n.number.text} {n.number.reason}" for n in numbers]
    return of(*lines, scope_of(section))


LEADING = (
    Case(
        "the leader is shown to win",
        lambda: leading(with_rates(a=interval(0.55, 0.7), b=interval(0.3, 0.45))),
        (HIGHEST, REST_OF_THESE_RATERS, SIMILAR_RATERS),
        (OF_A, NO_FINDING_YET),
    ),
    Case(
        "the first of three systems",
        lambda: leading(
            with_rates(a=interval(0.55, 0.7), b=interval(0.3, 0.45), c=interval(0.4, 0.5))
        ),
        ("Win rate: a, the highest of all",),
        (HIGHEST, OF_A),
    ),
    Case(
        "the highest rate may be so by chance",
        lambda: leading(with_rates(a=interval(0.49, 0.6), b=interval(0.4, 0.51))),
        (OF_A,),
        (HIGHEST,),
    ),
    Case(
        "several systems, of which one alone would be shown to win",
        lambda: leading(
            with_rates(
                at_once=3,
                together={"a": interval(0.49, 0.67)},
                a=interval(0.52, 0.64),
                b=interval(0.4, 0.55),
            )
        ),
        (OF_A,),
        (HIGHEST,),
    ),
    Case(
        "an interval that ends at one half",
        lambda: leading(with_rates(a=interval(0.5, 0.7), b=interval(0.3, 0.5))),
        (OF_A,),
        (HIGHEST,),
    ),
    Case(
        "a part of the ratings",
        lambda: leading(with_rates(a=interval(0.55, 0.7), b=interval(0.3, 0.45)), is_part=True),
        (OF_A,),
        (HIGHEST,),
    ),
    Case(
        "a running study",
        lambda: leading(watching()),
        (OF_A, NO_FINDING_YET),
        (HIGHEST,),
    ),
    Case(
        "two raters",
        lambda: leading(
            with_rates(a=interval(0.55, 0.7, raters="these"), b=interval(0.3, 0.45, raters="these"))
        ),
        (THESE_RATERS, HIGHEST),
        (REST_OF_THESE_RATERS,),
    ),
)
