"""Verdicts of benchmarks' formats reach the items that they are about: all of a file, or none."""

import json
from pathlib import Path
from typing import Any

import pytest
from django.contrib.auth.models import User
from django.core.files.uploadedfile import SimpleUploadedFile
from django.urls import reverse

from annotation.exports.study_export import export_study
from annotation.imports.study_import import import_study
from annotation.models import Rating
from machine_raters.uploads.ratings import AddedRatings, add_machine_ratings
from machine_raters.uploads.verdicts import add_verdicts
from studies.models import Membership, Study
from tests.api.clients import at, problem_of, program
from tests.refusals import refused, refused_file
from tests.studies.factories import make_study
from tiebreak.formats.readers import VERDICT_FORMATS

pytestmark = pytest.mark.django_db
KEYS = ("u0", "u1", "u2")
SCALE = "preference:tie"


def bundle(
    folder: Path,
    *,
    systems: tuple[str, str] = ("zeta", "alpha"),
    scale: str = SCALE,
    people: int = 3,
) -> Path:
    """Write a study of three comparisons whose system order is not the alphabetical one."""
    folder.mkdir()
    criteria = f'[[criteria]]\nname = "better"\nscale = "{scale}"\nquestion = "Which?"\n'
    head = f'title = "Answers"\nsystems = {json.dumps(systems)}\nratings_per_hit = 3\n'
    (folder / "study.toml").write_text(head + criteria)
    pair = {"system_a": systems[0], "system_b": systems[1], "sample_index": 0}
    rows = {
        "instances": [{"id": key, "source": f"Question {key}?"} for key in KEYS],
        "generations": [
            {"instance": key, "system": system, "sample_index": 0, "text": f"{system} on {key}"}
            for key in KEYS
            for system in systems
        ],
        "ratings": [
            {"unit": key, "instance": key, "criterion": "better", "rater": f"r{i}", "label": -1}
            | pair
            for key in KEYS
            for i in range(people)
        ],
    }
    for name, lines in rows.items():
        (folder / f"{name}.jsonl").write_text("".join(f"{json.dumps(row)}\n" for row in lines))
    return folder


@pytest.fixture
def study(tmp_path) -> Study:
    return import_study(path=bundle(tmp_path / "b")).study


@pytest.fixture
def add(study, tmp_path):
    def added(name: str, content: object, file: str = "file.json", **more: str) -> AddedRatings:
        path = tmp_path / file
        lines = (
            "".join(f"{json.dumps(row)}\n" for row in content) if isinstance(content, list) else ""
        )
        path.write_text(lines if file.endswith(".jsonl") else json.dumps(content))
        return add_verdicts(study=study, path=path, format=name, **more)

    return added


def stored(study: Study) -> set[tuple[Any, ...]]:
    rows = Rating.objects.filter(unit__study=study, rater__kind="machine")
    facts = ("unit__key", "rater__pseudonym", "assignment__order", "label", "raw")
    return set(rows.values_list(*facts))


def machine_rows(*, tie: object = 0) -> list[dict[str, Any]]:
    """Two passes of a judge over three items, with what it said of them."""
    answers = {("u0", "ab"): -1, ("u0", "ba"): 1, ("u1", "ab"): tie, ("u1", "ba"): 1}
    answers |= {("u2", "ab"): 1, ("u2", "ba"): None}
    common = {"rater": "judge", "kind": "machine", "criterion": "better"}
    return [
        {**common, "unit": unit, "order": order, "label": label}
        | ({"raw": "Hm."} if label is None else {})
        for (unit, order), label in answers.items()
    ]


@pytest.mark.parametrize("name", VERDICT_FORMATS)
def test_what_a_study_exports_another_one_reads_back(name, tmp_path, study):
    rows = machine_rows(tie=1 if name == "llmbar" else 0)
    path = tmp_path / "judge.jsonl"
    path.write_text("".join(f"{json.dumps(row)}\n" for row in rows))
    add_machine_ratings(study=study, path=path)
    export_study(study=study, out=tmp_path / "out", formats=[name])
    other = import_study(path=tmp_path / "b").study
    names = {
        "alpacaeval": ["annotations.json"],
        "alttest": ["better-llm.json"],
        "llmbar": ["evaluators/judge/result.json"],
        "lmarena": ["machine_battles.jsonl"],
        "mtbench": ["judge_pair.jsonl"],
        "pandalm": ["judge ab.json", "judge ba.json"],
    }
    for file in names[name]:
        add_verdicts(study=other, path=tmp_path / "out" / name / file, format=name)
    expected = stored(study)
    if name == "lmarena":  # has no verdicts that could not be read
        expected = {row for row in expected if row[3] is not None}
    if name == "alttest":  # has one label of each rater for an item, and no orders
        expected = {(*row[:2], "", *row[3:]) for row in expected if row[2] == "ab"}
    assert stored(other) == expected
    again = [
        add_verdicts(study=other, path=tmp_path / "out" / name / file, format=name).added
        for file in names[name]
    ]
    assert set(again) == {0}


