"""What an export contains, as the programs of others read it."""

import csv
import json
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

import mlcroissant
import pytest
from django.core.management import CommandError, call_command

from annotation.exports import ratings as exported_ratings
from annotation.exports.study_export import export_study
from annotation.imports.study_import import import_study
from annotation.models import Rating
from annotation.services.planning import draw_and_plan, plan_hits
from recruitment.services.participants import exclude_participant
from studies.instance_selection.scoring import score_separability
from studies.models import InstanceSelection, SeparabilityScore, Study
from tests.annotation.annotators import annotator
from tests.annotation.datasets import loaded_dataset
from tests.refusals import refused
from tests.studies.factories import make_open_study, make_study
from tests.tiebreak.formats.bundles import make_bundle
from tiebreak.formats.errors import Problems
from tiebreak.formats.rows import read_rows
from tiebreak.formats.tables import TableProblems, open_table
from tiebreak.scales import Scale

pytestmark = [pytest.mark.django_db, pytest.mark.both_databases]
# A people's vote on each of the units of `rated`: A, a tie, B twice, both bad.
VOTES = {"u0": [-1, -1, 1], "u1": [0, 0, 1], "u2": [1, 1, 1], "u3": [1, -1, 0], "u4": ["bad"] * 3}


def rated(folder: Path, *, conversation: bool = False) -> Study:
    """Import five comparisons that three people and a machine rated."""
    folder.mkdir()
    (folder / "study.toml").write_text(
        'title = "Answers"\nsystems = ["old", "new"]\nratings_per_hit = 3\n[[criteria]]\n'
        'name = "preference"\nscale = "preference:tie+bad"\nquestion = "Which?"\n'
    )
    turns = [{"role": "system", "content": "Be brief."}, {"role": "user", "content": "Why?"}]
    instances = [{"id": key, "source": f"Question {key}?", "category": "why"} for key in VOTES]
    if conversation:
        instances[0]["messages"] = turns
    generations = [
        {"instance": key, "system": system, "sample_index": 0, "text": f"{system} on {key}"}
        for key in VOTES
        for system in ("old", "new")
    ]
    ratings = [
        {"unit": key, "rater": f"r{i}", "label": label, "kind": "human"}
        for key, labels in VOTES.items()
        for i, label in enumerate(labels)
    ]
    ratings += [{"unit": key, "rater": "judge", "label": 1, "kind": "machine"} for key in VOTES]
    ratings += [{"unit": "u0", "rater": "late", "label": 1, "kind": "human", "late": True}]
    pair = {"system_a": "old", "system_b": "new", "sample_index": 0}
    ratings = [{**row, **pair, "instance": row["unit"]} for row in ratings]
    for name, rows in (
        ("instances", instances),
        ("generations", generations),
        ("ratings", ratings),
    ):
        (folder / f"{name}.jsonl").write_text("".join(json.dumps(row) + "\n" for row in rows))
    return import_study(path=folder).study


def lines(path: Path) -> list[dict[str, Any]]:
    return [json.loads(line) for line in path.read_text(encoding="utf-8").splitlines()]


def test_a_preference_row_has_the_majority_of_people_and_their_votes(tmp_path):
    study = rated(tmp_path / "b")
    export_study(study=study, out=tmp_path / "out", formats=["preference"])
    first, second = lines(tmp_path / "out" / "preference.jsonl")
    assert (first["prompt"], first["chosen"], first["rejected"]) == (
        "Question u0?",
        "old on u0",
        "new on u0",
    )
    # Neither the machine's rating nor the late one counts.
    assert (first["votes_chosen"], first["votes_rejected"], first["votes_tie"]) == (2, 1, 0)
    assert (second["unit"], second["chosen_system"]) == ("u2", "new")


