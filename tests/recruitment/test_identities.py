"""What a link, platform or form sends is judged before it becomes an identity."""

from urllib.parse import parse_qsl, urlencode

import pytest
from django.test import Client
from django.urls import reverse

from annotation.models import Participation, Rater
from metrics.collecting.needs import needs_of
from recruitment.identities import is_usable
from recruitment.models import Channel, PlatformEvent
from recruitment.platforms import PlatformReport, SubmissionStatus, get_platform, platforms
from recruitment.services.channels import save_channel
from recruitment.services.platform_sync import sync_channel, sync_submission
from tests.pages import codes_on
from tests.studies.factories import make_open_study

pytestmark = pytest.mark.django_db

UNFILLED = [
    *("{{%PROLIFIC_PID%}}", "${id}", "[[ID]]", "{participant}", "<id>", "%ID%", "|*ID*|", "__id__"),
    *("null", "undefined", "None", "NaN", "nil", "test", "ID", "0", "---", ":id", "participant_id"),
]
MALFORMED = ["", "a" * 151, "a\x00b", "a\nb", "a b", "ann\u200b", "\u0430nn", "\uff41nn", "a/b"]
# A good link of each platform, and its parameters that are IDs; the others' links are ours.
LINKS = {
    "panel": ("pid=p17&visit=v9", "pid", "visit"),
    "prolific": ("PROLIFIC_PID=p17&STUDY_ID=s1&SESSION_ID=v9", "PROLIFIC_PID", "SESSION_ID"),
    "mturk": (
        "assignmentId=A17&hitId=H1&workerId=W17&turkSubmitTo=https://www.mturk.com",
        *("assignmentId", "hitId", "workerId"),
    ),
}
OTHERS = {"invitation", "open-link"}
PARAMETERS = [(name, one) for name in sorted({*platforms()} - OTHERS) for one in LINKS[name][1:]]


def channel_of(provider: str) -> Channel:
    settings = {"person_parameter": "pid", "submission_parameter": "visit"}
    study = make_open_study(instances=1)
    return Channel.objects.create(
        study=study, provider=provider, external_id="s1", settings=settings
    )


@pytest.mark.sampled(1)
@pytest.mark.parametrize(("provider", "parameter"), PARAMETERS)
def test_a_link_without_an_id_locks_nobody_out_and_the_researcher_is_told(
    admin_client, provider, parameter
):
    channel = channel_of(provider)
    good = dict(parse_qsl(LINKS[provider][0]))
    address = reverse("recruitment:arrive", args=[channel.study_id, provider])
    cases = dict.fromkeys(UNFILLED, "unfilled_link") | dict.fromkeys(MALFORMED, "incomplete_link")
    for value, code in [*cases.items(), (parameter.upper(), "unfilled_link")] * 2:
        client = Client()
        answer = client.get(f"{address}?{urlencode(good | {parameter: value})}")
        assert (answer.status_code, codes_on(answer)) == (400, {code}), value
        assert not client.cookies
    assert [model.objects.count() for model in (Rater, PlatformEvent)] == [0, 0]
    assert "link_refused" in {need.code for need in needs_of(channel.study)}
    page = reverse("recruitment:channels", args=[channel.study_id])
    assert "link_refused" in codes_on(admin_client.get(page))
    save_channel(channel=channel)
    assert "link_refused" not in codes_on(admin_client.get(page))
    spaced = good | {parameter: f" {good[parameter]} "}
    assert Client().get(f"{address}?{urlencode(spaced)}").status_code == 303


def test_a_panel_that_sends_one_visit_for_everybody_locks_nobody_out():
    study = channel_of("panel").study
    for person in ("ann", "bob"):
        client = Client()
        client.get(f"/s/{study.pk}/via/panel/?pid={person}&visit=17")
        page = client.post(f"/s/{study.pk}/", {"choice": "agree", "version": "1"})
        assert page["Location"] == f"/rate/{study.pk}/"
    assert Participation.objects.count() == 2


def test_reported_ids_that_cannot_be_stored_stop_no_sync_and_are_said(monkeypatch):
    channel, bad = channel_of("prolific"), [*UNFILLED, *MALFORMED, "x" * 5_000]
    reports = [
        PlatformReport(name, name, "ACTIVE", SubmissionStatus.WORKING) for name in [*bad, "p17"]
    ]
    platform = type(get_platform("prolific"))
    monkeypatch.setattr(platform, "submission_reports", lambda *_: reports)
    monkeypatch.setattr(platform, "platform_status", lambda *_: "ACTIVE")
    monkeypatch.setattr(platform, "report_on", lambda *_: reports[0])
    assert sync_channel(channel=channel) == 1
    assert str(len(bad)) in channel.sync_problem
    assert not sync_submission(channel=channel, submission_id=bad[0])
    assert Participation.objects.get().submission_id == "p17"


def test_real_ids_are_usable():
    ids = ["5f1c7d2e8b3a4c0009d1e2f3", "A1B2C3D4E5F6G7", "ann", "101", "lab_07", "a@b.example"]
    assert all(map(is_usable, ids))


@pytest.mark.parametrize("again", ["Zo\u00eb", "Zoe\u0308", "\uff3ao\u00eb", " Zo\u00eb\u00a0"])
def test_a_name_is_invited_once_however_it_is_typed(again):
    assert refusals(f"Zo\u00eb\n{again}") == ["repeated_name"]
    assert refusals(f"Ann\n{again}\u200b") == refusals("a" * 151) == ["unusable_name"]


def refusals(people: str) -> list[str | None]:
    form = get_platform("invitation").settings_form({"people": people})
    return [error.code for error in form.errors.as_data()["people"]]
