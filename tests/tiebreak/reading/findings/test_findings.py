"""Findings state what the data of a situation support, and no more."""

from dataclasses import replace

import pytest

from tests.metrics.studies import preferences, report_of
from tests.tiebreak.reading.findings.agreement_cases import THESE_AGREE
from tests.tiebreak.reading.findings.case import HERE, SIMILAR_RATERS, Case
from tests.tiebreak.reading.findings.cases import CASES
from tests.tiebreak.reading.findings.situations import base
from tiebreak.digits import in_digits
from tiebreak.reading.charts.chart import NOTHING
from tiebreak.reading.document.estimates import estimate_table
from tiebreak.reading.figures.figure import Figure
from tiebreak.reading.findings import share_of
from tiebreak.reading.shown import number, section_of
from tiebreak.report.model.report import OPTIONAL_SECTIONS
from tiebreak.report.registry import part_title
from tiebreak.stats import Estimate


@pytest.mark.parametrize("case", CASES, ids=lambda case: case.situation.replace(" ", "_"))
def test_a_finding_says_what_the_data_support_and_no_more(case: Case):
    text = case.text()
    for stated in case.states:
        assert stated in text
    for claim in case.never:
        assert claim not in text


def test_what_these_annotators_show_is_not_generalized_to_others():
    texts = [case.text() for case in CASES]
    of_these = [text for text in texts if HERE in text or THESE_AGREE in text]
    assert len(of_these) > 5
    assert not [text for text in of_these if SIMILAR_RATERS in text]


def test_shares_are_of_items_that_could_have_shown_it():
    rows = preferences([[-1]] * 20 + [[-1, -1]] * 12 + [[-1, 1]] * 8)
    (about,) = report_of(rows).criteria.values()
    shares = {
        (s.stratifier, s.stratum): (s.n_units, share_of(s, about.strata)) for s in about.strata
    }
    assert shares["agreement", "PA=1"] == shares["unique_labels", "1"] == (12, "60%")
    assert shares["unique_labels", "2"] == (8, "40%")
    assert shares["agreement", "undefined"] == shares["unique_labels", "undefined"] == (20, "")
    assert {shares["all", "all"][1], shares["systems", "a vs b"][1]} == {"100%"}
    shown = {(row.n, row.share) for table in section_of("", about).tables for row in table.rows}
    assert {(12, "60%"), (8, "40%"), (20, ""), (40, "100%")} <= shown


@pytest.mark.parametrize("value", [0.12345, 12.345, 1003.276])
def test_a_number_has_the_same_digits_on_pages_in_figures_and_in_documents(value):
    one = Estimate(value, value - 0.01, value + 0.01, n=9)
    figure = Figure("f", "", "", NOTHING, ("value", "p_adjusted"), ((value, 0.0004),), "")
    ((in_figure, p),) = figure.cells
    in_document = estimate_table("", {"a": one}).rows[0][1]
    assert number(one).text == in_figure == in_document == in_digits(value)
    assert p == "< 0.001"


def test_no_part_is_called_by_its_key():
    assert not [name for name in OPTIONAL_SECTIONS if "_" in part_title(name)]
    problems = dict.fromkeys(OPTIONAL_SECTIONS, "")
    shown = section_of("", replace(base(), problems=problems)).problems
    assert [title for title, _ in shown] == [part_title(name) for name in OPTIONAL_SECTIONS]


def test_what_must_not_be_stated_in_a_case_is_stated_in_another():
    stated = [text for case in CASES for text in case.states]
    unknown = {c for case in CASES for c in case.never if not any(c in text for text in stated)}
    assert not unknown


def test_situations_have_names_of_their_own():
    assert len({case.situation for case in CASES}) == len(CASES)
