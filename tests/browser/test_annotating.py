"""The annotator's page in a real browser: keys, saving, a line that breaks, and its looks."""

import re
from collections.abc import Callable
from time import sleep
from typing import Any

import pytest
from django.contrib.auth.models import User
from playwright.sync_api import BrowserContext, Page, Route, expect

from annotation.models import Participation, Rating
from studies.models import Generation, Instance, Study
from tests.annotation.tallies import recount, stored_tallies
from tests.browser.accessibility import check_accessible
from tests.browser.pages import expect_status, expect_unit
from tests.studies.factories import make_open_study

SOURCE = "\n".join(f"Mara: line {n} of a long talk about a greenhouse." for n in range(40))
TEXT_A = "Mara moved the tomatoes to the kitchen.\n\nIvo brings a heater."
TEXT_B = "Mara moved all of the plants to the kitchen.\n\nIvo will call."


def enter(page: Page, live_server: Any, study: Study) -> None:
    page.goto(f"{live_server.url}/s/{study.pk}/")
    page.get_by_role("button", name="I agree").click()
    page.get_by_role("button", name="Start").click()
    at_unit(page, 1)


def route_answers(page: Page, study: Study, handler: Callable[[Route], None]) -> None:
    """Before the page is opened: a request that leaves at once may still pass a later one."""
    page.route(f"**/rate/{study.pk}/answer/", handler)


def at_unit(page: Page, number: int) -> None:
    expect_unit(page, number)
    page.wait_for_load_state("load")


def with_texts(study: Study) -> Study:
    Instance.objects.update(source=SOURCE)
    for system, text in zip(study.systems.all(), (TEXT_A, TEXT_B), strict=True):
        Generation.objects.filter(system=system).update(text=text)
    return study


@pytest.mark.parametrize("label", ["", "Summary 1"])
def test_guidelines_that_name_sides_say_which_text_it_is_where_texts_are_stacked(
    page: Page, live_server, label
):
    named = "*Left:* short. *Right:* shorter."
    study = make_open_study(instances=1, guidelines=named, left_label=label, right_label=label)
    page.goto(f"{live_server.url}/s/{study.pk}/")
    page.get_by_role("button", name="I agree").click()
    page.get_by_role("button", name="Start").wait_for()
    for width in (1440, 360):
        page.set_viewport_size({"width": width, "height": 740})
        is_stacked = width == 360 and not label
        expect(page.locator("[data-sides]")).to_be_visible(visible=is_stacked)


def test_it_works(chromium_page: Page, live_server):
    page, study = chromium_page, make_open_study(instances=1, ratings_per_hit=1)
    enter(page, live_server, study)
    expect_status(page, "unanswered")
    page.get_by_role("radio", name="Left is better").check()
    expect_status(page, "saved")
    expect(page.locator("#progress progress")).to_have_attribute("value", "1")
    rating = Rating.objects.get()
    assert rating.layout == "side_by_side"
    assert rating.duration_ms is not None
    assert 0 < rating.duration_ms < 60_000
    page.get_by_role("link", name="Next").click()
    at_unit(page, 2)


def test_a_hit_can_be_completed_with_keys_alone(chromium_page: Page, live_server):
    page, study = chromium_page, make_open_study(instances=1, ratings_per_hit=1)
    enter(page, live_server, study)
    for number, (choice, go_on) in enumerate(zip("12321", ["n", "Enter"] * 3, strict=False), 1):
        at_unit(page, number)
        page.keyboard.press(choice)
        page.keyboard.press(go_on)  # at once: it waits until the answer is saved
    expect(page.locator("[data-completed]")).to_be_visible()
    code = Participation.objects.get().submission.completion_code
    expect(page.locator("#completion-code")).to_have_text(code)
    assert Rating.objects.counted().count() == 5
    assert Rating.objects.filter(label="0").count() == 2
    assert stored_tallies(study=study) == +recount(study=study)


PRESS = """([key, code]) => document.body.dispatchEvent(
    new KeyboardEvent("keydown", {key, code, bubbles: true}))"""


