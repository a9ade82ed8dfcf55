"""What machine raters add to each system's win rate, as the page of systems shows it."""

from dataclasses import dataclass
from math import isnan

from tiebreak.digits import counted, in_digits
from tiebreak.reading.findings import best_first, scope_sentence
from tiebreak.reading.shown import Number, number
from tiebreak.report.model.report import CriterionSection
from tiebreak.report.model.systems import PoweredSystem

ABOUT = (
    "Annotators rated some items, and machine raters others too. Each row has the win rate of one"
    " system by the same human ratings three times: without machine raters, with the one whose interval"
    " is shortest, and with all of them stacked, which means that each has its own weight, learned from"
    " other instances. All three stay right if a machine rater is biased."
    " “Worth as much as 300 ratings” says that these annotators alone would need so many ratings,"
    " spread over items as they are, for an interval of that width."
)
CAUTION = (
    "Do not conclude that the machine raters agree with annotators, or that fewer annotators are"
    " enough: machine raters cannot tell you how annotators differ. The best machine rater was"
    " chosen after seeing the intervals, so its number flatters it a little."
)


@dataclass(frozen=True)
class PoweredRow:
    """One system; `scope` says who its figures apply to."""

    name: str
    ratings: int
    human: Number
    best: Number
    best_machine: str
    best_worth: str
    stack: Number
    stack_worth: str
    weights: str


@dataclass(frozen=True)
class PoweredRates:
    """A row for each system, best first, and what may be concluded."""

    rows: tuple[PoweredRow, ...]
    scope: str
    about: str = ABOUT
    caution: str = CAUTION


def powered_rates(section: CriterionSection) -> PoweredRates | None:
    """Return the rows, or None if no machine rated items that no annotator rated."""
    systems = section.systems
    powered = systems.powered if systems else None
    if systems is None or not powered:
        return None
    known = [one for one in powered.values() if one.stack.has_interval]
    scope = scope_sentence(known[0].stack) if known else ""
    rows = (_row(name, powered[name]) for name in best_first(systems) if name in powered)
    return PoweredRates(tuple(rows), scope)


def _row(name: str, one: PoweredSystem) -> PoweredRow:
    weights = (
        f"{machine} {in_digits(weight)}"
        for machine, weight in sorted(one.weights.items())
        if not isnan(weight)
    )
    return PoweredRow(
        name,
        one.ratings,
        number(one.human, low=0),
        number(one.best, low=0),
        one.best_machine,
        _worth(one.effective_best),
        number(one.stack, low=0),
        _worth(one.effective_stack),
        ", ".join(weights),
    )


def _worth(ratings: float) -> str:
    return "" if isnan(ratings) else f"Worth as much as {counted(round(ratings), 'rating')}"
