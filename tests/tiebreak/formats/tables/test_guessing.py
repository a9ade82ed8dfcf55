"""Which column holds what: guessed, and corrected by hand."""

import json
from pathlib import Path

import pytest

from tests.refusals import refused
from tests.tiebreak.formats.tables.cases import CASES, delimited, words
from tiebreak.formats.tables import TableReading, TableSummary, open_table
from tiebreak.formats.tables.names import source_label


def summary_of(path: Path, **choice) -> TableSummary:
    with open_table(path) as table:
        reading = TableReading(table, **choice)
        for _ in reading.rows():
            pass
        return reading.summary()


def written(path: Path, content: bytes) -> Path:
    path.write_bytes(content)
    return path


@pytest.mark.parametrize("name", CASES)
def test_a_table_is_guessed_without_a_correction(name, tmp_path):
    case = CASES[name]
    summary = summary_of(written(tmp_path / name, case.content))
    assert not summary.problems
    assert (summary.plan.layout, dict(summary.plan.columns)) == (case.layout, case.columns)
    assert (summary.instances, summary.generations) == (case.instances, case.generations)


ART = [f"art{k:02}" for k in range(12)]
SHARED = {
    "n° article": (ART, "instance"),
    "référence dossier": (ART, "instance"),
    "doc": (ART, "instance"),
    "no": (range(12), "instance"),
    "question": ([f"What does the mayor want, part {k}?" for k in range(12)], "field:question"),
    "rubrique": (["sport", "ville"] * 6, "category"),
    "niveau": (["B1", "B2", "C1"] * 4, "category"),
    "thème": ([f"thème{k}" for k in range(12)], "category"),
    "âge": (range(20, 32), None),
}


@pytest.mark.parametrize("name", SHARED)
def test_an_id_is_what_occurs_once_for_each_system_beside_a_text_of_its_own(name, tmp_path):
    values, role = SHARED[name]
    rows = [
        {name: value, "texte source": source, "modèle": system, "résumé": words(12)}
        for value, source in [(value, words(30)) for value in values]
        for system in ("mistral-7b", "camembert", "humain")
    ]
    summary = summary_of(written(tmp_path / "t.csv", delimited(rows)))
    roles = {column: role for role, column in summary.plan.columns.items()}
    assert (roles.get(name), roles["texte source"]) == (role, "source")
    assert (summary.n_problems, summary.instances, summary.generations) == (0, 12, 36)
    assert (name in summary.sentence) == (role == "instance")


def wide(tmp_path):
    rows = [
        {"id": i, "a": words(9), "b": words(9), "topic": "news", "note": words(5)} for i in range(8)
    ]
    return written(tmp_path / "t.csv", delimited(rows))


def test_a_chosen_column_is_not_guessed_and_the_others_are(tmp_path):
    summary = summary_of(
        wide(tmp_path), columns={"source": "note", "text:old": "a", "text:new": "b"}
    )
    assert summary.systems == ("old", "new")
    assert dict(summary.plan.columns) == {
        "source": "note",
        "text:old": "a",
        "text:new": "b",
        "instance": "id",
    }


def test_of_a_complete_choice_nothing_is_guessed(tmp_path):
    columns = {"text:old": "a", "text:new": "b"}
    summary = summary_of(wide(tmp_path), columns=columns, is_complete=True)
    assert dict(summary.plan.columns) == columns


def test_a_layout_can_be_chosen(tmp_path):
    rows = [{"item": i, "model": m, "answer": words(9)} for i in range(4) for m in "pq"]
    path = written(tmp_path / "t.csv", delimited(rows))
    assert summary_of(path).plan.layout == "long"
    summary = summary_of(path, layout="wide")
    assert summary.plan.layout == "wide"
    assert summary.systems == ("answer",)


@pytest.mark.parametrize(
    ("choice", "code"),
    [
        ({"layout": "round"}, "unknown_layout"),
        ({"columns": {"author": "a"}}, "unknown_role"),
        ({"columns": {"text:": "a"}}, "unknown_role"),
        ({"columns": {"source": "c"}}, "unknown_column"),
    ],
)
def test_a_choice_that_does_not_exist_is_refused(choice, code, tmp_path):
    with refused(code):
        summary_of(wide(tmp_path), **choice)


