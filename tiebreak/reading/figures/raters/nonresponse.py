"""The figure of answers without a label."""

from tiebreak.nonresponse import BROKEN, CANNOT_SAY, NONRESPONSES
from tiebreak.reading.charts.intervals import IntervalRow, Mark, interval_chart
from tiebreak.reading.charts.svg import Kind
from tiebreak.reading.figures.after_draw import after_draw
from tiebreak.reading.figures.figure import Figure, table_of
from tiebreak.reading.messages import ABOUT_NONRESPONSE
from tiebreak.report.model.report import CriterionSection
from tiebreak.report.registry import part_title

MARKS: dict[str, tuple[Kind, Kind]] = {
    CANNOT_SAY: ("human", "machine"),
    BROKEN: ("human-open", "machine-open"),
}


def nonresponse_figures(section: CriterionSection) -> list[Figure]:
    """Return the figure of the shares of annotators and of each machine rater, if there are any."""
    part, title = section.nonresponse, part_title("nonresponse")
    if part is None:
        return []
    rows = [
        IntervalRow(
            group.name,
            tuple(
                Mark(kinds[group is not part.humans], group.shares[code], NONRESPONSES[code])
                for code, kinds in MARKS.items()
            ),
        )
        for group in part.groups
    ]
    chart = interval_chart(rows, finding=title, label="share of answers", bounds=(0, 1))
    data = table_of(rows, "raters")
    figure = Figure("nonresponse", title, "", chart, *data, ABOUT_NONRESPONSE)
    return after_draw("nonresponse", part, [figure])
