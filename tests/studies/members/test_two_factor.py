"""With a second factor, a password alone opens nothing, at any door."""

import re
import time
from base64 import b32decode
from importlib import import_module

import pytest
from axes.models import AccessAttempt
from django.apps import apps
from django.contrib.auth.models import User
from django.core.management import CommandError, call_command
from django.test import Client
from django_otp.oath import totp
from django_otp.plugins.otp_static.models import StaticDevice, StaticToken
from django_otp.plugins.otp_totp.models import TOTPDevice
from django_otp.util import random_hex

from studies.members import two_factor
from studies.models import AppDevice
from tests.config.test_settings import complaint, settings_of

pytestmark = pytest.mark.django_db

PASSWORD = "a long passphrase"
LOGIN, CODE, ACCOUNT = "/admin/login/", "/log-in/code/", "/account/two-factor/"
AWAY = "203.0.113.9"


@pytest.fixture
def ruth() -> User:
    return User.objects.create_user("ruth", password=PASSWORD, is_staff=True)


@pytest.fixture
def device(ruth) -> AppDevice:
    return device_of(ruth)


def device_of(user: User) -> AppDevice:
    device = two_factor.new_device(user, random_hex(20))
    device.save()
    return device


@pytest.fixture
def required(settings) -> None:
    settings.TIEBREAK_TWO_FACTOR = "required"
    settings.AUTHENTICATION_BACKENDS = settings_of(
        TIEBREAK_TWO_FACTOR="required"
    ).AUTHENTICATION_BACKENDS


def code_of(key: bytes, ahead: int = 0) -> str:
    return f"{totp(key, drift=ahead):06d}"


def log_in(client: Client, to: str = "", **options):
    url = f"{LOGIN}?next={to}" if to else LOGIN
    return client.post(url, {"username": "ruth", "password": PASSWORD, "next": to}, **options)


def give(client: Client, code: str, **options):
    return client.post(CODE, {"code": code}, **options)


def is_logged_in(client: Client) -> bool:
    return client.get("/admin/").status_code == 200


def turned_on(client: Client, **more: str):
    """Scan the code on the page, send what the app shows, and return the page with recovery codes."""
    shown = re.search(r'id="two-factor-key">(\w+)<', client.get(ACCOUNT).content.decode()).group(1)
    return client.post(ACCOUNT, {"code": code_of(b32decode(shown)), **more})


def recovery_codes(page) -> list[str]:
    text = re.search(r'<pre id="recovery-codes">(.*?)</pre>', page.content.decode(), re.S).group(1)
    return text.splitlines()


def test_who_has_none_logs_in_as_before(client, ruth):
    assert log_in(client).url == "/admin/"
    assert is_logged_in(client)


def test_after_the_password_nothing_is_open_until_the_code(client, device):
    assert log_in(client, "/account/tokens/").url == CODE
    assert not is_logged_in(client)
    assert client.get("/api/v1/studies/").status_code == 401
    assert client.get(ACCOUNT).status_code == 302
    assert give(client, code_of(device.bin_key)).url == "/account/tokens/"
    assert is_logged_in(client)


def test_the_session_gets_another_key_at_each_step(client, device):
    keys = []
    client.get(f"{LOGIN}")
    log_in(client)
    keys.append(client.session.session_key)
    give(client, code_of(device.bin_key))
    keys.append(client.session.session_key)
    assert len(set(keys)) == 2


def test_a_code_works_once_and_spaces_are_ignored(client, device):
    code = code_of(device.bin_key)
    log_in(client)
    assert give(client, f"{code[:3]} {code[3:]}").status_code == 302
    other = Client()
    log_in(other)
    assert give(other, code).status_code == 200
    assert not is_logged_in(other)


def test_a_recovery_code_works_once(client, ruth, device):
    codes = two_factor.new_recovery_codes(ruth)
    for status in (302, 200):
        again = Client()
        log_in(again)
        assert give(again, codes[0].upper()).status_code == status
    assert StaticToken.objects.count() == two_factor.RECOVERY_CODES - 1


def test_somebody_elses_code_is_wrong(client, device):
    other = User.objects.create_user("bea", is_staff=True)
    key = device_of(other).bin_key
    log_in(client)
    page = give(client, code_of(key))
    assert page.context["form"].errors.as_data()["code"][0].code == "wrong_code"


