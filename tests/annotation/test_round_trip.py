"""What an export writes, an import reads back: the next export has the same files."""

import json
import re
import zipfile
from pathlib import Path

import pytest
from django.core.files.uploadedfile import SimpleUploadedFile
from django.urls import reverse

from annotation.exports.study_export import export_study
from annotation.imports.study_import import import_study
from annotation.services.items import set_item_aside
from annotation.services.planning import draw_and_plan, plan_hits
from annotation.services.reference_units import degrade_copies
from studies.instance_selection.scoring import score_separability
from studies.models import (
    Generation,
    InstanceSelection,
    Screening,
    SeparabilityScore,
    Study,
    Unit,
)
from tests.annotation.annotators import annotator, form_of
from tests.api.clients import at, program
from tests.refusals import refused
from tests.studies.factories import make_study, open_knowingly

pytestmark = [pytest.mark.django_db, pytest.mark.both_databases]
WORDS = "one two three four five six seven eight nine ten eleven twelve"
# Ids of participations are not imported, ratings of training get a version, and the codebook has the
# time of the import. The log and the draw stay with the study in which they were made.
NEW = ("codebook.md", "log.jsonl", "selection.jsonl", "manifest.json")
FORMATS = ("jsonl", "csv", "parquet")


def make_draft(**design) -> Study:
    """A draft with scores, a draw, reference units of two roles, and planned repeats."""
    study = make_study(instances=8, systems=3, repeats_per_hit=1, ratings_per_hit=2, **design)
    for generation in Generation.objects.all():
        generation.text = f"{WORDS} {generation.text}"
        generation.save()
    score_separability(study=study)
    SeparabilityScore.objects.filter(system_a__name="system-0").update(
        settings={"encoder": "small", "layer": 3}
    )
    degrade_copies(study=study, role=Unit.Role.GOLD, n=2)
    degrade_copies(study=study, role=Unit.Role.TRAINING, n=1)
    selection = InstanceSelection(
        study=study, design="proportional", weights="floored", instances=4
    )
    draw_and_plan(study=study, design=selection)
    return study


def make_rated(**design) -> Study:
    study = make_draft(**design)
    Screening.objects.create(study=study, training_units=1, check_rate=1)
    open_knowingly(study)
    for _ in range(2):
        person = annotator(study)
        for answer in range(8):
            person.choose(answer % 2)
    return study


def exported(study: Study, out: Path, formats: tuple[str, ...] = ("jsonl",)) -> dict[str, bytes]:
    """The files of an export, without what differs after an import."""
    export_study(study=Study.objects.get(pk=study.pk), out=out, formats=formats)
    files = {path.name: path.read_bytes() for path in out.iterdir() if path.name not in NEW}
    new = rb'"participation":"[^"]*",|"study_version":1,'
    return {name: re.sub(new, b"", text) for name, text in files.items()}


def make_mixed() -> Study:
    return make_rated(further_share=0.3, further_ratings=3)


def make_unlabelled() -> Study:
    study = make_draft(nonresponses="both")
    study.criteria.update(reason="optional", reason_length=5)
    open_knowingly(study)
    for _ in range(2):
        person = annotator(study)
        for answer in range(8):
            given = form_of(person.here()).filled((0, 3, 1, 4)[answer % 4])
            person.send(given | {"reason-preference": f"=1+1\n{answer}"})
    unit = study.units.filter(role="main").first()
    set_item_aside(study=study, key=unit.key, aside=True)
    return study


@pytest.mark.parametrize("make", [make_draft, make_rated, make_mixed, make_unlabelled])
def test_an_export_of_an_import_is_the_same(make, tmp_path):
    study = make()
    first = exported(study, tmp_path / "first")
    again = import_study(path=tmp_path / "first").study
    assert (
        again.places.count() == study.places.count() == study.places_of(study.hits.main().count())
    )
    assert exported(again, tmp_path / "second") == first
    assert again.status == ("draft" if make is make_draft else "closed")


@pytest.mark.parametrize("kind", FORMATS)
def test_every_format_of_the_tables_is_read(kind, tmp_path):
    study = make_draft()
    first = exported(study, tmp_path / "first")
    exported(study, tmp_path / kind, (kind,))
    again = import_study(path=tmp_path / kind).study
    assert exported(again, tmp_path / "again") == first


def test_a_draft_is_ready_to_be_opened_as_it_was_planned(tmp_path):
    study = make_draft()
    exported(study, tmp_path / "b")
    again = import_study(path=tmp_path / "b").study
    assert again.places.count() == study.places.count()
    assert again.selected.count() == study.selected.count()
    drawn = set(again.selected.values_list("instance__key", "inclusion_probability"))
    assert drawn == set(study.selected.values_list("instance__key", "inclusion_probability"))
    annotator(open_knowingly(again)).choose()


def test_scores_keep_what_decides_their_similarity(tmp_path):
    exported(make_draft(), tmp_path / "b")
    again = import_study(path=tmp_path / "b").study
    scores = SeparabilityScore.objects.filter(instance__dataset=again.dataset_id)
    assert scores.filter(system_a__name="system-0", settings__layer=3).exists()
    assert not scores.filter(system_a__name="system-1", settings__layer=3).exists()