@pytest.mark.parametrize(
    "keys", [[("&", "Digit1"), ("т", "KeyN")], [("1", "Numpad1"), ("n", "KeyL")]]
)
def test_keys_count_by_their_sign_or_by_their_place(chromium_page: Page, live_server, keys):
    page, study = chromium_page, make_open_study(instances=1)
    enter(page, live_server, study)
    page.evaluate(PRESS, keys[0])
    expect(page.get_by_role("radio", name="Left is better")).to_be_checked()
    page.evaluate(PRESS, keys[1])
    at_unit(page, 2)


def test_judged_texts_are_not_translated_and_a_translated_page_is_flagged(
    chromium_page: Page, live_server
):
    page, study = chromium_page, make_open_study(instances=1)
    enter(page, live_server, study)
    expect(page.locator("article .text:not([translate=no])")).to_have_count(0)
    page.evaluate("document.documentElement.classList.add('translated-ltr')")
    page.keyboard.press("1")
    expect_status(page, "saved")
    assert Rating.objects.get().layout == "side_by_side_translated"


def test_undo_goes_back_and_a_correction_supersedes(chromium_page: Page, live_server):
    page, study = chromium_page, make_open_study(instances=1)
    enter(page, live_server, study)
    page.keyboard.press("1")
    page.keyboard.press("n")
    at_unit(page, 2)
    page.keyboard.press("u")
    at_unit(page, 1)
    expect(page.get_by_role("radio", name="Left is better")).to_be_checked()
    expect_status(page, "saved")
    page.keyboard.press("3")
    expect(page.locator("#status .saved")).to_be_visible()
    page.keyboard.press("n")
    at_unit(page, 2)
    assert Rating.objects.filter(superseded=True).count() == 1
    assert Rating.objects.filter(superseded=False).count() == 1


def test_undo_goes_back_to_the_task_before(chromium_page: Page, live_server):
    page, study = chromium_page, make_open_study(instances=2, comparisons_per_hit=1)
    enter(page, live_server, study)
    expect(page.locator("#previous")).to_have_count(0)
    page.keyboard.press("1")
    page.keyboard.press("n")
    expect(page.locator(".task")).to_contain_text("Task 2")
    page.wait_for_load_state()  # the shortcuts are those of a script
    page.keyboard.press("u")
    expect(page.locator(".task")).to_contain_text("Task 1")
    page.wait_for_load_state()
    expect(page.get_by_role("radio", name="Left is better")).to_be_checked()
    page.keyboard.press("3")
    expect(page.locator("#status .saved")).to_be_visible()
    page.keyboard.press("n")
    expect(page.locator(".task")).to_contain_text("Task 2")
    assert list(Rating.objects.filter(superseded=True).values_list("position", flat=True)) == [1]
    assert Rating.objects.filter(superseded=False).count() == 1


@pytest.mark.parametrize("width", [1440, 1000, 360])
def test_the_way_on_is_at_one_place_on_every_page(chromium_page: Page, live_server, width):
    page, study = chromium_page, make_open_study(instances=2, comparisons_per_hit=1)
    page.set_viewport_size({"width": width, "height": 800})
    places = set()

    def look() -> None:
        box = page.locator(".next :is(a, button)").bounding_box()
        assert box is not None
        places.add((round(box["x"] + box["width"]), round(box["y"] + box["height"])))

    page.goto(f"{live_server.url}/s/{study.pk}/")
    page.get_by_role("button", name="I agree").click()
    page.get_by_role("button", name="Start").wait_for()
    look()
    page.get_by_role("button", name="Start").click()
    for _ in range(2):
        at_unit(page, 1)
        look()
        page.locator("input[type=radio]").first.check(force=True)
        expect_status(page, "saved")
        look()
        page.get_by_role("link", name="Next").click()
    assert len(places) == 1


