"""Importing a bundle twice: the page asks, the result says so, and no other owner shares it."""

import io
import json
import zipfile

import pytest
from django.contrib.auth.models import User
from django.core.files.uploadedfile import SimpleUploadedFile
from django.core.management import CommandError, call_command
from django.urls import reverse

from annotation.imports.study_import import import_study
from studies.access import datasets_of
from studies.models import Dataset, Generation, Study, System
from tests.refusals import refused
from tests.tiebreak.formats.bundles import make_bundle
from tiebreak.errors import DomainError

pytestmark = pytest.mark.django_db


@pytest.fixture
def ada() -> User:
    return User.objects.create_user("ada", password="x", is_staff=True)


@pytest.fixture
def bob() -> User:
    return User.objects.create_user("bob", password="x", is_staff=True)


@pytest.fixture
def bundle(tmp_path):
    return make_bundle(tmp_path / "b")


def upload(client, folder, **data):
    packed = io.BytesIO()
    with zipfile.ZipFile(packed, "w") as archive:
        for path in folder.iterdir():
            archive.write(path, path.name)
    file = SimpleUploadedFile("b.zip", packed.getvalue())
    return client.post(reverse("annotation:new-study"), {"file": file, **data})


def test_the_second_import_says_that_its_dataset_was_here(bundle, ada):
    first = import_study(path=bundle, owner=ada)
    second = import_study(path=bundle, owner=ada)
    assert (first.dataset_was_known, second.dataset_was_known) == (False, True)
    assert first.study.dataset == second.study.dataset
    assert not first.remarks
    assert "Notes" in second.remarks[0]


def test_a_known_dataset_can_be_refused(bundle, ada):
    import_study(path=bundle, owner=ada)
    with pytest.raises(DomainError) as refusal:
        import_study(path=bundle, owner=ada, known_dataset="refuse")
    assert refusal.value.code == "known_dataset"
    assert Study.objects.count() == 1


def test_anothers_dataset_is_neither_shown_nor_shared(bundle, ada, bob):
    first = import_study(path=bundle, owner=ada)
    second = import_study(path=bundle, owner=bob, known_dataset="refuse")
    assert not second.dataset_was_known
    assert first.study.dataset != second.study.dataset
    assert list(datasets_of(bob)) == [second.study.dataset]


def test_a_dataset_that_was_changed_since_is_not_what_the_bundle_says(bundle, ada):
    first = import_study(path=bundle, owner=ada).study
    System.objects.filter(dataset=first.dataset, name="old").update(name="older")
    second = import_study(path=bundle, owner=ada)
    assert not second.dataset_was_known
    assert sorted(second.study.systems.values_list("name", flat=True)) == ["new", "old"]
    Generation.objects.filter(instance__dataset=second.study.dataset).first().delete()
    assert not import_study(path=bundle, owner=ada).dataset_was_known


def test_the_page_asks_before_it_uses_the_dataset_again(client, bundle, ada):
    client.force_login(ada)
    upload(client, bundle)
    page = upload(client, bundle)
    assert page.status_code == 200
    assert Study.objects.count() == 1
    assert page.context["form"].has_error("file", code="known_dataset")
    html = page.content.decode()
    assert 'type="checkbox" name="use_known"' in html
    assert "Notes" in html
    # The form carries the upload, so that nobody has to choose the file again.
    again = {"upload": page.context["form"]["upload"].value(), "use_known": "on"}
    assert client.post(reverse("annotation:new-study"), again).status_code == 302
    assert (Study.objects.count(), Dataset.objects.count()) == (2, 1)


def test_the_page_asks_nothing_of_who_has_another_dataset(client, bundle, ada, bob):
    import_study(path=bundle, owner=ada)
    client.force_login(bob)
    assert 'type="checkbox"' not in client.get(reverse("annotation:new-study")).content.decode()
    assert upload(client, bundle).status_code == 302
    assert Dataset.objects.filter(created_by=bob).count() == 1


def test_the_command_says_it_and_can_refuse(bundle, ada, capsys):
    call_command("import_study", str(bundle), "--owner", "ada", "--json")
    assert json.loads(capsys.readouterr().out)["dataset_was_known"] is False
    call_command("import_study", str(bundle), "--owner", "ada")
    _, remark = capsys.readouterr().out.splitlines()
    assert "Notes" in remark
    call_command("import_study", str(bundle), "--owner", "ada", "--json")
    assert json.loads(capsys.readouterr().out)["dataset_was_known"] is True
    with refused("known_dataset", CommandError):
        call_command("import_study", str(bundle), "--owner", "ada", "--known-dataset", "refuse")