def test_gold_checks_are_in_the_hits_in_which_they_were_asked(tmp_path):
    study = make_rated()
    exported(study, tmp_path / "b")
    again = import_study(path=tmp_path / "b").study

    def hits(of: Study) -> set[tuple[str, int]]:
        gold = Unit.objects.filter(study=of, role="gold")
        rows = gold.values_list("key", "ratings__assignment__hit__number")
        return {(key, number) for key, number in rows if number is not None}

    assert hits(study)
    assert hits(again) == hits(study)
    assert again.hits.main().count() == study.hits.main().count()


def zipped(folder: Path) -> SimpleUploadedFile:
    archive = folder.with_suffix(".zip")
    with zipfile.ZipFile(archive, "w") as file:
        for path in sorted(folder.iterdir()):
            file.write(path, path.name)
    return SimpleUploadedFile("bundle.zip", archive.read_bytes())


@pytest.mark.parametrize("entrance", ["page", "api"])
def test_an_uploaded_zip_is_read_as_the_folder_is(entrance, tmp_path, client, admin_user):
    first = exported(make_draft(), tmp_path / "first")
    upload = zipped(tmp_path / "first")
    if entrance == "page":
        client.force_login(admin_user)
        client.post(reverse("annotation:new-study"), {"file": upload})
    else:
        program(admin_user).post(at("study-list"), {"bundle": upload})
    again = Study.objects.latest("created_at")
    assert exported(again, tmp_path / "second") == first


def change(path: Path, number: int, **values: object) -> None:
    lines = path.read_text().splitlines()
    lines[number - 1] = json.dumps({**json.loads(lines[number - 1]), **values})
    path.write_text("\n".join(lines) + "\n")


def test_numbers_of_tasks_have_no_gaps_after_an_import(tmp_path):
    study, path = make_draft(), tmp_path / "first" / "design.jsonl"
    first = exported(study, tmp_path / "first")
    for number, line in enumerate(path.read_text().splitlines(), start=1):
        if hit := json.loads(line).get("hit"):
            change(path, number, hit=10 * hit)
    again = import_study(path=tmp_path / "first").study
    assert again.hits.main().last_number() == again.hits.main().count()
    assert exported(again, tmp_path / "second") == first


@pytest.mark.sampled(3)
@pytest.mark.parametrize(
    ("table", "values", "code"),
    [
        ("design", {"instance": "nobody"}, "unknown_instance"),
        ("design", {"system_a": "nobody"}, "unknown_system"),
        ("design", {"role": "boss"}, "unknown_role"),
        ("design", {"hit": 0}, "not_a_position"),
        ("design", {"repeats": 2}, "not_zero_or_one"),
        ("design", {"further": 2}, "not_zero_or_one"),
        ("design", {"inclusion_probability": 1.5}, "not_a_probability"),
        ("design", {"inclusion_probability": 0}, "not_a_probability"),
        ("design", {"sample_a": 0.5}, "not_a_whole_number"),
        ("design", {"sample_a": 10**6}, "max_value"),
        ("design", {"separability": "far"}, "not_a_number"),
        ("design", {"phase": "x" * 31}, "max_length"),
        ("separability", {"instance": None}, "empty"),
        ("separability", {"self_alignment_a": True}, "not_a_number"),
        ("separability", {"similarity_settings": "[1]"}, "not_an_object"),
        ("separability", {"similarity_settings": "{"}, "not_json"),
        ("reference_answers", {"unit": "nobody"}, "unknown_unit"),
        ("reference_answers", {"criterion": "magic"}, "unknown_criterion"),
        ("reference_answers", {"expected": 9}, "label_not_on_scale"),
        ("reference_answers", {"expected": None}, "not_a_label"),
        ("reference_answers", {"explanation": 1}, "not_a_text"),
    ],
)
def test_a_bad_row_is_refused_with_its_line_and_nothing_is_stored(table, values, code, tmp_path):
    exported(make_draft(), tmp_path / "b")
    change(tmp_path / "b" / f"{table}.jsonl", 2, **values)
    known = Study.objects.count()
    with refused("bad_file") as refusal:
        import_study(path=tmp_path / "b")
    problem = refusal.value.problems[0]
    assert (problem.file, problem.line, problem.code) == (f"{table}.jsonl", 2, code)
    assert Study.objects.count() == known


@pytest.mark.parametrize("table", ["design", "separability", "reference_answers"])
def test_a_row_that_comes_twice_is_refused(table, tmp_path):
    exported(make_draft(), tmp_path / "b")
    path = tmp_path / "b" / f"{table}.jsonl"
    lines = path.read_text().splitlines()
    path.write_text("\n".join([*lines, lines[0]]) + "\n")
    with refused("bad_file") as refusal:
        import_study(path=tmp_path / "b")
    assert [problem.code for problem in refusal.value.problems] == ["duplicate_row"]


@pytest.mark.parametrize(
    ("values", "code"),
    [({"unit": "nobody"}, "unknown_unit"), ({"system_a": "system-2"}, "contradicts_design")],
)
def test_ratings_and_the_design_must_agree(values, code, tmp_path):
    exported(make_rated(), tmp_path / "b")
    change(tmp_path / "b" / "ratings.jsonl", 1, **values)
    with refused("bad_file") as refusal:
        import_study(path=tmp_path / "b")
    problems = {(p.file, p.line, p.code) for p in refusal.value.problems}
    assert ("ratings.jsonl", 1, code) in problems


def test_a_plan_can_be_replaced_after_the_import(tmp_path):
    exported(make_draft(), tmp_path / "b")
    again = import_study(path=tmp_path / "b").study
    hits = again.hits.main().count()
    plan_hits(study=again)
    assert again.hits.main().count() == hits
