"""Tables of strangers: whatever names, order, separator and encoding, none is misread in silence."""

import csv
import io
import json
import random
import tracemalloc
import uuid

import openpyxl
import pytest

from tests.refusals import refused
from tests.tiebreak.formats.tables.cases import delimited
from tests.tiebreak.formats.tables.test_guessing import listed, summary_of, written
from tiebreak.formats.limits import Limits
from tiebreak.formats.tables import TableReading, open_table
from tiebreak.formats.tables.nesting import decoded

# Names of an id, a source, a system, a text, a reference and a remark.
NAMES = {
    "English": ("id", "question", "model", "answer", "reference", "comment"),
    "German": ("Kennung", "Frage", "Modell", "Antwort", "Referenz", "Kommentar"),
    "French": ("identifiant", "question", "modèle", "réponse", "référence", "commentaire"),
    "Chinese": ("编号", "问题", "模型", "回答", "参考答案", "备注"),
    "nonsense": ("zub", "wolm", "treg", "plick", "dorf", "vant"),
}
ENCODINGS = ("utf-8", "utf-8-sig", "utf-16")
WORDS = {
    "English": "the council closed a ferry because money was short and people in valleys told us",
    "German": "der Rat schloß eine Fähre weil das Geld für Straßen fehlte und viele Leute müde waren",
    "French": "le conseil a fermé un bac parce que l’argent était épuisé et les élèves là où déjà",
    "Chinese": "市议会 星期二 投票 决定 关闭 渡轮 因为 资金 不足 河谷 居民 学校 道路 冬天 市场 农民",
    "nonsense": "the council closed a ferry because money was short and people in valleys told us",
}
N, TABLES = 12, 30


def _hash(rng: random.Random, length: int) -> str:
    return "".join(rng.choice("0123456789abcdef") for _ in range(length))


# Columns that annotators must never read, by the name that tells least about them.
CODES = {
    "k1": lambda rng: _hash(rng, 64),
    "k2": lambda rng: str(uuid.UUID(int=rng.getrandbits(128))),
    "k3": lambda rng: f"https://example.org/{rng.random()}/a page of it",
    "k4": lambda rng: f"Tue, {rng.randint(1, 28)} May 2024 10:00:00 GMT",
    "k5": lambda rng: f'{{"a": "some words of it", "b": {rng.random()}}}',
    "k6": lambda rng: f"my own report {rng.randint(1, 999)}.pdf",
    "k7": lambda rng: f"Ada Lovelace <ada{rng.randint(1, 999)}@example.org>",
    "k8": lambda rng: f"{rng.random():.3f} (± {rng.random():.1f})",
    "k9": lambda rng: " ".join(_hash(rng, 4) for _ in range(6)),
    "answer_key": lambda rng: _hash(rng, 22),
    "output_date": lambda rng: f"2024-05-{rng.randint(10, 28)} 10:00:00",
    "text_1": lambda rng: f"{rng.randint(1, 28)}. Mai 2024",
}


def _sentence(rng: random.Random, language: str, least: int, most: int) -> str:
    chosen = rng.choices(WORDS[language].split(), k=rng.randint(least, most))
    return "".join(chosen) + "。" if language == "Chinese" else " ".join(chosen).capitalize() + "."


def _table(rng: random.Random, language: str, layout: str) -> tuple[list[dict[str, str]], set[str]]:
    """Return rows and the names of the columns with the texts, in a random order of columns."""
    key, source, system, text, reference, remark = NAMES[language]
    is_long = layout == "long"
    names = [text] if is_long else [f"{text}_{side}" for side in ("A", "B")]
    if layout == "prompts":
        names = []
    codes = rng.sample(sorted(CODES), 3)
    has = {name: rng.random() < 0.5 for name in (key, reference, remark)}
    rows = []
    for i in range(N):
        question = _sentence(rng, language, 5, 12)[:-1] + "?"
        expected = _sentence(rng, language, 8, 20)
        for name in ("p-model", "q-model") if is_long else ("",):
            row = {source: question} | {name: _sentence(rng, language, 8, 30) for name in names}
            row |= {system: name} if is_long else {}
            row |= {key: f"item-{i}"} if has[key] else {}
            row |= {reference: expected} if has[reference] else {}
            row |= {remark: _sentence(rng, language, 2, 9)} if has[remark] else {}
            rows.append(row | {code: CODES[code](rng) for code in codes})
    order = rng.sample(sorted(rows[0]), len(rows[0]))
    missing = rng.choice(["", "NA", "None", "-"])
    for row in rng.sample(rows, 2):
        row[codes[0]] = missing
    return [{name: row[name] for name in order} for row in rows], set(names)