@pytest.mark.parametrize(
    ("columns", "code"),
    [
        ({"system": "topic"}, "no_text"),
        ({"text": "a"}, "no_system"),
        ({"text": "a", "system": "topic"}, "no_instance"),
        ({"source": "a"}, "no_text"),
        ({"text_a": "a", "system_a": "id"}, "half_a_pair"),
    ],
)
def test_roles_that_are_missing_are_named(columns, code, tmp_path):
    layout = "long" if {"system", "text"} & columns.keys() else None
    summary = summary_of(wide(tmp_path), layout=layout, columns=columns, is_complete=True)
    assert [problem.code for problem in summary.problems] == [code]
    assert not summary.is_usable


def test_a_table_of_votes_alone_has_no_texts(tmp_path):
    rows = [
        {"question_id": i, "model_a": "p", "model_b": "q", "winner": "model_a"} for i in range(9)
    ]
    summary = summary_of(written(tmp_path / "t.csv", delimited(rows)))
    assert [problem.code for problem in summary.problems] == ["no_text"]


TEXTS = [words(9) for _ in range(3)]
CHAT = [[{"from": "human", "value": "Where?"}, {"from": "gpt", "value": text}] for text in TEXTS]
OPENAI = [
    [{"role": t["from"], "content": [{"type": "text", "text": t["value"]}]} for t in turns]
    for turns in CHAT
]
HARDLY_TEXTS = {
    "words": ["Paris", "Rome", "Oslo"],
    "ids": ["x7Gh2kQz9", "p3Lm8vRt1", "q5Nb6wYu4"],
    "links": [f"https://example.org/{i}/a" for i in range(3)],
    "JSON": [json.dumps({"answer": text}) for text in TEXTS],
    "objects": [[{"score": 1, "text": text}] for text in TEXTS],
    "constant": [TEXTS[0]] * 3,
}


def listed(tmp_path, **columns):
    """Write a table with these columns and an id."""
    rows = [
        {"id": i, **dict(zip(columns, r, strict=True))}
        for i, r in enumerate(zip(*columns.values(), strict=True))
    ]
    return written(tmp_path / "t.json", json.dumps(rows).encode())


@pytest.mark.parametrize("kind", HARDLY_TEXTS)
def test_what_is_hardly_a_text_is_asked_for_and_not_taken(kind, tmp_path):
    path = listed(tmp_path, prompt=TEXTS, output=HARDLY_TEXTS[kind], response=HARDLY_TEXTS[kind])
    summary = summary_of(path)
    assert {problem.code for problem in summary.problems} <= {"doubtful_text", "no_text"}
    assert summary.generations == 0 < summary.n_problems
    if kind != "objects":
        chosen = summary_of(path, columns={"text:x": "output", "text:y": "response"})
        assert (chosen.generations, chosen.problems) == (6, ())


@pytest.mark.parametrize("text", ["彼は駅まで歩いて行きました。", "เขาเดินไปที่สถานีรถไฟ"])
def test_writing_without_spaces_is_no_single_word(text, tmp_path):
    cells = [f"{text}{i}" for i in range(3)]
    assert summary_of(listed(tmp_path, gpt=cells, claude=cells[::-1])).generations == 6


def test_columns_without_a_role_are_always_named(tmp_path):
    path = listed(
        tmp_path,
        story=[words(60) for _ in TEXTS],
        prompt=TEXTS,
        gpt=TEXTS,
        t5=[*map(str.upper, TEXTS)],
    )
    (note,) = summary_of(path).notes
    assert "story" in note
    columns = {"reference": "story", "source": "prompt", "text:a": "gpt", "text:b": "t5"}
    assert not summary_of(path, columns=columns | {"instance": "id"}, is_complete=True).notes


@pytest.mark.parametrize("chats", [CHAT, OPENAI, list(map(json.dumps, CHAT))])
def test_usual_layouts_of_chats_are_read(chats, tmp_path):
    columns = {"instance": "id", "text": "chat", "system": "model"}
    with open_table(listed(tmp_path, chat=chats, model=["gpt"] * 3)) as table:
        found = list(TableReading(table, columns=columns).rows())
    assert [row.generations[0].text for row in found] == TEXTS
    assert {row.instance.source for row in found} == {"Where?"}


@pytest.mark.parametrize("role", ["source", "reference", "category", "text:gpt", "system_a"])
@pytest.mark.parametrize("value", [[{"score": 1}], True, [["nested"]], {}])
def test_what_is_no_text_is_refused_by_row_and_column(role, value, tmp_path):
    others = (
        {"text:t5": "x"} if role != "system_a" else {"text_a": "x", "system_b": "n", "text_b": "x"}
    )
    path = listed(tmp_path, odd=["A text.", value], x=TEXTS[:2], n=["t5"] * 2)
    summary = summary_of(path, columns=others | {role: "odd"}, is_complete=True)
    assert [(p.row, p.column, p.code) for p in summary.problems] == [(2, "odd", "not_a_text")]


