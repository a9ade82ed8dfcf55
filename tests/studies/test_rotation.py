"""A new secret key costs nothing that is stored, before, during and after the change."""

from collections import Counter
from io import StringIO

import pytest
from django.contrib.auth.models import User
from django.contrib.sessions.models import Session
from django.core.management import CommandError, call_command
from django.db.models import TextField
from django.test import Client, RequestFactory
from django_otp.util import random_hex

from api.services.webhooks import create_webhook, secret_of
from recruitment.identities import check_not_erased
from recruitment.models import PURPOSE, Channel, decrypted, encrypted
from recruitment.platforms.invitation import invitations, invited
from recruitment.services.erasure import erase_participant
from recruitment.views.arrival import address_of
from studies.ciphers import cipher
from studies.members.two_factor import new_device
from studies.models import AppDevice, LastingKey
from studies.models.lasting_key import lasting_keys
from studies.rotation import CURRENT, RENEWED, UNREADABLE, encrypted_fields, rotate_secrets
from tests.refusals import refused
from tests.studies.factories import make_open_study, make_participation

pytestmark = pytest.mark.django_db
NEW = "n" * 60


@pytest.fixture
def server(settings):
    """Everything that depends on the secret key, and a function that looks whether it still works."""
    settings.TIEBREAK_WEBHOOK_HOSTS = ["example.org"]
    study = make_open_study()
    channel = Channel.objects.create(
        study=study,
        provider="invitation",
        settings={"people": "Ann"},
        secret=encrypted("token"),
        webhook_secret=encrypted("signing"),
    )
    webhook, signing = create_webhook(study=study, url="https://example.org/x")
    user = User.objects.create_user("ruth", password="x", is_staff=True)
    device = new_device(user, random_hex(20))
    device.save()
    key = device.bin_key
    [(_, link)] = invitations(channel)
    client = Client()
    client.force_login(user)
    gone = make_participation(study, "somebody-gone")
    erase_participant(rater=gone.rater)
    from_afar = address()

    def works() -> None:
        stored = Channel.objects.get(pk=channel.pk)
        assert (decrypted(stored.secret), decrypted(stored.webhook_secret)) == ("token", "signing")
        webhook.refresh_from_db()
        assert secret_of(webhook).decode() == signing
        assert AppDevice.objects.get().bin_key == key
        assert invited(stored, link) == "Ann"
        assert client.get("/admin/").status_code == 200
        assert address() == from_afar
        with refused("erased_here"):
            check_not_erased(study.pk, gone.provider, "somebody-gone")

    return works


def address() -> str:
    return address_of(RequestFactory().get("/", REMOTE_ADDR="203.0.113.9"))


def rotate() -> str:
    out = StringIO()
    call_command("rotate_secrets", stdout=out)
    return out.getvalue()


def test_before_during_and_after(server, settings):
    server()
    former, settings.SECRET_KEY = settings.SECRET_KEY, NEW
    settings.SECRET_KEY_FALLBACKS = [former]
    server()
    counts = rotate_secrets()
    fields = {f"{one.model._meta.label}.{one.name}" for one in encrypted_fields()}
    assert counts.keys() == fields | {"sessions"}
    assert {name: counts[name][RENEWED] for name in fields} == dict.fromkeys(fields, 1)
    assert counts["sessions"] == {CURRENT: 1}  # Django renewed it on the page that was looked at
    assert sum(done[CURRENT] for done in rotate_secrets().values()) == len(counts)
    server()
    settings.SECRET_KEY_FALLBACKS = []
    server()


def test_it_may_be_killed_anywhere_and_run_again(server, settings, monkeypatch):
    former, settings.SECRET_KEY = settings.SECRET_KEY, NEW
    settings.SECRET_KEY_FALLBACKS = [former]
    queryset = Session._base_manager._queryset_class
    update, left = queryset.update, Counter()

    def dies(rows, **changes):
        left["updates"] -= 1
        if left["updates"] < 0:
            raise KeyboardInterrupt
        return update(rows, **changes)

    monkeypatch.setattr(queryset, "update", dies)
    for left["updates"] in (0, 1, 2):
        with pytest.raises(KeyboardInterrupt):
            rotate_secrets()
    monkeypatch.undo()
    assert sum(one[RENEWED] for one in rotate_secrets().values()) == len([*encrypted_fields()]) - 2
    settings.SECRET_KEY_FALLBACKS = []
    server()


def test_what_somebody_changes_meanwhile_stays(server, settings, monkeypatch):
    former, settings.SECRET_KEY = settings.SECRET_KEY, NEW
    settings.SECRET_KEY_FALLBACKS = [former]

    def slow(purpose):
        if purpose == PURPOSE:
            monkeypatch.undo()  # once, after the first secret of the channel was read
            Channel.objects.update(secret=encrypted("another"))
        return cipher(purpose)

    monkeypatch.setattr("studies.rotation.cipher", slow)
    rotate_secrets()
    assert decrypted(Channel.objects.get().secret) == "another"


def test_a_key_that_is_missing_is_told_and_nothing_is_lost(server, settings):
    former, settings.SECRET_KEY = settings.SECRET_KEY, NEW
    with pytest.raises(CommandError):
        rotate()
    assert (
        sum(one[UNREADABLE] for one in rotate_secrets().values()) == len([*encrypted_fields()]) + 1
    )
    assert lasting_keys()  # new links can be made
    assert LastingKey.objects.count() == 2
    settings.SECRET_KEY_FALLBACKS = [former]
    rotate()
    settings.SECRET_KEY_FALLBACKS = []
    server()


def test_every_field_that_says_it_is_encrypted_is_found():
    names = {f"{one.model.__name__}.{one.name}" for one in encrypted_fields()}
    assert names >= {"Channel.secret", "Webhook.secret", "AppDevice.sealed", "LastingKey.sealed"}
    assert all(isinstance(one, TextField) and one.purpose for one in encrypted_fields())
