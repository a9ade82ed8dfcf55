"""Exports in the formats of benchmarks, and what these cannot carry."""

import json
from pathlib import Path
from typing import Any

import pytest
from django.core.management import call_command

from annotation.exports.study_export import export_study
from annotation.imports.study_import import import_study
from studies.models import Study
from tests.annotation.exports.test_study_export import lines, rated
from tiebreak.formats.readers import convert
from tiebreak.formats.writers import WRITERS

pytestmark = pytest.mark.django_db


def written(study: Study, out: Path, *formats: str) -> Path:
    export_study(study=study, out=out, formats=formats)
    return out


def left_out(folder: Path) -> dict[str, int]:
    about = json.loads((folder / "about.json").read_text())
    return {one["code"]: one["ratings"] for one in about["left_out"]}


def objects(path: Path) -> list[dict[str, Any]]:
    return json.loads(path.read_text())


@pytest.mark.parametrize("name", WRITERS)
def test_every_format_counts_each_rating_or_says_why_it_is_left_out(name, tmp_path):
    """The twenty counted ratings: fifteen of people, five of a machine without an order."""
    study = rated(tmp_path / "b")
    (export,) = export_study(study=study, out=tmp_path / "out", formats=[name]).benchmarks
    assert export.name == name
    carried = {
        "alpacaeval": {"annotations.json": 5, "human_annotations.json": 12},
        "alttest": {"preference-human.json": 15, "preference-llm.json": 5},
        "llmbar": {"dataset.json": 1},
        "lmarena": {"battles.jsonl": 15, "machine_battles.jsonl": 5},
        "mtbench": {"human_judgments.jsonl": 12},
        "pandalm": {"testset-v1.json": 4, "judge.json": 4},
    }
    assert export.files == carried[name]
    assert (
        left_out(tmp_path / "out" / name)
        == {
            "alpacaeval": {"both_bad": 3},
            "alttest": {},
            "llmbar": {"both_bad": 3, "tie": 3, "annotators_disagree": 10, "one_order": 1},
            "lmarena": {},
            "mtbench": {"both_bad": 3, "one_order": 5},
            "pandalm": {"both_bad": 3, "not_three_annotators": 1},
        }[name]
    )


def test_alpacaeval_has_people_and_machines_apart(tmp_path):
    out = written(rated(tmp_path / "b"), tmp_path / "out", "alpacaeval") / "alpacaeval"
    people = objects(out / "human_annotations.json")
    assert {row["annotator_index"] for row in people} == {0, 1, 2}
    of_u1 = [row["preference"] for row in people if row["unit"] == "u1"]
    assert of_u1 == [1.5, 1.5, 2.0]
    machine = objects(out / "annotations.json")[0]
    assert (machine["generator_2"], machine["preference"]) == ("new", 2.0)
    assert "annotator_index" not in machine


def test_a_late_rating_is_in_no_benchmark(tmp_path):
    out = written(rated(tmp_path / "b"), tmp_path / "out", "lmarena") / "lmarena"
    assert "late" not in {row["judge"] for row in lines(out / "battles.jsonl")}


def test_the_command_says_what_is_left_out(tmp_path, capsys):
    study = rated(tmp_path / "b")
    call_command("export_study", study.pk, out=tmp_path / "o", format="llmbar", json=True)
    told = json.loads(capsys.readouterr().out)["left_out"]["llmbar"]
    assert {one["code"]: one["ratings"] for one in told}["tie"] == 3


@pytest.mark.parametrize("name", ["alpacaeval", "lmarena", "pandalm", "mtbench", "alttest"])
def test_what_was_written_is_read_as_the_same_labels(name, tmp_path):
    study = rated(tmp_path / "b")
    out = written(study, tmp_path / "out", name) / name
    files = [path for path in sorted(out.iterdir()) if path.name != "about.json"]
    bundle = import_study(path=tmp_path / "b").study
    assert bundle.pk != study.pk
    read = {
        (row["unit"].removeprefix("preference/"), row["kind"]): set()
        for row in convert(name, files).ratings
    }
    for row in convert(name, files).ratings:
        label = row["label"]
        if row.get("system_a") == "new":  # readers order systems by name
            label = -label if isinstance(label, int) else label
        read[row["unit"].removeprefix("preference/"), row["kind"]].add(label)
    assert read["u0", "human"] == {-1, 1}
    assert read["u1", "human"] == {0, 1}
    assert name == "mtbench" or read["u2", "machine"] == {1}


def test_an_import_says_nothing_of_folders_of_benchmarks(tmp_path):
    out = written(rated(tmp_path / "b"), tmp_path / "out", "jsonl", *WRITERS)
    assert "files of the bundle" not in import_study(path=out).not_stored
