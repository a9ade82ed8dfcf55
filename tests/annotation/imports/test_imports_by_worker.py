"""Imports by a worker: once, wholly or not at all, and seen by whom they are of."""

from pathlib import Path

import pytest
from django.contrib.auth.models import User
from django.core.files.uploadedfile import SimpleUploadedFile
from django.urls import reverse

from annotation.imports import import_jobs
from annotation.imports.import_jobs import ImportRequest, start_import
from annotation.imports.kept_uploads import keep_upload, kept_upload
from jobs.models import Job
from jobs.worker import run_job
from studies.data.table_import import Choice
from studies.models import Dataset, Generation, Instance, Study
from tests.annotation.imports.test_import_pages import (
    FLAWED,
    TABLE,
    blocks_file,
    create,
    folder,
    upload,
)
from tests.pages import codes_on, page_of
from tests.refusals import refused

__all__ = ["folder"]


pytestmark = pytest.mark.django_db


@pytest.fixture
def large(settings):
    settings.TIEBREAK_IMPORT_AT_ONCE_BYTES = 100


def test_a_large_table_is_imported_by_a_worker(client, ruth, large, folder):
    answer = create(client, upload(client), title="Large")
    job = Job.objects.get()
    assert answer["Location"] == reverse("annotation:import", args=[job.public_id])
    page = client.get(answer["Location"])
    assert (job.status, page.context["study"]) == ("done", Study.objects.get())
    assert job.done == job.total == 12
    assert list(folder.iterdir()) == []


def test_a_large_bundle_is_imported_by_a_worker(client, ruth, large):
    content = client.get(reverse("annotation:sample-file", args=["bundle.zip"])).content
    page = client.get(upload(client, content, "bundle.zip"))
    assert page.context["study"] == Study.objects.get()


def test_a_refused_import_lists_its_problems_and_can_leave_them_out(client, ruth, large):
    page = client.get(create(client, upload(client, FLAWED))["Location"])
    job = page.context["job"]
    assert (job.status, page.context["n_problems"]) == ("failed", 1)
    assert not Study.objects.exists()
    problems = client.get(reverse("annotation:import-problems", args=[job.public_id]))
    assert b"14,bart_summary" in problems.content
    back = f"{reverse('annotation:import-columns', args=[page.context['token']])}?import={job.public_id}"
    assert page_of(client.get(back)) == "columns"
    again = client.post(
        reverse("annotation:repeat-import", args=[job.public_id]), {"leave_out": "1"}
    )
    assert client.get(again["Location"]).context["study"] == Study.objects.get()
    assert Instance.objects.count() == 12


def test_an_import_of_a_known_dataset_asks(client, ruth, large):
    create(client, upload(client))
    page = client.get(create(client, upload(client))["Location"])
    assert "known_dataset" in codes_on(page)
    job = page.context["job"]
    client.post(reverse("annotation:repeat-import", args=[job.public_id]), {"use_known": "1"})
    assert (Study.objects.count(), Dataset.objects.count()) == (2, 1)


def test_an_import_is_seen_by_its_researcher_and_superusers_only(client, ruth, large):
    create(client, upload(client, FLAWED))
    job = Job.objects.get()
    names = ("import", "import-state", "import-problems")
    addresses = [reverse(f"annotation:{name}", args=[job.public_id]) for name in names]
    client.force_login(User.objects.create_user("bob", is_staff=True))
    assert {client.get(address).status_code for address in addresses} == {404}
    for name in ("repeat-import", "stop-import"):
        assert client.post(reverse(f"annotation:{name}", args=[job.public_id])).status_code == 404
    client.force_login(User.objects.create_superuser("root"))
    assert {client.get(address).status_code for address in addresses} == {200}


def request_of(ruth):
    upload = keep_upload(upload=SimpleUploadedFile("t.csv", TABLE), by=ruth)
    return ImportRequest(upload, ruth, title="T", choice=Choice())


def queued(ruth, monkeypatch):
    monkeypatch.setattr("jobs.services.enqueue", lambda *_, **__: None)
    return start_import(request_of(ruth))


def test_an_import_that_was_stored_is_not_stored_again(ruth, monkeypatch):
    """As after a worker that died between storing the study and saying that it is done."""
    job = queued(ruth, monkeypatch)
    monkeypatch.setattr(import_jobs, "_note", lambda *_, **__: exit_now())
    with pytest.raises(SystemExit):
        run_job(job_id=job.pk)
    monkeypatch.undo()
    assert Study.objects.count() == 1
    Job.objects.filter(pk=job.pk).update(status="running")
    job.chunks.update(status="waiting", claim="", lease_until=None)
    run_job(job_id=job.pk)
    job.refresh_from_db()
    assert (Study.objects.count(), job.status) == (1, "done")


def exit_now():
    raise SystemExit


def test_an_import_that_is_stopped_while_it_is_stored_stores_nothing(ruth, monkeypatch):
    job = queued(ruth, monkeypatch)
    note_study = import_jobs._note_study

    def stopped(job, study):
        Job.objects.filter(pk=job.pk).update(status="stopped")
        note_study(job, study)

    monkeypatch.setattr(import_jobs, "_note_study", stopped)
    run_job(job_id=job.pk)
    assert (Study.objects.count(), Dataset.objects.count()) == (0, 0)


def test_one_upload_is_imported_once_at_a_time(ruth, monkeypatch):
    monkeypatch.setattr("jobs.services.enqueue", lambda *_, **__: None)
    wanted = request_of(ruth)
    start_import(wanted)
    with refused("job_unfinished"):
        start_import(wanted)


def test_the_upload_stays_until_the_import_succeeds(ruth, large, client):
    create(client, upload(client, FLAWED))
    token = Job.objects.get().options["token"]
    assert Path(kept_upload(token=token, by=ruth).path).is_file()


def test_a_worker_fills_cells_as_the_page_said(client, ruth):
    kept = keep_upload(upload=SimpleUploadedFile("t.csv", blocks_file()), by=ruth)
    choice = Choice(fill_down=("id", "prompt"))
    run_job(job_id=start_import(ImportRequest(kept, ruth, title="Trees", choice=choice)).pk)
    assert Generation.objects.filter(instance__key="q3").count() == 2