def annotation(key: str, preference: object, **more: object) -> dict[str, object]:
    return {
        "instruction": f"Question {key}?",
        "output_1": f"alpha on {key}",
        "generator_1": "alpha",
        "output_2": f"zeta on {key}",
        "generator_2": "zeta",
        "annotator": "judge",
        "preference": preference,
    } | more


def test_labels_are_turned_to_the_studys_order_of_systems(study, add):
    """The file has alpha first; in the study, zeta is system A."""
    assert add("alpacaeval", [annotation("u0", 1.25), annotation("u1", 2)], "a.jsonl").added == 2
    of_u0 = Rating.objects.get(unit__key="u0", rater__kind="machine")
    assert (of_u0.label, of_u0.probabilities) == ("1", {"-1": 0.25, "1": 0.75})
    assert Rating.objects.get(unit__key="u1", rater__kind="machine").label == "-1"


def test_pandalms_numbers_are_ids_of_items(study, add):
    rows = [{"idx": "u0", "gpt_result": "1"}, {"idx": "u1", "gpt_result": "2"}]
    rows.append({"idx": "u2", "gpt_result": "either"})
    assert add("pandalm", rows, "gpt-testset-v1.json").added == 3
    assert stored(study) == {
        ("u0", "gpt", "", "-1", ""),
        ("u1", "gpt", "", "1", ""),
        ("u2", "gpt", "", None, "either"),
    }


def test_llmbars_outputs_have_no_names_and_are_known_by_their_texts(study, add):
    row = {"input": "Question u1?", "output_1": "alpha on u1", "output_2": "zeta on u1", "label": 1}
    both = {"swap = False": {"completion": ["a", ""], "winner": "1"}}
    both |= {"swap = True": {"completion": ["Both?", ""], "winner": None}}
    assert add("llmbar", [row | {"results": [both]}], "result.json", rater="gpt").added == 2
    # Output 1 is alpha, which is the study's system B; without a swap it came first.
    assert stored(study) == {("u1", "gpt", "ba", "1", ""), ("u1", "gpt", "ab", None, "Both?")}


def test_battles_are_a_machines_only_if_it_is_named(study, add):
    row = {
        "question_id": "u0",
        "model_a": "alpha",
        "model_b": "zeta",
        "winner": "model_a",
        "conversation_a": "",
        "prompt": "Question u0?",
        "response_a": "alpha on u0",
        "response_b": "zeta on u0",
        "judge": "someone",
    }
    del row["conversation_a"]
    with refused_file(("b.jsonl", 1, "human_rating")):
        add("lmarena", [row], "b.jsonl")
    add("lmarena", [row], "b.jsonl", rater="judge")
    assert stored(study) == {("u0", "judge", "ba", "1", "")}
    with refused_file(("b.jsonl", 1, "human_rating")):  # the file itself says so
        add("lmarena", [row | {"kind": "human"}], "b.jsonl", rater="judge")


def test_games_are_known_by_question_and_models(add, tmp_path):
    folder = bundle(tmp_path / "turns")
    for name in ("instances", "generations", "ratings"):
        path = folder / f"{name}.jsonl"
        rows = [json.loads(line) for line in path.read_text().splitlines()]
        for row in rows:
            key = "id" if name == "instances" else "instance"
            row[key] = row[key].removeprefix("u")
        path.write_text("".join(f"{json.dumps(row)}\n" for row in rows))
    study = import_study(path=folder).study
    games = {"g1_winner": "model_1", "g2_winner": "tie", "judge": ["gpt-4", "pair-v2"]}
    row = {"question_id": 2, "turn": 1, "model_1": "alpha", "model_2": "zeta"} | games
    path = tmp_path / "gpt-4_pair.jsonl"
    path.write_text(json.dumps(row))
    add_verdicts(study=study, path=path, format="mtbench")
    assert stored(study) == {("u2", "gpt-4", "ba", "1", ""), ("u2", "gpt-4", "ab", "0", "")}


def test_every_bad_row_is_named_and_nothing_is_stored(study, add):
    rows = [
        annotation("u0", 1),
        annotation("u9", 1),
        annotation("u1", 2, generator_2="gamma"),
        annotation("u2", 1, annotator_index=3),
    ]
    places = [(2, "unknown_unit"), (3, "unknown_unit"), (4, "human_rating")]
    with refused_file(*(("a.jsonl", line, code) for line, code in places)):
        add("alpacaeval", rows, "a.jsonl")
    assert stored(study) == set()


