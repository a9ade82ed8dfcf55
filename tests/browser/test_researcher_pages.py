"""What a researcher's pages do in a browser by themselves, and a study that has everything."""

from datetime import timedelta
from decimal import Decimal

import pytest
from django.contrib.auth.models import User
from django.utils import timezone
from playwright.sync_api import Page, expect

from annotation.models import Participation
from metrics.services import refresh_report
from recruitment.models import Channel, Payment
from recruitment.services.dry_runs import DryRunOptions, start_dry_run
from recruitment.simulation.raters import Bot, simulate_raters
from studies.instance_selection.scoring import score_separability
from studies.models import Membership, Study
from tests.studies.factories import make_study

pytestmark = [
    pytest.mark.browser,
    pytest.mark.django_db(transaction=True),
    pytest.mark.xdist_group("browser"),
]


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
    score_separability(study=study)
    start_dry_run(study=study, options=DryRunOptions(raters=1))
    refresh_report(study=study)
    return study


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
