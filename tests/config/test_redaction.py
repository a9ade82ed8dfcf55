"""Logs contain no tokens of framed pages, no query strings and no values of refused rows."""

import io
import logging
import os
import signal
import subprocess
import sys
import time
from pathlib import Path

import httpx
import pytest
from django.db import IntegrityError, transaction
from django.test import Client

from annotation.models import Rater
from benchmarks.servers import free_port
from config.celery import app
from config.redaction import RedactingFormatter, redact_handlers, redacted
from tests.jobs.real_workers import url_of_test_database
from tests.paths import ROOT

TOKEN = "gAAAAABm-Secret_token=="
WORKER = "5f00baa4c0ffee"
LINK = f"/s/abc/via/prolific/?PROLIFIC_PID={WORKER}&SESSION_ID=x"


@pytest.mark.parametrize(
    "line",
    [
        f'"GET {LINK} HTTP/1.1" 200',
        f'"GET /s/abc/ HTTP/1.1" 200 5 "https://rate.example.org{LINK}" "Browser"',
        f"Not Found: /f/{TOKEN}/rate/abc/",
        f"Not Found: /f/{TOKEN}",
        f'"GET /admin/reset/Mg/{TOKEN}/ HTTP/1.1" 302',
        f"https://rate.example.org/f/{TOKEN}/rate/abc/?workerId={WORKER}",
        f"Internal Server Error: /s/abc/?{WORKER}",
        f"DETAIL:  Key (provider, external_id)=(prolific, {WORKER}) already exists.",
        f"DETAIL:  Failing row contains (1, {WORKER}, null).",
    ],
)
def test_tokens_and_worker_ids_are_redacted(line):
    cleaned = redacted(line)
    assert TOKEN not in cleaned
    assert WORKER not in cleaned
    assert cleaned.startswith(line[:9])


def test_a_line_without_personal_data_is_unchanged():
    line = '"GET /rate/abc/ HTTP/1.1" 200 512 "-" "Mozilla/5.0 (X11)" /foo/f.py Why? Because.'
    assert redacted(line) == line


@pytest.fixture
def written(settings):
    """Return a stream to which Django logs with our logging settings."""
    stream = io.StringIO()
    handlers = [
        h for h in logging.getLogger().handlers if isinstance(h.formatter, RedactingFormatter)
    ]
    assert handlers, "the root logger does not redact"
    before = [(handler, handler.setStream(stream)) for handler in handlers]
    yield stream
    for handler, old in before:
        handler.setStream(old)


@pytest.mark.django_db
def test_django_logs_neither_the_framed_token_nor_the_query(written):
    Client().get(f"/f/{TOKEN}/rate/abc/?workerId={WORKER}")
    Client().get(f"/nowhere/?PROLIFIC_PID={WORKER}")
    assert "Not Found: /f/…/rate/abc/" in written.getvalue()
    assert TOKEN not in written.getvalue()
    assert WORKER not in written.getvalue()


@pytest.mark.django_db
def test_a_traceback_names_no_worker(written):
    Rater.objects.create(provider="prolific", external_id=WORKER)
    detail = f"DETAIL:  Key (provider, external_id)=(prolific, {WORKER}) already exists."
    try:
        with transaction.atomic():
            raise IntegrityError(detail)
    except IntegrityError:
        logging.getLogger("annotation").exception("a platform was asked")
    assert "IntegrityError" in written.getvalue()
    assert WORKER not in written.getvalue()


def test_every_handler_redacts():
    assert logging.getLogger("django").handlers == []
    assert logging.getLogger("django.server").handlers
    for name in ("", "django.server"):
        for handler in logging.getLogger(name).handlers:
            if type(handler) is logging.StreamHandler:
                assert isinstance(handler.formatter, RedactingFormatter)


def test_requests_to_platforms_are_not_logged_line_by_line():
    assert (
        logging.getLogger("httpx").level == logging.WARNING
    )  # whatever the root logger's level is


def test_handlers_of_a_celery_worker_redact():
    logger, stream = logging.Logger("worker"), io.StringIO()
    app.log._configure_logger(logger, stream, logging.INFO, "%(message)s", colorize=False)
    from celery.signals import after_setup_logger

    after_setup_logger.send(sender=None, logger=logger)
    logger.info("asked %s", LINK)
    assert "asked" in stream.getvalue()
    assert WORKER not in stream.getvalue()
    redact_handlers(logger)  # a second call must not add a second formatter
    assert not isinstance(logger.handlers[0].formatter.inner, RedactingFormatter)


@pytest.mark.thorough
@pytest.mark.enable_socket
@pytest.mark.django_db
@pytest.mark.parametrize("program", [[sys.executable, "-m", "gunicorn"], ["gunicorn"]])
def test_gunicorn_logs_neither_the_framed_token_nor_the_query(tmp_path, program):
    port, log = free_port(), tmp_path / "log"
    if program == ["gunicorn"]:
        program = [str(Path(sys.executable).with_name("gunicorn"))]
    options = ["--access-logfile", "-", "--log-level", "debug", "--no-control-socket"]
    combined = '%(h)s "%(r)s" %(U)s %(q)s %(s)s "%(f)s" "%({referer}i)s"'
    command = [*program, "config.wsgi", "--bind", f"127.0.0.1:{port}", *options]
    with log.open("w") as file:
        process = subprocess.Popen(
            [*command, "--access-logformat", combined],
            cwd=ROOT,
            stdout=file,
            stderr=file,
            env=os.environ | {"TIEBREAK_DATABASE_URL": url_of_test_database()},
        )
        try:
            url = f"http://127.0.0.1:{port}/f/{TOKEN}/?workerId={WORKER}"
            _answer(url, {"Referer": f"http://127.0.0.1:{port}{LINK}"})
        finally:
            process.send_signal(signal.SIGTERM)
            process.wait(timeout=20)
    logged = log.read_text()
    assert "GET /f/…" in logged
    assert TOKEN not in logged
    assert WORKER not in logged


def _answer(url: str, headers: dict[str, str]) -> httpx.Response:
    for _ in range(200):
        try:
            return httpx.get(url, headers=headers, timeout=60)
        except httpx.ConnectError:
            time.sleep(0.1)
    raise AssertionError("gunicorn did not come up")
