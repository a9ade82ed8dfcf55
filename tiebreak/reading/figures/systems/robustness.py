"""How few ratings decide the ranking, as a figure."""

from collections.abc import Iterator

from tiebreak.digits import counted
from tiebreak.reading.charts.intervals import IntervalRow, Mark, interval_chart
from tiebreak.reading.figures.figure import (
    MAX_DRAWN,
    Cell,
    Figure,
    draws,
    empty_figure,
)
from tiebreak.report.model.rankings import RobustnessSection
from tiebreak.stats import Estimate, Robustness

ROBUSTNESS_TITLE = "How few ratings decide the ranking"


ROBUSTNESS_READING = (
    "A point is the share of the ratings whose removal changes the result in its row: who is first by"
    " Bradley–Terry strength or by win rate over all systems, who is ahead in a pair, or whether the"
    " 95% interval of a pair's win rate excludes ½. The ratings were chosen to change the result, and"
    " the result was computed again without them. The fewest ratings are this number or fewer; where"
    " the table says so, all smaller sets were tried. A small number says that the result hangs on few"
    " answers, not that these answers are wrong: never remove them for that. A large number does"
    " not show that other annotators or texts would give the same result; intervals do. If instances"
    " were drawn, a rating counts by its instance's weight, so fewer ratings of rarely drawn"
    " instances may decide."
)


ROBUSTNESS_COLUMNS = (
    *("result", "ahead", "ahead_without", "ratings_removed", "ratings", "is_fewest"),
    *("removed", "reason"),
)


@draws("robustness")
def robustness_figures(section: RobustnessSection) -> list[Figure]:
    title, rows = ROBUSTNESS_TITLE, list(_results(section))
    drawn = [
        IntervalRow(name, (Mark("human", Estimate(one.removals / one.ratings, n=one.ratings)),))
        for name, one in rows
        if one.removals
    ]
    if not drawn:
        return [empty_figure("robustness", title, section.top.reason or "")]
    finding = _top_finding(section.top) or title
    chart = interval_chart(
        drawn[:MAX_DRAWN], finding=finding, label="share of ratings removed", reference=0
    )
    cells = tuple(_robust_cells(name, one) for name, one in rows)
    sentence = " ".join(filter(None, [_removed(section.top), section.top.reason]))
    return [
        Figure(
            "robustness",
            finding,
            sentence,
            chart,
            ROBUSTNESS_COLUMNS,
            cells,
            ROBUSTNESS_READING,
            title=title,
        )
    ]


def _results(section: RobustnessSection) -> Iterator[tuple[str, Robustness]]:
    yield "First by Bradley–Terry strength", section.top
    yield "First by win rate", section.top_by_win_rate
    yield from ((f"{pair}: order", one) for pair, one in section.pairs.items())
    yield from ((f"{pair}: interval excludes ½", one) for pair, one in section.findings.items())


def _top_finding(top: Robustness) -> str:
    if not top.removals:
        return ""
    few = "" if top.is_fewest else " or fewer"
    return (
        f"Without {top.removals:,}{few} of {counted(top.ratings, 'rating')}, {top.new_first} would be first"
        f" instead of {top.first}"
    )


def _removed(one: Robustness) -> str:
    """Return which ratings a set has."""
    if not one.removed:
        return ""
    kinds = [
        f"{kind.ratings:,} of {kind.system} "
        f"{'over' if kind.outcome == 'won' else 'tied with'} {kind.other}"
        for kind in one.removed[:5]
    ]
    more = f", and {len(one.removed) - 5} more kinds" if len(one.removed) > 5 else ""
    return f"The removed ratings are {', '.join(kinds)}{more}."


def _robust_cells(name: str, one: Robustness) -> tuple[Cell, ...]:
    return (
        name,
        one.first,
        one.new_first,
        one.removals or None,
        one.ratings,
        ("yes" if one.is_fewest else "this or fewer") if one.removals else None,
        "; ".join(f"{k.ratings} {k.system} {k.outcome} {k.other}" for k in one.removed),
        one.reason or "",
    )
