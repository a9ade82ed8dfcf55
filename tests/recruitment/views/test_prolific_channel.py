"""Prolific on the recruitment page: it shows the true state there, and tests a new token."""

import re

import pytest
from django.urls import reverse

from recruitment.models import Channel, decrypted
from recruitment.services.channels import ChannelState
from recruitment.services.platform_actions import enqueue_action
from recruitment.services.platform_sync import sync_channel, transition_platform_study
from tests.confirming import post_confirmed
from tests.pages import codes_on
from tests.recruitment.platforms.openapi import check_request
from tests.studies.factories import make_open_study

pytestmark = [pytest.mark.django_db, pytest.mark.enable_socket]


def a_study(researcher_client):
    return make_open_study(
        instances=2,
        reward=2,
        minutes_per_hit=5,
        hits_per_annotator=1,
        member=researcher_client.researcher,
    )


def save(researcher_client, study, **values: str):
    address = reverse("recruitment:save-channel", args=[study.pk, "prolific"])
    return researcher_client.post(
        address, {"description": "Compare.", "is_secure": "on", **values}, follow=True
    )


def state(researcher_client, study) -> ChannelState:
    page = researcher_client.get(reverse("recruitment:channels", args=[study.pk])).content.decode()
    section = page[page.index('id="channel-prolific"') :]
    return ChannelState(re.search(r"<strong>([^<]+)\.</strong>", section)[1])


def buttons(researcher_client, study) -> str:
    page = researcher_client.get(reverse("recruitment:channels", args=[study.pk])).content.decode()
    return page[page.index('id="channel-prolific"') :]


def test_a_study_that_is_unpublished_there_is_not_said_to_be_open(fake_prolific, researcher_client):
    study = a_study(researcher_client)
    save(researcher_client, study, token=fake_prolific.token)
    assert state(researcher_client, study) == ChannelState.NOT_READY
    channel = Channel.objects.get()
    address = reverse("recruitment:platform-action", args=[study.pk, "prolific", "publish"])
    post_confirmed(researcher_client, address, {"participants": "3"})
    channel.refresh_from_db()
    assert (
        channel.external_status
        == fake_prolific.studies[channel.external_id]["status"]
        == "UNPUBLISHED"
    )
    assert state(researcher_client, study) == ChannelState.NOT_SENDING
    assert '/start/" data-first class="primary">' in buttons(researcher_client, study)
    enqueue_action(channel=channel, action="start")
    assert fake_prolific.studies[channel.external_id]["status"] == "ACTIVE"
    sync_channel(channel=Channel.objects.get())
    assert state(researcher_client, study) == ChannelState.OPEN
    assert '/start/">' in buttons(researcher_client, study)
    transition_platform_study(channel=Channel.objects.get(), action="pause")
    assert state(researcher_client, study) == ChannelState.NOT_SENDING


def test_what_was_done_on_the_platform_itself_is_said_after_the_next_round(
    fake_prolific, researcher_client
):
    study = a_study(researcher_client)
    save(researcher_client, study, token=fake_prolific.token)
    post_confirmed(
        researcher_client,
        reverse("recruitment:platform-action", args=[study.pk, "prolific", "publish"]),
        {"participants": "3"},
    )
    channel = Channel.objects.get()
    enqueue_action(channel=channel, action="start")
    for there, shown in (
        ("COMPLETED", ChannelState.NOT_SENDING),
        ("ACTIVE", ChannelState.OPEN),
        ("NEW WORD", ChannelState.OPEN),
    ):
        fake_prolific.studies[channel.external_id]["status"] = there
        sync_channel(channel=Channel.objects.get())
        assert state(researcher_client, study) == shown


def test_a_token_is_tried_when_it_is_saved(fake_prolific, researcher_client):
    study = a_study(researcher_client)
    assert save(researcher_client, study, token=fake_prolific.token).status_code == 200
    assert decrypted(Channel.objects.get().secret) == fake_prolific.token
    (request,) = fake_prolific.requests
    check_request(request.method, request.path, request.body)


@pytest.mark.parametrize(
    ("token", "code"),
    [("wrong", "platform_token_refused"), ("not\u00a0a\u00a0token", "bad_token")],
)
def test_a_refused_token_is_an_error_at_its_field_and_keeps_the_rest(
    fake_prolific, researcher_client, token, code
):
    study = a_study(researcher_client)
    answer = save(researcher_client, study, token=token, description="My words.", workspace="w7")
    page = answer.content.decode()
    assert answer.status_code == 400
    assert 'aria-describedby="token-error-prolific"' in page
    shown = re.search(r'id="token-error-prolific"[^>]* role="alert" data-code="(\w+)">[^<]+<', page)
    assert shown[1] == code
    assert "My words." in page
    assert 'value="w7"' in page
    assert token not in page
    assert not Channel.objects.exists()


def test_a_refused_token_leaves_the_stored_one(fake_prolific, researcher_client):
    study = a_study(researcher_client)
    save(researcher_client, study, token=fake_prolific.token)
    assert save(researcher_client, study, token="wrong").status_code == 400
    assert decrypted(Channel.objects.get().secret) == fake_prolific.token


def test_a_token_that_cannot_be_tried_is_saved_and_that_is_said(researcher_client, settings):
    settings.TIEBREAK_PROLIFIC_URL = "http://127.0.0.1:9/api/v1/"
    study = a_study(researcher_client)
    assert codes_on(save(researcher_client, study, token="anything")) == {"platform_unreachable"}
    assert decrypted(Channel.objects.get().secret) == "anything"


def test_a_platform_with_a_fault_of_its_own_keeps_nobody_from_saving(
    fake_prolific, researcher_client
):
    study = a_study(researcher_client)
    fake_prolific.fail_next(500)
    assert codes_on(save(researcher_client, study, token=fake_prolific.token)) == {
        "platform_broken"
    }
    assert len(fake_prolific.requests) == 1  # and the page did not wait for more
