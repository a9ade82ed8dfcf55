"""AlpacaEval, LMArena battles and Label Studio, in small files of their documented layouts."""

import json

import pytest

from tests.refusals import refused_file
from tests.tiebreak.formats.readers.files import MADE_UP
from tiebreak.formats import read_bundle
from tiebreak.formats.readers import convert

ANNOTATIONS = MADE_UP / "alpacaeval" / "annotations.json"
BATTLES = MADE_UP / "lmarena" / "battles.jsonl"
EXPORT = MADE_UP / "labelstudio" / "export.json"


def votes(converted):
    keys = ("instance", "rater", "label", "side_a", "superseded")
    return [tuple(row.get(key) for key in keys) for row in converted.ratings]


@pytest.mark.parametrize("name", ["alpacaeval", "labelstudio", "lmarena"])
def test_what_is_converted_is_a_valid_bundle(name, tmp_path):
    convert(name, sorted((MADE_UP / name).iterdir())).write(tmp_path / "b")
    bundle = read_bundle(tmp_path / "b")
    assert bundle.ratings is not None
    assert len(bundle.ratings) >= 3


def test_alpacaevals_preferences_are_turned_to_the_order_of_the_systems():
    converted = convert("alpacaeval", [ANNOTATIONS])
    assert votes(converted) == [
        ("1", "judge-x", -1, None, False),  # 1.9: the second output, by the first system
        ("2", "judge-x", 0, None, False),  # the file does not tell which output came first
        ("3", "judge-x", None, None, False),
        ("1", "judge-x", 1, None, True),
    ]
    shares = json.loads(converted.ratings[0]["probabilities"])
    assert shares == pytest.approx({"-1": 0.9, "1": 0.1})
    assert "probabilities" not in converted.ratings[1] | converted.ratings[3]
    assert converted.ratings[2]["raw"] == "I cannot say."
    assert {row["kind"] for row in converted.ratings} == {"machine"}


def test_alpacaevals_outputs_join_its_annotations_by_the_instruction():
    converted = convert("alpacaeval", sorted((MADE_UP / "alpacaeval").iterdir()))
    assert converted.spec.systems == ("alder-1", "birch-2", "cedar-3")
    assert {row.instance for row in converted.generations if row.system == "cedar-3"} == {"1", "2"}
    assert [row.category for row in converted.instances] == ["made-up"] * 3


def test_people_who_annotated_for_alpacaeval_are_people(tmp_path):
    path = tmp_path / "people.json"
    row = {"instruction": "Name a sea.", "output_1": "The Aral Sea.", "output_2": "The Red Sea."}
    rows = [row | {"annotator_index": 4, "preference": 1}, row | {"annotator_index": 5}]
    path.write_text(json.dumps(rows))
    converted = convert("alpacaeval", [path], ("alder", "birch"))
    (vote,) = converted.ratings
    assert (vote["rater"], vote["kind"], vote["label"]) == ("annotator 4", "human", -1)


def test_a_preference_that_is_no_number_is_named_with_its_row(tmp_path):
    path = tmp_path / "odd.json"
    rows = json.loads(ANNOTATIONS.read_text())
    rows[1]["preference"] = 7
    path.write_text(json.dumps(rows))
    with refused_file(("odd.json", 2, "unknown_value")):
        convert("alpacaeval", [path])


def test_battles_have_conversations_or_prompts():
    converted = convert("lmarena", sorted((MADE_UP / "lmarena").iterdir()))
    assert votes(converted) == [
        ("q1", "person-1", 1, "right", False),
        ("q2", "person-2", "bad", "left", False),
        ("30192", "voter-30192", -1, "right", False),
        ("53567", "voter-53567", 0, "left", False),
    ]
    texts = {(row.instance, row.system): row.text for row in converted.generations}
    assert texts["q1", "alder-1"] == "A fir tree."
    assert "Another." in texts["q2", "cedar-3"]
    assert texts["30192", "birch-2"] == "Como."
    assert [row.source for row in converted.instances] == [
        "Name a tree.",
        "Name a river.",
        "Name a lake.",
        "Name a sea.",
    ]


def test_a_battle_without_a_known_winner_is_named(tmp_path):
    path = tmp_path / "battles.jsonl"
    rows = [json.loads(line) for line in BATTLES.read_text().splitlines()]
    rows[1]["winner"] = "nobody"
    path.write_text("\n".join(map(json.dumps, rows)))
    with refused_file(("battles.jsonl", 2, "unknown_value")):
        convert("lmarena", [path])


def test_label_studios_annotations_are_votes():
    converted = convert("labelstudio", [EXPORT], ("alder", "birch"))
    assert votes(converted) == [
        ("1", "annotator 7", -1, "left", False),
        ("2", "annotator 8", 1, "left", False),
        ("2", "annotator 7", 0, None, False),  # by choices, whose order nobody knows
    ]
    assert converted.ratings[0]["duration_ms"] == 4200
    assert "somebody" not in str(converted)  # an e-mail address is nobody's rater id
    assert len(converted.generations) == 6  # the texts of a task that nobody annotated, too


def test_label_studios_tasks_need_two_texts(tmp_path):
    path = tmp_path / "one.json"
    path.write_text(json.dumps([{"id": 1, "data": {"text": "Only one text."}, "annotations": []}]))
    with refused_file(("one.json", 1, "not_a_pair")):
        convert("labelstudio", [path])


def choices(tmp_path, *chosen, **others):
    """Write an export with one annotation for each list of choices."""
    results = [[{"type": "choices", "from_name": "c", "value": {"choices": c}}] for c in chosen]
    annotations = [{"completed_by": k, "result": result} for k, result in enumerate(results)]
    task = {"id": 1, "data": {"answer1": "An oak is a tree.", "answer2": "A fir is a tree."}}
    path = tmp_path / "choices.json"
    path.write_text(json.dumps([task | {"annotations": annotations} | others]))
    return path


@pytest.mark.parametrize(
    ("words", "label"),
    [("B", 1), ("Answer A", -1), ("right is better", 1), ("response2", 1), ("It's a tie", 0)],
)
def test_label_studios_choices_are_votes(words, label, tmp_path):
    path = choices(tmp_path, [words], predictions=[{}])
    converted = convert("labelstudio", [path])
    assert [row["label"] for row in converted.ratings] == [label]
    assert converted.left_out == {"predictions of machines": 1}


@pytest.mark.parametrize("chosen", [["A > B"], ["B is worse"], ["Good"], ["A", "B"]])
def test_choices_that_are_no_votes_are_refused(chosen, tmp_path):
    with refused_file(("choices.json", None, "no_votes")):
        convert("labelstudio", [choices(tmp_path, ["A"], chosen)])


def test_an_object_is_no_text(tmp_path):
    battle = {"model_a": "x", "model_b": "y", "winner": "tie", "response_a": [{"score": 1}]}
    (tmp_path / "odd.json").write_text(json.dumps([battle]))
    with refused_file(("odd.json", 1, "not_a_text")):
        convert("lmarena", [tmp_path / "odd.json"])
