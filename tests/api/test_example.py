"""The example on the page of the API runs as it is printed."""

import re
import shutil
import zipfile
from typing import Any

import httpx
import pytest

from api.models import ApiToken
from api.services.tokens import create_token
from api.services.webhooks import create_webhook
from api.tasks import webhooks_task
from recruitment.services.lifecycle import pause_study
from studies.models import Study
from tests.paths import ROOT
from tests.studies.factories import make_open_study
from tests.tiebreak.formats.bundles import make_bundle

pytestmark = pytest.mark.django_db
PAGE = (ROOT / "docs" / "reference" / "api.md").read_text(encoding="utf-8")
EXAMPLES = re.findall(r"```python\n(.*?)```", PAGE, re.S)
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
    exec(compile(EXAMPLES[-1], "api.md", "exec"), {})
    study = Study.objects.get()
    assert study.status == "open"
    assert "open" in capsys.readouterr().out.split()
    with zipfile.ZipFile(tmp_path / "export.zip") as archive:
        assert any(name.endswith("ratings.csv") for name in archive.namelist())


def test_the_check_of_a_signature_accepts_what_is_sent_and_nothing_else(study_webhook):
    names: dict[str, Any] = {}
    exec(compile(EXAMPLES[0], "api.md", "exec"), names)
    is_genuine, (header, body, secret) = names["is_genuine"], study_webhook
    assert is_genuine(header, body, secret)
    assert not is_genuine(header, body + b" ", secret)
    assert not is_genuine(header, body, secret + "x")
    old = header.replace("t=", "t=1")
    assert not is_genuine(old, body, secret)


@pytest.fixture
def study_webhook(ruth, settings, monkeypatch) -> tuple[str, bytes, str]:
    """The header and the body of a message that was sent, and the webhook's secret."""
    settings.TIEBREAK_WEBHOOK_HOSTS = [HOST]
    study, client, requests = make_open_study(instances=1), httpx.Client, []
    _, secret = create_webhook(study=study, url=f"https://{HOST}/")
    pause_study(study=study)

    def receive(request):
        requests.append(request)
        return httpx.Response(200)

    monkeypatch.setattr(
        "api.services.webhook_sending.httpx.Client",
        lambda **options: client(transport=httpx.MockTransport(receive), **options),
    )
    webhooks_task()
    return requests[0].headers["Tiebreak-Signature"], requests[0].content, secret
