"""Going through a study without JavaScript, and everything that can go wrong in it."""

from datetime import timedelta

import pytest
from django.db import connection
from django.test import Client
from django.test.utils import CaptureQueriesContext
from django.utils import timezone

from annotation.models import Assignment, HITUnit, Place, Rating
from annotation.selectors import is_a_first
from recruitment.services.lifecycle import close_study, pause_study
from tests.annotation.annotators import (
    Annotator,
    annotator,
    form_of,
    saved_in,
    task_of,
    texts_of,
    unit_of,
)
from tests.annotation.tallies import recount, stored_tallies
from tests.pages import codes_on, page_of
from tests.studies.factories import make_open_study

pytestmark = pytest.mark.django_db

QUESTION = "criterion-preference"


def test_it_works():
    study = make_open_study(instances=1, ratings_per_hit=1)
    ann = annotator(study)
    page = ann.here()
    assert page.status_code == 200
    assert b"Source text 0." in page.content
    assert (unit_of(page), task_of(page)) == ((1, "5"), (1, 1))
    assert form_of(page).choices == {QUESTION: ["-1", "0", "1"]}
    ann.choose()
    assert Rating.objects.get().position == 1
    assert unit_of(ann.here()) == (2, "5")


def test_a_whole_study_without_javascript():
    study = make_open_study(instances=3, ratings_per_hit=2, comments=False)
    for index in (0, 2):
        ann = annotator(study)
        for _ in range(15):
            ann.choose(index)
        end = ann.here()
        assert end.context["is_completed"]
        assert ann.participation.submission.completion_code.encode() in end.content
        assert ann.participation.status == "finished"
        assert ann.here().content == end.content
    assert Rating.objects.counted().count() == 30
    assert not Place.objects.filter(completed_at__isnull=True).exists()
    assert stored_tallies(study=study) == +recount(study=study)


def test_what_was_chosen_on_the_screen_is_what_is_stored():
    study = make_open_study(instances=2, ratings_per_hit=1)
    ann = annotator(study)
    for _ in range(10):
        left = texts_of(ann.here())[0]
        ann.choose(0)
        rating = Rating.objects.latest("pk")
        preferred = (
            rating.unit.text_a.generation if rating.label == "-1" else rating.unit.text_b.generation
        )
        assert preferred is not None
        assert preferred.text == left
        hit_unit = HITUnit.objects.get(unit=rating.unit)
        assert (rating.side_a == "left") == is_a_first(rating.assignment, hit_unit)
    assert Rating.objects.filter(side_a="left").count() == 5


def test_the_same_post_twice_is_one_rating():
    ann = annotator(make_open_study(instances=1))
    form = form_of(ann.here()).filled()
    assert ann.send(form).status_code == ann.send(form).status_code == 303
    assert Rating.objects.count() == 1


def test_a_reload_shows_the_same_unit_and_reserves_nothing_more():
    ann = annotator(make_open_study(instances=3))
    first = ann.here()
    again = ann.here()
    assert texts_of(first) == texts_of(again)
    assert Assignment.objects.count() == 1
    assert Place.objects.filter(lease_until__isnull=False).count() == 1


def test_an_earlier_answer_can_be_looked_at_and_corrected():
    ann = annotator(make_open_study(instances=1, ratings_per_hit=1))
    shown = texts_of(ann.here())
    ann.choose(0)
    back = ann.client.get(ann.at(1))
    assert texts_of(back) == shown
    assert form_of(back).chosen == {QUESTION: "-1"}
    assert ann.send(form_of(back).filled(2)).status_code == 303
    old, new = Rating.objects.order_by("pk")
    assert old.superseded
    assert new.supersedes == old
    assert form_of(ann.client.get(ann.at(1))).chosen == {QUESTION: "1"}
    assert unit_of(ann.here()) == (2, "5")


def test_the_last_answer_of_a_hit_can_still_be_corrected_and_so_can_those_before_it():
    ann = annotator(make_open_study(instances=2, ratings_per_hit=1))
    for _ in range(5):
        form = ann.choose(0)
    assert Assignment.objects.get().status == "completed"
    for position in (5, 4):
        back = ann.client.get(ann.at(position))
        assert form_of(back).chosen == {QUESTION: "-1"}
        ann.send(form_of(back).filled(1))
    assert ann.send({**form.hidden, QUESTION: "1", "client_key": "another-key"}).status_code == 303
    assert Assignment.objects.count() == 1
    assert Rating.objects.counted().count() == 5
    assert Rating.objects.filter(superseded=True).count() == 3


