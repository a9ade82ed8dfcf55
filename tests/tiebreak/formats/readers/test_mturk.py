import csv

import pytest
from django.core.management import CommandError, call_command

from tests.paths import GOLDEN
from tests.refusals import places_of, refused
from tiebreak.formats import read_bundle, read_ratings
from tiebreak.formats.readers import READERS

COLUMNS = [
    "WorkerId",
    "Input.model1_summary1",
    "Input.model2_summary1",
    "Input.id1",
    "Answer.pref1",
]

BUTTONS = ("left", "right", "neither")


def batch(tmp_path, *rows, name="old_new_topic_pref_data.csv"):
    path = tmp_path / name
    with path.open("w", newline="") as file:
        writer = csv.writer(file)
        writer.writerow(COLUMNS)
        writer.writerows(rows)
    return path


def test_the_left_text_belongs_to_the_system_that_its_id_names(tmp_path):
    path = batch(tmp_path, ["1", "left", "right", "2", "-1"], ["2", "left", "right", "1", "1"])
    converted = READERS["mturk"]([path], None)
    first, second = converted.ratings
    assert converted.spec.systems == ("old", "new")
    assert (first["label"], first["side_a"]) == (1, "right")
    assert (second["label"], second["side_a"]) == (1, "left")
    texts = {(g.instance, g.system): g.text for g in converted.generations}
    assert texts[first["instance"], "new"] == "left"
    assert texts[second["instance"], "old"] == "left"
    assert first["instance"] != second["instance"]


@pytest.mark.parametrize(
    ("column", "answers", "is_criterion"),
    [
        ("worst", "BABAAB", False),
        ("worst", "BABAAA", True),  # who is sometimes said to be both
        ("worst", "CACAAC", True),  # of more than two
        ("worst", "BABAA ", False),
        ("worst", "BABAAB best AB BBA", True),
        ("worse", "BABAAB", True),
        ("english", "121212", False),  # each worker's own
        ("english", "121221", True),
        ("Native speaker", "111111", False),
        ("age", "787878", False),
        ("fluent", "121212", True),
    ],
)
def test_what_workers_are_and_the_worst_of_two_are_no_criteria(
    column, answers, is_criterion, tmp_path
):
    path = tmp_path / "batch.csv"
    answers, _, best = answers.partition(" best ")
    with path.open("w", newline="") as file:
        rows = csv.writer(file)
        rows.writerow(["HITId", "WorkerId", "Input.text", "Answer.best", f"Answer.{column}"])
        for k, pair in enumerate(zip(best or "ABABBA", answers, strict=True)):
            rows.writerow([f"h{k // 2}", f"w{k % 2}", f"text {k // 2}", *pair])
    converted = READERS["mturk"]([path], None)
    found = {criterion.name for criterion in converted.spec.criteria}
    assert found == {"best", *([column] if is_criterion else [])}
    assert is_criterion or any(column in what for what in converted.left_out)


def test_workers_who_rated_once_may_have_been_asked_about_the_text(tmp_path):
    path = tmp_path / "batch.csv"
    lines = [f"h{k},w{k},text {k},{1 + k % 3}" for k in range(6)]
    path.write_text("\n".join(["HITId,WorkerId,Input.text,Answer.english", *lines]))
    assert len(READERS["mturk"]([path], None).ratings) == 6


def test_workers_of_two_files_are_two_raters(tmp_path):
    one = batch(tmp_path, ["1", "a", "b", "1", "0"])
    two = batch(tmp_path, ["1", "c", "d", "1", "0"], name="old_other_topic.csv")
    converted = READERS["mturk"]([one, two], None)
    assert len({row["rater"] for row in converted.ratings}) == 2
    assert converted.spec.systems == ("old", "new", "other")


def test_systems_may_be_named_and_are_never_an_error(tmp_path):
    path = batch(tmp_path, ["1", "a", "b", "1", "0"], name="batch.csv")
    assert READERS["mturk"]([path], None).spec.systems == ("A", "B")
    assert READERS["mturk"]([path], ("x", "y")).spec.systems == ("x", "y")


