"""The leading numbers on the terminal are those of the report."""

import pytest

from tests.metrics.studies import preferences
from tiebreak.formats import RatingTable
from tiebreak.reading.terminal import as_text
from tiebreak.report import build_report

EVERYBODY_PREFERS_A = [[-1, -1, -1]] * 12


def text_of(rows, **options):
    return as_text(build_report(RatingTable.from_rows(rows), replicates=100, **options))


def test_a_number_stands_with_its_interval_and_its_meaning():
    text = text_of(preferences(EVERYBODY_PREFERS_A))
    [line] = [line for line in text.splitlines() if line.startswith("Difference of win rates")]
    assert "1.00" in line
    assert " to 1.00" in line


def test_what_is_undefined_has_its_reason_below():
    lines = text_of(preferences([[-1, 1]])).splitlines()
    [number] = [n for n, line in enumerate(lines) if line.startswith("Human–machine agreement")]
    assert "–" in lines[number]
    assert lines[number + 1].startswith("    ")


@pytest.mark.parametrize(("core", "people"), [(False, True), (True, False)])
def test_a_core_report_neither_counts_raters_nor_says_who_is_ahead(core, people):
    first, second, *_ = text_of(preferences(EVERYBODY_PREFERS_A), core=core).splitlines()
    assert ("3 annotators" in first) == people
    assert bool(second) == people


def test_each_criterion_has_its_own_block():
    rows = [{"unit": "u", "rater": "r", "label": "x", "criterion": name} for name in ("b", "a")]
    assert [
        block.partition(":")[0] for block in text_of(rows).split("\n\n") if ": 1 item" in block
    ] == ["b", "a"]
