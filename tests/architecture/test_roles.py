"""What each role may do, at every address of the server: a new one cannot be forgotten.

An address that is not listed here must refuse viewers who read it and analysts who post to it.
"""

from collections.abc import Iterator

import pytest
from django.contrib.auth.models import User
from django.core.cache import cache
from django.test import Client
from django.urls import get_resolver

from recruitment.models import Channel
from recruitment.platforms import get_platform
from recruitment.services.channels import save_channel
from studies.access import RIGHTS, Right, studies_of
from studies.models import Membership, Study
from tests.annotation.annotators import annotator
from tests.architecture.test_urls import address, patterns
from tests.pages import prose_of, send
from tests.studies.factories import make_open_study, make_study

pytestmark = pytest.mark.django_db

RESULTS = {
    "metrics:dashboard",
    "metrics:collecting-numbers",
    "metrics:numbers",
    "metrics:figure",
    "metrics:coefficients-by-stratum",
    "metrics:results",
    "metrics:results-tab",
    "api:study-progress",
}
# A right to read is enough to post here, because it starts a download.
DOWNLOADS = {
    *("metrics:export", "metrics:report-files"),
    *("api:job-export", "api:job-report-files"),
}
# They concern an account or everybody, not a study, redirect to a page that is walked, or are tested below.
OF_NO_STUDY = (
    "studies_study_delete",
    "auth",
    "dataset",
    "view_on_site",
    "app_list",
    "None",
    "studies:guide",
    "revoke-token",
    "accept-invitation",
    "server-invitation",
    "sample-file",
    "column-problems",
    "annotation:import",
    "api:import-detail",
    "annotation:repeat-import",
    "annotation:stop-import",
    "metrics:public-board",
)
NEEDED: dict[str, dict[str, Right]] = {
    "get": {
        **dict.fromkeys(RESULTS, Right.SEE),
        "metrics:selection-action": Right.CHANGE,
        "api:webhooks": Right.CHANGE,
        "api:webhook-list": Right.CHANGE,
        "metrics:remove-study": Right.OWN,
        "recruitment:own-data": Right.OWN,
        "studies:invitations": Right.OWN,
        "api:invitation-list": Right.OWN,
    },
    "post": {
        **dict.fromkeys(DOWNLOADS, Right.READ),
        "metrics:remove-study": Right.OWN,
        "recruitment:settle-payment": Right.OWN,
        "recruitment:pay-many": Right.OWN,
        "api:participant-pay": Right.OWN,
        "api:participant-bonus": Right.OWN,
        "api:participant-reject": Right.OWN,
        "studies:members": Right.OWN,
        "studies:invitations": Right.OWN,
        "studies:withdraw-invitation": Right.OWN,
        "api:invitation-list": Right.OWN,
    },
    "put": {},
    "patch": {},
    "delete": {"api:study-detail": Right.OWN, "api:invitation-detail": Right.OWN},
}
DEFAULTS = {"get": Right.READ} | dict.fromkeys(("post", "put", "patch", "delete"), Right.CHANGE)


def addresses(study: Study) -> Iterator[tuple[str, str]]:
    for name, route, _ in patterns(get_resolver()):
        is_for_annotators = route.startswith(("s/", "rate/"))
        if "<" in route and not is_for_annotators and not any(part in name for part in OF_NO_STUDY):
            yield name, address(route, study.pk)


@pytest.fixture(autouse=True)
def _no_earlier_requests() -> None:
    """Throttles count in the cache, which outlives a test."""
    cache.clear()


@pytest.fixture
def study() -> Study:
    study = make_open_study(instances=2)
    annotator(study).choose()
    return study


def member(study: Study, role: str) -> Client:
    user = User.objects.create_user(role, is_staff=True)
    Membership.objects.create(study=study, user=user, role=role)
    client = Client()
    client.force_login(user)
    return client


@pytest.mark.thorough
@pytest.mark.parametrize("method", NEEDED)
@pytest.mark.parametrize("role", RIGHTS)
def test_each_role_is_refused_what_it_may_not_do_at_every_address(study, role, method):
    client, wrong = member(study, role), {}
    # Pages only know two methods.
    walked = [a for a in addresses(study) if method in {"get", "post"} or a[0].startswith("api:")]
    assert len(walked) > (50 if method in {"get", "post"} else 25)
    for name, path in walked:
        status = getattr(client, method)(path).status_code
        is_allowed = RIGHTS[role] >= NEEDED[method].get(name, DEFAULTS[method])
        if (status == 403) == is_allowed and status != 405:
            wrong[name] = status
    assert wrong == {}


