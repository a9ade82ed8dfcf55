"""Two people on a page with rows: what one removes stays removed, and what the other typed is not lost."""

import re

import pytest
from django.contrib.auth.models import User
from django.test import Client
from django.urls import reverse
from lxml.html import fromstring

from studies.models import ComprehensionQuestion, Membership
from tests.studies.design.test_opened_forms import forms_of, forms_on
from tests.studies.factories import make_study

pytestmark = pytest.mark.django_db
# The rows of each page, and a field that is typed.
ROWS = {
    "studies:task": ("criteria", "name"),
    "recruitment:quality": ("comprehension", "text"),
    "studies:members": ("memberships", "user"),
}


@pytest.fixture
def study(ruth):
    study = make_study(instances=4, member=ruth)
    for n in (1, 2, 3):
        person = User.objects.create_user(f"person{n}", is_staff=True)
        if n < 3:
            ComprehensionQuestion.objects.create(
                study=study, text=f"Is it {n}?", choices="a\nb", answer=1, position=n
            )
            study.criteria.create(name=f"question {n}", question="Which?", position=n)
            Membership.objects.create(study=study, user=person)
    return study


@pytest.fixture
def client(ruth):
    client = Client()
    client.force_login(ruth)
    return client


def form_with(forms, prefix):
    """The form of a page with rows, and how the fields of its last stored row begin."""
    form = next(one for one in forms if f"{prefix}-TOTAL_FORMS" in one.fields)
    return form, f"{prefix}-{int(form.data[f'{prefix}-INITIAL_FORMS'][0]) - 1}-"


@pytest.mark.parametrize("name_of_page", ROWS)
def test_a_row_that_another_removed_stays_removed_or_is_shown_as_it_was_typed(
    name_of_page, client, study
):
    (prefix, name), url = ROWS[name_of_page], reverse(name_of_page, args=[study.pk])
    stored, (form, last) = getattr(study, prefix), form_with(forms_of(client, url), prefix)
    n, remove = stored.count(), form.data | {f"{last}DELETE": ["on"]}
    for untouched in (remove, form.data, remove):
        assert client.post(form.to, untouched).status_code == 302
        assert stored.count() == n - 1
    refused = client.post(form.to, form.data | {f"{last}{name}": ["person3"]})
    assert stored.count() == n - 1
    assert "This was removed after you opened the page" in refused.content.decode()
    again, _ = form_with(forms_on(url, refused), prefix)
    assert again.data[f"{last}{name}"] == ["person3"]
    assert client.post(form.to, again.data).status_code == 302
    assert stored.count() == n


def with_new_row(form, prefix, **values):
    """What is sent with another row, as the page's script makes it of the empty one."""
    number = form.data[f"{prefix}-TOTAL_FORMS"][0]
    data = {name.replace("__prefix__", number): value for name, value in form.data.items()}
    new = {f"{prefix}-{number}-{name}": [value] for name, value in values.items()}
    return data | new | {f"{prefix}-TOTAL_FORMS": [str(int(number) + 1)]}


UNIQUE = {
    "studies:task": ("criteria", {"name": "new", "question": "Which?"}),
    "studies:members": ("memberships", {"user": "person3"}),
    "studies:data": ("study_systems", {"system": "", "position": "9"}),
}


@pytest.mark.parametrize("name_of_page", UNIQUE)
def test_a_row_that_another_added_too_is_refused_in_words(name_of_page, client, study):
    (prefix, values), url = UNIQUE[name_of_page], reverse(name_of_page, args=[study.pk])
    if prefix == "study_systems":
        left_out = study.study_systems.last()
        left_out.delete()
        values |= {"system": str(left_out.system_id)}
    form, _ = form_with(forms_of(client, url), prefix)
    data = with_new_row(form, prefix, **values)
    assert client.post(form.to, data).status_code == 302
    n = getattr(study, prefix).count()
    assert "after you opened the page" in client.post(form.to, data).content.decode()
    assert getattr(study, prefix).count() == n


EXCHANGED = [
    ("studies:task", "criteria", "name"),
    ("studies:members", "memberships", "user"),
    ("studies:data", "study_systems", "position"),
    ("studies:data", "study_systems", "system"),
]


@pytest.mark.parametrize(("name_of_page", "prefix", "name"), EXCHANGED)
def test_rows_exchange_what_only_one_may_have(name_of_page, prefix, name, client, study):
    form, _ = form_with(forms_of(client, reverse(name_of_page, args=[study.pk])), prefix)
    keys, fields = form.data[f"{prefix}-0-id"], [f"{prefix}-{n}-{name}" for n in (0, 1)]
    first, second = (form.data[field] for field in fields)
    exchanged = dict(zip(fields, (second, first), strict=True))
    assert client.post(form.to, form.data | exchanged).status_code == 302
    form, _ = form_with(forms_of(client, form.to), prefix)
    row = next(n for n in (0, 1) if form.data[f"{prefix}-{n}-id"] == keys)
    assert form.data[f"{prefix}-{row}-{name}"] == second


def test_a_removed_rows_name_goes_to_another_row(client, study):
    form, last = form_with(forms_of(client, reverse("studies:task", args=[study.pk])), "criteria")
    moved = {"criteria-0-name": form.data[f"{last}name"], f"{last}DELETE": ["on"]}
    n = study.criteria.count()
    assert client.post(form.to, form.data | moved).status_code == 302
    assert study.criteria.count() == n - 1


def test_screening_that_two_people_begin_has_what_both_entered(client, study):
    url = reverse("recruitment:quality", args=[study.pk])
    form, _ = form_with(forms_of(client, url), "screening")
    for name in ("training_units", "qualification_units"):
        # A browser sends an empty input, too.
        data = form.data | {f"screening-0-{name}": ["1"], "screening-0-pass_mark": [""]}
        assert client.post(form.to, data).status_code == 302
    study.refresh_from_db()
    assert (study.screening.training_units, study.screening.qualification_units) == (1, 1)


@pytest.mark.parametrize("name_of_page", ["studies:task", "recruitment:quality"])
def test_a_refused_form_names_its_rows_although_another_has_sorted_them(
    name_of_page, client, study
):
    prefix, url = ROWS[name_of_page][0], reverse(name_of_page, args=[study.pk])
    stored, (form, last) = getattr(study, prefix), form_with(forms_of(client, url), prefix)
    row = stored.get(pk=form.data[f"{last}id"][0])
    stored.exclude(pk=row.pk).update(position=5)
    refused = client.post(form.to, form.data | {f"{last}position": ["no number"]})
    (label,) = fromstring(refused.content.decode()).xpath(f"//label[@for='id_{last}DELETE']")
    assert str(row) in label.text_content()


@pytest.mark.parametrize("name_of_page", ROWS)
def test_a_forged_number_of_rows_is_refused_before_as_many_are_built(name_of_page, client, study):
    (prefix, _), url = ROWS[name_of_page], reverse(name_of_page, args=[study.pk])
    form, _ = form_with(forms_of(client, url), prefix)
    refused = client.post(form.to, form.data | {f"{prefix}-TOTAL_FORMS": ["2000"]})
    assert refused.status_code == 200
    assert len(re.findall(rf'name="{prefix}-\d+-id"', refused.text)) < 120
