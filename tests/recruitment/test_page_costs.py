"""The pages about participants and payments take few statements, whatever there is to pay."""

from decimal import Decimal

import pytest
from django.contrib.auth.models import User
from django.db import connection
from django.test.utils import CaptureQueriesContext
from django.urls import reverse
from django.utils import timezone

from annotation.models import Participation
from metrics.results.services import refresh_report
from recruitment.models import Channel, Payment, Submission
from studies.models import Study
from tests.annotation.annotators import annotator
from tests.recruitment.test_money import CHANNELS
from tests.studies.factories import make_open_study, make_study

pytestmark = pytest.mark.django_db

LIMIT = 19


@pytest.fixture
def study(client) -> Study:
    """A study with a reward, in which some were paid and others are owed."""
    study = make_open_study(
        instances=3,
        comparisons_per_hit=2,
        hits_per_annotator=2,
        reward=Decimal("2.00"),
        promised_hourly_rate=Decimal("9.00"),
        member=User.objects.create_user("ada", is_staff=True),
    )
    client.force_login(User.objects.get())
    channel = Channel.objects.create(
        study=study, provider="open-link", settings={"fee_percent": "20"}
    )
    people = [annotator(study) for _ in range(3)]
    for person in people:
        person.choose()
        person.choose()
        person.participation.submission.__class__.objects.update(channel=channel)
    Participation.objects.update(status="finished")
    for status in ("paid", "asked"):
        add_payment(people.pop().participation, status)
    return study


def add_payment(participation: Participation, status: str) -> None:
    Payment.objects.create(
        participation=participation,
        amount="2.00",
        currency="GBP",
        kind="reward",
        status=status,
        created_at=participation.created_at,
    )


def statements(client, address: str) -> list[str]:
    """Return the statements of a page, visited once before: Django checks SQLite's JSON once."""
    assert client.get(address).status_code == 200
    with CaptureQueriesContext(connection) as asked:
        assert client.get(address).status_code == 200
    return [query["sql"] for query in asked.captured_queries]


@pytest.mark.sampled(1)
@pytest.mark.parametrize("query", ["", "?search=a&status=finished", "?status=returned"])
def test_the_page_of_participants_takes_few_statements(client, study, query):
    address = reverse("recruitment:ledger", args=[study.pk]) + query
    assert len(statements(client, address)) <= LIMIT


@pytest.mark.parametrize("paid", [True, False])
def test_the_page_of_one_participant_takes_few_statements(client, study, paid):
    people = study.participations.filter(payments__isnull=not paid)
    address = reverse("recruitment:participant", args=[study.pk, people[0].public_id])
    assert len(statements(client, address)) <= LIMIT + 1


def test_the_part_that_needs_a_person_takes_few_statements(client, study):
    assert len(statements(client, reverse("metrics:attention", args=[study.pk]))) <= LIMIT


@pytest.mark.parametrize(("name", "most"), [("metrics:dashboard", 28), ("recruitment:launch", 81)])
def test_the_pages_of_a_study_that_pays_take_few_statements(client, study, name, most):
    """Launch looks again at the warnings with which it was opened, by a fixed number of statements."""
    refresh_report(study=study)
    assert len(statements(client, reverse(name, args=[study.pk]))) <= most


def test_launch_looks_once_at_all_who_were_admitted(client, study: Study) -> None:
    """The forecast and the check of the budget both need them."""
    Study.objects.update(budget=100)
    asked = statements(client, reverse("recruitment:launch", args=[study.pk]))
    assert len([sql for sql in asked if 'AS "may_earn"' in sql]) == 1


@pytest.mark.parametrize("summed", ["screen_out", "amount"])
def test_launch_sums_up_once_what_is_due_and_what_was_paid(client, study: Study, summed) -> None:
    """The forecast and the card beside it both need them, and so does the check of a promised rate."""
    Study.objects.update(promised_hourly_rate=None)
    asked = statements(client, reverse("recruitment:launch", args=[study.pk]))
    assert len([sql for sql in asked if f'AS "{summed}"' in sql]) == 1


def test_launch_takes_as_few_statements_for_many_instances(client):
    def taken(instances: int) -> int:
        study = make_study(instances=instances, member=User.objects.create_user(str(instances)))
        client.force_login(User.objects.get(username=str(instances)))
        User.objects.update(is_staff=True)
        return len(statements(client, reverse("recruitment:launch", args=[study.pk])))

    assert taken(4) == taken(9)


def test_costs_take_as_few_statements_for_many_channels(client, study):
    address = reverse("recruitment:size", args=[study.pk])
    n = len(statements(client, address))
    for provider, settings in CHANNELS.items():
        values = {"study": study, "provider": provider, "defaults": {"settings": settings}}
        Channel.objects.get_or_create(**values)
    assert len(statements(client, address)) == n <= LIMIT


def test_while_nobody_waits_people_are_read_in_the_order_in_which_they_came(client, study: Study):
    """Whoever waits comes first, and to find them takes a look at everybody."""
    address = reverse("recruitment:ledger", args=[study.pk])
    assert [sql for sql in statements(client, address) if "ORDER BY CASE" in sql]
    Submission.objects.update(settled_at=timezone.now())
    assert not [sql for sql in statements(client, address) if "ORDER BY CASE" in sql]


def test_who_waits_is_looked_for_on_the_lists_that_somebody_is_on(client, study: Study):
    address = reverse("recruitment:ledger", args=[study.pk])
    sorting = [sql for sql in statements(client, address) if "ORDER BY CASE" in sql]
    orders = [sql.rpartition("ORDER BY CASE")[2] for sql in sorting]
    assert [sql for sql in orders if "platform_status" in sql]  # those who await payment
    assert not [sql for sql in orders if '"late"' in sql]


@pytest.mark.parametrize("name", ["recruitment:ledger", "metrics:dashboard", "metrics:attention"])
def test_a_page_of_people_reads_no_table_of_all_studies(client, study: Study, name: str) -> None:
    """PostgreSQL answers `EXISTS` inside a larger condition by hashing what all studies have."""
    with CaptureQueriesContext(connection) as captured:
        client.get(reverse(name, args=[study.pk]))
    of_people = [one["sql"] for one in captured if 'FROM "annotation_participation"' in one["sql"]]
    assert of_people
    assert not [sql for sql in of_people if "EXISTS(" in sql]
