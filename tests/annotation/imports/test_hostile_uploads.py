"""Files that unpack to more than they seem to, full disks, and what is deleted in the end."""

import errno
import gzip
import io
import os
import random
import time
import zipfile
from collections import deque
from dataclasses import replace
from pathlib import Path

import openpyxl
import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from django.contrib.auth.models import User
from django.core.files.uploadedfile import SimpleUploadedFile

from annotation.exports.export_jobs import remove_expired_exports
from annotation.imports import kept_uploads, uploads
from annotation.imports.kept_uploads import keep_upload
from studies.data.table_import import inspect_table
from tests.refusals import refused, refused_file
from tiebreak.file_names import file_name
from tiebreak.formats import FormatError
from tiebreak.formats.confined import (
    LINES,
    RATINGS,
    UPLOAD,
    Bounds,
    PlainTable,
    read_confined,
)
from tiebreak.formats.errors import Problems
from tiebreak.formats.limits import Limits
from tiebreak.formats.readers import VERDICT_FORMATS
from tiebreak.formats.rows import read_rows
from tiebreak.formats.tables import TableProblems, open_table

LIMITS = Limits(cell=100_000, rows=1000, unpacked=20_000_000)
BOUNDS = Bounds(seconds=20, memory=1_500_000_000)
ROWS = {
    "id": ["1", "2"],
    "text a": ["A first text.", "Another text."],
    "text b": ["I do.", "I am."],
}


def workbook(change=lambda sheet: sheet, renamed: tuple[str, str] = ("", "")) -> bytes:
    book = openpyxl.Workbook()
    for row in [[*ROWS], *zip(*ROWS.values(), strict=True)]:
        book.active.append(row)
    plain, changed = io.BytesIO(), io.BytesIO()
    book.save(plain)
    with zipfile.ZipFile(plain) as source, zipfile.ZipFile(changed, "w") as target:
        for name in source.namelist():
            content = source.read(name).replace(*map(str.encode, renamed))
            is_sheet = name.startswith("xl/worksheets/")
            target.writestr(name.replace(*renamed), change(content) if is_sheet else content)
    return changed.getvalue()


def parquet(table: pa.Table) -> bytes:
    out = io.BytesIO()
    pq.write_table(table, out, compression="zstd")
    return out.getvalue()


def arrow(table: pa.Table) -> bytes:
    out = io.BytesIO()
    with pa.ipc.new_file(
        out, table.schema, options=pa.ipc.IpcWriteOptions(compression="zstd")
    ) as file:
        file.write_table(table)
    return out.getvalue()


def zipped(*names: str, content: bytes = b"id,a,b\n") -> bytes:
    out = io.BytesIO()
    with zipfile.ZipFile(out, "w", zipfile.ZIP_DEFLATED) as file:
        for name in names:
            file.writestr(name, content)
    return out.getvalue()


def repeated(cell: str, times: int) -> pa.Table:
    values = pa.DictionaryArray.from_arrays(pa.array([0] * times, pa.int32()), pa.array([cell]))
    return pa.table({"text": values})


def packed(content: bytes, times: int) -> bytes:
    for _ in range(times):
        content = gzip.compress(content)
    return content