@pytest.mark.parametrize(
    ("row", "code", "column"),
    [
        (["1", "a", "b", "3", "0"], "unknown_value", "Input.id1"),
        (["1", "a", "b", "1", "2"], "unknown_value", "Answer.pref1"),
        (["1", "", "b", "1", "0"], "column_missing", "Input.model1_summary1"),
    ],
)
def test_a_bad_row_is_named(row, code, column, tmp_path):
    path = batch(tmp_path, row)
    with pytest.raises(CommandError) as refusal:
        call_command("convert", "mturk", str(path), "--out", str(tmp_path / "out"))
    assert places_of(refusal.value) == [(path.name, 2, code)]
    assert column in str(refusal.value)
    assert not (tmp_path / "out").exists()


def test_the_published_batches_become_a_bundle(tmp_path):
    files = sorted((GOLDEN / "separability").glob("*.csv"))
    call_command("convert", "mturk", *map(str, files), "--out", str(tmp_path / "out"), verbosity=0)
    bundle = read_bundle(tmp_path / "out")
    assert len(bundle.instances) == 100
    assert len(bundle.ratings) == 1500
    assert bundle.spec.settings == {"ratings_per_hit": 3, "comparisons_per_hit": 5}
    duplicates = {}
    for category in {instance.category for instance in bundle.instances}:
        ids = {i.id for i in bundle.instances if i.category == category}
        texts = [(g.instance, g.system, g.text) for g in bundle.generations if g.instance in ids]
        duplicates[category] = len(texts) - len(set(texts))
    assert sorted(duplicates.values()) == [40, 97]


def test_an_out_folder_with_files_is_not_touched(tmp_path):
    path = batch(tmp_path, ["1", "a", "b", "1", "0"])
    with refused("not_empty", CommandError):
        call_command("convert", "mturk", str(path), "--out", str(tmp_path))


def test_pandalm_keeps_what_a_machine_said_otherwise(tmp_path):
    folder = GOLDEN / "pandalm"
    call_command("convert", "pandalm", str(folder), "--out", str(tmp_path / "r.csv"), verbosity=0)
    table = read_ratings(tmp_path / "r.csv")
    unparsed = [label is None for label in table["label"]]
    assert sum(unparsed) == 25
    assert set(table["raw"][unparsed]) == {"garbage"}
    assert set(table["rater"][table["kind"] == "machine"]) == {"gpt-3.5-turbo", "pandalm-7b"}


def test_pandalms_comparisons_share_their_inputs(tmp_path):
    folder = GOLDEN / "pandalm"
    call_command("convert", "pandalm", str(folder), "--out", str(tmp_path / "b"), verbosity=0)
    bundle = read_bundle(tmp_path / "b")
    assert len(set(bundle.ratings["unit"])) == 999
    assert len(bundle.instances) == len(set(bundle.ratings["instance"])) == 170


@pytest.mark.parametrize(
    ("marks", "criteria"),
    [
        (["100", "010", "001", "100"], {"better": {"left", "right", "neither"}}),
        (["100", "000", "010", "100"], {"better": {"left", "right"}}),  # one chose nothing
        (["100", "110", "001", "100"], {f"better: {way}": {"yes", "no"} for way in BUTTONS}),
    ],
)
def test_buttons_with_a_column_each_are_one_question(marks, criteria, tmp_path):
    path = tmp_path / "batch.csv"
    answers = [f"Answer.better.{way}" for way in BUTTONS]
    with path.open("w", newline="") as file:
        rows = csv.writer(file)
        rows.writerow(["HITId", "WorkerId", "Input.text", *answers])
        for k, of_row in enumerate(marks):
            buttons = ["true" if mark == "1" else "false" for mark in of_row]
            rows.writerow([f"h{k // 2}", f"w{k % 2}", f"text {k // 2}", *buttons])
    converted = READERS["mturk"]([path], None)
    given = {}
    for row in converted.ratings:
        given.setdefault(row["criterion"], set()).add(row["label"])
    assert given == criteria
    assert converted.left_out.get("empty answers of better", 0) == marks.count("000")
