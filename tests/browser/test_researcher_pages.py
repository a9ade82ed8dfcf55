"""What a researcher's pages do in a browser by themselves, and a study that has everything."""

from dataclasses import asdict
from datetime import timedelta
from decimal import Decimal

import pytest
from django.contrib.auth.models import User
from django.urls import reverse
from django.utils import timezone
from playwright.sync_api import Page, Route, expect

from annotation.models import Participation
from annotation.services.participations import finish_participation
from metrics.results.services import refresh_report
from recruitment.models import Channel, Eligibility, Payment, Submission
from recruitment.platforms.base import OfferedFilter
from recruitment.services.dry_runs import DryRunOptions, start_dry_run
from recruitment.services.payments import note_payment
from recruitment.simulation.raters import Bot, simulate_raters
from studies.instance_selection.scoring import score_separability
from studies.models import Membership, Study
from tests.recruitment.views.test_ledger import complete, paying_study
from tests.studies.factories import make_open_study, make_participation, make_study


def with_everything(study: Study) -> Study:
    """Add all channels, work that awaits payment and a payment whose outcome is unknown."""
    Study.objects.filter(pk=study.pk).update(reward=Decimal("1.50"), minutes_per_hit=5)
    study.refresh_from_db()
    simulate_raters(study=study, bots=[Bot("a", comments=0.5), Bot("b"), Bot("c")], seed=1)
    for name in ("open-link", "panel", "prolific", "mturk", "invitation"):
        Channel.objects.create(study=study, provider=name, settings={"people": "ann\nbob"})
    participation = Participation.objects.first()
    Participation.objects.filter(pk=participation.pk).update(
        created_at=timezone.now() - timedelta(days=1)
    )
    Payment.objects.create(
        participation=participation,
        kind="bonus",
        amount=Decimal("0.70"),
        currency="GBP",
        created_at=timezone.now(),
    )
    on_prolific(participation)
    score_separability(study=study)
    start_dry_run(study=study, options=DryRunOptions(raters=1))
    refresh_report(study=study)
    return study


def on_prolific(participation: Participation) -> None:
    """Let Prolific, with filters to choose from, pay the participant and review their work."""
    channel = Channel.objects.get(study=participation.study_id, provider="prolific")
    channel.secret, channel.settings = "x", {"description": "Compare.", "fee_percent": "33.3"}
    channel.settings["filters"] = [
        {"filter_id": "languages", "selected_values": ["1"]},
        {"filter_id": "rate", "selected_range": {"lower": 95}},
    ]
    channel.save()
    offered = [
        OfferedFilter("languages", "Fluent languages", "Which?", {"1": "English", "2": "Spanish"}),
        OfferedFilter("rate", "Approval rate", low="0", high="100"),
        OfferedFilter("born", "Date of birth", low="1900-01-01", high="2010-01-01", is_date=True),
    ]
    Eligibility.objects.create(
        channel=channel,
        offered=[asdict(one) for one in offered],
        people=1234,
        counted_for=channel.settings["filters"],
        asked_at=timezone.now(),
    )
    Submission.objects.filter(participation=participation).update(
        channel=channel, platform_status="AWAITING REVIEW"
    )


def log_in(page: Page, url: str) -> None:
    page.goto(f"{url}/admin/login/")
    page.get_by_label("Username").fill("ruth")
    page.get_by_label("Password").fill("a long password")
    page.get_by_role("button", name="Log in").click()


def test_a_page_that_waits_for_a_platform_reloads_by_itself(chromium_page: Page, live_server):
    page = chromium_page
    ruth = User.objects.create_superuser("ruth", password="a long password")
    study = make_study(instances=1)
    Membership.objects.create(study=study, user=ruth)
    channel = Channel.objects.create(
        study=study, provider="prolific", pending="sync", pending_at=timezone.now()
    )
    log_in(page, live_server.url)
    page.goto(f"{live_server.url}/studies/{study.pk}/recruitment/")
    expect(page.locator("html")).to_have_attribute("data-reload-seconds", "3")
    Channel.objects.filter(pk=channel.pk).update(pending="")
    expect(page.locator("html")).not_to_have_attribute("data-reload-seconds", "3")


