"""Logs of language models become systems on the same samples, and nothing is lost unsaid."""

import json
import zipfile
import zlib
from collections import defaultdict
from pathlib import Path

import pyarrow as pa
import pytest

from tests.refusals import refused_file
from tests.tiebreak.formats.readers.files import FOLDERS
from tiebreak.formats import read_bundle
from tiebreak.formats.archive import ZSTANDARD
from tiebreak.formats.confined import BUNDLE, TABLE, UPLOAD, read_confined
from tiebreak.formats.layouts import read_existing
from tiebreak.formats.limits import Limits
from tiebreak.formats.readers import LOGS, convert, log_of

ALPHA, BETA = (FOLDERS["inspect"] / f"{name}.json" for name in ("alpha", "beta"))


def texts(converted):
    found = defaultdict(dict)
    for row in converted.generations:
        found[row.instance][row.system, row.sample_index] = row.text
    return dict(found)


def changed(tmp_path, name="alpha", **parts):
    """Return a copy of a log with other parts, such as other samples."""
    log = json.loads((FOLDERS["inspect"] / f"{name}.json").read_text())
    path = tmp_path / f"{name}.json"
    path.write_text(json.dumps(log | {part: make(log[part]) for part, make in parts.items()}))
    return path


def as_eval(path, source, *, zstandard=False, version=2, damage=0):
    """Write a JSON log in the layout of .eval: a header, and a file for each sample and epoch."""
    log = json.loads(source.read_text())
    parts = {f"samples/{s['id']}_epoch_{s['epoch']}.json": s for s in log.pop("samples")}
    parts["header.json"] = log | {"version": version}
    with zipfile.ZipFile(path, "w", zipfile.ZIP_DEFLATED) as archive:
        for name, part in parts.items():
            content = json.dumps(part).encode()
            if not zstandard:
                archive.writestr(name, content)
                continue
            packed = pa.compress(content, codec="zstd", asbytes=True)
            archive.writestr(name, packed, zipfile.ZIP_STORED)
            entry = archive.filelist[-1]  # of the directory, which is written last
            entry.compress_type, entry.file_size = ZSTANDARD, len(content)
            entry.CRC = zlib.crc32(content) ^ damage
    return path


def test_two_logs_are_two_systems_on_the_samples_of_both():
    converted = convert("inspect", [ALPHA, BETA])
    assert converted.spec.systems == ("mock/alpha", "mock/beta")
    assert texts(converted) == {
        str(i): {
            (f"mock/{name}", epoch): f"{name} says {i}, {epoch + 1}."
            for name in ("alpha", "beta")
            for epoch in (0, 1)
        }
        for i in (2, 3)
    }
    assert converted.left_out == {
        "scores of match": 12,
        "samples only in alpha.json": 1,
        "samples only in beta.json": 1,
    }
    assert (
        "2 samples are in both logs, 1 only in alpha.json, 1 only in beta.json" in converted.about
    )


@pytest.mark.parametrize("zstandard", [False, True])
def test_an_eval_file_reads_as_the_json_log(zstandard, tmp_path):
    path = as_eval(tmp_path / "alpha.eval", ALPHA, zstandard=zstandard)
    one, other = convert("inspect", [path]), convert("inspect", [ALPHA])
    assert (texts(one), one.spec, one.left_out) == (texts(other), other.spec, other.left_out)
    assert log_of(path) == "inspect"


def test_two_runs_of_one_model_are_told_apart_by_their_files(tmp_path):
    again = changed(tmp_path, samples=lambda samples: samples[:2])
    again = again.rename(tmp_path / "again.json")
    systems = convert("inspect", [ALPHA, again]).spec.systems
    assert systems == ("mock/alpha (alpha)", "mock/alpha (again)")
    assert convert("inspect", [ALPHA, again], ("old", "new")).spec.systems == ("old", "new")


def test_a_sample_with_another_input_is_another_sample(tmp_path):
    def other(samples):
        return [row | {"input": "Another."} if row["id"] == 2 else row for row in samples]

    converted = convert("inspect", [ALPHA, changed(tmp_path, "beta", samples=other)])
    assert [*texts(converted)] == ["3"]
    assert converted.left_out["samples whose input differs between the logs"] == 1
    with refused_file(("alpha.json, beta.json", None, "no_shared_samples")):
        convert("inspect", [ALPHA, changed(tmp_path, "beta", samples=lambda s: s[-2:])])


def test_what_is_no_text_of_a_sample_is_counted(tmp_path):
    image = [{"role": "user", "content": [{"type": "image", "image": "data:"}]}]
    odd = [{"error": {"message": "x"}}, {"output": {"choices": []}}, {"input": image}]
    path = changed(
        tmp_path, samples=lambda s: [a | b for a, b in zip(s, [*odd, {}, {}, {}], strict=True)]
    )
    converted = convert("inspect", [path])
    assert (len(converted.generations), converted.left_out) == (
        3,
        {
            "scores of match": 6,
            "samples that ended with an error": 1,
            "samples without a text": 1,
            "samples with images or other media": 1,
        },
    )


def test_long_texts_are_taken_from_the_attachments(tmp_path):
    attached = {"attachments": {"ab": "A long text."}, "input": "attachment://ab"}
    path = changed(tmp_path, samples=lambda samples: [samples[0] | attached])
    assert convert("inspect", [path]).instances[0].source == "A long text."


