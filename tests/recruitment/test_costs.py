"""What a study has cost and will cost: one calculation for all pages about money."""

import re
from datetime import timedelta
from decimal import Decimal

import pytest
from django.contrib.auth.models import User
from django.urls import reverse
from django.utils import timezone
from lxml.html import fromstring

from annotation.counts import progress_of
from annotation.models import Participation
from metrics.collecting.facts import money_facts
from metrics.collecting.needs import needs_of
from recruitment.costs import accounts, forecast, plan_counts, proposal_for, spending_of
from recruitment.ledger import payable
from recruitment.models import Channel, Submission
from recruitment.services.payments import note_payment
from studies.models import Study
from tests.annotation.annotators import annotator
from tests.pages import numbers_in
from tests.studies.factories import make_open_study
from tiebreak.digits import money

pytestmark = [pytest.mark.django_db, pytest.mark.both_databases]


@pytest.fixture(scope="module")
def stored(module_db: None) -> str:
    """A study of 6 responses at 0.50 and 20% fees: 1.20 is paid, and 1.20 is owed."""
    member = User.objects.create_user("ruth", is_staff=True)
    study = make_open_study(
        instances=2, member=member, reward=Decimal("1.00"), hits_per_annotator=2, currency="GBP"
    )
    channel = Channel.objects.create(
        study=study, provider="panel", settings={"fee_percent": "20", "person_parameter": "pid"}
    )
    Channel.objects.create(study=study, provider="open-link", settings={"fee_percent": ""})
    for _ in range(2):
        complete(annotator(study))
    Submission.objects.update(channel=channel)
    Participation.objects.update(status="finished")
    note_payment(participation=study.participations.first(), amount=Decimal("1.00"))
    return study.pk


@pytest.fixture
def study(db: None, stored: str) -> Study:
    return Study.objects.get(pk=stored)


def complete(ann) -> None:
    for _ in range(2 * ann.study.comparisons_per_hit):
        ann.choose()


def costs(study: Study) -> list[Decimal | None]:
    sums = accounts(study).costs
    assert sums is not None
    return [sums.spent, sums.owed, sums.to_come, sums.total]


def amounts(*written: str) -> list[Decimal]:
    return [Decimal(amount) for amount in written]


def test_spent_owed_and_still_to_come_add_up_to_the_forecast(study):
    assert costs(study) == amounts("1.20", "1.20", "1.20", "3.60")


def test_the_list_of_studies_counts_what_is_owed_and_to_come_in_the_same_way(study):
    listed = spending_of(Study.objects.annotate(**plan_counts()))[study.pk]
    spent, owed, to_come, _ = costs(study)
    assert (listed.paid.total, listed.committed.total) == (spent, owed + to_come)


@pytest.mark.parametrize("fee", ["20", "33.3", "12.5", "42.8"])
def test_every_page_expects_the_same_cost_to_the_cent(study, fee):
    Channel.objects.filter(provider="panel").update(settings={"fee_percent": fee})
    Study.objects.update(reward=Decimal("1.01"))
    study = Study.objects.get(pk=study.pk)
    listed = spending_of(Study.objects.annotate(**plan_counts()))[study.pk]
    hits, completed = study.hits.main().count(), progress_of(study).completed
    expected = forecast(study, hits=hits).total
    assert forecast(study, hits=hits, completed=completed).total == expected
    assert costs(study)[3] == listed.paid.total + listed.committed.total == expected


def test_the_reward_that_is_proposed_is_the_smallest_that_keeps_the_promise(study):
    Study.objects.update(minutes_per_hit=7, promised_hourly_rate=Decimal("9.10"))

    def priced(reward: Decimal, tasks: int | None = None):
        study = Study.objects.defer("reward", "hits_per_annotator").get(pk=pk)
        study.reward, study.hits_per_annotator = reward, tasks or 2
        return proposal_for(study, hits=3), forecast(study, hits=3).other_than_promised

    pk = study.pk
    offer, told = priced(Decimal("1.00"))
    assert told[0] == "under_promise"
    assert offer.field == "reward"
    assert str(offer.value) in told[1]
    assert priced(offer.value, offer.maximum) == (None, None)
    assert priced(offer.value - Decimal("0.02"), offer.maximum)[1][0] == "under_promise"