ENTITIES = b'<!DOCTYPE x [<!ENTITY a "aaaaaaaaaa"><!ENTITY b "&a;&a;&a;">]><worksheet '
HOSTILE = {
    "one long value.parquet": (parquet(repeated("x" * 500_000, 4)), "value_too_long"),
    "many equal values.parquet": (parquet(repeated("x" * 90_000, 999)), "unpacks_too_large"),
    "a long list.parquet": (parquet(pa.table({"l": [[0] * 700_000]})), "unpacks_too_large"),
    "many rows.parquet": (parquet(pa.table({"n": pa.nulls(1001)})), "too_many_rows"),
    "many columns.parquet": (
        parquet(pa.table({f"c{i}": [1] for i in range(501)})),
        "too_many_columns",
    ),
    "equal values.arrow": (arrow(pa.table({"t": ["y" * 90_000] * 300})), "unpacks_too_large"),
    "a row's number.xlsx": (
        workbook(lambda sheet: sheet.replace(b'<row r="2"', b"<row  r='1000000000000'")),
        "bad_row_number",
    ),
    "a part of another name.xlsx": (
        workbook(
            lambda sheet: sheet.replace(b'r="2"', b'r="9999999"'), ("sheet1.xml", "sheet1.dat")
        ),
        "bad_row_number",
    ),
    "a cell's column.xlsx": (
        workbook(lambda sheet: sheet.replace(b'r="B2"', b'r="ZZZ2"')),
        "too_many_columns",
    ),
    "gaps.xlsx": (
        workbook(
            lambda sheet: sheet.replace(b'r="3"', b'r="1000000"').replace(b'r="C3"', b'r="C1"')
        ),
        "too_many_cells",
    ),
    "entities.xlsx": (workbook(lambda s: s.replace(b"<worksheet ", ENTITIES)), "xml_entities"),
    "zeros.csv.gz": (gzip.compress(bytes(30_000_000)), "unpacks_too_large"),
    "zeros.zip": (zipped("a.csv", content=bytes(30_000_000)), "unpacks_too_large"),
    "tight.zip": (zipped("a.csv", content=bytes(15_000_000)), "packed_too_tight"),
    "many.zip": (zipped(*(f"{i}.csv" for i in range(201))), "too_many_files"),
    "outside.zip": (zipped("../a.csv"), "unsafe_path"),
    "often.csv.gz": (packed(b"id,a,b\n", 9), "packed_too_often"),
    "zips.zip": (
        zipped("a.csv.gz", "b.csv.gz", content=gzip.compress(b"a" * 15_000_000)),
        "unpacks_too_large",
    ),
    "columns.csv": (b",".join(b"c%d" % i for i in range(30_000)), "too_many_columns"),
    "empty lines.csv.gz": (gzip.compress(b"id,a\n" + b"\n" * 9000), "too_many_rows"),
    "empty lines.jsonl.gz": (gzip.compress(b'{"id":1}\n' + b"\n" * 9000), "too_many_rows"),
    "empty rows.xlsx": (workbook(lambda s: s.replace(b'r="3"', b'r="9000"')), "too_many_rows"),
    "long row.csv": (b"a,b,c,d,e\n" + b",".join([b"x" * 90_000] * 5), "row_too_long"),
    "deep.json": (b"[" * 3000, "nested_too_deep"),
    "deep.jsonl": (b'{"a":' * 3000 + b"1" + b"}" * 3000, "nested_too_deep"),
}


def read(content: bytes, name: str, tmp_path: Path, bounds: Bounds = BOUNDS):
    path, into = tmp_path / name, tmp_path / "into"
    path.write_bytes(content)
    into.mkdir(exist_ok=True)
    return read_confined(UPLOAD, path, into=into, limits=LIMITS, bounds=bounds)


def codes(content: bytes, name: str, tmp_path: Path, bounds: Bounds = BOUNDS) -> set[str]:
    """The codes with which a file is refused, by the process or in the rows that it wrote."""
    try:
        reading = read(content, name, tmp_path, bounds)
    except FormatError as error:
        return {problem.code for problem in error.problems}
    if reading.kind != "table":
        return set()
    problems = TableProblems()
    assert sum(1 for _ in PlainTable.of(reading, name).rows(problems)) <= LIMITS.rows
    return {problem.code for problem in problems.items}


@pytest.mark.sampled(2)
@pytest.mark.parametrize("name", VERDICT_FORMATS)
def test_verdicts_that_cannot_be_read_stay_in_the_process_that_tried(name, tmp_path):
    path = tmp_path / "verdicts.json"
    path.write_text(f"[{'{},' * 9000}{{}}]")
    with pytest.raises(FormatError):
        read_confined(name, path, limits=LIMITS, bounds=BOUNDS)


