"""Simple raters on the page of judges and through the interface."""

import pytest
from django.contrib.auth.models import User
from django.urls import reverse

from annotation.models import Rating
from machine_raters.models import Abstention, Baseline
from tests.machine_raters.sections import codes_of, section_on
from tests.pages import page_of
from tests.studies.factories import make_open_study, make_study

pytestmark = pytest.mark.django_db
JSON = "application/json"


@pytest.fixture
def study(client):
    user = User.objects.create_user("ada", is_staff=True)
    client.force_login(user)
    # All texts of this study have the same length.
    return make_open_study(instances=2, samples=1, scale="preference", member=user)


def add(client, study, **changes):
    entered = {
        "name": "length",
        "criterion": study.criteria.get().name,
        "method": "longer",
        "seed": 0,
    }
    return client.post(
        reverse("machine_raters:baselines", args=[study.pk]), entered | changes, follow=True
    )


def test_a_simple_rater_is_added_by_one_click_and_says_what_it_left_out(client, study):
    response = add(client, study, name="chance", method="random")
    assert page_of(response) == "machine_raters"
    assert Rating.objects.filter(rater__pseudonym="chance").count() == 2
    page = add(client, study).content.decode()
    assert "<strong>2 of 2</strong> items rated" in page
    assert "<strong>0 of 2</strong> items rated. 2 without a rating" in page
    assert "Rate the remaining" not in page


def test_a_refused_form_is_shown_again_and_nothing_is_stored(client, study):
    add(client, study)
    response = add(client, study, method="shorter")
    assert response.status_code == 400
    assert codes_of(response, "baseline") == ["name_taken"]
    assert 'value="length"' in response.content.decode()
    assert not section_on(response, "judge")["form"].is_bound
    assert Baseline.objects.count() == 1


def test_what_is_missing_is_rated_by_a_click(client, study):
    add(client, study)
    baseline = Baseline.objects.get()
    Abstention.objects.all().delete()
    page = client.get(reverse("machine_raters:judges", args=[study.pk])).content.decode()
    assert "Rate the remaining 2 items" in page
    client.post(reverse("machine_raters:act", args=[study.pk, baseline.public_id, "start"]))
    assert baseline.abstentions.count() == 2
    part = client.get(reverse("machine_raters:baselines-part", args=[study.pk])).content.decode()
    assert "Rate the remaining" not in part


def test_only_preferences_are_offered(client, study):
    other = make_open_study(instances=1, samples=1, scale="preference:5")
    other.criteria.update(name="beauty")
    assert add(client, study, criterion="beauty").status_code == 400
    study.criteria.update(scale="ordinal:1..5")
    page = client.get(reverse("machine_raters:judges", args=[study.pk])).content.decode()
    assert "this study asks for no preference" in page


def test_the_page_takes_as_many_statements_for_ten_simple_raters(
    client, study, django_assert_max_num_queries
):
    for number in range(10):
        add(client, study, name=f"rater {number}")
    with django_assert_max_num_queries(15):
        page = client.get(reverse("machine_raters:judges", args=[study.pk]))
    assert len(section_on(page, "baseline")["rows"]) == 10


def test_a_draft_is_refused_on_the_page(client):
    user = User.objects.create_user("eve", is_staff=True)
    client.force_login(user)
    draft = make_study(instances=1, member=user)
    response = add(client, draft)
    assert codes_of(response, "baseline") == ["study_is_draft"]
