"""The rules by which columns of ratings are found, and what their cells mean."""

import json
import re

import pytest

from tests.refusals import refused
from tiebreak.errors import DomainError, InvalidInput
from tiebreak.formats import write_rows
from tiebreak.formats.errors import FormatError
from tiebreak.formats.layouts import Choice, read_existing
from tiebreak.formats.rating_names import UNNAMED

CRITERIA = ("fluency", "tone")


def labels_of(rows, *, columns=None):
    """Return the labels by criterion, item and rater."""
    table = read_existing(rows, choice=Choice(columns=columns or {})).table
    columns = [table[name] for name in ("criterion", "unit", "rater", "label")]
    return {(c, u, r): label for c, u, r, label in zip(*columns, strict=True)}


def long(labels, **more):
    """Return rows of two raters who gave these labels to as many items."""
    return [
        {"item": f"i{k}", "annotator": rater, "rating": label}
        | {name: cells[k] for name, cells in more.items()}
        for k, label in enumerate(labels)
        for rater in ("ann", "ben")
    ]


def test_the_marked_one_of_several_columns_is_the_label():
    chosen = {("a", "x"): "yes", ("a", "y"): "no", ("b", "x"): "no", ("b", "y"): "yes"}
    rows = [
        {"item": i, "annotator": r, "q:::no": "", "q:::yes": "", f"q:::{label}": "true"}
        for (i, r), label in chosen.items()
    ]
    found = {(item, rater): label for (_, item, rater), label in labels_of(rows).items()}
    assert found == chosen


def test_what_all_raters_of_an_item_share_beside_their_labels_is_no_criterion():
    rows = long([1, 2, 3, 4], score=[3, 1, 4, 1])
    for k, row in enumerate(rows):
        row["rating"] += k % 2
    assert {criterion for criterion, *_ in labels_of(rows)} == {"preference"}


def test_counts_of_labels_are_refused_as_such():
    rows = [{"text": f"t{k}", "good": k % 4, "bad": 3 - k % 4} for k in range(12)]
    with refused("counts_per_label", DomainError):
        read_existing(rows)


def test_what_is_said_once_of_each_person_is_no_label():
    rows = [
        {"session_id": f"s{k}", "worker_id": f"w{k}", "approvals": 90 + k % 3} for k in range(9)
    ]
    with refused("no_label", DomainError):
        read_existing(rows)


@pytest.mark.parametrize("mark", ["NA", "n/a", " ", "None"])
def test_a_rater_with_many_missing_labels_stays_a_rater(mark):
    rows = [{"item": k, "ann1": k % 5, "ann2": k % 5 if k % 3 else mark} for k in range(12)]
    read = read_existing(rows)
    assert (set(read.table["rater"]), read.missing + read.marked) == ({"ann1", "ann2"}, 4)


@pytest.mark.parametrize("mark", ["NaN", "Infinity", "-Infinity"])
@pytest.mark.parametrize(
    "form", ["[{}]", '{{"rows": [{}]}}', "{}", '{{"item": 9, "ann1": 1, "ann2": 2}}\n{}']
)
def test_what_is_no_number_in_json_is_a_missing_label(mark, form, tmp_path):
    rows = [json.dumps({"item": k, "ann1": k % 3, "ann2": k % 2}) for k in range(6)]
    rows[0] = rows[0].replace('"ann2": 0', f'"ann2": {mark}')
    are_lines = "[" not in form
    path = tmp_path / ("rows.jsonl" if are_lines else "rows.json")
    path.write_text(form.format(("\n" if are_lines else ",").join(rows)))
    read = read_existing(path)
    assert read.missing == 1
    assert set(read.table["label"]) <= {0, 1, 2}


def test_what_is_no_number_in_a_list_or_a_data_frame_is_a_missing_label():
    lists = [
        {"item": k, "annotators": "['a', 'b', 'c', 'd']", "labels": f"[{k % 3}, NaN, 1, Infinity]"}
        for k in range(6)
    ]
    cells = [{"item": k, "ann1": k % 3, "ann2": float("nan") if k else 1} for k in range(6)]
    for rows, found in ((lists, (12, 12)), (cells, (5, 7))):
        read = read_existing(rows)
        assert (read.missing, len(read.table)) == found


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


