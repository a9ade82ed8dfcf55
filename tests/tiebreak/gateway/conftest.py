"""A model server on this machine."""

from collections.abc import Iterator

import pytest

from tests.tiebreak.gateway.stub_server import StubServer


@pytest.fixture
def stub() -> Iterator[StubServer]:
    with StubServer() as running:
        yield running
