"""The admin's addresses reveal nothing beyond what its pages show."""

from collections.abc import Iterator
from urllib.parse import urlencode

import pytest
from django.contrib import admin
from django.contrib.auth.models import User
from django.db import models
from django.test import Client
from django.urls import reverse

from studies.models import Study
from tests.studies.factories import make_study

pytestmark = pytest.mark.django_db

REGISTERED = [
    pytest.param(model, id=model._meta.label)
    for model, model_admin in admin.site._registry.items()
    if not model._meta.abstract
]


@pytest.fixture
def root(client: Client) -> Client:
    client.force_login(User.objects.create_superuser("root", email="root@example.org"))
    make_study(instances=1, member=User.objects.get())
    return client


@pytest.fixture
def ruth(client: Client) -> Client:
    user = User.objects.create_user("ruth", is_staff=True)
    client.force_login(user)
    make_study(instances=1, member=user)
    return client


def listed(model: type[models.Model]) -> str:
    return reverse(f"admin:{model._meta.app_label}_{model._meta.model_name}_changelist")


def fields(model: type[models.Model]) -> Iterator[models.Field]:
    yield from (field for field in model._meta.get_fields() if hasattr(field, "name"))


def lookups(model: type[models.Model]) -> Iterator[str]:
    """Yield lookups of every field of a model and of models at one or two relations from it."""
    for field in fields(model):
        yield from (f"{field.name}__{how}" for how in ("startswith", "regex", "gt", "in"))
        if field.related_model is not None:
            for far in fields(field.related_model):
                yield f"{field.name}__{far.name}__startswith"
                if far.related_model is not None:
                    for end in fields(far.related_model):
                        yield f"{field.name}__{far.name}__{end.name}__startswith"


@pytest.mark.parametrize("model", REGISTERED)
def test_a_list_is_filtered_by_nothing_that_its_page_does_not_offer(model):
    model_admin = admin.site._registry[model]
    allowed = [lookup for lookup in lookups(model) if model_admin.lookup_allowed(lookup, "a", None)]
    assert allowed == []


def test_a_secret_seed_is_not_told_letter_by_letter(ruth):
    for lookup in ("seed__startswith", "seed", "participations__completion_code__startswith"):
        answer = ruth.get(f"{listed(Study)}?{urlencode({lookup: 'a'})}")
        assert answer.status_code == 400


@pytest.mark.parametrize("model", REGISTERED)
def test_a_list_refuses_secrets_to_a_superuser_too(root, model):
    names = [field.name for field in model._meta.concrete_fields]
    answers = {n: root.get(f"{listed(model)}?{n}__startswith=a").status_code for n in names}
    assert set(answers.values()) == {400}


@pytest.mark.parametrize("model", REGISTERED)
def test_filters_that_the_page_offers_work(root, model):
    page = root.get(listed(model))
    specs = page.context["cl"].filter_specs
    offered = [c["query_string"] for spec in specs for c in spec.choices(page.context["cl"])]
    for query in offered:
        assert root.get(listed(model) + query).status_code == 200


def test_every_filter_of_studies_is_followed(root):
    page = root.get(f"{listed(Study)}?status__exact=draft")
    assert page.status_code == 200
    assert page.context["cl"].result_count == 1
    assert root.get(f"{listed(Study)}?status__exact=open").context["cl"].result_count == 0


@pytest.mark.parametrize("query", ["_to_field=seed", "_popup=1&_to_field=seed"])
def test_no_other_field_stands_for_a_studys_id(ruth, query):
    study = Study.objects.get()
    change_page = reverse("admin:studies_study_change", args=[study.seed])
    assert ruth.get(f"{listed(Study)}?{query}").status_code == 400
    assert ruth.get(f"{change_page}?{query}").status_code in {400, 404}


def test_a_list_is_ordered_by_its_columns_alone(ruth):
    for order in ("seed", "-seed", "99", "1.seed", "memberships__user__password"):
        page = ruth.get(f"{listed(Study)}?{urlencode({'o': order})}")
        ordered = {column.lstrip("-") for column in page.context["cl"].queryset.query.order_by}
        assert ordered <= {"pk", "title", "status", "created_at"}


def test_a_search_looks_at_titles_alone(ruth):
    study = Study.objects.get()
    assert ruth.get(f"{listed(Study)}?q=better").context["cl"].result_count == 1
    for secret in (study.seed, study.pk):
        assert ruth.get(f"{listed(Study)}?q={secret}").context["cl"].result_count == 0


@pytest.mark.parametrize("source", [("membership", "user"), ("membership", "study")])
def test_completion_names_no_users_and_no_foreign_studies(ruth, source):
    User.objects.create_user("secretive")
    make_study(instances=1)
    model, field = source
    query = urlencode({"app_label": "studies", "model_name": model, "field_name": field})
    answer = ruth.get(f"{reverse('admin:autocomplete')}?{query}")
    if answer.status_code == 200:
        studies = list(Study.objects.filter(memberships__user__username="ruth"))
        assert [row["id"] for row in answer.json()["results"]] == [study.pk for study in studies]
    else:
        assert answer.status_code == 403


def test_no_other_address_takes_a_look_up(ruth):
    study = Study.objects.get()
    for name in ("metrics:report", "metrics:dashboard"):
        address = reverse(name, args=[study.pk])
        plain, asked = ruth.get(address), ruth.get(f"{address}?seed__startswith=zzz&ordering=seed")
        assert plain.status_code == asked.status_code
