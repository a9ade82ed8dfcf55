"""The rules by which labels and criteria are found in tables of ratings, and what their cells mean."""

import json

import pytest

from tests.refusals import refused
from tests.tiebreak.formats.labelled_rows import CRITERIA, graded, labels_of, long, text_of
from tiebreak.errors import DomainError, InvalidInput
from tiebreak.formats.errors import FormatError
from tiebreak.formats.layouts import Choice, read_existing


def test_what_all_raters_of_an_item_share_beside_their_labels_is_no_criterion():
    rows = long([1, 2, 3, 4], score=[3, 1, 4, 1])
    for k, row in enumerate(rows):
        row["rating"] += k % 2
    assert {criterion for criterion, *_ in labels_of(rows)} == {"preference"}


@pytest.mark.parametrize("first", ["I trust the answer", "answer", "label"])
def test_answers_in_the_same_words_as_the_label_are_labels_too(first):
    words = ["Disagree", "Neutral", "Agree"]
    rows = [
        {
            "person": f"P{p}",
            "scenario": s,
            first: words[(p + k) % 3],
            "It is clear": words[p * k % 3],
        }
        for p in range(1, 9)
        for k, s in enumerate(("bank", "clinic", "school"), 1)
    ]
    assert {criterion for criterion, *_ in labels_of(rows)} == {first, "It is clear"}


def test_a_label_of_0_and_1_on_which_all_agree_stands_with_its_neighbours():
    given = {"ann": ["good", "bad", "good"], "bob": ["fair", "bad", "good"]}
    rows = [
        {
            "item": k,
            "annotator": who,
            **{label: int(label == one) for label in ("good", "bad", "fair")},
        }
        for who, labels in given.items()
        for k, one in enumerate(labels)
    ]
    assert {criterion for criterion, *_ in labels_of(rows)} == {"good", "bad", "fair"}


def test_counts_of_labels_are_refused_as_such():
    rows = [{"text": f"t{k}", "good": k % 4, "bad": 3 - k % 4} for k in range(12)]
    with refused("counts_per_label", DomainError):
        read_existing(rows)


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


def test_lists_in_an_object_are_by_criterion_only_if_its_names_say_so(tmp_path):
    path = tmp_path / "lists.json"
    for names in (("fluency", "style"), ("Ann", "Eva")):
        lists = dict(zip(names, ([1, 2], [2, 1]), strict=True))
        path.write_text(json.dumps([{"id": f"i{k}", "annotations": lists} for k in range(4)]))
        if "style" in names:
            assert labels_of(path)["style", "i0", "1"] == 2
    with refused("no_rater", DomainError):
        read_existing(path)


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


VERDICTS = {"verdict": ["bad", "fair", "good"], "score": [1, 2, 3]}


@pytest.mark.parametrize(
    ("columns", "kept"),
    [
        (VERDICTS, {"score"}),
        ({"verdict": [*"bbb"], "score": [1, 1, 1]}, {"verdict", "score"}),
        ({"verdict": [*"bfg"], "score": [1, 2, 2]}, {"verdict", "score"}),
        ({"verdict": [*"bfg"], "score": [1, None, 3]}, {"verdict"}),
        ({"fluency score": [1, 2, 3], "style score": [3, 1, 2]}, {"fluency score", "style score"}),
        ({"best_style": [*"ABC"], "worst_style": [*"BCA"]}, {"best_style", "worst_style"}),
        ({"best_style": [*"ABA"], "worst_style": [*"BBA"]}, {"best_style", "worst_style"}),
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


def test_a_criterion_that_is_called_agent_has_raters_and_no_systems():
    words = ["source", "agent", "agent", "patient", "source", "agent"]
    columns = {f"{c}_coder{n}": words for c in ("agent", "tone (a/b)") for n in "12"}
    rows = [{"item": f"i{k}"} | {name: of[k] for name, of in columns.items()} for k in range(6)]
    read = read_existing(rows)
    assert {*read.table["criterion"]} == {"agent", "tone (a/b)"}
    assert {*read.table["rater"]} == {"coder1", "coder2"}


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


@pytest.mark.parametrize("who", ["annotator", "note"])
def test_a_label_is_not_taken_without_the_other_of_a_pair(who):
    names = [f"{criterion}_{when}" for criterion in CRITERIA for when in ("pre", "post")]
    rows = graded("{1}_{0}", ["pre", "post"], **{who: "ann"})
    assert {*names} < {*rows[0]}
    with pytest.raises(DomainError) as refusal:
        read_existing(rows, choice=Choice(columns={"unit": "text"}))
    assert refusal.value.code == "unclear_label"


@pytest.mark.parametrize("text", ["response", "answer", "note"])
def test_a_text_that_all_raters_of_an_item_have_is_no_label(text):
    rows = long([1, 3, 2, 4, 1, 2], **{text: [text_of(k, 1) for k in range(6)]})
    for k, row in enumerate(rows):
        row |= {"rating": None, "tone": k % 3}
    assert {criterion for criterion, *_ in labels_of(rows)} == {"preference"}
    assert read_existing(rows).columns["label"] == "tone"
