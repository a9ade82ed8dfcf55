"""How participants of channels without a platform's payment get their pay."""

import re
from decimal import Decimal

import pytest
from django.urls import reverse
from lxml.html import fromstring

from annotation.services.planning import plan_hits
from recruitment.models import Channel
from recruitment.platforms import get_platform
from recruitment.services.launch_checks import launch_checks
from studies.models import Study
from tests.annotation.annotators import Annotator
from tests.studies.factories import make_open_study, make_study

pytestmark = pytest.mark.django_db


def paying(**design):
    values = {"instances": 1, "comparisons_per_hit": 1, "reward": "2.00", "currency": "GBP"}
    return make_open_study(**values | design)


def finished(study, **settings) -> str:
    """Return the last page of somebody who came by the open link and did everything."""
    if settings:
        Channel.objects.create(study=study, provider="open-link", settings=settings)
    annotator = Annotator(study)
    annotator.enter()
    annotator.choose()
    return annotator.here().content.decode()


def claim_on(html: str) -> str:
    shown = re.search(r"<p[^>]* data-claim>(.*?)</p>", html, re.S)
    return shown[1] if shown else ""


def test_the_last_page_says_where_to_send_the_code():
    html = finished(paying(), pay_claim="send", pay_contact="lab@uni.example")
    assert "2.00 GBP" in claim_on(html)
    assert 'href="mailto:lab@uni.example"' in claim_on(html)
    assert 'data-copy="completion-code"' in html


def test_an_address_is_text_and_no_markup():
    html = finished(paying(), pay_claim="send", pay_contact="<b>Room 4</b>")
    assert "&lt;b&gt;Room 4" in claim_on(html)


def test_who_is_told_nothing_else_shows_the_code():
    assert "2.00 GBP" in claim_on(finished(paying()))


def test_without_pay_there_is_nothing_to_claim():
    html = finished(paying(reward=None), pay_claim="send", pay_contact="lab@uni.example")
    assert "completion-code" in html
    assert not claim_on(html)


def test_people_read_how_they_are_paid_before_they_agree(client):
    study = paying()
    page = client.get(f"/s/{study.pk}/").content.decode()
    assert "lab@uni.example" not in page
    settings = {"pay_claim": "send", "pay_contact": "lab@uni.example"}
    Channel.objects.create(study=study, provider="open-link", settings=settings)
    shown = fromstring(client.get(f"/s/{study.pk}/").text)
    assert "lab@uni.example" in shown.xpath("string(//*[@data-in-short])")
    # They can write there, too, to be erased.
    assert shown.xpath("//*[@data-erasure]//a/@href") == ["mailto:lab@uni.example"]


# Recruit.


def test_a_code_that_is_sent_needs_an_address(client, django_user_model):
    ruth = django_user_model.objects.create_user("ruth", is_staff=True)
    client.force_login(ruth)
    study = make_study(instances=1, member=ruth)
    save = reverse("recruitment:save-channel", args=[study.pk, "open-link"])
    refused = client.post(save, {"pay_claim": "send"})
    assert refused.status_code == 400
    assert not study.channels.exists()
    client.post(save, {"pay_claim": "send", "pay_contact": "lab@uni.example"})
    assert study.channels.get().settings["pay_contact"] == "lab@uni.example"


def test_recruit_goes_on_by_saving_how_people_get_their_pay(client, django_user_model):
    ruth = django_user_model.objects.create_user("ruth", is_staff=True)
    client.force_login(ruth)
    study = make_study(instances=1, member=ruth, reward=Decimal("2.00"))
    page = reverse("recruitment:channels", args=[study.pk])
    html = fromstring(client.get(page).content)
    (goes_on,) = html.xpath("//button[contains(@class, 'primary')]")
    assert (goes_on.get("name"), html.find_class("go")) == ("_next", [])
    assert not goes_on.xpath("ancestor::form//button")[0].get("name")  # Enter only saves
    save = reverse("recruitment:save-channel", args=[study.pk, "open-link"])
    sent = {"pay_claim": "show"}
    assert client.post(save, sent).url == page
    Channel.objects.all().delete()
    went = client.post(save, sent | {"_next": "1"})
    assert went.url != page
    assert study.channels.count() == 1
    (on,) = fromstring(client.get(page).content).find_class("go")
    assert on.get("href") == went.url