@pytest.mark.parametrize("width", [360, 1440])
def test_djangos_pages_look_like_all_others(chromium_page: Page, live_server, width):
    page = chromium_page
    ruth = User.objects.create_superuser("ruth", password="a long password")
    log_in(page, live_server.url)
    page.set_viewport_size({"width": width, "height": 900})
    study = make_study(instances=1, member=ruth)
    lists = [f"admin:studies_{name}_changelist" for name in ("study", "dataset")]
    names = ["admin:index", "admin:studies_study_add", "admin:password_change", *lists]
    addresses = [reverse(name) for name in names]
    addresses.append(reverse("admin:studies_study_delete", args=[study.pk]))
    for address in addresses:
        page.goto(live_server.url + address)
        expect(page.locator("header").first).to_be_visible()
        shouted = page.evaluate(
            "[...document.querySelectorAll('body *')].filter((e) =>"
            " getComputedStyle(e).textTransform === 'uppercase').map((e) => e.outerHTML)"
        )
        assert shouted == [], address
        assert page.locator(".submit-row :is(input, button), .verbs button").count() <= 1, address
        account = page.locator(".account")
        assert not account.count() or account.bounding_box()["height"] < 50, address


@pytest.mark.parametrize(("path", "most"), [("results/by-rater/", 80), ("", 80), ("ledger/", 105)])
def test_a_rater_has_two_lines_on_a_phone(chromium_page: Page, live_server, path, most):
    """With two more where people are paid: a button or the pay for an hour, and the code."""
    study = make_open_study(instances=4)
    simulate_raters(study=study, bots=[Bot("a"), Bot("b"), Bot("c")], seed=1)
    refresh_report(study=study)
    ruth = User.objects.create_superuser("ruth", password="a long password")
    Membership.objects.create(study=study, user=ruth)
    page = chromium_page
    log_in(page, live_server.url)
    page.set_viewport_size({"width": 360, "height": 740})
    page.goto(f"{live_server.url}/studies/{study.pk}/{path}")
    rows = page.locator(":is(.raters, .people) tbody tr:not(:has([data-unusual]))")
    heights = rows.evaluate_all("rows => rows.map(row => row.offsetHeight)")
    assert heights
    assert max(heights) < most, heights  # of 24 px each, with the space between rows


def test_sums_and_what_is_said_or_done_about_them_stand_below_each_other(
    chromium_page: Page, live_server
):
    page, ruth = chromium_page, User.objects.create_superuser("ruth", password="a long password")
    study = paying_study(member=ruth, reward=Decimal("20.00"), budget=900)
    for name in ("ann", "bob", "eve"):
        person = make_participation(study, name)
        Participation.objects.filter(pk=person.pk).update(consented_at=timezone.now())
        complete(person, now=timezone.now() + timedelta(minutes=200))
        finish_participation(participation=person)
    note_payment(participation=person, amount=Decimal("20.00"))
    log_in(page, live_server.url)
    page.set_viewport_size({"width": 1440, "height": 900})
    page.goto(f"{live_server.url}/studies/{study.pk}/")
    assert page.locator("#fact-money .n").bounding_box()["height"] < 30  # in one line
    due, first_line = (page.locator(f"#fact-hourly {at}").bounding_box() for at in (".due", ".n"))
    assert due["y"] > first_line["y"] + 10
    page.goto(f"{live_server.url}/studies/{study.pk}/ledger/")
    cell = page.locator('[data-label="Pay"]:has(form)').first
    sum_ends = cell.locator("strong").bounding_box()
    padding = float(cell.evaluate("e => parseFloat(getComputedStyle(e).paddingLeft)"))
    button = cell.locator("button").bounding_box()
    assert abs(button["x"] - cell.bounding_box()["x"] - padding) < 0.5
    assert button["y"] >= sum_ends["y"] + sum_ends["height"]
    page.goto(f"{live_server.url}/studies/{study.pk}/launch/")
    sums = [one.bounding_box() for one in page.locator(".sums > div").all()]
    assert len(sums) == 3
    assert len({box["y"] for box in sums}) == 1


def test_the_price_of_a_draft_arrives_without_moving_its_row(chromium_page: Page, live_server):
    page = chromium_page
    ruth = User.objects.create_superuser("ruth", password="a long password")
    log_in(page, live_server.url)
    study = make_study(instances=2, member=ruth, reward=3, hits_per_annotator=2, minutes_per_hit=5)
    row = page.locator(f'[data-study="{study.pk}"]')
    held: list[Route] = []

    def hold(route: Route) -> None:
        held.append(route)

    page.route("**/cost/**", hold)
    page.goto(f"{live_server.url}/admin/")
    before = row.bounding_box()
    page.wait_for_timeout(300)
    held[0].continue_()
    expect(row.locator("[data-maximum]")).to_be_visible()
    assert row.bounding_box() == before
