"""A researcher's browser."""

from typing import Any

import pytest
from django.test import Client


@pytest.fixture
def researcher_client(client: Client, django_user_model: Any) -> Client:
    """The browser of Ada, who is its `researcher`."""
    client.researcher = django_user_model.objects.create_user("ada", is_staff=True)
    client.force_login(client.researcher)
    return client