def test_a_row_of_totals_is_no_item():
    rows = [{"item": f"i{k}", "ann1": k, "ann2": k} for k in range(1, 6)]
    read = read_existing([*rows, {"item": "Total", "ann1": 15, "ann2": 15}])
    assert len(set(read.table["unit"])) == 5
    assert any("1" in note for note in read.notes if "total" in note)


def test_winners_are_preferences_in_one_order_of_the_systems():
    rows = [
        {"id": key, "model_a": a, "model_b": b, "judge": judge, "winner": winner}
        for key in "qr"
        for judge, a, b, winner in (
            *(("j1", "old", "new", "model_a"), ("j2", "new", "old", "model_a")),
            *(("j3", "old", "new", "tie"), ("j4", "new", "old", "old")),
        )
    ]
    read = read_existing(rows)
    assert (set(read.table["system_a"]), len(set(read.table["unit"]))) == ({"new"}, 2)
    assert dict(zip(read.table["rater"], read.table["label"], strict=True)) == {
        **{"j1": 1, "j2": -1, "j3": 0, "j4": 1}
    }


@pytest.mark.parametrize(
    ("cells", "expected"),
    [
        (["85%", "20 %", "5,5%"], {"85", "20", "5.5"}),
        (["Yes", "yes", "no"], {"Yes", "no"}),
        (["1 - bad", "3: good", "2"], {1, 3, "2"}),
        (["1,5", "2", "10,25"], {"1.5", "2", "10.25"}),
    ],
)
def test_cells_are_read_as_what_they_say(cells, expected):
    assert set(labels_of(long(cells)).values()) == expected


def test_a_number_that_may_be_a_thousand_is_asked_for():
    with refused("unclear_number", InvalidInput):
        read_existing(long(["1,234", "2,345", "3,456"]))


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


def test_raters_are_machines_by_their_names_but_not_workers_of_a_models_batch():
    rows = [
        {"item": k, "annotator": rater, "rating": k % 3}
        for k in range(6)
        for rater in ("gpt-4", "gpt-4-batch/7", "ann")
    ]
    table = read_existing(rows).table
    kinds = dict(zip(table["rater"], table["kind"], strict=True))
    assert kinds == {"gpt-4": "machine", "gpt-4-batch/7": "human", "ann": "human"}


def test_a_rater_may_be_named_beside_each_label():
    rows = [
        {"item": k, "score_1": k % 2, "who_1": f"w{k}", "score_2": 1, "who_2": f"w{k + 1}"}
        for k in range(6)
    ]
    named = [{name.replace("who", "worker"): cell for name, cell in row.items()} for row in rows]
    assert (found := labels_of(named))["preference", "3", "w3"] == 1
    assert labels_of(named, columns=read_existing(named).columns) == found
    with refused("no_rater", DomainError):  # whose cells are labels as well as names
        read_existing([row | {"worker_1": 0, "worker_2": 1} for row in named])


def test_lists_in_an_object_are_by_criterion_only_if_its_names_say_so(tmp_path):
    path = tmp_path / "lists.json"
    for names in (("fluency", "style"), ("Ann", "Eva")):
        lists = dict(zip(names, ([1, 2], [2, 1]), strict=True))
        path.write_text(json.dumps([{"id": f"i{k}", "annotations": lists} for k in range(4)]))
        if "style" in names:
            assert labels_of(path)["style", "i0", "1"] == 2
    with refused("no_rater", DomainError):
        read_existing(path)


def test_whole_numbers_beside_fractions_are_not_two_raters():
    rows = [
        {"id": f"i{k}", "A_fluency": 9 + k, "B_fluency": k / 7, "A_style": 8, "B_style": k / 9}
        for k in range(1, 7)
    ]
    with refused("unclear_label", DomainError):
        read_existing(rows)


