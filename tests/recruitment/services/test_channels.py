"""Channels: who can enter through which, and what closing one does and does not change."""

import re
from decimal import Decimal

import pytest
from django.test import Client
from django.urls import reverse

from annotation.models import Participation
from recruitment.messages import STILL_ON_PLATFORM
from recruitment.models import Channel
from recruitment.platforms import get_platform, platforms
from recruitment.platforms.invitation import invitations
from recruitment.services.channels import (
    ChannelState,
    channel_statuses,
    close_channel,
    has_open_link,
    remove_channel,
    reopen_channel,
)
from recruitment.services.entry import Entrant, give_consent
from studies.models import Study
from tests.annotation.annotators import Annotator, form_of
from tests.confirming import post_confirmed
from tests.pages import codes_on, levels_on, numbers_in
from tests.refusals import refused
from tests.studies.factories import make_open_study, make_study

pytestmark = pytest.mark.django_db


def a_study(researcher_client, **design) -> Study:
    design = {"instances": 3, "comparisons_per_hit": 1, **design}
    return make_open_study(member=researcher_client.researcher, reward=Decimal("2.00"), **design)


def look(researcher_client, study: Study):
    return researcher_client.get(reverse("recruitment:channels", args=[study.pk]))


def page(researcher_client, study: Study) -> str:
    return look(researcher_client, study).content.decode()


def states(researcher_client, study: Study) -> dict[str, ChannelState]:
    """The state of each channel on the page."""
    return {
        channel["platform"].name: ChannelState(channel["state"])
        for channel in look(researcher_client, study).context["channels"]
    }


def open_channels(researcher_client, study: Study) -> list[str]:
    """The channels through which people can enter, according to the page."""
    return re.findall(r'data-open="([a-z-]+)"', page(researcher_client, study))


def offers(researcher_client, study: Study, provider: str, verb: str) -> bool:
    address = reverse("recruitment:change-channel-state", args=[study.pk, provider, verb])
    return f'formaction="{address}"' in page(researcher_client, study)


def save(researcher_client, study: Study, provider: str, **settings: str):
    return researcher_client.post(
        reverse("recruitment:save-channel", args=[study.pk, provider]), settings
    )


def change_state(researcher_client, study: Study, provider: str, verb: str):
    return researcher_client.post(
        reverse("recruitment:change-channel-state", args=[study.pk, provider, verb]), follow=True
    )


def follow(study: Study, provider: str, query: str = "") -> Annotator:
    """A new browser that opens the link of a channel."""
    browser = Annotator(study)
    address = reverse("recruitment:arrive", args=[study.pk, provider])
    browser.client.get(f"{address}?{query}")
    return browser


def panel(study: Study, **state) -> Channel:
    settings = {"person_parameter": "pid"}
    return Channel.objects.create(study=study, provider="panel", settings=settings, **state)


def test_it_works(researcher_client):
    study = a_study(researcher_client)
    channel = panel(study)
    at_work = follow(study, "panel", "pid=ann").enter()
    at_work.choose()
    assert levels_on(change_state(researcher_client, study, "panel", "close")) == ["success"]
    assert states(researcher_client, study)["panel"] == ChannelState.CLOSED
    assert form_of(at_work.here()).choices
    at_work.choose()
    late = follow(study, "panel", "pid=bob")
    address = reverse("recruitment:arrive", args=[study.pk, "panel"])
    answer = late.client.get(f"{address}?pid=bob")
    assert (answer.status_code, codes_on(answer)) == (409, {"channel_closed"})
    assert late.client.post(f"/s/{study.pk}/", {"choice": "agree", "version": 1}).status_code == 404
    assert Participation.objects.get().submission.channel == channel
    change_state(researcher_client, study, "panel", "reopen")
    follow(study, "panel", "pid=bob").enter()
    assert Participation.objects.count() == 2


def test_closed_to_newcomers_is_open_to_who_comes_back_by_a_link_of_their_own():
    study = make_open_study(instances=1)
    channel = Channel.objects.create(
        study=study, provider="invitation", settings={"people": "Ann\nBob"}
    )
    links = {name: f"invitation={token}" for name, token in invitations(channel)}
    follow(study, "invitation", links["Ann"]).enter()
    close_channel(channel=channel)
    again = follow(study, "invitation", links["Ann"])
    assert again.client.get(f"/s/{study.pk}/").status_code == 200
    assert again.enter().here().status_code == 200
    late = follow(study, "invitation", links["Bob"])
    assert late.client.get(f"/s/{study.pk}/").status_code == 404
    assert Participation.objects.count() == 1


def test_who_closed_on_is_paid_as_before(researcher_client):
    study = a_study(researcher_client, hits_per_annotator=1)
    channel = panel(study)
    browser = follow(study, "panel", "pid=ann").enter()
    close_channel(channel=channel)
    browser.choose()
    browser.here()
    act = reverse(
        "recruitment:ledger-action", args=[study.pk, browser.participation.public_id, "approve"]
    )
    post_confirmed(researcher_client, act)
    assert browser.participation.payments.get().amount == Decimal("2.00")


