"""After a refusal, the first error of a step is in sight, and not behind the bar that saves."""

import pytest
from django.contrib.auth.models import User
from playwright.sync_api import Page, expect

from studies.models import Membership, Study
from tests.browser.test_launching import log_in
from tests.studies.factories import make_study

IN_SIGHT = """error => {
  const [it, bar] = [error, document.querySelector(".step .save")].map(x => x.getBoundingClientRect());
  return it.top >= 0 && it.bottom <= bar.top;
}"""
WRONG = {
    "size": {"ratings_per_hit": "", "minutes_per_hit": "-1", "promised_hourly_rate": "-1"},
    "task": {"title": ""},
    "analysis-plan": {"main_criteria": "nobody", "target_width": "7"},
}


@pytest.fixture
def study(page: Page, live_server) -> Study:
    ruth = User.objects.create_superuser("ruth", password="a long password")
    study = make_study(instances=2)
    Membership.objects.create(study=study, user=ruth)
    log_in(page, live_server.url)
    return study


def test_only_what_the_keyboard_reaches_gets_a_ring(page, live_server, study):
    page.goto(f"{live_server.url}/studies/{study.pk}/design/quality/")
    page.keyboard.press("Tab")
    rings = page.evaluate(
        """() => ["h1", "h2", "h4", "div", "section", "a"].map(name => {
          const element = document.createElement(name);
          element.href = "#";
          if (name !== "a") element.tabIndex = -1;
          document.querySelector("main").append(element);
          element.focus();
          const ring = getComputedStyle(element).outlineStyle;
          return document.activeElement === element ? [name, ring] : [name, "no focus"];
        })"""
    )
    assert dict(rings) == {
        **dict.fromkeys(["h1", "h2", "h4", "div", "section"], "none"),
        "a": "solid",
    }


@pytest.mark.parametrize("width", [1440, 360])
def test_each_error_is_above_the_bar_once_its_field_has_the_focus(page, live_server, study, width):
    page.set_viewport_size({"width": width, "height": 900})
    for step, typed in WRONG.items():
        page.goto(f"{live_server.url}/studies/{study.pk}/design/{step}/")
        for name, value in typed.items():
            page.locator(f"#id_{name}").fill(value)
        page.get_by_role("button", name="Save", exact=True).click()
        errors = page.locator(".step .errorlist")
        expect(errors).to_have_count(len(typed))
        assert errors.first.evaluate(IN_SIGHT), step
        for name, error in zip(typed, errors.all(), strict=True):
            page.evaluate("scrollTo(0, 0)")
            page.locator(f"#id_{name}").blur()
            page.locator(f"#id_{name}").focus()
            assert error.evaluate(IN_SIGHT), (step, name)
