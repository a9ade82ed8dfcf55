"""A reader turns any file into a bundle, or refuses it with a sentence that names the file."""

import random
import re
import shutil
from pathlib import Path

import pytest
from django.core.management import CommandError, call_command

from tests.tiebreak.formats.readers.files import FOLDERS
from tiebreak.formats import FormatError
from tiebreak.formats.readers import READERS, convert

FILES = {
    "not UTF-8": b"\xff\xfe\x00",
    "empty": b"",
    "NUL": b"a,b\n\x00,1\n",
    "deep": b"[" * 100_000,
    "huge number": b'[{"idx": 1e999, "annotator1": 1}]',
    "wrong types": b'[{"idx": {}, "cmp_key": 1, "response1": [], "response2": {}, "annotator1": 1}]',
    "lists": b"[[1], [2]]",
    "a column": b"subset\n1\n",
    "lone": b'[{"idx": "\\ud800", "annotator1": 1}]',
}


@pytest.mark.parametrize("reader", sorted(READERS))
@pytest.mark.parametrize("ending", ["csv", "json", "jsonl"])
@pytest.mark.parametrize("content", sorted(FILES))
def test_a_file_of_another_kind_is_named(reader, ending, content, tmp_path):
    path = tmp_path / f"file.{ending}"
    path.write_bytes(FILES[content])
    with pytest.raises(FormatError) as refusal:
        convert(reader, [path], None)
    assert "file" in refusal.value.problems[0].file


@pytest.mark.parametrize("seed", range(30))
def test_a_damaged_file_is_read_or_named(seed, tmp_path):
    rng = random.Random(seed)
    name = rng.choice(sorted(READERS))
    source = rng.choice(sorted(FOLDERS[name].iterdir()))
    raw = bytearray(source.read_bytes()[: rng.choice([2_000, 20_000])])
    for _ in range(rng.randrange(4)):
        raw[rng.randrange(len(raw))] = rng.randrange(256)
    path = tmp_path / source.name
    path.write_bytes(bytes(raw))
    try:
        call_command("convert", name, str(path), "--out", str(tmp_path / "out"), verbosity=0)
    except CommandError as error:
        refusal = str(error)
        assert path.name in refusal


@pytest.mark.parametrize(
    ("reader", "file", "answer", "odd"),
    [
        ("pandalm", "testset-v1.json", r'("annotator2": ?)"?\d"?', r'\1"the first"'),
        ("llmbar", "verdicts.csv", r"(Natural,0,judge-\d,)1", r"\1the first"),
    ],
)
def test_answer_of_a_person_that_is_no_label_is_named_and_left_out(
    reader, file, answer, odd, tmp_path
):
    folder = Path(shutil.copytree(FOLDERS[reader], tmp_path / "f"))
    before = convert(reader, [folder])
    text = (folder / file).read_text(encoding="utf-8")
    (folder / file).write_text(
        re.sub(answer, odd, text, count=reader != "llmbar"), encoding="utf-8"
    )
    after = convert(reader, [folder])
    assert len(after.ratings) == len(before.ratings) - 1
    ((what, number),) = after.left_out.items()
    assert ("the first" in what, number) == (True, 1)
