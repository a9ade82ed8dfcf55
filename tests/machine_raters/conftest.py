from collections.abc import Iterator
from typing import Any

import pytest

from tests.tiebreak.gateway.stub_server import StubServer


@pytest.fixture
def server(settings: Any) -> Iterator[StubServer]:
    """A model server on the loopback, which studies know as `here`."""
    with StubServer() as stub:
        address = {"base_url": stub.base_url, "allowed_hosts": [stub.host]}
        settings.TIEBREAK_MODEL_SERVERS = {"here": {"provider": "http", **address}}
        yield stub
