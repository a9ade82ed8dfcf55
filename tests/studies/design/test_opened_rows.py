"""Two people on a page with rows: what one removes stays removed, and what the other typed is not lost."""

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
    study = make_study(instances=1, member=ruth)
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
