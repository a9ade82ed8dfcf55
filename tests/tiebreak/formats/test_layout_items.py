"""The rules by which a table of ratings says what was rated."""

import re

import pytest

from tests.refusals import refused
from tests.tiebreak.formats.labelled_rows import labels_of, long
from tiebreak.errors import DomainError, InvalidInput
from tiebreak.formats import write_rows
from tiebreak.formats.errors import FormatError
from tiebreak.formats.layouts import Choice, read_existing


@pytest.mark.parametrize("at", [1, 4])
@pytest.mark.parametrize("has_items", [False, True])
def test_a_row_that_is_there_twice_is_named_and_changes_no_layout(at, has_items):
    columns = ["user_id", *"1234"] if has_items else ["item", "ann1", "ann2", "ann3"]
    rows = [dict(zip(columns, ["abcdef"[k], 1, k % 2, k % 3, k], strict=False)) for k in range(6)]
    read = read_existing([*rows[:at], rows[0], *rows[at:]])
    once = read_existing(rows)
    assert read.columns == once.columns
    assert len(read.table) == len(once.table)
    (note,) = {*read.notes} - {*once.notes}
    assert str(at + 1) in note
    # Nothing names the items, so equal rows may be two of them.
    unnamed = [{name: row[name] for name in columns[1:]} for row in [*rows, rows[0]]]
    if not has_items:
        assert len(set(read_existing(unnamed).table["unit"])) == 7


RATED = [{"item": f"i{k}", "ann1": k, "ann2": k} for k in range(1, 6)]
BELOW = {
    "Total": (15, 15),
    "Mean": (3.0, 3.2),
    "Std. Dev.": (1.4, 1.6),
    "Median:": (3, 3),
    "n": (5, 5),
    "Cohen's kappa": (0.81, ""),
    "Inter-annotator agreement": ("85%", ""),
    "Mittelwert": ("3,0", "3,2"),
    "": (3.0, 3.2),  # spreadsheets have formulas there, often without a name
}


@pytest.mark.parametrize("name", BELOW)
def test_statistics_below_a_table_are_no_items_and_are_said(name):
    rows = [*RATED, dict(zip(("item", "ann1", "ann2"), (name, *BELOW[name]), strict=True))]
    read = read_existing(rows)
    assert labels_of(rows) == labels_of(RATED)
    assert read.sentence == read_existing(RATED).sentence
    assert any("(row 6)" in note for note in read.notes if "total" in note)


@pytest.mark.parametrize(
    "last", [{"item": "n", "ann1": 3, "ann2": ""}, {"item": "i9", "ann1": 2.5}]
)
def test_what_other_items_follow_is_an_item_and_so_is_what_has_another_name(last):
    rows = [*RATED, {"ann2": 2} | last]
    follows = [*rows, RATED[0] | {"item": "i0"}] if last["item"] == "n" else rows
    assert (last["item"], "ann1") in {(unit, rater) for _, unit, rater in labels_of(follows)}


def test_a_ratings_file_of_many_rows_is_read_as_it_is(tmp_path):
    rows = [
        {"unit": f"u{k}", "rater": f"batch/gpt-4/{r}", "label": k % 2}
        for k in range(9)
        for r in "12"
    ]
    for ending in ("csv", "jsonl", "parquet"):
        write_rows(tmp_path / f"r.{ending}", rows, ["unit", "rater", "label"])
        read = read_existing(tmp_path / f"r.{ending}")
        assert (read.reader, len(read.table), set(read.table["kind"])) == ("ratings", 18, {"human"})


def test_what_each_rater_labelled_once_is_the_item_if_the_rest_follows_from_it():
    rows = [
        {"annotator": r, "word": f"w{k}", "place": f"p{k // 2}", "score": (k + len(r)) % 3}
        for r in ("ann", "benno")
        for k in range(8)
    ]
    assert {unit for _, unit, _ in labels_of(rows)} == {f"w{k}" for k in range(8)}
    for k, row in enumerate(rows):
        row |= {"word": f"v{k}", "place": f"p{k % 8}"}  # each rater has words of her own
    with refused("no_unit", DomainError):
        read_existing(rows)


