"""Differences of two systems in the report, with the margins, and as a figure."""

import random
import re
from dataclasses import replace

import pytest

from tests.metrics.studies import checked, preferences, report_of
from tests.tiebreak.reading.findings.situations import watched
from tiebreak.reading.document.results import result_sections
from tiebreak.reading.figures.of_report import figures_of
from tiebreak.reading.figures.systems.differences import TITLE, differences_figure
from tiebreak.reading.messages import NO_FINDING_YET, NO_SYSTEMS, WITH_THESE

RNG = random.Random(3)
TWO = preferences([[RNG.choice([-1, 0, 0, 1]) for _ in range(4)] for _ in range(60)])
THIRD = [
    row | {"unit": f"c{row['unit']}", "instance": f"c{row['instance']}", "system_b": "c"}
    for row in TWO
]


def of(rows: list[dict]):
    (section,) = checked(report_of(rows)).criteria.values()
    return section


@pytest.mark.parametrize("rows", [TWO, [*TWO, *THIRD]])
def test_each_pair_has_its_difference_from_the_intervals_that_hold_at_once(rows):
    systems = of(rows).systems
    assert set(systems.differences) == set(systems.pairs)
    for name, found in systems.differences.items():
        rate = systems.simultaneous.pairs[name]
        low, high = 2 * rate.low - 1, 2 * rate.high - 1
        assert (found.difference.low, found.difference.high) == pytest.approx((low, high))
        assert found.equivalent_within == pytest.approx(max(-low, high))
        assert found.first_not_worse_by == pytest.approx(max(-low, 0))
        assert found.second_not_worse_by == pytest.approx(max(high, 0))


def test_the_sentence_never_says_less_than_the_margins():
    section = of(TWO)
    ((name, found),) = section.systems.differences.items()
    found = replace(found, equivalent_within=0.114, first_not_worse_by=0, second_not_worse_by=0.07)
    systems = replace(section.systems, differences={name: found})
    sentence = differences_figure(replace(section, systems=systems)).sentence
    assert re.findall(r"\d\.\d\d", sentence) == ["0.12", "0.00", "0.07"]


def test_two_annotators_are_not_spoken_of_as_all():
    two = [row for row in TWO if row["rater"] in {"r0", "r1"}]
    assert differences_figure(of(two)).sentence.startswith(WITH_THESE)
    assert not differences_figure(of(TWO)).sentence.startswith(WITH_THESE)


def test_nothing_is_found_while_the_study_runs():
    (figure,) = [f for f in figures_of(watched(of(TWO))) if f.name == "differences"]
    assert (figure.finding, figure.sentence) == (TITLE, NO_FINDING_YET)


def test_files_and_documents_have_the_margins():
    report = report_of([*TWO, *THIRD])
    (section,) = report.criteria.values()
    figure = differences_figure(section)
    assert figure.columns[-3:] == ("equivalent_within", "first_not_worse_by", "second_not_worse_by")
    assert len(figure.rows) == 2
    (results,) = result_sections(report)
    captions = [getattr(block, "caption", "") for block in results.blocks]
    assert any("margins" in caption for caption in captions)


def test_without_systems_or_an_interval_there_is_a_reason():
    scores = [{"unit": f"u{n}", "rater": "r", "label": n % 5, "criterion": "c"} for n in range(12)]
    assert differences_figure(of(scores)).sentence == NO_SYSTEMS
    few = of(preferences([[-1, 1]] * 3))
    (found,) = few.systems.differences.values()
    assert differences_figure(few).sentence == found.difference.reason
    assert differences_figure(few).rows[0][-1] is None