def test_a_sample_that_is_true_or_false_is_no_number(tmp_path):
    metadata = [{"do_sample": True}] * 6
    path = listed(
        tmp_path, text=TEXTS * 2, question_id=[0, 1, 2] * 2, model_id=[*"pppqqq"], metadata=metadata
    )
    assert "sample" not in summary_of(path).plan.columns


def test_words_above_columns_of_numbers_are_a_second_header(tmp_path):
    path = listed(
        tmp_path, gpt=TEXTS, t5=TEXTS[::-1], minutes=["How long?", 3, 4], id=["Item", 1, 2]
    )
    assert [(p.row, p.code) for p in summary_of(path).problems] == [(2, "two_headers")]


def test_what_workers_of_mechanical_turk_answered_is_no_text(tmp_path):
    path = listed(tmp_path, **{"Input.summary": TEXTS, "Answer.summary": TEXTS[::-1]})
    assert set(summary_of(path).plan.columns.values()) == {"id", "Input.summary"}


@pytest.mark.parametrize("order", [("c1", "c2", "c3"), ("c3", "c1", "c2")])
def test_columns_of_texts_whose_names_say_nothing_are_asked_for(order, tmp_path):
    columns = {"c1": [words(40) for _ in TEXTS], "c2": TEXTS, "c3": TEXTS[::-1]}
    path = listed(tmp_path, **{name: columns[name] for name in order})
    assert [p.code for p in summary_of(path).problems] == ["unclear_columns"]
    chosen = {"source": "c1", "text:p": "c2", "text:q": "c3"}
    assert summary_of(path, columns=chosen).generations == 6


@pytest.mark.parametrize(
    ("column", "label"),
    [
        ("prompt", "Prompt"),
        ("Instruction", "Instruction"),
        ("writing prompt", "Prompt"),
        ("questions", "Question"),
        ("input.article", "Article"),
        ("Frage", "Frage"),
        ("Bürgerfrage", "Bürgerfrage"),
        ("Customer request", "Request"),
        ("Customer concern", "Customer concern"),
        ("Kunden Anliegen", "Kunden Anliegen"),
        ("anliegen", ""),
        ("Source text", ""),
        ("SRC", ""),
        ("src", ""),
        ("prompt_id", ""),
        ("column 1", ""),
        ("", ""),
    ],
)
def test_a_source_is_labelled_by_its_column_where_its_name_is_a_word_for_it(column, label):
    assert source_label(column) == label


NUMBERS = {
    "words": [8, 106, 45, 8, 61, 45, 12, 106, 61, 45, 12, 8],
    "constant": [2] * 12,
    "counted over all rows": range(12),
    "from 0": [0, 1] * 6,
    "from 1": [1, 2] * 6,
}


@pytest.mark.parametrize("name", ["n_words", "n", "sample"])
@pytest.mark.parametrize("numbers", NUMBERS)
def test_numbers_of_samples_begin_anew_in_each_instance_and_system(numbers, name, tmp_path):
    table = {
        "text": [f"{text} It is number {i}." for i, text in enumerate(TEXTS * 4)],
        "question_id": [f"q{i // 4}" for i in range(12)],
        "model_id": [*"ppqq"] * 3,
        name: [*NUMBERS[numbers]],
    }
    found = summary_of(listed(tmp_path, **table)).plan.columns.get("sample")
    assert found == (name if numbers.startswith("from") else None)


def test_instances_that_cannot_be_compared_are_named_with_the_reason(tmp_path):
    texts = [f"{words(8)} {i}" for i in range(12)]
    texts[1] = texts[0]  # of one instance, which no system wrote differently
    path = listed(
        tmp_path,
        question_id=[*(f"q{i // 2}" for i in range(10)), "left", "alone"],
        model_id=["p", "q"] * 6,
        text=texts,
    )
    notes = [note for note in summary_of(path).notes if "instance" in note]
    assert [{name for name in ("q0", "left", "alone") if name in note} for note in notes] == [
        {"left", "alone"},
        {"q0"},
    ]


def test_a_mark_of_a_missing_text_is_quoted(tmp_path):
    texts = [words(9), "NULL", words(9), words(9)]
    path = listed(tmp_path, prompt=[words(5) for _ in range(4)], gpt=texts, t5=texts[::-1])
    found = [p.reason for p in summary_of(path).problems if p.code == "missing_text"]
    assert found
    assert all("“NULL”" in reason for reason in found)