@pytest.mark.parametrize("position", [2, 5, 6, 99, 0])
def test_a_unit_that_is_not_answered_leads_to_where_one_should_be(position):
    ann = annotator(make_open_study(instances=1))
    ann.choose()
    response = ann.client.get(ann.at(position))
    assert response.status_code == 302
    assert response["Location"] == ann.at()


def test_looking_back_before_anything_was_taken_reserves_nothing():
    ann = annotator(make_open_study(instances=1))
    assert ann.client.get(ann.at(1))["Location"] == ann.at()
    assert not Assignment.objects.exists()


def test_two_tabs_that_answer_one_unit_leave_one_current_rating():
    ann = annotator(make_open_study(instances=1))
    one, other = form_of(ann.here()), form_of(ann.here())
    assert one.hidden["client_key"] != other.hidden["client_key"]
    ann.send(one.filled(0))
    ann.send(other.filled(2))
    ann.send(one.filled(0))
    assert Rating.objects.filter(superseded=False).count() == 1
    assert Rating.objects.count() == 2
    assert unit_of(ann.here()) == (2, "5")


def test_an_interrupted_hit_goes_on_where_it_was():
    ann = annotator(make_open_study(instances=3))
    ann.choose()
    ann.choose()
    returned = Annotator(ann.study)
    returned.client.cookies = ann.client.cookies
    assert unit_of(returned.here()) == (3, "5")


def test_no_choice_shows_the_page_again_with_the_refusal():
    ann = annotator(make_open_study(instances=1))
    page = ann.here()
    response = ann.send(form_of(page).hidden)
    assert (response.status_code, codes_on(response)) == (400, {"no_answer"})
    assert texts_of(response) == texts_of(page)


def test_a_label_that_is_not_of_the_scale_loses_nothing_of_what_else_was_chosen():
    study = make_open_study(instances=1)
    study.criteria.create(name="fluency", question="Which reads better?", scale="preference")
    ann = annotator(study)
    form = form_of(ann.here())
    response = ann.send({**form.filled(1), "criterion-fluency": "7"})
    assert (response.status_code, codes_on(response)) == (400, {"not_a_label"})
    assert form_of(response).chosen == {QUESTION: "0"}
    assert not Rating.objects.exists()


@pytest.mark.parametrize(
    "change",
    [
        {"position": "x"},
        {"position": "0"},
        {"client_key": ""},
        {"client_key": "k" * 65},
        {"client_key": "<script>alert(1)</script>"},
        {"assignment": ""},
        {"assignment": "a\0b"},
    ],
)
def test_a_damaged_answer_is_refused(change):
    ann = annotator(make_open_study(instances=1))
    response = ann.send({**form_of(ann.here()).filled(), **change})
    assert (response.status_code, codes_on(response)) == (400, {"damaged_answer"})
    assert b"alert(1)" not in response.content
    assert not Rating.objects.exists()


@pytest.mark.parametrize(
    ("sent", "kept_as"),
    [("1234", 1234), ("", None), ("-5", None), ("99999999999", None), ("NaN", None), ("1e3", None)],
)
def test_a_duration_out_of_bounds_is_dropped_and_the_answer_saved(sent, kept_as):
    ann = annotator(make_open_study(instances=1))
    ann.send({**form_of(ann.here()).filled(), "duration_ms": sent})
    assert Rating.objects.get().duration_ms == kept_as


@pytest.mark.parametrize(
    ("sent", "kept_as"),
    [("stacked", "stacked"), ("side_by_side", "side_by_side"), ("<b>", "side_by_side")],
)
def test_the_layout_is_recorded(sent, kept_as):
    ann = annotator(make_open_study(instances=1))
    ann.send({**form_of(ann.here()).filled(), "layout": sent})
    assert Rating.objects.get().layout == kept_as


def test_another_annotators_assignment_does_not_exist():
    study = make_open_study(instances=2)
    ann, bob = annotator(study), annotator(study)
    ann.here()
    foreign = ann.participation.assignments.get().public_id
    response = bob.send({**form_of(bob.here()).filled(), "assignment": foreign})
    assert response.status_code == 404
    assert not Rating.objects.exists()


def test_a_position_outside_the_assignment_does_not_exist():
    ann = annotator(make_open_study(instances=1))
    assert ann.send({**form_of(ann.here()).filled(), "position": "6"}).status_code == 404


