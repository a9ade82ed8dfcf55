"""Names in sentences."""

import pytest

from tiebreak.reading.words import MAX_NAMED, named_instances, question_about


@pytest.mark.parametrize("name", ["Notes", "Which reply is more helpful?", "Go on!", "Which?  "])
def test_a_question_about_a_name_has_one_mark(name):
    question = question_about("Open", name)
    assert f"“{name}”" in question
    assert sum(question.count(mark) for mark in "?!") == 1


def test_only_some_of_many_instances_are_named_and_said_to_be_examples():
    keys = [f"i{n}" for n in range(MAX_NAMED + 1)]
    assert named_instances(["a", "a"]) == "instance a"
    assert named_instances(keys[:-1]).endswith(f" {', '.join(keys[:-1])}")
    assert keys[-1] not in named_instances(keys)
    assert named_instances(keys).startswith("such as")