def test_recruit_says_where_pay_cannot_be_claimed_yet(client, django_user_model):
    ruth = django_user_model.objects.create_user("ruth", is_staff=True)
    client.force_login(ruth)
    study = make_study(instances=1, member=ruth, reward=Decimal("2.00"))
    page = reverse("recruitment:channels", args=[study.pk])
    assert "pay_not_claimable" in client.get(page).text
    Channel.objects.create(study=study, provider="open-link", settings={"pay_claim": "show"})
    assert "pay_not_claimable" not in client.get(page).text
    Channel.objects.all().delete()
    Study.objects.update(reward=None)
    assert "pay_not_claimable" not in client.get(page).text


@pytest.mark.parametrize(("name", "offered"), [("open-link", False), ("invitation", True)])
def test_only_invited_people_are_known_to_the_researchers(name: str, offered: bool):
    form = get_platform(name).settings_form()
    assert ("unasked" in dict(form.fields["pay_claim"].choices)) == offered


# The launch check.


def codes(study) -> set[str]:
    return {check.code for check in launch_checks(study)}


def planned(**design):
    study = make_study(instances=1, hits_per_annotator=1, minutes_per_hit=1, **design)
    plan_hits(study=study)
    return study


def test_pay_that_nobody_can_claim_is_warned_of():
    study = planned(reward=Decimal("2.00"))
    (warning,) = [check for check in launch_checks(study) if check.code == "pay_not_claimable"]
    assert not warning.is_error
    channel = Channel.objects.create(study=study, provider="open-link")
    assert "pay_not_claimable" in codes(study)
    channel.settings = {"pay_claim": "show"}
    channel.save()
    assert "pay_not_claimable" not in codes(study)


def test_no_pay_needs_no_claim():
    assert "pay_not_claimable" not in codes(planned())


def test_a_channel_that_is_closed_or_pays_by_itself_needs_no_claim():
    study = planned(reward=Decimal("2.00"))
    Channel.objects.create(study=study, provider="panel", settings={"person_parameter": "pid"})
    assert "pay_not_claimable" not in codes(study)
    Channel.objects.create(study=study, provider="open-link")
    assert "pay_not_claimable" in codes(study)
    study.channels.filter(provider="open-link").update(closed_at="2026-01-01T00:00:00Z")
    assert "pay_not_claimable" not in codes(study)


def test_an_open_link_that_only_fills_a_gap_needs_no_claim():
    study = planned(reward=Decimal("2.00"))
    Channel.objects.create(study=study, provider="prolific")
    assert "pay_not_claimable" not in codes(study)


# In the researcher's own words.

OWN = {"pay_claim": "own", "pay_instruction": "Send your <b>IBAN</b> & code.\nWe pay by 1 March."}


def test_words_of_ones_own_are_read_at_the_end_with_the_amount_and_at_the_start(client):
    study = paying()
    html = claim_on(finished(study, **OWN))
    assert "2.00 GBP" in html
    assert "&lt;b&gt;IBAN&lt;/b&gt; &amp; code.<br>" in html
    start = client.get(f"/s/{study.pk}/").content.decode()
    assert "&lt;b&gt;IBAN&lt;/b&gt; &amp; code.<br>" in start


@pytest.mark.parametrize("page", ["welcome", "finish"])
def test_previews_show_words_of_ones_own(client, django_user_model, page):
    ruth = django_user_model.objects.create_user("ruth", is_staff=True)
    client.force_login(ruth)
    study = paying(member=ruth)
    Channel.objects.create(study=study, provider="open-link", settings=OWN)
    shown = client.get(reverse("recruitment:preview", args=[study.pk]), {"page": page})
    assert "IBAN&lt;/b&gt; &amp; code.<br>" in shown.content.decode()


@pytest.mark.parametrize("name", ["open-link", "invitation"])
@pytest.mark.parametrize(
    ("written", "code"), [("", "required"), ("  \n ", "required"), ("x" * 601, "max_length")]
)
def test_words_of_ones_own_are_needed_and_have_a_maximum_length(name: str, written: str, code: str):
    data = {"pay_claim": "own", "pay_instruction": written, "people": "Ada"}
    form = get_platform(name).settings_form(data)
    assert [error.code for error in form.errors.as_data()["pay_instruction"]] == [code]


def test_a_brace_in_words_of_ones_own_is_text():
    channel = Channel(study=paying(), settings=OWN | {"pay_instruction": "Use {amount} {x}."})
    assert "{amount} {x}" in get_platform("open-link").claim_at_the_start(channel)
