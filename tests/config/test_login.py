"""The only door for researchers, and how it stands against guessing."""

import pytest
from django.contrib.auth.models import User
from django.test import Client
from django.urls import reverse

pytestmark = pytest.mark.django_db

DOOR = "/admin/login/"


def try_password(client: Client, password: str, address: str = "192.0.2.1"):
    answer = {"username": "rea", "password": password}
    return client.post(DOOR, answer, REMOTE_ADDR=address)


def test_18_guessing_a_password_is_stopped_for_a_while(client):
    User.objects.create_superuser("rea", password="a long passphrase")
    for _ in range(8):
        assert try_password(client, "guess").status_code in {200, 429}
    stopped = try_password(client, "a long passphrase")
    assert stopped.status_code == 429
    assert "_auth_user_id" not in client.session
    elsewhere = Client()
    assert try_password(elsewhere, "a long passphrase", "192.0.2.2").status_code == 302


def test_18_no_account_is_there_to_begin_with_and_nobody_signs_up():
    assert not User.objects.exists()
    for path in ("/accounts/signup/", "/signup/", "/register/", "/admin/signup/"):
        assert Client().get(path).status_code in {302, 404}
    assert Client().get(reverse("admin:index")).status_code == 302
