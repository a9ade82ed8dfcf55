"""A report as a notebook shows it: leading numbers, findings and figures of each criterion.

The markup loads nothing and changes nothing outside itself. A notebook has one of several dark themes, of
which a style sheet learns nothing, so texts have the colour of what surrounds them, and marks have
colours that stand out from both black and white.
"""

from collections.abc import Iterator
from html import escape
from itertools import accumulate
from pathlib import Path

from tiebreak.reading.document.content import Block, DataTable, Paragraph
from tiebreak.reading.document.html import as_markup
from tiebreak.reading.document.of_report import what_was_read as what_was_used
from tiebreak.reading.document.results import captioned
from tiebreak.reading.figures.of_report import figures_of
from tiebreak.reading.leading_numbers import leading_numbers, scope_of
from tiebreak.reading.terminal import stated_findings, what_was_read
from tiebreak.report import Report
from tiebreak.report.model.report import CriterionSection

STYLE = Path(__file__).with_name("notebook.css")
MAX_CHARACTERS = 250_000
LEFT_OUT = "Further figures are left out because the output would be too large; tiebreak analyze --html has all."
SIMULATED = "Some of these ratings were given by bots."
INFERRED = " (inferred from the labels; the argument scales declares another)"
MORE, SHOWN = "More figures", 2
COLUMNS = ("", "Value", "95% interval", "What it is")


def as_notebook_html(report: Report) -> str:
    """Return the report as HTML for the output of a notebook's cell."""
    remarks = [*[SIMULATED] * report.simulated, *what_was_used(report)]
    about = "".join(as_markup(Paragraph(text)) for text in remarks)
    criteria, room = "", MAX_CHARACTERS
    for name in report.criteria_order:
        section = report.criteria[name]
        numbers = "".join(map(as_markup, _numbers(section)))
        figures = _figures(section, room - len(numbers))
        criteria += f"<h3>{escape(name)}</h3>\n{numbers}{figures}"
        room -= len(numbers) + len(figures)
    style = STYLE.read_text(encoding="utf-8")
    return f'<div class="tiebreak-report">\n<style>{style}</style>\n{criteria}{about}</div>\n'


def _numbers(about: CriterionSection) -> Iterator[Block]:
    yield Paragraph(f"{what_was_read(about, inferred=INFERRED)}.")
    yield from (Paragraph(f"{finding}.") for finding in stated_findings(about))
    rows = tuple(
        (one.title, one.number.text, one.number.interval, one.told or one.number.reason)
        for one in leading_numbers(about)
    )
    yield DataTable("Leading numbers", COLUMNS, rows, note=scope_of(about))


def _figures(about: CriterionSection, room: int) -> str:
    """Return the figures for which there is room: the first ones, and what opens the others."""
    figures = list(map(as_markup, captioned(figures_of(about))))
    sizes = list(accumulate(map(len, figures)))
    fitting = [figure for figure, size in zip(figures, sizes, strict=True) if size <= room]
    shown, others = "".join(fitting[:SHOWN]), "".join(fitting[SHOWN:])
    if len(fitting) < len(figures):
        others += as_markup(Paragraph(LEFT_OUT))
    return f"{shown}<details><summary>{MORE}</summary>\n{others}</details>\n" if others else shown
