"""From two systems without a single generation to planned HITs, in a browser."""

import pytest
from django.contrib.auth.models import User
from playwright.sync_api import Page, expect

from annotation.models import HIT
from studies.models import Generation, Membership, SeparabilityScore
from tests.studies.factories import make_study

pytestmark = [
    pytest.mark.browser,
    pytest.mark.django_db(transaction=True),
    pytest.mark.xdist_group("browser"),
]


def test_from_two_systems_to_planned_hits(live_server, chromium_page: Page):
    ruth = User.objects.create_superuser("ruth", password="a long password")
    study = make_study(instances=12, comparisons_per_hit=2)
    Membership.objects.create(study=study, user=ruth)
    Generation.objects.all().delete()
    page, url = chromium_page, live_server.url
    page.goto(f"{url}/admin/")
    page.get_by_label("Username").fill("ruth")
    page.get_by_label("Password").fill("a long password")
    page.get_by_role("button", name="Log in").click()
    page.goto(f"{url}/admin/studies/study/{study.pk}/change/")
    page.get_by_role("link", name="Choosing instances").click()

    page.get_by_label("generations each (K)").fill("3")
    page.get_by_role("button", name="Sample what is missing").click()
    expect(page.get_by_text("72 of 72")).to_be_visible()
    assert Generation.objects.count() == 72

    page.get_by_role("button", name="Score what is not scored").click()
    expect(page.get_by_text("12 of 12")).to_be_visible()
    assert SeparabilityScore.objects.count() == 12
    expect(page.get_by_role("heading", name="12 instances scored")).to_be_visible()
    expect(page.get_by_role("img").first).to_be_visible()
    page.get_by_role("link", name="Does δ depend on").click()
    expect(page.get_by_text("K = 2 of 3")).to_be_visible()

    page.get_by_label("Instances per pair of systems").fill("5")
    page.get_by_label("Design").select_option("top")
    page.get_by_role("button", name="See what it would bring").click()
    expect(page.get_by_text("30 ratings")).to_be_visible()
    expect(page.get_by_text("5 of 12")).to_be_visible()
    page.get_by_role("button", name="Draw these and plan the HITs").click()
    expect(page.get_by_text("Drew 5 instances and planned 5 HITs with 15 places.")).to_be_visible()
    assert HIT.objects.count() == 5
    assert study.selected.filter(phase="control").count() == 1
