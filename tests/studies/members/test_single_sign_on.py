"""A provider of single sign-on opens the account that it can prove, and no other."""

from urllib.parse import urlsplit

import pytest
from cryptography.hazmat.primitives.asymmetric import rsa
from django.contrib.auth.models import User
from django.test import Client
from django.urls import clear_url_caches, include, path
from django_otp.util import random_hex

from studies.members import single_sign_on
from studies.members.two_factor import new_device
from studies.models import SingleSignOn
from tests.config.test_settings import GOOD, complaint, settings_of
from tests.pages import codes_on
from tests.studies.members.fake_identity_provider import CLIENT, SECRET, FakeIdentityProvider

pytestmark = pytest.mark.django_db

START, ANSWER, LOGIN = "/single-sign-on/", "/single-sign-on/answer/", "/admin/login/"
PAGES = (*single_sign_on.single_sign_on_urls(), path("", include("config.urls")))


@pytest.fixture
def provider(settings):
    with FakeIdentityProvider() as running:
        settings.TIEBREAK_OIDC = True
        settings.TIEBREAK_OIDC_ISSUER = running.issuer
        settings.TIEBREAK_OIDC_CLIENT_ID = CLIENT
        settings.TIEBREAK_OIDC_CLIENT_SECRET = SECRET
        settings.ROOT_URLCONF = PAGES
        clear_url_caches()
        single_sign_on._provider.cache_clear()
        yield running
    clear_url_caches()


@pytest.fixture
def ruth() -> User:
    return User.objects.create_user("ruth", "Ruth@example.org", "p", is_staff=True)


def sign_on(client: Client, provider: FakeIdentityProvider, to: str = ""):
    sent = client.get(START, {"next": to} if to else {})
    return client.get(ANSWER, provider.signs_in(sent.url))


def name_of(client: Client) -> str:
    key = client.session.get("_auth_user_id")
    return User.objects.get(pk=key).username if key else ""


def refused(client: Client, provider: FakeIdentityProvider) -> set[str]:
    """Return the codes of a log-in that was refused."""
    answer = sign_on(client, provider)
    assert answer.url == LOGIN
    assert name_of(client) == ""
    return codes_on(client.get(LOGIN))


def test_the_page_to_log_in_has_a_button_that_leads_to_the_provider(client, provider):
    assert START in client.get(LOGIN).content.decode()
    sent = urlsplit(client.get(START).url)
    assert f"{sent.scheme}://{sent.netloc}" == provider.issuer
    asked = provider.signs_in(client.get(START).url) and provider.asked[-1][1]
    assert asked["client_id"] == CLIENT
    assert asked["code_challenge_method"] == "S256"
    assert asked["redirect_uri"].endswith(ANSWER)
    assert {"state", "nonce"} <= asked.keys()


def test_without_settings_nothing_is_offered(client):
    assert client.get(START).status_code == 404
    assert START not in client.get(LOGIN).content.decode()


def test_a_verified_address_finds_the_account_and_later_the_lasting_id(client, provider, ruth):
    assert sign_on(client, provider).url == "/admin/"
    assert name_of(client) == "ruth"
    assert SingleSignOn.objects.get().subject == "person-1"
    provider.claims |= {"email": "married@example.org", "email_verified": False}
    again = Client()
    sign_on(again, provider)
    assert name_of(again) == "ruth"


def test_an_address_that_somebody_else_has_now_does_not_open_the_account(client, provider, ruth):
    sign_on(client, provider)
    provider.claims |= {"sub": "person-2"}
    assert refused(Client(), provider) == {"no_account"}


OTHER_KEY = rsa.generate_private_key(public_exponent=65537, key_size=2048)


@pytest.mark.parametrize(
    "wrong",
    [
        {"iss": "https://other.example.org"},
        {"aud": "another-client"},
        {"aud": "another-client", "azp": CLIENT},
        {"aud": ["another-client", "third"], "azp": "another-client"},
        {"nonce": "another"},
        {"nonce": None},
        {"exp": 1_700_000_000},
        {"exp": None},
        {"sub": None},
        {"iat": 4_000_000_000},
    ],
    ids=str,
)
def test_a_token_of_others_or_from_before_is_refused(client, provider, ruth, wrong):
    provider.claims |= wrong
    assert refused(client, provider) == {"single_sign_on_failed"}


@pytest.mark.parametrize(
    ("algorithm", "key"),
    [("RS256", OTHER_KEY), ("HS256", SECRET), ("none", "")],
    ids=["another key", "the secret that we know", "no signature"],
)
def test_a_signature_that_the_provider_did_not_make_is_refused(
    client, provider, ruth, algorithm, key
):
    provider.algorithm, provider.signed_by = algorithm, key
    assert refused(client, provider) == {"single_sign_on_failed"}


def test_a_new_key_of_the_provider_is_fetched(client, provider, ruth):
    sign_on(client, provider)
    provider.key, provider.kid = OTHER_KEY, "second"
    again = Client()
    sign_on(again, provider)
    assert name_of(again) == "ruth"


@pytest.mark.parametrize("verified", [False, None, "true", 1])
def test_an_unverified_address_finds_no_account(client, provider, ruth, verified):
    provider.claims |= {"email_verified": verified}
    assert refused(client, provider) == {"unverified_email"}


def test_the_provider_must_be_the_one_that_is_configured(client, provider, ruth):
    provider.metadata = {"issuer": "https://other.example.org"}
    assert client.get(START).url == LOGIN


