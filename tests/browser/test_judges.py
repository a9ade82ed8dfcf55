"""The pages of judges in a browser: with everything that came of them, on wide and narrow screens."""

import pytest
from playwright.sync_api import Page

from annotation.judging.services import start_judging, try_injections, try_judge
from studies.models import Unit
from tests.annotation.judging.scripted import model
from tests.annotation.judging.test_judging import judge_for
from tests.browser.accessibility import check_accessible, check_fits, check_ids, check_legible
from tests.browser.test_generate_select import log_in
from tests.studies.factories import make_open_study
from tiebreak.gateway import Failed, GatewayError

pytestmark = [
    pytest.mark.browser,
    pytest.mark.django_db(transaction=True),
    pytest.mark.xdist_group("browser"),
]
__all__ = ["model"]
PLACES = ("judges", "example-sets", "juries", "synthetic", "perturbed-copies")
PLACES += ("expert-weights", "scores-study")


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
    for action in (try_judge, start_judging, try_injections):
        action(judge=judge)
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
        page.goto(f"{live_server.url}/studies/{judged.pk}/{place}/")
        page.evaluate("document.querySelectorAll('details').forEach(one => one.open = true)")
        for check in (check_accessible, check_fits, check_ids, check_legible):
            check(page)
