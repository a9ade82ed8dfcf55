"""Uploads that are kept until their import: for whom, how long, and where."""

import os
import time

import pytest
from django.contrib.auth.models import User
from django.core.files.uploadedfile import SimpleUploadedFile
from django.urls import reverse

from annotation.imports.kept_uploads import keep_upload, kept_upload
from tests.annotation.imports.test_import_pages import TABLE, UPLOAD, create, folder, upload
from tests.refusals import refused

__all__ = ["folder"]


pytestmark = pytest.mark.django_db


def test_the_upload_is_deleted_with_the_import(client, ruth, folder):
    address = upload(client)
    assert len(list(folder.iterdir())) == 1
    create(client, address)
    assert list(folder.iterdir()) == []


def test_no_file_is_told(client, ruth):
    page = client.post(reverse(UPLOAD), {})
    assert page.context["form"].has_error("__all__", code="no_file")


def test_an_upload_past_the_limit_is_refused(client, ruth, settings):
    settings.TIEBREAK_MAX_UPLOAD_BYTES = 100
    page = client.post(reverse(UPLOAD), {"file": SimpleUploadedFile("t.csv", TABLE)})
    assert page.context["form"].has_error("file", code="upload_too_large")


@pytest.mark.parametrize(
    "name", ["../../evil.csv", "/etc/evil.csv", "..", ".hidden.csv", "a" * 300, "\U0001f600" * 300]
)
def test_a_file_name_cannot_leave_its_folder(name, client, ruth, folder):
    keep_upload(
        upload=SimpleUploadedFile("t", TABLE, None) if name == ".." else _named(name), by=ruth
    )
    for path in folder.rglob("*"):
        assert path.resolve().is_relative_to(folder.resolve())
    assert not (folder.parent / "evil.csv").exists()


def _named(name):
    file = SimpleUploadedFile("t.csv", TABLE)
    file._name = name  # a browser that sends a path, past Django's own check
    return file


def test_an_upload_is_for_its_researcher_only(client, ruth):
    address = upload(client)
    for user in (
        User.objects.create_user("bob", is_staff=True),
        User.objects.create_superuser("x"),
    ):
        client.force_login(user)
        assert client.get(address)["Location"] == reverse(UPLOAD)
        assert client.post(f"{address}problems.csv", {}).status_code == 404


def test_a_token_that_was_changed_opens_nothing(client, ruth):
    address = upload(client)
    assert client.get(f"{address[:-4]}x/")["Location"] == reverse(UPLOAD)


def test_uploads_expire(client, ruth, folder, monkeypatch):
    kept = keep_upload(upload=SimpleUploadedFile("t.csv", TABLE), by=ruth)
    long_ago = time.time() - 25 * 3600
    os.utime(folder / kept.id, (long_ago, long_ago))
    keep_upload(upload=SimpleUploadedFile("t.csv", TABLE), by=ruth)
    assert not kept.path.exists()
    with refused("upload_gone"):
        kept_upload(token=kept.token, by=ruth)
    fresh = keep_upload(upload=SimpleUploadedFile("t.csv", TABLE), by=ruth)
    monkeypatch.setattr("django.core.signing.time.time", lambda: time.monotonic() + 1e10)
    with refused("upload_gone"):
        kept_upload(token=fresh.token, by=ruth)
