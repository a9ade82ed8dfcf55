"""Published files that are read and written again, and what is written for odd ratings."""

import csv
import json
from collections import defaultdict
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import pytest

from tests.paths import shared_path
from tests.tiebreak.formats.readers.files import MADE_UP
from tiebreak.formats.readers import Converted, convert
from tiebreak.formats.writers import WRITERS, JudgedItem, Vote, WrittenFormat, write_format
from tiebreak.scales import Label, Scale


def items_of(converted: Converted) -> list[JudgedItem]:
    """Return what a reader read as items with their votes, in the order of the file."""
    texts = {(g.instance, g.system, g.sample_index): g.text for g in converted.generations}
    sources = {instance.id: instance.source for instance in converted.instances}
    categories = {instance.id: instance.category for instance in converted.instances}
    scales = {c.name: Scale.parse(c.scale) for c in converted.spec.criteria}
    rows: dict[tuple[str, str], list[dict[str, Any]]] = defaultdict(list)
    for row in converted.ratings:
        if not row.get("superseded"):
            rows[row["unit"], row["criterion"]].append(row)
    items = []
    for (_, criterion), some in rows.items():
        first = some[0]
        facts = {"source": sources[first["instance"]], "category": categories[first["instance"]]}
        for side in "ab":
            key = (first["instance"], first.get(f"system_{side}"), first.get(f"sample_{side}", 0))
            facts[f"text_{side}"] = texts.get(key, "a text")
        items.append(JudgedItem.of_rows([facts | row for row in some], scales[criterion]))
    return items


def written(name: str, paths: Sequence[Path], out: Path) -> WrittenFormat:
    return write_format(name, items_of(convert(name, paths)), out)


def without_additions(path: Path, *names: str) -> list[dict[str, Any]]:
    rows = json.loads(path.read_text())
    return [{k: v for k, v in row.items() if k not in names} for row in rows]


def test_pandalms_test_set_and_its_machines_stay_as_published(tmp_path):
    """An empty response, of which a study has no text, is written as one here."""
    files = sorted(shared_path("data", "pandalm").glob("*.json"))
    result = written("pandalm", files, tmp_path / "out")
    read = convert("pandalm", files)
    texts_known = [item for item in items_of(read) if item.text_a and item.text_b]
    published = json.loads(shared_path("data", "pandalm", "testset-v1.json").read_text())
    rows = without_additions(tmp_path / "out" / "testset-v1.json")
    assert len(rows) == len(published) == len(texts_known)
    for row, old in zip(rows, published, strict=True):
        assert row["cmp_key"] == old["cmp_key"]
        assert row["instruction"].startswith(old["instruction"])
        assert sorted(row[f"annotator{n}"] for n in (1, 2, 3)) == sorted(
            old[f"annotator{n}"] for n in (1, 2, 3)
        )
    assert result.left_out == []
    again = convert("pandalm", list((tmp_path / "out").iterdir()))
    labels = [{(r["unit"], r["rater"]): r["label"] for r in c.ratings} for c in (read, again)]
    assert labels[0] == labels[1]


def test_the_votes_of_mt_benchs_people_stay_as_published(tmp_path):
    path = shared_path("data", "mtbench", "human_votes_subset.csv")
    written("mtbench", [path], tmp_path / "out")
    lines = (tmp_path / "out" / "human_judgments.jsonl").read_text().splitlines()
    names = ("question_id", "model_a", "model_b", "turn", "judge", "winner")
    rows = {tuple(str(json.loads(line)[name]) for name in names) for line in lines}
    with path.open(newline="") as file:
        published = [tuple(row[name] for name in names) for row in csv.DictReader(file)]

    def sides(row):
        """Return a vote whatever its order, which the file of people does not tell."""
        return row[0], *sorted(row[1:3]), row[3], row[4]

    def won(row):
        return *sides(row), {"model_a": row[1], "model_b": row[2]}.get(row[5])

    # A judge who voted on the same pair again has its first vote in the statistics.
    assert set(map(won, rows)) <= set(map(won, published))
    assert set(map(sides, rows)) == set(map(sides, published))