def test_a_stranger_cannot_answer_and_is_led_to_the_welcome():
    study = make_open_study(instances=1)
    ann, stranger = annotator(study), Annotator(study)
    assert stranger.send(form_of(ann.here()).filled()).status_code == 404
    for address in (stranger.at(), stranger.at(1), stranger.at("guidelines")):
        assert stranger.client.get(address)["Location"] == f"/s/{study.pk}/"
    assert stranger.client.get(stranger.at("answer"))["Location"] == stranger.at()
    assert stranger.client.get("/rate/nosuchstudy1/")["Location"] == "/s/nosuchstudy1/"


def test_an_answer_needs_its_csrf_token():
    ann = annotator(make_open_study(instances=1))
    form = form_of(ann.here()).filled()
    strict = Client(enforce_csrf_checks=True)
    strict.cookies = ann.client.cookies
    refused = strict.post(ann.at("answer"), {**form, "csrfmiddlewaretoken": "x" * 64})
    assert (refused.status_code, page_of(refused)) == (403, "403_csrf")
    assert not Rating.objects.exists()
    assert strict.post(ann.at("answer"), form).status_code == 303


def test_with_htmx_a_choice_answers_with_its_status_the_progress_and_the_way_on():
    ann = annotator(make_open_study(instances=1))
    response = ann.send(form_of(ann.here()).filled(), hx_request="true")
    body = response.content.decode()
    assert response.status_code == 200
    assert "<html" not in body
    assert '<span class="saved"' in body
    assert 'id="progress" class="progress" hx-swap-oob="true"' in body
    assert saved_in(response) == (1, 5)
    assert f'<a class="button primary" href="{ann.at()}">' in body


def test_with_htmx_a_refusal_is_one_line():
    ann = annotator(make_open_study(instances=1))
    form = form_of(ann.here())
    wrong = {"not_a_label": {**form.filled(), QUESTION: "7"}, "no_answer": form.hidden}
    for code, data in (wrong | {"damaged_answer": {}}).items():
        response = ann.send(data, hx_request="true")
        assert (response.status_code, codes_on(response)) == (400, {code})
        assert response.content.startswith(b'<span class="alarm"')
        assert b"<html" not in response.content


def test_several_criteria_stand_on_one_page_and_complete_the_unit_together():
    study = make_open_study(instances=1)
    study.criteria.create(name="fluency", question="Which reads better?", scale="preference")
    ann = annotator(study)
    form = form_of(ann.here())
    assert form.choices == {QUESTION: ["-1", "0", "1"], "criterion-fluency": ["-1", "1"]}
    only_one = {**form.hidden, QUESTION: "0"}
    response = ann.send(only_one, hx_request="true")
    progress = response.context["progress"]
    assert (progress.stored, progress.asked) == (1, 2)
    assert saved_in(response) == (0, 5)
    page = ann.here()
    assert unit_of(page) == (1, "5")
    assert form_of(page).chosen == {QUESTION: "0"}
    ann.choose()
    assert unit_of(ann.here()) == (2, "5")


def test_who_finds_nothing_gets_no_code_and_may_come_back():
    study = make_open_study(instances=1, ratings_per_hit=1)
    ann, bob = annotator(study), annotator(study)
    ann.here()
    page = bob.here()
    assert codes_on(page) == {"no_work_left"}
    assert (page.context["done"], page.context["may_resume"]) == (0, True)
    assert bob.participation.submission.completion_code.encode() not in page.content
    assert bob.participation.status == "active"
    Place.objects.update(lease_until=None, assignment=None)
    assert unit_of(bob.here()) == (1, "5")


def test_the_limit_per_annotator_ends_with_thanks():
    ann = annotator(make_open_study(instances=3, hits_per_annotator=1))
    assert task_of(ann.here()) == (1, 1)
    for _ in range(5):
        ann.choose()
    page = ann.here()
    assert (page.context["done"], page.context["is_completed"]) == (1, True)
    assert ann.participation.status == "finished"


def test_a_paused_study_lets_the_hit_be_finished_and_then_says_so():
    ann = annotator(make_open_study(instances=2))
    ann.here()
    pause_study(study=ann.study)
    for _ in range(5):
        ann.choose()
    response = ann.here()
    assert (response.status_code, codes_on(response)) == (409, {"study_paused"})
    assert ann.participation.status == "active"


