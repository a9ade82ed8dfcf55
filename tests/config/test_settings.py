"""Settings are read from the environment once, so each test reads them anew."""

import os
import re
import runpy
from random import Random
from string import ascii_letters, digits, hexdigits
from types import SimpleNamespace
from unittest.mock import patch

import pytest
from django.core.exceptions import ImproperlyConfigured

from config.settings import DEVELOPMENT_KEY, _is_guessable
from tests.paths import ROOT
from tiebreak.gateway import ModelSettings, open_models

GOOD = {
    "TIEBREAK_ENV": "production",
    "TIEBREAK_SECRET_KEY": "c6Vd0pZyN-hQ2wJtXo9uR_4kEsGmLa7fBvT1iYxUrq8HnDzWb5CgPKe3jSOl",
    "TIEBREAK_HOSTS": "rate.example.org",
    "TIEBREAK_DATABASE_URL": "postgres://tiebreak@db.example.org/tiebreak",
    "TIEBREAK_BROKER_URL": "redis://queue.example.org:6379/0",
}


def settings_of(**environment: str) -> SimpleNamespace:
    """Return the settings of a process with this environment."""
    clean = {k: v for k, v in os.environ.items() if not k.startswith(("TIEBREAK", "DJANGO"))}
    with patch.dict(os.environ, clean | environment, clear=True):
        return SimpleNamespace(**runpy.run_path(str(ROOT / "config" / "settings.py")))


def complaint(**environment: str) -> str:
    """Return the error that stops the start."""
    with pytest.raises(ImproperlyConfigured) as stopped:
        settings_of(**environment)
    return str(stopped.value)


def test_development_needs_no_variable():
    settings = settings_of()
    assert (settings.PRODUCTION, settings.DEBUG) == (False, False)


def test_production_starts_with_a_key_and_hosts_of_its_own():
    settings = settings_of(**GOOD)
    assert (settings.PRODUCTION, settings.DEBUG) == (True, False)


@pytest.mark.parametrize("address", ["https://example.org/tiebreak/", "https://example.org/a/b"])
def test_a_path_of_the_public_url_begins_all_addresses(address):
    path = address.removeprefix("https://example.org").rstrip("/")
    settings = settings_of(**GOOD, TIEBREAK_PUBLIC_URL=address)
    assert (path, f"{path}/static/") == (settings.FORCE_SCRIPT_NAME, settings.STATIC_URL)
    assert settings.SPECTACULAR_SETTINGS["SERVERS"] == [{"url": path}]
    [exempt] = settings.SECURE_REDIRECT_EXEMPT
    for page in ("health/live", f"{path[1:]}/health/", f"{path[1:]}/metrics"):
        assert re.search(exempt, page)
    assert not re.search(exempt, f"{path[1:]}/admin/health/")
    assert settings_of(**GOOD).FORCE_SCRIPT_NAME is None


def test_monitoring_on_the_same_host_needs_neither_its_name_nor_tls():
    settings = settings_of(**GOOD)
    assert {"localhost", "127.0.0.1", "[::1]"} < set(settings.ALLOWED_HOSTS)
    assert settings.SECURE_SSL_REDIRECT
    for page in ("health/", "health/live", "health/ready"):
        assert any(re.search(exempt, page) for exempt in settings.SECURE_REDIRECT_EXEMPT)


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
    assert name in complaint(**(GOOD | {name: value}))


@pytest.mark.parametrize("alphabet", [digits, hexdigits[:16], ascii_letters + digits + "-_"])
def test_a_random_key_of_50_characters_is_no_guess(alphabet):
    draws = Random(7)
    assert not any(_is_guessable("".join(draws.choices(alphabet, k=50))) for _ in range(5_000))


@pytest.mark.parametrize("name", sorted(GOOD.keys() - {"TIEBREAK_ENV"}))
@pytest.mark.parametrize("is_empty", [False, True])
def test_production_refuses_to_start_without_a_required_setting(name, is_empty):
    others = {key: value for key, value in GOOD.items() if key != name}
    assert name in complaint(**others, **({name: ""} if is_empty else {}))


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
    assert name in complaint(**(GOOD | {name: value}))


@pytest.mark.parametrize("url", ["rediss://q.example.org/0", "amqp://q.example.org//"])
def test_production_accepts_any_network_broker(url):
    assert settings_of(**(GOOD | {"TIEBREAK_BROKER_URL": url})).PRODUCTION


@pytest.mark.parametrize(
    ("name", "value"),
    [
        ("TIEBREAK_ENV", "prod"),
        ("TIEBREAK_DEBUG", "yes please"),
        ("TIEBREAK_DATABASE_URL", "mysql://localhost/db"),
        ("TIEBREAK_DATABASE_POOL", "-1"),
        ("TIEBREAK_KEEP", "ids"),
        ("TIEBREAK_KEEP", "ids=0"),
        ("TIEBREAK_KEEP", "ids=30 names=30"),
        ("TIEBREAK_KEEP", "ids=30 ids=40"),
        ("TIEBREAK_KEEP", "ids=30, log=9"),
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
        ("TIEBREAK_EMAIL_URL", "mail.example.org"),
        ("TIEBREAK_EMAIL_URL", "smtp://user:secret@mail.example.org:many"),
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
    assert name in complaint(**(other.get(name, {}) | {name: value}))


def test_emails_are_sent_only_where_a_server_is_named():
    assert not settings_of().TIEBREAK_HAS_EMAIL
    named = settings_of(TIEBREAK_EMAIL_URL="smtp+tls://me:p%40ss@mail.example.org:587")
    assert named.TIEBREAK_HAS_EMAIL
    assert (named.EMAIL_HOST, named.EMAIL_PORT) == ("mail.example.org", 587)
    assert (named.EMAIL_HOST_PASSWORD, named.EMAIL_USE_TLS) == ("p@ss", True)
    assert "secret" not in complaint(TIEBREAK_EMAIL_URL="smtp://me:secret@mail.example.org:many")


def test_model_servers_are_read_with_their_keys_and_options():
    servers = settings_of(
        TIEBREAK_MODEL_SERVERS=(
            "lab=https://m.example.org/v1,v6=http://[::1]:8000,v6b=http://[::1],here=vllm:/w/llama"
        ),
        TIEBREAK_MODEL_KEY_LAB="secret",
        TIEBREAK_MODEL_OPTIONS_LAB='{"concurrency": 128}',
        TIEBREAK_MODEL_OPTIONS_HERE='{"tensor_parallel_size": 2}',
    ).TIEBREAK_MODEL_SERVERS
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
    assert address == settings_of(**environment).TIEBREAK_PUBLIC_URL


@pytest.mark.parametrize(
    "address",
    [
        *("rate.example.org", "ftp://x.org", "https://a:b@x.org", "https://[x"),
        *("https://x.org/a?b", "https://x.org/a#b", "https://x.org/a//b", "https://x.org/ä"),
    ],
)
def test_a_public_url_that_is_no_address_stops_the_start(address):
    assert "TIEBREAK_PUBLIC_URL" in complaint(TIEBREAK_PUBLIC_URL=address)