@pytest.mark.parametrize("scheme", ["light", "dark"])
@pytest.mark.parametrize("width", [1440, 360])
def test_the_way_on_looks_like_one_once_all_is_answered(
    chromium_page: Page, live_server, width, scheme
):
    page = chromium_page
    page.set_viewport_size({"width": width, "height": 740})
    page.emulate_media(color_scheme=scheme)
    enter(page, live_server, with_texts(make_open_study(instances=1, ratings_per_hit=1)))
    ground = "getComputedStyle(document.querySelector('#next > *')).backgroundColor"
    before = page.evaluate(ground)
    check_accessible(page)
    page.get_by_role("radio").first.check()
    expect_status(page, "saved")
    assert before == "rgba(0, 0, 0, 0)" != page.evaluate(ground)


def test_reload_the_back_button_and_a_second_tab_do_no_harm(
    chromium_page: Page, context: BrowserContext, live_server
):
    page, study = chromium_page, make_open_study(instances=3)
    enter(page, live_server, study)
    page.keyboard.press("1")
    page.keyboard.press("n")
    at_unit(page, 2)
    page.reload()
    at_unit(page, 2)
    page.go_back()
    at_unit(page, 2)
    tab = context.new_page()
    tab.goto(page.url)
    at_unit(tab, 2)
    tab.keyboard.press("2")
    expect_status(tab, "saved")
    page.keyboard.press("2")
    expect_status(page, "saved")
    assert Rating.objects.count() == 2
    assert study.places.filter(lease_until__isnull=False).count() == 1


def test_a_choice_made_without_a_line_is_kept_and_sent_when_it_is_back(
    chromium_page: Page, context: BrowserContext, live_server
):
    page, study = chromium_page, make_open_study(instances=1)
    enter(page, live_server, study)
    context.set_offline(True)
    page.keyboard.press("1")
    expect_status(page, "offline")
    page.keyboard.press("3")
    expect_status(page, "offline")
    expect(page.get_by_role("radio", name="Right is better")).to_be_checked()
    assert not Rating.objects.exists()
    context.set_offline(False)
    expect_status(page, "saved")
    rating = Rating.objects.get()
    assert rating.label == ("1" if rating.side_a == "left" else "-1")


def test_a_choice_that_was_not_saved_survives_a_reload(
    chromium_page: Page, context: BrowserContext, live_server
):
    page, study = chromium_page, make_open_study(instances=1)
    route_answers(page, study, lambda route: route.abort("internetdisconnected"))
    enter(page, live_server, study)
    page.on("dialog", lambda dialog: dialog.accept())
    page.keyboard.press("3")
    expect_status(page, "unknown")
    page.unroute_all()
    page.reload()
    expect(page.get_by_role("radio", name="Right is better")).to_be_checked()
    expect_status(page, "saved")
    assert Rating.objects.count() == 1
    kept_back = page.evaluate("Object.keys(sessionStorage).filter((k) => k.startsWith('unsent'))")
    assert kept_back == []


@pytest.mark.parametrize("script", ["htmx", "annotate"])
def test_an_answer_chosen_before_the_scripts_arrived_is_saved(
    chromium_page: Page, live_server, script
):
    page, study = chromium_page, make_open_study(instances=1)
    enter(page, live_server, study)
    held: list[Route] = []

    def hold(route: Route) -> None:
        held.append(route)

    page.route(f"**/{script}*.js", hold)
    page.reload(wait_until="commit")
    page.get_by_role("radio", name="Right is better").check()
    assert held
    assert not Rating.objects.exists()
    for route in held:
        route.continue_()
    expect_status(page, "saved")
    expect(page.get_by_role("radio", name="Right is better")).to_be_checked()
    rating = Rating.objects.get()
    assert rating.label == ("1" if rating.side_a == "left" else "-1")


def test_an_answer_whose_confirmation_was_lost_is_one_rating(chromium_page: Page, live_server):
    page, study = chromium_page, make_open_study(instances=1)
    sent: list[str] = []

    def lose_the_first_response(route):
        sent.append(route.request.post_data)
        if len(sent) == 1:
            route.fetch()
            route.abort("internetdisconnected")
        else:
            route.continue_()

    route_answers(page, study, lose_the_first_response)
    enter(page, live_server, study)
    page.keyboard.press("1")
    expect(page.locator("#status .saved")).to_be_visible()
    assert len(sent) == 2
    keys = {pair for data in sent for pair in data.split("&") if pair.startswith("client_key")}
    assert len(keys) == 1
    assert Rating.objects.count() == 1