@pytest.mark.parametrize(
    ("ties", "units"),
    [
        ("drop", ["u0", "u2"]),
        ("half", ["u0", "u1", "u2", "u3"]),
        ("both", ["u0", "u1", "u1", "u2", "u3", "u3"]),
    ],
)
def test_ties_are_written_as_asked(ties, units, tmp_path):
    study = rated(tmp_path / "b")
    call_command(
        *("export_study", study.pk, "--out", str(tmp_path / "out")),
        *("--format", "preference", "--ties", ties),
    )
    rows = lines(tmp_path / "out" / "preference.jsonl")
    assert [row["unit"] for row in rows] == units
    assert {row["unit"] for row in rows if row["is_tie"]} == set(units) - {"u0", "u2"}
    twice = [row["chosen"] for row in rows if row["unit"] == "u1"]
    assert len(set(twice)) == len(twice)


def test_preferences_can_be_chosen_by_separability(tmp_path):
    study = rated(tmp_path / "b")
    scored = study.units.get(key="u0")
    study.units.filter(pk=scored.pk).update(separability_raw=0.25, separability=0.5)
    export_study(study=study, out=tmp_path / "out", formats=["preference", "hf"])
    rows = lines(tmp_path / "out" / "preference.jsonl")
    expected = {"u0": (0.25, 0.5), "u2": (None, None)}
    for found in (rows, loaded_dataset(tmp_path / "out" / "hf", "preference")):
        assert expected == {
            row["unit"]: (row.get("separability_raw"), row.get("separability")) for row in found
        }


def test_one_conversation_makes_all_prompts_conversations(tmp_path):
    study = rated(tmp_path / "b", conversation=True)
    export_study(study=study, out=tmp_path / "out", formats=["preference", "hf"])
    first, second = lines(tmp_path / "out" / "preference.jsonl")
    assert [turn["role"] for turn in first["prompt"]] == ["system", "user"]
    assert second["prompt"] == [{"role": "user", "content": "Question u2?"}]
    assert first["chosen"] == [{"role": "assistant", "content": "old on u0"}]
    parquet = loaded_dataset(tmp_path / "out" / "hf", "preference")
    assert parquet[0]["prompt"] == first["prompt"]


def test_preferences_need_preferences(tmp_path):
    without_ratings = make_study(instances=1)
    with refused("no_preferences"):
        export_study(study=without_ratings, out=tmp_path / "out", formats=["jsonl", "preference"])
    assert not (tmp_path / "out").exists()
    with refused("unknown_ties"):
        export_study(study=without_ratings, out=tmp_path / "out", ties="split")
    with pytest.raises(CommandError):
        call_command(
            "export_study", without_ratings.pk, "--out", str(tmp_path / "o"), "--ties", "split"
        )


def test_the_hugging_face_folder_is_loaded_by_datasets(tmp_path):
    study = rated(tmp_path / "b")
    score_separability(study=study)
    export_study(study=study, out=tmp_path / "out", formats=["hf"])
    folder = tmp_path / "out" / "hf"
    ratings = loaded_dataset(folder)
    assert ratings.num_rows == Rating.objects.count()
    assert set(ratings.unique("kind")) == {"human", "machine"}
    sizes = {"preference": 2, "instances": 5, "generations": 10, "design": 5}
    assert {name: loaded_dataset(folder, name).num_rows for name in sizes} == sizes
    # A table without rows is left out, because its columns would have no types.
    assert not (folder / "data" / "reference_answers.parquet").exists()


def test_the_croissant_file_is_valid_and_describes_this_study(tmp_path):
    study = rated(tmp_path / "b")
    export_study(study=study, out=tmp_path / "out", formats=["hf"])
    dataset = mlcroissant.Dataset(jsonld=str(tmp_path / "out" / "hf" / "croissant.json"))
    issues = dataset.metadata.ctx.issues
    assert not issues.errors
    # Only the researchers know these.
    named = {warning.rpartition("/")[2].partition('"')[0] for warning in issues.warnings}
    assert named == {"citeAs", "datePublished", "license", "version"}
    rows = list(dataset.records("preference"))
    assert [row["preference/unit"] for row in rows] == [b"u0", b"u2"]
    about = json.loads((tmp_path / "out" / "hf" / "croissant.json").read_text())
    assert about["rai:machineAnnotationTools"] == ["judge"]
    assert about["rai:annotationsPerItem"] == "3"
    assert "Unknown" in about["rai:annotatorDemographics"]
    assert len(about["rai:dataCollectionTimeframe"]) == 2
    assert about["conformsTo"][1] == "http://mlcommons.org/croissant/RAI/1.0"


