"""How reliable several ratings of an item are together."""

from tiebreak.digits import counted, percent
from tiebreak.reading.charts.intervals import IntervalRow, Mark, interval_chart
from tiebreak.reading.figures.figure import Figure, draws, empty_figure, reading_if_drawn, table_of
from tiebreak.report.model.raters import MajoritySection

TITLE = "Reliability of the majority of several ratings"
READING = (
    "● how often two separate groups of so many annotators would give an item the same majority label; ○"
    " the reliability of the mean of so many ratings (Spearman–Brown), where labels have an order. Lines are"
    " 95% intervals for these annotators. More than one rating is an extrapolation from how single ratings"
    " agree: it assumes that the labels' probabilities vary over items like a Dirichlet distribution. A"
    " majority on which annotators agree need not be right."
)


@draws("majority")
def majority_figures(section: MajoritySection) -> list[Figure]:
    means = section.mean or {}
    rows = [
        IntervalRow(
            counted(int(size), "rating"),
            (
                Mark("human", one, "same majority label"),
                *([Mark("human-open", means[size], "reliability of the mean")] if means else []),
            ),
        )
        for size, one in section.majority.items()
    ]
    every = [*section.majority.values(), *means.values()]
    chart = interval_chart(rows, finding=TITLE, label="probability or reliability")
    if not chart:
        reason = next((one.reason for one in every if one.reason), section.reason or "")
        return [empty_figure("majority", TITLE, reason)]
    own = section.majority[str(section.ratings)]
    sentence = (
        f"Items typically have {counted(section.ratings, 'rating')} here. As many other ratings would give about"
        f" {percent(own.value)} of items the same majority label."
        if own.is_defined
        else own.reason or ""
    )
    return [
        Figure(
            "majority",
            TITLE,
            sentence,
            chart,
            *table_of(rows, "ratings"),
            f"{READING}{reading_if_drawn(every)}",
            title=TITLE,
        )
    ]
