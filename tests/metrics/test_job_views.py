"""The pages of a study's jobs and of the server's, and the export."""

import io
import zipfile

import pytest
from django.contrib.auth.models import User
from django.urls import reverse

from annotation.imports.study_import import import_study
from jobs.clock import database_now
from jobs.models import Job
from jobs.services import LEASE
from studies.models import Membership, Study
from tests.jobs.factories import make_job
from tests.studies.factories import make_open_study, make_study

pytestmark = [pytest.mark.django_db, pytest.mark.usefixtures("export_folder")]


def at(name: str, *arguments: str) -> str:
    return reverse(f"metrics:{name}", args=arguments)


def test_an_export_is_written_by_a_worker_and_downloaded_and_imported(client, ruth, tmp_path):
    study = make_open_study(instances=2, member=ruth)
    answer = client.post(at("export", study.pk), {"formats": ["jsonl", "csv"]})
    assert answer["Location"] == at("data-and-report", study.pk)
    job = Job.objects.get()
    assert (job.kind, job.status, job.owner, job.created_by) == ("export", "done", study.pk, ruth)
    link = at("download-export", study.pk, job.public_id)
    for page in ("data-and-report", "jobs"):
        assert link in client.get(at(page, study.pk)).content.decode()
    file = client.get(link)
    archive = zipfile.ZipFile(io.BytesIO(b"".join(file.streaming_content)))
    names = {name.partition("/")[2] for name in archive.namelist()}
    assert {"study.toml", "ratings.jsonl", "ratings.csv", "codebook.md"} <= names
    path = tmp_path / "again.zip"
    path.write_bytes(b"".join(client.get(link).streaming_content))
    assert import_study(path=path, known_dataset="use").study.title == study.title


def test_an_export_that_is_gone_is_refused_with_what_to_do(client, ruth, tmp_path):
    study = make_open_study(instances=1, member=ruth)
    client.post(at("export", study.pk), {"formats": ["jsonl"]})
    job = Job.objects.get()
    (tmp_path / "exports" / f"{job.public_id}.zip").unlink()
    assert client.get(at("download-export", study.pk, job.public_id)).status_code == 404


def test_an_unknown_format_or_none_is_refused_in_the_form(client, ruth):
    study = make_study(instances=1, member=ruth)
    for formats in ([], ["docx"]):
        assert client.post(at("export", study.pk), {"formats": formats}).status_code == 400
    assert not Job.objects.exists()


def test_a_job_is_paused_resumed_and_stopped_on_its_page(client, ruth, monkeypatch):
    study = make_study(instances=1, member=ruth)
    job = make_job(study, status="running")
    for action, status in (("pause", "paused"), ("resume", "queued"), ("stop", "stopped")):
        with monkeypatch.context() as without:
            without.setattr("jobs.services.send", lambda job: None)
            answer = client.post(at(f"{action}-job", study.pk, job.public_id))
        assert answer["Location"] == at("jobs", study.pk)
        job.refresh_from_db()
        assert job.status == status
    page = client.post(at("resume-job", study.pk, job.public_id), follow=True)
    assert 'data-code="not_stopped"' in page.content.decode()


def test_another_studys_job_is_out_of_reach(client, ruth):
    mine, theirs = make_study(instances=1, member=ruth), make_open_study(instances=1)
    job = make_job(theirs, status="running")
    export = make_job(theirs, kind="export", status="done")
    for study in (mine, theirs):
        assert client.post(at("stop-job", study.pk, job.public_id)).status_code == 404
        assert client.get(at("download-export", study.pk, export.public_id)).status_code == 404
    job.refresh_from_db()
    assert job.status == "running"


def test_the_list_is_polled_only_while_a_job_moves(client, ruth):
    study = make_study(instances=1, member=ruth)
    job = make_job(study, status="running")
    assert "hx-get" in client.get(at("jobs-part", study.pk)).content.decode()
    Job.objects.filter(pk=job.pk).update(status="done")
    assert "hx-get" not in client.get(at("jobs-part", study.pk)).content.decode()


def test_a_dry_run_is_listed_with_its_study(client, ruth):
    study = make_study(instances=1, member=ruth)
    copy = Study.objects.create(title="Copy", dataset=study.dataset, dry_run_of=study)
    job = make_job(copy, kind="dry_run", status="running")
    page = client.get(at("jobs", study.pk)).content.decode()
    assert reverse("recruitment:dry-runs", args=[study.pk]) in page
    assert at("stop-job", study.pk, job.public_id) not in page


def test_only_who_runs_the_server_is_told_the_command_that_helps_a_stuck_job(client, ruth):
    study = make_study(instances=1, member=ruth)
    make_job(study, status="running", lease_until=database_now() - 2 * LEASE)
    told = []
    for is_superuser in (False, True):
        User.objects.filter(pk=ruth.pk).update(is_superuser=is_superuser)
        page = client.get(at("jobs", study.pk)).text
        assert "no_worker" in page
        told.append("celery" in page)
    assert told == [False, True]


def test_only_administrators_see_all_jobs_of_the_server(client, ruth):
    study = make_study(instances=1)
    make_job(study, status="running")
    assert client.get(at("server-jobs")).status_code == 404
    User.objects.filter(pk=ruth.pk).update(is_superuser=True)
    page = client.get(at("server-jobs")).content.decode()
    assert at("jobs", study.pk) in page
    assert not Membership.objects.filter(user=ruth).exists()
