from collections.abc import Callable, Iterator
from typing import Any

import pytest
from django.contrib.auth.models import User
from django.core.cache import cache
from django.core.handlers.wsgi import WSGIHandler
from django.core.signals import request_finished, request_started
from django.db import close_old_connections


@pytest.fixture(autouse=True)
def _no_earlier_requests() -> None:
    """Throttles count in the cache, which outlives a test."""
    cache.clear()


@pytest.fixture
def ruth(db) -> User:
    return User.objects.create_user("ruth", password="p", is_staff=True)


@pytest.fixture
def omar(db) -> User:
    return User.objects.create_user("omar", password="p", is_staff=True)


@pytest.fixture
def wsgi_app(db) -> Iterator[Callable[..., Any]]:
    """The server as programs reach it, on the connection of the test, as Django's own client."""
    signals = (request_started, request_finished)
    for signal in signals:
        signal.disconnect(close_old_connections)
    yield WSGIHandler()
    for signal in signals:
        signal.connect(close_old_connections)
