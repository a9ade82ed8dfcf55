"""Welcome page, consent and guidelines: nothing is stored about people who do not agree."""

import re
from decimal import Decimal
from typing import Any

import pytest
from django.apps import apps
from django.contrib.sessions.models import Session
from django.db import connection
from django.test import Client
from django.test.utils import CaptureQueriesContext
from django.urls import reverse
from lxml.html import fromstring

from annotation.models import Participation, Place, Rater
from recruitment.models import Channel
from recruitment.services.lifecycle import close_study, pause_study
from studies.services import save_design
from tests.annotation.annotators import Annotator, annotator, unit_of
from tests.pages import codes_on, numbers_in, page_of
from tests.studies.factories import make_open_study, make_study

pytestmark = pytest.mark.django_db

AGREE = {"choice": "agree", "version": "1"}


def rows_of_collecting() -> dict[str, int]:
    """The number of rows in every table that a visit might write to."""
    ours = ("annotation", "recruitment")
    models: list[Any] = [m for app in ours for m in apps.get_app_config(app).get_models()]
    models.append(Session)
    counts = {model.__name__: model.objects.count() for model in models}
    return counts | {"leases": Place.objects.filter(lease_until__isnull=False).count()}


def test_it_works(client: Client):
    study = make_open_study(instances=1, consent="We keep **answers** only.")
    page = client.get(f"/s/{study.pk}/")
    assert page.status_code == 200
    assert b"Which note is better?" in page.content
    assert b"We keep <strong>answers</strong> only." in page.content
    response = client.post(f"/s/{study.pk}/", AGREE)
    assert response.status_code == 303
    assert response["Location"] == f"/rate/{study.pk}/"
    participation = Participation.objects.get()
    assert participation.provider == "open-link"
    assert participation.consented_version == study.versions.get(number=1)
    assert not participation.simulated


def test_looking_at_the_welcome_writes_nothing(client: Client):
    study = make_open_study(instances=1)
    before = rows_of_collecting()
    for _ in range(2):
        assert client.get(f"/s/{study.pk}/").status_code == 200
    client.head(f"/s/{study.pk}/")
    assert rows_of_collecting() == before


def test_agreeing_reserves_no_place_yet():
    annotator(make_open_study(instances=1))
    assert Participation.objects.count() == 1
    assert not Place.objects.filter(lease_until__isnull=False).exists()
    assert not Session.objects.exists()


def test_who_declines_leaves_no_trace(client: Client):
    study = make_open_study(instances=1)
    before = rows_of_collecting()
    page = client.post(f"/s/{study.pk}/", {"choice": "decline", "version": "1"})
    assert page.status_code == 200
    assert page_of(page) == "declined"
    assert not page.context["privacy_notice"].in_any_case
    assert rows_of_collecting() == before
    assert "sessionid" not in client.cookies


def test_no_choice_is_asked_for_again(client: Client):
    study = make_open_study(instances=1)
    response = client.post(f"/s/{study.pk}/", {"version": "1"})
    assert (response.status_code, codes_on(response)) == (400, {"no_choice"})
    assert not Rater.objects.exists()


def test_consent_to_a_text_that_changed_meanwhile_is_asked_for_again(client: Client):
    study = make_open_study(instances=1, consent="Old words.")
    client.get(f"/s/{study.pk}/")
    study.consent = "New words."
    save_design(study=study)
    response = client.post(f"/s/{study.pk}/", AGREE)
    assert (response.status_code, codes_on(response)) == (409, {"consent_changed"})
    assert b"New words." in response.content
    assert not Participation.objects.exists()
    client.post(f"/s/{study.pk}/", {**AGREE, "version": "2"})
    assert Participation.objects.get().consented_version == study.versions.get(consent="New words.")


