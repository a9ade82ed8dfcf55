"""Who may ask what: tokens, their scopes and ends, sessions, and throttles."""

import hashlib
from datetime import timedelta

import pytest
from django.contrib.auth.models import User
from django.test import Client
from django.urls import reverse

from api.models import ApiToken
from api.services.tokens import MAX_NAME, MAX_TOKENS, create_token, revoke_token, valid_token
from api.throttling import ClientThrottle, WrongTokenThrottle
from jobs.clock import database_now
from studies.models import Membership, Study
from tests.api.clients import at, problem_of, program, with_token
from tests.refusals import refused
from tests.studies.factories import make_open_study, make_study

pytestmark = pytest.mark.django_db
READ = ApiToken.Access.READ


def listed(client: Client) -> set[str]:
    return {study["id"] for study in client.get(at("study-list")).json()["results"]}


def test_only_the_hash_and_a_short_prefix_of_a_token_are_stored(ruth):
    token, text = create_token(user=ruth, name="judge")
    stored = ApiToken.objects.values().get()
    assert text not in map(str, stored.values())
    assert stored["digest"] == hashlib.sha256(text.encode()).hexdigest()
    assert text.startswith(stored["prefix"])
    assert len(text) - len(stored["prefix"]) > 32
    assert token.access == READ


def test_a_token_opens_what_its_researcher_may_see(ruth, omar):
    mine, other = make_study(instances=1, member=ruth), make_study(instances=1, member=omar)
    client = program(ruth)
    assert listed(client) == {mine.pk}
    assert client.get(at("study-detail", mine.pk)).json()["id"] == mine.pk
    theirs, unknown = (
        client.get(at("study-detail", other.pk)),
        client.get(at("study-detail", "2" * 12)),
    )
    assert problem_of(theirs) == problem_of(unknown) == (404, "unknown_study")
    assert theirs.json() == unknown.json()


def test_a_token_for_chosen_studies_opens_no_other(ruth):
    one, two = (make_study(instances=1, member=ruth) for _ in range(2))
    client = program(ruth, studies=[one])
    assert listed(client) == {one.pk}
    assert problem_of(client.get(at("study-detail", two.pk))) == (404, "unknown_study")


def test_a_token_never_opens_more_than_its_researcher_may_see(ruth, omar):
    study = make_study(instances=1, member=ruth)
    with refused("unknown_study"):
        create_token(user=omar, name="too much", studies=[study])
    client = program(ruth, studies=[study])
    assert client.get(at("study-detail", study.pk)).status_code == 200
    Membership.objects.filter(user=ruth).delete()
    assert problem_of(client.get(at("study-detail", study.pk))) == (404, "unknown_study")


def test_a_token_whose_studies_are_deleted_opens_nothing(ruth):
    study, other = (make_study(instances=1, member=ruth) for _ in range(2))
    client = program(ruth, studies=[study])
    Study.objects.filter(pk=study.pk).delete()
    assert listed(client) == set()
    assert problem_of(client.get(at("study-detail", other.pk))) == (404, "unknown_study")


@pytest.mark.parametrize("end", ["revoked", "expired", "deactivated", "no_researcher"])
def test_a_token_that_has_ended_is_refused(ruth, end):
    token, text = create_token(user=ruth, name="old")
    client = with_token(text)
    assert client.get(at("study-list")).status_code == 200
    past = database_now() - timedelta(seconds=1)
    if end == "revoked":
        revoke_token(user=ruth, public_id=token.public_id)
    elif end == "expired":
        ApiToken.objects.update(expires_at=past)
    else:
        changed = {"deactivated": {"is_active": False}, "no_researcher": {"is_staff": False}}
        User.objects.filter(pk=ruth.pk).update(**changed[end])
    answer = client.get(at("study-list"))
    assert problem_of(answer) == (401, "wrong_token")
    assert answer["WWW-Authenticate"] == "Bearer"


def test_a_token_before_its_end_is_accepted(ruth):
    token, text = create_token(
        user=ruth, name="new", expires_at=database_now() + timedelta(hours=1)
    )
    assert valid_token(text) == token


@pytest.mark.parametrize("text", ["", "tb_", "tb_wrong", "\x00", "é", "tb_" + "a" * 10_000])
def test_a_wrong_token_is_refused(db, text):
    assert problem_of(with_token(text).get(at("study-list"))) == (401, "wrong_token")


def test_without_token_and_session_nobody_is_let_in(db):
    assert problem_of(Client().get(at("study-list"))) == (401, "not_authenticated")


def test_a_token_that_may_only_read_changes_nothing(ruth):
    study = make_open_study(instances=1, member=ruth)
    client = program(ruth, access=READ)
    assert client.get(at("study-detail", study.pk)).status_code == 200
    assert problem_of(client.post(at("study-pause", study.pk))) == (403, "read_only_token")
    study.refresh_from_db()
    assert study.status == "open"


