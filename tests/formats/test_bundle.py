"""Bundles: the same out of a folder and a .zip, written and read back; bad ones are named."""

import io
import json
import stat
import zipfile

import pytest

from studies.formats.bundle import read_bundle
from studies.formats.bundle_writing import write_bundle
from studies.formats.limits import Limits
from studies.formats.problems import FormatError

STUDY = """\
title = "Two systems"
guidelines = "guidelines.md"
consent = "I agree."
systems = ["a", "b"]
ratings_per_hit = 2
comparisons_per_hit = 1
lease_minutes = 45

[[criteria]]
name = "preference"
scale = "preference:tie"
question = "Which?"

[[criteria]]
name = "fluency"
scale = "ordinal:1..5"

[[system]]
name = "a"
language_model = "small"
decoding = { temperature = 1.0, stop = ["\\n"] }
"""
INSTANCES = [
    {"id": "x", "source": "A text.", "category": "news", "metadata": {"from": {"page": 3}}},
    {"id": "y", "messages": [{"role": "user", "content": "Hello"}]},
]
GENERATIONS = [
    {"instance": i, "system": s, "sample_index": 0, "text": f"{i} by {s}", "seed": 0}
    for i in "xy"
    for s in "ab"
]
RATING = {
    "unit": "x-0",
    "rater": "r",
    "label": -1,
    "instance": "x",
    "system_a": "a",
    "system_b": "b",
    "sample_index": 0,
}


def lines(rows):
    return "".join(json.dumps(row) + "\n" for row in rows)


FILES = {
    "study.toml": STUDY,
    "guidelines.md": "# Read both\n",
    "instances.jsonl": lines(INSTANCES),
    "generations.jsonl": lines(GENERATIONS),
    "ratings.jsonl": lines([RATING]),
}


def write_folder(path, **changes):
    """The good bundle; a keyword `instances_jsonl` replaces that file, None leaves it out."""
    path.mkdir()
    for name, good in FILES.items():
        text = changes.get(name.replace(".", "_"), good)
        if text is not None:
            (path / name).write_bytes(text if isinstance(text, bytes) else text.encode())
    return path


def write_zip(path, members):
    with zipfile.ZipFile(path, "w", zipfile.ZIP_DEFLATED) as archive:
        for name, text in members:
            archive.writestr(name, text)
    return path


def refused(path, **options):
    with pytest.raises(FormatError) as caught:
        read_bundle(path, **options)
    return caught.value


def contents(bundle):
    return (
        bundle.study,
        bundle.systems,
        [
            (row.id, row.source, row.messages, row.category, row.metadata)
            for row in bundle.instances
        ],
        [(g.instance, g.system, g.sample_index, g.text, g.seed) for g in bundle.generations],
        list(bundle.ratings.rows()),
    )


def test_a_bundle_is_read_whole(tmp_path):
    bundle = read_bundle(write_folder(tmp_path / "b"))
    assert bundle.systems == ("a", "b")
    assert (bundle.study.guidelines, bundle.study.consent) == ("# Read both\n", "I agree.")
    assert (bundle.study.lease_minutes, bundle.study.hits_per_annotator) == (45, None)
    assert [c.name for c in bundle.study.criteria] == ["preference", "fluency"]
    assert bundle.study.system_details[0].decoding == {"temperature": 1.0, "stop": ["\n"]}
    first = next(iter(bundle.instances))
    assert (first.id, first.line, first.metadata) == ("x", 1, {"from": {"page": 3}})
    assert [g.line for g in bundle.generations] == [1, 2, 3, 4]
    assert len(list(bundle.generations)) == 4, "rows can be gone through again"
    assert bundle.ratings.integer("sample_b").tolist() == [0]


