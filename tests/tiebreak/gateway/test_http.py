"""Requests and results over HTTP, one at a time and many at once."""

import asyncio
import threading
import time
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import closing

import pytest

from tests.tiebreak.gateway.sample_requests import CHAT, codes, connect, request, sampled
from tests.tiebreak.gateway.stub_server import MODEL, Fault, written
from tiebreak.gateway import Failed, SampleRequest, ServedBy


def test_one_request_draws_all_texts(stub):
    [result] = sampled(stub, request(n=3))

    assert [one.text for one in result.samples] == [written(7, index) for index in range(3)]
    assert (result.id, result.model) == ("1", MODEL)
    [body] = stub.generations
    assert (body["n"], body["seed"], body["prompt"]) == (3, 7, "Text 1.")


def test_settings_arrive(stub):
    sampled(stub, request(temperature=0.25, top_p=0.5, max_tokens=9, stop=["\n"]))

    [body] = stub.generations
    asked = {"temperature": 0.25, "top_p": 0.5, "max_tokens": 9, "stop": ["\n"], "model": MODEL}
    assert asked.items() <= body.items()


def test_messages_go_to_the_chat(stub):
    [result] = sampled(stub, request(prompt=CHAT, n=2))

    [(path, body)] = [row for row in stub.requests if "completions" in row[0]]
    assert path == "/v1/chat/completions"
    assert body["messages"][1] == {"role": "user", "content": "Is it raining?"}
    assert [one.text for one in result.samples] == [written(7, 0), written(7, 1)]
    assert all(one.tokens for one in result.samples)


def test_no_seed_is_none(stub):
    [result] = sampled(stub, request(seed=None, n=2))

    assert "seed" not in stub.generations[0]
    assert [one.seed for one in result.samples] == [None, None]


def test_vllm_has_a_seed_for_each_text_and_decodes_by_our_settings_alone(stub):
    [result] = sampled(stub, request(n=3))

    assert [one.seed for one in result.samples] == [7, 8, 9]
    assert stub.generations[0]["top_k"] == 0


def test_other_servers_have_one_seed_and_are_asked_for_nothing_of_vllms(stub):
    stub.owner = "somebody"
    [result] = sampled(stub, request(n=3))

    assert [one.seed for one in result.samples] == [7, 7, 7]
    allowed = {"model", "prompt", "n", "seed", "temperature", "top_p", "max_tokens"}
    assert stub.generations[0].keys() == allowed


def test_a_server_without_a_list_of_models_serves(stub):
    stub.missing = frozenset({"/v1/models"})

    assert codes(sampled(stub)) == {"done": 1}


@pytest.mark.parametrize("prompt", ["Text 1.", CHAT])
def test_a_text_alone_has_its_length_and_no_prompt_comes_back(stub, prompt):
    [result] = sampled(stub, request(prompt=prompt))

    assert result.samples[0].tokens == 3
    assert not stub.generations[0].get("return_token_ids")


def test_prompts_are_only_text(stub):
    odd = "{{7*7}} {0.__class__} {% load x %} \x00 日本 \U0001f600"
    sampled(stub, request(prompt=odd))

    assert stub.generations[0]["prompt"] == odd


def test_results_stream_in_before_the_last_request_is_done(stub):
    stub.by_prompt = lambda text: Fault("hang") if text == "Text slow." else None
    with closing(connect(stub).sample([request("slow"), request("a"), request("b")])) as results:
        assert {next(results).id, next(results).id} == {"a", "b"}
        stub.released.set()
        assert next(results).id == "slow"


def test_requests_are_taken_no_further_ahead_than_the_window(stub):
    taken = 0

    def source() -> Iterator[SampleRequest]:
        nonlocal taken
        for taken in range(1, 201):
            yield request(taken)

    for done, _ in enumerate(connect(stub, concurrency=2).sample(source())):
        assert taken <= done + 4
    assert taken == 200


def test_requests_are_taken_in_the_callers_thread(stub):
    threads = set()

    def source() -> Iterator[SampleRequest]:
        for name in range(5):
            threads.add(threading.current_thread())
            yield request(name)

    list(connect(stub).sample(source()))

    assert threads == {threading.current_thread()}


def test_no_more_than_the_bound_are_under_way(stub):
    stub.delay_s = 0.02
    results = sampled(stub, *(request(name) for name in range(30)), concurrency=3)

    assert codes(results) == {"done": 30}
    assert stub.most_at_once == 3


def test_each_request_has_one_result_under_its_id(stub):
    stub.by_prompt = lambda text: Fault("broken") if text.endswith("3.") else None
    results = sampled(stub, *(request(name) for name in range(40)), max_attempts=1)

    assert sorted(int(one.id) for one in results) == list(range(40))
    assert {one.id for one in results if isinstance(one, Failed)} == {"3", "13", "23", "33"}


