"""Files of the alternative annotator test, and the published results that come out of them."""

import csv
import json
from collections import defaultdict

import pytest

from tests.paths import GOLDEN, shared_path
from tests.refusals import refused_file
from tests.tiebreak.formats.readers.files import FOLDERS
from tiebreak.cli import main
from tiebreak.formats.readers import convert


def test_people_and_machines_are_told_apart_by_the_files_names():
    rows = convert("alttest", [FOLDERS["alttest"]]).ratings
    assert {(row["rater"], row["kind"]) for row in rows} == {
        ("ann", "human"),
        ("bea", "human"),
        ("judge", "machine"),
    }
    assert [row["label"] for row in rows if row["instance"] == "colours/grass"] == [
        "green",
        "blue",
        "green",
    ]


def test_a_dataset_is_a_criterion_whose_scale_has_the_labels_of_both():
    (criterion,) = convert("alttest", [FOLDERS["alttest"]]).spec.criteria
    assert (criterion.name, criterion.scale) == ("colours", "nominal:blue,green,none")


def test_a_file_must_say_whose_labels_it_has(tmp_path):
    path = tmp_path / "colours.json"
    path.write_text("{}")
    with refused_file(("colours.json", None, "unknown_name")):
        convert("alttest", [path])


def test_labels_are_listed_by_instance(tmp_path):
    path = tmp_path / "colours-human.json"
    path.write_text('{"ann": ["blue", "green"]}')
    with refused_file(("colours-human.json", None, "not_an_object")):
        convert("alttest", [path])


def golden():
    with (GOLDEN / "golden-alttest.csv").open(encoding="utf-8") as lines:
        by_dataset = defaultdict(list)
        for row in csv.DictReader(lines):
            by_dataset[row["dataset"], row["epsilon"]].append(row)
        return dict(by_dataset)


@pytest.mark.thorough
@pytest.mark.parametrize(("dataset", "epsilon"), [("wax", "0.1"), ("mtbench", "0.2")])
def test_analyze_gives_the_published_procedures_numbers(dataset, epsilon, tmp_path):
    ratings, report = tmp_path / "ratings.jsonl", tmp_path / "report.json"
    published = shared_path("data", "alttest")
    assert main(["convert", "alttest", str(published), "--out", str(ratings)]) == 0
    options = ["--epsilon", epsilon, "--replicates", "0", "--out", str(report)]
    assert main(["analyze", str(ratings), *options]) == 0
    tests = json.loads(report.read_text())["criteria"][dataset]["alternative_annotator_test"]
    rows = golden()[dataset, epsilon]
    assert {row["machine"] for row in rows} == set(tests)
    for row in rows:
        test = tests[row["machine"]]
        for name in ("winning_rate", "advantage_probability"):
            assert f"{test[name]:.4f}" == f"{float(row[name]):.4f}"
        assert test["annotators"] == int(row["annotators"])
        assert test["epsilon"] == float(epsilon)
        assert test["passes"] == (test["winning_rate"] >= 0.5)
        assert test["reason"] is None
