"""Log-probabilities of labels and answers over HTTP."""

from math import inf, isnan, nan
from random import Random
from typing import Any

import pytest

from tests.tiebreak.gateway.sample_requests import CHAT, connect, request
from tests.tiebreak.gateway.stub_server import MODEL, Fault, StubServer, logprob
from tiebreak.gateway import (
    AnswerLogprobRequest,
    GatewayError,
    LabelLogprobsRequest,
    responses,
)
from tiebreak.gateway.transport import MalformedResponse


def labels(stub: StubServer, prompt: Any, *names: str) -> Any:
    [result] = connect(stub).label_logprobs([LabelLogprobsRequest("1", prompt, names)])
    return result


@pytest.mark.parametrize("prompt", ["Which is better?", CHAT])
def test_vllm_tells_the_labels_own_tokens(stub, prompt):
    result = labels(stub, prompt, " A", "B", " tie")

    assert result.logprobs == {" A": logprob(" A"), "B": logprob("B"), " tie": logprob(" tie")}
    assert result.model == MODEL


def test_a_label_of_several_tokens_has_no_log_probability(stub):
    result = labels(stub, "Which is better?", "A", "A and B")

    assert result.logprobs["A"] == logprob("A")
    assert isnan(result.logprobs["A and B"])
    assert len(stub.generations[0]["logprob_token_ids"]) == 1


def test_labels_without_a_token_ask_for_nothing(stub):
    result = labels(stub, "Which is better?", "A and B", "B and A")

    assert all(isnan(value) for value in result.logprobs.values())
    assert not stub.generations


def test_labels_are_looked_up_once(stub):
    requests = [LabelLogprobsRequest(str(name), f"Is {name}?", ["A", "B"]) for name in range(9)]
    list(connect(stub, concurrency=1).label_logprobs(requests))

    assert len([path for path, _ in stub.requests if path == "/tokenize"]) == 2


@pytest.mark.parametrize("prompt", ["Which is better?", CHAT])
@pytest.mark.parametrize("lack", ["vllm", "tokenizer"])
def test_other_servers_tell_the_likeliest_tokens(stub, prompt, lack):
    if lack == "vllm":
        stub.owner = "somebody"
    else:
        stub.missing = frozenset({"/tokenize"})
    result = labels(stub, prompt, " A", "B", "C")

    assert (result.logprobs[" A"], result.logprobs["B"]) == (logprob(" A"), logprob("B"))
    assert isnan(result.logprobs["C"])
    [body] = stub.generations
    assert 20 in (body.get("top_logprobs"), body["logprobs"])


def answer(stub: StubServer, prompt: Any, text: str) -> Any:
    [result] = connect(stub).answer_logprobs([AnswerLogprobRequest("1", prompt, text)])
    return result


@pytest.mark.parametrize("owner", ["vllm", "somebody"])
def test_an_answer_is_the_sum_of_its_tokens(stub, owner):
    stub.owner = owner
    result = answer(stub, "Is it raining?", " It is.")

    assert result.tokens == 3
    assert result.logprob == pytest.approx(logprob(" It") + logprob(" is") + logprob("."))


@pytest.mark.parametrize("owner", ["vllm", "somebody"])
def test_a_token_that_spans_prompt_and_answer_counts(stub, owner):
    stub.owner = owner
    result = answer(stub, "It is rain", "ing now")

    assert result.tokens == 2
    assert result.logprob == pytest.approx(logprob(" raining") + logprob(" now"))


def test_an_answer_to_messages_comes_after_the_template(stub):
    result = answer(stub, CHAT, " Yes!")

    assert (result.tokens, result.logprob) == (2, pytest.approx(logprob(" Yes") + logprob("!")))


def test_other_servers_cannot_judge_an_answer_to_messages(stub):
    stub.owner = "somebody"
    result = answer(stub, CHAT, " Yes!")

    assert result.error.code == "unsupported"
    assert not stub.generations


def test_tokens_that_do_not_spell_the_answer_are_no_basis(stub):
    stub.owner = "somebody"
    result = answer(stub, "Is it raining?", " It is 日本.")

    assert result.error.code == "unsupported"


def test_a_prompt_that_melts_into_the_answer_is_a_sentence(stub):
    assert answer(stub, "rain", "ing").error.code == "unsupported"


@pytest.mark.parametrize("kind", ["shape", "types", "html", "other_model"])
def test_nonsense_is_no_log_probability(stub, kind):
    stub.always = Fault(kind)

    assert labels(stub, "Which?", "A").error.code in ("nonsense", "other_model")
    assert answer(stub, "Which?", " A").error.code in ("nonsense", "other_model")


@pytest.mark.parametrize("prompt", ["Which is better?", CHAT])
def test_a_server_without_log_probabilities_is_no_broken_server(stub, prompt):
    stub.always = Fault("no_logprobs")
    error = labels(stub, prompt, "A", "B").error

    assert (error.code, error.is_retryable) == ("unsupported", False)
    assert "vLLM" in error.message


JUNK = [None, True, -1, 10**400, nan, inf, "", "x", [], [None], {}, {"content": 1}, [[]], "\ud800"]
LOGPROBS = {
    "content": [{"token": "A", "top_logprobs": [{"token": "A", "logprob": -1.0}]}],
    "top_logprobs": [{"A": -1.0}],
    "tokens": ["a", "b"],
    "token_logprobs": [None, -1.0],
}
CHOICE = {
    "index": 0,
    "text": "ab",
    "finish_reason": "stop",
    "token_ids": [1],
    "logprobs": LOGPROBS,
    "prompt_logprobs": [None, {"2": {"logprob": -1.0}}],
}
WHOLE = {
    "model": MODEL,
    "choices": [CHOICE],
    "usage": {"completion_tokens": 1},
    "data": [{"id": MODEL, "owned_by": "vllm"}],
    "tokens": [1, 2],
}
READERS = {
    "samples": lambda data: responses.samples(data, request(n=1), has_seed_per_text=True),
    "model": lambda data: responses.check_model(data, {MODEL}),
    "listed_models": responses.listed_models,
    "token_ids": responses.token_ids,
    "next_token": responses.next_token_logprobs,
    "prompt": lambda data: responses.prompt_token_logprobs(data, [1, 2], 1),
    "echo": lambda data: responses.echoed_logprobs(data, "a", "b"),
}


def spoiled(value: Any, chance: Random) -> Any:
    """Return the value with some parts replaced by junk, and others left out."""
    if chance.random() < 0.1:
        return chance.choice(JUNK)
    if isinstance(value, dict):
        kept = {key: one for key, one in value.items() if chance.random() > 0.05}
        return {key: spoiled(one, chance) for key, one in kept.items()}
    return [spoiled(one, chance) for one in value] if isinstance(value, list) else value


@pytest.mark.parametrize("reader", READERS)
def test_whatever_a_server_answers_is_read_or_refused(reader):
    assert READERS[reader](WHOLE)
    refused = 0
    for seed in range(1000):
        chance = Random(seed)
        data = {name: spoiled(value, chance) for name, value in WHOLE.items()}
        try:
            READERS[reader](data)
        except (MalformedResponse, GatewayError):
            refused += 1
    assert refused > 20