@pytest.mark.sampled(4)
@pytest.mark.parametrize("name", HOSTILE)
def test_what_unpacks_to_too_much_is_refused_by_name(name, tmp_path):
    content, code = HOSTILE[name]
    begun = time.monotonic()
    assert codes(content, name, tmp_path) == {code}
    assert time.monotonic() - begun < 20  # a loaded machine is slow; unrefused, it takes for ever


NOISE = bytes(range(256)) * 20
BINARY = {
    "tiny.png": b"\x89PNG\r\n\x1a\n\0\0\0\rIHDR\0\0\0\1\0\0\0\1\b\2\0\0\0\x90wS\xde",
    "noise.csv": b"id,answer\n" + NOISE,
    "zeros.jsonl": bytes(3000),
    "paper.pdf": b"%PDF-1.7\n",
    "text.docx": zipped("word/document.xml"),
}


@pytest.mark.sampled(2)
@pytest.mark.parametrize("name", BINARY)
def test_a_binary_file_is_refused_by_its_own_name_at_every_door(name, tmp_path):
    assert codes(BINARY[name], name, tmp_path) <= {"not_text", "unknown_format", "no_table"}
    for task in (UPLOAD, LINES, RATINGS, *VERDICT_FORMATS[:1]):
        with pytest.raises(FormatError) as refusal:
            read_confined(task, tmp_path / name, into=tmp_path, limits=LIMITS, bounds=BOUNDS)
        (problem,) = refusal.value.problems
        assert (problem.file, problem.line) == (name, None), task
    upload = SimpleUploadedFile(name, BINARY[name])
    with refused_file((name, None, problem.code)), uploads.stored_upload(upload, LINES):
        pass


@pytest.mark.parametrize("line", [b"\n", b"1\n"])
@pytest.mark.parametrize(("name", "head"), [("r.jsonl", b'{"a":1}\n'), ("r.csv", b"a,b\n")])
def test_lines_that_are_skipped_count(line, name, head, tmp_path):
    problems = Problems()
    deque(read_rows(_file(tmp_path, name, head + line * 5000), problems, LIMITS))
    assert 0 < problems.total < LIMITS.rows + 10


def test_a_page_reads_a_table_of_long_rows_no_further_than_it_needs(tmp_path):
    rows = b"id,a\n" + b"1,%b\n" % (b"x" * 5000) * 900
    reading = read(rows, "t.csv", tmp_path, replace(BOUNDS, whole=10_000, preview=2000))
    assert (reading.is_whole, reading.size < 110_000) == (False, True)


def test_a_reader_that_takes_too_much_is_ended_by_name(tmp_path):
    table = parquet(pa.table({"t": ["some text"] * 900}))
    assert codes(table, "t.parquet", tmp_path, Bounds(memory=150_000_000)) & {
        "needs_too_much_memory",
        "reader_crashed",
    }
    assert codes(table, "t.parquet", tmp_path, Bounds(seconds=0)) == {"reading_too_slow"}


@pytest.mark.sampled(2)
@pytest.mark.parametrize("name", ["t.xlsx", "t.parquet", "t.arrow", "t.csv.gz", "t.zip"])
def test_plain_rows_are_those_of_the_file(name, tmp_path):
    content = CONTAINERS[name]
    reading = read(content, name, tmp_path)
    plain = PlainTable.of(reading, name)
    with open_table(tmp_path / name, limits=LIMITS) as table:
        assert list(plain.rows(TableProblems())) == list(table.rows(TableProblems()))
    assert inspect_table(path=tmp_path / name, plain=plain)[1].instances == 2
    assert (reading.is_whole, reading.kind) == (True, "table")


CSV = "\r\n".join(map(",".join, [[*ROWS], *zip(*ROWS.values(), strict=True)])).encode()
CONTAINERS = {
    "t.xlsx": workbook(),
    "t.parquet": parquet(pa.table(ROWS)),
    "t.arrow": arrow(pa.table(ROWS)),
    "t.csv.gz": gzip.compress(CSV),
    "t.zip": zipped("t.csv", content=CSV),
}