def _content(rng: random.Random, language: str, rows: list[dict[str, str]]) -> bytes:
    file = io.StringIO()
    writer = csv.DictWriter(file, rows[0], delimiter=rng.choice(",;\t|"))
    writer.writeheader()
    writer.writerows(rows)
    older = "gb18030" if language == "Chinese" else "cp1252"
    return file.getvalue().encode(rng.choice([*ENCODINGS, older]))


@pytest.mark.parametrize("layout", ["wide", "long", "prompts"])
@pytest.mark.parametrize("language", NAMES)
def test_no_table_is_misread_in_silence(language, layout, tmp_path):
    n_right = 0
    for seed in range(TABLES):
        rng = random.Random(f"{language} {layout} {seed}")
        rows, texts = _table(rng, language, layout)
        summary = summary_of(written(tmp_path / "t.csv", _content(rng, language, rows)))
        if summary.n_problems:
            continue
        columns = summary.plan.columns
        read = {column for role, column in columns.items() if role.startswith("text")}
        used = (summary.plan.layout, read, columns.get("source"), summary.instances)
        assert used == (layout, texts, NAMES[language][1], N), (seed, rows[:2])
        assert columns.get("reference") in (None, NAMES[language][4])
        n_right += 1
    assert n_right >= (0 if language == "nonsense" else 0.6 * TABLES)


# What several texts share, and rows that count once.

HH = "\n\nHuman: {}\n\nAssistant: Which one?\n\nHuman: The {} one.\n\nAssistant: {}"


def _pairs_of_dialogues(form: str) -> list[dict[str, object]]:
    """Return pairs that differ in the last answer only, as transcripts or as lists of turns."""
    rows = []
    for i in range(4):
        pair = [HH.format(f"How do I get to town {i}?", "old", f"{end} {i}.") for end in ENDS]
        if form == "turns":
            pair = [
                [{"role": t["role"], "content": t["content"]} for t in decoded(text)]
                for text in pair
            ]
        rows.append(dict(zip(("chosen", "rejected"), pair, strict=True)))
    return rows


ENDS = ("Take the ferry", "I cannot help with this request")


@pytest.mark.parametrize("form", ["transcripts", "turns"])
@pytest.mark.parametrize("prompt", [None, "How do I get to town {}?"])
def test_the_turns_that_two_texts_share_are_their_source(form, prompt, tmp_path):
    rows = _pairs_of_dialogues(form)
    rows = [({"prompt": prompt.format(i)} if prompt else {}) | row for i, row in enumerate(rows)]
    path = written(tmp_path / "t.jsonl", "\n".join(map(json.dumps, rows)).encode())
    with open_table(path) as table:
        first, *_ = TableReading(table).rows()
    assert [turn["role"] for turn in first.instance.messages] == ["user", "assistant", "user"]
    assert first.instance.messages[0]["content"] == "How do I get to town 0?"
    assert [g.text for g in first.generations] == [f"{end} 0." for end in ENDS]


def test_texts_that_answer_different_messages_are_refused_by_row(tmp_path):
    rows = _pairs_of_dialogues("transcripts")
    rows[2]["rejected"] = rows[1]["rejected"]
    path = written(tmp_path / "t.jsonl", "\n".join(map(json.dumps, rows)).encode())
    assert [(p.row, p.code) for p in summary_of(path).problems] == [(3, "different_dialogues")]


def test_every_row_is_counted_in_what_was_read_or_with_a_reason(tmp_path):
    rows = [(i, f"Where is town {i}?", f"Answer {i} of gpt.", f"An answer {i}.") for i in range(4)]
    lines = ["id,question,gpt,llama,score", ""]
    lines += [",".join(map(str, (*row, rater))) for row in rows for rater in range(3)]
    lines += [",,,,", "9,Where?,,Text.,1"]
    summary = summary_of(written(tmp_path / "t.csv", "\n".join(lines).encode()))
    assert (summary.instances, summary.generations, summary.n_problems) == (4, 8, 1)
    assert summary.left_out == {"empty_rows": 2, "repeated_rows": 8}
    counted = summary.instances + sum(summary.left_out.values()) + summary.n_problems
    assert len(lines) == 1 + counted
    assert "score" in summary.notes[-1]