def test_the_delta_table_has_raw_and_normalised_values_of_every_similarity(tmp_path):
    study = make_open_study(instances=3)
    for similarity in ("rouge1", "bleu"):
        score_separability(study=study, similarity_name=similarity)
    export_study(study=study, out=tmp_path / "out", formats=["jsonl", "csv", "parquet"])
    rows = lines(tmp_path / "out" / "separability.jsonl")
    assert [(row["similarity"], row["instance"]) for row in rows] == [
        (similarity, f"note-{i}") for similarity in ("bleu", "rouge1") for i in range(3)
    ]
    for row in rows:
        score = SeparabilityScore.objects.get(
            instance__key=row["instance"], similarity=row["similarity"]
        )
        assert row["separability_raw"] == score.delta
        assert (row["scope_instances"], row["samples_a"]) == (3, score.samples_a)
    ours = [row for row in rows if row["similarity"] == "rouge1"]
    alignments = [row[f"{kind}_alignment{side}"] for row in ours for kind, side in KINDS]
    low, high = min(alignments), max(alignments)
    for row in ours:
        a, b, cross = ((row[f"{k}_alignment{s}"] - low) / (high - low) for k, s in KINDS)
        assert row["separability"] == pytest.approx(max(a, b) - cross)
    with (tmp_path / "out" / "separability.csv").open(encoding="utf-8-sig") as file:
        assert [float(row["separability_raw"]) for row in csv.DictReader(file)] == [
            row["separability_raw"] for row in rows
        ]


KINDS = (("self", "_a"), ("self", "_b"), ("cross", ""))


def test_imported_deltas_without_scores_are_in_the_table_with_an_unknown_scope(tmp_path):
    study = make_open_study(instances=2)
    study.units.update(separability_raw=0.25, separability=0.5, similarity="elsewhere")
    export_study(study=study, out=tmp_path / "out")
    rows = lines(tmp_path / "out" / "separability.jsonl")
    assert [(row["instance"], row["separability_raw"], row["separability"]) for row in rows] == [
        ("note-0", 0.25, 0.5),
        ("note-1", 0.25, 0.5),
    ]
    assert not any("scope_instances" in row for row in rows)


def test_the_design_has_every_unit_with_its_hit_and_probability(tmp_path):
    study = make_study(instances=10, comparisons_per_hit=2, repeats_per_hit=1, repeat_distance=1)
    score_separability(study=study)
    draw_and_plan(
        study=study, design=InstanceSelection(instances=4, design="proportional", weights="floored")
    )
    export_study(study=study, out=tmp_path / "out")
    rows = lines(tmp_path / "out" / "design.jsonl")
    assert len(rows) == study.units.count() == 8
    assert {row["hit"] for row in rows} == {1, 2, 3, 4}
    assert sum(row["repeats"] for row in rows) == 4
    for row in rows:
        unit = study.units.get(key=row["unit"])
        assert row["inclusion_probability"] == unit.inclusion_probability
        assert row["phase"] in ("control", "design")
    assert "4 instances for each pair" in (tmp_path / "out" / "codebook.md").read_text()