@pytest.mark.thorough
def test_each_address_takes_a_method(study):
    """Only an owner's request reaches a view, so the other tests would pass without any."""
    client = member(study, "owner")
    for _, path in addresses(study):
        statuses = (
            client.generic(method, path).status_code
            for method in ("GET", "POST", "PUT", "PATCH", "DELETE")
        )
        assert any(status != 405 for status in statuses), path


def test_the_exceptions_are_addresses_that_exist(study):
    names = {name for name, _ in addresses(study)}
    assert {name for rights in NEEDED.values() for name in rights} <= names


@pytest.mark.parametrize("role", RIGHTS)
def test_only_owners_pay(study, role):
    Channel.objects.create(study=study, provider="panel")
    participation = study.participations.get()
    client = member(study, role)
    paths = (
        f"/studies/{study.pk}/ledger/{participation.public_id}/approve/",
        f"/studies/{study.pk}/ledger/{participation.public_id}/bonus/",
        f"/studies/{study.pk}/ledger/{participation.public_id}/reject/",
        f"/studies/{study.pk}/recruitment/panel/approve-all/",
    )
    statuses = {client.post(path).status_code for path in paths}
    assert (403 in statuses) == (role != "owner")
    assert len(statuses) == 1 or role == "owner"


@pytest.mark.parametrize("role", RIGHTS)
def test_only_owners_delete_a_draft(role):
    study = make_study(instances=1)
    client = member(study, role)
    client.post(f"/admin/studies/study/{study.pk}/delete/", {"post": "yes"})
    assert Study.objects.filter(pk=study.pk).exists() == (role != "owner")


@pytest.mark.parametrize("role", RIGHTS)
def test_only_owners_manage_members(role):
    study = make_study(instances=1)
    Membership.objects.create(study=study, user=User.objects.create_user("ruth", is_staff=True))
    client = member(study, role)
    User.objects.create_user("bea", is_staff=True)
    rows = {
        "memberships-TOTAL_FORMS": 1,
        "memberships-INITIAL_FORMS": 0,
        "memberships-0-opened": "{}",
        "memberships-0-user": "bea",
        "memberships-0-role": "owner",
    }
    send(client, f"/studies/{study.pk}/members/", rows)
    assert study.memberships.filter(user__username="bea").exists() == (role == "owner")


def test_a_study_keeps_an_owner():
    study = make_study(instances=1)
    client = member(study, "owner")
    membership = study.memberships.get()
    rows = {
        "memberships-TOTAL_FORMS": 1,
        "memberships-INITIAL_FORMS": 1,
        "memberships-0-id": membership.pk,
        "memberships-0-study": study.pk,
        "memberships-0-user": "owner",
        "memberships-0-role": "viewer",
    }
    page = send(client, f"/studies/{study.pk}/members/", rows)
    errors = [
        inline.formset.non_form_errors().as_data()
        for inline in page.context["inline_admin_formsets"]
    ]
    assert [error.code for listed in errors for error in listed] == ["no_owner"]
    assert study.memberships.get().role == "owner"


def test_a_refusal_says_what_to_do(study):
    page = member(study, "analyst").post(f"/studies/{study.pk}/jobs/{study.pk}/stop/")
    assert page.status_code == 403
    assert "owner" in prose_of(page)


def test_a_refusal_of_the_api_has_a_code(study):
    answer = member(study, "analyst").post(f"/api/v1/studies/{study.pk}/close/")
    assert (answer.status_code, answer.json()["code"]) == (403, "role_forbids")


def test_a_token_acts_with_the_role_of_its_user(study):
    viewer = User.objects.create_user("vic", is_staff=True)
    Membership.objects.create(study=study, user=viewer, role="viewer")
    assert list(studies_of(viewer)) == [study]
    assert not studies_of(viewer, Right.READ).exists()


@pytest.mark.parametrize("role", RIGHTS)
def test_a_dataset_is_shown_from_analyst_on_and_changed_from_editor_on(study, role):
    client = member(study, role)
    path = f"/admin/studies/dataset/{study.dataset_id}/change/"
    shown = client.get(path)
    assert (shown.status_code == 200) == (RIGHTS[role] >= Right.READ)
    if shown.status_code == 200:
        assert ('name="_save"' in shown.content.decode()) == (RIGHTS[role] >= Right.CHANGE)


@pytest.mark.parametrize("role", RIGHTS)
def test_only_those_who_may_recruit_see_signing_keys(study, role):
    channel = Channel(study=study, provider="panel", settings={"is_signed": True})
    save_channel(channel=channel, token=get_platform("panel").own_secret(channel))
    page = member(study, role).get(f"/studies/{study.pk}/recruitment/")
    assert ("key-panel" in page.content.decode()) == (RIGHTS[role] >= Right.CHANGE)
