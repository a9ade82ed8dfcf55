"""Tables in which a cell stands once for a block of rows: empty below its first row, or merged."""

import csv

import openpyxl
import pytest

from tests.tiebreak.formats.tables.test_guessing import summary_of
from tiebreak import analyze
from tiebreak.errors import DomainError
from tiebreak.formats.layouts import Choice, read_existing

SYSTEMS = ("river-2b", "meadow-7b")
TASKS = ["recipe", "letter", "riddle", "poem", "list", "recipe"]
HEADER = ["No.", "Kind of task", "Request", "Model", "Reply", "seen by"]


def block(k, systems=SYSTEMS, of=lambda k, name: f"The {name} says {k} times that tea is warm."):
    """The rows of one request, of which only the first has number, kind and request."""
    head = [k + 1, TASKS[k], f"Write the tea house {k} a friendly line about its tea."]
    checks = ["P", "", "Q", "", ""]
    return [
        [*(head if n == 0 else ["", "", ""]), name, of(k, name), checks[(k + n) % 5]]
        for n, name in enumerate(systems)
    ]


def rows(systems=SYSTEMS):
    return [row for k in range(len(TASKS)) for row in block(k, systems)]


def write(path, lines, header=HEADER):
    with path.open("w", newline="") as file:
        csv.writer(file).writerows([header, *lines])
    return path


def write_merged(path, lines, size, columns="ABC", header=HEADER):
    book = openpyxl.Workbook()
    for line in [header, *lines]:
        book.active.append([cell if cell != "" else None for cell in line])
    for column in columns:
        for first in range(2, len(lines) + 2, size):
            book.active.merge_cells(f"{column}{first}:{column}{first + size - 1}")
    book.save(path)
    return path


def codes(summary):
    return [problem.code for problem in summary.problems]


@pytest.mark.parametrize("systems", [SYSTEMS, (*SYSTEMS, "brook-1b", "hill-9b")])
def test_empty_cells_below_a_value_are_asked_about_and_then_filled(tmp_path, systems):
    path = write(tmp_path / "t.csv", rows(systems))
    asked = summary_of(path)
    assert codes(asked) == ["empty_below"]
    assert asked.empty_below == tuple(HEADER[:3])
    read = summary_of(path, fill_down=asked.empty_below)
    assert codes(read) == []
    assert (read.instances, read.compared, read.generations) == (6, 6, 6 * len(systems))
    assert read.plan.columns["instance"] == "No."
    n = 3 * 6 * (len(systems) - 1)
    assert any(note.startswith(f"{n} empty cells") for note in read.notes)


def test_systems_that_stand_once_for_their_samples_are_filled_too(tmp_path):
    lines = []
    for k in range(6):
        for row in block(k):
            lines += [[*row[:5], 1], ["", "", "", "", f"{row[4]} And again.", 2]]
    path = write(tmp_path / "t.csv", lines, [*HEADER[:5], "sample"])
    asked = summary_of(path).empty_below
    assert asked == tuple(HEADER[:4])
    read = summary_of(path, fill_down=asked)
    assert (codes(read), read.instances, read.compared, read.generations) == ([], 6, 6, 24)


def test_merged_cells_are_filled_by_themselves_and_counted(tmp_path):
    read = summary_of(write_merged(tmp_path / "t.xlsx", rows(), 2))
    assert (codes(read), read.instances, read.compared) == ([], 6, 6)
    assert any(note.startswith("18 merged cells") for note in read.notes)


def test_no_cell_takes_a_value_from_beyond_a_row_that_could_not_be_read(tmp_path):
    lines = rows()
    lines[2] = [*lines[2], "one", "too", "many"]
    del lines[1]  # so that the text below the row would fit the request above it
    read = summary_of(write(tmp_path / "t.csv", lines), fill_down=HEADER[:3])
    assert [problem.row for problem in read.problems] == [3, 4]
    assert (read.problems[0].code, read.compared) == ("wrong_cell_count", 4)


