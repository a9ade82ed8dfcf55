"""Cases of the page Stopping."""

from metrics.messages import (
    AT_ONE_LOOK,
    CLOSED_EARLY,
    NEEDED_ASSUMES,
    REACHED,
)
from metrics.results.stopping_page import stopping_context
from studies.models import Study
from tests.tiebreak.reading.findings.case import Case, of
from tests.tiebreak.reading.findings.situations import (
    base,
    sequence,
    watched,
)
from tests.tiebreak.reading.findings.watching_cases import watching
from tiebreak.reading.messages import NO_PLAN_KNOWN
from tiebreak.report.model.report import CriterionSection

NOW_IS = "Stopping now, no system is shown to be better"
NOW_WOULD_BE = "Stopping now, no system would be shown to be better"
IS_REACHED = "The planned number of responses is reached"


def stopping(section: CriterionSection, status: str = Study.Status.OPEN) -> str:
    shown = stopping_context(Study(status=status), section)
    if "why_unknown" in shown:
        return str(shown["why_unknown"])
    return of(*shown["now"], shown["closing"], shown["assumes"], shown["at_one_look"])


STOPPING = (
    Case(
        "stopping a running study",
        lambda: stopping(watching()),
        (NOW_WOULD_BE, NEEDED_ASSUMES, AT_ONE_LOOK),
        (NOW_IS,),
    ),
    Case(
        "a study that was closed early",
        lambda: stopping(watching(), Study.Status.CLOSED),
        (NOW_IS, CLOSED_EARLY),
        (NOW_WOULD_BE, IS_REACHED, REACHED),
    ),
    Case(
        "stopping at the planned number",
        lambda: stopping(watched(base(), sequence(0.4, 0.6), reached=True)),
        (IS_REACHED, REACHED),
        (NOW_IS, NOW_WOULD_BE, CLOSED_EARLY, NO_PLAN_KNOWN),
    ),
    Case(
        "a study that was not opened here",
        lambda: stopping(base()),
        (NO_PLAN_KNOWN,),
        (IS_REACHED, REACHED, NOW_IS, NEEDED_ASSUMES, AT_ONE_LOOK),
    ),
)
