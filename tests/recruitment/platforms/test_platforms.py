"""Other platforms: invitations, any panel, and Mechanical Turk's frame."""

import re
from html import unescape
from urllib.parse import urlencode

import pytest
from django.test import Client
from django.urls import reverse
from django.utils.html import strip_tags

from annotation.models import Participation, Place
from recruitment.models import Channel
from recruitment.platforms import Platform, PrivacyNotice, platforms
from recruitment.platforms.base import ADDRESS
from recruitment.platforms.invitation import invitations
from recruitment.platforms.prolific import FINGERPRINT, PROLIFIC_REPORTS
from tests.annotation.annotators import Annotator, form_of
from tests.pages import codes_on, page_of
from tests.studies.factories import make_open_study

pytestmark = pytest.mark.django_db

ORIGIN = "https://workersandbox.mturk.com"


def study_by(provider: str, external_id: str = "", **settings):
    study = make_open_study(instances=3, comparisons_per_hit=1, hits_per_annotator=1)
    channel = Channel.objects.create(
        study=study, provider=provider, settings=settings, external_id=external_id
    )
    return study, channel


def entry(study, provider: str, **parameters: str) -> str:
    address = reverse("recruitment:arrive", args=[study.pk, provider])
    return f"{address}?{urlencode(parameters)}"


def enter(study, address: str) -> Annotator:
    browser = Annotator(study)
    browser.client.get(address)
    return browser.enter()


def test_every_folder_is_a_provider_with_a_name_of_its_own():
    assert set(platforms()) == {"open-link", "invitation", "panel", "prolific", "mturk"}
    assert all(
        isinstance(platform, Platform) and platform.title for platform in platforms().values()
    )


ARRIVALS = {
    "open-link": ({}, {}, []),
    "panel": (
        {"settings": {"person_parameter": "pid", "submission_parameter": "visit"}},
        {"pid": "p-7", "visit": "v-1"},
        ["p-7", "v-1"],
    ),
    "prolific": (
        {"external_id": "S1", "settings": {"is_secure": False}},
        {"PROLIFIC_PID": "P1", "STUDY_ID": "S1", "SESSION_ID": "X1"},
        ["P1", "X1"],
    ),
    "mturk": (
        {"external_id": "H1"},
        {"assignmentId": "A1", "hitId": "H1", "workerId": "W1", "turkSubmitTo": ORIGIN},
        ["W1", "A1"],
    ),
    "invitation": ({"settings": {"people": "Ann"}}, {}, ["Ann", "Ann"]),
}


def words(response) -> str:
    return " ".join(unescape(strip_tags(response.content.decode())).split())


def told(name: str) -> PrivacyNotice:
    """The notice of what is stored about a person who arrives as above."""
    return platforms()[name].privacy_notice(Channel(provider=name, **ARRIVALS[name][0]))


@pytest.mark.parametrize("name", sorted(platforms()))
def test_the_consent_says_what_is_kept_of_who_comes_this_way(name):
    """A new platform needs a notice, and has to be listed above with what is stored."""
    state, parameters, ids = ARRIVALS[name]
    study = make_open_study(instances=1, comparisons_per_hit=1)
    channel = Channel.objects.create(study=study, provider=name, **state)
    if name == "invitation":
        parameters = {"invitation": dict(invitations(channel))["Ann"]}
    browser = Client()
    at = browser.get(entry(study, name, **parameters), follow=True)
    if name == "open-link":
        at = browser.get(f"/s/{study.pk}/")
    page = words(at)
    browser.post(at.request["PATH_INFO"], {"choice": "agree", "version": "1"})
    kept = Participation.objects.get()
    assert told(name).identity in page
    assert told(name).in_any_case in page
    assert not [other for other in ARRIVALS if other != name and told(other).identity in page]
    assert [kept.rater.external_id, kept.submission_id] == ids or name == "open-link"
    assert (ADDRESS in page) == bool(kept.address)
    assert (name == "mturk") == bool(kept.submission.return_params)  # said where the worker's id is


