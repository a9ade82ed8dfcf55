"""Tables as people keep them: with titles, notes, totals and rows that are there twice."""

import csv

import openpyxl
import pytest

from tests.tiebreak.formats.tables.test_guessing import summary_of
from tiebreak.formats.layouts import read_existing
from tiebreak.formats.tables import TableReading, open_table

HEADER = ["Lfd. Nr.", "Kundenanfrage", "Antwort gpt-4o", "Antwort Llama 3 ", "Antwort Mistral (FT)"]
ROWS = [
    [i, f"Wo ist mein Paket {i}?", f"Es ist heute {i} da.", f"Morgen um {i}.", f"Ganz bald, {i}."]
    for i in range(1, 13)
]
TITLE, NOTE = ["Auswertung, Runde 2"], ["Stand:", "Oktober"]
ABOVE = {
    "title": [TITLE],
    "title and empty row": [TITLE, []],
    "centred title": [["", "", *TITLE]],
    "notes": [TITLE, NOTE, ["Von Ute"], [], []],
    "empty rows first": [[], [], TITLE, []],
}


def write_csv(path, rows):
    with path.open("w", newline="") as file:
        csv.writer(file, delimiter=";").writerows(rows)


def write_padded(path, rows):
    write_csv(path, [[*row, *[""] * (len(HEADER) - len(row))] for row in rows])


def write_excel_csv(path, rows):
    write_csv(path, rows)
    path.write_text("sep=;\n" + path.read_text())


def write_workbook(path, rows, **others):
    book = openpyxl.Workbook()
    book.active.title = "Texte"
    for row in rows:
        book.active.append(row)
    for name, lines in others.items():
        sheet = book.create_sheet(name, 0)
        for line in lines:
            sheet.append(line)
    book.save(path)


WRITERS = {
    "t.csv": write_csv,
    "padded.csv": write_padded,
    "excel.csv": write_excel_csv,
    "t.xlsx": write_workbook,
}


def codes(summary):
    return [problem.code for problem in summary.problems]


@pytest.mark.parametrize("name", WRITERS)
@pytest.mark.parametrize("above", ABOVE)
def test_what_stands_above_the_header_is_left_out_and_counted(above, name, tmp_path):
    WRITERS[name](tmp_path / name, [*ABOVE[above], HEADER, *ROWS])
    summary = summary_of(tmp_path / name)
    assert codes(summary) == []
    assert (summary.instances, summary.generations) == (12, 36)
    assert summary.left_out == {"above_header": len(ABOVE[above])}
    scores = [[f"x{i}", *((i + k) % 5 + 1 for k in range(3))] for i in range(12)]
    WRITERS[name](tmp_path / name, [*ABOVE[above], ["id", "ann1", "ann2", "ann3"], *scores])
    assert len(read_existing(tmp_path / name).table) == 36


@pytest.mark.parametrize("name", WRITERS)
def test_a_first_row_with_names_or_texts_is_no_title(name, tmp_path):
    for rows in ([HEADER, *ROWS], [HEADER, TITLE, *ROWS], [["id", "gpt"], *ROWS]):
        WRITERS[name](tmp_path / name, rows)
        assert "above_header" not in summary_of(tmp_path / name).left_out
    prompts = [["Prompt"], *([f"Write a poem, number {i}"] for i in range(9))]
    (tmp_path / "p.csv").write_text("\n".join(line for (line,) in prompts))
    assert "above_header" not in summary_of(tmp_path / "p.csv").left_out


def test_merged_cells_matter_only_below_the_header(tmp_path):
    write_workbook(tmp_path / "t.xlsx", [TITLE, HEADER, *ROWS])
    book = openpyxl.load_workbook(tmp_path / "t.xlsx")
    book.active.merge_cells("A1:E1")
    book.save(tmp_path / "t.xlsx")
    assert codes(summary_of(tmp_path / "t.xlsx")) == []
    book.active.merge_cells("B4:C4")
    book.save(tmp_path / "t.xlsx")
    assert "merged_cells" in codes(summary_of(tmp_path / "t.xlsx"))


