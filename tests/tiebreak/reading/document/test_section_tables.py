"""Every section of a report reaches a document, or the document says why it does not."""

from dataclasses import replace
from datetime import UTC, datetime

import pytest

from tests.tiebreak.report.small_study import small_report
from tiebreak.reading.document.content import DataTable
from tiebreak.reading.document.html import as_html
from tiebreak.reading.document.latex import as_latex
from tiebreak.reading.document.of_report import document_of
from tiebreak.reading.document.section_tables import NOT_HERE, data_table, tables_of
from tiebreak.reading.figures.figure import MAX_ROWS, Figure
from tiebreak.reading.figures.of_report import figures_by_section, figures_of
from tiebreak.report.registry import SECTIONS, on_request


@pytest.fixture(scope="module")
def report():
    return small_report()


def written(report):
    return document_of(report, title="Six ratings", made_at=datetime(2026, 3, 1, tzinfo=UTC))


def texts_of(document, criterion):
    (section,) = [one for one in document.sections if one.title == f"Results: {criterion}"]
    return "\n".join(getattr(block, "text", "") for block in section.blocks)


def test_each_section_is_shown_or_named_with_the_reason(report):
    document = written(report)
    for criterion, about in report.criteria.items():
        text, drawn = texts_of(document, criterion), figures_by_section(about)
        unknown = [
            name
            for name, section in SECTIONS.items()
            if name not in drawn and not [*tables_of(name, about)] and section.title not in text
        ]
        assert unknown == [], criterion


def test_a_section_that_a_report_has_is_called_missing_only_with_its_own_reason(report):
    document = written(report)
    for criterion, about in report.criteria.items():
        said = texts_of(document, criterion).partition(NOT_HERE.partition("{")[0])[2]
        missing = said.partition(".\n")[0].rstrip(".").split("; ")
        computed = [one.title for one in SECTIONS.values() if one.of(about)]
        assert [title for title in computed if title in missing] == []


def test_what_nobody_asked_for_is_named(report):
    about = report.criteria["preference"]
    own = [name for name, one in on_request().items() if not one.fills]
    added = dict.fromkeys(name for one in on_request().values() for name in one.fills)
    systems = replace(about.systems, **added)
    without = replace(about, **dict.fromkeys(own), systems=systems, problems={})
    text = texts_of(
        written(replace(report, criteria={**report.criteria, "preference": without})), "preference"
    )
    offered = [one.title for one in on_request().values() if one.offered(without)]
    assert offered
    assert [title for title in offered if title not in text] == []


def test_sections_on_request_reach_page_and_latex_with_their_numbers(report):
    document = written(report)
    page, latex = as_html(document), as_latex(document)
    about = report.criteria["preference"]
    shown = [name for name, one in on_request().items() if one.of(about) is not None]
    assert len(shown) > 10
    for name in shown:
        for table in tables_of(name, about):
            assert table in document.tables
            assert len(table.columns) == len(table.rows[0])
    assert latex.count(r"\begin{tabular}") == len(document.tables)
    assert page.count("<table>") == len(document.tables)


def test_figures_have_names_of_their_own(report):
    for about in report.criteria.values():
        names = [figure.name for figure in figures_of(about)]
        assert len(set(names)) == len(names)


def test_an_estimate_and_its_interval_stand_in_one_cell():
    columns = ("system", "value", "low", "high", "n", "reason")
    figure = Figure(
        "f", "Finding", "", "<svg></svg>", columns, (("a", 0.5, 0.25, 0.75, 9, ""),), "R"
    )
    table = data_table(figure)
    assert table == DataTable(
        "Finding", ("system", "value", "based on"), (("a", "0.50 (0.25 to 0.75)", "9"),), "R"
    )


def test_rows_that_a_table_leaves_out_are_counted():
    rows = tuple((str(n),) for n in range(MAX_ROWS + 3))
    assert "3 further rows" in data_table(Figure("f", "F", "", "x", ("a",), rows, "")).note