def test_a_label_that_all_raters_share_is_asked_for_if_another_column_may_have_theirs():
    rows = long([0, 1, 1, 0])
    for k, row in enumerate(rows):
        row["prediction"] = k % 3 % 2
    with refused("unclear_label", DomainError):
        read_existing(rows)
    assert len(labels_of(long([0, 1, 1, 0]))) == 8


@pytest.mark.parametrize(
    ("name", "cells"),
    [
        ("phase", [2, 2, 2, 2]),
        ("kind", ["photo", "film", "text", "film"]),
        ("duration_ms", ["long", "short", "long", "long"]),
    ],
)
def test_a_column_of_others_that_is_called_like_one_of_ours_is_left_out(name, cells):
    read = read_existing(long([1, 2, 3, 1], **{name: cells}))
    assert (len(read.table), name in read.columns) == (8, False)
    assert any(name in note for note in read.notes)


@pytest.mark.parametrize("last", ["humman", "machine"])
def test_a_mistake_in_a_column_of_ours_is_refused(last):
    with pytest.raises(FormatError, match="kind"):
        read_existing(long([1, 2, 3, 1], kind=["human", "human", "human", last]))


def test_a_row_may_have_all_labels_of_a_rater():
    rows = [{"user_id": f"u{k}"} | {str(i): (k + i) % 5 for i in range(1, 5)} for k in range(6)]
    assert (found := labels_of(rows))["preference", "4", "u3"] == 2
    assert labels_of(rows, columns=read_existing(rows).columns) == found
    named = [dict(zip(["user_id", *"wxyz"], row.values(), strict=True)) for row in rows]
    for unclear in (named, [*rows, rows[0] | {"1": 9}]):  # criteria or items; a rater twice
        with refused("no_unit", DomainError):
            read_existing(unclear)


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


VERDICTS = {"verdict": ["bad", "fair", "good"], "score": [1, 2, 3]}


@pytest.mark.parametrize(
    ("columns", "kept"),
    [
        (VERDICTS, {"score"}),
        ({"verdict": [*"bbb"], "score": [1, 1, 1]}, {"verdict", "score"}),
        ({"verdict": [*"bfg"], "score": [1, 2, 2]}, {"verdict", "score"}),
        ({"verdict": [*"bfg"], "score": [1, None, 3]}, {"verdict"}),
        ({"fluency score": [1, 2, 3], "style score": [3, 1, 2]}, {"fluency score", "style score"}),
        ({"best_style": [*"ABA"], "worst_style": [*"BAB"]}, {"best_style"}),
        ({"best_style": [*"ABC"], "worst_style": [*"BCA"]}, {"best_style", "worst_style"}),
        ({"best_style": [*"ABA"], "worst_style": [*"BBA"]}, {"best_style", "worst_style"}),
        ({"Most fluent style": [*"ABA"], "Least fluent style": [*"BAB"]}, {"Most fluent style"}),
    ],
)
def test_what_is_said_in_two_ways_is_one_criterion(columns, kept):
    rows = [
        {"item": f"i{k}", "annotator": r, **{name: c[(k + n) % 3] for name, c in columns.items()}}
        for k in range(6)
        for n, r in enumerate(("ann", "ben"))
    ]
    read = read_existing(rows)
    assert {str(label) for label in read.table["label"]} == {
        str(label) for name in kept for label in columns[name] if label
    }
    assert len(set(read.table["criterion"])) == len(kept)
    for name in columns.keys() - kept:
        assert any(name in note for note in read.notes)


