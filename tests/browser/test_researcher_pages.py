"""The researcher's pages in a browser: accessible, and readable on any screen."""

from dataclasses import asdict
from datetime import timedelta
from decimal import Decimal

import pytest
from django.contrib.auth.models import User
from django.utils import timezone
from playwright.sync_api import Page, expect

from annotation.models import Participation
from metrics.services import refresh_report
from recruitment.models import Channel, Eligibility, Payment, Submission
from recruitment.platforms.base import OfferedFilter
from recruitment.services.dry_runs import DryRunOptions, start_dry_run
from recruitment.simulation.raters import Bot, simulate_raters
from studies.instance_selection.scoring import score_separability
from studies.models import Membership, Study
from tests.browser.accessibility import check_accessible, check_fits, check_ids, check_legible
from tests.studies.factories import make_open_study, make_study

pytestmark = [
    pytest.mark.browser,
    pytest.mark.django_db(transaction=True),
    pytest.mark.xdist_group("browser"),
]
PAGES = ("", "generate-and-select/?robustness=1", "dry-runs/", "recruitment/", "ledger/", "jobs/")


def with_everything(study: Study) -> Study:
    """Add all channels, work that awaits payment and a payment whose outcome is unknown."""
    Study.objects.filter(pk=study.pk).update(reward=Decimal("1.50"), minutes_per_hit=5)
    study.refresh_from_db()
    simulate_raters(study=study, bots=[Bot("a"), Bot("b"), Bot("c")], seed=1)
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


def pages_of(study: Study) -> list[str]:
    """The pages of a study, and those of a participant and a channel if it has any."""
    participation = study.participations.order_by("pk").first()
    if participation is None:
        return list(PAGES)
    person = f"participants/{participation.public_id}/"
    return [*PAGES, person, "recruitment/prolific/eligibility/"]


def log_in(page: Page, url: str) -> None:
    page.goto(f"{url}/admin/login/")
    page.get_by_label("Username").fill("ruth")
    page.get_by_label("Password").fill("a long password")
    page.get_by_role("button", name="Log in").click()


@pytest.mark.parametrize("scheme", ["light", "dark"])
@pytest.mark.parametrize("width", [1440, 360])
@pytest.mark.parametrize("is_full", [True, False])
def test_every_page_is_accessible(chromium_page: Page, live_server, scheme, width, is_full):
    page = chromium_page
    ruth = User.objects.create_superuser("ruth", password="a long password")
    study = with_everything(make_open_study(instances=6)) if is_full else make_study(instances=3)
    Membership.objects.create(study=study, user=ruth)
    page.emulate_media(color_scheme=scheme)
    page.set_viewport_size({"width": width, "height": 900})
    log_in(page, live_server.url)
    for address in pages_of(study):
        page.goto(f"{live_server.url}/studies/{study.pk}/{address}")
        expect(page.get_by_role("heading", level=1)).to_be_visible()
        check_accessible(page)
        check_fits(page)
        check_ids(page)
        check_legible(page)


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
