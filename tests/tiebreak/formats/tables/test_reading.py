"""Formats, encodings and separators of the same table."""

import gzip
import json
import shutil
import zipfile

import openpyxl
import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from tests.refusals import refused_file
from tests.tiebreak.formats.tables.test_guessing import summary_of
from tiebreak.formats.tables import TableProblems, TableReading, open_table

ROWS = [
    {"id": f"n{i}", "source": f"Straße {i}, bitte übersetzen", "gpt": f"Street {i} – “now”"}
    for i in range(1, 4)
]


def text(separator=","):
    quoted = [[f'"{cell}"' for cell in row.values()] for row in ROWS]
    return "\r\n".join(separator.join(row) for row in [list(ROWS[0]), *quoted])


def write_workbook(path):
    book = openpyxl.Workbook()
    book.active.append(list(ROWS[0]))
    for row in ROWS:
        book.active.append(list(row.values()))
    book.save(path)


def write_arrow(path):
    table = pa.Table.from_pylist(ROWS)
    with pa.ipc.new_stream(path, table.schema) as stream:
        stream.write_table(table, max_chunksize=2)


WRITERS = {
    "comma.csv": lambda path: path.write_bytes(text().encode()),
    "bom.csv": lambda path: path.write_bytes(text().encode("utf-8-sig")),
    "semicolon.csv": lambda path: path.write_bytes(text(";").encode("cp1252")),
    "excel.csv": lambda path: path.write_bytes(f"sep=;\r\n{text(';')}".encode("utf-8-sig")),
    "pipe.txt": lambda path: path.write_bytes(text("|").encode()),
    "tab.tsv": lambda path: path.write_bytes(text("\t").encode("utf-16")),
    "nomark.tsv": lambda path: path.write_bytes(text("\t").encode("utf-16-le")),
    "list.json": lambda path: path.write_text(json.dumps(ROWS)),
    "mark.json": lambda path: path.write_bytes(json.dumps(ROWS).encode("utf-8-sig")),
    "columns.json": lambda path: path.write_text(
        json.dumps({name: [row[name] for row in ROWS] for name in ROWS[0]})
    ),
    "frame.json": lambda path: path.write_text(
        json.dumps({n: {str(i): row[n] for i, row in enumerate(ROWS)} for n in ROWS[0]})
    ),
    "wrapped.json": lambda path: path.write_text(json.dumps({"version": 1, "data": ROWS})),
    "keyed.json": lambda path: path.write_text(
        json.dumps({r["id"]: {"source": r["source"], "gpt": r["gpt"]} for r in ROWS})
    ),
    "rows.jsonl": lambda path: path.write_text("\n".join(map(json.dumps, ROWS)) + "\n"),
    "rows.json": lambda path: path.write_text("\n".join(map(json.dumps, ROWS))),
    "book.xlsx": write_workbook,
    "shard.parquet": lambda path: pq.write_table(pa.Table.from_pylist(ROWS), path),
    "data.arrow": write_arrow,
    "packed.csv.gz": lambda path: path.write_bytes(gzip.compress(text().encode())),
    "packed.jsonl.gz": lambda path: path.write_bytes(
        gzip.compress("\n".join(map(json.dumps, ROWS)).encode())
    ),
}


def rows_of(path):
    problems = TableProblems()
    with open_table(path) as table:
        rows = [row for _, row in table.rows(problems)]
    assert not problems.items
    return rows


@pytest.mark.parametrize("name", WRITERS)
def test_every_format_has_the_same_rows(name, tmp_path):
    WRITERS[name](tmp_path / name)
    assert rows_of(tmp_path / name) == ROWS


def test_rows_are_numbered_as_a_spreadsheet_does(tmp_path):
    path = tmp_path / "t.csv"
    path.write_text('id,text\n1,"two\nlines"\n\n2,b\n')
    with open_table(path) as table:
        assert [number for number, _ in table.rows(TableProblems())] == [2, 4]


@pytest.mark.parametrize(
    ("encoding", "sentence"),
    [
        ("cp1251", "Привет, это проверка кодировки одного файла с текстом."),
        ("cp1250", "Zażółć gęślą jaźń, bo dobrze jest już wiedzieć."),
        ("cp1252", "Le café était fermé, déjà à l’été dernier."),
        ("shift_jis", "これは日本語のテキストです。もう少し長い文章です。"),
        ("gb18030", "这是中文文本，用于测试编码。再多一些文字。"),
    ],
)
def test_an_older_encoding_is_recognised_and_said(encoding, sentence, tmp_path):
    path = tmp_path / "t.csv"
    path.write_bytes(
        "\n".join(["id;text", *(f"{i};{sentence}" for i in range(5))]).encode(encoding)
    )
    assert {row["text"] for row in rows_of(path)} == {sentence}
    with open_table(path) as table:
        assert table.notes


def test_a_tab_file_without_quotes_keeps_its_quotation_marks(tmp_path):
    path = tmp_path / "t.tsv"
    path.write_text('id\tsays\n1\t"Hello" he said\n2\tplain\n')
    assert [row["says"] for row in rows_of(path)] == ['"Hello" he said', "plain"]


