"""What a link, platform or form sends is judged before it becomes an identity, at every door."""

from urllib.parse import parse_qsl, urlencode

import pytest
from django.test import Client
from django.urls import reverse

from annotation.models import Participation, Rater
from jobs.clock import database_now
from metrics.attention import attention_of
from recruitment.identities import is_usable
from recruitment.models import Channel, PlatformEvent
from recruitment.platforms import PlatformReport, SubmissionStatus, get_platform, platforms
from recruitment.services.platform_sync import sync_channel, sync_submission
from tests.pages import codes_on
from tests.studies.factories import make_open_study

pytestmark = pytest.mark.django_db

UNFILLED = [
    *("{{%PROLIFIC_PID%}}", "${id}", "[[ID]]", "{participant}", "<id>", "%ID%", "|*ID*|", "__id__"),
    *("null", "undefined", "None", "NaN", "nil", "test", "ID", "0", "---", ":id", "participant_id"),
]
MALFORMED = [
    "",
    "a" * 151,
    "a\x00b",
    "a\nb",
    "a b",
    "ann\u200b",
    "\u0430nn",
    "\uff41nn",
    "a/b",
    "a&b",
]
# A good link of each platform whose links have IDs, by the parameters that are IDs.
LINKS = {
    "panel": ("pid=p17&visit=v9", ("pid", "visit")),
    "prolific": ("PROLIFIC_PID=p17&STUDY_ID=s1&SESSION_ID=v9", ("PROLIFIC_PID", "SESSION_ID")),
    "mturk": (
        "assignmentId=A17&hitId=H1&workerId=W17&turkSubmitTo=https://www.mturk.com",
        ("assignmentId", "hitId", "workerId"),
    ),
}
PANEL = {"person_parameter": "pid", "submission_parameter": "visit"}
DOORS = [(name, parameter) for name, (_, ids) in LINKS.items() for parameter in ids]


def arrive(channel: Channel, **changes: str):
    address = reverse("recruitment:arrive", args=[channel.study_id, channel.provider])
    query = urlencode({**dict(parse_qsl(LINKS[channel.provider][0])), **changes})
    client = Client()
    return client, client.get(f"{address}?{query}")


@pytest.fixture
def channel(request) -> Channel:
    return Channel.objects.create(
        study=make_open_study(instances=1), provider=request.param, external_id="s1", settings=PANEL
    )


@pytest.mark.parametrize(("channel", "parameter"), DOORS, indirect=["channel"])
def test_a_link_without_an_id_is_refused_for_its_own_reason_and_locks_nobody_out(
    channel, parameter
):
    cases = dict.fromkeys(UNFILLED, "unfilled_link") | dict.fromkeys(MALFORMED, "incomplete_link")
    for value, code in [*cases.items(), (parameter.upper(), "unfilled_link")] * 2:
        client, answer = arrive(channel, **{parameter: value})
        assert (answer.status_code, codes_on(answer)) == (400, {code}), value
        assert not client.cookies, value
    assert not Rater.objects.exists()
    assert not PlatformEvent.objects.exists()
    channel.refresh_from_db()
    assert parameter in channel.link_problem
    assert "link_refused" in {need.code for need in attention_of(channel.study).needs}
    client, answer = arrive(channel)
    assert answer.status_code == 303


@pytest.mark.parametrize("channel", ["panel"], indirect=True)
def test_the_researcher_reads_of_a_refused_link_until_the_settings_are_saved(channel, admin_client):
    arrive(channel, pid="{{id}}")
    page = reverse("recruitment:channels", args=[channel.study_id])
    assert "link_refused" in codes_on(admin_client.get(page))
    assert "{{id}}" not in admin_client.get(page).content.decode()
    admin_client.post(reverse("recruitment:save-channel", args=[channel.study_id, "panel"]), PANEL)
    assert "link_refused" not in codes_on(admin_client.get(page))


@pytest.mark.parametrize("channel", ["panel"], indirect=True)
def test_spaces_around_an_id_are_not_part_of_it(channel):
    client, _ = arrive(channel, pid=" p17 ")
    client.post(f"/s/{channel.study_id}/", {"choice": "agree", "version": "1"})
    assert Rater.objects.get().external_id == "p17"


@pytest.mark.parametrize("channel", ["prolific"], indirect=True)
def test_reported_ids_that_cannot_be_stored_stop_no_sync_and_are_said(channel, monkeypatch):
    def report(name: str) -> PlatformReport:
        return PlatformReport(name, name, "ACTIVE", SubmissionStatus.WORKING)

    bad = [*UNFILLED, *MALFORMED, "x" * 5_000]
    platform = type(get_platform("prolific"))
    reports = [report(name) for name in [*bad, "p17"]]
    monkeypatch.setattr(platform, "submission_reports", lambda *_: reports)
    monkeypatch.setattr(platform, "platform_status", lambda *_: "ACTIVE")
    assert sync_channel(channel=channel, now=database_now()) == 1
    assert str(len(bad)) in channel.sync_problem
    monkeypatch.setattr(platform, "report_on", lambda *_: report("null"))
    assert not sync_submission(channel=channel, submission_id="null")
    assert Participation.objects.get().submission_id == "p17"


def test_the_links_of_every_platform_are_tried():
    signed_by_us = {"invitation", "open-link"}
    assert LINKS.keys() == platforms().keys() - signed_by_us


def test_real_ids_are_usable():
    ids = ["5f1c7d2e8b3a4c0009d1e2f3", "A1B2C3D4E5F6G7", "ann", "101", "lab_07", "a@b.example"]
    assert all(map(is_usable, ids))


@pytest.mark.parametrize(
    ("people", "code"),
    [
        ("Ann\nAnn", "repeated_name"),
        ("Zo\u00eb\nZoe\u0308", "repeated_name"),
        ("Ann\n\uff21nn", "repeated_name"),
        ("Ann\nAnn\u200b", "unusable_name"),
        ("Ann\n" + "a" * 151, "unusable_name"),
    ],
)
def test_a_name_is_invited_once_however_it_is_typed(people, code):
    form = get_platform("invitation").settings_form({"people": people})
    assert [error.code for error in form.errors.as_data()["people"]] == [code]