@pytest.mark.parametrize("notes", [[["Export"]], [["Hinweise"], ["Von Ute"], ["Bitte lesen"]]])
def test_the_first_sheet_with_a_table_is_read(notes, tmp_path):
    write_workbook(tmp_path / "t.xlsx", [HEADER, *ROWS], Hinweise=notes)
    assert summary_of(tmp_path / "t.xlsx").sheet == "Texte"
    write_workbook(tmp_path / "notes.xlsx", [], Hinweise=notes)
    assert summary_of(tmp_path / "notes.xlsx").sheet == "Hinweise"


README = [["Field", "Description"], ["Kundenanfrage", "What the customer wrote to us, as it came."]]
METRICS = [["system", "BLEU", "ROUGE-L"], *[[f"model {k}", k / 7, k / 9] for k in range(1, 5)]]
RATINGS = [
    ["item", "rater", "label"],
    *[[k, r, k % 3 + 1] for k in range(9) for r in ("Ute", "Jan")],
]
SHEETS = {"readme": README, "metrics": METRICS, "texts": [HEADER, *ROWS], "ratings": RATINGS}


def workbook_of(path, *names):
    book = openpyxl.Workbook()
    book.remove(book.active)
    for name in names:
        sheet = book.create_sheet(name)
        for row in SHEETS[name]:
            sheet.append(row)
    book.save(path)
    return path


@pytest.mark.parametrize(
    ("names", "texts", "ratings"),
    [
        (("readme", "metrics", "texts"), "texts", None),
        (("metrics", "texts"), "texts", None),
        (("texts", "readme"), "texts", None),
        (("readme", "ratings"), None, "ratings"),
        (("texts", "metrics", "ratings"), "texts", "ratings"),
        (("ratings", "readme", "texts"), "texts", "ratings"),
        (("readme", "metrics"), "readme", None),
    ],
)
def test_of_a_workbook_the_sheet_with_the_texts_or_ratings_is_read_and_said(
    names, texts, ratings, tmp_path
):
    path = workbook_of(tmp_path / "t.xlsx", *names)
    if texts:
        summary = summary_of(path)
        assert (summary.sheet, summary.sheets) == (texts, names)
        assert any(f"“{texts}”" in note for note in summary.notes)
    if ratings:
        read = read_existing(path)
        assert len(read.table) == 18
        assert any(f"“{ratings}”" in note for note in read.notes)


def test_a_hidden_sheet_is_not_chosen(tmp_path):
    path = workbook_of(tmp_path / "t.xlsx", "readme", "texts")
    book = openpyxl.load_workbook(path)
    book["texts"].sheet_state = "hidden"
    book.save(path)
    assert summary_of(path).sheet == "readme"


@pytest.mark.parametrize("has_ids", [True, False])
def test_an_odd_text_is_named_by_its_instance_and_its_row(has_ids, tmp_path):
    rows = [
        [
            f"i{k}",
            f"Question {k}?",
            *[f"Parcel {k} of {name} is on its way and will be with you soon." for name in "ab"],
        ]
        for k in range(20)
    ]
    rows[6][2] = "ERROR: rate limit"
    header = ["id", "question", "answer gpt", "answer llama"]
    path = tmp_path / "t.csv"
    start = 0 if has_ids else 1
    path.write_text("\n".join(",".join(row[start:]) for row in [header, *rows]))
    (note,) = [note for note in summary_of(path).notes if "(row" in note]
    assert f"instance {'i6' if has_ids else 7} (row 8)" in note


@pytest.mark.parametrize("name", WRITERS)
def test_totals_and_repeated_rows_are_left_out_and_named(name, tmp_path):
    rows = [HEADER, *ROWS, ROWS[4], ["Summe", "", "", "", 12]]
    WRITERS[name](tmp_path / name, rows)
    with open_table(tmp_path / name) as table:
        reading = TableReading(table)
        list(reading.rows())
    assert codes(reading.summary()) == []
    assert reading.summary().left_out == {"repeated_rows": 1, "total_rows": 1}
    assert reading.problems.left_out_rows == {"repeated_rows": [14], "total_rows": [15]}
    assert reading.summary().instances == 12


def test_rows_with_problems_are_named_before_they_are_left_out(tmp_path):
    one = [*ROWS[:3], [4, "Wo ist es?", "Es ist da.", "Bald.", ""], *ROWS[4:]]
    write_csv(tmp_path / "t.csv", [HEADER, *one])
    losses = summary_of(tmp_path / "t.csv").losses
    assert losses.startswith("1 text (row 5: ")
    assert "Mistral (FT)" in losses
    write_csv(tmp_path / "t.csv", [HEADER, *one, [13, "Wo?", "", "", "Da."]])
    summary = summary_of(tmp_path / "t.csv")
    assert summary.losses == "1 text (row 5) and 1 row (row 14)"
    assert summary.counted_losses == "1 text and 1 row"


