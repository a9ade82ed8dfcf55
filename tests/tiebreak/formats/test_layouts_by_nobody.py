"""Labels of which no column says who gave them: one rater's, if no item has two of a criterion."""

import pytest

from tests.refusals import refused
from tiebreak.errors import DomainError
from tiebreak.formats.layouts import Choice, ratings_in, read_existing
from tiebreak.formats.rating_names import UNNAMED as RATERS
from tiebreak.formats.tables.reading import open_table

UNNAMED, UNNAMED_JUDGE = RATERS

LABELS = [3, 1, 5, 2, 4, 3, 5, 1, 2, 4, 3, 5]
YES_NO = ["yes", "no", "no", "yes", "no", "yes"] * 2
SIDES = ["A", "B", "tie", "B", "A", "tie"] * 2
FRACTIONS = [2.37, 4.11, 3.52, 1.73, 2.94, 3.15] * 2
TEXTS = [f"The boat number {k} leaves the harbour at nine." for k in range(12)]


def rows_of(**columns):
    """Return twelve rows of these columns behind an id of the item."""
    cells = {"item_id": [f"i{k}" for k in range(12)], **columns}
    return [{name: of_all[k] for name, of_all in cells.items()} for k in range(12)]


def criteria_of(rows, **choice):
    return set(read_existing(rows, choice=Choice(**choice)).table["criterion"])


def test_labels_by_nobody_are_one_rater_s_which_is_said_first_and_can_be_chosen():
    rows = rows_of(clarity=LABELS, tone=LABELS[::-1])
    read = read_existing(rows)
    assert read.sentence.startswith(f"One {UNNAMED}: ")
    assert {*read.table["rater"]} == {UNNAMED}
    assert {*read.table["kind"]} == {"human"}
    assert sum("choose the column that names them" in note for note in read.notes) == 1
    assert len(read.table) == 24
    again = read_existing(rows, choice=Choice(columns=read.columns))
    assert (again.sentence, again.columns) == (read.sentence, read.columns)


@pytest.mark.parametrize("reason", ["reasoning", "rationale", "Begründung", "tone.explanation"])
def test_who_gave_reasons_with_labels_is_asked_where_nothing_says_a_person_or_a_model(reason):
    rows = rows_of(tone=LABELS, **{reason: TEXTS})
    with refused("no_rater", DomainError):
        read_existing(rows)
    chosen = {name: {f"rater:{name}": "tone"} for name in ("Ann", "gpt-4o")}
    read = {who: read_existing(rows, choice=Choice(columns=of)) for who, of in chosen.items()}
    assert {who: {*one.table["kind"]} for who, one in read.items()} == {
        "Ann": {"human"},
        "gpt-4o": {"machine"},
    }
    for who, rater in (("human_tone", UNNAMED), ("judge_tone", UNNAMED_JUDGE)):
        assert {*read_existing(rows_of(**{who: LABELS, reason: TEXTS})).table["rater"]} == {rater}


def test_columns_of_texts_and_criteria_are_items_of_one_rater_too():
    names = ("summary_1_fluency", "summary_1_tone", "summary_2_fluency", "summary_2_tone")
    rows = rows_of(**dict.fromkeys(names, LABELS))
    read = read_existing(rows)
    assert len({*read.table["unit"]}) == 24
    assert {*read.table["criterion"]} == {"fluency", "tone"}
    again = read_existing(rows, choice=Choice(columns=read.columns))
    assert again.sentence == read.sentence


@pytest.mark.parametrize(
    ("file", "column", "rater"),
    [
        ("ratings.csv", "clarity", UNNAMED),
        ("human_eval.csv", "human_tone", UNNAMED),
        ("judge_scores.csv", "clarity", UNNAMED_JUDGE),
        ("scores.csv", "judge_tone", UNNAMED_JUDGE),
        ("scores.csv", "llm_score", UNNAMED_JUDGE),
    ],
)
def test_a_judge_in_the_name_of_the_file_or_a_column_is_a_machine(file, column, rater, tmp_path):
    path = tmp_path / file
    lines = [f"i{k},{label}" for k, label in enumerate(LABELS)]
    path.write_text("\n".join([f"item_id,{column}", *lines]))
    table = read_existing(path).table
    assert {*table["rater"]} == {rater}
    assert {*table["kind"]} == {"machine" if rater == UNNAMED_JUDGE else "human"}


