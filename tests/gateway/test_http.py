import logging
import socket
import ssl
import threading
import time
import traceback
from collections import Counter
from collections.abc import Iterator
from contextlib import closing, suppress
from datetime import UTC, datetime, timedelta
from math import inf, isnan, nan
from pathlib import Path
from random import Random
from typing import Any

import pytest
from cryptography import x509
from cryptography.hazmat.primitives import hashes, serialization
from cryptography.hazmat.primitives.asymmetric import ec

from gateway import (
    AnswerLogprobRequest,
    Failed,
    GatewayError,
    LabelLogprobsRequest,
    Message,
    OpenAIServer,
    Sampled,
    SampleRequest,
    answers,
)
from gateway.transport import LONGEST_PAUSE_S, Connection, Unreadable, checked_address
from tests.gateway.stub_server import KEY, MODEL, Fault, StubServer, logprob, written

CHAT = (Message("system", "Be brief."), Message("user", "Is it raining?"))
HALF_ANSWERS = ["truncated", "hung_up", "unfinished"]
NONSENSE = ["html", "half_json", "list", "shape", "types", "deep", "empty", "twice_the_first"]


@pytest.fixture
def stub() -> Iterator[StubServer]:
    with StubServer() as running:
        yield running


def connect(stub: StubServer, **options: Any) -> OpenAIServer:
    own: dict[str, Any] = {
        "allowed_hosts": [stub.host],
        "attempts": 2,
        "first_pause_s": 0.01,
        "timeout_s": 5.0,
    }
    return OpenAIServer(options.pop("base_url", stub.base_url), MODEL, **own | options)


def request(name: object = "1", n: int = 1, seed: int | None = 7, **changes: Any) -> SampleRequest:
    return SampleRequest(str(name), changes.pop("prompt", f"Text {name}."), n, seed, **changes)


def sampled(stub: StubServer, *requests: SampleRequest, **options: Any) -> list[Sampled | Failed]:
    return list(connect(stub, **options).sample(requests or [request()]))


def failure(stub: StubServer, **options: Any) -> GatewayError:
    [result] = sampled(stub, **options)
    assert isinstance(result, Failed)
    return result.error


def codes(results: list[Any]) -> Counter[str]:
    return Counter(one.error.code if isinstance(one, Failed) else "done" for one in results)


# What is asked, and what comes back


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


def test_a_text_alone_has_its_length(stub):
    [result] = sampled(stub)

    assert result.samples[0].tokens == 3


def test_prompts_are_only_text(stub):
    odd = "{{7*7}} {0.__class__} {% load x %} \x00 日本 \U0001f600"
    sampled(stub, request(prompt=odd))

    assert stub.generations[0]["prompt"] == odd


# Many at once


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
    results = sampled(stub, *(request(name) for name in range(40)), attempts=1)

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
    assert stub.prompts() == Counter({f"Text {one.id}.": 1 for one in missing})


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
        raise RuntimeError("no more")

    with pytest.raises(RuntimeError, match="no more"):
        list(connect(stub).sample(source()))


def test_nothing_asked_is_nothing_sent(stub):
    assert list(connect(stub).sample([])) == []
    assert not stub.requests


def test_two_batches_at_once_do_not_meet(stub):
    server = connect(stub)
    one, two = server.sample([request("a"), request("b")]), server.sample([request("c")])

    assert {next(one).id, next(two).id, next(one).id} == {"a", "b", "c"}


# Faults


@pytest.mark.parametrize("kind", ["busy", "broken", *HALF_ANSWERS, *NONSENSE])
def test_a_passing_fault_is_tried_again(stub, kind):
    stub.faults.append(Fault(kind))

    assert codes(sampled(stub, request(n=2))) == {"done": 1}
    assert len(stub.generations) == 2


