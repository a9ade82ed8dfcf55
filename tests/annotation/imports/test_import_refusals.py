"""What an import refuses with file, line and reason, by the models and by the limits."""

import io
import json
import zipfile

import pytest
from django.contrib.auth.models import User
from django.core.files.uploadedfile import SimpleUploadedFile
from django.core.management import CommandError, call_command
from django.urls import reverse

from annotation.imports.study_import import import_study
from annotation.imports.uploads import ADVICE
from annotation.models import Rating
from annotation.services.reference_units import import_reference_units
from studies.models import Study, Unit
from tests.refusals import places_of
from tests.studies.factories import make_open_study
from tests.tiebreak.formats.bundles import STUDY, append, make_bundle, ratings, write_lines
from tiebreak.errors import DomainError
from tiebreak.formats import FormatError
from tiebreak.formats.limits import Limits

pytestmark = pytest.mark.django_db


def instance(cells: str):
    return lambda b: append(b / "instances.jsonl", '{"id": "x", ' + cells + "}")


def generation(cells: str):
    start = '{"instance": "i0", "system": "old", "text": "t", '
    return lambda b: append(b / "generations.jsonl", start + cells + "}")


def rating(**cells):
    last = ratings()[-1] | {"rater": "other"}
    return lambda b: write_lines(b / "ratings.jsonl", [*ratings(), last | cells])


def toml(old: str, new: str):
    return lambda b: (b / "study.toml").write_text(STUDY.replace(old, new), encoding="utf-8")


# How a valid bundle is changed, and the file and line that the refusal names.
BAD = {
    "a number past the largest": (instance('"metadata": {"n": 1e999}'), "instances.jsonl", 4),
    "half a character": (instance('"source": "\\ud800"'), "instances.jsonl", 4),
    "half a character in a key": (instance('"metadata": {"\\udfff": 1}'), "instances.jsonl", 4),
    "NUL in a key": (instance('"metadata": {"a\\u0000": 1}'), "instances.jsonl", 4),
    "NUL in the name of a column": (instance('"a\\u0000": 1'), "instances.jsonl", 4),
    "metadata that is no object": (instance('"metadata": [1]'), "instances.jsonl", 4),
    "metadata said twice": (instance('"n": 1, "metadata": {"n": 2}'), "instances.jsonl", 4),
    "an over-long category": (instance(f'"category": "{"c" * 201}"'), "instances.jsonl", 4),
    "a number of 5000 digits": (
        instance(f'"metadata": {{"n": {"9" * 5000}}}'),
        "instances.jsonl",
        4,
    ),
    "a seed past 64 bits": (
        generation(f'"sample_index": 9, "seed": {2**70}'),
        "generations.jsonl",
        13,
    ),
    "a seed past every float": (
        generation(f'"sample_index": 9, "seed": {10**400}'),
        "generations.jsonl",
        13,
    ),
    "a seed that is true": (generation('"sample_index": 9, "seed": true'), "generations.jsonl", 13),
    "params that are no object": (
        generation('"sample_index": 9, "params": []'),
        "generations.jsonl",
        13,
    ),
    "a sample past 16 bits": (generation('"sample_index": 40000'), "generations.jsonl", 13),
    "a sample that is true": (generation('"sample_index": true'), "generations.jsonl", 13),
    "a repeat past 16 bits": (rating(role="repeat", repeat=1_000_000), "ratings.jsonl", 13),
    "a day that is none": (rating(created_at="2026-02-30T10:00:00Z"), "ratings.jsonl", 13),
    "a date in words": (rating(created_at="yesterday"), "ratings.jsonl", 13),
    "a time that would be cut": (
        rating(created_at="2026-02-03T10:00:00.1234567Z"),
        "ratings.jsonl",
        13,
    ),
    "a duration past 32 bits": (rating(duration_ms=2**40), "ratings.jsonl", 13),
    "a position that is true": (rating(position=True), "ratings.jsonl", 13),
    "an over-long run": (rating(run="r" * 101), "ratings.jsonl", 13),
    "an over-long side": (rating(side_a="s" * 11), "ratings.jsonl", 13),
    "a unit of two similarities": (
        lambda b: write_lines(
            b / "ratings.jsonl",
            [*ratings(), *(ratings()[0] | {"rater": name, "similarity": name} for name in "xy")],
        ),
        "ratings.jsonl",
        14,
    ),
    "two answers where neither counts": (
        lambda b: write_lines(
            b / "ratings.jsonl", [*ratings(), *[ratings()[0] | {"rater": "z", "late": True}] * 2]
        ),
        "ratings.jsonl",
        14,
    ),
    "drawn with no known probability": (
        lambda b: write_lines(
            b / "ratings.jsonl", [*ratings(), ratings()[0] | {"unit": "z", "phase": "design"}]
        ),
        "ratings.jsonl",
        13,
    ),
    "R past the model's": (toml("ratings_per_hit = 2", "ratings_per_hit = 1001"), "study.toml", 4),
    "a setting that is none": (toml("ratings_per_hit = 2", "ratings_per_hti = 2"), "study.toml", 4),
    "a limit of text": (toml("ratings_per_hit = 2", 'hits_per_day = "2"'), "study.toml", 4),
    "a reward with three decimals": (
        toml("ratings_per_hit = 2", "reward = 1.005"),
        "study.toml",
        4,
    ),
    "no limit where one is needed": (
        toml("ratings_per_hit = 2", 'lease_minutes = "none"'),
        "study.toml",
        4,
    ),
    "R that is true": (toml("ratings_per_hit = 2", "ratings_per_hit = true"), "study.toml", 4),
    "a title of 201 characters": (toml('"Notes"', f'"{"n" * 201}"'), "study.toml", 1),
    "a time without bounds": (
        toml("comparisons_per_hit = 2", "lease_minutes = inf"),
        "study.toml",
        5,
    ),
    "a choice that is none": (toml("comparisons_per_hit = 2", 'bundling = "odd"'), "study.toml", 5),
    "a system that is a control": (
        toml("comparisons_per_hit = 2", 'controls = ["old"]'),
        "study.toml",
        5,
    ),
    "a criterion without a question": (toml('question = "Which is better?"', ""), "study.toml", 7),
    "TOML that is nested deep": (toml('"Notes"', "[" * 5000 + "]" * 5000), "study.toml", None),
    "TOML that breaks off": (toml('"Notes"', '"Notes'), "study.toml", 1),
    "guidelines of other bytes": (
        lambda b: (b / "guidelines.md").write_bytes(b"fine\nnot \xff fine"),
        "guidelines.md",
        2,
    ),
    "guidelines with NUL": (
        lambda b: (b / "guidelines.md").write_bytes(b"not \x00 fine"),
        "guidelines.md",
        None,
    ),
}


