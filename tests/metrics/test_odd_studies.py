"""Every valid study has a report, and a section that fails does not affect the others."""

import logging
import random
from dataclasses import replace

import numpy as np
import pytest

from tests.metrics.studies import checked, odd_study, preferences, report_of, words
from tests.tiebreak.report.small_study import small_report
from tiebreak.errors import InvalidInput
from tiebreak.formats import RatingTable
from tiebreak.reading.messages import WITHOUT_PREFERENCE
from tiebreak.report import build, build_report
from tiebreak.report.registry import SECTIONS
from tiebreak.report.sections.planning.selection import NO_PROBABILITY


@pytest.mark.thorough
@pytest.mark.parametrize("block", range(4))
def test_every_odd_study_has_a_whole_report(block):
    for seed in range(block * 25, block * 25 + 25):
        rows, scales = odd_study(random.Random(seed))
        report = checked(report_of(rows, scales=scales))
        assert [section.problems for section in report.criteria.values()] in ([{}], []), seed
        assert report.criteria or report.problems or not rows, seed


def test_a_report_with_every_section_follows_the_schema():
    assert checked(small_report()).criteria


def test_an_instance_with_two_bad_texts_is_left_out_of_the_selection_and_counted():
    labels = [["bad", "bad"], *[[-1, 1]] * 12, *[[-1, -1]] * 12]
    rows = preferences(labels, inclusion_probability=0.5)
    for row in rows:
        row["phase"] = "control" if int(row["instance"][1:]) % 2 else "design"
    report = report_of(rows)
    pair = report.criteria["preference"].selection["a vs b"]
    assert (pair.instances, pair.without_preference) == (24, 1)
    assert pair.win_rate.value == pytest.approx(0.75)
    assert WITHOUT_PREFERENCE.format(instances="1 instance") in words(report)


def test_a_pair_with_bad_texts_only_has_no_rate_but_a_reason():
    rows = preferences([["bad"]] * 3, phase="control", inclusion_probability=0.5)
    pair = report_of(rows).criteria["preference"].selection["a vs b"]
    assert not pair.win_rate.is_defined
    assert pair.win_rate.reason


def test_without_inclusion_probabilities_only_the_weighted_rates_are_missing():
    rows = preferences([[-1, 1]] * 20, phase="design", inclusion_probability=0.5)
    table = RatingTable.from_rows(
        rows
    )  # a file must have the probabilities, but a table could lack them
    table["inclusion_probability"][:] = np.nan
    section = build_report(table, replicates=20).criteria["preference"]
    rate = section.selection["a vs b"].win_rate
    assert not rate.is_defined
    assert rate.reason == NO_PROBABILITY.format(missing=20, n=20)
    assert section.systems.win_rate["a"].value == 0.5


def test_a_criterion_without_any_label_is_undefined():
    rows = [
        {"unit": "u", "rater": "m", "kind": "machine", "label": None, "raw": "?", "criterion": "c"}
    ]
    section = report_of(rows, scales={"c": "ratio"}).criteria["c"]
    assert section.n_unparsed == 1
    assert section.all_units.human_human.krippendorff_alpha.reason == build.NO_LABEL
    report = report_of([*rows, *preferences([[1]])])
    assert "c" in report.problems
    assert list(report.criteria) == ["preference"]


@pytest.mark.sampled(2)
@pytest.mark.parametrize("name", ["strata", "raters", "systems", "selection", "bias"])
@pytest.mark.parametrize(
    "error",
    [InvalidInput("impossible", "It cannot be."), ValueError("odd"), ZeroDivisionError("by zero")],
)
def test_a_section_that_fails_leaves_the_others_and_is_logged(name, error, monkeypatch, caplog):
    def fail(*_: object, **__: object) -> None:
        raise error

    rows = preferences([[-1, 1, 1]] * 12)
    whole = report_of(rows).as_json()["criteria"]["preference"]
    monkeypatch.setitem(SECTIONS, name, replace(SECTIONS[name], make=fail))
    with caplog.at_level(logging.WARNING, logger="tiebreak.report.build"):
        report = report_of(rows)
    section = report.as_json()["criteria"]["preference"]
    assert list(section["problems"]) == [name]
    assert type(error).__name__ in caplog.text
    is_foreseen = isinstance(error, InvalidInput)
    assert (section["problems"][name] == str(error)) == is_foreseen
    others = {"strata", "raters", "systems", "selection", "bias", "rating_sets"} - {name}
    assert {part: section[part] for part in others} == {part: whole[part] for part in others}
    assert section["problems"][name] in words(report)
