"""The rules by which raters are found in tables of ratings, and who of them is a machine."""

import json

import pytest

from tests.refusals import refused
from tests.tiebreak.formats.labelled_rows import CRITERIA, graded, labels_of, long, text_of
from tiebreak.errors import DomainError, InvalidInput
from tiebreak.formats.errors import FormatError
from tiebreak.formats.layouts import Choice, read_existing
from tiebreak.formats.rating_names import UNNAMED, is_machine


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


def test_whole_numbers_beside_fractions_are_not_two_raters():
    rows = [
        {"id": f"i{k}", "A_fluency": 9 + k, "B_fluency": k / 7, "A_style": 8, "B_style": k / 9}
        for k in range(1, 7)
    ]
    with refused("unclear_label", DomainError):
        read_existing(rows)


def test_a_row_may_have_all_labels_of_a_rater():
    rows = [{"user_id": f"u{k}"} | {str(i): (k + i) % 5 for i in range(1, 5)} for k in range(6)]
    assert (found := labels_of(rows))["preference", "4", "u3"] == 2
    assert labels_of(rows, columns=read_existing(rows).columns) == found
    named = [dict(zip(["user_id", *"wxyz"], row.values(), strict=True)) for row in rows]
    for unclear in (named, [*rows, rows[0] | {"1": 9}]):  # criteria or items; a rater twice
        with refused("no_unit", DomainError):
            read_existing(unclear)


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


@pytest.mark.parametrize("fact", ["age", "Geschlecht", "sex"])
def test_rows_of_persons_are_raters_and_others_items(fact):
    rows = [
        {"id": 10 + r, **{f"{c}_{t}": t + r for t in range(1, 4) for c in ("Honesty", "Fluency")}}
        for r in range(5)
    ]
    assert {rater for *_, rater in labels_of(rows)} == {"1", "2", "3"}
    persons = [row | {fact: 30 + k} for k, row in enumerate(rows)]
    assert {rater for *_, rater in labels_of(persons)} == {*map(str, range(10, 15))}


def test_raters_who_rated_twice_by_a_guess_are_asked_for_and_by_choice_refused(tmp_path):
    rows = [row | {"pass": n} for n in (1, 2) for row in long([1, 2, 3])]
    for k, row in enumerate(rows):
        row["rating"] += k % 2
    with refused("rated_twice", DomainError):
        read_existing(rows)
    with pytest.raises(FormatError):
        read_existing(rows, choice=Choice(columns={"unit": "item"}))
    assert len(read_existing(rows, choice=Choice(columns={"run": "pass"})).table) == 12


@pytest.mark.parametrize("who", ["volunteer", "student", "Teacher", "clinician"])
def test_numbered_persons_of_any_calling_are_raters(who):
    rows = [{"id": k, f"{who}1": k % 5, f"{who} 2": k % 4} for k in range(1, 12)]
    assert {rater for *_, rater in labels_of(rows)} == {f"{who}1", f"{who} 2"}


@pytest.mark.parametrize("who", ["Prüfer", "juror", "Oceniający", "Эксперт", "évaluateur", "评审"])
def test_raters_have_letters_in_many_languages(who):
    words = ["bad", "fair", "good"]
    rows = [{"id": k, f"{who} A": words[k % 3], f"{who} B": words[k % 2]} for k in range(12)]
    assert {rater for *_, rater in labels_of(rows)} == {f"{who} A", f"{who} B"}


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


@pytest.mark.parametrize("word", ["Member", "expert", "reviewer"])
@pytest.mark.parametrize("name", ["{1}_{0}", "{0}.{1}"])
def test_persons_beside_criteria_in_titles_are_raters(word, name):
    found = labels_of(graded(name, [f"{word}1", f"{word}2"]))
    assert {rater for *_, rater in found} == {f"{word}1", f"{word}2"}
    assert {criterion for criterion, *_ in found} == {*CRITERIA}


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


def test_a_model_s_name_with_its_number_is_a_machine_and_a_form_of_poems_is_none():
    assert is_machine("opus-4.8")
    assert is_machine("Sonnet 4")
    assert not is_machine("haiku")


def test_what_is_beside_machines_in_an_object_is_one_unless_it_is_a_person():
    names = ("gpt-5.1", "new-1.8", "human")
    rows = [{"item": f"i{k}", "judges": {n: (k + len(n)) % 3 for n in names}} for k in range(6)]
    table = read_existing(rows).table
    kinds = {
        r.partition(".")[2]: kind for r, kind in zip(table["rater"], table["kind"], strict=True)
    }
    assert kinds == {"gpt-5.1": "machine", "new-1.8": "machine", "human": "human"}


@pytest.mark.parametrize(
    "title", ["Clip {}: how well does it match the audio?", "How clear is sample {} to you?"]
)
@pytest.mark.parametrize("more", [{}, {"How old are you in years?": 30}])
def test_a_question_that_is_asked_again_with_other_numbers_is_about_several_things(title, more):
    rows = [
        {"participant": f"p{k}", **more, **{title.format(n): (k + n) % 5 for n in range(1, 5)}}
        for k in range(6)
    ]
    table = read_existing(rows).table
    assert len({*table["unit"]}) == 4
    assert len({*table["rater"]}) == 6
    assert len({*table["criterion"]}) == 1


