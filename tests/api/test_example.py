"""The example on the page of the API runs as it is printed."""

import re
import shutil
import zipfile

import httpx
import pytest

from api.models import ApiToken
from api.services.tokens import create_token
from studies.models import Study
from tests.paths import ROOT
from tests.tiebreak.formats.bundles import make_bundle

pytestmark = pytest.mark.django_db
PAGE = (ROOT / "docs" / "reference" / "api.md").read_text(encoding="utf-8")
HOST = "rate.example.org"


@pytest.fixture(autouse=True)
def _server(settings, tmp_path) -> None:
    settings.ALLOWED_HOSTS = [HOST]
    settings.TIEBREAK_EXPORT_FOLDER = str(tmp_path / "exports")


def test_the_example_runs(ruth, wsgi_app, tmp_path, monkeypatch, capsys):
    shutil.make_archive(str(tmp_path / "bundle"), "zip", make_bundle(tmp_path / "made"))
    _, text = create_token(user=ruth, name="example", access=ApiToken.Access.WRITE)
    monkeypatch.setenv("TIEBREAK_URL", f"https://{HOST}")
    monkeypatch.setenv("TIEBREAK_TOKEN", text)
    monkeypatch.chdir(tmp_path)
    client = httpx.Client

    def in_process(**options):
        return client(transport=httpx.WSGITransport(app=wsgi_app), **options)

    monkeypatch.setattr(httpx, "Client", in_process)
    [example] = re.findall(r"```python\n(.*?)```", PAGE, re.S)
    exec(compile(example, "api.md", "exec"), {})
    study = Study.objects.get()
    assert study.status == "open"
    assert "open" in capsys.readouterr().out.split()
    with zipfile.ZipFile(tmp_path / "export.zip") as archive:
        assert any(name.endswith("ratings.csv") for name in archive.namelist())
