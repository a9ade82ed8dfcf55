"""Consistency is not shown where each rating set has one rating, which cannot contradict itself."""

from tests.metrics.studies import preferences, report_of, sections
from tiebreak.reading.document.results import result_sections
from tiebreak.reading.figures.raters.consistency import consistency_figure, set_shares_figure
from tiebreak.reading.messages import SINGLE_SETS
from tiebreak.reading.shown import Section

LABELS: list[list[object]] = [[1, -1, 1], [1, 1, 1], [-1, 0, 1]]


def section_of_report(rows: list[dict]) -> Section:
    (section,) = sections(report_of(rows))
    return section


def reason(section: Section) -> str:
    return consistency_figure(section.about).sentence


def test_sets_of_one_rating_have_the_reason_in_place_of_a_number():
    section = section_of_report(preferences(LABELS))
    assert section.set_rows == []
    assert SINGLE_SETS in reason(section)
    for figure in (consistency_figure(section.about), set_shares_figure(section.about)):
        assert not figure.chart
        assert figure.sentence == SINGLE_SETS


def test_sets_of_several_ratings_are_shown():
    rows = preferences(LABELS)
    rows += [row | {"unit": f"{row['unit']}-second"} for row in rows]
    section = section_of_report(rows)
    assert len(section.set_rows) == 7
    assert SINGLE_SETS not in reason(section)


def test_sets_of_which_only_some_are_single_are_shown():
    rows = preferences(LABELS)
    rows += [row | {"unit": "more"} for row in rows if row["instance"] == "i0"]
    assert len(section_of_report(rows).set_rows) == 7


def test_the_report_as_a_document_leaves_sets_of_one_rating_out_as_the_pages_do():
    rows = preferences(LABELS)
    assert not has_sets(rows)
    rows += [row | {"unit": f"{row['unit']}-second"} for row in rows]
    assert has_sets(rows)


def has_sets(rows: list[dict]) -> bool:
    (section,) = result_sections(report_of(rows))
    captions = [getattr(block, "caption", "") for block in section.blocks]
    return any(caption.startswith("Rating sets of annotators") for caption in captions)
