"""Who may take part on Prolific: chosen from its list, counted by it, sent with the draft."""

import pytest
from django.urls import reverse

from annotation.models import Participation, Rating
from recruitment.models import Channel, Eligibility
from recruitment.services.eligibility import choose_filters, eligible_people
from recruitment.services.platform_actions import enqueue_action
from recruitment.services.platform_sync import end_rehearsal, transition_platform_study
from tests.confirming import post_confirmed
from tests.pages import codes_on, send
from tests.recruitment.platforms.fake_prolific import FakeProlific
from tests.recruitment.platforms.openapi import check_request
from tests.recruitment.platforms.test_prolific import Participant, work
from tests.refusals import refused
from tests.studies.factories import make_open_study, make_study

pytestmark = [pytest.mark.django_db, pytest.mark.enable_socket]
ENGLISH = {"filter_id": "fluent-languages", "selected_values": ["19"]}
APPROVED = {"filter_id": "approval_rate", "selected_range": {"lower": 95, "upper": 100}}


DESIGN = {
    "instances": 2,
    "comparisons_per_hit": 1,
    "reward": 2,
    "minutes_per_hit": 5,
    "hits_per_annotator": 1,
}


def on_page(researcher_client, fake_prolific, *, make=make_open_study, **values: str) -> Channel:
    """Set the channel up on the page, with a token that is tested."""
    study = make(member=researcher_client.researcher, **DESIGN)
    address = reverse("recruitment:save-channel", args=[study.pk, "prolific"])
    researcher_client.post(
        address,
        {"description": "Compare.", "is_secure": "on", "token": fake_prolific.token, **values},
    )
    return Channel.objects.get(study=study)


def eligibility(channel: Channel) -> str:
    return reverse("recruitment:eligibility", args=[channel.study_id, "prolific"])


def press(researcher_client, channel: Channel, action: str, **values: str):
    address = reverse("recruitment:platform-action", args=[channel.study_id, "prolific", action])
    response = post_confirmed(researcher_client, address, values)
    channel.refresh_from_db()
    return response


def check_all(fake_prolific: FakeProlific) -> None:
    for request in fake_prolific.requests:
        if request.path.startswith("/api/"):
            check_request(request.method, request.path, request.body)


def test_it_works(researcher_client, fake_prolific):
    channel = on_page(
        researcher_client, fake_prolific, devices="desktop", content_warning="sensitive"
    )
    assert not researcher_client.get(eligibility(channel)).context["is_loaded"]
    researcher_client.post(eligibility(channel), {"load": "1"})
    page = researcher_client.get(eligibility(channel))
    assert page.context["people"] == fake_prolific.pool
    assert [one.id for one in page.context["others"]] == ["date-of-birth"]
    form = {
        "filter": ["fluent-languages", "approval_rate"],
        "values:fluent-languages": ["19"],
        "lower:approval_rate": "95",
        "upper:approval_rate": "100",
    }
    send(researcher_client, eligibility(channel), form)
    assert researcher_client.get(eligibility(channel)).context["people"] == fake_prolific.pool // 4
    press(researcher_client, channel, "publish", participants="3")
    (study,) = fake_prolific.studies.values()
    assert study["filters"] == [ENGLISH, APPROVED]
    assert (study["device_compatibility"], study["content_warnings"]) == (
        ["desktop"],
        ["sensitive"],
    )
    check_all(fake_prolific)


def test_the_count_is_unknown_once_the_filters_have_changed(fake_prolific, researcher_client):
    channel = on_page(researcher_client, fake_prolific)
    enqueue_action(channel=channel, action="check-eligibility")
    assert eligible_people(channel) == fake_prolific.pool
    choose_filters(channel=channel, chosen=[ENGLISH])
    assert eligible_people(channel) is None