@pytest.mark.parametrize(
    ("name", "cells"),
    [
        ("label", YES_NO),
        ("rating", LABELS),
        ("human_type", ["logical", "visual", None] * 4),
        ("judge_resolution", LABELS),
        ("answer_correct_0_1", [0, 1] * 6),
        ("Difficulty (out of 10)", LABELS),
        ("chosen_index", [0, 1] * 6),
        ("scores.pacing", LABELS),
        ("Is it true?", YES_NO),
        ("quality", [f"{70 + label}%" for label in LABELS]),
        ("err_language", [0, 1] * 6),
        ("Verständlichkeit", LABELS),
        ("coherencia", LABELS),
        ("流畅性", LABELS),
    ],
)
def test_a_column_is_one_of_labels_by_its_name_and_cells(name, cells):
    rows = rows_of(**{"text": TEXTS, name: cells})
    assert len(read_existing(rows).table) == sum(cell is not None for cell in cells)


@pytest.mark.parametrize(
    ("name", "cells"),
    [
        ("exact_match", [0, 1] * 6),
        ("token_f1", FRACTIONS),
        ("answer_length", LABELS),
        ("latency", LABELS),
        ("category", YES_NO),
        ("style", ["short", "long"] * 6),
        ("difficulty", ["easy", "hard"] * 6),
        ("gold_label", YES_NO),
        ("true_label", YES_NO),
        ("predicted_label", YES_NO),
        ("correct_answer", SIDES),
        ("confidence", LABELS),
        ("notes", ["fine", "poor"] * 6),
        ("annotation", ["The user liked it.", "The user hated it."] * 6),
        ("MCtx", FRACTIONS),
        ("label", YES_NO),
        ("parse_ok", [True] * 12),
    ],
)
@pytest.mark.parametrize("is_before", [True, False])
def test_measures_properties_keys_and_remarks_are_no_labels(name, cells, is_before):
    label = {"judge_clarity": LABELS}
    rows = rows_of(**({name: cells} | label if is_before else label | {name: cells}))
    read = read_existing(rows)
    assert [column for role, column in read.columns.items() if role.startswith("rater:")] == [
        "judge_clarity"
    ]


def test_what_stands_among_as_many_labels_on_their_scale_is_one_of_them():
    rows = rows_of(relevant=LABELS, surprising=LABELS[::-1], correct=LABELS)
    assert criteria_of(rows) == {"relevant", "surprising", "correct"}
    rows = rows_of(human_tone=LABELS, relevance=LABELS[::-1])
    assert criteria_of(rows) == {"human_tone", "relevance"}


@pytest.mark.parametrize("name", ["is_correct", "passed", "Correct"])
def test_what_a_program_may_have_found_is_no_label_beside_a_person_s(name):
    assert criteria_of(rows_of(human_score=LABELS, **{name: [0, 1] * 6})) == {"preference"}
    for cells in ({name: LABELS}, {"accurate": [0, 1] * 6}):
        with refused("unclear_label", DomainError):
            read_existing(rows_of(human_score=LABELS, text=TEXTS, foo=TEXTS, **cells))


def test_who_is_asked_which_columns_have_labels_chooses_them():
    rows = rows_of(clarity=LABELS, has_table=[0, 1] * 6)
    chosen = {"label:clarity": "clarity", "label:table": "has_table"}
    assert criteria_of(rows, columns=chosen) == {"clarity", "table"}
    assert criteria_of(rows, left_out=("has_table",)) == {"preference"}
    assert criteria_of(rows, columns={"label": "has_table"}) == {"preference"}