@pytest.mark.parametrize(
    ("kind", "code", "is_retryable", "asked"),
    [
        ("busy", "busy", True, 2),
        ("503", "busy", True, 2),
        ("broken", "broken", True, 2),
        ("501", "broken", False, 1),
        ("hung_up", "incomplete", True, 2),
        ("truncated", "incomplete", True, 2),
        ("unfinished", "incomplete", True, 2),
        ("no_text", "incomplete", False, 1),
        ("html", "nonsense", True, 2),
        ("deep", "nonsense", True, 2),
        ("twice_the_first", "nonsense", True, 2),
        ("fewer", "too_few", False, 1),
        ("other_model", "other_model", False, 1),
        ("redirect", "moved", False, 1),
        ("400", "refused", False, 1),
        ("refused_key", "refused_key", False, 1),
        ("forbidden", "forbidden", False, 1),
        ("unknown", "unknown_model", False, 1),
    ],
)
def test_a_lasting_fault_is_named_and_loses_no_other(stub, kind, code, is_retryable, asked):
    stub.by_prompt = lambda text: Fault(kind) if text == "Text bad." else None
    good = [request(name, n=2) for name in "abc"]
    results = sampled(stub, *good, request("bad", n=2), concurrency=1)

    bad = next(one.error for one in results if one.id == "bad")
    assert (bad.code, bad.is_retryable) == (code, is_retryable)
    assert len(bad.message) > 40
    assert bad.message.endswith(".")
    assert codes(results) == {"done": 3, code: 1}
    assert stub.prompts()["Text bad."] == asked


@pytest.mark.parametrize("kind", ["no_text", "unfinished", "fewer"])
def test_half_an_answer_to_messages_is_no_answer(stub, kind):
    stub.always = Fault(kind)
    [result] = sampled(stub, request(prompt=CHAT, n=2))

    assert result.error.code in ("incomplete", "too_few")


@pytest.mark.parametrize("kind", ["hang", "drip"])
def test_an_attempt_has_its_time_from_end_to_end(stub, kind):
    stub.always = Fault(kind)
    start = time.monotonic()

    assert failure(stub, timeout_s=0.3).code == "too_slow"
    assert 0.6 < time.monotonic() - start < 3


def test_the_servers_own_words_are_passed_on(stub):
    stub.always = Fault("400", message="The prompt is longer than 256 tokens.")

    assert "The prompt is longer than 256 tokens" in failure(stub).message


def test_a_fault_of_single_requests_never_stops_the_others(stub):
    stub.by_prompt = lambda text: None if text == "Text last." else Fault("400")
    results = sampled(
        stub, *(request(name) for name in range(9)), request("last"), patience=3, concurrency=1
    )

    assert codes(results) == {"refused": 9, "done": 1}


@pytest.mark.parametrize("kind", ["refused_key", "forbidden", "unknown", "redirect", "other_model"])
def test_what_all_would_get_is_asked_once_and_the_rest_fails_at_once(stub, kind):
    stub.by_prompt = lambda text: Fault(kind) if int(text[5:-1]) >= 10 else None
    results = sampled(stub, *(request(name) for name in range(500)), concurrency=4)

    assert codes(results)["done"] >= 10
    assert len(codes(results)) == 2
    assert len(results) == 500
    assert len(stub.generations) <= 10 + 2 * 4


def test_a_server_that_fails_for_ever_is_given_up_and_what_is_done_is_kept(stub):
    stub.by_prompt = lambda text: Fault("busy") if int(text[5:-1]) >= 10 else None
    requests = [request(name) for name in range(500)]
    results = sampled(stub, *requests, concurrency=4, patience=6, attempts=2)

    assert codes(results) == {"done": 10, "busy": 490}
    assert all(one.error.is_retryable for one in results if isinstance(one, Failed))
    assert len(stub.generations) <= 10 + 2 * (6 + 8)


def test_a_server_that_recovers_is_not_given_up(stub):
    stub.by_prompt = lambda text: Fault("broken") if int(text[5:-1]) % 3 else None
    requests = [request(name) for name in range(60)]
    results = sampled(stub, *requests, concurrency=1, patience=4, attempts=1)

    assert codes(results) == {"done": 20, "broken": 40}


def test_retry_after_is_waited_for_by_everybody(stub):
    stub.faults.append(Fault("busy", retry_after="1"))
    start = time.monotonic()
    results = connect(stub, concurrency=1).sample([request("a"), request("b"), request("c")])
    times = {one.id: time.monotonic() - start for one in results}

    assert min(times.values()) >= 1


def test_retry_after_may_be_a_date(stub):
    stub.faults.append(Fault("busy", retry_after="Fri, 01 Jan 2100 00:00:00 GMT"))

    assert failure(stub).code == "busy"
    assert len(stub.generations) == 1


def test_a_longer_pause_than_ours_is_left_to_the_caller(stub):
    stub.always = Fault("busy", retry_after=str(int(LONGEST_PAUSE_S) + 1))

    assert failure(stub, attempts=5).code == "busy"
    assert len(stub.generations) == 1


NO_YEAR = "Mon, 01 Jan 99999999999 00:00:00 GMT"


