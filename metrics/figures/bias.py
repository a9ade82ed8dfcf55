"""The figure of position and length bias."""

from dataclasses import replace

from metrics.charts.intervals import IntervalRow, Mark, interval_chart
from metrics.charts.svg import Kind
from metrics.figures.figure import Figure, about_thick_lines, empty_figure, table_of
from metrics.findings import annotators_of, scope_sentence, scope_suffix
from tiebreak.report.model import Bias, CriterionSection
from tiebreak.stats import Estimate, undefined

TITLE = "Position and length bias"
READING = (
    "0 means no bias, and ties are left out. Position: the share of ratings that prefer the text shown"
    " first, minus one half. Length: the share that prefers the longer text, minus the share that"
    " prefers the shorter one. A preference for longer texts does not show that length is its cause,"
    " because longer texts may be better. As sides are balanced, position bias adds noise to win rates"
    " but does not favour a system."
)


def bias_figure(section: CriterionSection) -> Figure:
    if section.bias is None:
        return empty_figure("bias", TITLE, "This criterion compares no texts.")
    rows = _rows("Annotators", section.bias, is_machine=False)
    for machine, bias in sorted(section.bias.machines.items()):
        rows += _rows(machine, bias, is_machine=True)
    finding = _finding(section.bias)
    chart = interval_chart(rows, finding=finding, label="bias", reference=0, bounds=(-1, 1))
    sentence = _scope(section.bias) if chart else section.bias.position.reason
    sentence = (
        f"{sentence or ''}{about_thick_lines(mark.estimate for row in rows for mark in row.marks)}"
    )
    return Figure("bias", finding, sentence, chart, *table_of(rows, "rater"), READING, title=TITLE)


def _rows(name: str, bias: Bias, *, is_machine: bool) -> list[IntervalRow]:
    kind: Kind = "machine" if is_machine else "human"
    return [
        IntervalRow(f"{name}: position", (Mark(kind, bias.position),)),
        IntervalRow(f"{name}: length", (Mark(kind, bias.length),)),
    ]


def _finding(bias: Bias) -> str:
    """Return which biases the intervals show of annotators, or else of these annotators alone."""
    known = _with_interval(bias)
    if not known:
        return TITLE
    suffix = scope_suffix(known[0])
    if shown := _preferred(bias.position, bias.length):
        return f"{annotators_of(known[0])} prefer {shown}{suffix}"
    if shown := _preferred(*(_for_these_raters(e) for e in (bias.position, bias.length))):
        return f"These annotators prefer {shown}{suffix}; whether others do is not shown"
    return f"No bias of annotators is shown{suffix}"


def _with_interval(bias: Bias) -> list[Estimate]:
    return [estimate for estimate in (bias.position, bias.length) if estimate.has_interval]


def _scope(bias: Bias) -> str:
    """Return whom the biases speak of: those with an interval, if there are any."""
    return scope_sentence((_with_interval(bias) or [bias.position])[0])


def _for_these_raters(bias: Estimate) -> Estimate:
    return next((replace(bias, low=e.low, high=e.high) for e in bias.narrower), undefined(""))


def _preferred(position: Estimate, length: Estimate) -> str:
    """Return what is preferred if an interval excludes 0."""
    shown = []
    if position.has_interval and not position.low <= 0 <= position.high:
        shown.append("the text shown first" if position.low > 0 else "the text shown second")
    if length.has_interval and not length.low <= 0 <= length.high:
        shown.append("longer texts" if length.low > 0 else "shorter texts")
    return " and ".join(shown)