def test_consent_to_pay_that_the_channel_changed_meanwhile_is_asked_for_again(client: Client):
    study = make_open_study(instances=1)
    channel = Channel.objects.create(study=study, provider="open-link")
    for promised in ("0.40", "0.10", ""):
        page = client.get(f"/s/{study.pk}/").content.decode()
        shown = dict(re.findall(r'name="(version|terms)" value="([^"]+)"', page))
        channel.settings = {"screen_out_reward": promised}
        channel.save()
        response = client.post(f"/s/{study.pk}/", {"choice": "agree", **shown})
        assert (response.status_code, codes_on(response)) == (409, {"consent_changed"})
    shown["terms"] = response.context["terms"]
    assert client.post(f"/s/{study.pk}/", {"choice": "agree", **shown}).status_code == 303


def test_agreeing_twice_from_one_page_is_one_person(client: Client):
    study = make_open_study(instances=1)
    page = client.get(f"/s/{study.pk}/").content.decode()
    entry = re.search(r'name="entry" value="([^"]+)"', page)[1]
    for _ in range(2):  # the second press leaves before the first one's cookie came
        client.cookies.clear()
        assert client.post(f"/s/{study.pk}/", {**AGREE, "entry": entry}).status_code == 303
    assert Participation.objects.count() == Rater.objects.count() == 1


def test_nobody_enters_as_whom_they_like(client: Client):
    study = make_open_study(instances=1)
    client.post(f"/s/{study.pk}/", {**AGREE, "entry": "somebody-else"})
    assert Participation.objects.get().submission_id != "somebody-else"


def test_the_bare_address_leads_researchers_in(client: Client):
    assert client.get("/").headers["Location"] == "/admin/"


def test_agreeing_needs_its_csrf_token():
    study = make_open_study(instances=1)
    assert Client(enforce_csrf_checks=True).post(f"/s/{study.pk}/", AGREE).status_code == 403
    assert not Rater.objects.exists()


def test_who_is_in_already_is_sent_on():
    ann = annotator(make_open_study(instances=1))
    for response in (
        ann.client.get(f"/s/{ann.study.pk}/"),
        ann.client.post(f"/s/{ann.study.pk}/", AGREE),
    ):
        assert response.status_code == 302
        assert response["Location"] == ann.at()
    assert Participation.objects.count() == 1


def test_two_browsers_are_two_raters():
    study = make_open_study(instances=1)
    ann, bob = annotator(study), annotator(study)
    assert ann.participation.rater != bob.participation.rater


def test_one_browser_in_two_studies_is_not_recognised():
    ann = annotator(make_open_study(instances=1))
    other = Annotator(make_open_study(instances=1), client=ann.client).enter()
    assert ann.participation.rater != other.participation.rater
    assert ann.here().status_code == other.here().status_code == 200


@pytest.mark.parametrize("method", ["get", "post"])
def test_a_draft_says_that_it_has_not_begun(client: Client, method):
    study = make_study(instances=1)
    response = getattr(client, method)(f"/s/{study.pk}/", {"choice": "agree", "version": "0"})
    assert (response.status_code, codes_on(response)) == (409, {"draft_to_newcomers"})
    assert study.title.encode() not in response.content
    assert not Rater.objects.exists()


@pytest.mark.parametrize(
    ("verb", "code"),
    [(pause_study, "paused_to_newcomers"), (close_study, "closed_to_newcomers")],
)
def test_a_study_that_takes_nobody_in_says_so(client: Client, verb, code):
    study = make_open_study(instances=1)
    verb(study=study)
    for response in (client.get(f"/s/{study.pk}/"), client.post(f"/s/{study.pk}/", AGREE)):
        assert (response.status_code, codes_on(response)) == (409, {code})
    assert not Rater.objects.exists()


@pytest.mark.parametrize("study_id", ["nosuchstudy1", "1", "%00", "..", "x" * 500])
def test_a_link_to_no_study_is_a_plain_page(client: Client, study_id):
    response = client.get(f"/s/{study_id}/")
    assert (response.status_code, page_of(response)) == (404, "404")