@pytest.mark.parametrize("top", ["", "study/"])
def test_a_zip_says_the_same_as_the_folder(tmp_path, top):
    members = [(top + name, text) for name, text in FILES.items()]
    members.append(("__MACOSX/._study.toml", "clutter"))
    archive = write_zip(tmp_path / "b.zip", members)
    folder = write_folder(tmp_path / "b")
    assert contents(read_bundle(archive)) == contents(read_bundle(folder))


def test_what_is_written_is_read_back(tmp_path):
    bundle = read_bundle(write_folder(tmp_path / "b"))
    write_bundle(tmp_path / "again", bundle)
    assert contents(read_bundle(tmp_path / "again")) == contents(bundle)
    assert sorted(p.name for p in tmp_path.iterdir()) == ["again", "b"]


def test_odd_texts_come_back_from_a_written_bundle(tmp_path):
    odd = 'quotes " and \\\\ and \\u007f and é 🙂'
    study = STUDY.replace("Two systems", odd.replace('"', '\\"'))
    bundle = read_bundle(write_folder(tmp_path / "b", study_toml=study))
    assert "\x7f" in bundle.study.title
    write_bundle(tmp_path / "c", bundle)
    assert read_bundle(tmp_path / "c").study == bundle.study


def test_a_bundle_is_not_overwritten_unless_asked(tmp_path):
    bundle = read_bundle(write_folder(tmp_path / "b"))
    target = tmp_path / "c"
    target.mkdir()
    (target / "mine").write_text("keep")
    with pytest.raises(FormatError, match="exists already"):
        write_bundle(target, bundle)
    assert (target / "mine").exists()
    write_bundle(target, bundle, replace=True)
    assert not (target / "mine").exists()
    assert sorted(p.name for p in tmp_path.iterdir()) == ["b", "c"]


def test_an_interrupted_write_leaves_nothing_security_29(tmp_path):
    bundle = read_bundle(write_folder(tmp_path / "b"))
    (tmp_path / "b" / "generations.jsonl").unlink()
    (tmp_path / "b" / "instances.jsonl").write_text("{")
    with pytest.raises(FormatError):
        write_bundle(tmp_path / "c", bundle)
    assert [p.name for p in tmp_path.iterdir()] == ["b"]


def test_all_pairs_takes_systems_as_they_first_occur(tmp_path):
    study = STUDY.replace('["a", "b"]', '"all-pairs"')
    assert read_bundle(write_folder(tmp_path / "b", study_toml=study)).systems == ("a", "b")


def test_generations_may_be_absent_where_ratings_are(tmp_path):
    bundle = read_bundle(write_folder(tmp_path / "b", generations_jsonl=None))
    assert list(bundle.generations) == []
    error = refused(write_folder(tmp_path / "c", generations_jsonl=None, ratings_jsonl=None))
    assert "generations.jsonl: the file is missing" in error.message


@pytest.mark.parametrize("name", ["study.toml", "instances.jsonl"])
def test_a_missing_file_is_named(tmp_path, name):
    error = refused(write_folder(tmp_path / "b", **{name.replace(".", "_"): None}))
    assert [(p.file, p.line) for p in error.problems] == [(name, None)]


def with_row(rows, **changes):
    return lines([*rows, {**rows[0], **changes}])