@pytest.mark.parametrize(
    ("raters", "column", "text", "n_items"),
    [
        (("gpt-4o", "claude-3"), "sample_idx", "The answer {0} is short and plain", 6),
        (("gpt-4o", "claude-3"), "sample_idx", "The answer {0} is short and has draft {1}", 12),
        (("gpt-4o", "claude-3"), "sample_idx", "same", 12),
        (("gpt-4o", "claude-3"), "segment_id", "The answer {0} is short and plain", 12),
        (("gpt-4o", "ann"), "sample_idx", "The answer {0} is short and plain", 12),
    ],
)
def test_samples_of_the_same_text_by_machines_are_passes(raters, column, text, n_items):
    rows = [
        {
            "id": f"i{k}",
            "judge": r,
            column: f"p{s}",
            "output": text.format(k, s),
            "score": (k + s + n) % 3,
        }
        for k in range(6)
        for s in (0, 1)
        for n, r in enumerate(raters)
    ]
    table = read_existing(rows).table
    assert (len(table), len(set(table["unit"]))) == (24, n_items)
    assert len(set(table["run"])) == 12 / n_items


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
        {"against": lambda k, r, other: other[:1], "text": a_text},
        {
            "clock": lambda k, r, other: f"12:{k}{r}",
            "code": lambda k, r, other: f"{k}{other}",
            "text": a_text,
        },
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


def test_first_names_with_initials_are_raters_with_all_that_stand_between():
    names = ["Ana B", "Ines", "Olaf K.", "Ute S", "Bo"]
    rows = [{"id": f"i{k}"} | dict.fromkeys(names, "AB"[k % 2]) for k in range(6)]
    assert {rater for *_, rater in labels_of(rows)} == {*names[:4]}
    groups = [{"id": f"i{k}"} | {f"Group {x}": k % 2 for x in "KLM"} for k in range(6)]
    with refused("no_rater", DomainError):
        read_existing(groups)


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


@pytest.mark.parametrize("fact", ["age", "Geschlecht", "sex"])
def test_rows_of_persons_are_raters_and_others_items(fact):
    rows = [
        {"id": 10 + r, **{f"{c}_{t}": t + r for t in range(1, 4) for c in ("Honesty", "Fluency")}}
        for r in range(5)
    ]
    assert {rater for *_, rater in labels_of(rows)} == {"1", "2", "3"}
    persons = [row | {fact: 30 + k} for k, row in enumerate(rows)]
    assert {rater for *_, rater in labels_of(persons)} == {*map(str, range(10, 15))}


def test_a_criterion_of_a_grid_may_have_several_words_and_raters_keep_their_names():
    names = ("fluency", "non_fabrication", "fits the prompt")
    raters = ("openai/gpt-4o-2024-08-06", "anthropic/claude-3-5")
    rows = [
        {"id": f"i{k}", **{f"{r}_{c}": (k + n) % 4 for r in raters for n, c in enumerate(names)}}
        for k in range(8)
    ]
    found = labels_of(rows)
    assert {key[0] for key in found} == {*names}
    assert {rater for *_, rater in found} == {*raters}


def test_scores_that_may_be_counts_are_ratings_where_two_have_them():
    rows = [
        {
            "id": f"i{k}",
            **{f"{r}_{c}": (k + n) % 3 for r in "ab" for n, c in enumerate(("tone", "style"))},
        }
        for k in range(9)
    ]
    for row in rows:
        row["a_style"] = 2 - row["a_tone"]
    assert {rater for *_, rater in labels_of(rows)} == {"a", "b"}


@pytest.mark.parametrize(
    "name", ["_effort", "trust", "comment_code", "score_range.accuracy", "config.style"]
)
@pytest.mark.parametrize("answers", [("quality", "style"), ("mood", "tone")])
def test_what_a_platform_or_a_computation_says_is_no_criterion(name, answers):
    rows = [
        {
            "item": f"i{k}",
            "annotator": r,
            **{a: (k * n + len(r)) % 4 for n, a in enumerate(answers, 2)},
        }
        | {name: (k + len(r)) % 3}
        for k in range(5)
        for r in ("x", "yz")
    ]
    assert {key[0] for key in labels_of(rows)} == {*answers}


