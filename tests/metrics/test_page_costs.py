"""Pages of a running study take a bounded number of statements, whatever its size."""

import pytest
from django.contrib.auth.models import User
from django.contrib.contenttypes.models import ContentType
from django.db import connection
from django.test.utils import CaptureQueriesContext
from django.urls import reverse
from django.utils import timezone

from metrics.models import ReportSnapshot
from metrics.results.question_pages import PAGES
from metrics.results.selectors import stored_rows
from metrics.results.services import refresh_report
from studies.design.steps import pages, steps
from studies.models import Membership, Study
from tests.metrics.test_freshness import rated
from tests.studies.factories import make_open_study

pytestmark = pytest.mark.django_db

LIMIT = 12
# Launch has many checks and lists what was frozen, and the settings ask for the machine raters. Collect
# shows progress, money, people and channels. Launch and preview look which stages there are, and Quality
# which stages nobody began, of how many instances copies can be made, and whom reference items meet.
# Generate & select shows jobs, a trial and what there is of each stage and left to score, and its forms begin
# as the last job.
WITH_COSTS = {
    "overview": 15,
    "launch": 22,
    "generate-select": 17,
    "preview": 15,
    "settings": 13,
    "quality": 15,
}


@pytest.fixture
def study():
    return make_open_study(instances=2, member=User.objects.create_user("ada", is_staff=True))


@pytest.fixture
def visit(client, study, django_assert_max_num_queries):
    refresh_report(study=study)
    client.force_login(Membership.objects.get(study=study).user)
    # A process looks it up once:
    ContentType.objects.get_for_model(Study)

    def visited(address, most=LIMIT):
        with django_assert_max_num_queries(most):
            assert client.get(address).status_code == 200

    return visited


@pytest.mark.parametrize("shown", [*steps(), *pages()], ids=lambda shown: shown.slug)
def test_a_page_takes_few_statements(visit, study, shown):
    address = shown.url_of(study)
    visit(address, WITH_COSTS.get(shown.slug, LIMIT))


def test_texts_are_not_counted_while_nothing_is_scored(client, study):
    """Of a large dataset that takes longer than all else on the page."""
    client.force_login(Membership.objects.get(study=study).user)
    with CaptureQueriesContext(connection) as captured:
        client.get(reverse("metrics:generate-select", args=[study.pk]))
    assert not [one["sql"] for one in captured if 'COUNT("studies_generation"' in one["sql"]]


@pytest.mark.parametrize("tab", PAGES, ids=lambda tab: tab.slug)
def test_a_page_of_results_takes_few_statements(visit, study, tab):
    visit(reverse("metrics:results-tab", args=[study.pk, tab.slug]))


def test_the_part_that_needs_a_person_takes_few_statements(visit, study):
    visit(reverse("metrics:attention", args=[study.pk]), LIMIT)


def test_what_a_report_has_of_each_annotator_is_read_once(client, study, monkeypatch):
    for name in ("ann", "bob"):
        rated(study, name)
    refresh_report(study=study)
    client.force_login(Membership.objects.get(study=study).user)
    address = reverse("metrics:results-tab", args=[study.pk, "by-rater"])
    read = []
    monkeypatch.setattr(
        "metrics.results.views.stored_rows",
        lambda snapshot, *, with_raters=True: (
            read.append(snapshot.made_at) if with_raters else None,
            stored_rows(snapshot, with_raters=with_raters),
        )[1],
    )
    client.get(address)
    client.get(address)
    assert len(read) == 1
    client.get(f"{address}?rater=somebody")
    assert len(read) == 2
    ReportSnapshot.objects.filter(study=study).update(made_at=timezone.now())  # a newer report
    client.get(address)
    assert len(set(read)) == 2