def with_two_questions(study: Study) -> Study:
    study.criteria.create(name="fluency", question="How fluent?", scale="ordinal:1..3", position=1)
    return study


def test_after_a_broken_line_the_page_says_what_the_server_holds(
    chromium_page: Page, context: BrowserContext, live_server
):
    page, study = chromium_page, with_two_questions(make_open_study(instances=1))

    def hold_the_first_question(route: Route) -> None:
        response = route.fetch()
        if "preference" in (route.request.post_data or ""):
            sleep(0.7)  # its confirmation would come after the other's
        route.fulfill(response=response)

    enter(page, live_server, study)
    context.set_offline(True)
    page.keyboard.press("1")
    page.keyboard.press("2")
    expect_status(page, "offline")
    waiting = "(element) => getComputedStyle(element, '::after').content"
    assert "2" in page.locator("#progress").evaluate(waiting)
    assert not Rating.objects.exists()
    route_answers(page, study, hold_the_first_question)
    context.set_offline(False)
    expect(page.get_by_role("link", name="Next")).to_be_visible()
    page.wait_for_timeout(1000)
    expect_status(page, "saved")
    expect(page.locator("#progress progress")).to_have_attribute("value", "1")
    assert Rating.objects.filter(superseded=False).count() == 2


def test_saved_is_not_said_while_another_answer_is_on_its_way(
    chromium_page: Page, context: BrowserContext, live_server
):
    page, study = chromium_page, with_two_questions(make_open_study(instances=1))

    def lose_the_second_question(route: Route) -> None:
        if "fluency" in (route.request.post_data or ""):
            route.abort("internetdisconnected")
        else:
            route.continue_()

    route_answers(page, study, lose_the_second_question)
    enter(page, live_server, study)
    page.keyboard.press("1")
    page.keyboard.press("2")
    expect_status(page, "unknown")
    page.keyboard.press("Shift+Tab")
    page.get_by_role("radio", name="Right is better").check()
    page.wait_for_timeout(500)
    expect(page.locator("#status .saved")).to_have_count(0)
    expect(page.locator("#progress progress")).to_have_attribute("value", "0")


def test_a_reload_says_how_many_of_a_units_answers_are_stored(chromium_page: Page, live_server):
    page, study = chromium_page, with_two_questions(make_open_study(instances=1))
    enter(page, live_server, study)
    page.keyboard.press("1")
    expect_status(page, "partly_saved", 1, 2)
    page.reload()
    expect_status(page, "partly_saved", 1, 2)


def test_without_a_line_nobody_is_led_off_the_page(
    chromium_page: Page, context: BrowserContext, live_server
):
    page, study = chromium_page, make_open_study(instances=1)
    enter(page, live_server, study)
    page.keyboard.press("1")
    expect_status(page, "saved")
    context.set_offline(True)
    page.get_by_role("link", name="Next").click()
    expect_status(page, "blocked")
    at_unit(page, 1)
    context.set_offline(False)
    at_unit(page, 2)


def test_a_session_that_ended_is_said_and_not_retried(
    chromium_page: Page, context: BrowserContext, live_server
):
    page, study = chromium_page, make_open_study(instances=1)
    route_answers(page, study, lambda route: route.fulfill(status=404, body="<html>gone</html>"))
    enter(page, live_server, study)
    page.keyboard.press("1")
    expect_status(page, "outdated")
    expect(page.get_by_role("radio", name="Left is better")).to_be_checked()