def shown(**more):
    """Return rows of three raters, of whom two saw one thing of each sentence and one another."""
    rows = []
    for k in range(6):
        for r, annotator in enumerate(("ann", "ben", "eva")):
            other = "old" if (r + k) % 3 else "new"
            winner = (other, "ours", "similar")[(k + r // 2) % 3]
            row = {"sentence_id": k, "annotator": annotator, "winner": winner}
            rows.append(row | {name: make(k, r, other) for name, make in more.items()})
    return rows


def a_text(k, r, other):
    return f"The text number {k} of {other} has several words."


@pytest.mark.parametrize(
    "more",
    [
        {"against": lambda k, r, other: other},  # which is a side, without a text
        {"question": lambda k, r, other: f"Is it {other} or ours?"},
    ],
)
def test_what_was_compared_names_the_item_with_the_sentence(more):
    for columns in ({}, {"label": "winner"}):
        assert len({unit for _, unit, _ in labels_of(shown(**more), columns=columns)}) == 12


@pytest.mark.parametrize(
    "more",
    [
        {"copy": lambda k, r, other: (other, "ours", "similar")[(k + r // 2) % 3]},
        {"recoded": lambda k, r, other: (other, "none", "none")[(k + r // 2) % 3]},
        {
            "winner": lambda k, r, other: (1 + (other == "new"), 3, 4)[(k + r // 2) % 3],
            "rounds": lambda k, r, other: 1 + (other == "new"),
        },
        {
            "answer": lambda k, r, other: (other, "ours")[(k + r) % 2],
            "winner": lambda *_: None,
            "mind": lambda k, r, other: other,
        },
        {"runner_up": lambda k, r, other: ("ours", "old", "new")[(k + r) % 3]},
        {"feedback": a_text},
        {"reason": a_text},
        {"wording": lambda k, r, other: f"What rater {r} wrote of {k} herself"},
        {"room": lambda k, r, other: f"The room of group {r // 2}"},
        {"text": lambda k, r, other: f"What sentence {k} says is seen by all"},
    ],
)
def test_what_raters_say_of_an_item_does_not_name_it(more):
    assert len({unit for _, unit, _ in labels_of(shown(**more))}) == 6


@pytest.mark.parametrize(
    ("name", "make"),
    [
        ("wording", a_text),
        ("response", a_text),
        ("sentence", a_text),
        ("translation", lambda k, r, other: f"The text {k} by system {r} here"),
        ("answer", lambda k, r, other: f"The answer {k} by system {r} here"),
    ],
)
def test_texts_that_raters_may_have_seen_or_written_are_asked_for(name, make):
    rows = shown(**{name: make})
    agreed = shown(**{name: make, "winner": lambda k, r, other: other})
    for some in (rows, agreed):
        with refused("unclear_unit", DomainError):
            read_existing(some)
    assert len(read_existing(rows, choice=Choice(left_out=(name,))).table) == 18
    assert len({unit for _, unit, _ in labels_of(rows, columns={"unit": name})}) in (12, 18)


def test_who_is_called_annotator_rated_what_users_wrote():
    rows = [row | {"user": "abcd"[k % 4]} for k, row in enumerate(long([1, 2, 3, 1]))]
    for some in (rows, [dict(reversed(row.items())) for row in rows]):
        assert {rater for *_, rater in labels_of(some)} == {"ann", "ben"}


def test_a_title_above_the_header_is_left_out(tmp_path):
    (path := tmp_path / "t.csv").write_text("Our study\nid,ann1,ann2\n" + "x,1,2\ny,2,1\n" * 6)
    rows = [f"{k},1,2" for k in range(12)]
    path.write_text("\n".join(["Our study", "id,ann1,ann2", *rows]))
    assert len(labels_of(path)) == 24
    path.write_text("\n".join(["text", *rows]))  # whose rows have commas
    with pytest.raises(FormatError):
        read_existing(path)


@pytest.mark.parametrize(
    "name", ["summary_{}_{}", "Text {} {}", "{1}_{0}", "{1} {0}", "S{}-{}", "{1}_text{0}"]
)
def test_columns_of_texts_and_criteria_are_items_where_a_row_is_a_rater_s(name):
    rows = [
        {
            "annotator": f"a{r}",
            **{name.format(t, c): t + r for t in (1, 2, 3) for c in ("fluency", "style")},
        }
        for r in range(4)
    ]
    found = labels_of(rows)
    assert {key[0] for key in found} == {"fluency", "style"}
    assert len({item for _, item, _ in found}) == 3
    read = read_existing(rows)
    assert labels_of(rows, columns=read.columns) == found
    beside = [row | {"sample": s} for row in rows for s in "xy"]
    assert len({item for _, item, _ in labels_of(beside)}) == 6


@pytest.mark.parametrize("name", ["{0}_{1}", "{1} {0}", "{1}-{0}"])
def test_columns_of_systems_and_usual_criteria_are_items_where_another_names_the_rater(name):
    criteria = ("fluency", "style quality")
    rows = [
        {"annotator": f"a{r}", "doc": f"d{d}"}
        | {name.format(s, c): r + d for s in ("llama", "gpt4", "ours") for c in criteria}
        for r in range(3)
        for d in range(4)
    ]
    found = labels_of(rows)
    assert {key[0] for key in found} == {*criteria}
    assert len({item for _, item, _ in found}) == 12
    other = {"llama": "overall", "gpt4": "rating", "ours": "score"}  # which are no systems
    of_one = [
        {re.sub("|".join(other), lambda m: other[m[0]], k): v for k, v in row.items()}
        for row in rows
    ]
    assert len({item for _, item, _ in labels_of(of_one)}) == 4


@pytest.mark.parametrize(
    "lines",
    [
        ["im1\tcap1\t3\t3\t1", "im2\tcap2\t1\t2\t4", "im3\tcap1\t2\t2\t2"],
        ["1,1,2", "2,3,3", "1,2,2"],
    ],
)
def test_a_table_without_titles_is_asked_for_and_loses_no_row(tmp_path, lines):
    path = tmp_path / "scores.txt"
    path.write_text("\n".join(lines))
    with refused("no_rater", DomainError):
        read_existing(path)
    last = lines[0].count("\t") + lines[0].count(",") + 1
    columns = {f"rater:{k}": f"column {k}" for k in (last - 1, last)}
    read = read_existing(path, choice=Choice(columns=columns))
    assert len(read.table) == 2 * len(lines)
    assert any("columns are called" in note for note in read.notes)


def test_what_a_codebook_in_brackets_names_is_no_system():
    words = ["human", "model", "model", "human", "model", "human"]
    rows = long([1, 2, 3, 4, 2, 1], **{"rating of origin (human/model)": words})
    assert "system_a" not in read_existing(rows).columns


@pytest.mark.parametrize("item", ["record", "picture name", "entry"])
def test_numbers_beside_criteria_on_their_scale_are_criteria_and_the_rest_names_the_item(item):
    rows = [
        {item: f"r{k}", "annotator": rater, "readability": (k + r) % 4, "openness": (k * r) % 4}
        | {"score": (k + 2 * r) % 4, "length of it": k % 4, "right": (k + r) % 2}
        for k in range(12)
        for r, rater in enumerate(("ann", "ben", "cy"), start=1)
    ]
    table = read_existing(rows).table
    assert {*table["criterion"]} == {"readability", "openness", "score"}
    assert {*table["unit"]} == {f"r{k}" for k in range(12)}


@pytest.mark.parametrize("raters", [("ann", "ben"), ("form@gpt-4o", "form@claude-3")])
@pytest.mark.parametrize("part", ["domain", "section", "turn"])
def test_a_part_of_what_is_rated_names_the_item_and_the_model_of_a_machine_does_not(raters, part):
    rows = [
        {"question_id": f"q{k // 4}", part: k % 4 + 1, "rater": rater, "judgment": "lmh"[k * r % 3]}
        | {"model": f"m{k % 2 if 'ann' in raters else r}"}
        for k in range(20)
        for r, rater in enumerate(raters, start=1)
    ]
    read = read_existing(rows)
    assert len({*read.table["unit"]}) == 20
    assert ("system_a" in read.columns) == ("ann" in raters)
    if "ann" in raters:  # who may have rated one system each
        with pytest.raises((DomainError, InvalidInput)):
            read_existing([row | {"model": f"m {row['rater']}"} for row in rows])


def test_columns_of_systems_are_items_and_no_criteria_where_another_names_the_rater():
    rows = [
        {"question_id": f"q{k}", "annotator": rater, "gpt-4o": (k + r) % 4, "llama": k * r % 4}
        for k in range(12)
        for r, rater in enumerate(("ann", "ben"), start=1)
    ]
    found = labels_of(rows)
    assert {criterion for criterion, *_ in found} == {"preference"}
    assert len({item for _, item, _ in found}) == 24
    assert labels_of(rows, columns=read_existing(rows).columns) == found


def test_a_row_in_which_nobody_has_a_label_is_no_item_and_lacks_no_rating():
    rows = [*RATED, {"item": "i9", "ann1": "", "ann2": None}, {"item": "i8", "ann1": 2, "ann2": ""}]
    read, without = read_existing(rows), read_existing([*rows[:5], rows[6]])
    assert (len(set(read.table["unit"])), len(read.table), read.missing) == (6, 11, 1)
    assert read.missing == without.missing
    assert len({*read.notes} - {*without.notes}) == 1


def crossed(name, *, cells=("joy", "fear", "anger"), judges=("ann", "ben"), **more):
    """Return rows in which each rater labels each clip once for each cell of a column."""
    rows = [(k, cell, who) for k in range(5) for cell in cells for who in judges]
    return [
        {"annotation_id": n, "rater": who, name: cell, "file_name": f"c{k}.mp3", **more}
        | {"rating": (3 * n + n // 4) % 4}
        for n, (k, cell, who) in enumerate(rows)
    ]


@pytest.mark.parametrize(
    ("name", "cells"),
    [
        ("queried_emotion", ("joy", "fear", "anger")),
        ("concept", ("joy", "fear", "anger")),
        ("variant", (1, 2)),
        ("context_version", (1, 2)),
    ],
)
def test_what_an_item_was_crossed_with_names_it_too(name, cells):
    table = read_existing(crossed(name, cells=cells)).table
    assert len({*table["unit"]}) == 5 * len(cells)


def test_an_item_that_one_judge_rated_in_two_variants_is_two_items():
    rows = crossed("variant", cells=("base", "tuned"), judges=("gpt-4o",))
    assert len({*read_existing(rows).table["unit"]}) == 10


@pytest.mark.parametrize("name", ["round", "session", "pass_no"])
@pytest.mark.parametrize("cells", [(1, 2), ("first", "second")])
def test_passes_over_an_item_are_no_part_of_its_name(name, cells):
    with refused("rated_twice", DomainError):
        read_existing(crossed(name, cells=cells))


@pytest.mark.parametrize("name", ["asked_emotion", "question"])
def test_what_raters_of_an_item_were_asked_is_part_of_it(name):
    rows = [row | {name: ["joy", "fear"][k % 3 == 1]} for k, row in enumerate(long([1, 2] * 6))]
    rows = [row for row in rows if row["rating"]]
    read = read_existing(rows)
    assert name in read.notes[0]
    assert len(read.table) == len(rows)


def test_an_answer_that_was_sent_again_counts_once():
    rows = long([1, 2, 3, 1, 2, 3])
    again = [*rows[:3], rows[2], *rows[3:], rows[0]]
    clicks = [{"row_uuid": f"u{k}", **row, "timestamp": 100 + k} for k, row in enumerate(again)]
    read = read_existing(clicks)
    assert len(read.table) == len(rows)
    assert "Rows that were left out because they repeat an earlier row: 4, 14." in read.notes
    clicks[3] = clicks[3] | {"rating": 4}
    with refused("rated_twice", DomainError):
        read_existing(clicks)


def test_a_first_row_that_has_a_fraction_from_below_is_a_rating_and_no_header(tmp_path):
    cells = [f"0.{k % 4 + 1},z{k},The text of row {k} is short." for k in range(9)]
    (path := tmp_path / "scores.csv").write_text("\n".join(cells))
    chosen = Choice(columns={"rater:ann": "column 1"})
    assert len(read_existing(path, choice=chosen).table) == 9
