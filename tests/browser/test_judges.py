"""The pages of judges in a browser: with everything that came of them, on wide and narrow screens."""

import pytest
from playwright.sync_api import Page

from machine_raters.judging.services import check_judge, try_injections, try_judge
from machine_raters.services.machine_raters import (
    create_machine_rater,
    exclude_machine_rater,
    start_machine_rater,
)
from studies.models import Unit
from tests.browser.accessibility import check_accessible, check_fits, check_ids, check_legible
from tests.browser.test_generate_select import log_in
from tests.machine_raters.judging.scripted import model
from tests.machine_raters.judging.test_judging import judge_for
from tests.machine_raters.synthetic.rag import make_rag_study
from tests.machine_raters.synthetic.test_synthetic import judge_of, make
from tests.studies.factories import make_open_study
from tiebreak.gateway import Failed, GatewayError

__all__ = ["model"]
PLACES = ("judges/", "judges/?add=judge", "judges/?add=baseline", "judges/?add=verdicts", "juries/")
PLACES += ("example-sets/", "synthetic/", "perturbed-copies/", "expert-weights/", "scores-study/")
PLACES += ("written-fields/",)
# Prompts and answers with lines that are wider than their box.
CUT = """() => [...document.querySelectorAll("pre")].filter(one =>
    one.clientWidth && one.scrollWidth > one.clientWidth).length"""
# The least gap in pixels between buttons, and between buttons and what follows them.
GAPS = """() => [...document.querySelectorAll("article .inline")].flatMap(one => {
    const box = one.getBoundingClientRect();
    return [...one.parentElement.querySelectorAll(":scope > :is(.inline, .button, details, p)")]
        .map(other => other.getBoundingClientRect())
        .filter(other => other.top >= box.bottom).map(other => other.top - box.bottom);
})"""


@pytest.fixture
def judged(model):
    """Return a study with a judge of which some answers are unreadable and one failed."""

    def reply(request):
        if request.id == "steps":
            return "1. Read both texts. " + "2. Compare them, word by word. " * 20
        if request.id.endswith("ba:1") and "Text 0" in str(request.prompt):
            return Failed(request.id, GatewayError("too_long", "The prompt is too long."))
        return "An essay without an answer. " * 9 if request.id.endswith("ba:1") else "A"

    model(reply)
    study = make_open_study(instances=4, comparisons_per_hit=1, ratings_per_hit=1)
    judge = judge_for(study, writes_steps=True, prompt_price="0.5", answer_price="1.5")
    try_judge(judge=judge)
    start_machine_rater(machine=judge)
    try_injections(judge=judge)
    assert judge.verdicts.count() == 2 * Unit.objects.count() - 1
    return study


@pytest.mark.parametrize(("width", "scheme"), [(1280, "light"), (360, "dark")])
def test_everything_about_a_judge_fits_and_is_accessible(
    chromium_page: Page, live_server, judged, width, scheme
):
    page = chromium_page
    page.emulate_media(color_scheme=scheme)
    page.set_viewport_size({"width": width, "height": 900})
    log_in(page, live_server.url, judged)
    for place in PLACES:
        page.goto(f"{live_server.url}/studies/{judged.pk}/{place}")
        page.evaluate("document.querySelectorAll('details').forEach(one => one.open = true)")
        for check in (check_accessible, check_fits, check_ids, check_legible):
            check(page)


@pytest.mark.parametrize("width", [1280, 360])
def test_prompts_and_answers_are_not_cut(chromium_page: Page, live_server, judged, width):
    page = chromium_page
    page.set_viewport_size({"width": width, "height": 900})
    log_in(page, live_server.url, judged)
    page.goto(f"{live_server.url}/studies/{judged.pk}/judges/")
    page.evaluate("document.querySelectorAll('details').forEach(one => one.open = true)")
    assert page.locator("pre").count() > 10
    assert page.evaluate(CUT) == 0
    assert min(page.evaluate(GAPS), default=6) >= 6


@pytest.fixture
def mistaken(model):
    """Return a study with simple raters and a synthetic set of which some are excluded."""
    study = make_rag_study(protocol="rag-pairs")
    criterion = study.criteria.first()
    kept, excluded = (
        create_machine_rater(
            kind="baseline", study=study, name=name, criterion=criterion, method="random"
        )
        for name in ("chance", "a name of a simple rater that is rather long")
    )
    exclude_machine_rater(machine=excluded, reason="It was to rate another criterion. " * 4)
    made = make(study, model)
    model(lambda request: "A is better")
    check_judge(judge=judge_of(study, "faithfulness"), made=made)
    return study, kept, made


@pytest.mark.parametrize(("width", "scheme"), [(1280, "light"), (360, "dark")])
def test_what_was_made_by_mistake_is_excluded_by_clicks(
    chromium_page: Page, live_server, mistaken, width, scheme
):
    page, (study, kept, made) = chromium_page, mistaken
    page.emulate_media(color_scheme=scheme)
    page.set_viewport_size({"width": width, "height": 900})
    log_in(page, live_server.url, study)
    for place, thing in (("judges", kept), ("synthetic", made)):
        page.goto(f"{live_server.url}/studies/{study.pk}/{place}/")
        assert min(page.evaluate(GAPS), default=6) >= 6
        page.get_by_role("link", name=f"Exclude… {thing}").click()
        for check in (check_accessible, check_fits, check_ids, check_legible):
            check(page)
        page.get_by_label("Reason").fill("It was made with the wrong settings.")
        page.get_by_role("button", name="Exclude").click()
        for check in (check_accessible, check_fits, check_ids, check_legible):
            check(page)
        thing.refresh_from_db()
        assert thing.excluded
        page.get_by_role("button", name=f"Reinstate {thing}").click()
        thing.refresh_from_db()
        assert not thing.excluded
