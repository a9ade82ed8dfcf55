"""Cases of findings on the selection of instances."""

from tests.tiebreak.reading.findings.case import Case, of
from tests.tiebreak.reading.findings.situations import (
    UNDEFINED,
    WHY,
    base,
    interval,
    selection,
    without_interval,
)
from tests.tiebreak.reading.findings.win_rate_cases import wins
from tiebreak.reading.findings import (
    selection_finding,
)
from tiebreak.reading.messages import WEIGHTED_TO_DATASET, WIN_RATE_IS
from tiebreak.report.model.selection import PairSelection

SAVED = "Selecting instances saved about 120 ratings for a vs b"
COST = "Selecting instances cost about 120 additional ratings for a vs b"
UNKNOWN = "Selected instances of a vs b |"
UNIFORM = (
    "The number of ratings saved is 120 (60 to 180). A uniform draw with an interval of the same"
    " width would have needed 140 instances."
)
OF_CONTROL = "The number of rated instances is 100, of which 30 were in the control sample."
WITHOUT = "7 instances were rated, but none of the ratings says which system is better."
RATE_OF_DATASET = f"{WEIGHTED_TO_DATASET}, the win rate of a is 0.60 (0.50 to 0.70)."
RATE_OF_SELECTED = (
    "Among the selected instances, each weighted by the inverse of its inclusion probability, the win"
    " rate of a is 0.60 (0.50 to 0.70). This says nothing about the other instances of the dataset."
)
SAVED_OR_COST = (
    "It is not known whether selecting instances saved or cost ratings, because the interval of the"
    " number of ratings saved, 20 (−60 to 100), includes 0."
)
SAVED_UNKNOWN = f"It is not known whether selecting instances saved ratings. {WHY}"


def saved(pair: PairSelection) -> str:
    return of(*selection_finding("a vs b", pair))


SELECTION = (
    Case(
        "ratings were saved",
        lambda: saved(selection(without_preference=7)),
        (SAVED, UNIFORM, OF_CONTROL, RATE_OF_DATASET, WITHOUT),
        (COST, UNKNOWN, SAVED_OR_COST, RATE_OF_SELECTED),
    ),
    Case(
        "ratings were lost",
        lambda: saved(selection(ratings_saved=interval(-180, -60))),
        (COST,),
        (SAVED, UNKNOWN, WITHOUT),
    ),
    Case(
        "an interval of the saving with 0",
        lambda: saved(selection(ratings_saved=interval(-60, 100))),
        (UNKNOWN, SAVED_OR_COST),
        (SAVED, COST, UNIFORM, SAVED_UNKNOWN),
    ),
    Case(
        "a saving without an interval",
        lambda: saved(selection(ratings_saved=without_interval(120))),
        (UNKNOWN, SAVED_UNKNOWN),
        (SAVED, UNIFORM, SAVED_OR_COST),
    ),
    Case(
        "no control sample",
        lambda: saved(
            selection(
                control=0,
                win_rate=interval(0.5, 0.7, instances="selected", raters="these"),
                ratings_saved=UNDEFINED,
            )
        ),
        (UNKNOWN, RATE_OF_SELECTED, WHY),
        (RATE_OF_DATASET, SAVED),
    ),
    Case(
        "no weighted rate",
        lambda: saved(selection(win_rate=UNDEFINED)),
        (UNKNOWN, OF_CONTROL),
        (RATE_OF_DATASET, RATE_OF_SELECTED, SAVED),
    ),
    Case("no section on selection", lambda: wins(base()), (WIN_RATE_IS,), (OF_CONTROL, UNKNOWN)),
)