@pytest.mark.parametrize("case", BAD)
def test_a_bad_value_is_refused_with_file_and_line(case, tmp_path):
    damage, file, line = BAD[case]
    folder = make_bundle(tmp_path / "b", with_ratings=True)
    damage(folder)
    with pytest.raises(FormatError) as refusal:
        import_study(path=folder)
    [problem] = refusal.value.problems
    assert (problem.file, problem.line) == (file, line)
    assert refusal.value.code == "bad_file"
    assert not Study.objects.exists()


def test_all_problems_of_all_files_are_named_at_once(tmp_path):
    folder = make_bundle(tmp_path / "b", with_ratings=True)
    for case in (
        "R past the model's",
        "an over-long category",
        "a seed that is true",
        "an over-long run",
    ):
        BAD[case][0](folder)
    (folder / "guidelines.md").write_bytes(b"\xff")
    with pytest.raises(FormatError) as refusal:
        import_study(path=folder)
    files = [problem.file for problem in refusal.value.problems]
    assert set(files) == {
        "study.toml",
        "guidelines.md",
        "instances.jsonl",
        "generations.jsonl",
        "ratings.jsonl",
    }
    assert len(files) == 5


def test_a_great_many_problems_are_counted(tmp_path):
    folder = make_bundle(tmp_path / "b")
    for _ in range(80):
        append(folder / "instances.jsonl", '{"id": ""}')
    with pytest.raises(FormatError) as refusal:
        import_study(path=folder)
    assert (len(refusal.value.problems), refusal.value.total) == (50, 80)


def test_what_is_not_stored_is_named(tmp_path):
    folder = make_bundle(tmp_path / "b")
    rows = [row | {"participation": "p", "mood": "good"} for row in ratings()]
    write_lines(folder / "ratings.jsonl", rows)
    imported = import_study(path=folder)
    assert imported.not_stored == {"ratings.jsonl": ("participation", "mood")}
    assert "mood" in imported.remarks[0]


def test_a_file_that_nothing_reads_is_named(tmp_path):
    folder = make_bundle(tmp_path / "b")
    write_lines(folder / "rating.jsonl", ratings())
    imported = import_study(path=folder)
    assert list(imported.not_stored.values()) == [("rating.jsonl",)]
    assert "rating.jsonl" in imported.remarks[0]


def test_a_repeat_and_its_time_are_stored_as_they_are(tmp_path):
    folder = make_bundle(tmp_path / "b")
    row = ratings()[0] | {"role": "repeat", "created_at": "2026-03-01T14:05:09+02:00"}
    write_lines(folder / "ratings.jsonl", [row])
    import_study(path=folder)
    stored = Rating.objects.get()
    assert (stored.repeat, stored.created_at.isoformat()) == (1, "2026-03-01T12:05:09+00:00")


def packed(folder) -> bytes:
    file = io.BytesIO()
    with zipfile.ZipFile(file, "w", zipfile.ZIP_DEFLATED) as archive:
        for path in sorted(folder.iterdir()):
            archive.write(path, path.name)
    return file.getvalue()


def post(client, content: bytes):
    file = SimpleUploadedFile("b.zip", content)
    return client.post(reverse("annotation:new-study"), {"file": file}, follow=True)