@pytest.mark.parametrize("dataset", ["wax", "mtbench"])
def test_the_labels_of_the_alternative_annotator_test_stay_as_published(dataset, tmp_path):
    files = [shared_path("data", "alttest", f"{dataset}-{kind}.json") for kind in ("human", "llm")]
    written("alttest", files, tmp_path / "out")
    for path in files:
        new = json.loads((tmp_path / "out" / path.name).read_text())
        old = json.loads(path.read_text())
        assert {
            rater: {item.removeprefix(f"{dataset}/"): label for item, label in labels.items()}
            for rater, labels in new.items()
        } == old


def test_llmbars_texts_and_verdicts_stay_as_published(tmp_path):
    folder = shared_path("data", "llmbar")
    result = written("llmbar", [folder / "verdicts.csv", folder / "dataset_Natural.json"], tmp_path)
    rows = json.loads((tmp_path / "dataset.json").read_text())
    published = json.loads((folder / "dataset_Natural.json").read_text())
    by_unit = {row["unit"]: row for row in rows}
    for index, old in enumerate(published):
        new = by_unit[f"Natural/{index}"]
        assert {name: new[name] for name in old} == old
    (name,) = [file for file in result.files if "GPT-4" in file and file.endswith("result.json")][
        :1
    ]
    verdicts = {
        row["unit"]: row["results"][-1] for row in json.loads((tmp_path / name).read_text())
    }
    with (folder / "verdicts.csv").open(newline="") as file:
        for row in csv.DictReader(file):
            if row["judge"] == "GPT-4":
                both = verdicts[f"{row['subset']}/{row['idx']}"]
                assert both["swap = False"]["winner"] == row["verdict_noswap"]
                column = "verdict_swap_in_original_numbering"
                assert both["swap = True"]["winner"] == row[column]


@pytest.mark.parametrize("name", ["alpacaeval", "lmarena"])
def test_made_up_files_are_the_same_after_reading_and_writing(name, tmp_path):
    files = sorted((MADE_UP / name).iterdir())
    read = convert(name, files)
    write_format(name, items_of(read), tmp_path / "out")
    again = convert(name, sorted((tmp_path / "out").iterdir()))

    def labels(converted: Converted) -> set[tuple[Any, ...]]:
        kept = [row for row in converted.ratings if not row["superseded"]]
        return {(r["unit"], r["rater"], r["kind"], r["label"], r.get("side_a")) for r in kept}

    assert labels(again) == labels(read)


PAIR = {"unit": "u", "criterion": "better", "instance": "q/2", "category": "", "source": "Why?"}
SIDES = {"system_a": "alder", "system_b": "birch", "text_a": "So.", "text_b": "Because."}


def item(scale: str, *votes: Vote, **facts: str) -> JudgedItem:
    return JudgedItem(**(PAIR | SIDES | facts), scale=Scale.parse(scale), votes=votes)


def machine(label: Label | None, order: str, **facts: Any) -> Vote:
    return Vote("judge", True, label, order=order, **facts)


def reasons(result: WrittenFormat) -> dict[object, object]:
    return {one["code"]: one["ratings"] for one in result.left_out}


def test_two_passes_of_a_machine_are_two_games(tmp_path):
    votes = (machine(1, "ab"), machine(None, "ba", raw="Hm."), machine(0, "ab", run="2"))
    result = write_format("mtbench", [item("preference:tie", *votes)], tmp_path)
    assert reasons(result) == {"one_order": 1}
    (row,) = [json.loads(line) for line in (tmp_path / "judge_pair.jsonl").read_text().splitlines()]
    assert (row["g1_winner"], row["g2_winner"], row["question_id"]) == ("model_2", "error", "q")
    assert (row["turn"], row["judge"]) == (2, ["judge", "better"])
    ab, ba = convert("mtbench", [tmp_path / "judge_pair.jsonl"]).ratings
    assert (ab["order"], ab["label"], ab["side_a"]) == ("ab", 1, "left")
    assert (ba["order"], ba["label"], ba["raw"]) == ("ba", None, "Hm.")


