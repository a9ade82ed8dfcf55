"""The client's address, for which only headers of trusted proxies are believed."""

import pytest
from django.test import RequestFactory

from studies.client_address import client_address

PROXY = "10.0.0.1"


def seen(forwarded: str | None = None, peer: str = PROXY) -> str:
    headers = {} if forwarded is None else {"x-forwarded-for": forwarded}
    return client_address(RequestFactory().get("/", headers=headers, REMOTE_ADDR=peer))


@pytest.fixture
def behind_proxy(settings):
    settings.TIEBREAK_BEHIND_PROXY, settings.TIEBREAK_PROXIES = True, 1
    return settings


def test_without_a_proxy_the_header_is_ignored(settings):
    settings.TIEBREAK_BEHIND_PROXY = False
    assert seen("192.0.2.7", peer="198.51.100.4") == "198.51.100.4"


def test_behind_a_proxy_the_client_is_whom_the_proxy_saw(behind_proxy):
    assert seen("192.0.2.7") == "192.0.2.7"


def test_what_a_client_adds_to_the_header_changes_nothing(behind_proxy):
    assert seen("203.0.113.1, 203.0.113.2, 192.0.2.7") == "192.0.2.7"
    behind_proxy.TIEBREAK_PROXIES = 2
    assert seen("203.0.113.1, 192.0.2.7, 10.0.0.2") == "192.0.2.7"


@pytest.mark.parametrize("forwarded", [None, "", "unknown", "203.0.113.1, ", "_hidden"])
def test_a_header_without_an_address_leaves_the_peer(behind_proxy, forwarded):
    assert seen(forwarded) == PROXY


def test_fewer_entries_than_proxies_are_not_the_outermost_proxys(behind_proxy):
    behind_proxy.TIEBREAK_PROXIES = 3
    assert seen("203.0.113.1, 192.0.2.7") == PROXY


@pytest.mark.parametrize(
    ("written", "usual"),
    [
        ("192.0.2.7:50123", "192.0.2.7"),
        ("[2001:db8::7]:443", "2001:db8::7"),
        ("2001:DB8:0:0::7", "2001:db8::7"),
        ("::ffff:192.0.2.7", "192.0.2.7"),
        ("fe80::1%eth0", "fe80::1"),
    ],
)
def test_one_client_has_one_spelling(behind_proxy, written, usual):
    assert seen(written) == usual


def test_a_peer_without_an_address_is_unknown(settings):
    settings.TIEBREAK_BEHIND_PROXY = False
    assert seen(peer="") == ""
