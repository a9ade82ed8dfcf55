"""Perturbed copies: what each kind changes, what it says of it, and what it refuses."""

import hashlib
import json
import subprocess
import sys

import pytest

from tests.refusals import refused
from tiebreak.perturbations import PERTURBATIONS, Edit, edited, perturbation_named, perturbed
from tiebreak.perturbations.edits import Draws, sentences, words

TEXT = (
    "The council of Ashford met on Monday, and it agreed on a plan for the new bridge. Dr. Maria"
    " Lopez said that 120 workers will start in 2024. They are paid by the state! Will the old road"
    " be closed? Residents of Ashford hope not, because the detour is 12.5 miles long."
)
OTHER = (
    "Whales are mammals that live in the sea. They breathe air with lungs. Some of them sing for"
    " hours. A calf drinks milk for about a year."
)
LIST = "Steps:\n1. Mix the flour with water.\n2. Wait for an hour.\n3. Bake the bread until it is brown.\n"
CHINESE = "委员会星期一开会,并同意了新桥的计划。居民们对这个决定表示欢迎!市长说工程将在明年开始。"
# A digest of all copies of TEXT, so that a change of any of them is noticed.
DIGEST = "9cae4ea9c6ccf79d"


def copy_of(name: str, text: str = TEXT, seed: int = 3) -> str:
    return perturbed(text, name, seed=seed, other=OTHER).text


@pytest.mark.parametrize("name", PERTURBATIONS)
def test_the_edits_make_the_copy_from_the_original(name):
    copy = perturbed(TEXT, name, seed=3, other=OTHER)
    assert copy.text != TEXT
    assert edited(TEXT, copy.edits) == copy.text
    assert (copy.name, copy.seed) == (name, 3)
    positions = [edit.position for edit in copy.edits]
    assert positions == sorted(positions)


@pytest.mark.parametrize("name", PERTURBATIONS)
def test_another_seed_gives_another_copy_unless_nothing_is_drawn(name):
    copies = {copy_of(name, seed=seed) for seed in range(6)}
    # The ending and the whole text are replaced without a draw, and so are all names.
    is_drawn = "ending" not in name and "answer" not in name
    assert (len(copies) > 1) == is_drawn


def test_copies_are_the_same_in_another_process_with_other_hashes():
    script = (
        "import json, sys; from tiebreak.perturbations import PERTURBATIONS, perturbed;"
        "text, other = json.load(sys.stdin);"
        "print(json.dumps([perturbed(text, n, seed=3, other=other).text for n in PERTURBATIONS]))"
    )
    done = subprocess.run(
        [sys.executable, "-c", script],
        input=json.dumps([TEXT, OTHER]),
        capture_output=True,
        text=True,
        check=True,
        env={"PYTHONHASHSEED": "17", "PYTHONPATH": ":".join(sys.path)},
    )
    copies = json.loads(done.stdout)
    assert copies == [copy_of(name) for name in PERTURBATIONS]
    assert hashlib.sha256("\n".join(copies).encode()).hexdigest()[:16] == DIGEST


def n_edits(name: str) -> int:
    return len(perturbed(TEXT, name, seed=3, other=OTHER).edits)


@pytest.mark.parametrize(
    "kind",
    [
        "characters/deletion",
        "characters/typos",
        "words/deletion",
        "words/fictional",
        "words/grammar",
        "sentences/reordering",
        "sentences/insertion",
        "sentences/replacement",
    ],
)
def test_a_major_change_changes_more_than_a_minor_one(kind):
    assert n_edits(f"{kind}/major") > n_edits(f"{kind}/minor")


def test_deleted_letters_are_missing_and_nothing_else():
    copy = perturbed(TEXT, "characters/deletion/major", seed=3)
    letters = sum(c.isalpha() for c in TEXT)
    assert len(copy.edits) == round(0.15 * letters)
    assert len(TEXT) - len(copy.text) == len(copy.edits)
    assert all(edit.before.isalpha() and edit.after == "" for edit in copy.edits)


@pytest.mark.parametrize("seed", range(20))
def test_every_word_keeps_a_letter(seed):
    text = "I am on my way to a bar in Ob, and so is he. We go by car or on foot, as it is far."
    copy = perturbed(text, "characters/deletion/major", seed=seed)
    assert len(copy.text.split()) == len(text.split())


def test_typos_change_letters_only_and_keep_capitals_first():
    for seed in range(20):
        for edit in perturbed(TEXT, "characters/typos/major", seed=seed).edits:
            assert edit.after.isalpha()
            assert edit.after[0].isupper() == edit.before[0].isupper()
            assert not edit.after[1:].isupper()


def test_deleted_words_leave_single_spaces_and_the_numbers_of_lists():
    for seed in range(20):
        copy = copy_of("words/deletion/major", LIST, seed)
        assert "  " not in copy.replace("\n", "")
        assert [line[:3] for line in copy.splitlines()[1:]] == ["1. ", "2. ", "3. "]