def test_yes_or_no_beside_several_scores_is_a_criterion():
    rows = long([1, 2, 3, 1], safety_score=[1, 2, 1, 2], helpful_score=[2, 1, 1, 3])
    for k, row in enumerate(rows):
        row |= {"rating": None, "safety_score": row["safety_score"] + k % 2}
        row["Disclaimer Present"] = "Yes" if k % 3 else "No"
    assert "Disclaimer Present" in {key[0] for key in labels_of(rows)}


def test_raters_who_rated_twice_by_a_guess_are_asked_for_and_by_choice_refused(tmp_path):
    rows = [row | {"pass": n} for n in (1, 2) for row in long([1, 2, 3])]
    for k, row in enumerate(rows):
        row["rating"] += k % 2
    with refused("rated_twice", DomainError):
        read_existing(rows)
    with pytest.raises(FormatError):
        read_existing(rows, choice=Choice(columns={"unit": "item"}))
    assert len(read_existing(rows, choice=Choice(columns={"run": "pass"})).table) == 12


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


@pytest.mark.parametrize("who", ["volunteer", "student", "Teacher", "clinician"])
def test_numbered_persons_of_any_calling_are_raters(who):
    rows = [{"id": k, f"{who}1": k % 5, f"{who} 2": k % 4} for k in range(1, 12)]
    assert {rater for *_, rater in labels_of(rows)} == {f"{who}1", f"{who} 2"}


@pytest.mark.parametrize("ending", ["anon", "anonymized", "hash"])
def test_a_disguised_id_of_a_rater_names_a_rater(ending):
    rows = long([1, 2, 3, 4, 2, 1])
    rows = [{f"worker_id_{ending}": row.pop("annotator"), **row} for row in rows]
    assert read_existing(rows).columns["rater"] == f"worker_id_{ending}"


@pytest.mark.parametrize("column", ["rater_type", "Kind of annotator"])
@pytest.mark.parametrize(
    ("person", "machine"), [("human", "llm"), ("Expert", "gpt-4o"), ("human", "machine")]
)
def test_a_column_that_says_who_is_a_machine_says_the_kind_of_each_rater(column, person, machine):
    rows = long([1, 2, 3, 4, 2, 1])
    for row in rows:
        row[column] = machine if row["annotator"] == "ben" else person
    read = read_existing(rows)
    assert {*zip(read.table["rater"], read.table["kind"], strict=True)} == {
        ("ann", "human"),
        ("ben", "machine"),
    }
    assert any("Read as machine raters: ben" in note for note in read.notes)
    texts = [
        row | {column: machine if k % 3 else person, "rating": k % 5} for k, row in enumerate(rows)
    ]
    assert {*read_existing(texts).table["kind"]} == {"human"}


def test_a_rater_who_is_called_an_llm_is_a_machine():
    rows = long([1, 2, 3, 4, 2, 1])
    rows = [row | {"annotator": row["annotator"].replace("ben", "llm-patient")} for row in rows]
    kinds = read_existing(rows).table
    assert {*zip(kinds["rater"], kinds["kind"], strict=True)} == {
        ("ann", "human"),
        ("llm-patient", "machine"),
    }


def test_a_criterion_that_is_called_agent_has_raters_and_no_systems():
    words = ["source", "agent", "agent", "patient", "source", "agent"]
    columns = {f"{c}_coder{n}": words for c in ("agent", "tone (a/b)") for n in "12"}
    rows = [{"item": f"i{k}"} | {name: of[k] for name, of in columns.items()} for k in range(6)]
    read = read_existing(rows)
    assert {*read.table["criterion"]} == {"agent", "tone (a/b)"}
    assert {*read.table["rater"]} == {"coder1", "coder2"}


def test_what_a_codebook_in_brackets_names_is_no_system():
    words = ["human", "model", "model", "human", "model", "human"]
    rows = long([1, 2, 3, 4, 2, 1], **{"rating of origin (human/model)": words})
    assert "system_a" not in read_existing(rows).columns