@pytest.mark.parametrize(
    ("settings", "secret", "has_address", "has_fingerprint"),
    [({"is_secure": True}, "", False, True), ({}, "x", False, False), ({}, "", True, False)],
)
def test_what_prolific_keeps_depends_on_how_it_confirms(
    settings, secret, has_address, has_fingerprint
):
    channel = Channel(provider="prolific", settings=settings, secret=secret)
    kept = platforms()["prolific"].privacy_notice(channel)
    assert (ADDRESS in kept.identity) == has_address
    assert (FINGERPRINT in kept.in_any_case) == has_fingerprint


def test_who_declines_is_told_what_the_platform_says_anyway():
    study, _ = study_by("prolific", external_id="S1")
    browser = Client()
    browser.get(entry(study, "prolific", PROLIFIC_PID="P1", STUDY_ID="S1", SESSION_ID="X1"))
    page = browser.post(f"/s/{study.pk}/", {"choice": "decline", "version": "1"})
    assert page_of(page) == "declined"
    assert PROLIFIC_REPORTS in words(page)
    assert not Participation.objects.exists()


def test_an_invitation_is_one_persons_in_whatever_browser():
    study, channel = study_by("invitation", people="Ann\nBob")
    links = dict(invitations(channel))
    first = enter(study, entry(study, "invitation", invitation=links["Ann"]))
    second = enter(study, entry(study, "invitation", invitation=links["Ann"]))
    assert first.participation == second.participation
    assert first.participation.address == ""
    assert form_of(first.here()).hidden["assignment"] == form_of(second.here()).hidden["assignment"]
    assert Place.objects.filter(assignment__isnull=False).count() == 1


@pytest.mark.parametrize("token", ["", "Ann", "Ann:forged", "Eve"])
def test_an_invitation_that_was_not_given_lets_nobody_in(token):
    study, channel = study_by("invitation", people="Ann")
    if token == "Eve":
        other = Channel(study=study, provider="invitation", settings={"people": "Eve"})
        token = dict(invitations(other))["Eve"]
    answer = Client().get(entry(study, "invitation", invitation=token))
    assert answer.status_code == 403
    assert codes_on(answer) == {"uninvited"}
    assert channel.submissions.count() == 0


def test_an_invitation_to_one_study_is_none_to_another():
    study, channel = study_by("invitation", people="Ann")
    other, _ = study_by("invitation", people="Ann")
    token = dict(invitations(channel))["Ann"]
    assert Client().get(entry(other, "invitation", invitation=token)).status_code == 403
    assert Client().get(entry(study, "invitation", invitation=token)).status_code == 303


def test_a_panels_link_and_its_return_link():
    study, _ = study_by(
        "panel",
        person_parameter="pid",
        completed_url="https://panel.example/done?p={person}&c={code}",
        screened_out_url="https://panel.example/out",
        no_consent_url="https://panel.example/no",
    )
    browser = enter(study, entry(study, "panel", pid="p-7"))
    browser.choose()
    end = browser.here().content.decode()
    code = browser.participation.submission.completion_code
    assert f'href="https://panel.example/done?p=p-7&amp;c={code}"' in end
    assert browser.participation.address
    decliner = Client()
    decliner.get(entry(study, "panel", pid="p-8"))
    page = decliner.post(f"/s/{study.pk}/", {"choice": "decline", "version": 1})
    assert "https://panel.example/no" in page.content.decode()
    Participation.objects.update(status="screened_out")
    assert "https://panel.example/out" in browser.here().content.decode()


@pytest.mark.parametrize("pid", ["", "a b", "<script>", "x" * 151, "{code}"])
def test_a_panels_link_without_a_proper_id_is_refused(pid):
    study, _ = study_by("panel", person_parameter="pid")
    answer = Client().get(entry(study, "panel", pid=pid))
    assert answer.status_code == 400
    assert codes_on(answer) in ({"incomplete_link"}, {"unfilled_link"})


def test_another_persons_submission_in_the_same_browser_begins_anew():
    study, _ = study_by("panel", person_parameter="pid")
    browser = enter(study, entry(study, "panel", pid="ann"))
    browser.here()
    enter_again = browser.client.get(entry(study, "panel", pid="bob"))
    assert enter_again.status_code == 303
    browser.enter()
    assert browser.participation.rater.external_id == "bob"
    assert Participation.objects.count() == 2


