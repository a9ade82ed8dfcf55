"""Lines of JSON say which request, task, job and study they are of, and nothing that a person typed."""

import io
import json
import logging

import pytest
from django.core.exceptions import ImproperlyConfigured
from django.db import IntegrityError
from django.test import Client

from config.redaction import RedactingFormatter, redact_handlers
from jobs.log_context import begin_log
from jobs.models import Job
from jobs.worker import run_job
from tests.annotation.annotators import form_of
from tests.config.test_settings import settings_of
from tests.jobs.factories import make_job
from tests.recruitment.platforms.test_panel import by_panel, enter
from tests.studies.factories import make_open_study

PERSON, SECRET, TEXT = "5f00baa4c0ffee", "hunter-2-password", "my-neighbour-said-so"
PRIVATE = (PERSON, SECRET, TEXT)


@pytest.fixture
def lines(monkeypatch):
    """Return a function with all that is logged from here on, at any level, as a worker would."""
    monkeypatch.setenv("TIEBREAK_LOG_FORMAT", "json")
    stream, root = io.StringIO(), logging.getLogger()
    handler = logging.StreamHandler(stream)
    handler.setFormatter(RedactingFormatter())
    loggers = [root, *(logging.getLogger(name) for name in ("django", "axes", "config.observing"))]
    before = [(logger, logger.level) for logger in loggers]
    for logger in loggers:
        logger.setLevel(logging.DEBUG)
    root.addHandler(handler)
    yield lambda: [json.loads(line) for line in stream.getvalue().splitlines()]
    root.removeHandler(handler)
    for logger, level in before:
        logger.setLevel(level)
    begin_log()


def of_requests(lines) -> list[dict]:
    return [line for line in lines if line["logger"] == "config.observing"]


def log_of(raised: Exception, message: str, *args: object) -> None:
    try:
        raise raised
    except type(raised):
        logging.getLogger("annotation").exception(message, *args)


@pytest.mark.django_db
def test_no_line_has_what_people_typed(lines, monkeypatch):
    """A person enters, rates and comments; programs and researchers err with secrets."""
    study, _ = by_panel()
    person = enter(study, f"pid={PERSON}")
    form = form_of(person.here())
    person.send(form.filled(0) | {"comment": TEXT, "reason": TEXT})
    client = Client(raise_request_exception=False)
    client.post("/admin/login/", {"username": PERSON, "password": SECRET})
    client.get(f"/s/{study.pk}/via/panel/{PERSON}?pid={PERSON}", headers={"Referer": f"/?{SECRET}"})
    client.get(f"/nowhere/{PERSON}/", headers={"Authorization": f"Bearer {SECRET}"})
    client.get("/api/v1/studies/", headers={"Authorization": f"Bearer {SECRET}"})
    client.get("/", headers={"Host": f"{PERSON}.example"}, HTTP_HOST=f"{PERSON}.example")

    def fails(*_: object, **__: object) -> None:
        raise IntegrityError(f"DETAIL:  Key (external_id)=({PERSON}) {TEXT}\nwith lines")

    monkeypatch.setattr("annotation.views.rating.submit_ratings", fails)
    broken = Client(raise_request_exception=False)
    broken.cookies = person.client.cookies
    page = broken.get(person.at(), follow=True)
    assert broken.post(person.at("answer"), form_of(page).filled(0)).status_code == 500
    found = lines()
    assert {one["view"] for one in of_requests(found)} >= {"annotation:answer", "admin:login"}
    assert "IntegrityError" in {one["exception"] for one in found if "exception" in one}
    assert [one for one in found if any(private in json.dumps(one) for private in PRIVATE)] == []


@pytest.mark.django_db
def test_every_line_of_a_request_has_its_id_and_its_study(lines):
    study = make_open_study(instances=1)
    answer = Client().get(f"/s/{study.pk}/")
    missing = Client().get("/nowhere/", headers={"X-Request-ID": PERSON})
    ids = [one.headers["X-Request-ID"] for one in (answer, missing)]
    found = [one for one in lines() if "request" in one]
    assert len(set(ids)) == 2
    assert {one["request"] for one in found} == set(ids)
    first, second = of_requests(found)
    assert (first["study"], first["status"]) == (study.pk, 200)
    assert first["view"] == "recruitment:welcome"
    assert (second["request"], second["status"]) == (ids[1], 404)
    assert "study" not in second
    assert [one["request"] for one in found if one["message"] == "Not Found"] == [ids[1]]


@pytest.mark.django_db
def test_lines_of_a_job_have_its_id_and_its_study(lines, monkeypatch):
    study, _ = by_panel()
    job = make_job(study)

    def fails(_: Job) -> None:
        raise ValueError(TEXT)

    monkeypatch.setattr("jobs.worker._plan", lambda job, now: fails(job))
    run_job(job_id=job.pk)
    (line,) = [one for one in lines() if one["logger"] == "jobs.worker"]
    assert (line["job"], line["study"]) == (job.public_id, study.pk)
    assert line["message"] == f"job {job.public_id} failed"
    assert line["exception"] == "ValueError"
    assert any("test_json_log.py" in frame for frame in line["frames"])


def test_arguments_are_shown_only_where_they_are_numbers_or_ids_of_ours(lines):
    log = logging.getLogger("celery.app.trace")
    task = {"name": "jobs.tasks.work_task", "id": "af-1", "exc": f"ValueError('{TEXT}')"}
    log.info("Task %(name)s[%(id)s] raised: %(exc)s", task)
    log.info("chunk %s of job %s by %s: %d", 3, "23456789abcd", PERSON, 7)
    log.info("%-5.3s", TEXT)
    assert [one["message"] for one in lines()] == [
        "Task jobs.tasks.work_task[af-1] raised: …",
        "chunk 3 of job 23456789abcd by …: 7",
        "…    ",
    ]


def test_an_exception_has_its_type_and_its_place(lines):
    log_of(KeyError(TEXT), "asked for %s", TEXT)
    (line,) = lines()
    assert (line["level"], line["exception"], line["message"]) == (
        "ERROR",
        "KeyError",
        "asked for …",
    )
    assert TEXT not in json.dumps(line)


def test_handlers_of_servers_and_workers_write_json_too(monkeypatch):
    monkeypatch.setenv("TIEBREAK_LOG_FORMAT", "json")
    logger, stream = logging.Logger("gunicorn.error"), io.StringIO()
    logger.addHandler(logging.StreamHandler(stream))
    redact_handlers(logger)
    logger.info("Booting worker with pid: %s", 7)
    assert json.loads(stream.getvalue())["message"] == "Booting worker with pid: 7"


def test_requests_are_told_in_json_only():
    plain, as_json = settings_of(), settings_of(TIEBREAK_LOG_FORMAT="json")
    levels = [one.LOGGING["loggers"]["config.observing"]["level"] for one in (plain, as_json)]
    assert levels == ["WARNING", "INFO"]
    with pytest.raises(ImproperlyConfigured, match="TIEBREAK_LOG_FORMAT"):
        settings_of(TIEBREAK_LOG_FORMAT="xml")
