"""Uploads to the Hugging Face Hub, with a fake of its package."""

import json
from io import StringIO
from types import SimpleNamespace

import pytest
from django.core.management import CommandError, call_command

from annotation.exports.hub import PACKAGE, push_to_hub
from annotation.imports.study_import import import_study
from studies.models import Study
from tests.refusals import refused
from tests.tiebreak.formats.bundles import make_bundle
from tiebreak import optional

pytestmark = pytest.mark.django_db
REPO = "lab/study"


class FakeHub:
    """What the command uses of the package. `existing` is whether there is a private dataset already."""

    token: str | None = "hf_secret"
    existing: bool | None = None
    error: Exception | None = None

    def __init__(self) -> None:
        self.private: bool | None = None
        self.files: dict[str, int] = {}

    def get_token(self):
        return self.token

    def HfApi(self, *, token):  # noqa: N802
        assert token == self.token
        return self

    def create_repo(self, repo_id, *, repo_type, private, exist_ok):
        assert (repo_id, repo_type, exist_ok) == (REPO, "dataset", True)
        self.private = private if self.existing is None else self.existing
        return f"https://huggingface.co/datasets/{repo_id}"

    def repo_info(self, repo_id, *, repo_type):
        return SimpleNamespace(private=self.private)

    def upload_folder(self, *, repo_id, repo_type, folder_path, commit_message):
        if self.error:
            raise self.error
        files = [path for path in folder_path.rglob("*") if path.is_file()]
        self.files = {str(path.relative_to(folder_path)): path.stat().st_size for path in files}


@pytest.fixture
def hub(monkeypatch):
    fake, load = FakeHub(), optional.load
    monkeypatch.setattr(optional, "load", lambda name: fake if name == PACKAGE else load(name))
    return fake


@pytest.fixture
def study(tmp_path):
    study = import_study(path=make_bundle(tmp_path / "b", with_ratings=True)).study
    Study.objects.update(status=Study.Status.CLOSED)
    return Study.objects.get(pk=study.pk)


@pytest.mark.parametrize(("options", "private"), [([], True), (["--public"], False)])
def test_the_dataset_and_its_card_are_uploaded_privately_unless_asked(options, private, study, hub):
    out = StringIO()
    call_command("push_to_hub", study.pk, "--repo", REPO, "--json", *options, stdout=out)
    pushed = json.loads(out.getvalue())
    assert (pushed["is_private"], hub.private) == (private, private)
    assert pushed["url"].endswith(REPO)
    assert {"README.md", "croissant.json", "data/ratings.parquet"} <= hub.files.keys()
    assert all(hub.files.values())


@pytest.mark.parametrize(("public", "existing"), [(True, True), (False, True), (True, False)])
def test_an_existing_dataset_is_used_if_nobody_else_can_read_it_then(public, existing, study, hub):
    hub.existing = existing
    assert push_to_hub(study=study, repo=REPO, public=public).is_private is existing
    assert hub.files


def test_a_private_study_does_not_enter_a_public_dataset(study, hub):
    hub.existing = False
    with refused("hub_repository_is_public"):
        push_to_hub(study=study, repo=REPO)
    assert not hub.files


@pytest.mark.parametrize("status", [Study.Status.OPEN, Study.Status.PAUSED])
def test_a_study_that_collects_is_refused(status, study, hub):
    study.status = status
    with refused("still_collects"):
        push_to_hub(study=study, repo=REPO)
    assert hub.private is None


@pytest.mark.parametrize(
    "repo", ["study", "lab/", "lab/study/x", "https://hub/lab/study", "lab/a b"]
)
def test_a_name_without_an_owner_is_refused(repo, study, hub):
    with refused("bad_repository"):
        push_to_hub(study=study, repo=repo)


def test_a_missing_token_or_package_is_refused(study, hub, monkeypatch):
    hub.token = None
    with refused("no_token"):
        push_to_hub(study=study, repo=REPO)
    monkeypatch.undo()
    monkeypatch.setattr(optional, "is_installed", lambda _: False)
    with refused("missing_package", naming="tiebreak[hub]"):
        push_to_hub(study=study, repo=REPO)


def test_what_the_hub_says_is_told_without_the_token(study, hub):
    hub.error = RuntimeError("403 Forbidden for hf_secret")
    with refused("hub_refused", CommandError, naming="403 Forbidden") as refusal:
        call_command("push_to_hub", study.pk, "--repo", REPO)
    assert "hf_secret" not in str(refusal.value)
