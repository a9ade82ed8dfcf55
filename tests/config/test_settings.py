"""Settings are read from the environment, so each test starts a new process."""

import ast
import os
import subprocess
import sys
from random import Random
from string import ascii_letters, digits, hexdigits

import pytest

from config.settings import DEVELOPMENT_KEY, _is_guessable
from tests.paths import ROOT
from tiebreak.gateway import ModelSettings, open_models

# A process takes a second.
pytestmark = pytest.mark.thorough

GOOD = {
    "TIEBREAK_ENV": "production",
    "TIEBREAK_SECRET_KEY": "c6Vd0pZyN-hQ2wJtXo9uR_4kEsGmLa7fBvT1iYxUrq8HnDzWb5CgPKe3jSOl",
    "TIEBREAK_HOSTS": "rate.example.org",
    "TIEBREAK_DATABASE_URL": "postgres://tiebreak@db.example.org/tiebreak",
    "TIEBREAK_BROKER_URL": "redis://queue.example.org:6379/0",
}


def start(
    *, show: str = "PRODUCTION, s.DEBUG", **environment: str
) -> subprocess.CompletedProcess[str]:
    clean = {k: v for k, v in os.environ.items() if not k.startswith(("TIEBREAK", "DJANGO"))}
    return subprocess.run(
        [sys.executable, "-c", f"import config.settings as s; print(s.{show})"],
        cwd=ROOT,
        env=clean | environment,
        capture_output=True,
        text=True,
        check=False,
    )


def complaint(result: subprocess.CompletedProcess[str]) -> str:
    """Return the error that stopped the start, without the traceback's lines of code."""
    return result.stderr.partition("ImproperlyConfigured: ")[2]


def test_development_needs_no_variable():
    assert start().stdout.split() == ["False", "False"]


def test_production_starts_with_a_key_and_hosts_of_its_own():
    assert start(**GOOD).stdout.split() == ["True", "False"]


@pytest.mark.parametrize(
    ("name", "value"),
    [
        ("TIEBREAK_SECRET_KEY", ""),
        ("TIEBREAK_SECRET_KEY", "short"),
        ("TIEBREAK_SECRET_KEY", DEVELOPMENT_KEY),
        ("TIEBREAK_SECRET_KEY", "k" * 60),
        ("TIEBREAK_SECRET_KEY", "secret1234" * 6),
        ("TIEBREAK_SECRET_KEY", ascii_letters + digits),
        ("TIEBREAK_SECRET_KEY_FALLBACKS", "k" * 60),
        ("TIEBREAK_SECRET_KEY_FALLBACKS", DEVELOPMENT_KEY),
        ("TIEBREAK_HOSTS", "*"),
        ("TIEBREAK_DEBUG", "1"),
    ],
)
def test_production_refuses_development_settings(name, value):
    result = start(**(GOOD | {name: value}))
    assert result.returncode != 0
    assert name in complaint(result)


@pytest.mark.parametrize("alphabet", [digits, hexdigits[:16], ascii_letters + digits + "-_"])
def test_a_random_key_of_50_characters_is_no_guess(alphabet):
    draws = Random(7)
    assert not any(_is_guessable("".join(draws.choices(alphabet, k=50))) for _ in range(5_000))


@pytest.mark.parametrize("name", sorted(GOOD.keys() - {"TIEBREAK_ENV"}))
@pytest.mark.parametrize("is_empty", [False, True])
def test_production_refuses_to_start_without_a_required_setting(name, is_empty):
    others = {key: value for key, value in GOOD.items() if key != name}
    result = start(**others, **({name: ""} if is_empty else {}))
    assert result.returncode != 0
    assert name in complaint(result)


@pytest.mark.parametrize(
    ("name", "value"),
    [
        ("TIEBREAK_DATABASE_URL", "sqlite:////srv/tiebreak.sqlite3"),
        ("TIEBREAK_DATABASE_URL", "sqlite://:memory:"),
        ("TIEBREAK_BROKER_URL", "filesystem://"),
        ("TIEBREAK_BROKER_URL", "memory://"),
        ("TIEBREAK_TASKS_EAGER", "1"),
    ],
)
def test_production_refuses_backends_that_hosts_cannot_share(name, value):
    result = start(**(GOOD | {name: value}))
    assert result.returncode != 0
    assert name in complaint(result)


@pytest.mark.parametrize("url", ["rediss://q.example.org/0", "amqp://q.example.org//"])
def test_production_accepts_any_network_broker(url):
    assert start(**(GOOD | {"TIEBREAK_BROKER_URL": url})).returncode == 0


