"""Pages of a running study take a bounded number of statements, whatever its size."""

import pytest
from django.contrib.auth.models import User
from django.urls import reverse

from metrics.services import refresh_report
from metrics.tabs import TABS
from studies.models import Membership
from studies.steps import pages, steps
from tests.studies.factories import make_open_study

pytestmark = pytest.mark.django_db

LIMIT = 12
# Forms and checks that read each part of the design by itself.
MORE = {"settings": 22, "generate-select": 18, "launch": 24, "data": 13}


@pytest.fixture
def study():
    return make_open_study(instances=2, member=User.objects.create_user("ada", is_staff=True))


@pytest.fixture
def visit(client, study, django_assert_max_num_queries):
    refresh_report(study=study)
    client.force_login(Membership.objects.get(study=study).user)

    def visited(address, most):
        with django_assert_max_num_queries(most):
            assert client.get(address).status_code == 200

    return visited


@pytest.mark.parametrize("shown", [*steps(), *pages()], ids=lambda shown: shown.slug)
def test_a_page_takes_few_statements(visit, study, shown):
    visit(reverse(shown.url_name, args=[study.pk]), MORE.get(shown.slug, LIMIT))


@pytest.mark.parametrize("tab", TABS, ids=lambda tab: tab.slug)
def test_a_page_of_results_takes_few_statements(visit, study, tab):
    visit(reverse("metrics:results-tab", args=[study.pk, tab.slug]), LIMIT)


def test_the_part_that_needs_a_person_takes_few_statements(visit, study):
    visit(reverse("metrics:attention", args=[study.pk]), LIMIT + 1)
