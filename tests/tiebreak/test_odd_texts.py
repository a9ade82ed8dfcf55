"""Texts that are no outputs of a system, and those that only look like it."""

import pytest

from tiebreak.odd_texts import (
    CUT_BY_DOTS,
    CUT_OFF,
    ERROR,
    MANY_INSTANCES,
    SAME,
    SHORT,
    OddTexts,
    is_error,
)

LONG = "The ferry number {} leaves the harbour in the morning and comes back at night with post."


def texts_of(*systems, n=30):
    """Texts of two systems: ordinary ones, but for those that each system has by instance."""
    texts = OddTexts()
    for k in range(n):
        for name, own in zip(("gull", "tern"), (*systems, {}), strict=False):
            texts.add(f"i{k}", name, own.get(k, LONG.format(f"{name} {k}")))
    return texts


def found_in(texts):
    return [(one.instance, one.system, one.kind) for one in texts.found()]


@pytest.mark.parametrize(
    "text",
    [
        "ERROR: rate limit",
        "Error code: 429 - {'error': {'message': 'Rate limit reached'}}",
        "[ERROR]",
        "<error>",
        "None",
        "nan",
        "",
        'Traceback (most recent call last):\n  File "run.py", line 3, in <module>\nKeyError: 1',
        "openai.RateLimitError: too many requests",
        "[content filter]",
        "Request timed out.",
        "HTTP 503",
        '{"error": {"message": "overloaded"}}',
        "No response",
    ],
)
def test_what_a_program_writes_is_found(text):
    assert found_in(texts_of({4: text})) == [("i4", "gull", ERROR)]


@pytest.mark.parametrize(
    "text",
    [
        "Errors are part of learning, so be kind to yourself when you make one.",
        "The error in the code is the missing bracket in the second line of the loop.",
        "Error handling in Python is done with try and except blocks, as in this example.",
        "No answer is right for everybody, but most people would take the earlier ferry.",
        "Timeouts are useful wherever a server may be slow, and they should be short.",
        "Nantes lies on the Loire, about fifty kilometres from the coast of the Atlantic.",
        "Rate limiting protects a server from too many requests; a token bucket is usual.",
    ],
)
def test_an_answer_about_errors_is_none(text):
    assert not is_error(text)
    assert found_in(texts_of({4: text})) == []


def test_a_text_is_short_beside_the_others_of_its_system_and_of_its_instance():
    assert found_in(texts_of({7: "The"})) == [("i7", "gull", SHORT)]
    assert found_in(texts_of({7: "42."}, {7: "It is 42."})) == []  # a question with a short answer
    often = dict.fromkeys(range(0, 30, 4), "Yes.")
    assert SHORT not in {one.kind for one in texts_of(often).found()}
    brief = {k: f"It leaves at {k}." for k in range(0, 30, 7)}
    assert found_in(texts_of(brief | {9: "Noon."})) == []


def test_one_text_for_several_instances_is_named():
    refusal = "I am sorry, but I cannot help with that request about the ferry today."
    same = dict.fromkeys(range(MANY_INSTANCES), refusal)
    assert {kind for _, _, kind in found_in(texts_of(same))} == {SAME}
    assert len(found_in(texts_of(same))) == MANY_INSTANCES
    assert found_in(texts_of({0: refusal, 1: refusal})) == []
    classes = {k: f"The mood of this message is of the kind number {k % 5}." for k in range(30)}
    assert found_in(texts_of(classes)) == []


@pytest.mark.parametrize("answers", [["yes", "no", "None"], ["Paris", "42", "nan", "Mount Kenya"]])
def test_short_answers_are_no_errors(answers):
    texts = OddTexts()
    for k in range(60):
        for name in ("gull", "tern"):
            texts.add(f"q{k}", name, answers[(k + len(name)) % len(answers)])
    assert texts.found() == []
    assert [*texts.sentences()] == []


def test_a_gap_of_lengths_is_said_with_both_medians():
    half = {k: f"Ferry {k} leaves." for k in range(30)}
    sentence = next(iter(texts_of(half).sentences()))
    assert {"gull", "tern"} <= {*sentence.replace(".", " ").split()}


CUT = LONG.removesuffix(" at night with post.")


@pytest.mark.parametrize(
    ("text", "trait"),
    [
        (f"{CUT}…", CUT_BY_DOTS),
        (f"“{CUT}...”", CUT_BY_DOTS),
        (CUT, CUT_OFF),
        (f"{CUT},", CUT_OFF),
        (f"Here is my summary of it. {LONG}", "begin with “Here is my”"),
        (f"{LONG} I hope this helps you.", "end with “helps you.”"),
    ],
)
@pytest.mark.parametrize("n", [10, 30])
def test_how_texts_of_one_system_begin_or_end_tells_it(text, trait, n):
    own = {k: text.format(k) for k in range(n)}
    texts = texts_of(own, n=n)
    tells = {(one.system, one.trait): (one.n, one.of, one.others) for one in texts.telltales()}
    trait = trait.replace("“helps", "“this helps")
    assert tells["gull", trait] == (n, n, 0)
    assert {system for system, one in tells if one == trait} == {"gull"}
    assert trait in [*texts.sentences()][-1]


def test_the_longest_beginning_that_most_texts_have_is_the_one_that_is_said():
    shared = {
        k: f"To handle {'a' if k < 7 else 'the'} ferry, come. {LONG.format(k)}" for k in range(19)
    }
    ends = {k: f"{LONG.format(k)} I hope {'this' if k < 7 else 'it'} helps you." for k in range(19)}
    for own, trait in ((shared, "begin with “To handle”"), (ends, "end with “helps you.”")):
        tells = [one for one in texts_of(own, n=19).telltales() if one.system == "gull"]
        assert [(one.trait, one.n) for one in tells] == [(trait, 19)]


@pytest.mark.parametrize("text", [f"{CUT}…", CUT, f"Here is my summary of it. {LONG}"])
def test_what_all_systems_have_and_what_is_rare_tells_none(text):
    every = {k: text.format(k) for k in range(30)}
    rare = {k: text.format(k) for k in range(0, 30, 6)}
    trait = {CUT_BY_DOTS, CUT_OFF, "begin with “Here is my”"}
    for texts in (texts_of(every, every), texts_of(rare)):
        assert not trait & {one.trait for one in texts.telltales()}


def test_few_texts_tell_nothing():
    assert texts_of({k: CUT.format(k) for k in range(9)}, n=9).telltales() == []


@pytest.mark.parametrize(("before", "is_cut"), [("- go there", False), ("- Go there.", True)])
def test_a_text_that_ends_with_a_list_is_cut_off_where_the_other_items_have_a_full_stop(
    before, is_cut
):
    own = {k: f"{LONG.format(k)}\n{before}\n- confirm part {k} of this" for k in range(12)}
    tells = {one.trait for one in texts_of(own, n=12).telltales()}
    assert (CUT_OFF in tells) == is_cut