def test_the_last_use_is_stored_at_most_once_a_minute(ruth, django_assert_num_queries):
    token, text = create_token(user=ruth, name="used")
    now = database_now()
    valid_token(text, now=now)
    with django_assert_num_queries(1):
        valid_token(text, now=now + timedelta(seconds=59))
    token.refresh_from_db()
    assert token.last_used_at == now
    valid_token(text, now=now + timedelta(seconds=60))
    token.refresh_from_db()
    assert token.last_used_at == now + timedelta(seconds=60)


def test_a_session_may_read_and_with_a_csrf_token_write(ruth):
    study = make_open_study(instances=1, member=ruth)
    client = Client(enforce_csrf_checks=True)
    client.force_login(ruth)
    assert client.get(at("study-detail", study.pk)).status_code == 200
    url, kind = at("study-pause", study.pk), "application/json"
    assert problem_of(client.post(url, content_type=kind)) == (403, "permission_denied")
    client.get(reverse("api:tokens"))
    token = client.cookies["csrftoken"].value
    answer = client.post(url, content_type=kind, headers={"X-CSRFToken": token})
    assert answer.status_code == 200


def test_users_who_are_no_researchers_are_refused(db):
    client = Client()
    client.force_login(User.objects.create_user("annotator"))
    assert problem_of(client.get(at("study-list"))) == (403, "not_a_researcher")


def test_a_client_that_asks_too_often_is_refused(ruth, omar, monkeypatch):
    monkeypatch.setattr(ClientThrottle, "THROTTLE_RATES", {"client": "2/min"})
    client = program(ruth)
    assert [client.get(at("study-list")).status_code for _ in range(3)] == [200, 200, 429]
    refusal = client.get(at("study-list"))
    assert problem_of(refusal) == (429, "throttled")
    assert 0 < int(refusal["Retry-After"]) <= 60
    assert program(omar).get(at("study-list")).status_code == 200
    assert program(ruth).get(at("study-list")).status_code == 200


def test_too_many_wrong_tokens_are_refused_and_never_a_valid_one_from_there(ruth, monkeypatch):
    monkeypatch.setattr(WrongTokenThrottle, "THROTTLE_RATES", {"wrong_tokens": "2/min"})
    wrong, right = with_token("tb_wrong"), program(ruth)
    assert [right.get(at("study-list")).status_code for _ in range(4)] == [200] * 4
    codes = [problem_of(wrong.get(at("study-list"))) for _ in range(3)]
    assert codes == [(401, "wrong_token")] * 2 + [(429, "too_many_wrong_tokens")]
    assert right.get(at("study-list")).status_code == 200
    elsewhere = {"REMOTE_ADDR": "192.0.2.7"}
    assert problem_of(wrong.get(at("study-list"), **elsewhere)) == (401, "wrong_token")


def test_a_researcher_has_a_limited_number_of_tokens(ruth):
    ApiToken.objects.bulk_create(
        ApiToken(user=ruth, name="one", digest=str(n)) for n in range(MAX_TOKENS)
    )
    with refused("too_many_tokens"):
        create_token(user=ruth, name="one more")


def test_the_page_shows_a_new_token_once(client, ruth):
    client.force_login(ruth)
    url = reverse("api:tokens")
    page = client.post(url, {"name": "judge", "access": "write", "covers_all": "on"})
    text = page.context["new_token"]
    assert text in page.content.decode()
    assert "no-store" in page["Cache-Control"]
    assert with_token(text).get(at("study-list")).status_code == 200
    again = client.get(url).content.decode()
    assert text not in again
    assert ApiToken.objects.get().prefix in again


def test_the_page_offers_only_ones_own_studies(client, ruth, omar):
    client.force_login(ruth)
    other = make_study(instances=1, member=omar)
    page = client.post(
        reverse("api:tokens"), {"name": "x", "access": "read", "studies": [other.pk]}
    )
    assert page.status_code == 400
    assert other not in page.context["form"].fields["studies"].queryset
    assert not ApiToken.objects.exists()


@pytest.mark.parametrize(
    ("more", "code"),
    [
        ({}, "without_studies"),
        ({"covers_all": "on", "expires_on": "2020-01-01"}, "expires_in_past"),
    ],
)
def test_the_page_refuses_a_token_for_nothing(client, ruth, more, code):
    client.force_login(ruth)
    page = client.post(reverse("api:tokens"), {"name": "x", "access": "read", **more})
    errors = page.context["form"].errors.as_data()
    assert {error.code for field in errors.values() for error in field} == {code}


def test_the_page_revokes_ones_own_tokens_only(client, ruth, omar):
    token, text = create_token(user=ruth, name="mine")
    client.force_login(omar)
    assert client.post(reverse("api:revoke-token", args=[token.public_id])).status_code == 404
    assert with_token(text).get(at("study-list")).status_code == 200
    client.force_login(ruth)
    client.post(reverse("api:revoke-token", args=[token.public_id]))
    assert with_token(text).get(at("study-list")).status_code == 401


@pytest.mark.parametrize("name", ["", "  ", "n" * (MAX_NAME + 1)])
def test_a_token_has_a_name_that_its_list_can_show(ruth, name):
    with refused("bad_name", naming=str(MAX_NAME)):
        create_token(user=ruth, name=name)
    assert not ruth.api_tokens.exists()
