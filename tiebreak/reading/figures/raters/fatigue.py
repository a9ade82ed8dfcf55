"""The figure of how answers change over an annotator's sequence of items."""

from tiebreak.digits import in_digits, small_in_digits
from tiebreak.reading.charts.intervals import IntervalRow, Mark, interval_chart
from tiebreak.reading.figures.after_draw import about_draw
from tiebreak.reading.figures.figure import Figure, about_thick_lines, empty_figure, table_of
from tiebreak.reading.findings import annotators_of, scope_sentence, scope_suffix
from tiebreak.report.model.raters import FatigueSection
from tiebreak.report.model.report import CriterionSection
from tiebreak.stats import Estimate

TITLE = "Agreement and time per answer over an annotator's items"
READING = (
    "Agreement: by how much the share of answers that equal the most frequent answer of the others"
    " changes for 10 items more; −0.02 is 2 points less. Time per answer: its relative change; −0.05 is"
    " 5% faster. Both are changes within annotators, so those who stop early do not bend them. Use them"
    " to choose how many items a next study asks of one person. Becoming faster is usual, because"
    " annotators learn; only falling agreement suggests fatigue. If all annotators have the items in the"
    " same order, later items may simply be harder. An interval with 0 does not show that nobody"
    " tires."
)


def fatigue_slopes_figure(section: CriterionSection) -> Figure:
    fatigue = section.fatigue
    if fatigue is None:
        reason = section.problems.get("fatigue", "No label of this criterion could be parsed.")
        return empty_figure("fatigue-slopes", TITLE, reason)
    changes = {
        "Agreement with the others": fatigue.agreement,
        "Time per answer, relative": fatigue.duration,
    }
    rows = [
        IntervalRow(name, (Mark("human", change, words=small_in_digits),))
        for name, change in changes.items()
    ]
    finding = _finding(fatigue)
    chart = interval_chart(rows, finding=finding, label="change for 10 items more", reference=0)
    if not chart:
        return empty_figure("fatigue-slopes", TITLE, fatigue.agreement.reason or "")
    estimates = [e for e in (fatigue.agreement, fatigue.duration) if e.has_interval]
    scope = scope_sentence(estimates[0]) + about_thick_lines(estimates) if estimates else ""
    sentence = " ".join(filter(None, [_in_words(fatigue), scope]))
    columns, cells = table_of(rows, "outcome")
    reading = READING + about_draw("fatigue", fatigue)
    return Figure("fatigue-slopes", finding, sentence, chart, columns, cells, reading, title=TITLE)


def _finding(fatigue: FatigueSection) -> str:
    agreement = fatigue.agreement
    if not agreement.has_interval:
        return TITLE
    who, suffix = annotators_of(agreement), scope_suffix(agreement)
    if agreement.high < 0:
        return f"{who} agree less with the others the more items they have done{suffix}"
    if agreement.low > 0:
        return f"{who} agree more with the others the more items they have done{suffix}"
    return f"No change of agreement over an annotator's items is shown{suffix}"


def _in_words(fatigue: FatigueSection) -> str:
    """Return the changes in words, and why one is missing."""
    parts = []
    if fatigue.agreement.is_defined:
        parts.append(f"agreement changes by {_with_interval(fatigue.agreement)}")
    if fatigue.duration.is_defined:
        parts.append(f"the time per answer by {_with_interval(fatigue.duration, percent=True)}")
    estimates = (fatigue.agreement, fatigue.duration)
    reasons = dict.fromkeys(e.reason for e in estimates if e.reason)
    sentence = f"For 10 items more, {' and '.join(parts)}." if parts else ""
    return " ".join([sentence, *filter(None, reasons)]).strip()


def _with_interval(change: Estimate, *, percent: bool = False) -> str:
    def words(number: float) -> str:
        return f"{in_digits(100 * number, 1)}%" if percent else small_in_digits(number)

    if not change.has_interval:
        return words(change.value)
    return f"{words(change.value)} ({words(change.low)} to {words(change.high)})"
