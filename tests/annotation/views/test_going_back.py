"""Going back to an earlier task: what can be corrected there, and what stays as it is."""

import re

import pytest
from django.utils.html import strip_tags

from annotation.models import Assignment, Place, Rating
from annotation.selectors import hits_of_visit
from annotation.services.exclusion import exclude_work
from api.models import Webhook, WebhookDelivery
from api.services.webhook_events import record_events
from recruitment.services.lifecycle import close_study, pause_study
from studies.models import Study
from tests.annotation.annotators import Annotator, Page, annotator, form_of, task_of, texts_of
from tests.annotation.tallies import recount, stored_tallies
from tests.annotation.test_gold_checks import study_with_checks
from tests.pages import codes_on, numbers_in
from tests.studies.factories import make_open_study

pytestmark = pytest.mark.django_db

QUESTION = "criterion-preference"


def single(**design) -> Study:
    """An open study of tasks with one comparison each."""
    return make_open_study(instances=4, comparisons_per_hit=1, **design)


def previous(page: Page) -> str | None:
    """Return the address to which *Previous* leads, or None if there is nothing to go back to."""
    link = re.search(r'<a id="previous" href="([^"]+)"', page.content.decode())
    return link[1] if link else None


def back(ann: Annotator, page: Page) -> Page:
    address = previous(page)
    assert address is not None
    return ann.client.get(address)


def earlier(assignment: Assignment) -> tuple[object, ...]:
    """Return everything about a completed task that a correction must not change."""
    place = Place.objects.get(assignment=assignment)
    assignment.refresh_from_db()
    return place.completed_at, place.lease_until, assignment.status, assignment.completed_at


def check_exact(study: Study) -> None:
    assert stored_tallies(study=study) == +recount(study=study)
    current = Rating.objects.counted().filter(superseded=False)
    assert current.count() == study.places.filter(completed_at__isnull=False).count()


@pytest.mark.parametrize("abandoned", ["whole_hit", "units"])
def test_an_answer_of_the_task_before_can_be_corrected(abandoned):
    study = single(ratings_per_hit=2, abandoned=abandoned)
    ann = annotator(study)
    shown = texts_of(ann.here())
    ann.choose(0)
    now = ann.here()
    task = Assignment.objects.get(status="completed")
    before = earlier(task)
    page = back(ann, now)
    assert texts_of(page) == shown
    assert form_of(page).chosen == {QUESTION: "-1"}
    assert (task_of(page)[0], task_of(now)[0]) == (1, 2)
    assert ann.send(form_of(page).filled(2))["Location"] == ann.at()
    old, new = Rating.objects.filter(assignment=task).order_by("pk")
    assert old.superseded
    assert (new.supersedes, new.place, new.is_counted) == (old, old.place, True)
    assert earlier(task) == before
    assert hits_of_visit(ann.participation) == 1
    assert texts_of(ann.here()) == texts_of(now)
    check_exact(study)


def test_one_goes_back_task_by_task_to_the_first_and_no_further():
    ann = annotator(single())
    shown = []
    for _ in range(3):
        shown.append(texts_of(ann.here()))
        ann.choose()
    page = ann.here()
    for number in (3, 2, 1):
        page = back(ann, page)
        assert task_of(page)[0] == number
        assert texts_of(page) == shown[number - 1]
    assert previous(page) is None


def test_within_an_earlier_task_the_links_stay_in_it():
    ann = annotator(make_open_study(instances=2, comparisons_per_hit=2))
    for _ in range(2):
        ann.choose()
    page = back(ann, ann.here())
    assert form_of(page).hidden["position"] == "2"
    first = back(ann, page)
    assert form_of(first).hidden["position"] == "1"
    answer = ann.send(form_of(first).filled(2), hx_request="true")
    task = form_of(page).hidden["assignment"]
    assert f'href="{ann.at("task", task, 2)}"' in answer.content.decode()


def test_the_first_task_offers_nothing_to_go_back_to():
    page = annotator(single()).here()
    assert previous(page) is None
    assert "<kbd>U</kbd>" not in page.content.decode()


