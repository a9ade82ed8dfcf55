"""Pages in a platform's frame: one person's own pages in one study, and nothing else."""

import base64
import re
import zlib
from datetime import timedelta
from urllib.parse import urlencode

import pytest
from django.contrib.messages.storage.cookie import CookieStorage
from django.test import Client
from django.urls import reverse
from django.utils import timezone

from annotation.models import Participation
from recruitment.models import Channel
from studies.models import Study
from tests.annotation.annotators import Annotator, form_of
from tests.studies.factories import make_open_study

pytestmark = pytest.mark.django_db

ORIGIN = "https://workersandbox.mturk.com"
AGREE = {"choice": "agree", "version": "1"}


def framed_study(**design) -> Study:
    study = make_open_study(instances=2, comparisons_per_hit=1, **design)
    Channel.objects.create(study=study, provider="mturk", external_id="H1")
    return study


def arrive(study: Study, **changes: str) -> str:
    """The address of the first page in the frame."""
    ids = {"assignmentId": "A1", "hitId": "H1", "workerId": "WORKER7", "turkSubmitTo": ORIGIN}
    link = reverse("recruitment:arrive", args=[study.pk, "mturk"])
    return Client().get(f"{link}?{urlencode(ids | changes)}")["Location"]


def prefix_of(address: str) -> str:
    return re.match(r"/f/[^/]+", address)[0]


@pytest.fixture
def researcher(django_user_model):
    user = django_user_model.objects.create_user("ada", is_staff=True, is_superuser=True)
    browser = Client(enforce_csrf_checks=True)
    browser.user = user
    browser.force_login(user)
    return browser


def test_a_researchers_session_does_nothing_under_a_framed_address(researcher):
    study = framed_study(member=researcher.user)
    word = prefix_of(arrive(study))
    before = Study.objects.values().get(pk=study.pk)
    for path in (
        f"/studies/{study.pk}/launch/close/",
        f"/admin/studies/study/{study.pk}/delete/",
        "/admin/logout/",
        f"/studies/{study.pk}/recruitment/mturk/channel/close/",
        f"/studies/{study.pk}/recruitment/panel/",
    ):
        assert researcher.post(word + path, {"post": "yes"}).status_code == 404, path
    assert Study.objects.values().get(pk=study.pk) == before
    assert study.channels.get().closed_at is None
    assert researcher.get("/admin/").status_code == 200  # still logged in


@pytest.mark.sampled(3)
@pytest.mark.parametrize(
    "path",
    [
        "/",
        "/admin/",
        "/admin/login/",
        "/studies/{study}/recruitment/",
        "/studies/{study}/ledger/",
        "/s/{study}/via/mturk/",
        "/s/{study}/via/mturk/events/",
        "/s/{other}/",
        "/rate/{other}/",
        "/rate/{study}",
        "//admin/",
        "/static/css/base.css",
        "",
    ],
)
def test_every_other_path_under_a_framed_address_does_not_exist(researcher, path):
    study, other = framed_study(member=researcher.user), framed_study()
    word = prefix_of(arrive(study))
    answer = researcher.get(word + path.format(study=study.pk, other=other.pk))
    assert answer.status_code == 404
    assert answer["X-Frame-Options"] == "DENY"
    assert "frame-ancestors 'none'" in answer["Content-Security-Policy"]


def test_no_cookie_is_read_or_written_in_a_frame(researcher):
    """No session, message or participation that this browser has outside of the frame is used."""
    study = framed_study(member=researcher.user)
    Channel.objects.create(study=study, provider="open-link")
    outside = Annotator(study, client=researcher)
    researcher.handler.enforce_csrf_checks = False
    outside.enter()
    researcher.handler.enforce_csrf_checks = True
    researcher.cookies[CookieStorage.cookie_name] = "anything"
    researcher.cookies["csrftoken"] = csrf = "c" * 32
    page = researcher.get(arrive(study))
    assert page.status_code == 200  # the welcome, as to somebody who has no part yet
    assert page.wsgi_request.COOKIES == {}
    assert page.wsgi_request.user.is_anonymous
    assert not page.cookies
    assert csrf not in page.content.decode()
    researcher.post(arrive(study), AGREE)
    platforms = Participation.objects.values_list("provider", flat=True)
    assert sorted(platforms) == ["mturk", "open-link"]


