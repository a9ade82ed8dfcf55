"""A document shows what was found, then its picture, then the tables, in the colours of the pages."""

import re

from tests.metrics.studies import report_of
from tests.paths import ROOT
from tests.tiebreak.reading.figures.test_differences import THIRD, TWO
from tiebreak.reading.charts.svg import COLOURS
from tiebreak.reading.document.content import DataTable, Figure, Paragraph
from tiebreak.reading.document.html import STYLE
from tiebreak.reading.document.results import result_sections


def test_each_finding_has_its_pictures_below_it_and_then_its_tables():
    (section,) = result_sections(report_of([*TWO, *THIRD]))
    blocks = section.blocks
    names = [block.name if isinstance(block, Figure) else type(block) for block in blocks]
    assert names[:3] == [Paragraph, Paragraph, "win-rates"]
    assert names.index("win-rates") < names.index(DataTable) < names.index("agreement")
    pictures = [name for name in names if isinstance(name, str)]
    assert len(set(pictures)) == len(pictures) > 3


def test_reports_have_the_colours_of_pages_and_files():
    palette = (ROOT / "static" / "css" / "palette.css").read_text(encoding="utf-8")
    style = STYLE.read_text(encoding="utf-8")
    for name, colour in COLOURS.items():
        pattern = rf"--{name}: (#\w+);"
        on_pages, in_reports = re.findall(pattern, palette), re.findall(pattern, style)
        assert colour in in_reports
        assert set(in_reports) == set(on_pages)