@pytest.mark.parametrize("names", ["shown_{}", "option {}"])
@pytest.mark.parametrize("winner", ["winner", "preferred system"])
def test_the_side_and_the_system_that_won_are_one_vote(names, winner):
    votes = "aabbtabtba"
    pairs = [("x", "y"), ("z", "x"), ("y", "z"), ("y", "x"), ("x", "z")] * 2
    rows = [
        {"annotator": rater, "item": f"i{k}", names.format("a"): first, names.format("b"): second}
        | {"pick": vote.replace("t", "tie"), winner: {"a": first, "b": second}.get(vote)}
        for k, (vote, (first, second)) in enumerate(zip(votes, pairs, strict=True))
        for rater in ("ann", "ben")
    ]
    read = read_existing(rows)
    assert len(read.table) == 20
    assert {*read.table["criterion"]} == {"preference"}
    assert {*zip(read.table["system_a"], read.table["system_b"], strict=True)} == {
        ("x", "y"),
        ("x", "z"),
        ("y", "z"),
    }
    themes = [{n.replace(winner, "theme"): cell for n, cell in row.items()} for row in rows]
    assert "system_a" not in read_existing(themes).columns
    second = labels_of([row | {"tone choice": "ab"[k % 2]} for k, row in enumerate(rows)])
    assert len({criterion for criterion, *_ in second}) == 2


def text_of(row, number):
    return f"What does glacier {(row + number) % 5} say to glacier {row * number % 7}?"


@pytest.mark.parametrize("who", ["id", "participant"])
@pytest.mark.parametrize("label", ["meaning", "clarity", "rating", "ix"])
def test_labels_that_are_numbered_as_the_texts_of_their_row_are_asked_about(who, label):
    rows = [
        {who: f"p{k}"}
        | {f"input{j}": text_of(k, j) for j in range(3)}
        | {f"{label}{j}": (k * j + k) % 5 + 1 for j in range(3)}
        for k in range(8)
    ]
    with pytest.raises(DomainError) as refusal:
        read_existing(rows)
    assert refusal.value.code in {"unclear_unit", "no_rater", "no_label"}


@pytest.mark.parametrize("stems", [("A", "B"), ("A", "MC ")])
def test_series_of_several_lengths_are_questions_and_no_raters(stems):
    names = [f"{stem}{j}" for n, stem in enumerate(stems, start=3) for j in range(1, n + 1)]
    rows = [
        {"article": f"t{k}"} | {name: (k + j) % 3 for j, name in enumerate(names)} for k in range(8)
    ]
    with refused("no_rater", DomainError):
        read_existing(rows)


@pytest.mark.parametrize(
    ("texts", "items", "raters"), [("input", 24, {UNNAMED[0]}), ("comment", 8, {"0", "1", "2"})]
)
def test_numbers_are_raters_beside_their_remarks_and_items_beside_texts(texts, items, raters):
    rows = [
        {"item": f"i{k}"}
        | {f"{name}_{j}": (k * j + k) % 5 for name in ("fluency", "tone") for j in range(3)}
        | {f"{texts}_{j}": text_of(k, j) for j in range(3)}
        for k in range(8)
    ]
    table = read_existing(rows).table
    assert (len({*table["unit"]}), {*table["rater"]}) == (items, raters)


@pytest.mark.parametrize("name", ["rank_{}", "results.{}.rank"])
def test_ranks_that_differ_between_raters_of_an_item_are_not_left_out_unasked(name):
    rows = [
        row | {"knowledge level": (k * 3) % 4, name.format("x"): k % 3, name.format("y"): k % 2}
        for k, row in enumerate(long([1, 2, 3, 4, 2, 1]))
    ]
    others = [{n: cell for n, cell in row.items() if n != "rating"} for row in rows]
    for asked in (rows, others):
        with refused("unclear_label", DomainError):
            read_existing(asked)
    systems = [row | {name.format(s): row["rating"] for s in "xy"} for row in rows]
    for k, row in enumerate(systems):
        row["rating"] = k % 3
    assert {*read_existing(systems).table["criterion"]} == {"preference"}


