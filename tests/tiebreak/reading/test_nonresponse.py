"""Answers without a label in the written report, on the terminal and in figures."""

import csv
import io

import pytest

from tests.metrics.studies import preferences, report_of
from tiebreak.nonresponse import BROKEN, CANNOT_SAY, NONRESPONSES
from tiebreak.reading.document.content import DataTable, Paragraph
from tiebreak.reading.document.nonresponse import nonresponse_tables
from tiebreak.reading.document.results import result_sections
from tiebreak.reading.document.summary import summary
from tiebreak.reading.figures.figure import Figure
from tiebreak.reading.figures.files import figure_file
from tiebreak.reading.figures.of_report import figures_of
from tiebreak.reading.nonresponse_findings import nonresponse_finding
from tiebreak.reading.terminal import as_text
from tiebreak.report import Report

ITEMS = 12


def report(without: int, code: str = CANNOT_SAY) -> Report:
    """Return a report of 24 answers with a label, of which A wins all, and of others without one."""
    rows = preferences([[-1, -1]] * ITEMS)
    some = [
        row | {"rater": f"r{2 + number}", "label": None, "nonresponse": code}
        for number in range(3)
        for row in rows[::2]
    ]
    return report_of(rows + some[:without], replicates=100)


@pytest.mark.parametrize(("without", "place"), [(24, "first"), (12, "later"), (5, "nowhere")])
def test_half_of_the_answers_without_a_label_is_said_first(without, place):
    made = report(without)
    (about,) = made.criteria.values()
    heading, sentence = nonresponse_finding(about) or ("have no label", "")
    (results,) = result_sections(made)
    paragraphs = [block.text for block in results.blocks if isinstance(block, Paragraph)][1:]
    terminal = as_text(made).split("\n", 1)[1]
    texts = (summary(made, ["a", "b"])[0].text, " ".join(paragraphs), terminal.replace("\n", " "))
    for text in texts:
        assert text.startswith(heading) == (place == "first")
        assert (heading in text) == (place != "nowhere")
    assert sentence in texts[0]


def test_tables_and_the_figure_have_all_counts():
    (about,) = report(24, BROKEN).criteria.values()
    tables = list(nonresponse_tables(about, with_raters=True))
    assert all(isinstance(table, DataTable) for table in tables)
    whole, by_system, by_item, by_rater = (table.rows for table in tables)
    assert whole[0][:5] == ("annotators", "48", "0", "24", "50%")
    assert by_system == tuple((name, "annotators", "48", "0", "24", "50%") for name in "ab")
    assert by_item[0] == ("u0", "annotators", "4", "0", "2", "50%")
    assert [row[0] for row in by_rater] == ["r2", "r3"]
    assert len(list(nonresponse_tables(about))) == 3
    figure: Figure = next(one for one in figures_of(about) if one.name == "nonresponse")
    data = csv.DictReader(io.StringIO(figure_file(figure, "csv").decode("utf-8-sig")))
    shares = {row["series"]: float(row["value"]) for row in data}
    assert shares == {NONRESPONSES[CANNOT_SAY]: 0, NONRESPONSES[BROKEN]: 0.5}


def test_nothing_is_shown_where_all_answers_have_a_label():
    (about,) = report(0).criteria.values()
    assert not [*nonresponse_tables(about)]
    assert "nonresponse" not in [figure.name for figure in figures_of(about)]