@pytest.mark.parametrize("empty", [3, 5])
def test_cells_that_are_merely_empty_are_not_asked_about(tmp_path, empty):
    lines = [[*row] for k in range(6) for row in block(k)]
    for n, row in enumerate(lines):
        row[:3] = block(n // 2)[0][:3]
    for n in (1, 4, 6, 7, 9):
        lines[n][empty] = ""
    assert summary_of(write(tmp_path / "t.csv", lines)).empty_below == ()


def test_texts_and_labels_are_never_made_up(tmp_path):
    path = write(tmp_path / "t.csv", rows())
    with pytest.raises(DomainError) as refused:
        summary_of(path, fill_down=["No.", "Kind of task", "Request", "Reply"])
    assert refused.value.code == "fills_texts"
    with pytest.raises(DomainError) as refused:
        read_existing(ratings(), choice=Choice(fill_down=("item", "score")))
    assert refused.value.code == "fills_labels"


def test_a_category_that_stands_as_a_heading_of_prompts_is_asked_about(tmp_path):
    kinds = ["recipe", "", "", "letter", "", "riddle", "", ""]
    lines = [[kind, f"Write the tea house {k} a friendly line."] for k, kind in enumerate(kinds)]
    path = write(tmp_path / "t.csv", lines, ["category", "prompt"])
    assert summary_of(path).empty_below == ("category",)
    assert summary_of(path, fill_down=["category"]).instances == 8


def ratings(unit="item", rater="rater", label="score"):
    return [
        {unit: f"i{k}" if n == 0 else None, rater: who, label: (k * (n + 2)) % 5 + 1}
        for k in range(8)
        for n, who in enumerate(("ada", "bo", "cy"))
    ]


@pytest.mark.parametrize("names", [{}, {"unit": "unit", "rater": "rater", "label": "label"}])
def test_items_that_stand_once_for_their_ratings_are_asked_about(tmp_path, names):
    lines = ratings(**names)
    unit = names.get("unit", "item")
    path = write(tmp_path / "t.csv", [[*row.values()] for row in lines], [*lines[0]])
    for source in (lines, path):
        with pytest.raises(DomainError) as asked:
            read_existing(source)
        assert asked.value.code == "empty_below"
        assert asked.value.columns == (unit,)
        read = read_existing(source, choice=Choice(fill_down=(unit,)))
        assert len(read.table) == 24
        assert len(read.table.coded("unit").used) == 8
        assert any(note.startswith("16 empty cells") for note in read.notes)
    report = analyze(lines, fill_down=[unit], replicates=0)
    assert next(iter(report.criteria.values())).n_units == 8


def test_merged_items_of_ratings_are_filled_by_themselves(tmp_path):
    lines = ratings()
    cells = [["" if cell is None else cell for cell in row.values()] for row in lines]
    path = write_merged(tmp_path / "t.xlsx", cells, 3, "A", [*lines[0]])
    assert len(read_existing(path).table.coded("unit").used) == 8


def long_rows(n=20):
    """Rows of two systems with their prompts, and marks that a few rows have of somebody's checks."""
    for k in range(n):
        for i, name in enumerate(SYSTEMS):
            text = f"The {name} pours tea number {k} for everybody."
            yield [f"Pour the tea number {k}, please.", name, text, ["1", "2", ""][(k + i) % 3]]


@pytest.mark.parametrize("name", ["no", "item", "checked by"])
@pytest.mark.parametrize("has_prompts", [True, False])
def test_a_column_with_few_values_and_empty_cells_is_no_id(tmp_path, name, has_prompts):
    lines = [row if has_prompts else [k, *row[1:]] for k, row in enumerate(long_rows())]
    path = write(
        tmp_path / "t.csv", lines, ["prompt" if has_prompts else "x", "model", "reply", name]
    )
    assert summary_of(path).plan.columns.get("instance") != name


def test_without_ids_a_row_needs_its_source_and_no_reason_names_an_id(tmp_path):
    lines = [row[:3] for row in long_rows()]
    lines[5][0] = lines[11][0] = lines[12][0] = ""
    read = summary_of(write(tmp_path / "t.csv", lines, ["prompt", "model", "reply"]))
    assert [(p.row, p.code) for p in read.problems] == [(k, "empty_source") for k in (7, 13, 14)]
    topics = [[*row[:3], "tea" if k != 9 else "soup"] for k, row in enumerate(long_rows())]
    header = ["prompt", "model", "reply", "topic"]
    path = write(tmp_path / "t.csv", topics, header)
    roles = {"source": "prompt", "system": "model", "text": "reply", "category": "topic"}
    (problem,) = summary_of(path, columns=roles).problems
    assert (problem.row, problem.column, problem.code) == (11, "prompt", "duplicate_id")
    assert "“" not in problem.reason


def test_a_column_that_says_who_won_is_left_out_and_asked_about_by_nobody(tmp_path):
    lines = [
        [f"Name tea {k}.", f"Tea {k} is green and mild.", f"It is tea {k}, a black one.", "river"]
        for k in range(12)
    ]
    for k in (2, 5, 7):
        lines[k][3] = "meadow"
    path = write(tmp_path / "t.csv", lines, ["prompt", "out_river", "out_meadow", "winner_gpt4"])
    read = summary_of(path)
    assert (codes(read), read.compared) == ([], 12)
    assert "winner_gpt4" not in read.plan.columns.values()
    assert sum("winner_gpt4" in note for note in read.notes) == 2


def with_groups(path, groups, areas, lines):
    book = openpyxl.Workbook()
    for line in [groups, HEADER, *lines]:
        book.active.append([cell if cell != "" else None for cell in line])
    for area in areas:
        book.active.merge_cells(area)
    book.save(path)
    return summary_of(path, fill_down=HEADER[:3])


def test_merged_names_of_groups_above_the_names_of_columns_are_left_out(tmp_path):
    groups = ["What was asked", "", "", "What came", "", ""]
    read = with_groups(tmp_path / "t.xlsx", groups, ["A1:C1", "D1:F1"], rows())
    assert (codes(read), read.instances, read.compared) == ([], 6, 6)
    assert read.left_out["above_header"] == 1


@pytest.mark.parametrize(
    ("groups", "areas"),
    [
        (["Asked", "", "", "Model", "Reply", "seen"], ["A1:C1"]),  # names of columns beside it
        (["Asked", "", "", "Came", "", ""], ["A1:C1"]),
        (["Asked", "", "", "Came", "", ""], ["A1:C1", "D1:E1"]),  # a name below nothing
    ],
)
def test_other_merged_cells_above_are_named(tmp_path, groups, areas):
    read = with_groups(tmp_path / "t.xlsx", groups, areas, rows())
    assert "merged_cells" in codes(read)


def test_no_row_of_texts_is_taken_for_names_of_columns(tmp_path):
    lines = [
        [
            f"Please write number {k} of the lines about tea that we agreed on.",
            "x",
            f"Tea {k} {'is warm ' * 12}",
            "y",
        ]
        for k in range(6)
    ]
    book = openpyxl.Workbook()
    for line in [["Request", None, "Reply", None], *lines]:
        book.active.append(line)
    book.active.merge_cells("A1:B1")
    book.active.merge_cells("C1:D1")
    book.save(tmp_path / "t.xlsx")
    assert "merged_cells" in codes(summary_of(tmp_path / "t.xlsx"))
