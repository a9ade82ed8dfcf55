"""The figure of machine raters' preference for their own model family."""

from collections import defaultdict
from collections.abc import Mapping

from tiebreak.reading.charts.intervals import IntervalRow, Mark, interval_chart
from tiebreak.reading.charts.svg import kinds_of
from tiebreak.reading.figures.figure import (
    ESTIMATE_COLUMNS,
    Figure,
    Simple,
    about_thick_lines,
    draws_raters,
    empty_figure,
    estimate_rows,
)
from tiebreak.reading.messages import READING_IF_DRAWN
from tiebreak.report.model.machines import FamilyPreference

NAME, TITLE = "family-bias", "Preference of machine raters for texts of their own model family"
READING = (
    "How much more often a machine rater prefers the text of a system of its own model family to one of another"
    " family than annotators do on the same items; 0 means as often as they do, and lines are 95% intervals. A tie"
    " counts half, and every item has the same weight. That annotators like the family's texts better cancels out."
    " A difference does not show its cause: the family may write longer texts, and the machine rater may like"
    " these. Families are what researchers declared. Of many machine raters some differ by chance."
)
COLUMNS = (
    *(
        "machine",
        "family",
        "own_systems",
        "other_systems",
        "items",
        "items_without_family",
        "preference",
    ),
    *ESTIMATE_COLUMNS,
)
PREFERENCES = {
    "machine": "win rate of its family by the machine rater",
    "humans": "win rate of its family by annotators",
    "difference": "difference",
}


@draws_raters("family_bias")
def family_bias_figures(
    section: Mapping[str, FamilyPreference], simple: Simple = None
) -> list[Figure]:
    kinds = kinds_of(section, simple)
    rows = [
        IntervalRow(f"{name} ({one.family})", (Mark(kinds[name], one.difference),))
        for name, one in section.items()
        if one.difference.is_defined
    ]
    sentence = _reasons({name: one for name, one in section.items() if name not in (simple or ())})
    if not rows:
        return [empty_figure(NAME, TITLE, sentence or "No machine rater compared the systems.")]
    chart = interval_chart(
        rows,
        finding=TITLE,
        label="difference from annotators' win rate",
        reference=0,
        bounds=(-1, 1),
    )
    named = [
        ((*_about(name, one), title), getattr(one, preference))
        for name, one in section.items()
        for preference, title in PREFERENCES.items()
    ]
    drawn = [mark.estimate for row in rows for mark in row.marks]
    reading = READING + READING_IF_DRAWN.get(drawn[0].scope.instances, "")
    sentence = f"{sentence}{about_thick_lines(drawn)}"
    return [Figure(NAME, TITLE, sentence, chart, COLUMNS, estimate_rows(named), reading)]


def _about(name: str, one: FamilyPreference) -> tuple[str | int, ...]:
    systems = ("; ".join(one.own), "; ".join(one.others))
    return (name, one.family, *systems, one.n_units, one.n_without_family)


def _reasons(section: Mapping[str, FamilyPreference]) -> str:
    """Return what is missing, each reason once with all whom it is about. A simple rater has no family."""
    names = defaultdict(list)
    for name, one in section.items():
        names[_reason(one)].append(name)
    return " ".join(f"{', '.join(of)}: {reason}" for reason, of in names.items() if reason)


def _reason(one: FamilyPreference) -> str:
    """Return why a number or its interval is missing, and how many items are left out."""
    left = one.n_without_family
    parts = (
        one.difference.reason or "",
        f"Items left out, because the other system's family is not declared: {left}."
        if left
        else "",
    )
    return " ".join(filter(None, parts))
