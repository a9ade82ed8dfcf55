"""Figures of win rates with covariates held equal, and of strengths in Davidson's model of ties."""

from tiebreak.digits import percent
from tiebreak.reading.charts.intervals import IntervalRow, Mark, interval_chart
from tiebreak.reading.figures.figure import (
    Figure,
    about_thick_lines,
    draws,
    empty_figure,
    table_of,
)
from tiebreak.report.model.rankings import DavidsonSection
from tiebreak.report.model.systems import ControlledWinRateSection
from tiebreak.stats import Estimate

CONTROLLED_TITLE = "Win rates with length and style held equal"
CONTROLLED_READING = (
    "● the expected win rate over the same comparisons if both texts were equally long, used as much"
    " Markdown and had no advantage of position, as far as these are known; ○ the win rate as it is. A"
    " system whose ● is nearer to ½ owes a part of its lead to length or style. It does not show that"
    " length as such was what annotators liked: longer texts may also say more, and holding length equal"
    " then takes merit away. Report it with the win rate, never instead of it."
)
EFFECTS_TITLE = "What length and style change"
EFFECTS_READING = (
    "A point is the change of the log odds of winning, and the line its 95% interval. For length and"
    " Markdown it is from equal texts to texts of which the other has none, (A − B)/(A + B); for"
    " position, from an even chance of being first to being shown first. To the right of 0, more of it"
    " wins more often. It is what goes along with winning among these systems, not what would happen"
    " if a text were made longer."
)
TIES_TITLE = "Strengths with ties as a separate outcome"
TIES_READING = (
    "A point is a system's log-strength in Davidson's model, and the line its 95% interval; a difference"
    " of 1 means odds of 2.7 to 1 among comparisons that one of the two wins. In the model, systems that are"
    " equally strong tie most often. Where a tie counts as half a win, gaps are smaller with more ties. It"
    " does not show that systems are equal: many ties may also come from texts that nobody can tell"
    " apart."
)


@draws("controlled_win_rate")
def controlled_figures(section: ControlledWinRateSection) -> list[Figure]:
    rows = [
        IntervalRow(
            name,
            (
                Mark("human", section.controlled[name], "held equal"),
                Mark("human-open", section.win_rate[name], "as it is"),
            ),
        )
        for name in _best_first(section.controlled)
    ]
    chart = interval_chart(
        rows, finding=CONTROLLED_TITLE, label="win rate", reference=0.5, bounds=(0, 1)
    )
    thick = about_thick_lines(section.controlled.values())
    held = [name for name, effect in section.effects.items() if effect.is_defined]
    sentence = f"Held equal: {', '.join(held)}.{thick}"
    return [
        Figure(
            "controlled-win-rates",
            CONTROLLED_TITLE,
            sentence,
            chart,
            *table_of(rows),
            CONTROLLED_READING,
        ),
        _intervals("covariates", EFFECTS_TITLE, section.effects, EFFECTS_READING, of="covariate"),
    ]


@draws("davidson")
def davidson_figures(section: DavidsonSection) -> list[Figure]:
    strengths = {name: section.systems[name] for name in _best_first(section.systems)}
    figure = _intervals("davidson", TIES_TITLE, strengths, TIES_READING, tie=section.tie)
    return [figure]


def _intervals(
    name: str,
    title: str,
    estimates: dict[str, Estimate],
    reading: str,
    *,
    of: str = "system",
    tie: Estimate | None = None,
) -> Figure:
    rows = [IntervalRow(key, (Mark("human", one),)) for key, one in estimates.items()]
    chart = interval_chart(rows, finding=title, label="log odds", reference=0)
    reasons = " ".join(dict.fromkeys(one.reason for one in estimates.values() if one.reason))
    if not chart:
        return empty_figure(name, title, reasons)
    sentence = " ".join(filter(None, [_about_ties(tie), reasons]))
    sentence += about_thick_lines(estimates.values())
    return Figure(name, title, sentence, chart, *table_of(rows, of), reading)


def _about_ties(tie: Estimate | None) -> str:
    if tie is None:
        return ""
    if not tie.is_defined:
        return tie.reason or ""
    ends = f" (95% interval {percent(tie.low)} to {percent(tie.high)})" if tie.has_interval else ""
    return f"Two equally strong systems would tie in {percent(tie.value)} of comparisons{ends}."


def _best_first(estimates: dict[str, Estimate]) -> list[str]:
    return sorted(
        estimates,
        key=lambda name: (-estimates[name].value if estimates[name].is_defined else 1e9, name),
    )
