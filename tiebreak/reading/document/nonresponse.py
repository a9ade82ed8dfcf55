"""The tables of answers without a label, for the page of raters and the written report."""

from collections.abc import Iterable, Iterator

from tiebreak.digits import counted, in_digits, percent
from tiebreak.nonresponse import NONRESPONSES
from tiebreak.reading.document.content import DataTable
from tiebreak.reading.messages import ABOUT_NONRESPONSE
from tiebreak.report.model.nonresponse import NonresponseCounts, NonresponsesOfRaters
from tiebreak.report.model.report import CriterionSection
from tiebreak.report.registry import part_title

COLUMNS = ("Answers", *(words.capitalize() for words in NONRESPONSES.values()), "Without a label")
Rows = Iterable[tuple[NonresponsesOfRaters, NonresponseCounts]]


def nonresponse_tables(
    about: CriterionSection, *, with_raters: bool = False
) -> Iterator[DataTable]:
    """Yield the answers by kind of rater, by system and by item, and by annotator if asked for."""
    if about.nonresponse is None:
        return
    groups, title = about.nonresponse.groups, part_title("nonresponse")
    rows = tuple(
        (group.name, *_cells(group), f"{in_digits(share.low)} to {in_digits(share.high)}")
        for group in groups
        for share in [group.shares["all"]]
    )
    yield DataTable(title, ("Raters", *COLUMNS, "95% interval"), rows, ABOUT_NONRESPONSE)
    for noun in ("system", "item", *["annotator"] * with_raters):
        name = "raters" if noun == "annotator" else f"{noun}s"
        listed = [
            group for group in groups if noun != "annotator" or group is about.nonresponse.humans
        ]
        rows = tuple(
            (one.name, group.name, *_cells(one)) for group in listed for one in getattr(group, name)
        )
        left_out = sum(getattr(group, f"{name}_left_out", 0) for group in listed)
        note = f"{counted(left_out, f'further {noun}')} with such answers." if left_out else ""
        if rows:
            columns = (noun.capitalize(), "Raters", *COLUMNS)
            yield DataTable(f"{title}, by {noun}", columns, rows, note)


def _cells(one: NonresponseCounts) -> tuple[str, ...]:
    counts = (f"{n:,}" for n in one.counts.values())
    return f"{one.answers:,}", *counts, percent(one.without_label / one.answers)
