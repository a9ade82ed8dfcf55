import subprocess
import sys
from math import exp, log
from random import getstate, seed

import pytest

from tiebreak.gateway import (
    AnswerLogprobRequest,
    FakeModels,
    GatewayError,
    LabelLogprobsRequest,
    Message,
    SampleRequest,
)

STORY = (
    "The river rose on Monday. Two roads were closed. The school stayed open. Nobody was hurt."
    " The mayor thanked the helpers."
)


def ask(prompt=STORY, model="fake", **changes):
    request = SampleRequest("1", prompt, **{"n": 8, "seed": 7, **changes})
    return next(FakeModels(model).sample([request])).samples


def texts(*args, **changes):
    return [sample.text for sample in ask(*args, **changes)]


def test_the_same_request_gives_the_same_texts():
    assert ask() == ask()


def test_another_process_gives_the_same_texts():
    program = (
        "from tiebreak.gateway import FakeModels, SampleRequest\n"
        f"request = SampleRequest('1', {STORY!r}, n=8, seed=7)\n"
        "[result] = FakeModels().sample([request])\n"
        "print('|'.join(sample.text for sample in result.samples))\n"
    )
    run = subprocess.run(
        [sys.executable, "-c", program], capture_output=True, text=True, check=True
    )

    assert run.stdout.strip() == "|".join(texts())


def test_each_text_comes_again_from_its_own_seed():
    for sample in ask():
        assert ask(n=1, seed=sample.seed) == (sample,)


def test_seeds_count_up_from_the_request():
    assert [sample.seed for sample in ask(n=3)] == [7, 8, 9]


def test_without_a_seed_texts_differ_and_carry_none():
    samples = ask(seed=None)

    assert {sample.seed for sample in samples} == {None}
    assert len({sample.text for sample in samples}) > 1


def test_texts_are_made_of_the_prompt():
    sentences = [one.strip(" .") for one in STORY.split(".") if one.strip()]

    assert all(any(sentence in text for sentence in sentences) for text in texts())


def test_warmer_is_more_various():
    cold, mild, hot = (len(set(texts(n=100, temperature=t))) for t in (0.01, 0.3, 2.0))

    assert cold < mild < hot
    assert len({texts(n=1, temperature=0, seed=seed)[0] for seed in range(20)}) == 1


def test_other_models_write_otherwise():
    assert texts(n=20) != texts(n=20, model="other")


def test_the_length_limit_is_said():
    samples = ask(max_tokens=2)

    assert all(sample.tokens <= 2 for sample in samples)
    assert {sample.finish_reason for sample in samples} == {"length"}
    assert {sample.finish_reason for sample in ask()} == {"stop"}


def test_a_text_ends_before_its_stop():
    assert all("." not in text for text in texts(stop=["."]))


@pytest.mark.parametrize("prompt", ["?", " \n ", "{{7*7}} {0.__class__} {% load x %}", "日本"])
def test_odd_prompts_are_only_text(prompt):
    assert all(texts(prompt))
    assert not any("49" in text for text in texts(prompt))


def test_messages_are_read():
    drawn = texts([Message("system", "Be brief."), Message("user", STORY)])

    assert len(set(drawn)) > 1


def test_global_chance_is_left_alone():
    seed(1)
    before = getstate()
    ask()

    assert getstate() == before


def test_scripted_failures_spare_the_others():
    error = GatewayError("busy", "Please wait.", is_retryable=True)
    models = FakeModels(fails={"2": error})
    requests = [SampleRequest(one, STORY, n=1, seed=1) for one in "123"]

    results = list(models.sample(requests))

    assert [type(one).__name__ for one in results] == ["Sampled", "Failed", "Sampled"]
    assert results[1].error is error


def test_requests_are_taken_one_by_one():
    taken = []

    def source():
        for one in "123":
            taken.append(one)
            yield SampleRequest(one, STORY, n=1, seed=1)

    next(FakeModels().sample(source()))

    assert taken == ["1"]


def test_labels_have_probabilities_that_leave_some_over():
    request = LabelLogprobsRequest("1", STORY, ["A", "B", "tie"])
    [result] = FakeModels().label_logprobs([request])

    assert list(result.logprobs) == ["A", "B", "tie"]
    assert 0 < sum(exp(value) for value in result.logprobs.values()) < 1
    assert result == next(FakeModels().label_logprobs([request]))


def test_an_answer_in_the_prompts_words_is_likelier():
    requests = [
        AnswerLogprobRequest("own", STORY, "Two roads were closed."),
        AnswerLogprobRequest("odd", STORY, "Purple zebras sang loudly."),
    ]
    familiar, odd = FakeModels().answer_logprobs(requests)

    assert odd.logprob < familiar.logprob < log(1)
    assert familiar.tokens == odd.tokens == 5
