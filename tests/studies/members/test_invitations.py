"""Whoever is invited by e-mail joins once, and nobody learns whether there is an account."""

import re
from datetime import timedelta

import pytest
from django.contrib.auth.models import User
from django.core import mail
from django.core.cache import cache
from django.test import Client

from config.redaction import redacted
from studies.members import invitations
from studies.models import Invitation, Membership, Study
from tests.pages import codes_on
from tests.studies.factories import make_study

pytestmark = pytest.mark.django_db

ACCOUNT = {"username": "new", "password1": "a-long-one-72", "password2": "a-long-one-72"}
NEW = "new@example.org"


@pytest.fixture(autouse=True)
def _no_earlier_invitations(settings) -> None:
    cache.clear()
    settings.TIEBREAK_HAS_EMAIL = True


@pytest.fixture
def ruth() -> User:
    return User.objects.create_user("ruth", password="p", is_staff=True)


@pytest.fixture
def study(ruth) -> Study:
    return make_study(instances=1, member=ruth)


@pytest.fixture
def owner(ruth) -> Client:
    client = Client()
    client.force_login(ruth)
    return client


def page_of(study: Study) -> str:
    return f"/studies/{study.pk}/invitations/"


def invite(owner: Client, study: Study, email: str = NEW, role: str = "editor") -> str:
    """Invite somebody, and return the path of the link in the e-mail."""
    assert owner.post(page_of(study), {"email": email, "role": role}).status_code == 302
    return link_in(mail.outbox[-1].body)


def link_in(text: str) -> str:
    return re.search(r"/invitation/[^\s<\"]+", text).group()


def role_of(name: str, study: Study) -> str | None:
    return study.memberships.filter(user__username=name).values_list("role", flat=True).first()


def test_somebody_new_chooses_a_name_and_has_the_role_at_once(client, owner, study):
    link = invite(owner, study)
    assert mail.outbox[-1].to == [NEW]
    client.get("/admin/login/")
    assert client.post(link, ACCOUNT).status_code == 302
    user = User.objects.get(username="new")
    assert (user.email, user.is_staff, user.is_superuser) == (NEW, True, False)
    assert role_of("new", study) == "editor"
    assert client.session["_auth_user_id"] == str(user.pk)


def test_a_researcher_has_the_role_when_they_accept(client, owner, study):
    link = invite(owner, study)
    client.force_login(User.objects.create_user("bea", is_staff=True))
    assert client.get(link).status_code == 200
    assert role_of("bea", study) is None
    client.post(link)
    assert role_of("bea", study) == "editor"


def test_who_has_an_account_is_led_back_to_the_link(client, owner, study):
    User.objects.create_user("bea", password="her-own-72", is_staff=True)
    link = invite(owner, study)
    login = re.search(r'href="(/admin/login/[^"]+)"', client.get(link).content.decode()).group(1)
    entered = {"username": "bea", "password": "her-own-72"}
    assert client.post(login, entered).url == link


@pytest.mark.parametrize(("had", "has"), [("owner", "owner"), ("viewer", "editor")])
def test_nobodys_role_becomes_less(client, owner, study, had, has):
    bea = User.objects.create_user("bea", is_staff=True)
    Membership.objects.create(study=study, user=bea, role=had)
    link = invite(owner, study)
    client.force_login(bea)
    client.post(link)
    assert role_of("bea", study) == has


def over(client: Client, link: str) -> bool:
    """Whether both opening the link and sending its form are refused."""
    answers = [client.get(link), client.post(link, ACCOUNT)]
    assert {one.status_code for one in answers} <= {200, 302, 400, 404}
    return all(codes_on(one) == {"invitation_over"} for one in answers)


def test_a_link_works_once(client, owner, study):
    link = invite(owner, study)
    client.post(link, ACCOUNT)
    assert over(Client(), link)
    client.force_login(User.objects.create_user("bea", is_staff=True))
    assert over(client, link)


def test_of_two_who_accept_at_once_the_slower_is_refused(owner, study, monkeypatch):
    """The slower one has read the invitation before the other deletes it."""
    token = invite(owner, study).split("/")[2]
    found = invitations.open_invitation(token)
    monkeypatch.setattr(invitations, "open_invitation", lambda _: found)
    people = [User.objects.create_user(name, is_staff=True) for name in ("bea", "cy")]
    invitations.accept(token=token, user=people[0])
    with pytest.raises(invitations.DomainError) as refusal:
        invitations.accept(token=token, user=people[1])
    assert refusal.value.code == "invitation_over"
    assert role_of("cy", study) is None


