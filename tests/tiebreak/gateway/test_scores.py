"""Scores of texts by a reward model."""

import pytest

from tests.tiebreak.gateway.sample_requests import CHAT, connect
from tests.tiebreak.gateway.stub_server import StubServer
from tiebreak.gateway import FakeModels, Message, ScoreRequest

ANSWER = (*CHAT, Message("assistant", "It rains."))


def score(stub, prompt=ANSWER):
    [result] = connect(stub).scores([ScoreRequest("1", prompt)])
    return result


def test_the_whole_conversation_is_scored_without_an_activation(stub):
    result = score(stub)
    assert (result.id, result.score, result.model) == ("1", 7.0, "tiny")
    [body] = [body for path, body in stub.requests if path == "/classify"]
    assert body["use_activation"] is False
    assert [turn["role"] for turn in body["messages"]] == ["system", "user", "assistant"]


def test_a_string_is_scored_as_it_is(stub):
    assert score(stub, "Three words only").score == 3.0


@pytest.mark.parametrize(
    "options", [{"owner": "other"}, {"missing": frozenset({"/classify"})}, {"scores": 2}]
)
def test_a_model_without_one_score_is_refused_with_advice(options):
    with StubServer(**options) as stub:
        error = score(stub).error
    assert error.code == "unsupported"


def test_dummy_scores_depend_on_the_text_and_the_model():
    requests = [ScoreRequest(text, text) for text in ("one", "two")]
    scores = [[one.score for one in FakeModels(name).scores(requests)] for name in "aba"]
    assert scores[0] == scores[2] != scores[1]
    assert len(set(scores[0])) == 2