@pytest.mark.parametrize(
    ("name", "value"),
    [
        ("TIEBREAK_ENV", "prod"),
        ("TIEBREAK_DEBUG", "yes please"),
        ("TIEBREAK_DATABASE_URL", "mysql://localhost/db"),
        ("TIEBREAK_DATABASE_POOL", "-1"),
        ("TIEBREAK_TRUSTED_ORIGINS", "example.org"),
        ("TIEBREAK_MAX_CELL_CHARACTERS", "many"),
        ("TIEBREAK_MAX_UPLOAD_BYTES", "many"),
        ("TIEBREAK_MAX_UNPACKED_BYTES", "0"),
        ("TIEBREAK_MAX_UPLOAD_ROWS", "-1"),
        ("TIEBREAK_JOB_LEASE_SECONDS", "0"),
        ("TIEBREAK_JOB_TURN_SECONDS", "0.5"),
        ("TIEBREAK_MODEL_SERVERS", "gpu1=ftp://10.0.0.5"),
        ("TIEBREAK_MODEL_SERVERS", "gpu1=vllm:"),
        ("TIEBREAK_MODEL_SERVERS", "gpu1=http://[::1/v1"),
        ("TIEBREAK_MODEL_SERVERS", "gpu1=http://a:1/v1,GPU1=http://b:1/v1"),
        ("TIEBREAK_MODEL_SERVERS", "fake=http://a:1/v1"),
        ("TIEBREAK_TRUSTED_ORIGINS", "https://[::1"),
        ("TIEBREAK_ENCODER_DTYPE", "fp16"),
        ("TIEBREAK_MODEL_OPTIONS_GPU1", "[128]"),
        ("TIEBREAK_MODEL_OPTIONS_GPU1", "fast"),
    ],
)
def test_a_malformed_value_stops_the_start(name, value):
    other = {
        "TIEBREAK_DATABASE_POOL": {"TIEBREAK_DATABASE_URL": "postgres://localhost/db"},
        "TIEBREAK_MODEL_OPTIONS_GPU1": {"TIEBREAK_MODEL_SERVERS": "gpu1=http://10.0.0.5:8000"},
    }
    result = start(**(other.get(name, {}) | {name: value}))
    assert result.returncode != 0
    assert name in complaint(result)


def test_model_servers_are_read_with_their_keys_and_options():
    result = start(
        TIEBREAK_MODEL_SERVERS=(
            "lab=https://m.example.org/v1,v6=http://[::1]:8000,v6b=http://[::1],here=vllm:/w/llama"
        ),
        TIEBREAK_MODEL_KEY_LAB="secret",
        TIEBREAK_MODEL_OPTIONS_LAB='{"concurrency": 128}',
        TIEBREAK_MODEL_OPTIONS_HERE='{"tensor_parallel_size": 2}',
        show="TIEBREAK_MODEL_SERVERS",
    )
    servers = ast.literal_eval(result.stdout)
    assert servers["lab"] == {
        "provider": "http",
        "base_url": "https://m.example.org/v1",
        "api_key": "secret",
        "allowed_hosts": ("m.example.org:443",),
        "options": {"concurrency": 128},
    }
    assert servers["v6"]["allowed_hosts"] == ("[::1]:8000",)
    assert servers["v6b"]["allowed_hosts"] == ("[::1]:80",)
    assert servers["here"] == {
        "provider": "vllm",
        "model": "/w/llama",
        "options": {"tensor_parallel_size": 2},
    }
    for name in ("lab", "v6", "v6b"):  # the gateway accepts each of them
        assert open_models(ModelSettings(model="m", **servers[name])).model == "m"


@pytest.mark.parametrize(
    ("environment", "address"),
    [
        ({}, ""),
        ({"TIEBREAK_PUBLIC_URL": "https://rate.example.org/"}, "https://rate.example.org"),
        (GOOD, "https://rate.example.org"),
        (GOOD | {"TIEBREAK_PUBLIC_URL": "https://r.example.org"}, "https://r.example.org"),
    ],
)
def test_the_public_url_defaults_to_the_first_host(environment, address):
    result = start(**environment, show="TIEBREAK_PUBLIC_URL")
    assert result.stdout.strip() == address


@pytest.mark.parametrize(
    "address",
    ["rate.example.org", "ftp://x.org", "https://x.org/path", "https://a:b@x.org", "https://[x"],
)
def test_a_public_url_that_is_no_origin_stops_the_start(address):
    result = start(TIEBREAK_PUBLIC_URL=address)
    assert result.returncode != 0
    assert "TIEBREAK_PUBLIC_URL" in complaint(result)
