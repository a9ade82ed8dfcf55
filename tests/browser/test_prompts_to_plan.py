"""From a table of prompts and a model server to a planned study, by the steps alone."""

from typing import Any

import pytest
from django.contrib.auth.models import User
from playwright.sync_api import Page, expect

from annotation.models import HIT
from studies.models import Generation, SeparabilityScore, Study, System
from tests.browser.pages import numbers
from tests.browser.test_spreadsheet_to_report import Researcher
from tests.tiebreak.gateway.stub_server import MODEL, StubServer

pytestmark = pytest.mark.enable_socket
PROMPTS = "id,prompt,background\n" + "".join(
    f"p{n},What was decided at meeting {n} of the council?,Meeting {n} was about roads and bridges.\n"
    for n in range(1, 9)
)


@pytest.fixture
def stub(settings: Any):
    with StubServer(owner="other") as server:
        here = {"provider": "http", "base_url": server.base_url, "allowed_hosts": [server.host]}
        settings.TIEBREAK_MODEL_SERVERS = {"lab": here}
        yield server


def add_system(ruth: Researcher, name: str, template: str, temperature: str) -> None:
    form = ruth.page.locator("#system form")
    form.get_by_label("Name").fill(name)
    form.get_by_label("Language model").fill(MODEL)
    form.get_by_role("link", name="Answer").click()
    expect(form.get_by_label("Prompt template")).to_have_value("{source}")
    expect(form.get_by_label("Name")).to_have_value(name)
    form.get_by_label("Prompt template").fill(template)
    form.get_by_label("Temperature").fill(temperature)
    with ruth.page.expect_navigation():
        form.get_by_role("button", name="Add the system").click()


def test_from_prompts_to_planned_tasks(live_server: Any, chromium_page: Page, stub: StubServer):
    User.objects.create_user("ruth", password="a long password", is_staff=True)
    page, url = chromium_page, live_server.url
    ruth = Researcher(page, url)
    page.goto(f"{url}/admin/")
    page.get_by_label("Username").fill("ruth")
    page.get_by_label("Password").fill("a long password")
    ruth.press("Log in")
    page.goto(f"{url}/studies/new/?begin=prompts")
    file = {"name": "prompts.csv", "mimeType": "text/csv", "buffer": PROMPTS.encode()}
    page.locator("input[type=file]").set_input_files([file])
    ruth.press("Continue")
    ruth.press("Create study")
    expect(page.locator("#data-heading")).to_have_text(numbers(8))
    study = Study.objects.get()
    ruth.look("prompts-1-data")

    page.get_by_role("link", name="Add a system", exact=True).click()
    form = page.locator("#system form")
    expect(page.locator("#model-names option")).to_have_attribute("value", MODEL)
    expect(page.locator("#system_prompt_template_helptext")).to_contain_text("{field background}")
    ruth.look("prompts-2-form")
    add_system(ruth, "brief", "Answer in one sentence: {source}", "0.9")
    page.get_by_role("link", name="Copy brief").click()
    add_system(ruth, "long", "By {field backgrund}: {source}", "0.9")
    expect(form.locator(".errorlist")).to_contain_text("{field backgrund}")
    ruth.look("prompts-3-refused")
    form.get_by_label("Prompt template").fill("By {field background}: {source}")
    ruth.press("Add the system")
    expect(page.locator("table.systems tbody tr")).to_have_count(2)
    assert System.objects.get(name="long").decoding == {"temperature": 0.9, "max_tokens": 512}
    ruth.look("prompts-4-systems")

    page.locator("[data-step=generate-select] a").click()
    expect(page.locator("#next")).to_have_attribute("data-next", "generate")
    page.get_by_label("Generations per system and instance").fill("2")
    page.get_by_role("button", name="Try long on three instances").click()
    expect(page.get_by_label("Generations per system and instance")).to_have_value("2")
    expect(page.locator("#trial article")).to_have_count(3)
    expect(page.locator("#trial")).to_contain_text("was about roads")
    assert not Generation.objects.exists()
    ruth.look("prompts-5-trial")

    page.get_by_role("button", name="Generate missing texts").click()
    expect(page.locator("#made strong")).to_have_text(numbers(32, 2, 8))
    assert Generation.objects.filter(params__model=MODEL).count() == 32
    expect(page.locator("#next")).to_have_attribute("data-next", "score")
    page.get_by_role("button", name="Score remaining instances").click()
    expect(page.locator("#scored strong")).to_have_text(numbers(8, 8))
    assert SeparabilityScore.objects.count() == 8
    expect(page.locator("#pair-1")).to_be_visible()
    ruth.look("prompts-6-scored")

    page.get_by_label("Instances per pair of systems").fill("4")
    page.get_by_role("button", name="Preview selection").click()
    expect(page.locator("#draw .chart")).to_have_count(1)
    ruth.look("prompts-7-preview")
    page.get_by_role("button", name="Draw instances and plan tasks").click()
    page.get_by_role("button", name="Draw and plan").click()
    expect(page.locator("#plan strong")).to_be_visible()
    assert HIT.objects.filter(study=study).count() == 4
    expect(page.locator("#next")).to_have_attribute("data-next", "")
    expect(page.locator("#draw .chart")).to_have_count(1)
    ruth.look("prompts-8-planned")
