"""No page breaks its own Content-Security-Policy, and none lacks its icon, in a real browser."""

from collections.abc import Iterator

import pytest
from django.contrib.auth.models import User
from django.test import Client
from django.urls import reverse
from playwright.sync_api import Page

from metrics.results.services import refresh_report
from studies.instance_selection.scoring import score_separability
from studies.models import Membership, Study
from tests.browser.pages import wait_for_htmx
from tests.browser.test_researcher_pages import with_everything
from tests.studies.factories import make_open_study

# Before any script of the page, so that nothing it does is missed.
LISTEN = """
window.violations = [];
document.addEventListener("securitypolicyviolation",
    (e) => window.violations.push(`${e.violatedDirective} ${e.blockedURI} ${e.sourceFile}`));
"""


@pytest.fixture
def watched(chromium_page: Page) -> Iterator[Page]:
    lost: list[str] = []
    chromium_page.add_init_script(LISTEN)
    chromium_page.on(
        "response",
        lambda answer: (
            lost.append(answer.url) if answer.status >= 400 and "icon" in answer.url else None
        ),
    )
    yield chromium_page
    assert lost == []


def at(name: str, *args: object) -> str:
    return reverse(name, args=args)


def visit(page: Page, url: str) -> list[str]:
    page.goto(url)
    wait_for_htmx(page)
    return [f"{url}: {violation}" for violation in page.evaluate("window.violations")]


def log_in(page: Page, server: str) -> User:
    ruth = User.objects.create_superuser("ruth", password="a long password")
    client = Client()
    client.force_login(ruth)
    cookie = client.cookies["sessionid"].value
    page.context.add_cookies([{"name": "sessionid", "value": cookie, "url": server}])
    return ruth


def researcher_pages(study: Study) -> list[str]:
    return [
        at("admin:index"),
        at("admin:studies_study_changelist"),
        at("studies:from-template"),
        at("studies:use-template", study.pk),
        at("admin:studies_study_add"),
        at("annotation:new-study"),
        at("annotation:data", study.pk),
        at("admin:studies_study_delete", study.pk),
        at("admin:studies_dataset_change", study.dataset_id),
        at("admin:auth_user_changelist"),
        at("admin:password_change"),
        "/studies/nothing/",
        at("recruitment:channels", study.pk),
        at("recruitment:ledger", study.pk),
        at("recruitment:preview", study.pk),
        at("metrics:dashboard", study.pk),
        at("metrics:generate-select", study.pk),
    ]


def test_no_page_of_the_researcher_breaks_the_policy(watched, live_server):
    ruth = log_in(watched, live_server.url)
    study = with_everything(make_open_study(instances=2))
    Membership.objects.create(study=study, user=ruth)
    violations = [
        violation
        for path in researcher_pages(study)
        for violation in visit(watched, live_server.url + path)
    ]
    assert violations == []


def test_no_page_of_the_annotator_breaks_the_policy(watched, live_server):
    study = make_open_study(instances=2)
    home = live_server.url + at("recruitment:welcome", study.pk)
    violations = [*visit(watched, live_server.url + at("admin:login")), *visit(watched, home)]
    watched.get_by_role("button").first.click()
    watched.wait_for_load_state()
    for _ in range(2):
        violations += watched.evaluate("window.violations")
        watched.goto(live_server.url + at("annotation:rate", study.pk))
    violations += watched.evaluate("window.violations")
    assert violations == []


def test_a_part_that_htmx_is_waiting_for_is_told_by_our_own_style(watched, live_server):
    ruth = log_in(watched, live_server.url)
    study = make_open_study(instances=2)
    Membership.objects.create(study=study, user=ruth)
    score_separability(study=study)
    refresh_report(study=study)
    for name in ("metrics:dashboard", "metrics:generate-select"):
        assert visit(watched, live_server.url + at(name, study.pk)) == []
        assert watched.evaluate("htmx.config.includeIndicatorStyles") is False
        assert watched.evaluate("document.querySelectorAll('style').length") == 0


def test_the_policy_is_watched_at_all(page: Page, live_server):
    """An inline style is refused, and this file would see it."""
    page.add_init_script(LISTEN)
    page.goto(live_server.url + at("admin:login"))
    page.evaluate("document.body.insertAdjacentHTML('beforeend', '<p style=\"color:red\">x</p>')")
    page.wait_for_function("window.violations.length > 0")
    assert "style-src" in page.evaluate("window.violations[0]")
