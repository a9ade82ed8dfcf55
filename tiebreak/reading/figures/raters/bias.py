"""The figure of position and length bias."""

from dataclasses import replace
from math import nan

from tiebreak.reading.charts.intervals import IntervalRow, Mark, interval_chart
from tiebreak.reading.charts.svg import Kind, kinds_of
from tiebreak.reading.figures.figure import Figure, about_thick_lines, empty_figure, table_of
from tiebreak.reading.findings import scope_sentence, scope_suffix
from tiebreak.report.model.fields import Estimates
from tiebreak.report.model.raters import Bias, BiasSection
from tiebreak.report.model.report import CriterionSection
from tiebreak.stats import Estimate, undefined

TITLE = "Position and length bias"
READING = (
    "0 means no bias, and ties are left out. Position: the share of ratings that prefer the text shown"
    " first, minus one half. Length: the share that prefers the longer text, minus the share that"
    " prefers the shorter one. Both are estimated within pairs of systems, so a preference for a"
    " system is not bias. The heading allows for its having two tests. A preference for longer texts does not show that length is its cause,"
    " because longer texts may be better. Where sides are balanced, position bias adds noise to win rates"
    " but does not favour a system."
)


def bias_figure(section: CriterionSection) -> Figure:
    if section.bias is None:
        return empty_figure("bias", TITLE, "This criterion compares no texts.")
    rows = _rows("Annotators", section.bias, "human")
    kinds = kinds_of(section.bias.machines, section.simple_raters)
    for machine, bias in sorted(section.bias.machines.items()):
        rows += _rows(machine, bias, kinds[machine])
    finding, scope = bias_finding(section.bias)
    chart = interval_chart(rows, finding=finding, label="bias", reference=0, bounds=(-1, 1))
    reasons = (section.bias.position.reason, section.bias.length.reason)
    sentence = " ".join(filter(None, [scope if chart else "", *dict.fromkeys(reasons)]))
    sentence = f"{sentence}{about_thick_lines(mark.estimate for row in rows for mark in row.marks)}"
    return Figure("bias", finding, sentence, chart, *table_of(rows, "rater"), READING, title=TITLE)


def _rows(name: str, bias: Bias, kind: Kind) -> list[IntervalRow]:
    return [
        IntervalRow(f"{name}: position", (Mark(kind, bias.position),)),
        IntervalRow(f"{name}: length", (Mark(kind, bias.length),)),
    ]


def preferred_shares(section: BiasSection) -> Estimates:
    """Return the shares of preferences within pairs of systems that annotators' biases are of.

    Without a bias they are one half. Their intervals hold simultaneously, as those of the finding do.
    """
    bias = section.simultaneous or section
    return {
        "Text shown first preferred": _share(bias.position, 1.0),
        "Longer text preferred": _share(bias.length, 0.5),
    }


def _share(bias: Estimate, scale: float) -> Estimate:
    """Return the share that a bias, in other units, is above one half."""
    value, low, high = (0.5 + scale * end for end in (bias.value, bias.low, bias.high))
    return replace(bias, value=value, low=low, high=high, standard_error=nan, narrower=())


def bias_finding(section: BiasSection) -> tuple[str, str]:
    """Return which biases the intervals show for annotators, or else for these alone, and who they apply to.

    The intervals hold simultaneously, because the heading has both tests.
    """
    bias = section.simultaneous or section
    named = {"a side": bias.position, "length": bias.length}
    known = {name: one for name, one in named.items() if one.has_interval}
    if not known:
        return TITLE, scope_sentence(bias.position)
    first, *_ = known.values()
    of_these_raters = (
        next((replace(one, low=e.low, high=e.high) for e in one.narrower), undefined(""))
        for one in named.values()
    )
    if shown := _preferred(bias):
        of_these = any(one.scope.raters == "these" for one in shown.values())
        who, end = "These annotators" if of_these else "Annotators", ""
    elif shown := _preferred(Bias(*of_these_raters)):
        of_these, who, end = True, "These annotators", "; whether others do is not shown"
    else:
        heading = f"No preference for {' or for '.join(known)} is shown"
        return f"{heading}{scope_suffix(first)}", scope_sentence(first)
    heading = f"{who} prefer {' and '.join(shown)}{scope_suffix(first)}{end}"
    return heading, scope_sentence(first, of_these=of_these)


def _preferred(bias: Bias) -> dict[str, Estimate]:
    """Return what is preferred if an interval excludes 0."""
    sides = {
        ("the text shown first", "the text shown second"): bias.position,
        ("longer texts", "shorter texts"): bias.length,
    }
    return {
        above if one.low > 0 else below: one
        for (above, below), one in sides.items()
        if one.has_interval and not one.low <= 0 <= one.high
    }
