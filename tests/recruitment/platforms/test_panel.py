"""A panel's IDs are bound to the browser that agreed, and signed if the researcher requires it."""

import hashlib
import hmac
import re
from decimal import Decimal

import pytest
from django.test import Client
from django.urls import reverse
from django.utils import timezone

from annotation.models import Participation, Rating
from recruitment.models import Channel, decrypted
from recruitment.services.channels import close_channel
from recruitment.services.entry import Entrant, give_consent
from recruitment.services.reentry import Browser
from studies.models import Study
from tests.annotation.annotators import Annotator
from tests.confirming import post_confirmed
from tests.pages import codes_on
from tests.refusals import refused
from tests.studies.factories import make_open_study

pytestmark = pytest.mark.django_db

AGREE = {"choice": "agree", "version": "1"}


def by_panel(member=None, **settings) -> tuple[Study, Channel]:
    study = make_open_study(instances=2, comparisons_per_hit=1, member=member)
    settings = {"person_parameter": "pid", **settings}
    channel = Channel.objects.create(study=study, provider="panel", settings=settings)
    return study, channel


def arrive(study: Study, query: str, client: Client | None = None):
    link = reverse("recruitment:arrive", args=[study.pk, "panel"])
    return (client or Client()).get(f"{link}?{query}")


def enter(study: Study, query: str, client: Client | None = None) -> Annotator:
    browser = Annotator(study, client=client or Client())
    arrive(study, query, browser.client)
    return browser.enter()


def is_in(browser: Annotator) -> bool:
    return f"part-{browser.study.pk}" in browser.client.cookies


def test_a_second_browser_with_somebodys_id_is_refused():
    study, _ = by_panel()
    ann = enter(study, "pid=ann")
    ann.choose()
    code = ann.participation.submission.completion_code
    eve = enter(study, "pid=ann")
    assert not is_in(eve)
    answer = arrive(study, "pid=ann", eve.client)
    assert answer.status_code == 403
    assert code not in answer.content.decode()
    assert codes_on(answer) == {"other_browser"}
    ann.choose()
    assert Participation.objects.count() == 1
    assert Rating.objects.count() == 2


def test_who_slipped_past_the_link_is_refused_when_they_agree():
    study, _ = by_panel()
    eve = Client()
    assert arrive(study, "pid=ann", eve).status_code == 303  # nobody of that id is in yet
    enter(study, "pid=ann")
    assert eve.post(f"/s/{study.pk}/", AGREE).status_code == 403
    assert f"part-{study.pk}" not in eve.cookies


def test_of_two_browsers_that_agree_at_once_the_second_is_refused(monkeypatch):
    study, channel = by_panel()
    ids = {"provider": "panel", "external_id": "ann", "submission_id": "ann"}

    def meanwhile(*_, **__):
        monkeypatch.setattr("recruitment.services.entry.check_entry", lambda *_, **__: None)
        give_consent(study=study, entrant=Entrant(**ids, channel=channel, browser=Browser("first")))

    monkeypatch.setattr("recruitment.services.entry.check_entry", meanwhile)
    with refused("other_browser"):
        give_consent(
            study=study, entrant=Entrant(**ids, channel=channel, browser=Browser("second"))
        )


def test_a_new_visit_of_somebodys_id_is_theirs_alone():
    study, _ = by_panel(submission_parameter="visit")
    ann = enter(study, "pid=ann&visit=1")
    assert arrive(study, "pid=ann&visit=2").status_code == 403
    again = enter(study, "pid=ann&visit=2", ann.client)
    assert again.participation.submission_id == "2"
    assert Participation.objects.count() == 2
    assert arrive(study, "pid=bob&visit=1").status_code == 303


def test_the_first_browser_comes_back_by_its_link_as_often_as_it_likes():
    study, _ = by_panel()
    ann = enter(study, "pid=ann")
    assert arrive(study, "pid=ann", ann.client).status_code == 303
    del ann.client.cookies[f"from-{study.pk}"]  # it lasts for a day, one's part for longer
    assert arrive(study, "pid=ann", ann.client).status_code == 303
    ann.choose()


def test_agreeing_twice_in_one_browser_is_one_person():
    study, _ = by_panel()
    ann = Client()
    arrive(study, "pid=ann", ann)
    for _ in range(2):  # the second press leaves before the first one's cookie came
        ann.cookies.pop(f"part-{study.pk}", None)
        assert ann.post(f"/s/{study.pk}/", AGREE).status_code == 303
    assert Participation.objects.count() == 1


def test_a_forged_cookie_proves_no_browser():
    study, _ = by_panel()
    ann = enter(study, "pid=ann")
    eve = Client()
    arrive(study, "pid=eve", eve)
    for cookie in (ann.participation.public_id, f"{ann.participation.public_id}:x:y"):
        eve.cookies[f"part-{study.pk}"] = cookie
        assert arrive(study, "pid=ann", eve).status_code == 403


def test_ask_the_panel_leads_back_to_the_panels_page():
    study, _ = by_panel(reentry="ask", panel_url="https://panel.example/help?p={person}")
    enter(study, "pid=ann")
    answer = arrive(study, "pid=ann")
    assert answer.status_code == 403
    assert 'href="https://panel.example/help?p=ann"' in answer.content.decode()