def test_guidelines_come_first_and_once():
    study = make_open_study(instances=1, guidelines="# Be fair\n\nRead *both*.")
    ann = Annotator(study)
    ann.client.post(f"/s/{study.pk}/", AGREE)
    page = ann.here()
    assert b"<h2>Be fair</h2>" in page.content
    assert (page_of(page), page.context["is_read"]) == ("guidelines", False)
    assert not Place.objects.filter(lease_until__isnull=False).exists()
    assert ann.client.post(ann.at("guidelines"))["Location"] == ann.at()
    assert unit_of(ann.here()) == (1, "5")


def test_guidelines_can_be_reread_without_losing_the_place():
    ann = annotator(make_open_study(instances=3, guidelines="Be fair."))
    ann.choose()
    before = rows_of_collecting()
    page = ann.client.get(ann.at("guidelines"))
    assert b"Be fair." in page.content
    assert page.context["is_read"]
    assert rows_of_collecting() == before
    assert unit_of(ann.here()) == (2, "5")


def test_new_guidelines_are_valid_from_the_next_hit_on():
    ann = annotator(make_open_study(instances=2, guidelines="Old rule."))
    ann.choose()
    study = ann.study
    study.guidelines = "New rule."
    save_design(study=study)
    assert b"Old rule." in ann.client.get(ann.at("guidelines")).content
    for _ in range(4):
        ann.choose()
    assert b"New rule." in ann.client.get(ann.at("guidelines")).content


def test_guidelines_need_their_csrf_token():
    ann = Annotator(make_open_study(instances=1))
    ann.client.post(f"/s/{ann.study.pk}/", AGREE)
    strict = Client(enforce_csrf_checks=True)
    strict.cookies = ann.client.cookies
    assert strict.post(ann.at("guidelines")).status_code == 403
    assert ann.participation.guidelines_read_at is None


def test_case_13_a_cookie_of_another_study_or_without_its_signature_is_nobody():
    ann = annotator(make_open_study(instances=1))
    other = Annotator(make_open_study(instances=1), client=ann.client)
    cookie = ann.client.cookies[f"part-{ann.study.pk}"].value
    for forged in (cookie, ann.participation.public_id, cookie[:-1] + "x"):
        ann.client.cookies[f"part-{other.study.pk}"] = forged
        assert other.client.get(other.at())["Location"] == f"/s/{other.study.pk}/"


@pytest.mark.parametrize(("hits", "is_told"), [(3, True), (1, False)])
def test_people_read_what_they_are_paid_before_they_agree(client, hits, is_told):
    study = make_open_study(
        instances=3, reward=Decimal(2), minutes_per_hit=1.5, hits_per_annotator=hits
    )
    page = client.get(reverse("recruitment:welcome", args=[study.pk])).text
    (told,) = re.findall(r"data-in-short>(.*?)</ul>", page, re.S)
    assert {"2.00", "1.5", str(hits)} <= numbers_in(told)
    assert ("for each" in told) == is_told


@pytest.mark.parametrize(
    ("minutes", "said"), [(0.5, "30 seconds each"), (1, "1 minute each"), (9.8, "10 minutes each")]
)
def test_people_read_how_long_a_task_takes_as_one_says_it(client, minutes, said):
    study = make_open_study(instances=3, minutes_per_hit=minutes, hits_per_annotator=3)
    assert f"about {said}." in client.get(reverse("recruitment:welcome", args=[study.pk])).text


def test_people_read_what_they_are_asked_before_they_agree(client):
    study = make_open_study(instances=1)
    page = client.get(reverse("recruitment:welcome", args=[study.pk])).text
    (told,) = fromstring(page).xpath("//*[@data-task]")
    assert study.criteria.get().question in told.text_content()


def test_entering_and_rating_counts_neither_all_tasks_nor_all_places():
    study = make_open_study(instances=3)
    with CaptureQueriesContext(connection) as queries:
        person = annotator(study)
        person.choose()
    whole = [
        query["sql"]
        for query in queries
        if re.match(r"SELECT COUNT\(\*\).*FROM \"annotation_(hit|place)\" WHERE", query["sql"])
    ]
    assert not [sql for sql in whole if "assignment" not in sql and "participation" not in sql]