def test_adding_a_filter_keeps_what_was_selected(fake_prolific, researcher_client):
    channel = on_page(researcher_client, fake_prolific)
    researcher_client.post(eligibility(channel), {"load": "1"})
    form = {"filter": "fluent-languages", "values:fluent-languages": "58", "add": "approval_rate"}
    page = send(researcher_client, eligibility(channel), form, follow=True)
    assert [item["filter"].id for item in page.context["shown"]] == [
        "fluent-languages",
        "approval_rate",
    ]
    form = {"filter": "fluent-languages", "values:fluent-languages": "19", "load": "1"}
    send(researcher_client, eligibility(channel), form)
    channel.refresh_from_db()
    assert channel.settings["filters"] == [ENGLISH]


@pytest.mark.sampled(3)
@pytest.mark.parametrize(
    ("chosen", "code"),
    [
        ({"filter_id": "shoe-size", "selected_values": ["1"]}, "unknown_filter"),
        ({"filter_id": "fluent-languages", "selected_values": ["999"]}, "unknown_choice"),
        ({"filter_id": "approval_rate", "selected_range": {"lower": "101"}}, "bad_range"),
        ({"filter_id": "approval_rate", "selected_range": {"lower": "-1"}}, "bad_range"),
        (
            {"filter_id": "approval_rate", "selected_range": {"lower": "9", "upper": "8"}},
            "bad_range",
        ),
        ({"filter_id": "approval_rate", "selected_range": {"lower": "many"}}, "bad_range"),
        ({"filter_id": "approval_rate", "selected_range": {"lower": "nan"}}, "bad_range"),
        ({"filter_id": "approval_rate", "selected_range": {"lower": "9.5"}}, "bad_range"),
        ({"filter_id": "approval_rate", "selected_range": {}}, "bad_range"),
        ({"filter_id": "date-of-birth", "selected_range": {"lower": "1990"}}, "bad_range"),
        ({"filter_id": "date-of-birth", "selected_range": {"upper": "2020-01-01"}}, "bad_range"),
    ],
)
def test_what_the_platform_does_not_offer_is_refused(
    fake_prolific, researcher_client, chosen, code
):
    channel = on_page(researcher_client, fake_prolific)
    enqueue_action(channel=channel, action="check-eligibility")
    with refused(code):
        choose_filters(channel=channel, chosen=[chosen])
    channel.refresh_from_db()
    assert "filters" not in channel.settings


def test_a_refused_range_stays_on_the_page_with_the_rest(fake_prolific, researcher_client):
    channel = on_page(researcher_client, fake_prolific)
    researcher_client.post(eligibility(channel), {"load": "1"})
    form = {
        "filter": ["fluent-languages", "approval_rate"],
        "values:fluent-languages": "58",
        "lower:approval_rate": "400",
    }
    page = send(researcher_client, eligibility(channel), form)
    assert page.status_code == 400
    assert codes_on(page) == {"bad_range"}
    languages, rate = page.context["shown"]
    assert [key for key, _, is_chosen in languages["choices"] if is_chosen] == ["58"]
    assert rate["lower"] == "400"


def test_a_platform_that_fails_leaves_the_last_count_and_says_so(fake_prolific, researcher_client):
    channel = on_page(researcher_client, fake_prolific)
    researcher_client.post(eligibility(channel), {"load": "1"})
    fake_prolific.fail_next(400)
    researcher_client.post(eligibility(channel), {"load": "1"})
    assert Eligibility.objects.get().people == fake_prolific.pool
    assert researcher_client.get(eligibility(channel)).context["channel"].problem


def test_a_draft_is_updated_and_a_published_study_is_not(fake_prolific, researcher_client):
    channel = on_page(researcher_client, fake_prolific)
    researcher_client.post(eligibility(channel), {"load": "1"})
    press(researcher_client, channel, "publish", participants="3")
    choose_filters(channel=channel, chosen=[ENGLISH])
    press(researcher_client, channel, "update-draft")
    (study,) = fake_prolific.studies.values()
    assert (study["filters"], study["total_available_places"]) == ([ENGLISH], 3)
    assert channel.problem == ""
    press(researcher_client, channel, "start")
    choose_filters(channel=channel, chosen=[])
    press(researcher_client, channel, "update-draft")
    assert channel.problem
    assert study["filters"] == [ENGLISH]
    check_all(fake_prolific)


