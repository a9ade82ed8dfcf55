"""Each fault of a model server becomes a sentence, and no request is lost."""

import socket
import ssl
import threading
import time
from contextlib import suppress
from datetime import UTC, datetime, timedelta
from pathlib import Path

import pytest
from cryptography import x509
from cryptography.hazmat.primitives import hashes, serialization
from cryptography.hazmat.primitives.asymmetric import ec

from tests.tiebreak.gateway.sample_requests import (
    CHAT,
    HALF_ANSWERS,
    NONSENSE,
    codes,
    connect,
    failure,
    request,
    sampled,
)
from tests.tiebreak.gateway.stub_server import MODEL, Fault
from tiebreak.gateway import (
    Failed,
    OpenAIServer,
    responses,
)
from tiebreak.gateway.transport import MAX_WAIT_S, Connection


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
    reason = "The prompt is longer than 256 tokens"
    stub.always = Fault("400", message=f"{reason}.")

    assert reason in failure(stub).message


def test_a_fault_of_single_requests_never_stops_the_others(stub):
    stub.by_prompt = lambda text: None if text == "Text last." else Fault("400")
    results = sampled(
        stub,
        *(request(name) for name in range(9)),
        request("last"),
        max_consecutive_failures=3,
        concurrency=1,
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
    results = sampled(stub, *requests, concurrency=4, max_consecutive_failures=6, max_attempts=2)

    assert codes(results) == {"done": 10, "busy": 490}
    assert all(one.error.is_retryable for one in results if isinstance(one, Failed))
    assert len(stub.generations) <= 10 + 2 * (6 + 8)


def test_a_server_that_recovers_is_not_given_up(stub):
    stub.by_prompt = lambda text: Fault("broken") if int(text[5:-1]) % 3 else None
    requests = [request(name) for name in range(60)]
    results = sampled(stub, *requests, concurrency=1, max_consecutive_failures=4, max_attempts=1)

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
    stub.always = Fault("busy", retry_after=str(int(MAX_WAIT_S) + 1))

    assert failure(stub, max_attempts=5).code == "busy"
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

    monkeypatch.setattr(Connection, "_sleep", pause)
    stub.always = Fault("busy")
    requests = [request("a"), request("b")]
    sampled(stub, *requests, max_attempts=9, initial_backoff_s=1, concurrency=1)

    longest = [1, 2, 4, 8, 16, 32, MAX_WAIT_S, MAX_WAIT_S]
    assert len(set(pauses)) == len(pauses) == 16
    for pause_s, bound in zip(sorted(pauses), sorted(longest * 2), strict=True):
        assert bound / 2 <= pause_s <= bound


def test_half_characters_are_replaced(stub, monkeypatch):
    monkeypatch.setattr(
        "tests.tiebreak.gateway.stub_server.written", lambda *_: "\ud83d and \U0001f600"
    )
    [result] = sampled(stub)

    assert result.samples[0].text == "? and \U0001f600"


def test_what_no_database_holds_is_left_out(stub, monkeypatch):
    monkeypatch.setattr(
        "tests.tiebreak.gateway.stub_server.written", lambda *_: "a\0b\\u0000 and \\\0"
    )
    stub.fingerprint = "fp\0_1"
    [result] = sampled(stub)

    assert result.samples[0].text == "ab\\u0000 and \\"
    assert result.revision == "fp_1"


@pytest.mark.parametrize(("told", "read"), [(2**31 - 1, 2**31 - 1), (2**31, None), (10**400, None)])
def test_a_number_of_tokens_that_no_text_has_is_not_told(told, read):
    assert responses.usage({"usage": {"prompt_tokens": told}}, "prompt_tokens") == read


def own_certificate(folder: Path) -> ssl.SSLContext:
    """Return a context with a certificate from an unknown authority."""
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
    with socket.create_server(("127.0.0.1", 0)) as gate:

        def shake_hands() -> None:
            with suppress(OSError):
                while True:
                    connection, _ = gate.accept()
                    with suppress(OSError):
                        context.wrap_socket(connection, server_side=True).close()

        threading.Thread(target=shake_hands, daemon=True).start()
        host = f"127.0.0.1:{gate.getsockname()[1]}"
        server = OpenAIServer(f"https://{host}", MODEL, allowed_hosts=[host], max_attempts=2)
        [result] = server.sample([request()])

    assert result.error.code == "bad_settings"
    assert "certificate" in result.error.message
    assert not result.error.is_retryable


def test_nobody_there_is_a_sentence():
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        host = f"127.0.0.1:{probe.getsockname()[1]}"
    server = OpenAIServer(
        f"http://{host}", MODEL, allowed_hosts=[host], max_attempts=2, initial_backoff_s=0.01
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
