"""A whole HIT inside a platform's frame, from another site, in a browser that stores nothing there."""

import pytest
from playwright.sync_api import Browser, Route, expect

from annotation.models import Participation, Place
from recruitment.models import Channel
from tests.browser.pages import expect_unit
from tests.recruitment.platforms.fake_mturk import MTurkSimulator
from tests.studies.factories import make_open_study

pytestmark = pytest.mark.enable_socket


def test_mturk_from_preview_to_submit_in_a_frame(live_server, settings, browser: Browser):
    study = make_open_study(instances=2, comparisons_per_hit=2, hits_per_annotator=1)
    Channel.objects.create(study=study, provider="mturk", external_id="HIT1")
    entry = f"{live_server.url}/s/{study.pk}/via/mturk/".replace("localhost", "127.0.0.1")
    settings.ALLOWED_HOSTS = ["*"]
    with MTurkSimulator(host="localhost") as platform:
        settings.TIEBREAK_MTURK_ORIGINS = [platform.origin]
        page = browser.new_page()
        complaints: list[str] = []
        page.on("console", lambda line: complaints.append(line.text))
        page.on("pageerror", lambda error: complaints.append(f"Script error: {error}"))
        page.goto(platform.preview_url(entry))
        frame = page.frame_locator("iframe")
        expect(frame.get_by_role("button", name="Begin")).to_be_disabled()
        assert not Participation.objects.exists()

        held: list[Route] = []

        def hold(route: Route) -> None:
            held.append(route)

        page.goto(platform.work_url(entry))
        frame.get_by_role("button", name="I agree").click()
        page.route("**/annotate*.js", hold)
        frame.get_by_role("button", name="Start").click()
        expect_unit(frame, 1)
        frame.get_by_role("radio", name="No preference").check()
        held.pop().continue_()
        page.unroute("**/annotate*.js")
        frame.locator("#next a").click()
        expect_unit(frame, 2)
        frame.get_by_role("radio", name="No preference").focus()
        page.keyboard.press("1")
        page.keyboard.press("Enter")
        frame.get_by_role("button", name="Submit the HIT").click()
        expect(frame.get_by_text("ubmitted")).to_be_visible()
        (sent,) = platform.submitted
        page.close()
    participation = Participation.objects.get()
    assert sent["assignmentId"] == participation.submission_id == "ASSIGNMENT1"
    assert sent["code"] == participation.submission.completion_code
    assert Place.objects.filter(completed_at__isnull=False).count() == 1
    assert not [line for line in complaints if "Content Security Policy" in line]
    assert not [line for line in complaints if line.startswith("Script error")]