@pytest.mark.parametrize(
    ("file", "text", "line", "reason"),
    [
        ("instances.jsonl", lines(INSTANCES) + "{oops\n", 3, "not JSON"),
        ("instances.jsonl", with_row(INSTANCES), 3, "'x' stands in line 1 already"),
        ("instances.jsonl", with_row(INSTANCES, id=""), 3, "id: it is empty"),
        ("instances.jsonl", with_row(INSTANCES, id=7), 3, "id: a text is needed, not 7"),
        ("instances.jsonl", with_row(INSTANCES, id="../\x00"), 3, "NUL"),
        ("instances.jsonl", with_row(INSTANCES, id="a\nb"), 3, "control character"),
        ("instances.jsonl", with_row(INSTANCES, id="z" * 201), 3, "201 characters"),
        ("instances.jsonl", with_row(INSTANCES, id="z", source=["t"]), 3, "source: a text"),
        ("instances.jsonl", with_row(INSTANCES, id="z", sorce="t"), 3, "'sorce' is not known"),
        ("instances.jsonl", with_row(INSTANCES, id="z", messages="hi"), 3, "messages: a list"),
        ("instances.jsonl", "", None, "no instance"),
        ("generations.jsonl", with_row(GENERATIONS, system="c"), 5, "'c' is not among"),
        ("generations.jsonl", with_row(GENERATIONS, instance="z"), 5, "'z' is not in"),
        ("generations.jsonl", with_row(GENERATIONS), 5, "line 1 has this instance"),
        ("generations.jsonl", with_row(GENERATIONS, text=" \n"), 5, "text: it is empty"),
        ("generations.jsonl", with_row(GENERATIONS, text=None), 5, "text: it is empty"),
        ("generations.jsonl", with_row(GENERATIONS, sample_index=True), 5, "sample_index"),
        ("generations.jsonl", with_row(GENERATIONS, sample_index=-1), 5, "sample_index"),
        ("generations.jsonl", with_row(GENERATIONS, seed=0.5), 5, "seed"),
        ("generations.jsonl", with_row(GENERATIONS, params=[1]), 5, "params: an object"),
        ("ratings.jsonl", with_row([RATING], unit="u", instance="z"), 2, "not among the inst"),
        ("ratings.jsonl", with_row([RATING], unit="u", system_b="z"), 2, "not among the syst"),
        ("ratings.jsonl", with_row([RATING], criterion="wit"), 2, "not among the criteria"),
        ("ratings.jsonl", with_row([RATING], rater="s", label=2), 2, "not on the scale"),
        ("ratings.jsonl", with_row([RATING], unit="u", sample_index=4), 2, "no generation 4"),
        ("ratings.jsonl", lines([RATING, RATING]), 2, "in line 1 already"),
        (
            "ratings.jsonl",
            with_row([RATING], unit="u", system_a="b", system_b="a"),
            2,
            "must stand before",
        ),
        ("study.toml", STUDY + "colour = 1\n", 22, "colour: this key is not known of a system"),
        ("study.toml", "colour = 1\n" + STUDY, 1, "colour: this key is not known"),
        ("study.toml", STUDY.replace("= 45", "= 0"), 7, "lease_minutes: a whole number"),
        ("study.toml", STUDY.replace("= 45", "= true"), 7, "lease_minutes: a whole number"),
        ("study.toml", STUDY.replace('["a", "b"]', '["a"]'), 4, "needs two systems"),
        ("study.toml", STUDY.replace('["a", "b"]', '["a", "a"]'), 4, "stands twice"),
        ("study.toml", STUDY.replace('["a", "b"]', '"a, b"'), 4, "systems: a list"),
        ("study.toml", STUDY.replace("ordinal:1..5", "stars"), 16, "scale: The scale 'stars'"),
        ("study.toml", STUDY.replace("fluency", "preference"), 15, "stands twice"),
        ("study.toml", STUDY.replace("guidelines.md", "other.md"), 2, "no file 'other.md'"),
        ("study.toml", STUDY + "= 1", 22, "not TOML"),
        ("study.toml", "a = " + "[" * 50_000, None, "not TOML"),
        ("study.toml", STUDY.encode("utf-16"), 1, "not UTF-8"),
    ],
)
def test_a_bad_row_is_named_with_file_line_and_reason_security_22(
    tmp_path, file, text, line, reason
):
    error = refused(write_folder(tmp_path / "b", **{file.replace(".", "_"): text}))
    assert reason in error.message
    assert (file, line) in [(problem.file, problem.line) for problem in error.problems]