def test_a_folder_of_a_dataset_is_read_shard_by_shard(tmp_path):
    folder = tmp_path / "dataset"
    (folder / "data").mkdir(parents=True)
    (folder / "README.md").write_text("---\npretty_name: Notes\n---\n")
    (folder / "dataset_info.json").write_text("{}")
    for number, rows in enumerate([ROWS[:2], ROWS[2:]]):
        shard = folder / "data" / f"train-0000{number}-of-00002.parquet"
        pq.write_table(pa.Table.from_pylist(rows), shard)
    assert rows_of(folder) == ROWS
    archive = shutil.make_archive(str(tmp_path / "dataset"), "zip", tmp_path, "dataset")
    assert rows_of(tmp_path / archive) == ROWS


def test_what_datasets_saves_to_disk_is_read(tmp_path):
    folder = tmp_path / "saved"
    (folder / "train").mkdir(parents=True)
    (folder / "dataset_dict.json").write_text('{"splits": ["train"]}')
    for name in ("dataset_info.json", "state.json"):
        (folder / "train" / name).write_text("{}")
    write_arrow(folder / "train" / "data-00000-of-00001.arrow")
    write_arrow(folder / "train" / "cache-0123456789.arrow")
    assert rows_of(folder) == ROWS


def test_nested_objects_and_conversations_become_texts(tmp_path):
    turns = [{"role": "user", "content": "Name a sea."}, {"role": "assistant", "content": "Aral."}]
    more = [*turns, {"role": "user", "content": "Sure?"}, {"role": "assistant", "content": "Yes."}]
    row = {"id": 1, "answers": [{"model": "p", "text": "x"}, {"model": "q", "text": "y"}]}
    path = tmp_path / "t.jsonl"
    path.write_text(json.dumps(row))
    assert rows_of(path) == [{"id": 1, "answers.p": "x", "answers.q": "y"}]
    path.write_text(json.dumps({"id": 1, "p": turns, "q": more}))
    columns = {"instance": "id", "text:p": "p", "text:q": "q"}
    with open_table(path) as table:
        (extracted,) = TableReading(table, columns=columns, is_complete=True).rows()
    assert extracted.instance.source == "Name a sea."
    assert extracted.generations[0].text == "Aral."
    assert extracted.generations[1].text.endswith("User: Sure?\n\nAssistant: Yes.")


def test_lists_of_samples_in_a_spreadsheet_are_samples(tmp_path):
    path = tmp_path / "t.csv"
    lines = [
        f'{i},Some question number {i},"[""first {i} p"", ""second {i} p""]",'
        f'"[""first {i} q"", ""second {i} q""]"'
        for i in range(4)
    ]
    path.write_text("\n".join(["id,question,answer_p,answer_q", *lines]))
    summary = summary_of(path)
    assert (summary.instances, summary.generations) == (4, 16)


def test_repeated_rows_are_samples_only_where_all_repeat(tmp_path):
    path = tmp_path / "t.csv"
    lines = [f"{i},{m},Text number {k} of {m}" for i in range(4) for m in "pq" for k in range(3)]
    path.write_text("\n".join(["item,model,output", *lines]))
    assert (summary_of(path).generations, summary_of(path).n_problems) == (24, 0)


def test_a_zip_with_a_path_outside_is_refused(tmp_path):
    path = tmp_path / "t.zip"
    with zipfile.ZipFile(path, "w") as archive:
        archive.writestr("../evil.csv", "id,text\n")
    with refused_file(("t.zip", None, "unsafe_path")), open_table(path):
        pass


@pytest.mark.parametrize(("bad", "passes"), [(None, 1), ("#REF!", 4)])
def test_a_workbook_without_problems_is_read_once(bad, passes, tmp_path, monkeypatch):
    opened = []
    load = openpyxl.load_workbook
    monkeypatch.setattr(
        openpyxl, "load_workbook", lambda *a, **k: opened.append(1) or load(*a, **k)
    )
    book = openpyxl.Workbook()
    for row in (["id", "answer"], ["1", "Yes."], [None], [2, bad or 0.5], [3, True]):
        book.active.append(row)
    book.create_sheet("more").append(["id"])
    book.save(tmp_path / "book.xlsx")
    with open_table(tmp_path / "book.xlsx") as table:
        problems = [TableProblems() for _ in range(3)]
        read = [list(table.rows(problem)) for problem in problems]
        assert len(opened) == passes
        assert next(iter(table.rows(TableProblems()))) == read[0][0]
    assert read[0] == read[1] == read[2]
    said = [(p.sheet, p.sheets, p.all_notes(), [str(item) for item in p.items]) for p in problems]
    assert said[0] == said[1] == said[2]
    assert "1 empty row was left out." in said[0][2]


def test_remarks_before_a_workbooks_table_are_no_table(tmp_path):
    book = openpyxl.Workbook()
    book.active.append(["Exported in October"])
    sheet = book.create_sheet("texts")
    for row in (["Round 3"], [], list(ROWS[0]), *(list(row.values()) for row in ROWS)):
        sheet.append(row)
    book.save(tmp_path / "book.xlsx")
    with open_table(tmp_path / "book.xlsx") as table:
        problems = TableProblems()
        rows = [row for _, row in table.rows(problems)]
    assert (problems.sheet, rows, problems.total) == ("texts", ROWS, 0)