@pytest.mark.parametrize("version", [1, 3])
def test_a_log_of_another_version_is_refused_by_its_number(version, tmp_path):
    for path in (
        as_eval(tmp_path / "alpha.eval", ALPHA, version=version),
        changed(tmp_path, version=lambda _: version),
    ):
        with refused_file((path.name, None, "other_version")) as refusal:
            convert("inspect", [path])
        assert f"version {version};" in str(refusal.value)


def test_a_damaged_eval_file_is_refused(tmp_path):
    with refused_file(("alpha.eval", None, "not_a_zip")):
        convert("inspect", [as_eval(tmp_path / "alpha.eval", ALPHA, zstandard=True, damage=1)])


def test_repeats_of_the_harness_are_samples_and_likelihoods_are_no_texts():
    converted = convert("lm-eval", [FOLDERS["lm-eval"]])
    model = "org/model-7b"
    assert texts(converted) == {
        "0": {(model, 0): "Two.", (model, 1): "It is two."},
        "1": {(model, 0): "Four."},
    }
    assert converted.instances[0].source == "Q: What is 1+1?\nA:"
    assert converted.left_out == {
        "values of exact_match": 3,
        "values of acc": 1,
        "samples without a text": 1,
        "rows of further filters, which have the same texts": 1,
        "samples with log-likelihoods of given answers in place of texts": 1,
    }


def test_batches_give_answers_their_prompts_by_id():
    converted = convert("messages", [FOLDERS["messages"]])
    assert converted.spec.systems == ("gpt-x", "claude-x")
    assert texts(converted) == {
        "one": {
            ("gpt-x", 0): "A first answer.",
            ("gpt-x", 1): "Another answer.",
            ("claude-x", 0): "A third answer.",
        }
    }
    assert converted.instances[0].messages == [
        {"role": "system", "content": "Be brief."},
        {"role": "user", "content": "Say something."},
    ]
    assert converted.left_out["samples that ended with an error"] == 2


def test_conversations_of_two_files_are_one_sample_if_their_prompts_are(tmp_path):
    for name, answer in (("a", "Hello."), ("b", "Good day.")):
        turns = [{"role": "user", "content": "Hi"}, {"role": "assistant", "content": answer}]
        lines = [{"messages": turns}, {"messages": turns[:1]}]
        (tmp_path / f"{name}.jsonl").write_text("\n".join(map(json.dumps, lines)))
    converted = convert("messages", [tmp_path])
    assert [*texts(converted).values()] == [{("a", 0): "Hello.", ("b", 0): "Good day."}]
    assert converted.left_out == {"conversations that do not end with an answer": 2}


@pytest.mark.parametrize("name", LOGS)
def test_each_log_is_recognised_as_what_it_is(name):
    found = {path.name: log_of(path) for path in FOLDERS[name].iterdir()}
    assert {*found.values()} - {""} == {name}
    others = [
        path for own, folder in FOLDERS.items() if own not in LOGS for path in folder.iterdir()
    ]
    assert {log_of(path) for path in others if path.is_file()} == {""}


def test_logs_alone_hold_no_ratings(tmp_path):
    with refused_file(("alpha.json", None, "no_ratings")):
        read_existing(ALPHA)
    with refused_file(("out.csv", None, "no_ratings")):
        convert("inspect", [ALPHA]).write(tmp_path / "out.csv")


def uploaded(path, tmp_path, limits):
    into = tmp_path / "into"
    into.mkdir()
    return read_confined(UPLOAD, path, into=into, limits=limits)


def test_a_zip_of_logs_is_uploaded_as_a_bundle(tmp_path):
    path = tmp_path / "logs.zip"
    with zipfile.ZipFile(path, "w", zipfile.ZIP_DEFLATED) as archive:
        archive.write(as_eval(tmp_path / "alpha.eval", ALPHA, zstandard=True), "alpha.eval")
        archive.write(BETA, "beta.json")
        archive.writestr("README.md", "Two logs.")
    reading = uploaded(path, tmp_path, Limits())
    assert (reading.kind, len(read_bundle(Path(reading.path)).generations)) == (BUNDLE, 8)
    assert "2 samples are in both logs" in reading.notes[0]
    assert "Not used: scores of match (12)." in reading.notes


@pytest.mark.parametrize(
    ("content", "code"),
    [(bytes(30_000_000), "unpacks_too_large"), (bytes(9_000_000), "packed_too_tight")],
)
def test_a_log_that_unpacks_to_too_much_is_refused(content, code, tmp_path):
    path = as_eval(tmp_path / "alpha.eval", ALPHA)
    with zipfile.ZipFile(path, "a", zipfile.ZIP_DEFLATED) as archive:
        archive.writestr("samples/9_epoch_1.json", content)
    with refused_file(("alpha.eval", None, code)):
        uploaded(path, tmp_path, Limits(unpacked=20_000_000))


def test_a_table_of_conversations_stays_a_table(tmp_path):
    path = tmp_path / "chats.jsonl"
    path.write_text('{"id": "1", "messages": [{"role": "user", "content": "Hi"}]}\n')
    assert uploaded(path, tmp_path, Limits()).kind == TABLE