@pytest.mark.parametrize(
    ("columns", "code"),
    [
        # Nobody knows what these columns are.
        ({"clarity": LABELS, "has_table": [0, 1] * 6}, "unclear_label"),
        ({"clarity": LABELS, "foo": LABELS, "bar": LABELS, "baz": LABELS}, "unclear_label"),
        ({"A_clarity": LABELS, "B_clarity": FRACTIONS}, "unclear_label"),
        ({"human_label": YES_NO, "severity": LABELS}, "unclear_label"),
        ({"chosen_score": LABELS, "rejected_score": LABELS[::-1]}, "no_rater"),
        # Winners of which nothing says whom they beat.
        ({"clarity": LABELS, "better": ["Model A", "Model B"] * 6}, "unclear_label"),
        ({"winner": ["Bo", "Cy", "Di"] * 4}, "no_rater"),
        # Two labels of a criterion, or of two sources.
        ({"label": YES_NO, "second_label": YES_NO[::-1]}, "repeated_label"),
        ({"human_label": YES_NO, "judge_verdict": YES_NO}, "no_rater"),
        ({"text": TEXTS, "predicted_label": YES_NO}, "no_rater"),
        ({"text": TEXTS, "notes": ["fine", "poor"] * 6}, "no_rater"),
        # What a program may have compared, and what is a mean or a count.
        ({"gold": SIDES, "answer": SIDES[::-1], "correct": [0, 1] * 6}, "no_rater"),
        ({"judge_clarity": FRACTIONS, "n_judged": [50] * 12}, "no_rater"),
        ({"clarity": LABELS, "std_clarity": FRACTIONS}, "no_rater"),
        ({"novelty_winrate": [0.25, 0.5, 0.75] * 4}, "no_rater"),
        ({"votes.good": LABELS, "votes.bad": LABELS[::-1]}, "counts_per_label"),
        # Names of persons, systems in places, and several labels of one rater.
        ({"Anna": LABELS, "Bert": LABELS[::-1], "Cleo": LABELS}, "no_rater"),
        ({"gpt4": [1, 2, 3] * 4, "llama": [2, 3, 1] * 4, "qwen": [3, 1, 2] * 4}, "no_rater"),
        ({"labels": [["x", "y", "z"], ["z", "x"]] * 6}, "no_rater"),
        ({"notes.anna.tone": LABELS, "notes.ben.tone": LABELS[::-1]}, "no_rater"),
        ({"Q1": LABELS, "Q2": LABELS[::-1]}, "no_rater"),
    ],
)
def test_a_doubt_about_labels_is_asked_with_its_columns(columns, code):
    with refused(code, DomainError):
        read_existing(rows_of(**columns))


TWICE = [f"q{k // 2}" for k in range(12)]


@pytest.mark.parametrize(
    "columns",
    [
        {"item": TWICE},
        {"column 1": [*range(12)], "item": TWICE},
        {"annotation_id": [f"a{k}" for k in range(12)], "item": TWICE},
        {"response_id": [f"r{k}" for k in range(12)], "item": TWICE},
        {"id": [*range(12)], "text": TWICE},
        {"item": TWICE, "by": ["AB", "CD"] * 6},
        {"item": TWICE, "round": [1, 2] * 6},
        {"model": ["bart", "t5", "pegasus", "gpt2"] * 3},
        {},
    ],
)
def test_an_item_that_may_have_two_labels_is_asked_for(columns):
    cells = columns | {"clarity": LABELS, "What was good?": TEXTS}
    rows = [{name: of_all[k] for name, of_all in cells.items()} for k in range(12)]
    with refused("no_rater", DomainError):
        read_existing(rows)


def test_numbers_before_labels_and_apart_describe_the_item():
    rows = rows_of(shots=[0, 4, 8] * 4, text=TEXTS, clarity=LABELS)
    assert criteria_of(rows) == {"preference"}


