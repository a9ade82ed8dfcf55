"""Probabilities of labels in a ratings file: read, refused with the line, and written again."""

import json

import pytest

from tests.refusals import refused, refused_file
from tiebreak.formats import RatingTable, read_ratings
from tiebreak.formats.rating_cells import label_probabilities
from tiebreak.scales import Scale

MACHINE = {"unit": "u", "rater": "judge", "kind": "machine", "label": 1}


def table_of(probabilities):
    return RatingTable.from_rows([MACHINE | {"probabilities": probabilities}])


@pytest.mark.parametrize("cell", ['{"-1": 0.25, "1": 0.75}', {"-1": 0.25, "1": 0.75}])
def test_text_and_objects_are_read(cell):
    assert json.loads(table_of(cell)["probabilities"][0]) == {"-1": 0.25, "1": 0.75}


@pytest.mark.parametrize("cell", ["", None])
def test_most_ratings_have_none(cell):
    assert table_of(cell)["probabilities"].tolist() == [""]


@pytest.mark.parametrize(
    "cell",
    [
        *("0.7", "[0.7, 0.3]", "{", '"a"', "{}", "true", 0.7, ["a"]),
        *('{"-1": 0.7}', '{"-1": 0.7, "1": 0.7}', '{"-1": -0.1, "1": 1.1}', '{"-1": "x", "1": 1}'),
        *('{"-1": null, "1": 1}', '{"-1": NaN, "1": 1}', '{"-1": 1, "-1": 1}', '{"1": Infinity}'),
    ],
)
def test_what_is_no_distribution_is_refused_by_line(cell):
    rows = [MACHINE | {"unit": "t"}, MACHINE | {"probabilities": cell}]
    with refused_file(("ratings", 2, "not_probabilities")):
        RatingTable.from_rows(rows)


def test_rounded_probabilities_are_read():
    shares = dict.fromkeys(["a", "b", "c"], 0.333)
    assert json.loads(table_of(json.dumps(shares))["probabilities"][0]) == shares


def test_labels_are_those_of_the_scale():
    scale = Scale.parse("preference:tie")
    assert label_probabilities('{"-1": 0.25, "1.0": 0.75}', scale) == {-1: 0.25, 1: 0.75}
    with refused("label_not_on_scale"):
        label_probabilities('{"5": 1.0}', scale)
    with refused("not_probabilities"):
        label_probabilities('{"1": 0.5, "1.0": 0.5}', scale)


@pytest.mark.parametrize("suffix", ["csv", "jsonl"])
def test_files_have_them_too(suffix, tmp_path):
    path = tmp_path / f"r.{suffix}"
    if suffix == "csv":
        path.write_text('unit,rater,label,kind,probabilities\nu,m,1,machine,"{""1"": 1.0}"\n')
    else:
        path.write_text(json.dumps(MACHINE | {"probabilities": {"1": 1.0}}))
    assert read_ratings(path)["probabilities"].tolist() == ['{"1": 1.0}']