def test_without_the_password_there_is_no_page_for_a_code(client, device):
    assert client.get(CODE).url == LOGIN
    assert give(client, code_of(device.bin_key)).url == LOGIN


@pytest.mark.parametrize("change", ["password", "blocked", "late"])
def test_a_right_password_does_not_wait_for_ever(client, ruth, device, change, monkeypatch):
    log_in(client)
    if change == "password":
        ruth.set_password("another one 72")
    elif change == "blocked":
        ruth.is_active = False
    else:
        later = time.time() + 601
        monkeypatch.setattr("django.core.signing.time.time", lambda: later)
    ruth.save()
    assert give(client, code_of(device.bin_key)).url == LOGIN


def test_wrong_codes_count_as_wrong_passwords(device):
    for _ in range(8):
        client = Client(REMOTE_ADDR=AWAY)
        if log_in(client).status_code == 429:
            break
        give(client, "000000")
    attempt = AccessAttempt.objects.get(username="ruth")
    assert attempt.failures_since_start == 8
    assert "000000" not in attempt.post_data
    client = Client(REMOTE_ADDR=AWAY)
    assert log_in(client).status_code == 429
    assert not is_logged_in(client)


def test_codes_cannot_be_guessed_from_many_addresses_and_the_owner_is_not_locked_out(device):
    owner = Client()
    log_in(owner)
    give(owner, code_of(device.bin_key, -1))
    del owner.cookies["sessionid"]
    for i in range(6):
        guesser = Client(REMOTE_ADDR=f"192.0.2.{i}")
        log_in(guesser)
        give(guesser, "000000")
    late = Client(REMOTE_ADDR=AWAY)
    log_in(late)
    assert give(late, code_of(device.bin_key)).status_code == 200  # right, and too soon
    log_in(owner)  # a browser that is known
    assert give(owner, code_of(device.bin_key)).status_code == 302


@pytest.mark.parametrize("to", ["https://evil.example/", "//evil.example/", "/\\evil.example"])
def test_nobody_is_sent_to_another_site(client, device, to):
    log_in(client, to)
    assert give(client, code_of(device.bin_key)).url == "/admin/"


def test_turning_it_on_needs_password_and_code_and_ends_other_sessions(client, ruth):
    elsewhere = Client()
    for one in (client, elsewhere):
        log_in(one)
    page = turned_on(client, password="wrong")
    assert page.context["form"].errors.as_data()["password"][0].code == "wrong_password"
    page = client.post(ACCOUNT, {"code": "000000", "password": PASSWORD})
    assert page.context["form"].non_field_errors().as_data()[0].code == "wrong_code"
    assert not AppDevice.objects.exists()
    codes = recovery_codes(turned_on(client, password=PASSWORD))
    assert len(codes) == two_factor.RECOVERY_CODES
    used = code_of(AppDevice.objects.get().bin_key)
    assert is_logged_in(client)
    assert not is_logged_in(elsewhere)
    again = Client()
    log_in(again)
    assert give(again, used).status_code == 200
    assert give(again, codes[3]).status_code == 302
    page = client.get(ACCOUNT).content.decode()
    assert not any(code in page for code in codes)


def test_the_qr_code_needs_no_inline_style(client, ruth):
    log_in(client)
    page = client.get(ACCOUNT).content.decode()
    assert "<svg" in page
    assert "style=" not in page


def test_turning_it_off_needs_a_code(client, ruth, device):
    client.force_login(ruth)
    assert client.post(ACCOUNT, {"code": "000000"}).status_code == 400
    assert two_factor.has_second_factor(ruth)
    device.throttle_reset()
    client.post(ACCOUNT, {"code": code_of(device.bin_key)})
    assert not two_factor.has_second_factor(ruth)


def test_new_recovery_codes_replace_the_old_ones(client, ruth, device):
    old = two_factor.new_recovery_codes(ruth)
    client.force_login(ruth)
    sent = {"code": code_of(device.bin_key), "recovery": "1"}
    new = recovery_codes(client.post(ACCOUNT, sent))
    assert not set(old) & set(new)
    assert StaticDevice.objects.filter(user=ruth).count() == 1


def test_tokens_of_programs_need_none(client, ruth, device):
    from api.services.tokens import create_token

    _, text = create_token(user=ruth, name="program")
    answer = client.get("/api/v1/studies/", headers={"Authorization": f"Bearer {text}"})
    assert answer.status_code == 200