@pytest.mark.parametrize("part", ["mode", "system", "source", "rep_id", "category", "turn"])
def test_a_system_a_setting_or_a_repetition_is_part_of_the_item(part):
    cells = {"item": TWICE, part: [1, 2] * 6, "clarity": LABELS}
    if part not in ("rep_id", "turn"):
        cells[part] = ["base", "tuned"] * 6
    rows = [{name: of_all[k] for name, of_all in cells.items()} for k in range(12)]
    assert len({*read_existing(rows).table["unit"]}) == 12


def test_a_total_of_labels_is_left_out_and_whole_overall_marks_are_kept():
    total = [round((a + b) / 2, 3) for a, b in zip(LABELS, LABELS[::-1], strict=True)]
    rows = rows_of(clarity=LABELS, tone=LABELS[::-1], overall=total)
    assert criteria_of(rows) == {"clarity", "tone"}
    rows = rows_of(clarity=LABELS, tone=LABELS[::-1], overall=LABELS)
    assert criteria_of(rows) == {"clarity", "tone", "overall"}


def test_chosen_models_win_over_rejected_ones():
    models = ["bart", "t5", "gpt2"] * 4
    rows = rows_of(
        chosen_model=models, rejected_model=[*models[1:], models[0]], chosen_score=LABELS
    )
    table = read_existing(rows).table
    assert {*table["criterion"]} == {"preference"}
    winners = [
        table[f"system_{'a' if label < 0 else 'b'}"][k] for k, label in enumerate(table["label"])
    ]
    assert winners == models


def test_winners_may_be_named_by_the_columns_of_their_texts():
    rows = rows_of(bart=TEXTS, llama=TEXTS[::-1], winner=["bart", "llama", "llama"] * 4)
    assert read_existing(rows).columns["rater:unnamed rater"] == "winner"


# Nested or numbered structure is content.


def test_sides_of_a_comparison_are_no_raters():
    sides = {"answer_a": TEXTS, "answer_b": TEXTS[::-1], "score_a": LABELS, "score_b": LABELS}
    rows = rows_of(**sides, human_choice=SIDES)
    assert {*read_existing(rows).table["rater"]} == {UNNAMED}
    with refused("no_rater", DomainError):
        read_existing(rows_of(gpt4_output=TEXTS, gpt4=LABELS, claude_output=TEXTS, claude=LABELS))


@pytest.mark.parametrize(
    "others",
    [
        {"A": ["base", "tuned"] * 6, "B": ["tuned", "base"] * 6},
        {"answer_a": TEXTS, "answer_b": TEXTS[::-1]},
        {"model_a": ["base", "tuned"] * 6, "model_b": ["tuned", "base"] * 6},
    ],
)
@pytest.mark.parametrize("names", ["tone_a tone_b", "scores.tone.A scores.tone.B", "A.tone B.tone"])
def test_scores_of_both_sides_are_those_of_two_items(others, names):
    first, second = names.split()
    read = read_existing(rows_of(**others, **{first: LABELS, second: LABELS[::-1]}))
    assert {*read.table["rater"]} == {UNNAMED}
    assert len({*read.table["unit"]}) == len(read.table) == 24
    assert "system_b" not in read.columns


def test_columns_of_a_and_b_without_anything_compared_are_raters():
    cells = {f"{name}_{who}": LABELS for name in ("clarity", "fluency") for who in "ab"}
    assert {*read_existing(rows_of(text=TEXTS, **cells)).table["rater"]} == {"a", "b"}


def test_flags_beside_labels_called_after_their_source_are_no_labels():
    truths = [True, False] * 6
    rows = rows_of(kind_llm=["x", "y", "z"] * 4, view_llm=YES_NO, uncertain=truths)
    assert criteria_of(rows) == {"kind_llm", "view_llm"}