@pytest.mark.parametrize("name", ["annotations", "raters"])
def test_objects_in_a_list_of_annotations_are_raters_by_their_places(name):
    rows = [
        {"item": f"i{k}", name: [{"fluency": k % 5, "relevance": (k + j) % 4} for j in range(3)]}
        for k in range(8)
    ]
    assert labels_of(rows) == {
        (criterion, row["item"], str(j)): one[criterion]
        for row in rows
        for j, one in enumerate(row[name], start=1)
        for criterion in ("fluency", "relevance")
    }
    texts = [{"scores" if n == name else n: cell for n, cell in row.items()} for row in rows]
    with pytest.raises((DomainError, InvalidInput)):
        read_existing(texts)


@pytest.mark.parametrize("names", ["{}_{}", "{1}_{0}"])
@pytest.mark.parametrize("who", ["annotator", "note"])
def test_the_system_that_won_is_the_label_and_scores_of_both_sides_are_left_out(names, who):
    pairs = [(f"system {k % 13}", f"system {(k + 1 + k % 3) % 13}") for k in range(16)]
    rows = [
        {"item": f"i{k}", who: "ann", "shown_a": pair[0], "shown_b": pair[1]}
        | {"winner": pair[k % 2], "loser": pair[1 - k % 2]}
        | {names.format(side, c): (k + n) % 5 for n, side in enumerate("ab") for c in CRITERIA}
        for k, pair in enumerate(pairs)
    ]
    read = read_existing(rows)
    assert {*read.table["criterion"]} == {"preference"}
    assert {*read.table["label"]} == {-1, 1}
    assert len(read.table) == 16


def graded(name, parts, **more):
    """Return rows with a column for each part of some names and each criterion."""
    return [
        {"text": text_of(k, 1)}
        | {name.format(part, c): (k + n) % 5 for n, part in enumerate(parts) for c in CRITERIA}
        | {column: cell.format(k) for column, cell in more.items()}
        for k in range(12)
    ]


@pytest.mark.parametrize("word", ["Member", "expert", "reviewer"])
@pytest.mark.parametrize("name", ["{1}_{0}", "{0}.{1}"])
def test_persons_beside_criteria_in_titles_are_raters(word, name):
    found = labels_of(graded(name, [f"{word}1", f"{word}2"]))
    assert {rater for *_, rater in found} == {f"{word}1", f"{word}2"}
    assert {criterion for criterion, *_ in found} == {*CRITERIA}


@pytest.mark.parametrize("more", [{}, {"annotator": "a{}"}, {"dora_comment": "so {}"}])
@pytest.mark.parametrize(
    "parts",
    [("dora", "fynn"), ("round1", "round2"), ("Squad 1", "Squad 2"), ("Squad A", "Squad B")],
)
def test_what_stands_beside_criteria_in_titles_is_asked_if_nothing_says_what_it_is(parts, more):
    for name in ("{1}_{0}", "{0}_{1}"):
        with refused("unclear_unit", DomainError):
            read_existing(graded(name, parts, **more))
    texts = {part: f"The answer of {part} number {{}}." for part in parts}
    table = read_existing(graded("{0}_{1}", parts, **texts)).table
    assert {unit.rpartition("/")[2] for unit in table["unit"]} == {*parts}


@pytest.mark.parametrize("cells", [[1, 2, 1, 2, 2, 1], ["low", "high", "low", "mid", "mid", "low"]])
@pytest.mark.parametrize("name", ["feat_{}", "{} (coded)", "of.{}"])
@pytest.mark.parametrize("who", ["annotator", "note"])
def test_columns_that_are_called_alike_have_labels_all_or_none(who, name, cells):
    columns = [name.format(what) for what in ("fluency", "foo", "bar", "baz")]
    rows = [
        {"item": f"i{k}", who: rater, "score": (k + r) % 3 + 1}
        | {column: cells[(k + n + r) % 6] for n, column in enumerate(columns)}
        for k in range(12)
        for r, rater in enumerate(("ann", "ben") if who == "annotator" else ("ann",))
    ]
    with refused("unclear_label", DomainError):
        read_existing(rows)
    for chosen in (Choice(left_out=columns), Choice({f"label:{c}": c for c in columns})):
        table = read_existing(rows, choice=chosen).table
        assert len({*table["criterion"]}) == (4 if chosen.columns else 1)
    merged = [row | {f"{columns[0]} combined": row[columns[0]]} for row in rows]
    merged = [{k: v for k, v in row.items() if k not in columns[1:]} for row in merged]
    assert len({*read_existing(merged).table["criterion"]}) == 2