def test_reference_answers_are_in_system_order_with_their_explanations(tmp_path):
    study = make_study(instances=2, comparisons_per_hit=1)
    plan_hits(study=study)
    unit = study.units.first()
    unit.role, unit.known_labels, unit.explanation = "gold", {"preference": "-1"}, "A is right."
    unit.save()
    export_study(study=study, out=tmp_path / "out", formats=["jsonl", "csv"])
    assert lines(tmp_path / "out" / "reference_answers.jsonl") == [
        {
            "unit": unit.key,
            "role": "gold",
            "criterion": "preference",
            "expected": -1,
            "explanation": "A is right.",
            "instance": unit.instance.key,
            "system_a": "system-0",
            "system_b": "system-1",
            "sample_a": unit.text_a.sample,
            "sample_b": unit.text_b.sample,
        }
    ]


FORMATS = ["jsonl", "csv", "parquet", "preference", "hf"]


def contents(folder: Path) -> dict[str, bytes]:
    return {
        path.relative_to(folder).as_posix(): path.read_bytes()
        for path in folder.rglob("*")
        if path.is_file()
    }


@pytest.mark.parametrize("name", ["jsonl", "csv", "parquet"])
def test_ratings_with_texts_name_the_winner_in_every_format(name, tmp_path):
    study = rated(tmp_path / "b", conversation=True)
    export_study(study=study, out=tmp_path / "out", formats=[name], with_texts=True)
    rows = [row for _, row in read_rows(tmp_path / "out" / f"ratings.{name}", Problems())]
    won = {(row["unit"], row["rater"]): row["winner"] for row in rows}
    assert [won["u0", f"r{i}"] for i in range(3)] == ["old", "old", "new"]
    assert (won["u1", "r0"], won["u4", "r0"]) == ("tie", "bad")
    assert {row["text_b"] for row in rows if row["unit"] == "u2"} == {"new on u2"}
    assert {row["source"] for row in rows if row["unit"] == "u1"} == {"Question u1?"}
    codebook = (tmp_path / "out" / "codebook.md").read_text()
    assert "| winner |" in codebook


def test_a_workbook_has_the_same_ratings(tmp_path):
    study = rated(tmp_path / "b")
    export_study(study=study, out=tmp_path / "out", formats=["jsonl", "xlsx"], with_texts=True)
    with open_table(tmp_path / "out" / "ratings.xlsx") as table:
        rows = [row for _, row in table.rows(TableProblems())]
    told = [{k: v for k, v in row.items() if v is not None or k == "label"} for row in rows]
    plain = lines(tmp_path / "out" / "ratings.jsonl")
    assert told == [{k: v for k, v in row.items() if v != ""} for row in plain]


def test_a_conversation_is_the_source_if_there_is_no_other(tmp_path):
    study = rated(tmp_path / "b", conversation=True)
    study.dataset.instances.update(source="")
    row = next(exported_ratings.rating_rows(study, with_texts=True))
    assert row["source"] == "Be brief.\n\nWhy?"


def test_what_is_no_preference_or_was_not_understood_has_no_winner():
    assert exported_ratings.winner({"label": 4}, Scale.parse("ordinal:1..5")) == ""
    assert exported_ratings.winner({"label": None}, Scale.parse("preference")) == ""


def test_an_export_with_texts_can_be_imported_again(tmp_path):
    study = rated(tmp_path / "b")
    export_study(study=study, out=tmp_path / "out", with_texts=True)
    again = import_study(path=tmp_path / "out").study
    assert Rating.objects.filter(unit__study=again).count() == 21


def test_the_command_adds_texts(tmp_path):
    study = rated(tmp_path / "b")
    call_command("export_study", study.pk, out=tmp_path / "out", with_texts=True)
    assert "winner" in lines(tmp_path / "out" / "ratings.jsonl")[0]