def test_what_is_said_with_yes_or_no_beside_such_labels_is_one_of_them():
    truths = {"action_ok": [True, False, False] * 4, "readable": [True, False] * 6}
    assert criteria_of(rows_of(clarity=LABELS, **truths)) == {"clarity", *truths}


@pytest.mark.parametrize("source", ["llm_judge_{}", "{}_human"])
def test_what_is_called_after_the_source_of_a_label_is_one_more(source):
    cells = {source.format("score"): LABELS, source.format("brand_pass"): [0, 1] * 6}
    rows = [row | {"rater": "author"} for row in rows_of(**cells)]
    assert criteria_of(rows) == {*cells}


def test_numbered_columns_beside_their_mean_are_raters():
    second = [*LABELS[1:], LABELS[0]]
    means = [(a + b) / 2 for a, b in zip(LABELS, second, strict=True)]
    means[3] += 10  # a slip of the pen
    rows = rows_of(**{"bart-s1": LABELS, "bart-s2": second, "bart-s": means})
    table = read_existing(rows).table
    assert {*table["rater"]} == {"1", "2"}
    assert {*table["criterion"]} == {"bart-s"}


def test_each_word_beside_its_label_is_an_item():
    words = {"words": ["The", "boat", "sank"], "label": ["good", "bad", "good"]}
    rows = [{"summary": text, **words} for text in TEXTS]
    table = read_existing(rows).table
    assert len({*table["unit"]}) == len(table) == 36


def test_a_list_under_a_name_of_items_is_one_name_and_other_words_are_no_labels():
    rows = [
        {"key": ["gpt", f"q{k}"], "annotator": who, "brands": ["X", "Y"], "fluency": LABELS[k]}
        for k in range(6)
        for who in ("ann", "ben")
    ]
    table = read_existing(rows).table
    assert {*table["unit"]} == {f"gpt/q{k}" for k in range(6)}
    assert {*table["criterion"]} == {"preference"}


def by_two(**columns):
    """Return rows of two annotators, whose labels differ in the first item."""
    return [
        {"item": f"i{k}", "annotator": who, **{n: cells[k + shift] for n, cells in columns.items()}}
        for k in range(6)
        for shift, who in enumerate(("ann", "ben"))
    ]


def test_columns_with_agreed_labels_beside_them_are_those_of_annotators():
    same = ["none", "trigger"] * 6
    rows = by_two(slot_actor=["present", "implied", "missing"] * 4, kind_of_scope=same, notes=SIDES)
    rows = [row | {"gold_actor": "present", "gold_scope": "none"} for row in rows]
    read = read_existing(rows)
    assert {*read.table["criterion"]} == {"slot_actor", "kind_of_scope"}
    assert read.marked == 0  # among words, none and missing are labels
    assert len(read.table) == 24


def test_what_always_has_one_answer_beside_others_with_yes_or_no_is_a_criterion():
    truths = [True, False] * 6
    rows = by_two(never=[False] * 12, asks=truths, cites=[True] * 3 + truths[:9], cost=LABELS)
    assert criteria_of(rows) == {"never", "asks", "cites"}


def test_one_annotator_s_criteria_are_found_as_those_of_nobody_are():
    rows = [row | {"annotator": "ann"} for row in rows_of(sarcasm=YES_NO, offensive=YES_NO[::-1])]
    assert criteria_of(rows) == {"sarcasm", "offensive"}


def test_a_key_beside_the_label_of_an_annotator_is_no_criterion():
    rows = by_two(true_label=YES_NO, label=YES_NO)
    assert "true_label" not in read_existing(rows).columns.values()
    assert criteria_of(rows) == {"preference"}


def test_a_table_of_texts_with_one_label_of_each_stays_one_of_texts(tmp_path):
    (path := tmp_path / "texts.csv").write_text(
        "\n".join(["prompt,text,label", *(f"{text},{text},yes" for text in TEXTS)])
    )
    with open_table(path) as table:
        assert ratings_in(path, table) == ("", "")
