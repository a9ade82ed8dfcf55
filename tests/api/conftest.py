import pytest
from django.contrib.auth.models import User
from django.core.cache import cache


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