@pytest.fixture
def researcher_client(client):
    client.force_login(User.objects.create_user("ada", password="x", is_staff=True))
    return client


@pytest.mark.parametrize(
    ("setting", "limit"),
    [
        ("TIEBREAK_MAX_UPLOAD_BYTES", 500),
        ("TIEBREAK_MAX_UNPACKED_BYTES", 1000),
        ("TIEBREAK_MAX_UPLOAD_ROWS", 11),
    ],
)
def test_an_upload_past_a_limit_is_told_the_limit_and_the_command(
    setting, limit, researcher_client, tmp_path, settings
):
    content = packed(make_bundle(tmp_path / "b"))
    setattr(settings, setting, limit)
    page = post(researcher_client, content).content.decode()
    assert f"{limit:,}" in page
    assert ADVICE in page
    assert not Study.objects.exists()


def test_the_command_takes_more_rows_than_an_upload(tmp_path, settings):
    folder = make_bundle(tmp_path / "b")
    settings.TIEBREAK_MAX_UPLOAD_ROWS = 1
    with pytest.raises(CommandError, match="--max-rows") as refusal:
        call_command("import_study", str(folder), "--max-rows", "11")
    assert places_of(refusal.value)[0] == ("generations.jsonl", 12, "too_many_rows")
    call_command("import_study", str(folder), "--max-rows", "12")
    assert Study.objects.count() == 1


@pytest.mark.sampled(2)
@pytest.mark.parametrize("case", BAD)
def test_the_upload_page_says_what_is_wrong(case, researcher_client, tmp_path):
    damage, file, _ = BAD[case]
    folder = make_bundle(tmp_path / "b", with_ratings=True)
    damage(folder)
    page = post(researcher_client, packed(folder))
    assert page.status_code == 200
    assert file in page.content.decode()


@pytest.mark.parametrize(
    "damage",
    [
        lambda raw: raw[: len(raw) // 2],
        lambda raw: raw[:100] + b"\xff" * 100 + raw[200:],
        lambda raw: raw.replace(b"study.toml", b"study.tom/"),
        lambda raw: b"PK\x05\x06" + b"\x00" * 18,
        lambda _: b"",
    ],
)
def test_a_broken_archive_is_no_error_of_the_server(damage, researcher_client, tmp_path):
    assert post(researcher_client, damage(packed(make_bundle(tmp_path / "b")))).status_code == 200
    assert not Study.objects.exists()


def without_the_last_entry(raw: bytes) -> bytes:
    """Return an archive whose list of files declares the last entry a comment on the one before."""
    last = raw.rindex(b"PK\x01\x02")
    before = raw.rindex(b"PK\x01\x02", 0, last)
    length = raw.index(b"PK\x05\x06") - last
    return raw[: before + 32] + length.to_bytes(2, "little") + raw[before + 34 :]


def test_an_archive_whose_list_leaves_out_the_ratings_is_refused(tmp_path):
    folder = make_bundle(tmp_path / "b", with_ratings=True)
    with zipfile.ZipFile(tmp_path / "b.zip", "w") as archive:
        for path in sorted(folder.iterdir(), key=lambda path: path.name.startswith("ratings")):
            archive.write(path, path.name)
    raw = without_the_last_entry((tmp_path / "b.zip").read_bytes())
    (tmp_path / "b.zip").write_bytes(raw)
    with zipfile.ZipFile(tmp_path / "b.zip") as archive:
        assert "ratings.jsonl" not in archive.namelist()
    with pytest.raises(FormatError) as refusal:
        import_study(path=tmp_path / "b.zip")
    assert refusal.value.problems[0].file == "b.zip"


@pytest.mark.parametrize(
    "row",
    [
        {"labels": []},
        {"sample_a": 2**70},
        {"sample_a": True},
        {"instance": {"a": 1}},
        {"explanation": ["x"]},
        {"labels": {"preference": 2**70}},
        {"labels": {"preference": [1]}},
    ],
)
def test_a_bad_row_of_reference_units_is_named_with_its_line(row, tmp_path):
    study = make_open_study(instances=1)
    good = {
        "instance": "note-0",
        "system_a": "system-0",
        "system_b": "system-1",
        "sample_a": 0,
        "sample_b": 0,
        "labels": {"preference": 1},
    }
    (tmp_path / "known.jsonl").write_text("".join(json.dumps(r) + "\n" for r in (good, good | row)))
    with pytest.raises(DomainError) as refusal:
        import_reference_units(study=study, role=Unit.Role.GOLD, path=tmp_path / "known.jsonl")
    assert [problem.line for problem in refusal.value.problems] == [2]


def test_rows_past_the_limit_are_not_read(tmp_path):
    folder = make_bundle(tmp_path / "b", with_ratings=True)
    with pytest.raises(FormatError) as refusal:
        import_study(path=folder, limits=Limits(rows=5))
    lines = {problem.file: problem.line for problem in refusal.value.problems}
    assert lines["ratings.jsonl"] == 6
