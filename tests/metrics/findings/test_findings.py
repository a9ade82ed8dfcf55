"""Findings state what the data of a situation support, and no more."""

import pytest

from tests.metrics.findings.case import Case
from tests.metrics.findings.cases import CASES


@pytest.mark.parametrize("case", CASES, ids=lambda case: case.situation.replace(" ", "_"))
def test_a_finding_says_what_the_data_support_and_no_more(case: Case):
    text = case.text()
    for stated in case.states:
        assert stated in text
    for claim in case.never:
        assert claim not in text


def test_what_must_not_be_stated_in_a_case_is_stated_in_another():
    stated = [text for case in CASES for text in case.states]
    unknown = {c for case in CASES for c in case.never if not any(c in text for text in stated)}
    assert not unknown


def test_situations_have_names_of_their_own():
    assert len({case.situation for case in CASES}) == len(CASES)