def test_where_it_is_required_nobody_logs_in_before_it_is_on(client, ruth, required):
    assert log_in(client).url == ACCOUNT
    assert not is_logged_in(client)
    assert len(recovery_codes(turned_on(client))) == two_factor.RECOVERY_CODES
    assert is_logged_in(client)


def test_requiring_it_ends_sessions_with_a_password_alone(client, ruth, settings):
    log_in(client)
    assert is_logged_in(client)
    required = settings_of(TIEBREAK_TWO_FACTOR="required")
    settings.AUTHENTICATION_BACKENDS = required.AUTHENTICATION_BACKENDS
    assert not is_logged_in(client)
    assert "must be one of" in complaint(TIEBREAK_TWO_FACTOR="yes")


def test_where_it_is_required_another_device_is_set_up_at_once(client, ruth, device, required):
    log_in(client)
    give(client, code_of(device.bin_key))
    client.post(ACCOUNT, {"code": code_of(device.bin_key, 1)})
    assert not is_logged_in(client)
    turned_on(client)
    assert is_logged_in(client)


def test_who_waits_for_a_code_cannot_turn_on_another_device(client, device):
    log_in(client)
    assert client.get(ACCOUNT).status_code == 302
    assert client.post(ACCOUNT, {"code": "000000"}).status_code == 302
    assert AppDevice.objects.get() == device


def test_an_administrator_takes_a_lost_device_away_by_command(client, ruth, device, capsys):
    two_factor.new_recovery_codes(ruth)
    call_command("remove_second_factor", "ruth")
    assert log_in(client).url == "/admin/"
    assert not StaticDevice.objects.exists()
    for name in ("ruth", "nobody"):
        with pytest.raises(CommandError):
            call_command("remove_second_factor", name)


def test_the_forms_need_a_csrf_token(ruth, device):
    strict = Client(enforce_csrf_checks=True)
    assert give(strict, "000000").status_code == 403
    assert strict.post(ACCOUNT, {"code": "000000"}).status_code == 403


def test_secrets_are_on_no_page_of_the_admin(client, device):
    client.force_login(User.objects.create_superuser("admin"))
    for path in ("otp_totp/totpdevice/", "otp_static/staticdevice/"):
        assert client.get(f"/admin/{path}").status_code == 404


def test_annotators_pages_ask_nothing_about_second_factors(client, device):
    """The middleware of django-otp would read a device in each request of a session."""
    from django.conf import settings

    assert not any("otp" in name for name in settings.MIDDLEWARE)


def test_no_secret_can_be_read_in_the_database(client, ruth):
    log_in(client)
    shown = re.search(r'id="two-factor-key">(\w+)<', client.get(ACCOUNT).content.decode()).group(1)
    codes = recovery_codes(turned_on(client, password=PASSWORD))
    key = b32decode(shown).hex()
    device = AppDevice.objects.get()
    assert device.bin_key.hex() == key
    # The session's, which the set-up page needs until the app has shown a code, is gone.
    stored = [row for model in apps.get_models() for row in model._base_manager.values()]
    secrets = {key, shown, *codes, *("".join(code.split()) for code in codes)}
    assert [one for one in secrets if one in str(stored)] == []
    assert not secrets & {*client.session.values()}


def test_with_an_unreadable_secret_a_recovery_code_opens(client, ruth, device, settings):
    codes = two_factor.new_recovery_codes(ruth)
    code = code_of(device.bin_key)
    settings.SECRET_KEY = "n" * 60
    log_in(client)
    assert give(client, code).status_code == 200
    assert give(client, codes[0]).status_code == 302


def test_what_could_be_read_is_migrated(client, ruth):
    former = TOTPDevice.objects.create(user=ruth, name="app")
    key = former.bin_key
    static = StaticDevice.objects.create(user=ruth, name="recovery codes")
    StaticToken.objects.create(device=static, token="abcd2345")
    move = import_module("studies.migrations.0013_second_factors_unreadable").seal_second_factors
    for _ in range(2):  # as if it was stopped before its end was noted
        move(apps, None)
    assert AppDevice.objects.get().bin_key == key
    assert TOTPDevice.objects.get().key == ""
    assert StaticToken.objects.get().token != "abcd2345"
    log_in(client)
    assert give(client, code_of(key)).status_code == 302
    other = Client()
    log_in(other)
    assert give(other, "abcd 2345").status_code == 302
