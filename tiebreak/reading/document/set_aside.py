"""The table of ratings that were set aside, for the page of raters and the written report."""

from collections.abc import Callable, Iterator
from functools import partial
from math import isnan, nan

from tiebreak.digits import in_digits, percent
from tiebreak.reading.document.content import DataTable
from tiebreak.reading.figures.figure import NOTHING_GIVES
from tiebreak.reading.findings import best_first
from tiebreak.reading.leading_numbers import leader
from tiebreak.reading.messages import ABOUT_SET_ASIDE, UNDECIDED_LATE
from tiebreak.reading.words import RATING_GROUPS
from tiebreak.report.model.raters import VoteCounts
from tiebreak.report.model.report import CriterionSection
from tiebreak.report.registry import part_title

MAX_LABELS = 7
ROWS = RATING_GROUPS | {"all": "All that were left out"}
UNDECIDED = "Late, neither accepted nor declined yet"
Cell = Callable[[VoteCounts], str]


def set_aside_table(about: CriterionSection) -> DataTable | None:
    """Return the votes by reason and the leader's win rate with them, or None if all ratings count."""
    aside = about.set_aside
    if aside is None:
        return None
    columns = dict(_columns(about))
    groups = {"counted": aside.counted, **aside.reasons}
    rows = [(ROWS[name], *(cell(one) for cell in columns.values())) for name, one in groups.items()]
    if aside.undecided:
        rows.append((UNDECIDED, str(aside.undecided), *[""] * (len(columns) - 1)))
    note = f"{ABOUT_SET_ASIDE}{UNDECIDED_LATE if aside.undecided else ''}"
    if any("–" in row for row in rows):
        note += f" {NOTHING_GIVES}"
    return DataTable(part_title("set_aside"), ("Group", *columns), tuple(rows), note)


def _columns(about: CriterionSection) -> Iterator[tuple[str, Cell]]:
    """Yield what is said of each group of ratings, after the title of its column."""
    systems = best_first(about.systems) if about.systems else []
    labels = systems or list(about.votes)
    yield "Ratings", lambda one: str(one.ratings)
    for label in labels if len(labels) <= MAX_LABELS else ():
        yield f"Votes for {label}", partial(_share, label)
    if systems and 0 in about.labels:
        yield "Tied", partial(_share, None)
    if not systems and about.level != "nominal":
        yield "Mean", lambda one: _known(one.mean)
    if name := leader(about)[0]:
        yield f"Win rate of {name}, with these", lambda one: _known(one.win_rate.get(name, nan))


def _share(label: str | None, one: VoteCounts) -> str:
    n = one.ties if label is None else one.votes.get(label, 0)
    return f"{n:,} ({percent(n / one.ratings)})"


def _known(number: float) -> str:
    return "–" if isnan(number) else in_digits(number)