@pytest.mark.parametrize(
    "header", ["soon", "-5", "NaN", "1e9", "Thu, 01 Jan 1970 00:00:00 GMT", NO_YEAR]
)
def test_an_odd_retry_after_is_no_reason_to_wait(stub, header):
    stub.faults.append(Fault("busy", retry_after=header))

    assert codes(sampled(stub)) == {"done": 1}


def test_pauses_double_and_differ(stub, monkeypatch):
    pauses = []

    async def pause(connection: Connection, seconds: float) -> None:
        pauses.append(seconds)

    monkeypatch.setattr(Connection, "_pause", pause)
    stub.always = Fault("busy")
    requests = [request("a"), request("b")]
    sampled(stub, *requests, attempts=9, first_pause_s=1, concurrency=1)

    longest = [1, 2, 4, 8, 16, 32, LONGEST_PAUSE_S, LONGEST_PAUSE_S]
    assert len(set(pauses)) == len(pauses) == 16
    for pause_s, bound in zip(sorted(pauses), sorted(longest * 2), strict=True):
        assert bound / 2 <= pause_s <= bound


def test_half_characters_are_replaced(stub, monkeypatch):
    monkeypatch.setattr("tests.gateway.stub_server.written", lambda *_: "\ud83d and \U0001f600")
    [result] = sampled(stub)

    assert result.samples[0].text == "? and \U0001f600"


def own_certificate(folder: Path) -> ssl.SSLContext:
    """Of an authority that nobody has heard of."""
    key = ec.generate_private_key(ec.SECP256R1())
    name = x509.Name([x509.NameAttribute(x509.NameOID.COMMON_NAME, "localhost")])
    now = datetime.now(UTC)
    signed = (
        x509.CertificateBuilder(name, name, key.public_key(), 1)
        .not_valid_before(now - timedelta(days=1))
        .not_valid_after(now + timedelta(days=1))
        .sign(key, hashes.SHA256())
    )
    pem = serialization.Encoding.PEM
    private = key.private_bytes(
        pem, serialization.PrivateFormat.PKCS8, serialization.NoEncryption()
    )
    (folder / "both.pem").write_bytes(private + signed.public_bytes(pem))
    context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
    context.load_cert_chain(folder / "both.pem")
    return context


def test_a_certificate_of_nobodys_is_a_sentence(tmp_path):
    context = own_certificate(tmp_path)
    with socket.create_server(("127.0.0.1", 0)) as door:

        def shake_hands() -> None:
            with suppress(OSError):
                while True:
                    connection, _ = door.accept()
                    with suppress(OSError):
                        context.wrap_socket(connection, server_side=True).close()

        threading.Thread(target=shake_hands, daemon=True).start()
        host = f"127.0.0.1:{door.getsockname()[1]}"
        server = OpenAIServer(f"https://{host}", MODEL, allowed_hosts=[host], attempts=2)
        [result] = server.sample([request()])

    assert result.error.code == "bad_settings"
    assert "certificate" in result.error.message
    assert not result.error.is_retryable


def test_nobody_there_is_a_sentence():
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        host = f"127.0.0.1:{probe.getsockname()[1]}"
    server = OpenAIServer(
        f"http://{host}", MODEL, allowed_hosts=[host], attempts=2, first_pause_s=0.01
    )
    results = list(server.sample(request(name) for name in range(50)))

    assert codes(results) == {"unreachable": 50}
    assert host in results[0].error.message
    assert results[0].error.is_retryable


def test_a_model_that_vllm_does_not_serve_is_named_before_anything_is_asked(stub):
    server = OpenAIServer(stub.base_url, "large", allowed_hosts=[stub.host])
    results = list(server.sample(request(name) for name in range(50)))

    assert codes(results) == {"unknown_model": 50}
    assert "large" in results[0].error.message
    assert MODEL in results[0].error.message
    assert not stub.generations


def test_another_name_of_the_model_can_be_allowed(stub):
    stub.always = Fault("other_model")
    [result] = sampled(stub, aliases=["large"])

    assert result.model == "large"


# Addresses


@pytest.mark.parametrize(
    ("url", "root", "api"),
    [
        ("http://gpu1:8000", "http://gpu1:8000", "http://gpu1:8000/v1"),
        ("http://gpu1:8000/", "http://gpu1:8000", "http://gpu1:8000/v1"),
        ("http://GPU1:8000/v1/", "http://gpu1:8000", "http://gpu1:8000/v1"),
        ("https://gpu1/models/v1", "https://gpu1:443/models", "https://gpu1:443/models/v1"),
        ("http://[::1]:8000/v1", "http://[::1]:8000", "http://[::1]:8000/v1"),
    ],
)
def test_addresses_are_as_openais_clients_take_them(url, root, api):
    address = checked_address(url, ["gpu1:8000", "GPU1:443", "[::1]:8000"])

    assert (address.root, address.api) == (root, api)


