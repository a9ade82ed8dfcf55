"""The addresses to which requests are sent, and the key that is sent with them."""

import logging
import traceback

import pytest

from tests.tiebreak.gateway.sample_requests import (
    codes,
    connect,
    failure,
    request,
    sampled,
)
from tests.tiebreak.gateway.stub_server import KEY, MODEL, Fault
from tiebreak.gateway import (
    Failed,
    GatewayError,
    OpenAIServer,
)
from tiebreak.gateway.transport import parse_address


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
    address = parse_address(url, ["gpu1:8000", "GPU1:443", "[::1]:8000"])

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
    [
        {"concurrency": 0},
        {"max_attempts": 0},
        {"max_consecutive_failures": 0},
        {"timeout_s": 0},
        {"api_key": "a\nb"},
    ],
)
def test_settings_that_cannot_work_are_refused(option):
    with pytest.raises(GatewayError) as caught:
        OpenAIServer("http://gpu1:8000", MODEL, allowed_hosts=["gpu1:8000"], **option)

    assert caught.value.code == "bad_settings"


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
    shown = [repr(server), repr(result), str(error), repr(error), *error.args, caplog.text]
    shown += traceback.format_exception(error)
    assert not [text for text in shown if KEY in text]
    assert error.__traceback__ is error.__context__ is error.__cause__ is None
