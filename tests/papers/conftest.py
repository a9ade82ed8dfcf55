"""A paper's reader, who repeats it with a program and a browser against a model server that is a stub."""

import pytest
from django.contrib.auth.models import User
from django.test import Client

from tests.api.clients import program
from tests.tiebreak.gateway import stub_server
from tests.tiebreak.gateway.stub_server import StubServer


@pytest.fixture
def ruth(request, settings, tmp_path, monkeypatch):
    """Return a researcher's program and browser; the model server answers as the module's `Models`."""
    user = User.objects.create_user("ruth", is_staff=True)
    browser = Client()
    browser.force_login(user)
    settings.TIEBREAK_EXPORT_FOLDER = str(tmp_path / "exports")
    monkeypatch.setattr(stub_server, "Handler", request.module.Models)
    with StubServer(owner="other") as stub:
        server = {"provider": "http", "base_url": stub.base_url, "allowed_hosts": [stub.host]}
        settings.TIEBREAK_MODEL_SERVERS = {"lab": server}
        yield program(user), browser