def test_a_rater_that_voted_twice_is_named(study, add):
    with refused_file(("a.jsonl", 2, "duplicate_rating")):
        add("alpacaeval", [annotation("u0", 1), annotation("u0", 2)], "a.jsonl")


def test_a_label_off_the_scale_is_named(tmp_path):
    study = import_study(path=bundle(tmp_path / "plain", scale="preference")).study
    path = tmp_path / "a.json"
    path.write_text(json.dumps([annotation("u0", 1.5)]))
    with refused_file(("a.json", 1, "label_not_on_scale")):
        add_verdicts(study=study, path=path, format="alpacaeval")


def test_two_items_with_the_same_texts_are_not_guessed_between(tmp_path):
    folder = bundle(tmp_path / "same")
    path = folder / "ratings.jsonl"
    rows = [json.loads(line) for line in path.read_text().splitlines()]
    rows += [row | {"unit": "twin"} for row in rows if row["unit"] == "u0"]
    path.write_text("".join(f"{json.dumps(row)}\n" for row in rows))
    study = import_study(path=folder).study
    path = tmp_path / "a.json"
    path.write_text(json.dumps([annotation("u0", 1)]))
    with refused_file(("a.json", 1, "ambiguous_unit")):
        add_verdicts(study=study, path=path, format="alpacaeval")
    path.write_text(json.dumps([annotation("u0", 1, unit="twin")]))
    assert add_verdicts(study=study, path=path, format="alpacaeval").added == 1


@pytest.mark.parametrize(
    ("name", "file", "content", "code"),
    [
        ("llmbar", "result.json", [{"results": []}], "column_missing"),
        ("alpacaeval", "a.json", [{"instruction": "a"}], "column_missing"),
        ("alttest", "wax.json", {"judge": {"u0": -1}}, "unknown_name"),
        ("alttest", "wax-llm.json", {"judge": {"u0": -1}}, "names_raters"),
    ],
)
def test_a_file_of_another_layout_is_refused(name, file, content, code, add):
    with refused("bad_file") as caught:
        add(name, content, file, rater="me")
    assert caught.value.problems[0].code == code


def test_the_criterion_must_be_the_studys_and_clear(study, add):
    with refused("unknown_criterion"):
        add("alpacaeval", [annotation("u0", 1)], "a.jsonl", criterion="other")
    study.criteria.create(name="second", scale="preference", question="?", position=2)
    with refused("criterion_needed"):
        add("alpacaeval", [annotation("u0", 1)], "a.jsonl")
    assert add("alpacaeval", [annotation("u0", 1)], "a.jsonl", criterion="better").added == 1


def test_an_unknown_format_is_refused(study, add):
    with refused("unknown_format"):
        add("chess", [], "a.jsonl")


def test_no_draft_takes_verdicts(tmp_path):
    study = make_study()
    path = tmp_path / "wax-llm.json"
    path.write_text(
        json.dumps({"judge": {study.units.first().key if study.units.exists() else "x": 1}})
    )
    with refused("study_is_draft" if study.units.exists() else "bad_file"):
        add_verdicts(study=study, path=path, format="alttest")


@pytest.fixture
def ruth(study) -> User:
    user = User.objects.create_user("ruth", is_staff=True)
    Membership.objects.create(study=study, user=user)
    return user


def upload(rows: object, name: str = "a.json") -> SimpleUploadedFile:
    return SimpleUploadedFile(name, json.dumps(rows).encode())


def test_programs_upload_verdicts(study, ruth):
    body = {"ratings": upload([annotation("u0", 1)]), "format": "alpacaeval"}
    answer = program(ruth).post(at("machine-rating-list", study.pk), body)
    assert answer.json() == {"added": 1, "known": 0}
    body = {"ratings": upload([annotation("u9", 1)]), "format": "alpacaeval"}
    answer = program(ruth).post(at("machine-rating-list", study.pk), body)
    assert problem_of(answer) == (400, "bad_file")
    problem = answer.json()["problems"][0]
    assert (problem["line"], problem["code"]) == (1, "unknown_unit")


def test_the_page_uploads_verdicts_and_names_what_is_wrong(study, ruth, client):
    client.force_login(ruth)
    address = reverse("machine_raters:upload-verdicts", args=[study.pk])
    body = {"ratings": upload([annotation("u9", 1)]), "format": "alpacaeval"}
    refusal = client.post(address, body)
    assert refusal.status_code == 400
    assert "a.json, line 1:" in refusal.content.decode()
    assert not stored(study)
    body = {"ratings": upload([annotation("u0", 1)]), "format": "alpacaeval"}
    assert client.post(address, body).status_code == 302
    assert len(stored(study)) == 1
    judges = reverse("machine_raters:judges", args=[study.pk])
    page = client.get(f"{judges}?add=verdicts").content.decode()
    assert address in page
    ((_, name, *_),) = stored(study)
    assert f'data-elsewhere="{name}"' in page
