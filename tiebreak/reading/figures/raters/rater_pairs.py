"""Annotators two by two, and agreement without each of them."""

from tiebreak.digits import counted, percent
from tiebreak.reading.charts.intervals import IntervalRow, Mark, interval_chart
from tiebreak.reading.figures.figure import (
    MAX_DRAWN,
    Figure,
    draws,
    empty_figure,
    estimate_cells,
    table_of,
)
from tiebreak.report.model.raters import PairwiseAgreementSection
from tiebreak.stats import Estimate, Influence

PAIRS_TITLE = "Annotators two by two"


PAIRS_READING = (
    "Each row is a pair of annotators with at least 10 items in common: ● Cohen's κ with its 95%"
    " interval, ○ the share of equal answers. Of many pairs, the lowest are low partly by chance, and a"
    " low κ with a high share of equal answers only says that one answer prevails. Read the items on"
    " which the two differ before you change the guidelines. It does not show which of the two is"
    " right, and is not a reason to leave someone out."
)


INFLUENCE_TITLE = "Agreement without each annotator"


INFLUENCE_READING = (
    "A point is the change of Krippendorff's α if the annotator is left out, and the line its 95%"
    " interval. To the right of 0, the others agree better among themselves. It shows whether low"
    " agreement is due to one person or to all. Do not report α without the annotators who lower it:"
    " it would be agreement among people who were chosen for agreeing."
)


@draws("pairwise_agreement")
def pairwise_figures(section: PairwiseAgreementSection) -> list[Figure]:
    if not section.lowest:
        return [empty_figure("rater-pairs", PAIRS_TITLE, section.reason or "")]
    rows = [
        IntervalRow(
            f"{pair.raters[0]}, {pair.raters[1]}",
            (
                Mark("human", pair.kappa, "Cohen's κ"),
                Mark("human-open", Estimate(pair.agreement, n=pair.shared), "equal answers"),
            ),
        )
        for pair in section.lowest
    ]
    chart = interval_chart(rows[:MAX_DRAWN], finding=PAIRS_TITLE, label="agreement", reference=0)
    sentence = (
        f"{counted(section.pairs, 'pair')} of annotators with at least 10 items in common; the median"
        f" share of equal answers is {percent(section.median)}. The {len(rows)} with the lowest share are"
        " listed."
    )
    if section.few_shared:
        sentence += f" {counted(section.few_shared, 'pair')} with fewer common items left out."
    return [
        Figure(
            "rater-pairs",
            PAIRS_TITLE,
            sentence,
            chart,
            *table_of(rows, "raters"),
            PAIRS_READING,
        )
    ]


@draws("drop_one_influence")
def influence_figures(section: dict[str, Influence]) -> list[Figure]:
    by_change = sorted(
        section.items(),
        key=lambda item: -abs(item[1].change.value) if item[1].change.is_defined else 1.0,
    )
    rows = [IntervalRow(name, (Mark("human", one.change),)) for name, one in by_change]
    chart = interval_chart(
        rows[:MAX_DRAWN], finding=INFLUENCE_TITLE, label="change of α", reference=0
    )
    if not chart:
        reasons = {one.change.reason or "" for one in section.values()}
        return [empty_figure("rater-influence", INFLUENCE_TITLE, " ".join(sorted(reasons)))]
    cut = f" The chart shows the {MAX_DRAWN} with the largest change." * (len(rows) > MAX_DRAWN)
    cells = tuple(
        (name, one.n_ratings, estimate_cells(one.without)[0], *estimate_cells(one.change))
        for name, one in by_change
    )
    columns = ("rater", "ratings", "alpha_without", *table_of(rows)[0][2:])
    sentence = f"{counted(len(rows), 'annotator')}.{cut}"
    return [
        Figure(
            "rater-influence", INFLUENCE_TITLE, sentence, chart, columns, cells, INFLUENCE_READING
        )
    ]