def test_a_queue_whose_places_are_all_held_says_so_and_goes_on_when_one_is_free():
    study = make_open_study(instances=1, ratings_per_hit=1)
    holder, other = annotator(study), annotator(study)
    assert task_of(holder.here()) == (1, 1)
    assert codes_on(other.here()) == {"no_work_left"}
    assert b"all tasks are taken or complete" in other.here().content
    assert (study.status, other.participation.status) == ("open", "active")
    Place.objects.update(lease_until=timezone.now() - timedelta(seconds=1))
    assert task_of(other.here()) == (1, 1)


def test_a_closed_study_keeps_the_answer_and_gives_the_code_for_what_was_done():
    ann = annotator(make_open_study(instances=2))
    for _ in range(5):
        ann.choose()
    form = form_of(ann.here())
    close_study(study=ann.study)
    assert ann.send(form.filled()).status_code == 303
    assert Rating.objects.latest("pk").late
    assert ann.participation.submission.completion_code.encode() in ann.here().content


def test_a_closed_study_without_completed_work_says_it_is_closed():
    ann = annotator(make_open_study(instances=2))
    ann.choose()
    close_study(study=ann.study)
    page = ann.here()
    assert codes_on(page) == {"study_closed"}
    assert ann.participation.submission.completion_code.encode() not in page.content


def test_by_units_an_answer_keeps_its_position_whatever_others_answered():
    study = make_open_study(
        instances=1, samples=8, comparisons_per_hit=8, ratings_per_hit=1, abandoned="units"
    )
    ann = annotator(study)
    for _ in range(6):
        ann.choose()
    Place.objects.update(lease_until="2020-01-01T00:00Z")
    bob = annotator(study)
    assert unit_of(bob.here()) == (1, "2")
    bob.choose()
    page = bob.here()
    assert unit_of(page) == (2, "2")
    Place.objects.update(lease_until="2020-01-01T00:00Z")
    annotator(study).here()  # another annotator holds the place now
    bob.send(form_of(page).filled(0))
    unit = Rating.objects.latest("pk").unit
    assert unit.text_a.generation is not None
    assert unit.text_a.generation.text in texts_of(page)


def test_rating_pages_are_not_cached():
    ann = annotator(make_open_study(instances=1))
    page = ann.here()
    ann.choose()
    for response in (page, ann.client.get(ann.at(1)), ann.client.get(ann.at("guidelines"))):
        assert "no-store" in response["Cache-Control"]


def statements(captured) -> list[str]:
    """Return the statements without savepoints, which replace BEGIN and COMMIT in tests."""
    return [query["sql"] for query in captured if "SAVEPOINT" not in query["sql"]]


@pytest.mark.parametrize("comparisons_per_hit", [1, 5])
def test_next_and_save_take_few_queries(comparisons_per_hit):
    ann = annotator(make_open_study(instances=4, comparisons_per_hit=comparisons_per_hit))
    ann.here()
    for _ in range(3):
        with CaptureQueriesContext(connection) as asked:
            page = ann.here()
        assert len(statements(asked)) <= 6
        form = form_of(page).filled()
        with CaptureQueriesContext(connection) as asked:
            ann.send(form, hx_request="true")
        assert len(statements(asked)) <= 8


def lapse(assignment_id: str) -> None:
    """Let the lease run out, and make the place the first that the next annotator gets."""
    place = Place.objects.filter(assignment__public_id=assignment_id)
    place.update(lease_until=timezone.now() - timedelta(minutes=1), draw=0)


def test_an_annotator_who_lost_a_place_is_told_about_their_answers():
    study = make_open_study(instances=2, comparisons_per_hit=2, ratings_per_hit=1)
    ann, bob = annotator(study), annotator(study)
    first = ann.choose()
    second = form_of(ann.here()).filled()
    lapse(first.hidden["assignment"])
    bob.choose()
    response = ann.send(second, hx_request="true")
    assert codes_on(response) == {"surplus"}
    assert b'<span class="saved"' in response.content


def test_the_hit_after_a_lost_one_says_so_once():
    study = make_open_study(instances=3, comparisons_per_hit=2, ratings_per_hit=1)
    ann, bob = annotator(study), annotator(study)
    first = ann.choose()
    lapse(first.hidden["assignment"])
    bob.choose()
    assert codes_on(ann.here()) == {"place_lost"}
    assert codes_on(ann.here()) == set()


def test_the_end_page_is_not_shown_to_annotators_with_work():
    page = annotator(make_open_study(instances=2, comparisons_per_hit=1))
    page.choose()
    answer = page.client.get(page.at("end"))
    assert (answer.status_code, answer["Location"]) == (302, page.at())
    assert page.participation.status == "active"