def test_a_correction_tells_programs_nothing_twice():
    study = single()
    ann = annotator(study)
    start = study.opened_at
    webhook = Webhook.objects.create(study=study, created_at=start, looked_until=start)
    ann.choose(0)
    record_events()
    told = set(WebhookDelivery.objects.filter(webhook=webhook).values_list("key", flat=True))
    assert told
    ann.send(form_of(back(ann, ann.here())).filled(2))
    record_events()
    assert set(WebhookDelivery.objects.values_list("key", flat=True)) == told


def test_a_paused_study_can_be_corrected_and_a_closed_one_stays():
    study = single()
    ann = annotator(study)
    ann.choose()
    address = previous(ann.here())
    pause_study(study=study)
    assert ann.client.get(address).status_code == 200
    close_study(study=study)
    assert ann.client.get(address)["Location"] == ann.at()


@pytest.mark.parametrize("status", ["excluded", "returned"])
def test_who_was_excluded_cannot_go_back_and_an_answer_sent_anyway_does_not_count(status):
    study = single()
    ann = annotator(study)
    ann.choose()
    page = back(ann, ann.here())
    exclude_work(participation=ann.participation, status=status)
    assert ann.client.get(page.request["PATH_INFO"])["Location"] == ann.at()
    ann.send(form_of(page).filled(2))
    assert not Rating.objects.counted().exists()
    assert Place.objects.filter(completed_at__isnull=False).count() == 0
    assert stored_tallies(study=study) == +recount(study=study)


def test_a_correction_of_work_that_nobody_needed_stays_out_of_the_statistics():
    study = single(ratings_per_hit=1)
    ann, bob = annotator(study), annotator(study)
    late = form_of(ann.here())
    Place.objects.filter(assignment__isnull=False).update(lease_until="2020-01-01T00:00Z", draw=0)
    bob.choose()
    ann.send(late.filled(0))
    assert Rating.objects.latest("pk").surplus
    ann.send(form_of(back(ann, ann.here())).filled(2))
    new = Rating.objects.latest("pk")
    assert new.supersedes is not None
    assert new.surplus
    check_exact(study)


def test_other_peoples_tasks_and_unfinished_ones_lead_to_where_one_should_be():
    study = single()
    ann, bob = annotator(study), annotator(study)
    ann.choose()
    task = Assignment.objects.get(status="completed").public_id
    assert previous(bob.here()) is None
    for address in (bob.at("task", task), bob.at("task", task, 1), bob.at("task", task, 9)):
        assert bob.client.get(address)["Location"] == bob.at()
    assert Assignment.objects.count() == 2


def test_with_gold_checks_nobody_goes_back_and_each_task_says_so_before_its_answer():
    ann = annotator(study_with_checks(gold=4, n=1, check_rate=1))
    for n in range(5):
        page = ann.here()
        assert previous(page) is None
        assert "data-stays" in page.content.decode()
        # A number of items would tell, beside the tasks announced, how many are gold checks.
        bar = re.search(r'<p class="task".*?</p>', page.content.decode(), re.S)
        assert numbers_in(strip_tags(bar[0])) == {str(100 * n // page.context["hits"])}
        ann.choose()
    task = Assignment.objects.filter(status="completed").latest("completed_at")
    assert ann.client.get(ann.at("task", task.public_id))["Location"] == ann.at()


def test_with_gold_checks_a_missed_check_cannot_be_repaired_after_the_next_task_opened():
    ann = annotator(study_with_checks(gold=4, n=1, check_rate=1))
    first, last = ann.choose(0), ann.choose(0)
    assert codes_on(ann.send(first.filled(2))) == {"task_stays"}  # of the same task
    assert ann.send(last.filled(2)).status_code == 303  # the next task is not open yet
    ann.here()
    refused = ann.send({**last.filled(0), "client_key": "another-key"}, hx_request="true")
    assert (refused.status_code, codes_on(refused)) == (409, {"task_stays"})
    assert ann.send(last.filled(2)).status_code == 303  # the same again is no correction
    assert Rating.objects.count() == 3


def test_without_gold_checks_no_page_says_that_answers_stay():
    ann = annotator(single())
    ann.choose()
    assert "data-stays" not in ann.here().content.decode()
