"""Members of a study are entered by name, because no list of users is offered."""

import pytest
from django.contrib.auth.models import User
from django.test import Client
from django.urls import reverse

from studies.models import Dataset, Study
from tests.pages import send, send_step
from tests.studies.factories import make_dataset, make_study

pytestmark = pytest.mark.django_db


@pytest.fixture
def study(ruth: User) -> Study:
    return make_study(instances=1, member=ruth)


def members_page(study: Study) -> str:
    return reverse("studies:members", args=[study.pk])


def data_page(study: Study) -> str:
    return reverse("studies:data", args=[study.pk])


def save(client: Client, study: Study, entered: str):
    membership = study.memberships.get(user__username="ruth")
    rows = {
        "memberships-TOTAL_FORMS": 2,
        "memberships-INITIAL_FORMS": 1,
        "memberships-0-id": membership.pk,
        "memberships-0-study": study.pk,
        "memberships-0-user": "ruth",
        "memberships-0-role": "owner",
        "memberships-1-id": "",
        "memberships-1-study": study.pk,
        "memberships-1-user": entered,
        "memberships-1-role": "editor",
    }
    return send(client, members_page(study), rows)


def members(study: Study) -> set[str]:
    return set(study.memberships.values_list("user__username", flat=True))


@pytest.mark.thorough
def test_a_member_is_added_by_their_exact_name_or_address(client, study):
    for name in ("bea", "cy"):
        User.objects.create_user(name, email=f"{name}@example.org", is_staff=True)
    assert save(client, study, "bea").status_code == 302
    assert members(study) == {"ruth", "bea"}
    study.memberships.filter(user__username="bea").delete()
    assert save(client, study, "CY@example.org").status_code == 302
    assert members(study) == {"ruth", "cy"}


def test_only_members_are_named_on_the_page(client, study):
    User.objects.create_user("secretive", email="s@example.org", is_staff=True)
    html = client.get(members_page(study)).content.decode()
    assert "secretive" not in html
    assert 'value="ruth"' in html


@pytest.mark.thorough
def test_all_failed_lookups_give_the_same_error(client, study):
    User.objects.create_user("left", is_staff=True, is_active=False)
    User.objects.create_user("annotator")
    for name in ("twin-1", "twin-2"):
        User.objects.create_user(name, email="twins@example.org", is_staff=True)
    entries = ("nobody", "bea%", "left", "annotator", "twins@example.org", "RUTH ")
    errors_by_entry = {}
    for entered in entries:
        page = save(client, study, entered)
        assert page.status_code == 200
        formset = page.context["inline_admin_formsets"]
        errors = [
            f.errors.as_data() for inline in formset for f in inline.formset.forms if f.errors
        ]
        errors_by_entry[entered] = [
            (name, error.code) for e in errors for name in e for error in e[name]
        ]
    assert set(map(str, errors_by_entry.values())) == {"[('user', 'nobody')]"}
    assert members(study) == {"ruth"}


def test_a_study_offers_the_systems_of_its_own_dataset_alone(client, ruth, study):
    other = make_dataset(instances=1)
    other.created_by = ruth
    other.save()
    html = client.get(data_page(study)).content.decode()
    offered = set(
        html.split('name="study_systems-__prefix__-system"')[1].split("</select>")[0].split('"')
    )
    assert {str(pk) for pk in study.dataset.systems.values_list("pk", flat=True)} <= offered
    assert not {str(pk) for pk in other.systems.values_list("pk", flat=True)} & offered


def test_a_study_without_a_dataset_offers_no_system(client, ruth):
    study = make_study(instances=1, member=ruth)
    Dataset.objects.update(created_by=ruth)
    study.study_systems.all().delete()
    Study.objects.update(dataset=None)
    html = client.get(data_page(study)).content.decode()
    assert 'name="dataset"' in html
    assert "study_systems-" not in html


def system_rows(study: Study, *systems: int) -> dict[str, object]:
    rows = {"study_systems-TOTAL_FORMS": len(systems), "study_systems-INITIAL_FORMS": 0}
    for i, pk in enumerate(systems):
        rows[f"study_systems-{i}-system"] = pk
        rows[f"study_systems-{i}-position"] = i + 1
        rows[f"study_systems-{i}-study"] = study.pk
    return rows


def test_a_system_of_another_dataset_is_refused_when_it_is_sent_anyway(client, ruth, study):
    other = make_dataset(instances=1)
    other.created_by = ruth
    other.save()
    study.study_systems.all().delete()
    rows = system_rows(study, other.systems.first().pk)
    assert send_step(client, data_page(study), **rows).status_code == 200
    assert not study.study_systems.exists()
    rows = system_rows(study, study.dataset.systems.first().pk)
    assert send_step(client, data_page(study), **rows).status_code == 302
    assert study.study_systems.count() == 1


def test_with_another_dataset_the_old_ones_systems_are_refused(client, ruth, study):
    other = make_dataset(instances=1)
    other.created_by = ruth
    other.save()
    study.study_systems.all().delete()
    rows = system_rows(study, study.dataset.systems.first().pk)
    page = send_step(client, data_page(study), dataset=other.pk, **rows)
    assert page.status_code == 200
    study.refresh_from_db()
    assert study.dataset != other
    assert send_step(client, data_page(study), dataset=other.pk).status_code == 302
    study.refresh_from_db()
    assert {system.dataset for system in study.ordered_systems()} == {other}