def test_two_columns_with_the_same_texts_are_asked_about(tmp_path):
    texts = [f"Some answer to number {i}." for i in range(9)]
    path = listed(tmp_path, question=[f"Where is {i}?" for i in range(9)], gpt=texts, llama=texts)
    assert [p.code for p in summary_of(path).problems] == ["same_texts"]
    assert summary_of(path, leave_out=["llama"]).systems == ("gpt",)
    with refused("column_left_out"):
        summary_of(path, leave_out=["llama"], columns={"text:x": "llama"})
    with refused("unknown_column"):
        summary_of(path, leave_out=["lama"])


def test_equal_problems_are_one_kind_with_their_number_and_first_rows(tmp_path):
    lines = [
        f"{i},Where is {i}?,{'' if i % 2 else f'A text {i}.'},Text {i} of it." for i in range(2000)
    ]
    path = written(
        tmp_path / "t.csv", "\n".join(["id,question,gpt,llama", *lines, "1,?,a"]).encode()
    )
    empty, short = summary_of(path).kinds
    assert (empty.count, empty.lines, empty.first.code) == (1000, [3, 5, 7, 9, 11], "empty_text")
    assert (short.count, short.lines, short.first.code) == (1, [2002], "wrong_cell_count")


# Sizes.


def test_a_workbook_of_fifty_sheets_is_read_by_the_sheet_that_is_named(tmp_path):
    book = openpyxl.Workbook()
    for number in range(50):
        sheet = book.active if number == 0 else book.create_sheet()
        sheet.title = f"Sheet {number}"
        sheet.append(["id", "gpt", "llama"])
        for row in range(number + 1):
            sheet.append([row, f"Some answer {row} {number}.", f"Other answer {row} {number}."])
    book["Sheet 0"].sheet_state = "hidden"
    book.save(tmp_path / "t.xlsx")
    read = {name: _sheet(tmp_path / "t.xlsx", name) for name in ("", "Sheet 0", "Sheet 49", "No")}
    assert [(s.sheet, s.instances) for s in read.values()] == [
        ("Sheet 1", 2),
        ("Sheet 0", 1),
        ("Sheet 49", 50),
        ("No", 0),
    ]
    assert [p.code for p in read["No"].problems] == ["unknown_sheet"]
    assert all(len(s.sheets) == 50 and s.notes for s in list(read.values())[:3])
    no_book = _sheet(written(tmp_path / "t.csv", b"id,gpt,llama\n1,A text.,Another text.\n"), "A")
    assert [p.code for p in no_book.problems] == ["no_sheets"]


def _sheet(path, name):
    with open_table(path, sheet=name) as table:
        reading = TableReading(table)
        list(reading.rows())
        return reading.summary()


@pytest.mark.parametrize("ending", ["csv", "jsonl"])
def test_a_row_of_fifty_megabytes_is_named_and_the_others_are_read(ending, tmp_path):
    path = tmp_path / f"t.{ending}"
    rows = [{"id": i, "gpt": f"A text {i}.", "llama": f"Another text {i}."} for i in range(5)]
    rows[2]["gpt"] = "long " * 10_000_000
    if ending == "csv":
        path.write_bytes(delimited(rows))
    else:
        path.write_text("\n".join(map(json.dumps, rows)))
    summary = summary_of(path)
    row = 4 if ending == "csv" else 3
    assert [(p.row, p.column, p.code) for p in summary.problems] == [(row, "gpt", "text_too_long")]
    assert summary.generations == 8


def test_a_million_rows_are_refused_by_their_number_before_they_are_read(tmp_path):
    with (tmp_path / "t.csv").open("w") as file:
        file.write("id,gpt,llama\n")
        file.writelines(f"{i},A text.,Another text {i}.\n" for i in range(1_000_000))
    tracemalloc.start()
    with open_table(tmp_path / "t.csv", limits=Limits(rows=20_000)) as table:
        reading = TableReading(table)
        assert list(reading.rows()) == []
    most = tracemalloc.get_traced_memory()[1]
    tracemalloc.stop()
    assert [p.code for p in reading.summary().problems] == ["too_many_rows"]
    assert most < 20_000_000
