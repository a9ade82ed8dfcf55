"""Positions are stored from 0 on; people read and type them from 1 on."""

import re

import pytest
from django.contrib.auth.models import User
from django.urls import reverse

from studies.design.order_fields import OrderField
from studies.models import Study
from tests.pages import send
from tests.studies.design.test_step_pages import rows
from tests.studies.factories import make_open_study, make_study

pytestmark = pytest.mark.django_db


def page_of_systems(client, study: Study) -> str:
    client.force_login(User.objects.get())
    return client.get(reverse("studies:data", args=[study.pk])).text


@pytest.fixture
def ruth() -> User:
    return User.objects.create_user("ruth", is_staff=True)


def test_the_first_system_is_number_1(client, ruth):
    html = page_of_systems(client, make_study(instances=1, member=ruth))
    shown = re.findall(r'<input[^>]*name="study_systems-\d-position"[^>]*>', html)
    assert ['value="1"' in shown[0], 'value="2"' in shown[1]] == [True, True]
    assert 'min="1"' in shown[0]


def test_an_opened_study_reads_the_same_numbers(client, ruth):
    html = page_of_systems(client, make_open_study(instances=1, member=ruth))
    shown = re.findall(r'>Position</span> <div class="readonly">(\d+)<', html)
    assert shown == ["1", "2"]


def test_what_is_typed_is_stored_from_0_on(client, ruth):
    study = make_study(instances=1, member=ruth)
    client.force_login(ruth)
    stored = list(study.study_systems.all())
    swapped = [
        {"id": row.pk, "study": study.pk, "system": row.system_id, "position": position}
        for row, position in zip(stored, (4, 3), strict=True)
    ]
    sent = {"dataset": study.dataset_id, "unit_kind": study.unit_kind}
    sent |= rows("study_systems", *swapped, stored=2)
    assert send(client, reverse("studies:data", args=[study.pk]), sent).status_code == 302
    positions = study.study_systems.values_list("system", "position")
    assert set(positions) == {(stored[0].system_id, 3), (stored[1].system_id, 2)}


@pytest.mark.parametrize(("initial", "data", "has"), [(0, "1", False), (0, "2", True)])
def test_the_same_number_is_no_change(initial, data, has):
    assert OrderField(min_value=1).has_changed(initial, data) == has


def test_what_was_typed_is_shown_again_as_it_was_typed():
    assert OrderField().prepare_value("3") == "3"
