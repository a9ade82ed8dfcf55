"""Tables are read without scrolling: those of results on a usual screen, others on a phone as well."""

import pytest
from django.contrib.auth.models import User
from playwright.sync_api import Page

from metrics.demo import load_demo
from metrics.results.question_pages import PAGES
from metrics.results.sections import refresh_section
from metrics.results.services import refresh_report
from studies.models import Membership
from tests.browser.pages import wait_for_htmx
from tests.browser.test_every_page import OPEN_ALL
from tests.browser.test_researcher_pages import log_in, with_everything
from tests.studies.factories import make_open_study, make_study
from tiebreak.report.registry import SECTIONS, on_request

WIDER = """() => [...document.querySelectorAll('main table')].filter(table => {
  const box = table.parentElement;
  return table.checkVisibility() && table.getBoundingClientRect().width > box.clientWidth + 1;
}).map(table => table.closest('[aria-label]')?.ariaLabel ?? table.innerText.slice(0, 60))"""


@pytest.mark.thorough
def test_no_table_of_results_is_wider_than_its_page(page: Page, live_server):
    ruth = User.objects.create_superuser("ruth", password="a long password")
    study = load_demo(owner=ruth, say=lambda _: None)
    refresh_report(study=study)
    sections = [name for name in on_request() if not SECTIONS[name].after_closing]
    for name in sections:
        refresh_section(study=study, name=name)
    criterion = study.criteria.get().name
    paths = [f"results/{one.slug}/" for one in PAGES]
    paths += [f"sections/{criterion}/{name}/" for name in sections]
    log_in(page, live_server.url)
    page.set_viewport_size({"width": 1280, "height": 900})
    wider, tables = [], 0
    for path in [*paths, "licences/"]:
        answer = page.goto(f"{live_server.url}/studies/{study.pk}/{path}")
        assert answer
        assert answer.ok, path
        page.evaluate(OPEN_ALL)
        wait_for_htmx(page)
        tables += page.locator("main table:visible").count()
        wider += [f"{path}: {name}" for name in page.evaluate(WIDER)]
    assert tables > 40
    assert not wider, "\n".join(wider)


def test_no_table_that_is_read_is_wider_than_a_phone(page: Page, live_server):
    ruth = User.objects.create_superuser("ruth", password="a long password")
    study, draft = with_everything(make_open_study(instances=6)), make_study(instances=3)
    for one in (study, draft):
        Membership.objects.create(study=one, user=ruth)
    person = study.participations.order_by("pk").first()
    paths = [f"studies/{study.pk}/{path}" for path in ("log/", "webhooks/", "design/plan/")]
    paths += [f"studies/{study.pk}/participants/{person.public_id}/", "account/tokens/"]
    log_in(page, live_server.url)
    page.set_viewport_size({"width": 360, "height": 740})
    for path in [*paths, f"studies/{draft.pk}/design/data/"]:
        page.goto(f"{live_server.url}/{path}")
        assert page.locator("main table").count(), path
        assert not page.evaluate(WIDER), path