def test_links_that_are_withdrawn_expired_replaced_or_forged_are_refused(client, owner, study):
    withdrawn = invite(owner, study, "a@example.org")
    public_id = Invitation.objects.get().public_id
    assert owner.post(f"{page_of(study)}{public_id}/withdraw/").status_code == 302
    expired = invite(owner, study, "b@example.org")
    Invitation.objects.update(expires_at=Invitation.objects.get().created_at - timedelta(seconds=1))
    assert over(client, expired)
    replaced, newest = invite(owner, study, "c@example.org"), invite(owner, study, "C@example.org")
    forged = f"/invitation/{Invitation.objects.latest('id').public_id}:{'a' * 43}/"
    assert all(over(client, link) for link in (withdrawn, expired, replaced, forged))
    assert list(Invitation.objects.values_list("email", flat=True)) == ["C@example.org"]
    assert not over(client, newest)


@pytest.mark.parametrize("lost", ["role", "account"])
def test_invitations_of_somebody_who_may_no_longer_invite_are_void(
    client, owner, study, ruth, lost
):
    link = invite(owner, study)
    if lost == "role":
        study.memberships.update(role="editor")
    else:
        User.objects.update(is_active=False)
    assert over(client, link)


def test_inviting_tells_nothing_of_accounts(owner, study):
    User.objects.create_user("known", "known@example.org", is_staff=True)
    told = []
    for name in ("known", "other"):
        owner.post(page_of(study), {"email": f"{name}@example.org", "role": "viewer"})
        page = owner.get(page_of(study)).content.decode()
        hidden = re.sub(r'value="[^"]*"|/invitations/[^/]+/|\d\d:\d\d', "", page)
        told.append((hidden.replace(name, ""), mail.outbox[-1].subject))
        Invitation.objects.all().delete()
    assert told[0] == told[1]


def test_no_second_account_with_the_same_address(client, owner, study):
    User.objects.create_user("bea", NEW.upper(), is_staff=True)
    page = client.post(invite(owner, study), ACCOUNT)
    assert page.context["form"].non_field_errors().as_data()[0].code == "has_account"
    assert not User.objects.filter(username="new").exists()


@pytest.mark.parametrize(
    "wrong", [{"username": "ruth"}, {"password1": "12345678", "password2": "12345678"}]
)
def test_a_name_that_is_taken_and_a_poor_password_are_refused(client, owner, study, wrong):
    link = invite(owner, study)
    assert client.post(link, ACCOUNT | wrong).status_code == 400
    assert client.post(link, ACCOUNT).status_code == 302


def test_without_an_email_server_the_page_has_the_link_and_the_address_proves_nothing(
    client, owner, study, settings
):
    settings.TIEBREAK_HAS_EMAIL = False
    owner.post(page_of(study), {"email": NEW, "role": "viewer"})
    link = link_in(owner.get(page_of(study)).content.decode())
    assert mail.outbox == []
    client.post(link, ACCOUNT)
    assert (role_of("new", study), User.objects.get(username="new").email) == ("viewer", "")


def test_a_link_that_was_sent_is_shown_to_nobody_else(owner, study):
    invite(owner, study)
    assert "/invitation/" not in owner.get(page_of(study)).content.decode()
    assert redacted(f"GET {invitations.link_of(Invitation.objects.get())} 200") == (
        "GET /invitation/… 200"
    )


def test_the_interface_invites_and_withdraws_as_the_page_does(owner, study, settings):
    settings.TIEBREAK_HAS_EMAIL = False
    url = f"/api/v1/studies/{study.pk}/invitations/"
    made = owner.post(url, {"email": NEW, "role": "viewer"}, content_type="application/json")
    assert made.status_code == 201
    listed = owner.get(url).json()
    assert [{**one, "link": made.json()["link"]} for one in listed] == [made.json()]
    assert "link" not in listed[0]  # a token that may only read would open an account with it
    assert not codes_on(Client().get(made.json()["link"]))
    assert owner.delete(f"{url}{made.json()['id']}/").status_code == 204
    assert owner.delete(f"{url}{made.json()['id']}/").json()["code"] == "no_such_invitation"
    assert owner.get(url).json() == []
    settings.TIEBREAK_HAS_EMAIL = True
    made = owner.post(url, {"email": NEW, "role": "viewer"}, content_type="application/json")
    assert made.json()["link"] is None


