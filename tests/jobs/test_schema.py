"""What the models need and the database lacks: named at the start of each process and on /health/."""

import os
import subprocess
import sys
from datetime import timedelta

import pytest
from django.apps import apps
from django.core.cache import cache
from django.core.exceptions import ImproperlyConfigured
from django.db import DatabaseError, connection
from django.db.migrations.recorder import MigrationRecorder
from django.db.models import F

from annotation.tasks import remove_expired_files_task
from config import demo
from config.serve import commands
from jobs.known_database import remember_database
from jobs.schema import missing_parts, refuse_unfit_database
from studies.models import Study
from tests.jobs.real_workers import url_of_test_database
from tests.paths import ROOT
from tests.studies.factories import make_study

# Of a model, of a relation of many to many, and a column.
CHANGES = {
    "table jobs_round": "ALTER TABLE jobs_round RENAME TO jobs_round_",
    "table auth_user_groups": "ALTER TABLE auth_user_groups RENAME TO auth_user_groups_",
    "column jobs_job.problem": "ALTER TABLE jobs_job RENAME COLUMN problem TO problem_",
}
BACK = [
    "ALTER TABLE jobs_round_ RENAME TO jobs_round",
    "ALTER TABLE auth_user_groups_ RENAME TO auth_user_groups",
    "ALTER TABLE jobs_job RENAME COLUMN problem_ TO problem",
]
STARTS = [
    *(["-m", *command] for command in commands(port=0, cores=1).values()),
    ["-m", "celery", "-A", "config", "beat", "-S", "celery.beat:Scheduler"],
    ["-c", "import config.asgi"],
]


@pytest.fixture
def incomplete(transactional_db):
    with connection.cursor() as cursor:
        for sql in CHANGES.values():
            cursor.execute(sql)
        yield sorted(CHANGES)
        for sql in BACK:
            cursor.execute(sql)


@pytest.mark.django_db
def test_migrated_database_lacks_nothing(monkeypatch):
    remembered: list[str] = []
    monkeypatch.setattr("jobs.schema.remember_database", lambda one: remembered.append(one.alias))
    assert missing_parts(connection) == []
    refuse_unfit_database()
    assert remembered == ["default"]


@pytest.mark.django_db
def test_migrated_database_has_every_constraint_and_index_of_the_models():
    """A migration of a field may take indexes with it that its models go on to name."""
    missing = []
    for model in apps.get_models():
        with connection.cursor() as cursor:
            found = connection.introspection.get_constraints(cursor, model._meta.db_table)
        named = [one.name for one in (*model._meta.constraints, *model._meta.indexes)]
        missing += [f"{model._meta.label}: {name}" for name in named if name not in found]
        unique = [c["columns"] for c in found.values() if c["unique"] or c["primary_key"]]
        fields = [f for f in model._meta.local_fields if f.unique and [f.column] not in unique]
        missing += [f"{model._meta.label}.{field.name} is not unique" for field in fields]
    assert missing == []


def test_health_names_each_missing_part(incomplete, client, monkeypatch):
    cache.delete("health")
    monkeypatch.setattr("jobs.health.CACHE_SECONDS", 0)
    for address in ("/health/", "/health/ready"):
        answer = client.get(address)
        report = answer.json()
        assert (answer.status_code, report["database"]) == (503, "ok")
        assert (report["schema"], report["missing"]) == ("incomplete", incomplete)


@pytest.mark.thorough
def test_incomplete_database_stops_servers_and_workers_but_no_command(incomplete):
    environment = os.environ | {
        "TIEBREAK_DATABASE_URL": url_of_test_database(),
        "GUNICORN_CMD_ARGS": "--workers 1",
    }
    processes = [
        subprocess.Popen(
            [sys.executable, *start], cwd=ROOT, env=environment, stderr=subprocess.PIPE, text=True
        )
        for start in [*STARTS, ["manage.py", "migrate", "--plan"]]
    ]
    *refused, command = [(one.communicate(timeout=180)[1], one.returncode) for one in processes]
    assert command[1] == 0
    for start, (complaint, code) in zip(STARTS, refused, strict=True):
        assert code != 0, start
        assert [part for part in incomplete if part not in complaint] == [], start


def test_incomplete_database_stops_the_demo(incomplete, monkeypatch):
    monkeypatch.setattr("django.core.management.call_command", lambda *_, **__: None)
    with pytest.raises(ImproperlyConfigured):
        demo._prepare()


@pytest.mark.django_db
def test_database_that_does_not_answer_stops_no_start(monkeypatch):
    def away(_):
        raise DatabaseError

    monkeypatch.setattr("jobs.schema.missing_parts", away)
    refuse_unfit_database()
    monkeypatch.setattr("jobs.schema.missing_parts", lambda _: ["table x"])
    with pytest.raises(ImproperlyConfigured):
        refuse_unfit_database()


def with_another_sign() -> None:
    MigrationRecorder.Migration.objects.update(applied=F("applied") + timedelta(days=1))


@pytest.mark.django_db
@pytest.mark.postgresql  # where a test may make the table of migrations
def test_an_empty_database_in_place_of_one_with_studies_stops_the_start(settings, tmp_path):
    MigrationRecorder(connection).ensure_schema()
    MigrationRecorder(connection).record_applied("jobs", "0001_of_a_test")
    settings.PRODUCTION, settings.TIEBREAK_UPLOAD_FOLDER = True, str(tmp_path / "uploads")
    remember_database(connection)  # a new server
    with_another_sign()
    remember_database(connection)  # which began anew before it had a study
    make_study(instances=1)
    remove_expired_files_task()
    Study.objects.all().delete()
    remember_database(connection)  # all were deleted
    with_another_sign()
    with pytest.raises(ImproperlyConfigured):
        remember_database(connection)
    make_study(instances=1)
    remember_database(connection)  # another one with studies, such as a restored one
    Study.objects.all().delete()
    remember_database(connection)
    with_another_sign()
    settings.PRODUCTION = False
    remember_database(connection)
