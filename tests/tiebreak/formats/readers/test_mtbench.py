from tests.tiebreak.formats.readers.files import FOLDERS
from tiebreak.formats.readers import convert


def votes(unit):
    rows = convert("mtbench", [FOLDERS["mtbench"]]).ratings
    return [
        (row["rater"], row["label"], row["instance"], row["superseded"])
        for row in rows
        if row["unit"] == unit
    ]


def test_labels_are_turned_to_the_systems_alphabetical_order():
    assert votes("1/1/alder/birch")[:3] == [
        ("gpt-4", 1, "1", False),
        ("person-1", -1, "1", False),
        ("person-2", 1, "1", False),
    ]
    assert votes("2/1/birch/cedar")[1] == ("person-1", -1, "2", False)


def test_a_second_vote_of_one_judge_is_superseded():
    assert votes("1/1/alder/birch")[3] == ("person-1", 1, "1", True)


def test_an_inconsistent_tie_is_a_tie():
    assert votes("1/2/alder/birch") == [
        ("gpt-4", 0, "1", False),
        ("person-1", 0, "1", False),
    ]


def test_votes_do_not_say_which_answer_came_first():
    assert not any("side_a" in row for row in convert("mtbench", [FOLDERS["mtbench"]]).ratings)


def test_what_a_machine_said_otherwise_is_kept_raw():
    converted = convert("mtbench", [FOLDERS["mtbench"]])
    (row,) = (row for row in converted.ratings if row["label"] is None)
    assert (row["kind"], row["raw"]) == ("machine", "error")
    assert converted.spec.systems == ("alder", "birch", "cedar")