@pytest.mark.parametrize("role", ["editor", "viewer"])
def test_only_owners_invite(study, role):
    bea = User.objects.create_user("bea", is_staff=True)
    Membership.objects.create(study=study, user=bea, role=role)
    client = Client()
    client.force_login(bea)
    answers = [client.get(page_of(study)), client.post(page_of(study), {"email": NEW})]
    assert [one.status_code for one in answers] == [403, 403]


def test_nobody_sends_invitations_without_end(owner, study, settings, monkeypatch):
    monkeypatch.setattr(invitations, "MAX_IN_A_DAY", 2)
    for _ in range(2):
        invite(owner, study)
    page = owner.post(page_of(study), {"email": "x@example.org", "role": "viewer"})
    assert page.context["form"].non_field_errors().as_data()[0].code == "too_many_invitations"
    assert len(mail.outbox) == 2


def test_nothing_is_stored_if_the_email_cannot_be_queued(owner, study, monkeypatch):
    def no_broker(*_: object) -> None:
        raise invitations.DomainError("no_broker", "The job queue does not respond.", status=503)

    monkeypatch.setattr(invitations, "enqueue", no_broker)
    page = owner.post(page_of(study), {"email": NEW, "role": "viewer"})
    assert page.context["form"].non_field_errors().as_data()[0].code == "no_broker"
    assert not Invitation.objects.exists()


def test_a_title_cannot_add_headers_to_the_email(owner, study):
    Study.objects.update(title="A\nBcc: all@example.org")
    invite(owner, study)
    assert "\n" not in mail.outbox[-1].subject


def test_administrators_invite_researchers_to_the_server(client, owner):
    assert owner.get("/invitations/").status_code == 404
    admin = Client()
    admin.force_login(User.objects.create_superuser("admin"))
    admin.post("/invitations/", {"email": NEW})
    client.post(link_in(mail.outbox[-1].body), ACCOUNT)
    user = User.objects.get(username="new")
    assert (user.is_staff, user.is_superuser, user.memberships.count()) == (True, False, 0)
    admin.post("/invitations/", {"email": "other@example.org"})
    public_id = Invitation.objects.get().public_id
    assert owner.post(f"/invitations/{public_id}/withdraw/").status_code == 404
    assert admin.post(f"/invitations/{public_id}/withdraw/").status_code == 302
    assert not Invitation.objects.exists()


def test_the_forms_need_a_csrf_token(owner, study):
    link = invite(owner, study)
    strict = Client(enforce_csrf_checks=True)
    assert strict.post(link, ACCOUNT).status_code == 403
    strict.force_login(User.objects.get(username="ruth"))
    assert strict.post(page_of(study), {"email": NEW, "role": "viewer"}).status_code == 403


def test_the_studys_log_says_who_was_invited_who_came_and_who_did_not(owner, study, ruth):
    link = invite(owner, study)
    client = Client()
    client.post(link, ACCOUNT)
    invite(owner, study, "other@example.org", "viewer")
    open_one = Invitation.objects.get()
    owner.post(f"{page_of(study)}{open_one.public_id}/withdraw/")
    invite(owner, study, "late@example.org", "viewer")
    new = User.objects.get(username="new")
    masked = {"n": "n…@example.org", "o": "o…@example.org", "l": "l…@example.org"}
    assert [(one.verb, one.by, one.details) for one in study.events.order_by("pk")] == [
        ("invite", ruth, {"address": masked["n"], "role": "editor"}),
        ("join", new, {"address": masked["n"], "role": "editor"}),
        ("invite", ruth, {"address": masked["o"], "role": "viewer"}),
        ("withdraw-invitation", ruth, {"address": masked["o"], "role": "viewer"}),
        ("invite", ruth, {"address": masked["l"], "role": "viewer"}),
    ]
    assert "n…@example.org" in owner.get(f"/studies/{study.pk}/log/").content.decode()