@pytest.mark.parametrize("who", ["name", "subject", "student"])
@pytest.mark.parametrize("has_texts", [True, False])
def test_what_may_be_a_person_is_a_rater_only_if_items_have_several_of_them(who, has_texts):
    def rated(item_of):
        return [
            {who: f"kiwi {n}", "image_id": f"i{item_of(n, k)}", "score": (n + k) % 3 + 1}
            | ({"description": text_of(item_of(n, k), 1)} if has_texts else {})
            for n in range(6)
            for k in range(4)
        ]

    found = labels_of(rated(lambda n, k: (n + k) % 7))  # each item has several names
    assert {rater for *_, rater in found} == {f"kiwi {n}" for n in range(6)}
    for item_of in (lambda n, k: n, lambda n, k: 4 * n + k):  # each has one, as an item has a name
        for rows in (rated(item_of), [row | {"id": k % 7} for k, row in enumerate(rated(item_of))]):
            if has_texts or "id" not in rows[0]:
                with refused("no_rater", DomainError):
                    read_existing(rows)


def test_texts_that_are_keys_of_a_few_rows_are_no_criteria():
    rows = long([3, 1, 5, 2, 4, 3])
    plain = labels_of(rows)
    for k, row in enumerate(rows):
        row["details"] = {f"Is it right that the boat number {k} leaves?": {"score": k % 2}}
    assert labels_of(rows) == plain
    for row in rows:
        row["details"] = {"Is it right that the boat leaves?": {"score": row["rating"]}}
    with refused("repeated_label", DomainError):
        read_existing(rows)


@pytest.mark.parametrize("names", ["Vote{}", "votes_{}", "{} votes", "model {}_wins"])
def test_votes_from_none_to_many_are_counts_and_those_of_a_few_kinds_are_raters(names):
    def voted(kinds):
        return [
            {"item": f"i{k}"} | {names.format(j): (k * j + k) % kinds for j in (1, 2, 3)}
            for k in range(12)
        ]

    with refused("counts_per_label", DomainError):
        read_existing(voted(7))
    with refused("counts_per_label", DomainError):
        read_existing([row | {"clarity": k % 5} for k, row in enumerate(voted(4))])
    if names == "Vote{}":
        assert len({rater for *_, rater in labels_of(voted(2))}) == 3


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


@pytest.mark.parametrize("who", ["annotator", "note"])
def test_a_label_is_not_taken_without_the_other_of_a_pair(who):
    names = [f"{criterion}_{when}" for criterion in CRITERIA for when in ("pre", "post")]
    rows = graded("{1}_{0}", ["pre", "post"], **{who: "ann"})
    assert {*names} < {*rows[0]}
    with pytest.raises(DomainError) as refusal:
        read_existing(rows, choice=Choice(columns={"unit": "text"}))
    assert refusal.value.code == "unclear_label"


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


@pytest.mark.parametrize("text", ["response", "answer", "note"])
def test_a_text_that_all_raters_of_an_item_have_is_no_label(text):
    rows = long([1, 3, 2, 4, 1, 2], **{text: [text_of(k, 1) for k in range(6)]})
    for k, row in enumerate(rows):
        row |= {"rating": None, "tone": k % 3}
    assert {criterion for criterion, *_ in labels_of(rows)} == {"preference"}
    assert read_existing(rows).columns["label"] == "tone"