def test_each_question_is_saved_by_itself_and_keys_move_to_the_next(
    chromium_page: Page, live_server
):
    page, study = chromium_page, make_open_study(instances=1)
    study.criteria.create(
        name="fluency", question="How fluent?", scale="nominal:bad,fair,good", position=1
    )
    enter(page, live_server, study)
    sent: list[str] = []
    page.on("request", lambda r: sent.append(r.post_data or "") if r.method == "POST" else None)
    page.keyboard.press("1")
    expect_status(page, "partly_saved", 1, 2)
    page.keyboard.press("3")
    expect(page.get_by_role("radio", name="good")).to_be_checked()
    expect(page.get_by_role("radio", name="Left is better")).to_be_checked()
    expect(page.get_by_role("link", name="Next")).to_be_visible()
    assert Rating.objects.count() == 2
    assert [data.count("criterion-") for data in sent] == [1, 1]
    assert len(set(Rating.objects.values_list("client_key", flat=True))) == 2


def test_differences_are_marked_and_the_text_stays_the_same(chromium_page: Page, live_server):
    page, study = chromium_page, with_texts(make_open_study(instances=1, samples=1))
    page.goto(f"{live_server.url}/s/{study.pk}/")
    page.get_by_role("button", name="I agree").click()
    page.get_by_role("button", name="Start").click()
    at_unit(page, 1)
    texts = page.locator(".compared")
    before = texts.all_text_contents()
    assert set(before) == {TEXT_A, TEXT_B}
    page.keyboard.press("d")
    marks = dict(zip(before, (text.locator("mark") for text in texts.all()), strict=True))
    assert marks[TEXT_A].all_text_contents() == ["tomatoes", "brings a heater."]
    assert marks[TEXT_B].all_text_contents() == ["all of", "plants", "will call."]
    assert texts.all_text_contents() == before
    page.keyboard.press("d")
    expect(page.locator("mark")).to_have_count(0)
    assert texts.all_text_contents() == before


def test_the_keys_are_explained_and_can_be_turned_off(chromium_page: Page, live_server):
    page, study = chromium_page, make_open_study(instances=1)
    enter(page, live_server, study)
    page.keyboard.press("?")
    dialog = page.get_by_role("dialog", name="Keyboard shortcuts")
    expect(dialog).to_be_visible()
    page.keyboard.press("1")  # while the dialog is open, keys answer nothing
    dialog.get_by_label("Enable keyboard shortcuts").uncheck()
    dialog.get_by_role("button", name="Close").click()
    page.keyboard.press("1")
    expect(page.get_by_role("radio", checked=True)).to_have_count(0)
    page.reload()
    page.keyboard.press("2")
    expect(page.get_by_role("radio", checked=True)).to_have_count(0)
    assert not Rating.objects.exists()


def test_on_a_phone_texts_are_first_and_second_and_so_it_is_recorded(
    chromium_page: Page, live_server
):
    page, study = chromium_page, with_texts(make_open_study(instances=1))
    page.set_viewport_size({"width": 360, "height": 740})
    enter(page, live_server, study)
    expect(page.get_by_role("heading", name="First")).to_be_visible()
    expect(page.get_by_role("radio", name="Left")).to_have_count(0)
    page.get_by_role("radio", name="Second is better").check()
    expect_status(page, "saved")
    assert Rating.objects.get().layout == "stacked"
    assert page.evaluate("document.documentElement.scrollWidth") == 360


def test_a_decimal_comma_is_not_dropped(chromium_page: Page, live_server):
    """Chromium writes numbers in its own language, and here drops the comma while it is typed."""
    study = make_open_study(instances=1, unit_kind="generation", scale="interval")
    enter(chromium_page, live_server, study)
    chromium_page.get_by_role("spinbutton").press_sequentially("2,5")
    chromium_page.get_by_role("spinbutton").press("Tab")
    expect_status(chromium_page, "saved")
    assert Rating.objects.get().label == "2.5"


def test_without_javascript_the_page_does_the_same(browser, live_server):
    study = make_open_study(instances=1, ratings_per_hit=1)
    context = browser.new_context(java_script_enabled=False)
    page = context.new_page()
    enter(page, live_server, study)
    expect(page.locator("#show-keys")).to_be_hidden()
    for number in range(1, 6):
        at_unit(page, number)
        page.get_by_role("radio", name="No preference").check()
        page.get_by_role("button", name="Next", exact=True).click()
    expect(page.locator("[data-completed]")).to_be_visible()
    context.close()
    assert Rating.objects.counted().filter(label="0").count() == 5


