from tests.tiebreak.formats.readers.files import FOLDERS
from tiebreak.formats.readers import convert


def ratings():
    rows = convert("llmbar", [FOLDERS["llmbar"]]).ratings
    return {(row["unit"], row["rater"], row.get("order")): row for row in rows}


def test_the_known_answer_is_one_human_rating_a_unit():
    known = {key: row for key, row in ratings().items() if row["kind"] == "human"}
    assert {unit: row["label"] for (unit, _, _), row in known.items()} == {
        "Natural/0": -1,
        "Natural/1": 1,
        "Adversarial/Neighbor/0": -1,
    }
    assert {rater for _, rater, _ in known} == {"gold"}


def test_both_orders_of_a_judge_are_passes_of_one_rater():
    by_key = ratings()
    labels = [by_key["Natural/1", "judge-1", order]["label"] for order in ("ab", "ba")]
    assert labels == [-1, 1]
    assert {by_key[key]["kind"] for key in by_key if key[1] != "gold"} == {"machine"}


def test_what_a_judge_said_otherwise_is_kept_raw():
    by_key = ratings()
    other = by_key["Adversarial/Neighbor/0", "judge-1", "ba"]
    assert (other["label"], other["raw"]) == (None, "neither")
    nothing = by_key["Natural/0", "judge-2", "ab"]
    assert (nothing["label"], nothing["raw"]) == (None, "?")


def test_texts_belong_to_the_units_that_the_verdicts_name():
    converted = convert("llmbar", [FOLDERS["llmbar"]])
    texts = {
        (generation.instance, generation.system): generation.text
        for generation in converted.generations
    }
    assert texts["Natural/1", "output_1"] == "Good\nnight"
    assert texts["Adversarial/Neighbor/0", "output_2"] == "Steam rises."
    assert {instance.id for instance in converted.instances} == {
        row["unit"] for row in converted.ratings
    }


def test_verdicts_alone_name_their_instances():
    verdicts = FOLDERS["llmbar"] / "verdicts.csv"
    converted = convert("llmbar", [verdicts], ("x", "y"))
    assert [instance.id for instance in converted.instances] == [
        "Natural/0",
        "Natural/1",
        "Adversarial/Neighbor/0",
    ]
    assert converted.generations == []
    assert {(row["system_a"], row["system_b"]) for row in converted.ratings} == {("x", "y")}
