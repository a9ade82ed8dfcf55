"""A researcher who forgot the password gets a link, and nobody learns whether there is an account."""

import re

import pytest
from django.contrib.auth.models import User
from django.core import mail
from django.core.cache import cache
from django.urls import clear_url_caches, include, path, reverse

from studies.members.password_reset import password_reset_urls
from tiebreak.errors import DomainError

pytestmark = pytest.mark.django_db
ASK = "/admin/password_reset/"


PAGES = (*password_reset_urls(), path("", include("config.urls")))


@pytest.fixture
def with_email(settings):
    settings.ROOT_URLCONF = PAGES
    clear_url_caches()
    cache.clear()
    yield
    clear_url_caches()


@pytest.fixture
def ruth():
    return User.objects.create_user("ruth", "ruth@example.org", "forgotten-1", is_staff=True)


def test_the_link_sets_a_password_once(client, with_email, ruth):
    assert ASK in client.get(reverse("admin:login")).content.decode()
    client.post(ASK, {"email": "RUTH@example.org"})
    (sent,) = mail.outbox
    assert sent.to == ["ruth@example.org"]
    link = re.search(r"/admin/reset/\S+", sent.body).group()
    form = client.get(link, follow=True)
    passwords = {"new_password1": "a-new-one-72", "new_password2": "a-new-one-72"}
    done = client.post(form.redirect_chain[-1][0], passwords, follow=True)
    assert done.status_code == 200
    assert User.objects.get().check_password("a-new-one-72")
    assert "new_password1" not in client.get(link, follow=True).content.decode()


def test_every_address_gets_the_same_answer_and_only_researchers_an_email(client, with_email, ruth):
    User.objects.create_user("ann", "ann@example.org", "no-researcher-1")
    addresses = ("ruth@example.org", "ann@example.org", "nobody@example.org")
    answers = [client.post(ASK, {"email": one}) for one in addresses]
    assert {(one.status_code, one.url) for one in answers} == {(302, f"{ASK}done/")}
    assert [one.to for one in mail.outbox] == [["ruth@example.org"]]


def test_nobody_is_flooded(client, with_email, ruth):
    for _ in range(3):
        client.post(ASK, {"email": "ruth@example.org"})
    assert len(mail.outbox) == 1


def test_a_queue_that_does_not_answer_is_told(client, with_email, ruth, monkeypatch):
    def no_broker(*_: object) -> None:
        raise DomainError("no_broker", "The job queue does not respond.", status=503)

    monkeypatch.setattr("studies.members.password_reset.enqueue", no_broker)
    response = client.post(ASK, {"email": "ruth@example.org"})
    monkeypatch.undo()
    client.post(ASK, {"email": "ruth@example.org"})
    assert len(mail.outbox) == 1
    assert response.context["form"].errors.as_data()["__all__"][0].code == "no_broker"


def test_without_an_email_server_nothing_is_offered(client, ruth):
    assert client.get(ASK).status_code in {302, 404}
    assert ASK not in client.get(reverse("admin:login")).content.decode()
