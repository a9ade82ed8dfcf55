"""Correlations of mean ratings with machine raters."""

from tiebreak.reading.charts.intervals import IntervalRow, Mark, interval_chart
from tiebreak.reading.figures.figure import (
    Figure,
    draws,
    empty_figure,
    table_of,
)
from tiebreak.report.model.raters import MeanCorrelations

MEANS_TITLE = "Correlation of mean ratings with machine raters"


MEANS_READING = (
    "● Spearman's ρ and ○ Kendall's τ-b of the items' mean ratings by annotators and by the machine"
    " rater, with 95% intervals. Use them if you will use means of ratings; the table above has the"
    " medians. Means treat the steps of the scale as equal. A high correlation does not show that the"
    " machine rater uses the scale as annotators do: it may be more severe on every item."
)


@draws("mean_correlations")
def mean_correlation_figures(section: dict[str, MeanCorrelations]) -> list[Figure]:
    if not section:
        reason = "Means need labels with an order, and the ratings of a machine rater."
        return [empty_figure("mean-correlations", MEANS_TITLE, reason)]
    rows = [
        IntervalRow(
            name,
            (
                Mark("machine", one.spearman, "Spearman's ρ"),
                Mark("machine-open", one.kendall, "Kendall's τ-b"),
            ),
        )
        for name, one in sorted(section.items())
    ]
    chart = interval_chart(
        rows, finding=MEANS_TITLE, label="correlation", reference=0, bounds=(-1, 1)
    )
    reasons = (mark.estimate.reason for row in rows for mark in row.marks)
    sentence = " ".join(dict.fromkeys(filter(None, reasons)))
    return [
        Figure(
            "mean-correlations",
            MEANS_TITLE,
            sentence,
            chart,
            *table_of(rows, "rater"),
            MEANS_READING,
        )
    ]