@pytest.mark.parametrize(
    "how", ["replayed", "another browser", "forged state", "no state", "error"]
)
def test_an_answer_belongs_to_the_browser_that_asked_and_works_once(client, provider, ruth, how):
    back = provider.signs_in(client.get(START).url)
    browser = client
    if how == "replayed":
        client.get(ANSWER, back)
        provider.nonces["a-code"] = "x"
        client.logout()
    elif how == "another browser":
        browser = Client()
    elif how == "forged state":
        back["state"] = "forged"
    elif how == "no state":
        back = {"code": "a-code"}
    else:
        back = {"error": "access_denied", "state": back["state"]}
    assert browser.get(ANSWER, back).url == LOGIN
    assert name_of(browser) == ""


def test_the_session_gets_another_key(client, provider, ruth):
    back = provider.signs_in(client.get(START).url)
    before = client.session.session_key
    client.get(ANSWER, back)
    assert client.session.session_key != before


@pytest.mark.parametrize("to", ["https://evil.example/", "//evil.example/", "/\\evil.example"])
def test_nobody_is_sent_to_another_site(client, provider, ruth, to):
    assert sign_on(client, provider, to).url == "/admin/"
    again = Client()
    assert sign_on(again, provider, "/account/tokens/").url == "/account/tokens/"


def test_strangers_get_an_account_only_if_that_is_set(client, provider, settings):
    assert refused(client, provider) == {"no_account"}
    settings.TIEBREAK_OIDC_NEW_ACCOUNTS = True
    settings.TIEBREAK_OIDC_DOMAINS = ["example.org"]
    sign_on(client, provider)
    user = User.objects.get()
    assert (user.username, user.is_staff, user.is_superuser) == ("ruth@example.org", True, False)
    assert not user.has_usable_password()


@pytest.mark.parametrize("state", [{"is_active": False}, {"is_staff": False}])
def test_a_blocked_account_stays_blocked(client, provider, ruth, state, settings):
    settings.TIEBREAK_OIDC_NEW_ACCOUNTS = True
    User.objects.update(**state)
    assert refused(client, provider) == {"no_account"}
    User.objects.update(is_active=True, is_staff=True)
    sign_on(client, provider)
    User.objects.update(**state)
    assert refused(Client(), provider) == {"no_account"}
    assert User.objects.count() == 1


def test_an_address_of_two_accounts_opens_neither(client, provider, ruth):
    User.objects.create_user("other", "ruth@example.org", is_staff=True)
    assert refused(client, provider) == {"no_account"}


def test_only_allowed_domains_and_groups_may_log_in(client, provider, ruth, settings):
    settings.TIEBREAK_OIDC_DOMAINS = ["uni.example.org"]
    assert refused(client, provider) == {"not_allowed"}
    settings.TIEBREAK_OIDC_DOMAINS = ["example.org"]
    settings.TIEBREAK_OIDC_GROUP = ("groups", "researchers")
    for groups in ([], "researchers-not", ["others"], None):
        provider.claims |= {"groups": groups}
        assert refused(Client(), provider) == {"not_allowed"}
    provider.claims |= {"groups": ["others", "researchers"]}
    sign_on(client, provider)
    assert name_of(client) == "ruth"


def test_an_address_may_come_with_the_second_answer_about_the_same_person(client, provider, ruth):
    provider.userinfo = provider.claims | {"sub": "person-9"}
    provider.claims = {"sub": "person-1"}
    assert refused(client, provider) == {"single_sign_on_failed"}
    provider.userinfo |= {"sub": "person-1"}
    sign_on(client, provider)
    assert name_of(client) == "ruth"


def test_the_second_factor_is_asked_for_unless_the_provider_did(client, provider, ruth):
    new_device(ruth, random_hex(20)).save()
    assert sign_on(client, provider).url == "/log-in/code/"
    assert name_of(client) == ""
    provider.claims |= {"amr": ["pwd", "mfa"]}
    again = Client()
    sign_on(again, provider)
    assert name_of(again) == "ruth"


def test_a_provider_that_does_not_answer_is_told(client, provider, ruth):
    back = provider.signs_in(client.get(START).url)
    provider.server.shutdown()
    provider.server.server_close()
    assert client.get(ANSWER, back).url == LOGIN
    assert codes_on(client.get(LOGIN)) == {"single_sign_on_failed"}


OIDC = {
    "TIEBREAK_OIDC_ISSUER": "https://login.example.org/realm/",
    "TIEBREAK_OIDC_CLIENT_ID": "tiebreak",
    "TIEBREAK_OIDC_CLIENT_SECRET": "s",
}


@pytest.mark.parametrize(
    "wrong",
    [
        {"TIEBREAK_OIDC_CLIENT_ID": ""},
        {"TIEBREAK_OIDC_CLIENT_SECRET": ""},
        {"TIEBREAK_OIDC_ISSUER": "http://login.example.org"},
        {"TIEBREAK_OIDC_ISSUER": "login.example.org"},
        {"TIEBREAK_OIDC_GROUP": "researchers"},
        {"TIEBREAK_OIDC_NEW_ACCOUNTS": "1"},
    ],
    ids=str,
)
def test_settings_that_are_missing_or_let_everybody_in_stop_the_start(wrong):
    assert settings_of(**GOOD, **OIDC).TIEBREAK_OIDC
    (name,) = wrong
    assert name in complaint(**GOOD | OIDC | wrong)