def test_scores_of_single_texts_are_read_as_written(tmp_path):
    single = {"system_b": "", "text_b": ""}
    votes = (machine(8, ""), Vote("ann", False, 3), machine(None, "", run="2", raw="Good."))
    result = write_format("mtbench", [item("interval:1..10", *votes, **single)], tmp_path)
    assert reasons(result) == {"person_on_one_text": 1}
    first, second = convert("mtbench", [tmp_path / "judge_single.jsonl"]).ratings
    assert (first["label"], first["criterion"], first["instance"]) == (8, "score", "q")
    assert first["unit"] == "u"
    assert (second["label"], second["raw"], second["run"]) == (None, "Good.", "2")


def test_a_weighted_preference_stays_one(tmp_path):
    vote = machine(1, "ba", probability_b=0.75)
    write_format("alpacaeval", [item("preference:tie", vote)], tmp_path)
    (row,) = json.loads((tmp_path / "annotations.json").read_text())
    assert (row["preference"], row["first_shown"]) == (1.75, "birch")
    (read,) = convert("alpacaeval", [tmp_path / "annotations.json"]).ratings
    assert (read["probabilities"], read["order"]) == ('{"-1": 0.25, "1": 0.75}', "ba")


@pytest.mark.parametrize(
    ("name", "scale", "votes", "reason"),
    [
        ("alpacaeval", "preference:5", [machine(2, "ab")], "graded"),
        ("alpacaeval", "ordinal:1..5", [machine(2, "ab")], "not_a_comparison"),
        ("lmarena", "preference:tie", [machine(None, "ab", raw="?")], "unreadable"),
        ("mtbench", "preference:tie+bad", [machine("bad", "ab")], "both_bad"),
        ("alttest", "preference", [machine(1, "ab"), machine(1, "ba")], "further_pass"),
        ("llmbar", "preference:tie", [machine(0, "ab")], "tie"),
        ("pandalm", "preference", [Vote("ann", False, 1)], "not_three_annotators"),
    ],
)
def test_what_a_format_cannot_carry_is_counted(name, scale, votes, reason, tmp_path):
    assert reasons(write_format(name, [item(scale, *votes)], tmp_path)) == {reason: 1}


def test_llmbar_has_two_systems_and_no_third(tmp_path):
    vote = Vote("ann", False, -1)
    items = [item("preference", vote), item("preference", vote, unit="v", system_b="cedar")]
    result = write_format("llmbar", items, tmp_path)
    assert (reasons(result), result.files) == ({"other_systems": 1}, {"dataset.json": 1})


def test_pandalm_cannot_join_a_name_that_has_an_underscore(tmp_path):
    votes = [Vote(name, False, 1) for name in ("ann", "ben", "cleo")]
    result = write_format("pandalm", [item("preference", *votes, system_a="a_b")], tmp_path)
    assert reasons(result) == {"underscore": 3}


def test_raters_whose_names_look_alike_have_files_of_their_own(tmp_path):
    names = ("gpt/4", "gpt:4", "GPT 4", "..", "評")
    votes = [Vote(n, True, 1, order=order) for n in names for order in ("ab", "ba")]
    result = write_format("mtbench", [item("preference", *votes)], tmp_path / "out")
    assert len(result.files) == len({name.lower() for name in result.files}) == len(names)
    assert {path.name for path in (tmp_path / "out").iterdir()} == set(result.files)
    read = {
        row["rater"]
        for path in (tmp_path / "out").iterdir()
        for row in convert("mtbench", [path]).ratings
    }
    assert read == set(names)


@pytest.mark.parametrize("name", WRITERS)
def test_answers_without_a_label_are_left_out_of_every_format(name, tmp_path):
    people = [Vote(f"r{n}", False, -1, side_a="left") for n in range(3)]
    facts = {"kind": "human", "label": None, "nonresponse": "broken"}
    row = PAIR | SIDES | {"unit": "u", "criterion": "c", "rater": "r3"} | facts
    (unlabelled,) = JudgedItem.of_rows([row], Scale.parse("preference")).votes
    items = [item("preference", *people, *more) for more in ((), (unlabelled,))]
    without, with_it = (
        write_format(name, [one, *rest], tmp_path / str(n))
        for n, (one, rest) in enumerate(
            [(items[0], []), (items[1], [item("preference", unlabelled, unit="v")])]
        )
    )
    assert with_it.files == without.files
    assert reasons(with_it) == reasons(without) | {"nonresponse": 2}