def mturk(study, **changes: str) -> str:
    parameters = {
        "assignmentId": "A1",
        "hitId": "H1",
        "workerId": "W1",
        "turkSubmitTo": ORIGIN,
        **changes,
    }
    return entry(study, "mturk", **parameters)


def test_a_preview_writes_and_reserves_nothing():
    study, _ = study_by("mturk", external_id="H1")
    answer = Client().get(mturk(study, assignmentId="ASSIGNMENT_ID_NOT_AVAILABLE"))
    assert answer.status_code == 200
    assert "disabled" in answer.content.decode()
    assert ORIGIN in answer["Content-Security-Policy"].split("frame-ancestors")[1]
    assert not answer.cookies
    assert not Participation.objects.exists()
    assert not Place.objects.exclude(assignment=None).exists()


def test_in_the_frame_no_cookie_is_needed_and_the_browser_posts_the_end():
    study, _ = study_by("mturk", external_id="H1")
    browser = Client(enforce_csrf_checks=True)
    arrived = browser.get(mturk(study))
    assert arrived["Location"].startswith("/f/")
    word = arrived["Location"].removesuffix(f"/s/{study.pk}/")

    def get(path: str):
        browser.cookies.clear()  # as a browser that keeps none from frames
        return browser.get(word + path)

    def post(path: str, data: dict[str, str]):
        browser.cookies.clear()
        return browser.post(word + path, data)

    welcome = get(f"/s/{study.pk}/")
    policy = welcome["Content-Security-Policy"].split("frame-ancestors")[1]
    assert ORIGIN in policy
    assert "X-Frame-Options" not in welcome
    post(f"/s/{study.pk}/", {"choice": "agree", "version": "1"})
    post(f"/rate/{study.pk}/guidelines/", {})
    page = get(f"/rate/{study.pk}/")
    action = re.search(r'action="(/f/[^/]+)/rate/[^/]+/answer/"', page.content.decode())
    assert action[1] != word  # renewed by every page
    answered = post(f"/rate/{study.pk}/answer/", form_of(page).filled())
    assert re.fullmatch(rf"/f/[^/]+/rate/{study.pk}/", answered["Location"])
    end = get(f"/rate/{study.pk}/end/").content.decode()
    assert f'action="{ORIGIN}/mturk/externalSubmit"' in end
    assert '<input type="hidden" name="assignmentId" value="A1">' in end
    participation = Participation.objects.get()
    assert (participation.submission_id, participation.rater.external_id) == ("A1", "W1")
    assert f'value="{participation.submission.completion_code}"' in end


def test_the_form_policy_lets_the_end_go_to_the_platform_only():
    study, _ = study_by("mturk", external_id="H1")
    browser = Client()
    word = browser.get(mturk(study))["Location"]
    policy = browser.get(word)["Content-Security-Policy"]
    actions = policy.split("form-action")[1].split(";")[0]
    assert set(actions.split()) == {"'self'", "https://www.mturk.com", ORIGIN}
    outside = browser.get(f"/s/{study.pk}/")["Content-Security-Policy"]
    assert ORIGIN not in outside


@pytest.mark.parametrize(
    "target",
    [
        "https://evil.example",
        f"{ORIGIN}.evil.example",
        "https://workersandbox.mturk.com@evil.example",
        "javascript:alert(1)",
        "//evil.example",
        f"{ORIGIN}/elsewhere",
    ],
)
def test_the_forms_target_is_one_of_a_list_and_never_the_urls(target):
    study, _ = study_by("mturk", external_id="H1")
    answer = Client().get(mturk(study, turkSubmitTo=target))
    assert answer.status_code == 400
    assert not Participation.objects.exists()


def test_a_forged_word_in_the_address_is_nobody():
    study, _ = study_by("mturk", external_id="H1")
    word = Client().get(mturk(study))["Location"].split("/")[2]
    middle = len(word) // 2
    changed = "a" if word[middle] != "a" else "b"
    for forged in (word[:middle] + changed + word[middle + 1 :], "x", word[:middle]):
        assert Client().get(f"/f/{forged}/s/{study.pk}/").status_code == 404