def test_a_payment_moves_from_owed_to_spent(study):
    (row,) = payable(study)
    note_payment(participation=row.participation, amount=Decimal("1.00"))
    assert costs(study) == amounts("2.40", "0", "1.20", "3.60")


def test_a_closed_study_is_to_pay_what_it_owes(study):
    Study.objects.update(status="closed")
    study.refresh_from_db()
    assert costs(study) == amounts("1.20", "1.20", "0", "2.40")


def test_without_the_tasks_per_annotator_the_forecast_is_unknown(study):
    Study.objects.update(hits_per_annotator=None)
    study.refresh_from_db()
    assert costs(study)[2:] == [None, None]


def test_without_a_reward_there_are_no_costs(study):
    Study.objects.update(reward=None)
    study.refresh_from_db()
    assert accounts(study).costs is None
    assert [fact.is_undefined for fact in money_facts(study, accounts(study))] == [True, True]


def test_two_pages_show_the_same_sums(client, study):
    client.force_login(User.objects.get())
    accounting = accounts(study)
    spent, hourly = money_facts(study, accounting)
    most = f"{accounting.maximum.total:.2f}"
    assert (spent.value, numbers_in(spent.detail)) == ("1.20", {"1.20", most})
    assert hourly.value == money(accounting.ledger.money.median_hourly_rate)
    ledger = client.get(reverse("recruitment:ledger", args=[study.pk])).text
    sums = re.search(r"<dl[^>]* data-costs>.*?</dl>", ledger, re.S)
    assert {"1.20", "3.60"} <= numbers_in(sums[0])
    page = client.get(reverse("metrics:dashboard", args=[study.pk])).text
    assert spent.detail in page


@pytest.mark.parametrize("promise", ["0.01", "1000"])
def test_who_got_less_than_promised_stands_out(client, study, promise):
    Study.objects.update(promised_hourly_rate=Decimal(promise))
    study.participations.update(consented_at=timezone.now() - timedelta(hours=1))
    client.force_login(User.objects.get())
    page = fromstring(client.get(reverse("metrics:dashboard", args=[study.pk])).text)
    due = page.xpath("string(//*[@id='fact-hourly']//*[@class='due'])")
    assert re.findall(r"\d+", due) == (["1", "1"] if promise == "1000" else [])


def test_collect_says_what_somebody_gets_who_stops_now_as_their_own_page_does(client):
    owner = User.objects.create_user("oda", is_staff=True)
    study = make_open_study(
        instances=2, member=owner, reward=Decimal("1.00"), hits_per_annotator=2, currency="GBP"
    )
    ann = annotator(study)
    for _ in range(study.comparisons_per_hit):
        ann.choose()
    stopping = ann.client.get(reverse("recruitment:leave", args=[study.pk]))
    assert stopping.context["owed"] == Decimal("0.50")
    client.force_login(owner)
    page = client.get(reverse("metrics:dashboard", args=[study.pk])).text
    assert re.search(r"0\.50 GBP<span[^>]* data-if-they-stop", page)
    spent, _ = money_facts(study, accounts(study))
    assert {"0.00", "0.50"} <= numbers_in(spent.detail)  # owed now, and once they stop
    assert spent.detail in page
    ann.client.post(reverse("recruitment:leave", args=[study.pk]))
    assert "data-if-they-stop" not in client.get(reverse("metrics:dashboard", args=[study.pk])).text


@pytest.mark.parametrize(("people", "words"), [(1, "waits to be paid"), (2, "wait to be paid")])
def test_one_waits_and_two_wait(study, people, words):
    if people == 2:
        study.participations.first().payments.update(status="refused")
    (need,) = [need for need in needs_of(study) if need.code == "awaiting_payment"]
    assert words in need.sentence