def test_whom_only_the_platform_named_is_new_to_a_closed_channel():
    study = make_open_study(instances=1)
    channel = panel(study)
    browser = follow(study, "panel", "pid=ann").enter()
    Participation.objects.update(consented_at=None)
    close_channel(channel=channel)
    with refused("channel_closed"):
        give_consent(
            study=study,
            entrant=Entrant(
                provider="panel", external_id="ann", submission_id="ann", channel=channel
            ),
        )
    assert browser.participation.consented_at is None


def test_the_open_link_that_nobody_set_up_can_be_closed(researcher_client):
    study = a_study(researcher_client)
    assert offers(researcher_client, study, "open-link", "close")
    change_state(researcher_client, study, "open-link", "close")
    assert Client().get(f"/s/{study.pk}/").status_code == 409
    assert open_channels(researcher_client, study) == []
    change_state(researcher_client, study, "open-link", "reopen")
    assert Client().get(f"/s/{study.pk}/").status_code == 200


def test_closing_or_removing_a_way_opens_no_other(researcher_client):
    study = a_study(researcher_client)
    channel = panel(study)
    change_state(researcher_client, study, "panel", "close")
    assert Client().get(f"/s/{study.pk}/").status_code == 404
    change_state(researcher_client, study, "panel", "remove")
    assert not Channel.objects.filter(pk=channel.pk).exists()
    assert Client().get(f"/s/{study.pk}/").status_code == 409
    assert not has_open_link(study)


def test_removing_what_never_led_in_leaves_the_open_link_open(researcher_client):
    study = a_study(researcher_client)
    save(researcher_client, study, "prolific", description="Compare.")
    change_state(researcher_client, study, "prolific", "remove")
    assert not study.channels.exists()
    assert Client().get(f"/s/{study.pk}/").status_code == 200


@pytest.mark.parametrize(
    ("state", "code"),
    [({"external_id": "s1"}, "is_on_platform"), ({"pending": "publish"}, "action_pending")],
)
def test_what_a_platform_knows_of_is_not_removed(researcher_client, state, code):
    study = a_study(researcher_client)
    channel = Channel.objects.create(study=study, provider="prolific", **state)
    assert not offers(researcher_client, study, "prolific", "remove")
    with refused(code):
        remove_channel(channel=channel)
    assert codes_on(change_state(researcher_client, study, "prolific", "remove")) == {code}
    assert Channel.objects.filter(pk=channel.pk).exists()


def test_a_way_by_which_somebody_came_is_closed_and_not_removed(researcher_client):
    study = a_study(researcher_client)
    channel = panel(study)
    assert offers(researcher_client, study, "panel", "remove")
    follow(study, "panel", "pid=ann").enter()
    assert not offers(researcher_client, study, "panel", "remove")
    with refused("has_participants"):
        remove_channel(channel=channel)


def test_closing_says_what_is_to_be_done_on_the_platform(researcher_client):
    study = a_study(researcher_client)
    channel = Channel.objects.create(study=study, provider="prolific", external_id="s1")
    advice = STILL_ON_PLATFORM.format("Prolific")
    assert advice not in page(researcher_client, study)
    close_channel(channel=channel)
    html = page(researcher_client, study)
    assert advice in html
    assert "/recruitment/prolific/stop/" in html


def test_another_researchers_ways_cannot_be_turned(researcher_client):
    study = make_open_study(instances=1)
    channel = panel(study)
    for verb in ("close", "reopen", "remove"):
        assert change_state(researcher_client, study, "panel", verb).status_code == 404
    channel.refresh_from_db()
    assert channel.closed_at is None
    own_study = a_study(researcher_client)
    assert "no_such_channel" in codes_on(
        change_state(researcher_client, own_study, "panel", "close")
    )
    assert change_state(researcher_client, own_study, "nowhere", "close").status_code == 404
    assert change_state(researcher_client, own_study, "open-link", "burn").status_code == 404


def test_invitations_to_nobody_are_refused_and_close_nothing(researcher_client):
    study = a_study(researcher_client)
    answer = save(researcher_client, study, "invitation", people=" \n ")
    assert answer.status_code == 400
    (form,) = [
        channel["form"]
        for channel in answer.context["channels"]
        if channel["platform"].name == "invitation"
    ]
    assert form.has_error("people", code="required")
    assert not study.channels.exists()
    assert Client().get(f"/s/{study.pk}/").status_code == 200


def test_a_way_that_is_being_prepared_leaves_the_open_link_open(researcher_client):
    study = a_study(researcher_client)
    save(researcher_client, study, "prolific", description="Compare.")
    assert states(researcher_client, study)["prolific"] == ChannelState.NOT_READY
    assert Client().get(f"/s/{study.pk}/").status_code == 200
    Channel.objects.update(external_id="s1")
    assert Client().get(f"/s/{study.pk}/").status_code == 404
    assert states(researcher_client, study)["open-link"] == ChannelState.CLOSED


