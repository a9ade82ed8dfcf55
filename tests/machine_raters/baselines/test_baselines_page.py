"""Simple raters on the page of judges and through the interface."""

import pytest
from django.contrib.auth.models import User
from django.urls import reverse

from annotation.models import Rating
from machine_raters.models import Abstention, Baseline
from tests.pages import codes_on, page_of
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
        "criterion": study.criteria.get().pk,
        "method": "longer",
        "seed": 0,
    }
    return client.post(
        reverse("machine_raters:add-baseline", args=[study.pk]), entered | changes, follow=True
    )


def test_a_simple_rater_is_added_by_one_click_and_says_what_it_left_out(client, study):
    response = add(client, study, name="chance", method="random")
    assert page_of(response) == "judges"
    assert Rating.objects.filter(rater__pseudonym="chance").count() == 2
    page = add(client, study).content.decode()
    assert "<strong>2 of 2</strong> items rated" in page
    assert "<strong>0 of 2</strong> items rated. 2 without a rating" in page
    assert "Rate the remaining" not in page


def test_a_refused_form_is_shown_again_and_nothing_is_stored(client, study):
    add(client, study)
    response = add(client, study, method="shorter")
    assert response.status_code == 400
    errors = response.context["baseline_form"].errors.as_data()["__all__"]
    assert [error.code for error in errors] == ["name_taken"]
    assert 'value="length"' in response.content.decode()
    assert not response.context["form"].is_bound
    assert Baseline.objects.count() == 1


def test_what_is_missing_is_rated_by_a_click(client, study):
    add(client, study)
    baseline = Baseline.objects.get()
    Abstention.objects.all().delete()
    page = client.get(reverse("machine_raters:judges", args=[study.pk])).content.decode()
    assert "Rate the remaining 2 items" in page
    client.post(reverse("machine_raters:start-baseline", args=[study.pk, baseline.public_id]))
    assert baseline.abstentions.count() == 2
    part = client.get(reverse("machine_raters:baselines-part", args=[study.pk])).content.decode()
    assert "Rate the remaining" not in part
    unknown = reverse("machine_raters:start-baseline", args=[study.pk, "nosuchrater1"])
    assert codes_on(client.post(unknown, follow=True)) == {"no_such_baseline"}


def test_only_preferences_are_offered(client, study):
    other = make_open_study(instances=1, samples=1, scale="preference:5")
    assert add(client, study, criterion=other.criteria.get().pk).status_code == 400
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
    assert len(page.context["baselines"]) == 10


def test_the_same_by_the_interface(client, study):
    address = reverse("api:baselines", args=[study.pk])
    wanted = {"name": "length", "criterion": "preference", "method": "longer"}
    added = client.post(address, wanted, content_type=JSON)
    assert added.status_code == 201
    assert (added.json()["rated"], added.json()["equal_scores"]) == (0, 2)
    [listed] = client.get(address).json()
    assert listed == added.json()
    start = reverse("api:start-baseline", args=[study.pk, listed["id"]])
    assert client.post(start).status_code == 201
    refused = client.post(address, wanted | {"name": "x", "method": "bleu"}, content_type=JSON)
    assert (refused.status_code, refused.json()["code"]) == (409, "no_reference")
    missing = client.post(address, wanted | {"criterion": "beauty"}, content_type=JSON)
    assert [problem["field"] for problem in missing.json()["problems"]] == ["criterion"]


def test_a_draft_is_refused_on_the_page(client):
    user = User.objects.create_user("eve", is_staff=True)
    client.force_login(user)
    draft = make_study(instances=1, member=user)
    response = add(client, draft)
    errors = response.context["baseline_form"].errors.as_data()["__all__"]
    assert [error.code for error in errors] == ["study_is_draft"]
