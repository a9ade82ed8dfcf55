"""The researchers' log-in page, and its defence against password guessing."""

from datetime import timedelta

import pytest
from axes.models import AccessAttempt, AccessLog
from django.contrib.auth.models import User
from django.test import Client
from django.urls import reverse
from django.utils import timezone

pytestmark = pytest.mark.django_db

LOGIN = "/admin/login/"
RIGHT, WRONG = "a long passphrase", "guess"
PROXY = "10.0.0.1"
HOME, AWAY = "198.51.100.7", "203.0.113.9"


@pytest.fixture(autouse=True)
def rea() -> User:
    return User.objects.create_superuser("rea", password=RIGHT)


@pytest.fixture
def behind_proxy(settings) -> None:
    settings.TIEBREAK_BEHIND_PROXY, settings.TIEBREAK_PROXIES = True, 1


def status(password: str, address: str = AWAY, *, name: str = "rea", **headers: str) -> int:
    """Return the status of an attempt in a new browser: 302 logged in, 200 wrong, 429 locked out."""
    answer = {"username": name, "password": password}
    return Client().post(LOGIN, answer, REMOTE_ADDR=address, **headers).status_code


def by_proxy(password: str, forwarded: str, *, name: str = "rea") -> int:
    return status(password, PROXY, name=name, HTTP_X_FORWARDED_FOR=forwarded)


def test_guessing_a_password_locks_the_address_out():
    for _ in range(8):
        assert status(WRONG) in {200, 429}
    assert status(RIGHT) == 429
    assert status(RIGHT, HOME) == 302


def test_there_is_no_default_account_and_no_sign_up():
    User.objects.all().delete()
    for path in ("/accounts/signup/", "/signup/", "/register/", "/admin/signup/"):
        assert Client().get(path).status_code in {302, 404}
    assert Client().get(reverse("admin:index")).status_code == 302


def test_wrong_passwords_from_another_address_lock_nobody_out_behind_a_proxy(behind_proxy):
    for _ in range(9):
        by_proxy(WRONG, AWAY)
    assert by_proxy(RIGHT, AWAY) == 429
    assert by_proxy(RIGHT, HOME) == 302


def test_a_forged_header_gives_no_new_address(behind_proxy):
    answers = [by_proxy(WRONG, f"192.0.2.{i}, {AWAY}") for i in range(9)]
    assert answers[-1] == 429
    assert by_proxy(RIGHT, f"{HOME}, {AWAY}") == 429
    assert by_proxy(RIGHT, f"{AWAY}, {HOME}") == 302


def test_without_a_proxy_the_header_is_ignored():
    answers = [status(WRONG, HTTP_X_FORWARDED_FOR=f"192.0.2.{i}") for i in range(9)]
    assert answers[-1] == 429


def test_trying_one_password_on_many_names_locks_the_address_out():
    answers = [status(WRONG, name=f"person-{i}") for i in range(40)]
    assert set(answers[:39]) == {200}
    assert status(RIGHT) == 429
    assert status(RIGHT, HOME) == 302


def test_guessing_from_many_addresses_is_slowed_and_never_locks_out_who_is_right(settings):
    settings.TIEBREAK_LOGIN_FAILURES_OF_NAME = 10
    assert status(RIGHT, HOME) == 302
    for i in range(10):
        status(WRONG, f"192.0.2.{i}")
    assert status(RIGHT, AWAY) == 302  # a new browser at a new address
    elsewhere = "203.0.113.10"
    assert [status(WRONG, elsewhere) for _ in range(2)] == [200, 429]
    assert status(RIGHT, elsewhere) == 429
    assert [status(WRONG, HOME), status(RIGHT, HOME)] == [200, 302]
    assert status(WRONG, AWAY, name="another") == 200


@pytest.mark.thorough
def test_failures_of_others_never_keep_a_known_browser_or_name_out(settings):
    settings.TIEBREAK_LOGIN_FAILURES_OF_NAME = 10
    owner = Client(REMOTE_ADDR=AWAY)

    def log_in(password: str, name: str = "rea") -> int:
        return owner.post(LOGIN, {"username": name, "password": password}).status_code

    assert log_in(RIGHT) == 302
    for i in range(40):  # all limits are reached at the same address, and for the same name
        status(WRONG, name=f"person-{i}")
        status(WRONG)
        status(WRONG, f"192.0.2.{i}")
    assert status(RIGHT) == 429
    del owner.cookies["sessionid"]
    assert [log_in(WRONG), log_in(RIGHT)] == [200, 302]
    for i in range(10):
        status(WRONG, name=f"another-{i}")
    User.objects.create_superuser("eve", password=RIGHT)
    assert log_in(RIGHT, "eve") == 429  # the cookie is good for its own name only
    assert [log_in(WRONG) for _ in range(8)][-1] == log_in(RIGHT) == 429


def test_somebody_who_logged_in_from_an_address_is_not_locked_out_by_other_names_there():
    assert status(RIGHT) == 302
    for i in range(40):
        status(WRONG, name=f"person-{i}")
    assert status(RIGHT) == 302
    assert status(WRONG, name="one-more") == 429


def test_addresses_are_deleted_after_ninety_days(settings):
    settings.TIEBREAK_LOGIN_FAILURES_OF_NAME = 10
    status(RIGHT, HOME)
    AccessLog.objects.update(attempt_time=timezone.now() - timedelta(days=91))
    for i in range(10):
        status(WRONG, f"192.0.2.{i}")
    assert [status(WRONG, HOME) for _ in range(2)] == [200, 429]
    AccessAttempt.objects.filter(ip_address=HOME).delete()
    settings.TIEBREAK_LOGIN_FAILURES_OF_NAME = 100
    status(RIGHT, HOME)
    assert AccessLog.objects.count() == 1


def test_the_addresses_of_an_ipv6_network_count_as_one():
    for i in range(1, 10):
        status(WRONG, f"2001:db8:1:2::{i:x}")
    assert status(RIGHT, "2001:db8:1:2:abcd::1") == 429
    assert status(RIGHT, "2001:db8:1:3::1") == 302


def test_responses_do_not_reveal_whether_a_name_exists():
    answers = [[status(WRONG, name=name) for _ in range(9)] for name in ("rea", "nobody")]
    assert answers[0] == answers[1]


def test_attempts_during_a_lockout_do_not_prolong_it():
    for _ in range(30):
        status(WRONG)
    assert AccessAttempt.objects.get().failures_since_start == 8