def test_that_the_open_link_closed_is_said_when_it_happens(researcher_client):
    study = a_study(researcher_client)
    save(researcher_client, study, "invitation", people="Ann\nBob")
    response = look(researcher_client, study)
    assert "open_link_closed" in codes_on(response)
    (channel,) = response.context["open_channels"]
    assert (channel.platform.name, numbers_in(channel.sentence)) == ("invitation", {"2"})
    save(researcher_client, study, "open-link")
    assert Client().get(f"/s/{study.pk}/").status_code == 200


def test_who_can_enter_is_said_of_a_draft_too(researcher_client):
    study = make_study(instances=1, member=researcher_client.researcher)
    assert 'data-status="draft"' in page(researcher_client, study)
    assert open_channels(researcher_client, study) == ["open-link"]


def test_only_a_way_that_is_ready_has_a_link_to_copy(researcher_client):
    study = a_study(researcher_client)
    before = page(researcher_client, study)
    for name in ("prolific", "mturk", "panel", "invitation"):
        assert f"/via/{name}/" not in before
    assert f'http://testserver/s/{study.pk}/"' in before
    assert list(states(researcher_client, study).values()).count(ChannelState.NOT_SET_UP) == 4
    channel = panel(study)
    assert f'/s/{study.pk}/via/panel/"' in page(researcher_client, study)
    assert "?pid=ID" in page(researcher_client, study)
    close_channel(channel=channel)
    assert "/via/panel/" not in page(researcher_client, study)


def test_invitations_have_a_link_each_and_none_for_all(researcher_client):
    study = a_study(researcher_client)
    save(researcher_client, study, "invitation", people="Ann")
    html = page(researcher_client, study)
    channel = study.channels.get()
    (link,) = [token for _, token in invitations(channel)]
    assert html.count("/via/invitation/") == 1
    assert f"/via/invitation/?invitation={link.replace(':', '%3A')}" in html
    close_channel(channel=channel)
    assert "/via/invitation/" not in page(researcher_client, study)


def test_what_is_not_on_prolific_yet_lets_nobody_in():
    study = make_open_study(instances=1)
    channel = Channel.objects.create(study=study, provider="prolific")
    with refused("channel_not_ready"):
        give_consent(
            study=study,
            entrant=Entrant(
                provider="prolific", external_id="eve", submission_id="eve", channel=channel
            ),
        )
    assert not Participation.objects.exists()


def test_a_hit_that_somebody_makes_themselves_has_its_link(researcher_client):
    study = a_study(researcher_client)
    save(researcher_client, study, "mturk", description="Compare notes.", hours_open="72")
    assert "/via/mturk/" in page(researcher_client, study)
    kept = get_platform("mturk").privacy_notice(study.channels.get())
    assert kept.in_any_case == ""  # no key is there to ask the platform with


def test_every_platform_says_who_can_enter():
    study = make_study(instances=1)
    for name, platform in platforms().items():
        assert platform.audience(Channel(study=study, provider=name))


def test_the_link_for_annotators_is_shown_only_where_it_leads_in(researcher_client):
    study = a_study(researcher_client)
    address = reverse("recruitment:launch", args=[study.pk])
    link = f'{reverse("recruitment:welcome", args=[study.pk])}"'
    assert link in researcher_client.get(address).content.decode()
    channel = panel(study)
    assert link not in researcher_client.get(address).content.decode()
    reopen_channel(channel=channel)
    assert [status.platform.name for status in channel_statuses(study) if status.is_open] == [
        "panel"
    ]
    assert get_platform("panel").missing(channel) == ""


def test_a_prepared_way_that_is_closed_leaves_the_open_link_as_it_was(researcher_client):
    study = a_study(researcher_client)
    Channel.objects.create(study=study, provider="prolific")
    change_state(researcher_client, study, "prolific", "close")
    assert Client().get(f"/s/{study.pk}/").status_code == 200


@pytest.mark.parametrize("became", ["closed", "removed", "not ready"])
def test_an_old_link_in_the_browser_does_not_shut_the_open_one(researcher_client, became):
    study = a_study(researcher_client)
    Channel.objects.create(study=study, provider="open-link")
    channel = panel(study)
    browser = follow(study, "panel", "pid=bob")
    if became == "removed":
        channel.delete()
    elif became == "closed":
        close_channel(channel=channel)
    else:
        Channel.objects.filter(pk=channel.pk).update(provider="invitation")
    browser.enter()
    assert Participation.objects.get().provider == "open-link"


def test_two_presses_are_as_good_as_one(researcher_client):
    study = a_study(researcher_client)
    for verb in ("close", "close", "reopen", "reopen"):
        assert change_state(researcher_client, study, "open-link", verb).status_code == 200
    channel, again = panel(study), Channel.objects.get(provider="panel")
    remove_channel(channel=channel)
    remove_channel(channel=again)
    assert "no_such_channel" in codes_on(change_state(researcher_client, study, "panel", "remove"))


def test_the_open_link_that_is_not_stored_is_neither_reopened_nor_removed_with_an_error(
    researcher_client,
):
    study = a_study(researcher_client)
    for verb in ("reopen", "remove"):
        assert change_state(researcher_client, study, "open-link", verb).status_code == 200
    assert Client().get(f"/s/{study.pk}/").status_code == 200
