"""Cases of what is said of answers without a label, and whether it comes first."""

from dataclasses import replace

from tests.tiebreak.reading.findings.case import Case, of
from tests.tiebreak.reading.findings.situations import base
from tiebreak.nonresponse import BROKEN, CANNOT_SAY
from tiebreak.reading.shown import section_of
from tiebreak.report.model.nonresponse import NonresponseSection, NonresponsesOfRaters
from tiebreak.report.model.report import CriterionSection
from tiebreak.stats import undefined


def answers(name: str, n: int, cannot_say: int, broken: int) -> NonresponsesOfRaters:
    counts = {CANNOT_SAY: cannot_say, BROKEN: broken}
    shares = dict.fromkeys([*counts, "all"], undefined("not needed here"))
    return NonresponsesOfRaters(name, n, counts, shares, (), (), (), 0, 0)


def about(people: tuple[int, int, int], judge: tuple[int, int, int]) -> CriterionSection:
    groups = answers("annotators", *people), {"judge": answers("judge", *judge)}
    return replace(base(), nonresponse=NonresponseSection(*groups))


def said(people: tuple[int, int, int], judge: tuple[int, int, int] = (10, 0, 0)) -> str:
    shown = section_of("", about(people, judge))
    return of(*(shown.nonresponse or ()), FIRST * shown.nonresponse_leads)


FIRST = "first"
CANNOT = "50% of the answers by annotators have no label"
SOME = "20% of the answers by annotators have no label"
OF_240 = "Of 240 answers by annotators, 100 were “cannot say” and 20 were “broken or harmful”."

NONRESPONSE = (
    Case(
        "half of the answers without a label", lambda: said((240, 100, 20)), (CANNOT, OF_240, FIRST)
    ),
    Case(
        "a fifth of them", lambda: said((240, 48, 0)), (SOME,), (CANNOT, FIRST, "broken or harmful")
    ),
    Case("fewer than a fifth", lambda: said((240, 47, 0)), (), (SOME, FIRST)),
    Case(
        "a machine rater that cannot say",
        lambda: said((240, 1, 0), (10, 5, 0)),
        ("50% of the answers by judge have no label", FIRST),
        (SOME, CANNOT),
    ),
    Case(
        "annotators and a machine rater",
        lambda: said((240, 48, 0), (10, 5, 0)),
        ("20% of the answers by annotators and 50% of the answers by judge have no label", FIRST),
    ),
    Case("no annotator", lambda: said((0, 0, 0)), (), (CANNOT, FIRST)),
)