def test_pages_outside_of_a_frame_stay_protected(researcher):
    study = framed_study(member=researcher.user)
    close = f"/studies/{study.pk}/launch/close/"
    assert researcher.post(close).status_code == 403  # no CSRF token
    for address in ("/admin/", f"/s/{study.pk}/", close):
        answer = researcher.get(address)
        assert answer["X-Frame-Options"] == "DENY"
        assert "frame-ancestors 'none'" in answer["Content-Security-Policy"]


def test_a_framed_address_does_not_show_who_it_is():
    word = prefix_of(arrive(framed_study())).removeprefix("/f/")
    raw = base64.urlsafe_b64decode(word + "=" * (-len(word) % 4))
    assert b"WORKER7" not in raw
    for start in range(len(raw)):  # nor compressed and only signed
        with pytest.raises(zlib.error):
            zlib.decompress(raw[start:])
    assert "WORKER7" not in word


def later(monkeypatch, **ahead: float) -> None:
    at = timezone.now() + timedelta(**ahead)
    monkeypatch.setattr("recruitment.framing._now", lambda: int(at.timestamp()))


def test_a_framed_address_that_nobody_used_expires_and_says_what_to_do(monkeypatch):
    study = framed_study(lease_minutes=30)
    address = arrive(study)
    later(monkeypatch, minutes=59)
    assert Client().get(address).status_code == 200
    later(monkeypatch, minutes=61)
    for answer in (Client().get(address), Client().post(address, AGREE)):
        assert answer.status_code == 403
        assert "reload" in answer.content.decode()
        # The message is shown where it arises, which is in the frame.
        assert ORIGIN in answer["Content-Security-Policy"].split("frame-ancestors")[1]
    assert not Participation.objects.exists()


def test_a_long_lease_makes_a_framed_address_last_longer(monkeypatch):
    address = arrive(framed_study(lease_minutes=120))
    later(monkeypatch, minutes=239)
    assert Client().get(address).status_code == 200
    later(monkeypatch, minutes=241)
    assert Client().get(address).status_code == 403


def test_every_page_served_renews_the_address_for_a_day_at_most(monkeypatch):
    study = framed_study()
    browser, address = Client(), arrive(study)
    address = browser.post(address, AGREE)["Location"]
    for minutes in range(50, 24 * 60, 50):
        later(monkeypatch, minutes=minutes)
        page = browser.get(address)
        assert page.status_code == 200
        fresh = re.search(r'action="(/f/[^/]+)/rate/', page.content.decode())[1]
        address = f"{fresh}/rate/{study.pk}/"
    later(monkeypatch, hours=24, minutes=1)
    assert browser.get(address).status_code == 403


def test_a_framed_address_outlives_a_new_secret_key_that_names_the_former(settings):
    study = framed_study()
    address = arrive(study)
    former, settings.SECRET_KEY = settings.SECRET_KEY, "n" * 60
    assert Client().get(address).status_code == 404
    settings.SECRET_KEY_FALLBACKS = [former]
    assert Client().get(address).status_code == 200


def test_framed_pages_tell_no_other_page_their_address():
    assert Client().get(arrive(framed_study()))["Referrer-Policy"] == "no-referrer"


@pytest.mark.parametrize("word", ["x", "é", "gAAAAA", "%00", ".."])
def test_a_made_up_framed_address_is_nobodys(word):
    study = framed_study()
    assert Client().get(f"/f/{word}/s/{study.pk}/").status_code == 404


def test_a_whole_hit_is_done_in_a_frame_without_a_cookie():
    study = framed_study(hits_per_annotator=1)
    browser = Client(enforce_csrf_checks=True)
    address = browser.post(arrive(study), AGREE)["Location"]
    guidelines = f"{prefix_of(address)}/rate/{study.pk}/guidelines/"
    page = browser.get(browser.post(guidelines)["Location"])
    action = re.search(r'action="([^"]+/answer/)"', page.content.decode())[1]
    end = browser.get(browser.post(action, form_of(page).filled())["Location"], follow=True)
    end = end.content.decode()
    assert f'action="{ORIGIN}/mturk/externalSubmit"' in end
    assert not browser.cookies
