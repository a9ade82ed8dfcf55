"""The alternative annotator test in the report and its command."""

import json

import pytest

from tests.metrics.studies import report_of
from tests.refusals import refused
from tiebreak.cli import main
from tiebreak.report.model.report import CriterionSection, Report

LABELS = (1, 1, -1)


def judged(scale_labels=LABELS, units=36, shared=1):
    """Return ratings by three people and a judge that agrees with the first two."""
    return [
        {
            "unit": f"u{unit}",
            "instance": f"i{unit // shared}",
            "rater": rater,
            "label": label,
            "kind": "machine" if rater == "judge" else "human",
        }
        for unit in range(units)
        for rater, label in zip(("r0", "r1", "r2", "judge"), (*scale_labels, 1), strict=True)
    ]


def section_of(rows, **options) -> CriterionSection:
    return report_of(rows, replicates=0, **options).criteria["preference"]


def test_each_machine_has_a_test():
    test = section_of(judged()).alternative_annotator_test["judge"]
    assert (test.epsilon, test.score, test.annotators) == (0.1, "agreement", 3)
    assert (test.winning_rate, test.advantage_probability, test.passes) == (1, 1, True)


def test_ordered_labels_are_scored_by_their_distance():
    scales = {"preference": "preference:5"}
    test = section_of(judged((2, 1, 0)), scales=scales).alternative_annotator_test["judge"]
    assert test.score == "neg_rmse"
    # The label 1 is as far from 2 and 0 as r1's, and nearer to the others than r0's and r2's.
    assert test.advantage_probability == 1


def test_instances_and_not_units_count_where_units_share_them():
    test = section_of(judged(shared=2)).alternative_annotator_test["judge"]
    assert (test.annotators, test.left_out, test.passes) == (0, 3, None)
    assert test.reason


def test_a_study_without_a_machine_has_no_test():
    rows = [row for row in judged() if row["kind"] == "human"]
    assert section_of(rows).alternative_annotator_test is None


def test_the_report_writes_null_and_reads_it_back():
    report = report_of(judged(shared=2), replicates=0)
    written = report.as_json()["criteria"]["preference"]["alternative_annotator_test"]["judge"]
    assert {
        name: written[name] for name in ("winning_rate", "advantage_probability", "passes")
    } == {
        "winning_rate": None,
        "advantage_probability": None,
        "passes": None,
    }
    again = Report.from_json(json.loads(json.dumps(report.as_json())))
    assert again.as_json() == report.as_json()


@pytest.mark.parametrize("epsilon", ["1.5", "-0.1", "nan"])
def test_an_epsilon_that_is_no_probability_is_refused(epsilon, tmp_path, capsys):
    path, out = tmp_path / "ratings.csv", tmp_path / "report.json"
    path.write_text("unit,rater,label\nu,r,1\n")
    assert main(["analyze", str(path), "--out", str(out), "--epsilon", epsilon]) == 1
    assert "--epsilon" in capsys.readouterr().err
    assert not out.exists()


def test_the_library_refuses_it_too():
    with refused("out_of_range", naming="epsilon"):
        section_of(judged(), epsilon=2)