def test_a_huge_cell_is_refused_security_22(tmp_path):
    rows = with_row(GENERATIONS, sample_index=1, text="x" * 50_000_000)
    error = refused(write_folder(tmp_path / "b", generations_jsonl=rows))
    assert (error.problems[0].file, error.problems[0].line) == ("generations.jsonl", 5)
    rows = with_row(GENERATIONS, sample_index=1, text="x" * 1_000_001)
    error = refused(write_folder(tmp_path / "c", generations_jsonl=rows))
    assert "1,000,001 characters" in error.message


def test_deep_nesting_is_refused_security_22(tmp_path):
    deep = {"a": 1}
    for _ in range(30):
        deep = {"a": [deep]}
    rows = with_row(INSTANCES, id="z", metadata=deep)
    assert "levels deep" in refused(write_folder(tmp_path / "b", instances_jsonl=rows)).message


def test_every_bad_row_is_counted_and_fifty_are_shown(tmp_path):
    rows = lines([{**GENERATIONS[0], "system": "c", "sample_index": k} for k in range(80)])
    error = refused(write_folder(tmp_path / "b", generations_jsonl=rows, ratings_jsonl=None))
    assert (len(error.problems), error.total) == (50, 80)


@pytest.mark.parametrize(
    "name",
    ["../study.toml", "/etc/passwd", "a\\..\\b", "c:x", "a/../../b", "bad\nname", "nul\x00x"],
)
def test_archive_names_that_lead_elsewhere_are_refused_security_8(tmp_path, name):
    data = io.BytesIO()
    with zipfile.ZipFile(data, "w") as archive:
        archive.writestr("placeholder", "x")
        archive.writestr(name.replace("\x00", "@"), "x")
    raw = data.getvalue()
    if "\x00" in name:
        raw = raw.replace(b"nul@x", b"nul\x00x")
    (tmp_path / "b.zip").write_bytes(raw)
    assert "leads elsewhere" in refused(tmp_path / "b.zip").message


def test_links_in_archives_are_refused_security_8(tmp_path):
    with zipfile.ZipFile(tmp_path / "b.zip", "w") as archive:
        link = zipfile.ZipInfo("guidelines.md")
        link.external_attr = (stat.S_IFLNK | 0o777) << 16
        archive.writestr(link, "/etc/passwd")
    assert "a link and no file" in refused(tmp_path / "b.zip").message


def test_links_out_of_a_folder_are_not_followed_security_8(tmp_path):
    (tmp_path / "secret.md").write_text("secret")
    path = write_folder(tmp_path / "b", guidelines_md=None)
    (path / "guidelines.md").symlink_to(tmp_path / "secret.md")
    assert "no file 'guidelines.md'" in refused(path).message


def test_zip_bombs_are_refused_security_22(tmp_path):
    members = [*FILES.items(), ("more.txt", b"\0" * 5_000_000)]
    bomb = write_zip(tmp_path / "b.zip", members)
    assert "packed tighter" in refused(bomb).message
    big = refused(bomb, limits=Limits(archive_bytes=1000))
    assert (
        "unfolds to" in refused(bomb, limits=Limits(archive_ratio=10**9, archive_bytes=9)).message
    )
    assert big.total == 1
    many = write_zip(tmp_path / "many.zip", [(f"f{k}", "") for k in range(1001)])
    assert "1,001 files" in refused(many).message


def test_a_damaged_archive_is_refused(tmp_path):
    (tmp_path / "b.zip").write_bytes(b"no zip")
    assert "neither a folder nor a readable .zip" in refused(tmp_path / "b.zip").message
    good = write_zip(tmp_path / "c.zip", FILES.items()).read_bytes()
    data = bytearray(good)
    start = good.index(b"generations.jsonl") + len(b"generations.jsonl")
    data[start + 4 : start + 12] = b"\xff" * 8
    (tmp_path / "c.zip").write_bytes(bytes(data))
    assert "damaged" in refused(tmp_path / "c.zip").message


def test_nothing_there_is_said(tmp_path):
    assert "no such folder" in refused(tmp_path / "none").message