@pytest.mark.parametrize(
    "url",
    [
        "http://169.254.169.254/v1",
        "http://gpu1:8001/v1",
        "http://gpu1/v1",
        "http://gpu1.evil.example:8000/v1",
        "http://evil.example:8000/gpu1:8000",
        "http://127.0.0.1:8000/v1",
        "http://2130706433:8000/v1",
        "http://gpu1.:8000/v1",
    ],
)
def test_case_6_hosts_are_allowed_letter_by_letter(url):
    with pytest.raises(GatewayError) as caught:
        OpenAIServer(url, MODEL, allowed_hosts=["gpu1:8000"])

    assert caught.value.code == "host_not_allowed"


@pytest.mark.parametrize(
    "url",
    [
        "",
        "gpu1:8000",
        "ftp://gpu1:8000/v1",
        "file:///etc/passwd",
        "http://gpu1:8000@evil.example/v1",
        "http://user:secret@gpu1:8000/v1",
        "http://gpu1:8000/v1?key=secret",
        "http://gpu1:8000/v1#part",
        "http://gpu1:port/v1",
        "http://:8000/v1",
        "http://gpu1:8000/\x00",
    ],
)
def test_case_6_what_is_no_plain_address_is_refused(url):
    with pytest.raises(GatewayError) as caught:
        OpenAIServer(url, MODEL, allowed_hosts=["gpu1:8000", "evil.example:80"])

    assert caught.value.code == "bad_settings"
    assert "secret" not in caught.value.message


def test_case_6_no_redirect_is_followed(stub):
    stub.always = Fault("redirect")

    assert failure(stub).code == "moved"
    assert not [path for path, _ in stub.requests if path == "/elsewhere"]


def test_case_6_no_proxy_is_taken_from_the_environment(stub, monkeypatch):
    for name in ("HTTP_PROXY", "http_proxy", "ALL_PROXY", "all_proxy"):
        monkeypatch.setenv(name, "http://127.0.0.1:9")

    assert codes(sampled(stub)) == {"done": 1}


@pytest.mark.parametrize(
    "option",
    [{"concurrency": 0}, {"attempts": 0}, {"patience": 0}, {"timeout_s": 0}, {"api_key": "a\nb"}],
)
def test_settings_that_cannot_work_are_refused(option):
    with pytest.raises(GatewayError) as caught:
        OpenAIServer("http://gpu1:8000", MODEL, allowed_hosts=["gpu1:8000"], **option)

    assert caught.value.code == "bad_settings"


# The key


def test_the_key_is_sent(stub):
    stub.key = KEY

    assert codes(sampled(stub, api_key=KEY)) == {"done": 1}
    assert failure(stub, api_key="wrong").code == "refused_key"


@pytest.mark.parametrize(
    "kind", ["refused_key", "400", "busy", "broken", "html", "hung_up", "redirect", "other_model"]
)
def test_the_key_is_in_no_error_repr_or_log(stub, kind, caplog):
    caplog.set_level(logging.DEBUG)
    stub.always = Fault(kind, message="You sent {key}, which is wrong.")
    server = connect(stub, api_key=KEY)
    [result] = server.sample([request()])

    assert isinstance(result, Failed)
    error = result.error
    said = [repr(server), repr(result), str(error), repr(error), *error.args, caplog.text]
    said += traceback.format_exception(error)
    assert not [text for text in said if KEY in text]
    assert error.__traceback__ is error.__context__ is error.__cause__ is None


# Labels and answers


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
    "samples": lambda data: answers.samples(data, request(n=1), has_seed_each=True),
    "model": lambda data: answers.check_model(data, {MODEL}),
    "model_names": answers.model_names,
    "token_ids": answers.token_ids,
    "next_token": answers.next_token_logprobs,
    "prompt": lambda data: answers.prompt_token_logprobs(data, [1, 2], 1),
    "echo": lambda data: answers.echoed_logprobs(data, "a", "b"),
}


def spoiled(value: Any, chance: Random) -> Any:
    """The same with junk for some of its parts, or without them."""
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
        except (Unreadable, GatewayError):
            refused += 1
    assert refused > 20
