"""Every page that a researcher can open: accessible, readable on any screen, and whole on paper."""

import re
from collections.abc import Callable, Iterable, Iterator, Mapping

import pytest
from django.contrib.auth.models import User
from django.test import Client
from django.urls import get_resolver
from playwright.sync_api import Page

from metrics.results.question_pages import PAGES
from studies.guides import address_of, guide_names
from studies.models import Membership, Study
from tests.architecture.test_urls import address, patterns
from tests.browser.accessibility import (
    check_begins,
    check_contrast,
    check_fits,
    check_follows,
    check_grounds,
    check_ids,
    check_leads,
    check_one_filled,
    check_prints,
    check_rules,
    check_sizes,
    check_stacks,
)
from tests.browser.test_researcher_pages import log_in, with_everything
from tests.studies.factories import make_open_study, make_study

# A menu covers what is below it while it is open.
OPEN_ALL = (
    "() => document.querySelectorAll('details:not(.gear)').forEach(one => { one.open = true; })"
)
# As long as questions are, so that a line that cannot break is wider than a phone.
QUESTION = "Which of the two answers would you rather have received, all things considered?"
# Parts of other pages, and Django's own, of which a server's owner sees raw tables.
PARTS = ("/part/", "/attention/", "/numbers/", "/cost/", "/preview/", "/jsi18n/", "/admin/auth/")


def pages_of(study: Study, client: Client) -> Iterator[str]:
    """The addresses of the study's pages, and of those of no study, which a person can read."""
    people = study.participations.order_by("pk").values_list("public_id", flat=True)[:1]
    values = {
        "participation_id": people,
        "provider": study.channels.values_list("provider", flat=True),
        "slug": [tab.slug for tab in PAGES],
    }
    for name, route, _ in patterns(get_resolver()):
        if route.startswith(("s/", "rate/")) or name.endswith("logout"):
            continue
        for path in (address(one, study.pk) for one in filled(route, values)):
            if any(part in path for part in PARTS):
                continue
            answer = client.get(path)
            if answer.status_code == 200 and b"</html>" in getattr(answer, "content", b""):
                yield path


def filled(route: str, values: Mapping[str, Iterable[str]]) -> list[str]:
    """The route with each value of its parameters of which values are known."""
    routes = [route]
    for name, known in values.items():
        kind = re.compile(rf"<\w+:{name}>")
        routes = (
            [kind.sub(value, one) for one in routes for value in known]
            if kind.search(route)
            else routes
        )
    return routes


@pytest.mark.thorough
@pytest.mark.parametrize("is_open", [True, False], ids=["open", "draft"])
def test_every_page_is_accessible_fits_and_prints(page: Page, live_server, is_open):
    ruth = User.objects.create_superuser("ruth", password="a long password")
    study = with_everything(make_open_study(instances=6)) if is_open else make_study(instances=3)
    Membership.objects.create(study=study, user=ruth)
    study.criteria.update(question=QUESTION)
    client = Client()
    client.force_login(ruth)
    pages = list(pages_of(study, client))
    assert len(pages) > 25
    assert any("/participants/" in path for path in pages) == is_open
    log_in(page, live_server.url)
    faults = [fault for path in pages for fault in faults_of(page, live_server.url + path)]
    assert not faults, "\n".join(faults)


def test_every_guide_fits_and_prints(page: Page, live_server):
    """Guides share one template, so one of them stands for all where a page takes long to check."""
    User.objects.create_superuser("ruth", password="a long password")
    log_in(page, live_server.url)
    faults = faults_of(page, live_server.url + address_of("tutorial"))
    for name in sorted(guide_names()):
        page.goto(f"{live_server.url}{address_of(name)}")
        page.set_viewport_size({"width": 360, "height": 900})
        for check in (check_fits, check_ids, check_prints):
            faults += faults_by(check, page, name)
    assert not faults, "\n".join(faults)


def faults_of(page: Page, url: str) -> list[str]:
    """What is wrong with a page, on wide and narrow screens, light and dark, and on paper."""
    page.emulate_media(media="screen", color_scheme="light")
    page.set_viewport_size({"width": 1440, "height": 900})
    page.goto(url)
    faults = [
        fault for check in (check_leads, check_one_filled) for fault in faults_by(check, page, url)
    ]
    page.evaluate(OPEN_ALL)
    for width in (1440, 360):
        page.set_viewport_size({"width": width, "height": 900})
        for check in (check_rules, check_fits, check_ids, check_sizes):
            faults += faults_by(check, page, f"{url} at {width}")
    faults += faults_by(check_grounds, page, url)
    for check in (check_begins, check_follows, check_stacks):
        faults += faults_by(check, page, f"{url} at 360")
    page.emulate_media(color_scheme="dark")
    page.wait_for_timeout(400)  # Django's links fade from one scheme to the other
    faults += faults_by(check_contrast, page, f"{url}, dark")
    return faults + faults_by(check_prints, page, f"{url} on paper")


def faults_by(check: Callable[[Page], None], page: Page, where: str) -> list[str]:
    try:
        check(page)
    except AssertionError as error:
        return [f"{where}: {str(error).partition(chr(10))[0]}"]
    return []
