"""The terminal: the leading numbers of a report as a table, tables, and the bar of progress."""

from collections.abc import Iterable, Iterator, Sequence
from textwrap import fill

from tiebreak.digits import counted
from tiebreak.reading.agreement_findings import NO_ALPHA_HEADING, agreement_finding
from tiebreak.reading.findings import (
    win_rate_finding,
)
from tiebreak.reading.leading_numbers import LeadingNumber, leading_numbers, scope_of
from tiebreak.reading.nonresponse_findings import nonresponse_finding, nonresponse_leads
from tiebreak.reading.while_open import WIN_RATES
from tiebreak.reading.words import scale_in_words
from tiebreak.report import Report
from tiebreak.report.model.report import CriterionSection

WIDTH = 100
INDENT = "    "
BAR = 30
INFERRED = " (inferred from the labels; --scale declares another)"


def as_text(report: Report) -> str:
    """Return what was read of each criterion, its findings, and its leading numbers with intervals.

    Each criterion has a block of lines, in the order of the report; the text is empty without one.
    """
    return "\n\n".join(
        "\n".join(_criterion(name, report.criteria[name])) for name in report.criteria_order
    )


def _criterion(name: str, about: CriterionSection) -> Iterator[str]:
    yield f"{name}: {what_was_read(about)}"
    yield from (fill(f"{finding}.", WIDTH) for finding in stated_findings(about))
    yield ""
    yield from _table(leading_numbers(about))
    if scope := scope_of(about):
        yield fill(scope, WIDTH)


def stated_findings(about: CriterionSection) -> Iterator[str]:
    """Yield the headings that state something."""
    headings = [agreement_finding(about)[0]]
    if about.systems is not None and about.systems.win_rate:
        headings.insert(0, win_rate_finding(about)[0])
    if unlabelled := nonresponse_finding(about):
        headings.insert(0 if nonresponse_leads(about) else len(headings), unlabelled[0])
    yield from (heading for heading in headings if heading not in (WIN_RATES, NO_ALPHA_HEADING))


def what_was_read(about: CriterionSection, *, inferred: str = INFERRED) -> str:
    """Return the counts of a criterion and its scale; ``inferred`` follows one that nobody declared."""
    people = sum(rater.kind == "human" for rater in about.raters.values())
    machines = len(about.raters) - people
    parts = [counted(about.n_units, "item")]
    parts += [counted(people, "annotator")] * bool(about.raters)  # a core report does not list them
    parts += [counted(machines, "machine rater")] * bool(machines)
    parts.append(counted(about.n_ratings + about.n_machine_ratings, "rating"))
    scale = scale_in_words(about.scale) + inferred * about.scale_inferred
    return f"{', '.join(parts)}; {scale}"


def _table(numbers: list[LeadingNumber]) -> Iterator[str]:
    rows = [(one.title, one.number.text, one.number.interval, one.told) for one in numbers]
    lines = as_table(("", "value", "95% interval", ""), rows)
    reasons = ("", *(one.number.reason for one in numbers))
    for line, reason in zip(lines, reasons, strict=True):
        yield line
        if reason:
            yield fill(reason, WIDTH, initial_indent=INDENT, subsequent_indent=INDENT)


def as_table(titles: Sequence[str], rows: Iterable[Sequence[str]]) -> Iterator[str]:
    """Yield the lines of a table, in columns that are as wide as their longest cell."""
    lines = [titles, *rows]
    widths = [max(map(len, column)) for column in zip(*lines, strict=True)]
    for row in lines:
        cells = (cell.ljust(width) for cell, width in zip(row, widths, strict=True))
        yield "  ".join(cells).rstrip()


def progress_bar(done: int, of: int, what: str) -> str:
    """Return a line that is written over by the next, until all is done."""
    bar = "█" * (BAR * done // max(of, 1))
    return f"{bar:░<{BAR}} {done:,} of {of:,} {what}" + ("\n" if done == of else "\r")