def mutated(content: bytes, chance: random.Random) -> bytes:
    """Change, cut, repeat or overwrite a part of a container with the numbers that liars choose."""
    at, n = chance.randrange(len(content)), chance.choice([1, 2, 4, 8])
    lie = chance.choice([b"\xff" * n, bytes(n), chance.randbytes(n), b"\xff\xff\xff\x7f"])
    return chance.choice(
        [
            content[:at] + lie + content[at + len(lie) :],
            content[:at],
            content[:at] + content[at : at + 200] * 3 + content[at + 200 :],
        ]
    )


@pytest.mark.parametrize("name", CONTAINERS)
def test_a_damaged_container_is_refused_by_name_or_read_exactly(name, tmp_path):
    """Reading in this process, as a command does, is fast enough for many."""
    chance, refusals = random.Random(name), 0
    with open_table(_file(tmp_path, name, CONTAINERS[name]), limits=LIMITS) as table:
        whole = list(table.rows(TableProblems()))
    for _ in range(60):
        path = _file(tmp_path, name, mutated(CONTAINERS[name], chance))
        problems = TableProblems()
        try:
            with open_table(path, limits=LIMITS) as table:
                rows = list(table.rows(problems))
        except FormatError:
            refusals += 1
        else:
            assert problems.items or len(rows) <= len(whole)
            refusals += bool(problems.items)
    assert refusals


def _file(folder: Path, name: str, content: bytes) -> Path:
    path = folder / name
    path.write_bytes(content)
    return path


# Disks, quotas and names.


@pytest.fixture
def ada(db, settings, tmp_path):
    settings.TIEBREAK_UPLOAD_FOLDER = str(tmp_path / "uploads")
    settings.TIEBREAK_EXPORT_FOLDER = str(tmp_path / "exports")
    return User.objects.create_user("ada", is_staff=True)


def an_upload() -> SimpleUploadedFile:
    return SimpleUploadedFile("t.csv", CSV)


def test_a_full_disk_keeps_nothing_of_an_upload(ada, settings, monkeypatch):
    def full(*_):
        raise OSError(errno.ENOSPC, "No space left on device")

    upload = an_upload()
    monkeypatch.setattr(upload, "chunks", full)
    with refused("disk_full"):
        keep_upload(upload=upload, by=ada)
    assert not list(Path(settings.TIEBREAK_UPLOAD_FOLDER).rglob("t.csv"))


@pytest.mark.parametrize(
    ("name", "code"),
    [
        ("TIEBREAK_UPLOAD_QUOTA_BYTES", "upload_quota"),
        ("TIEBREAK_FOLDER_QUOTA_BYTES", "folder_full"),
    ],
)
def test_uploads_have_a_quota(name, code, ada, settings):
    setattr(settings, name, len(CSV) + 10)
    keep_upload(upload=an_upload(), by=ada)
    with refused(code):
        keep_upload(upload=an_upload(), by=ada)


def test_no_more_readers_run_at_once_than_the_server_allows(ada, settings, tmp_path):
    settings.TIEBREAK_READERS, settings.TIEBREAK_READER_SECONDS_IN_WEB = 1, 0
    with uploads._slot():
        path = _file(tmp_path, "t.csv", CSV)
        with refused("readers_busy"):
            uploads.confined(UPLOAD, path, in_web=True)


def test_old_uploads_and_exports_are_deleted(ada, settings):
    kept = keep_upload(upload=an_upload(), by=ada)
    exports = Path(settings.TIEBREAK_EXPORT_FOLDER)
    exports.mkdir()
    export, fresh = _file(exports, "e.zip", b""), _file(exports, "f.zip", b"")
    for path in (kept.path.parent, export):
        os.utime(path, (0, 0))
    kept_uploads.remove_expired_uploads()
    remove_expired_exports()
    assert [path.exists() for path in (kept.path, export, fresh)] == [False, False, True]


def test_names_are_cut_where_disks_count():
    name = file_name("😀" * 200 + ".csv")
    assert len(name.encode()) <= 150
    assert name.endswith("😀.csv")