@pytest.mark.parametrize("mark", ["", "n/a"])
def test_a_row_keeps_its_other_texts_if_two_can_be_compared(mark, tmp_path):
    write_csv(tmp_path / "t.csv", [HEADER, *ROWS[:11], [12, "Wo?", "Am Markt.", "Im Haus.", mark]])
    with open_table(tmp_path / "t.csv") as table:
        reading = TableReading(table)
        *_, last = reading.rows()
    assert [text.text for text in last.generations] == ["Am Markt.", "Im Haus."]
    (problem,) = reading.summary().problems
    assert (problem.row, problem.column, problem.keeps_row) == (13, HEADER[4], True)
    assert reading.summary().instances == reading.summary().compared == 12


FOOTER = ["12 Fragen", "", "", "", ""]


@pytest.mark.parametrize("name", WRITERS)
def test_notes_below_a_table_are_left_out_and_named(name, tmp_path):
    WRITERS[name](tmp_path / name, [HEADER, *ROWS, FOOTER, ["Stand: Oktober", "", "", "", ""]])
    with open_table(tmp_path / name) as table:
        reading = TableReading(table)
        list(reading.rows())
    assert codes(reading.summary()) == []
    assert reading.problems.left_out_rows == {"footer_rows": [14, 15]}


def test_statistics_below_texts_are_left_out_and_named(tmp_path):
    write_csv(tmp_path / "t.csv", [HEADER, *ROWS, ["Median", "", 71, 64.5, 80], FOOTER])
    with open_table(tmp_path / "t.csv") as table:
        reading = TableReading(table)
        list(reading.rows())
    assert codes(reading.summary()) == []
    assert reading.problems.left_out_rows == {"total_rows": [14], "footer_rows": [15]}


@pytest.mark.parametrize(
    "rows",
    [
        [*ROWS[:4], FOOTER, *ROWS[4:], FOOTER],  # as in the middle, where it would be no footer
        [*ROWS, [13, "", "", "", ""]],
        [*ROWS, ["x" * 61, "", "", "", ""]],
    ],
)
def test_an_unfinished_row_is_no_note_below_the_table(rows, tmp_path):
    write_csv(tmp_path / "t.csv", [HEADER, *rows])
    assert summary_of(tmp_path / "t.csv").left_out == {}
    assert set(codes(summary_of(tmp_path / "t.csv"))) == {"empty_text"}


@pytest.mark.parametrize(
    ("columns", "systems"),
    [
        (HEADER[2:], ("gpt-4o", "Llama 3", "Mistral (FT)")),
        (["Answer A", "Answer B"], ("Answer A", "Answer B")),
        (["Llama 3 Large", "Llama 3 Small"], ("Llama 3 Large", "Llama 3 Small")),
        (["Answer gpt-4o", "Reply Llama 3"], ("Answer gpt-4o", "Reply Llama 3")),
    ],
)
def test_systems_lose_the_first_word_that_their_columns_share(columns, systems, tmp_path):
    n = 2 + len(columns)
    write_csv(tmp_path / "t.csv", [[*HEADER[:2], *columns], *(row[:n] for row in ROWS)])
    assert summary_of(tmp_path / "t.csv").systems == systems


@pytest.mark.parametrize("name", ["lfd", "none"])
def test_a_source_that_is_there_again_is_said_with_both_rows(name, tmp_path):
    path = tmp_path / "t.csv"
    again = [[13, ROWS[3][1], "Nein.", "Ja.", "Weiß nicht."], [14, "", "Nein.", "Ja.", "Doch."]]
    rows = [HEADER, *ROWS, *again, [15, "", "Gut.", "Schlecht.", "Egal."]]
    write_csv(path, [row[name == "none" :] for row in rows])
    (note,) = [note for note in summary_of(path).notes if "earlier" in note]
    assert note == (
        "1 instance has the source of an earlier one, too: instance 13 (row 14) that of instance 4"
        " (row 5)."
    )
    write_csv(path, [HEADER, *ROWS])
    assert not any("earlier" in note for note in summary_of(path).notes)
