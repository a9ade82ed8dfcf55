from math import inf, nan

import pytest

from tiebreak import gateway
from tiebreak.gateway import (
    AnswerLogprobRequest,
    GatewayError,
    LabelLogprobsRequest,
    Message,
    ModelSettings,
    SampleRequest,
    open_models,
)

GOOD = {"id": "1", "prompt": "Rain fell.", "n": 2, "seed": 7}


def refusal(kind: type, **arguments: object) -> GatewayError:
    with pytest.raises(GatewayError) as caught:
        kind(**arguments)
    return caught.value


def test_a_request_says_what_is_asked():
    request = SampleRequest(**GOOD)

    assert (request.temperature, request.top_p, request.max_tokens) == (0.5, 1.0, 512)


@pytest.mark.parametrize(
    ("change", "named"),
    [
        ({"prompt": ""}, "prompt"),
        ({"prompt": []}, "prompt"),
        ({"prompt": "\ud800"}, "surrogate"),
        ({"prompt": [Message("user", "\ud800")]}, "surrogate"),
        ({"stop": ["\ud800"]}, "surrogate"),
        ({"prompt": [{"role": "user", "content": "Hi"}]}, "Message"),
        ({"n": 0}, "n must"),
        ({"temperature": -0.1}, "temperature"),
        ({"temperature": nan}, "temperature"),
        ({"temperature": inf}, "temperature"),
        ({"temperature": 0, "n": 2}, "temperature 0"),
        ({"top_p": 0}, "top_p"),
        ({"top_p": 1.1}, "top_p"),
        ({"top_p": nan}, "top_p"),
        ({"max_tokens": 0}, "max_tokens"),
        ({"stop": "."}, "stop"),
        ({"stop": [""]}, "stop"),
        ({"seed": 2**63 - 1}, "seed"),
        ({"seed": -(2**63) - 1}, "seed"),
    ],
)
def test_what_no_model_can_do_is_refused_by_name(change, named):
    error = refusal(SampleRequest, **{**GOOD, **change})

    assert error.code == "bad_request"
    assert not error.is_retryable
    assert named in str(error)


@pytest.mark.parametrize("labels", [[], "AB", ["A", ""], ["A", "A"]])
def test_labels_are_a_list_of_different_texts(labels):
    assert "labels" in refusal(LabelLogprobsRequest, id="1", prompt="?", labels=labels).message


def test_an_answer_has_a_character():
    assert "answer" in refusal(AnswerLogprobRequest, id="1", prompt="?", answer="").message


def test_messages_are_a_prompt():
    request = SampleRequest("1", [Message("user", "Hi")], n=1, seed=None)

    assert request.prompt[0].role == "user"


def test_an_error_says_its_sentence_and_whether_to_try_again():
    error = GatewayError("busy", "Please wait.", is_retryable=True)

    assert str(error) == "Please wait."
    assert (error.copy().code, error.copy().is_retryable) == ("busy", True)
    assert error.copy() is not error


@pytest.mark.parametrize(
    ("code", "is_own"), [("refused", True), ("bad_request", True), ("busy", False)]
)
def test_an_error_says_whether_it_is_of_its_request_alone(code, is_own):
    assert GatewayError(code, "No.").is_request_fault is is_own


def test_the_names_of_the_package_are_there():
    assert all(hasattr(gateway, name) for name in gateway.__all__)


def test_settings_open_each_provider():
    fake = open_models(ModelSettings("fake", "small"))
    http = open_models(
        ModelSettings(
            "http",
            "tiny",
            base_url="http://gpu1:8000",
            allowed_hosts=["gpu1:8000"],
            options={"concurrency": 2},
        )
    )

    assert (fake.model, http.model) == ("small", "tiny")


def test_an_unknown_provider_is_named():
    error = refusal(lambda: open_models(ModelSettings("gpt", "x")))

    assert error.code == "bad_settings"
    assert "gpt" in error.message


def test_an_unknown_option_is_named():
    spec = ModelSettings("fake", "x", options={"temperature": 1})

    assert "temperature" in refusal(lambda: open_models(spec)).message


def test_settings_do_not_show_the_key():
    assert "secret" not in repr(ModelSettings("http", "x", api_key="secret"))