def test_lists_by_rater_are_theirs_and_lists_by_anything_else_are_asked_about(tmp_path):
    def lists(*names, **more):
        rows = [{"prompt_id": f"p{k}", "clarity": k % 4, "tone": k % 3} for k in range(6)]
        (path := tmp_path / "t.json").write_text(
            json.dumps({**more, "all": dict.fromkeys(names, rows)})
        )
        return read_existing(path).table

    assert {*lists("annotator_1", "annotator_2")["rater"]} == {"annotator_1", "annotator_2"}
    judged = lists("base", "tuned", judge_model="gpt-4o", summary={"base": {"clarity": 2.5}})
    assert {*judged["rater"]} == {"gpt-4o"}
    assert len({*judged["unit"]}) == 12
    with refused("no_rater", DomainError):
        lists("base", "tuned")


@pytest.mark.parametrize("header", ["item rater score", "item,rater,score", "item  rater  score"])
def test_a_header_that_is_divided_otherwise_than_its_rows_is_read(header, tmp_path):
    lines = [f"i{k}\t{who}\t{(k + n) % 4}" for k in range(5) for n, who in enumerate("xy")]
    (path := tmp_path / "t.tsv").write_text("\n".join([header, *lines]))
    read = read_existing(path)
    assert len(read.table) == 10
    assert any("another mark" in note for note in read.notes)


LABELS = [3, 1, 5, 2, 4, 3, 5, 1, 2, 4, 3, 5]


def by(names):
    """Return twelve rows with an item and labels in columns of these names."""
    shifts = enumerate(names.split())
    labels = {name: [*LABELS[k:], *LABELS[:k]] for k, name in shifts}
    return [
        {"item_id": f"i{k}"} | {n: of_all[k] for n, of_all in labels.items()} for k in range(12)
    ]


@pytest.mark.parametrize("other", ["gemini_{}", "{}_gpt4", "llm_{}", "human_{}"])
def test_who_gave_columns_and_the_same_of_a_model_or_person_is_asked(other):
    rows = by(" ".join(["tone", "wit", other.format("tone"), other.format("wit")]))
    with refused("no_rater", DomainError):
        read_existing(rows)


@pytest.mark.parametrize(
    "names", ["gpt4_tone gpt4_fluency", "gpt4.tone gpt4.fluency", "scores.wit scores.pace"]
)
def test_whether_a_model_judged_or_was_judged_and_what_keys_name_is_asked(names):
    with refused("no_rater", DomainError):
        read_existing(by(names))


@pytest.mark.parametrize(
    ("names", "criteria"),
    [
        ("llm_tone llm_fluency", {"llm_tone", "llm_fluency"}),
        ("llm_scores.wit llm_scores.pace", {"wit", "pace"}),
    ],
)
def test_what_a_judge_judged_are_criteria_of_one(names, criteria):
    read = read_existing(by(names))
    assert {*read.table["rater"]} == {UNNAMED[1]}
    assert {*read.table["criterion"]} == criteria


@pytest.mark.parametrize(
    ("fact", "items"), [({}, 1), ({"condition": ["old", "new"] * 6}, 2), ({"group": [1, 2] * 6}, 2)]
)
def test_rows_of_one_rater_each_are_about_one_thing_or_what_differs_among_them(fact, items):
    rows = [
        {"participant": row.pop("item_id")} | {n: fact[n][k] for n in fact} | row
        for k, row in enumerate(by("ease usefulness clarity"))
    ]
    read = read_existing(rows)
    assert {*read.table["criterion"]} == {"ease", "usefulness", "clarity"}
    assert len({*read.table["unit"]}) == items
    assert ("all are taken to have rated one thing" in " ".join(read.notes)) == (items == 1)
    again = read_existing(rows, choice=Choice(columns=read.columns))
    assert again.sentence == read.sentence


def test_a_remark_names_no_item_beside_a_prompt_and_what_is_always_said_is_no_criterion():
    remarks = ["Good", "Fine", "Good", *"abcdefghi"]
    more = {"prompt": [text_of(k, 1) + str(k) for k in range(12)], "comments": remarks}
    rows = [
        {"evaluator": row.pop("item_id"), "response": "Here"} | {n: more[n][k] for n in more} | row
        for k, row in enumerate(by("safety clarity"))
    ]
    read = read_existing(rows)
    assert read.columns["unit"] == "prompt"
    assert {*read.table["criterion"]} == {"safety", "clarity"}


def test_a_criterion_named_after_a_text_names_no_item():
    rows = by("clarity_of_responses use")
    rows = [{"participant": row.pop("item_id")} | row for row in rows]
    with refused("no_label", DomainError):
        read_existing(rows)


def test_columns_called_after_a_model_that_mostly_say_the_same_are_raters_and_no_systems():
    words = ["none", "core", "none", "none", "core", "rest"] * 2
    other = [word if k % 3 else "core" for k, word in enumerate(words)]
    rows = [{"item": f"i{k}", "llm_use_a": words[k], "llm_use_b": other[k]} for k in range(12)]
    assert {rater for *_, rater in labels_of(rows)} == {"llm_use_a", "llm_use_b"}