def test_an_export_of_an_imported_export_has_identical_files(tmp_path):
    """What an import does not store is gone after the first round, and nothing after the second."""
    study = rated(tmp_path / "b")
    for number in range(3):
        export_study(study=study, out=tmp_path / f"out{number}", formats=FORMATS)
        study = import_study(path=tmp_path / f"out{number}").study
    first, second, third = (contents(tmp_path / f"out{number}") for number in range(3))
    assert second.keys() == third.keys() == first.keys()
    differ = {name for name in second if second[name] != third[name]}
    # Only the time of the version, which is the time of the import.
    assert differ <= {"codebook.md", "manifest.json"}
    of_the_bundle = {"study.toml", "instances.jsonl", "generations.jsonl", "preference.jsonl"}
    assert {name: first[name] for name in of_the_bundle} == {n: second[n] for n in of_the_bundle}


def test_an_import_says_nothing_of_files_that_only_people_and_programs_read(tmp_path):
    study = rated(tmp_path / "b")
    export_study(study=study, out=tmp_path / "out", formats=["jsonl", "preference", "hf"])
    assert "files of the bundle" not in import_study(path=tmp_path / "out").not_stored


def test_the_bundle_of_tests_is_exported_in_every_format(tmp_path):
    study = import_study(path=make_bundle(tmp_path / "b", with_ratings=True)).study
    counts = export_study(study=study, out=tmp_path / "out", formats=FORMATS).counts
    assert counts.rows == loaded_dataset(tmp_path / "out" / "hf").num_rows == 12


@pytest.mark.parametrize("max_gaps", [0, 4])
def test_only_the_asked_ratings_come_in_batches_of_any_density(max_gaps, tmp_path, monkeypatch):
    monkeypatch.setattr(exported_ratings, "MAX_GAPS", max_gaps)
    monkeypatch.setattr(exported_ratings, "BATCH", 4)
    study = rated(tmp_path / "b")
    everything = list(exported_ratings.rating_rows(study))
    assert [(row["unit"], row["rater"]) for row in everything] == [
        (rating.unit.key, rating.rater.pseudonym) for rating in Rating.objects.order_by("pk")
    ]
    keys = list(Rating.objects.order_by("pk").values_list("pk", flat=True))
    some = Rating.objects.filter(pk__in=keys[::2])
    assert list(exported_ratings.rating_rows(study, some)) == everything[::2]


@pytest.mark.parametrize("microsecond", [0, 120_000, 123_456])
def test_times_are_exported_with_the_digits_they_have(microsecond, tmp_path):
    folder, time = tmp_path / "b", datetime(2026, 3, 1, 14, 5, 9, microsecond, UTC)
    rated(folder)
    path = folder / "ratings.jsonl"
    rows = [{**row, "created_at": time.isoformat()} for row in lines(path)]
    path.write_text("".join(json.dumps(row) + "\n" for row in rows))
    study = import_study(path=folder).study
    exported = {row["created_at"] for row in exported_ratings.rating_rows(study)}
    assert exported == {time.isoformat()}


def test_ratings_that_are_deleted_meanwhile_are_left_out(tmp_path, monkeypatch):
    study = rated(tmp_path / "b")
    nothing = (set(), Rating.objects.none())
    monkeypatch.setattr(exported_ratings, "_batches", lambda _: iter([nothing]))
    assert list(exported_ratings.rating_rows(study)) == []


def test_a_later_export_has_every_row_of_an_earlier_one(tmp_path, monkeypatch):
    """Exports of other tools shrank: with pages, with people who left, with answers set aside."""
    monkeypatch.setattr(exported_ratings, "BATCH", 2)
    study = make_open_study(instances=2)
    ann = annotator(study)
    sizes = [0]
    for number in range(3):
        ann.choose()
        export_study(study=study, out=tmp_path / str(number))
        before = lines(tmp_path / str(number - 1) / "ratings.jsonl") if number else []
        now = lines(tmp_path / str(number) / "ratings.jsonl")
        assert [row for row in before if row not in now] == []
        sizes.append(len(now))
    assert sizes == [0, 1, 2, 3]
    exclude_participant(participation=ann.participation, reason="too fast")
    export_study(study=study, out=tmp_path / "excluded")
    assert len(lines(tmp_path / "excluded" / "ratings.jsonl")) == Rating.objects.count() == 3