def test_an_invented_name_is_the_same_wherever_it_occurs():
    copy = perturbed(TEXT, "words/fictional/major", seed=3)
    changes = {(edit.before, edit.after) for edit in copy.edits}
    assert {before for before, _ in changes} == {
        *("Ashford", "Monday", "Maria Lopez", "120", "2024", "12.5")
    }
    assert len(dict(changes)) == len(changes)
    assert "Ashford" not in copy.text
    years = [after for before, after in changes if before == "2024"]
    assert years[0].startswith("20")


def test_grammatical_errors_are_made_in_english_only():
    copy = perturbed(TEXT, "words/grammar/major", seed=3)
    assert all(edit.after.lower() != edit.before.lower() for edit in copy.edits)
    german = "Der Rat traf sich in der Stadt, und was er an dem Tag beschloss, war die Brücke."
    with refused("nothing_to_change"):
        copy_of("words/grammar/minor", german)


def test_reordering_keeps_every_sentence_and_minor_swaps_two():
    minor, major = (copy_of(f"sentences/reordering/{d}") for d in ("minor", "major"))
    before = [s.before for s in sentences(TEXT)]
    for copy in (minor, major):
        assert sorted(s.before for s in sentences(copy)) == sorted(before)
    moved = [a != b for a, b in zip(before, [s.before for s in sentences(minor)], strict=True)]
    assert sum(moved) == 2
    after = [s.before for s in sentences(major)]
    assert all(a != b for a, b in zip(before, after, strict=True))


def test_sentences_of_another_text_are_inserted_or_end_the_text():
    inserted = copy_of("sentences/insertion/minor")
    assert sum(s.before in inserted for s in sentences(OTHER)) == 1
    ending = copy_of("sentences/ending/minor")
    assert ending.endswith("A calf drinks milk for about a year.")
    assert ending.startswith(TEXT[:100])
    assert copy_of("sentences/answer/major") == OTHER


def test_sentences_end_at_stops_and_lines_and_not_at_abbreviations():
    assert [s.before for s in sentences(TEXT)][1] == (
        "Dr. Maria Lopez said that 120 workers will start in 2024."
    )
    assert [s.before for s in sentences(LIST)][:2] == ["Steps:", "Mix the flour with water."]
    assert len(sentences(CHINESE.replace("!", "\uff01"))) == 3
    assert [w.before for w in words(LIST)][:3] == ["Steps", "Mix", "the"]


def test_texts_without_spaces_are_changed_by_characters_and_sentences_only():
    assert len(copy_of("characters/deletion/major", CHINESE)) < len(CHINESE)
    assert copy_of("sentences/reordering/major", CHINESE.replace("!", "\uff01"))
    with refused("no_spaces"):
        copy_of("words/deletion/minor", CHINESE)


def test_marks_go_with_their_letters():
    hindi = "समिति ने सोमवार को बैठक की और नए पुल की योजना पर सहमति दी।"
    for edit in perturbed(hindi, "characters/deletion/major").edits:
        following = hindi[edit.end : edit.end + 1]
        assert not following or not 0x93A <= ord(following) <= 0x94D


@pytest.mark.parametrize(
    ("text", "name", "other", "code"),
    [
        ("Too short for that.", "characters/typos/minor", "", "text_too_short"),
        ("新桥的计划。", "characters/typos/minor", "", "text_too_short"),
        (TEXT, "words/typos/minor", "", "unknown_perturbation"),
        (TEXT.split(". ", maxsplit=1)[0], "sentences/reordering/minor", "", "too_few_sentences"),
        (TEXT, "sentences/ending/minor", "", "no_other_text"),
        (TEXT, "sentences/answer/major", f" {TEXT} ", "no_other_text"),
        (TEXT, "sentences/insertion/minor", "One sentence.", "other_text_too_short"),
        (
            "no names are in this text that is long",
            "words/fictional/minor",
            "",
            "nothing_to_change",
        ),
    ],
)
def test_what_cannot_be_changed_is_refused_with_a_reason(text, name, other, code):
    with refused(code):
        perturbed(text, name, other=other)


def test_edits_must_fit_the_text():
    with refused("edit_of_another_text"):
        edited("a cat", [Edit(0, "b", "c")])
    with refused("edits_overlap"):
        edited("a cat", [Edit(0, "a c", ""), Edit(2, "cat", "")])


def test_draws_are_numbers_of_the_documented_generator():
    draws = Draws("seed")
    assert [draws.below(100) for _ in range(5)] == [4, 30, 97, 20, 2]
    assert sorted(draws.shuffled(range(5))) == [0, 1, 2, 3, 4]


def test_a_perturbation_tells_level_kind_and_degree():
    typos = perturbation_named("characters/typos/minor")
    assert (typos.level, typos.kind, typos.degree) == ("characters", "typos", "minor")
    assert {p.level for p in PERTURBATIONS.values()} == {"characters", "words", "sentences"}