def test_a_second_browser_that_is_allowed_is_marked(client, django_user_model):
    researcher = django_user_model.objects.create_user("ada", is_staff=True)
    study, _ = by_panel(member=researcher, reentry="flag")
    ann = enter(study, "pid=ann")
    ann.choose()
    assert ann.participation.submission.reentered_at is None
    other = enter(study, "pid=ann")
    assert other.participation == ann.participation
    assert other.participation.submission.reentered_at
    client.force_login(researcher)
    ledger = client.get(reverse("recruitment:ledger", args=[study.pk])).content.decode()
    assert "data-reentered" in ledger


def test_a_closed_link_answers_the_same_to_everybody():
    study, channel = by_panel(submission_parameter="visit")
    ann = enter(study, "pid=ann&visit=1")
    close_channel(channel=channel, now=timezone.now())
    answers = [
        arrive(study, query)
        for query in ("pid=ann&visit=1", "pid=ann&visit=2", "pid=nobody&visit=1", "pid=x&visit=9")
    ]
    assert {(answer.status_code, answer.content) for answer in answers} == {
        (409, answers[0].content)
    }
    assert not any(answer.cookies for answer in answers)
    for submission, person in (("1", "eve"), ("9", "eve"), ("1", "ann")):
        with refused("channel_closed"):
            give_consent(
                study=study,
                entrant=Entrant(
                    provider="panel",
                    external_id=person,
                    submission_id=submission,
                    channel=channel,
                    browser=Browser("elsewhere"),
                ),
            )
    assert arrive(study, "pid=ann&visit=1", ann.client).status_code == 303
    ann.choose()


def save(researcher_client, study: Study, **settings: str):
    address = reverse("recruitment:save-channel", args=[study.pk, "panel"])
    return researcher_client.post(address, {"person_parameter": "pid", **settings})


def shown_key(researcher_client, study: Study) -> str:
    page = researcher_client.get(reverse("recruitment:channels", args=[study.pk])).content.decode()
    return re.search(r'id="key-panel"[^>]* value="([^"]+)"', page)[1]


def signed(key: str, part: str) -> str:
    """Sign as a panel does that follows the page and the documentation."""
    digest = hmac.new(key.encode(), part.encode(), hashlib.sha256).hexdigest()
    return f"{part}&signature={digest}"


def test_signed_links_let_in_whom_the_panel_signed_and_nobody_else(researcher_client):
    study = make_open_study(instances=2, comparisons_per_hit=1, member=researcher_client.researcher)
    save(researcher_client, study, is_signed="on", submission_parameter="visit")
    key = shown_key(researcher_client, study)
    good = signed(key, "pid=ann&visit=v1")
    for query in (
        "pid=ann&visit=v1",
        good.replace("pid=ann", "pid=bob"),
        good.replace("visit=v1", "visit=v2"),
        signed("guessed", "pid=ann&visit=v1"),
        "pid=ann&visit=v1&signature=",
        "pid=ann&visit=v1&signature=é",
    ):
        assert arrive(study, query).status_code == 403, query
    assert not Participation.objects.exists()
    ann = enter(study, good)
    assert ann.participation.confirmed_at
    assert ann.participation.address == ""  # the panel vouches for them
    assert arrive(study, good).status_code == 403  # a copied link is still not their browser


def test_the_key_is_stored_encrypted_and_can_be_replaced(researcher_client):
    study = make_open_study(instances=1, member=researcher_client.researcher)
    save(researcher_client, study, is_signed="on")
    former = shown_key(researcher_client, study)
    assert former not in Channel.objects.get().secret
    save(researcher_client, study, is_signed="on", completed_code="X")
    assert shown_key(researcher_client, study) == former
    researcher_client.post(
        reverse("recruitment:change-channel-state", args=[study.pk, "panel", "new-key"])
    )
    assert shown_key(researcher_client, study) != former
    assert arrive(study, signed(former, "pid=ann")).status_code == 403
    assert arrive(study, signed(shown_key(researcher_client, study), "pid=ann")).status_code == 303
    assert decrypted(Channel.objects.get().secret) == shown_key(researcher_client, study)


def test_a_signing_key_is_shown_to_members_only(researcher_client, django_user_model):
    study = make_open_study(instances=1, member=researcher_client.researcher)
    save(researcher_client, study, is_signed="on")
    researcher_client.force_login(django_user_model.objects.create_user("eve", is_staff=True))
    assert (
        researcher_client.get(reverse("recruitment:channels", args=[study.pk])).status_code == 404
    )
    renew = reverse("recruitment:change-channel-state", args=[study.pk, "panel", "new-key"])
    assert researcher_client.post(renew).status_code == 404


def test_sending_people_back_needs_a_page_to_send_them_to(researcher_client):
    study = make_open_study(instances=1, member=researcher_client.researcher)
    assert save(researcher_client, study, reentry="ask").status_code == 400
    assert not study.channels.exists()
    assert (
        save(researcher_client, study, reentry="ask", panel_url="https://p.example/").status_code
        == 302
    )


def test_a_signed_panel_is_paid_by_the_researcher_and_not_by_its_key(researcher_client):
    study = make_open_study(
        instances=1,
        comparisons_per_hit=1,
        reward=Decimal("2.00"),
        member=researcher_client.researcher,
    )
    save(researcher_client, study, is_signed="on")
    ann = enter(study, signed(shown_key(researcher_client, study), "pid=ann"))
    ann.choose()
    ann.here()
    pay = reverse(
        "recruitment:ledger-action", args=[study.pk, ann.participation.public_id, "approve"]
    )
    post_confirmed(researcher_client, pay)
    assert ann.participation.payments.get().status == "paid"
    assert study.channels.get().problem == ""
