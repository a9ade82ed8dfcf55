"""Answers that a server constrains to a few texts, and servers that refuse or ignore it."""

import pytest

from tests.tiebreak.gateway.sample_requests import CHAT, codes, request, sampled
from tests.tiebreak.gateway.stub_server import Fault, StubServer, choices_of
from tiebreak.gateway import FakeModels, chosen

CHOICES = ("A", "No preference", "B")


def asked(name="1", **changes):
    return request(name, prompt=CHAT, choices=CHOICES, **changes)


@pytest.mark.parametrize(
    ("owner", "option"), [("vllm", "structured_outputs"), ("other", "response_format")]
)
def test_each_kind_of_server_is_asked_in_its_own_way(owner, option):
    with StubServer(owner=owner) as stub:
        [result] = sampled(stub, asked())
    [body] = stub.generations
    assert option in body
    assert choices_of(body) == list(CHOICES)
    assert chosen(result.samples[0].text, CHOICES) == "A"
    assert result.is_constrained


def test_without_choices_nothing_is_constrained(stub):
    [result] = sampled(stub, request(prompt=CHAT))
    assert not result.is_constrained
    assert choices_of(stub.generations[0]) == []


def test_a_server_that_refuses_is_asked_on_only_if_the_caller_wants_free_texts():
    with StubServer(owner="other", choices="refused") as stub:
        requests = [asked(str(name), must_choose=False) for name in range(5)]
        results = sampled(stub, *requests, concurrency=1)
        assert codes(results) == {"done": 5}
        assert not any(result.is_constrained for result in results)
        # The refusal is remembered, so only requests on their way at that time are sent twice.
        assert len(stub.generations) <= 5 + 2


def test_a_server_that_refuses_is_named_if_the_choices_must_be_enforced():
    with StubServer(owner="other", choices="refused") as stub:
        results = sampled(stub, *(asked(str(name)) for name in range(5)), concurrency=1)
        assert codes(results) == {"no_choices": 5}
        assert len(stub.generations) <= 2 * 2


@pytest.mark.parametrize("must_choose", [True, False])
def test_a_request_that_is_at_fault_itself_says_nothing_about_choices(must_choose):
    with StubServer(owner="other") as stub:
        stub.always = Fault("400", message="a word is not allowed")
        [result] = sampled(stub, asked(must_choose=must_choose))
        assert result.error.code == "refused"
        stub.always = Fault("400", message="maximum context length is 256 tokens")
        [result] = sampled(stub, asked(must_choose=must_choose))
        assert result.error.code == "too_long"


@pytest.mark.parametrize(
    ("text", "choice"),
    [
        ("A", "A"),
        (" No preference\n", "No preference"),
        ('{"answer": "B"}', "B"),
        *((text, None) for text in ("", "a", "A.", "[]", '"A"', '{"answer": "C"}', "[" * 10**5)),
        *((text, None) for text in ('{"answer": "A", "why": ""}', '{"answer": ["A"]}', "null")),
    ],
)
def test_only_a_choice_or_an_object_with_a_choice_is_one(text, choice):
    assert chosen(text, CHOICES) == choice


def test_dummy_models_choose_by_the_seed():
    texts = [
        next(iter(FakeModels().sample([asked(seed=seed)]))).samples[0].text for seed in range(20)
    ]
    assert set(texts) == set(CHOICES)
    again = next(iter(FakeModels().sample([asked(seed=3)])))
    assert (again.samples[0].text, again.is_constrained) == (texts[3], True)


def test_the_server_tells_the_prompts_length_and_the_models_revision(stub):
    stub.root = "lab/tiny-2026"
    [result] = sampled(stub, request(prompt=CHAT))
    assert (result.prompt_tokens, result.revision) == (5, "lab/tiny-2026")
    stub.fingerprint = "fp_1"
    [result] = sampled(stub, request(prompt=CHAT))
    assert result.revision == "fp_1"


@pytest.mark.parametrize("root", ["", "tiny", "/data/models/tiny"])
def test_a_name_or_a_folder_is_no_revision(stub, root):
    stub.root = root
    [result] = sampled(stub, request(prompt=CHAT))
    assert result.revision == ""
