"""First answers without a label, beside those with one."""

from collections.abc import Iterator

import numpy as np

from tiebreak.formats import RatingTable
from tiebreak.nonresponse import NONRESPONSES
from tiebreak.report.criterion import Criterion, rows_of_units
from tiebreak.report.model.nonresponse import (
    NonresponseCounts,
    NonresponseSection,
    NonresponsesOfRaters,
)
from tiebreak.report.registry import core, section
from tiebreak.stats import Estimate, undefined
from tiebreak.stats.core.proportions import WILSON, wilson_interval
from tiebreak.stats.core.results import THESE

# More raters or items than anybody looks through.
MAX_LISTED = 50
NO_ANSWERS = "There are no such answers."


@section(
    "nonresponse",
    "Answers without a label",
    question="raters",
    of_rated_items="they count the answers that were given",
    takes=(),
    needs=lambda criterion: len(criterion.nonresponses) > 0,
)
def nonresponse_section(criterion: Criterion) -> NonresponseSection:
    """Return the counts and shares of annotators and of each machine rater."""
    labelled = criterion.rows.select(~criterion.is_unparsed)
    rows = labelled.joined(criterion.nonresponses)
    is_human, raters = rows.coded("kind").equals("human"), rows.coded("rater")
    return NonresponseSection(
        humans=_of_raters("annotators", rows.select(is_human)),
        machines={
            name: _of_raters(name, rows.select(~is_human & raters.equals(name)))
            for name in sorted(raters[~is_human].in_order)
        },
    )


core("nonresponse")(nonresponse_section)


def _of_raters(name: str, rows: RatingTable) -> NonresponsesOfRaters:
    whole = _counts(name, rows)
    raters, items = (
        sorted(
            (one for one in _by(rows, column) if one.without_label),
            key=lambda one: (-one.without_label, one.answers, one.name),
        )
        for column in ("rater", "unit")
    )
    numbers = whole.counts | {"all": whole.without_label}
    return NonresponsesOfRaters(
        **vars(whole),
        shares={code: _share(n, len(rows)) for code, n in numbers.items()},
        systems=tuple(_by_system(rows)),
        raters=tuple(raters[:MAX_LISTED]),
        items=tuple(items[:MAX_LISTED]),
        raters_left_out=len(raters[MAX_LISTED:]),
        items_left_out=len(items[MAX_LISTED:]),
    )


def _counts(name: str, rows: RatingTable) -> NonresponseCounts:
    given = rows.coded("nonresponse")
    counts = {code: int(given.equals(code).sum()) for code in NONRESPONSES}
    return NonresponseCounts(name, len(rows), counts)


def _share(n: int, answers: int) -> Estimate:
    if not answers:
        return undefined(NO_ANSWERS)
    low, high = wilson_interval(n, answers)
    return Estimate(n / answers, low, high, n=answers, method=WILSON, stated_scope=THESE)


def _by_system(rows: RatingTable) -> Iterator[NonresponseCounts]:
    unit = rows.ranked("unit")[1]
    _, first = np.unique(unit, return_index=True)
    sides = [
        rows.coded(side)[rows_of_units(rows, side, unit, first)[unit]]
        for side in ("system_a", "system_b")
    ]
    for name in sorted({name for side in sides for name in side.in_order} - {""}):
        yield _counts(name, rows.select(sides[0].equals(name) | sides[1].equals(name)))


def _by(rows: RatingTable, column: str) -> Iterator[NonresponseCounts]:
    """Yield the counts of each rater or unit, without a table for each."""
    (names, code), given = rows.ranked(column), rows.coded("nonresponse")
    answers = np.bincount(code).tolist()
    counts = {
        key: np.bincount(code[given.equals(key)], minlength=len(names)).tolist()
        for key in NONRESPONSES
    }
    for at, name in enumerate(names.tolist()):
        yield NonresponseCounts(name, answers[at], {key: of[at] for key, of in counts.items()})