def test_everything_that_is_missing_is_listed_at_once(researcher_client):
    study = make_study(member=researcher_client.researcher)
    page = researcher_client.get(reverse("recruitment:channels", args=[study.pk]))
    (prolific,) = [one for one in page.context["channels"] if one["platform"].name == "prolific"]
    codes = {need.code for need in prolific["needs"]}
    assert codes >= {
        "no_token",
        "no_description",
        "no_draft",
        "no_reward",
        "no_minutes",
        "no_limit",
        "address_not_public",
    }


def test_the_cost_of_the_suggested_participants_is_shown_with_the_fee(
    researcher_client, fake_prolific
):
    channel = on_page(researcher_client, fake_prolific, fee_percent="25")
    page = researcher_client.get(reverse("recruitment:channels", args=[channel.study_id]))
    (prolific,) = [one for one in page.context["channels"] if one["platform"].name == "prolific"]
    cost, people = prolific["cost"], page.context["people_needed"]
    assert (cost.amount, cost.fees) == (2 * people, people / 2)


class TestRehearsal:
    def drafted(self, researcher_client, fake_prolific) -> Channel:
        channel = on_page(researcher_client, fake_prolific)
        press(researcher_client, channel, "publish", participants="3")
        return channel

    def test_it_works(self, researcher_client, fake_prolific):
        channel = self.drafted(researcher_client, fake_prolific)
        press(researcher_client, channel, "rehearse", email="test@example.org")
        assert channel.problem == ""
        rehearsal = channel.settings["rehearsal"]
        submission = fake_prolific.reserve(rehearsal["study"], rehearsal["participant"])
        browser = Participant(channel.study)
        browser.follow(fake_prolific.start(submission))
        browser.agree()
        assert f"cc={channel.settings['codes']['completed']}" in work(browser, 1).content.decode()
        assert Rating.objects.counted().count() == 1
        transition_platform_study(channel=channel, action="publish")
        assert not Rating.objects.counted().exists()
        participation = Participation.objects.get()
        assert (participation.status, participation.submission.settled_at is None) == (
            "excluded",
            False,
        )
        check_all(fake_prolific)

    def test_the_second_time_needs_no_other_participant(self, researcher_client, fake_prolific):
        channel = self.drafted(researcher_client, fake_prolific)
        press(researcher_client, channel, "rehearse", email="test@example.org")
        press(researcher_client, channel, "rehearse")
        assert (channel.problem, len(fake_prolific.test_participants)) == ("", 1)

    def test_a_workspace_without_it_is_told(self, researcher_client, fake_prolific):
        channel = self.drafted(researcher_client, fake_prolific)
        fake_prolific.has_test_mode = False
        press(researcher_client, channel, "rehearse", email="test@example.org")
        assert channel.problem
        assert "rehearsal" not in channel.settings

    def test_nobody_else_enters_by_the_id_of_another_study(self, researcher_client, fake_prolific):
        channel = self.drafted(researcher_client, fake_prolific)
        press(researcher_client, channel, "rehearse", email="test@example.org")
        address = reverse("recruitment:arrive", args=[channel.study_id, "prolific"])
        query = {"PROLIFIC_PID": "p", "STUDY_ID": "other", "SESSION_ID": "s"}
        assert researcher_client.get(address, query).status_code == 403

    def test_real_participants_stay(self, researcher_client, fake_prolific):
        channel = self.drafted(researcher_client, fake_prolific)
        assert end_rehearsal(channel=channel) == 0

    def test_a_study_that_is_not_open_is_not_rehearsed(self, researcher_client, fake_prolific):
        channel = self.drafted(researcher_client, fake_prolific)
        type(channel.study).objects.update(status="paused")
        press(researcher_client, channel, "rehearse", email="test@example.org")
        assert channel.problem
        assert not fake_prolific.test_participants