def test_who_stops_half_way_asks_only_for_what_is_missing(stub):
    names = [str(name) for name in range(20)]
    with closing(connect(stub, concurrency=2).sample(map(request, names))) as results:
        done = {next(results).id for _ in range(8)}
    at_the_stop = len(stub.generations)
    stub.requests.clear()
    missing = [request(name) for name in names if name not in done]
    rest = {one.id for one in connect(stub).sample(missing)}

    assert at_the_stop <= 8 + 4
    assert done | rest == set(names)
    asked = stub.prompts()  # requests that were under way at the stop may come late
    assert asked.keys() == {f"Text {one.id}." for one in missing}
    assert asked.total() <= len(missing) + 4


def test_leaving_half_way_does_not_wait_for_a_server_that_hangs(stub):
    stub.by_prompt = lambda text: Fault("hang") if text == "Text slow." else None
    results = connect(stub, timeout_s=60).sample([request("slow"), request("quick")])
    assert next(results).id == "quick"
    start = time.monotonic()
    results.close()

    assert time.monotonic() - start < 2
    assert not [one for one in threading.enumerate() if one.name == "gateway"]


def test_an_error_out_of_the_requests_comes_through(stub):
    def source() -> Iterator[SampleRequest]:
        yield request()
        raise RuntimeError("enough")

    with pytest.raises(RuntimeError, match="enough"):
        list(connect(stub).sample(source()))


def test_nothing_asked_is_nothing_sent(stub):
    assert list(connect(stub).sample([])) == []
    assert not stub.requests


def test_two_batches_at_once_do_not_meet(stub):
    server = connect(stub)
    one, two = server.sample([request("a"), request("b")]), server.sample([request("c")])

    assert {next(one).id, next(two).id, next(one).id} == {"a", "b", "c"}


def test_models_are_listed_where_a_loop_runs_already(stub):
    async def cell_of_a_notebook():
        return connect(stub).model_names()

    with ThreadPoolExecutor(1) as notebook:  # after a test in a browser, this thread has a loop
        assert notebook.submit(asyncio.run, cell_of_a_notebook()).result() == [MODEL]


DEVICES = "GPU 0: NVIDIA H100\nGPU 1: NVIDIA H100"


@pytest.mark.parametrize(
    ("mode", "known"), [("1", True), (True, True), (False, False), (None, None)]
)
def test_a_vllm_server_tells_its_version_device_and_batch_invariance(stub, mode, known):
    stub.about = {
        "/version": {"version": "0.32.0"},
        "/server_info": {
            "vllm_env": {} if mode is None else {"VLLM_BATCH_INVARIANT": mode},
            "system_env": {"nvidia_gpu_models": DEVICES},
        },
    }
    told = ServedBy("vLLM 0.32.0", "GPU 0: NVIDIA H100 GPU 1: NVIDIA H100", known)
    assert connect(stub).served_by() == told


@pytest.mark.parametrize(
    ("system", "device"),
    [
        ({"nvidia_gpu_models": None}, "cpu"),
        ({"intel_gpu_models": "Arc B580"}, "Arc B580"),
        ({}, "cpu"),
    ],
)
def test_a_device_without_the_name_of_an_accelerator_of_nvidia_is_told_too(stub, system, device):
    # As vLLM 0.32.0 answers on a CPU, shortened.
    config = "dtype=torch.float32, kv_cache_dtype=auto, device_config=cpu, seed=0"
    stub.about = {"/server_info": {"vllm_config": config, "vllm_env": {}, "system_env": system}}
    assert connect(stub).served_by().device == device


def test_what_a_server_does_not_tell_may_be_declared(stub):
    declared = {"device": "two A100", "batch_invariant": True}
    assert connect(stub, **declared).served_by() == ServedBy("vLLM", "two A100", True)
    stub.owner = "other"
    assert connect(stub, **declared).served_by() == ServedBy("", "two A100", True)
    assert connect(stub).served_by() == ServedBy()


def test_what_a_server_tells_of_its_mode_overrides_the_declaration(stub):
    told = {"vllm_env": {"VLLM_BATCH_INVARIANT": "0"}, "system_env": {}}
    stub.about = {"/server_info": told}
    assert connect(stub, batch_invariant=True).served_by().is_batch_invariant is False


def test_a_server_that_cannot_be_reached_tells_nothing(stub):
    server = connect(stub)
    stub.__exit__(None, None, None)
    assert server.served_by() == ServedBy()
