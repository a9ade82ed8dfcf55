"""Differences of two systems' win rates, with the margins that their intervals rule out."""

from math import ceil, isnan

from tiebreak.digits import in_digits
from tiebreak.reading.charts.intervals import IntervalRow, Mark, interval_chart
from tiebreak.reading.figures.figure import (
    MAX_DRAWN,
    Figure,
    about_thick_lines,
    empty_figure,
    reading_if_drawn,
    table_of,
)
from tiebreak.reading.findings import scope_suffix, stratum_name
from tiebreak.reading.messages import NO_SYSTEMS, WITH_THESE
from tiebreak.report.model.report import CriterionSection
from tiebreak.stats import SystemDifference

TITLE = "Differences of two systems"
READING = (
    "A point is the win rate of the first system against the second minus that of the second, and the line"
    " its 95% interval, which holds for all pairs at once. Two systems are shown to be equally good within a"
    " margin if the whole line lies within it on both sides of 0 (two one-sided tests, each with an error of"
    " 2.5%), and one is shown not to be worse by a margin if the line ends before it on that side. The data"
    " have the smallest margins of which this is so. Choose the margin that matters before you look."
)
MARGINS = ("equivalent_within", "first_not_worse_by", "second_not_worse_by")


def differences_figure(section: CriterionSection) -> Figure:
    """Return the differences of all pairs of systems that were compared."""
    found = (section.systems.differences if section.systems else None) or {}
    rows = [
        IntervalRow(stratum_name("systems", name), (Mark("human", one.difference),))
        for name, one in found.items()
    ]
    chart = interval_chart(rows[:MAX_DRAWN], finding=TITLE, label="difference", reference=0)
    estimates = [one.difference for one in found.values()]
    if not chart:
        reason = next((one.reason for one in estimates if one.reason), NO_SYSTEMS)
        return empty_figure("differences", TITLE, reason)
    columns, cells = table_of(rows, "systems")
    margins = [[getattr(one, margin) for margin in MARGINS] for one in found.values()]
    return Figure(
        "differences",
        TITLE,
        " ".join(_margins(*pair) for pair in found.items()) if len(found) == 1 else "",
        chart,
        (*columns, *MARGINS),
        tuple(
            (*cell, *(None if isnan(margin) else margin for margin in of_pair))
            for cell, of_pair in zip(cells, margins, strict=True)
        ),
        f"{READING}{about_thick_lines(estimates)}{reading_if_drawn(estimates)}",
        title=TITLE,
    )


def _margins(name: str, found: SystemDifference) -> str:
    if not found.difference.has_interval:
        return found.difference.reason or ""
    within, first, second = (_rounded_up(getattr(found, margin)) for margin in MARGINS)
    whose = WITH_THESE if found.difference.scope.raters == "these" else ""
    return (
        f"{whose}{name}: the two differ by at most {within}; the first is at most {first} worse, the second"
        f" at most {second}{scope_suffix(found.difference)}."
    )


def _rounded_up(margin: float) -> str:
    """Return a margin that is not smaller than the one that was shown."""
    return in_digits(ceil(round(100 * margin, 9)) / 100)