def test_the_preview_can_be_tried_and_sends_nothing(
    chromium_page: Page, context: BrowserContext, live_server, client
):
    study = make_open_study(instances=1)
    client.force_login(User.objects.create_superuser("ada"))
    session = client.cookies["sessionid"].value
    context.add_cookies([{"name": "sessionid", "value": session, "url": live_server.url}])
    page = chromium_page
    posts: list[str] = []
    page.on("request", lambda r: posts.append(r.url) if r.method == "POST" else None)
    page.goto(f"{live_server.url}/studies/{study.pk}/preview/?page=unit")
    page.keyboard.press("1")
    expect(page.get_by_role("radio", name="Left is better")).to_be_checked()
    page.keyboard.press("n")
    page.keyboard.press("Enter")
    expect(page.get_by_role("button", name="Next", exact=True)).to_be_disabled()
    expect_status(page, "preview")
    assert posts == []


def test_annotators_may_stop(chromium_page: Page, live_server):
    page, study = chromium_page, make_open_study(instances=3, comparisons_per_hit=1)
    enter(page, live_server, study)
    link = page.get_by_role("link", name="Stop participating")
    expect(link).to_be_visible()
    page.get_by_role("radio", name="No preference").check()
    page.get_by_role("link", name="Next").click()
    link.click()
    expect(page).to_have_url(re.compile("/stop/$"))
    check_accessible(page)
    page.get_by_role("link", name="Continue rating").click()
    at_unit(page, 1)
    link.click()
    page.get_by_role("button", name="Stop here").click()
    expect(page.locator("[data-completed]")).to_be_visible()
    assert Participation.objects.get().status == "left"


@pytest.mark.parametrize("scheme", ["light", "dark"])
@pytest.mark.parametrize("width", [1440, 360])
def test_every_page_is_accessible(chromium_page: Page, live_server, scheme, width):
    page, study = chromium_page, with_texts(make_open_study(instances=1, ratings_per_hit=1))
    page.emulate_media(color_scheme=scheme)
    page.set_viewport_size({"width": width, "height": 800})
    page.goto(f"{live_server.url}/s/{study.pk}/")
    check_accessible(page)
    page.get_by_role("button", name="I agree").click()
    expect(page.get_by_role("button", name="Start")).to_be_visible()
    check_accessible(page)
    page.get_by_role("button", name="Start").click()
    at_unit(page, 1)
    check_accessible(page)
    page.keyboard.press("1")
    page.keyboard.press("d")
    expect_status(page, "saved")
    check_accessible(page)
    page.keyboard.press("?")
    check_accessible(page)
    page.keyboard.press("Escape")
    for number in range(1, 6):
        at_unit(page, number)
        page.keyboard.press("2")
        page.keyboard.press("n")
    expect(page.locator("[data-completed]")).to_be_visible()
    check_accessible(page)
    page.goto(f"{live_server.url}/studies/{study.pk}/preview/")
    check_accessible(page)


@pytest.mark.parametrize(("width", "paragraphs"), [(1440, 6), (360, 6), (360, 1)])
def test_a_text_that_goes_on_under_the_choices_of_a_phone_fades_there_and_no_other_does(
    chromium_page: Page, live_server, width, paragraphs
):
    page = chromium_page
    page.set_viewport_size({"width": width, "height": 740})
    study = make_open_study(instances=1, ratings_per_hit=1)
    Generation.objects.update(text="\n\n".join(["A whole sentence."] * paragraphs))
    enter(page, live_server, study)
    end = page.locator("article").last.bounding_box()
    choices = page.locator("#answer").bounding_box()
    assert end
    assert choices
    left = choices["y"] - end["y"] - end["height"]
    shadow = page.evaluate("getComputedStyle(document.querySelector('#answer')).boxShadow")
    fades = [] if shadow == "none" else re.findall(r"-(\d+)px (\d+)px", shadow)
    assert (left < 0) == (width == 360 and paragraphs == 6)
    assert bool(fades) == (width == 360)
    if paragraphs == 1:
        assert left >= sum(map(int, fades[0]))
