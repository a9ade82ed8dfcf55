"""What is announced, admitted and owed, case by case; `test_money` lets people do as they like."""

import re
from datetime import timedelta
from decimal import Decimal
from math import prod

import pytest
from django.urls import reverse
from django.utils import timezone

from annotation.counts import NO_PLACES
from annotation.models import Assignment, Participation
from annotation.services.exclusion import exclude_work
from annotation.services.participations import finish_participation
from annotation.services.planning import plan_hits
from annotation.services.screening import begin_stage
from metrics.collecting.needs import needs_of
from metrics.results.collection_figure import pace, progress_figure
from recruitment.admission import maximum
from recruitment.costs import accounts, forecast, plan_counts, spending_of
from recruitment.ledger import ledger
from recruitment.models import Channel, Payment
from recruitment.pay import Asked, Collection, Cost, Pay
from recruitment.platforms import PlatformReport, SubmissionStatus, get_platform, platforms
from recruitment.services.channels import close_channel, reopen_channel, set_up_channel
from recruitment.services.launch_checks import launch_checks
from recruitment.services.lifecycle import close_study
from recruitment.services.participants import amount_for, pay_awaiting, reinstate_participant
from recruitment.services.payments import note_payment, store_payment
from recruitment.services.platform_sync import apply_reports
from recruitment.terms import owed
from studies.models import Screening, Study
from tests.annotation.annotators import Annotator
from tests.annotation.places import take_place
from tests.annotation.services.test_screening import answer_all
from tests.pages import codes_on, numbers_in
from tests.recruitment.test_money import a_study, change, enter, opened
from tests.refusals import refused
from tests.studies.factories import make_study, open_knowingly
from tiebreak.digits import in_cents, money

pytestmark = pytest.mark.django_db
NOW = timezone.now()
PAYING = {"instances": 6, "ratings_per_hit": 1, "hits_per_annotator": 20, "reward": Decimal(3)}


def test_tasks_that_run_out_are_owed_and_not_the_whole_reward():
    study = opened(**PAYING)
    Channel.objects.update(settings={"most_people": 6})
    for name in "abcdef":
        person = enter(study, "open-link", name)
        answer_all(take_place(participation=person))
    Participation.objects.update(status="finished")
    awaiting = [row.participation for row in ledger(study).rows_on("awaiting_payment")]
    assert [owed(participation) for participation in awaiting] == [Decimal("0.15")] * 6
    assert ledger(study).owed.amount == forecast(study, hits=6).total == Decimal("0.90")
    assert maximum(study).total == Decimal("5.40")


def test_a_study_that_became_unpaid_costs_what_was_agreed():
    study = opened(**PAYING | {"hits_per_annotator": 3})
    enter(study, "open-link", "a")
    cost = forecast(change(study, reward=None), hits=6)
    assert cost.total == cost.maximum.total == Decimal("3.00")


def test_a_place_is_reserved_at_entry_and_given_back_by_who_does_nothing(client):
    study, now = opened(**PAYING), timezone.now()
    welcome = reverse("recruitment:welcome", args=[study.pk])
    first = enter(study, "open-link", "a", now)
    tab = take_place(participation=first, now=now)
    enter(study, "open-link", "b", now + timedelta(minutes=20))
    with refused("channel_full"):
        enter(study, "open-link", "c", now + timedelta(minutes=20))
    assert codes_on(client.get(welcome)) == {"channel_full"}
    enter(study, "open-link", "c", now + timedelta(minutes=40))
    first.refresh_from_db()
    assert first.status == "released"
    with refused("released"):
        answer_all(tab, now=now + timedelta(minutes=41))


def test_who_is_taken_back_after_others_took_the_place_is_released():
    study = opened(**PAYING)
    first = enter(study, "open-link", "a")
    exclude_work(participation=first, status="returned")
    for name in "bc":
        enter(study, "open-link", name)
    reinstate_participant(participation=first)
    first.refresh_from_db()
    assert first.status == "released"


def test_nobody_is_asked_to_agree_to_a_full_study(client):
    study = opened(**PAYING | {"instances": 1})
    answer_all(take_place(participation=enter(study, "open-link", "a")))
    assert codes_on(client.get(reverse("recruitment:welcome", args=[study.pk]))) == {"study_full"}
    with refused("study_full"):
        enter(study, "open-link", "b")


def set_up(study: Study, provider: str, **settings) -> None:
    set_up_channel(study=study, platform=get_platform(provider), settings=settings)


TOP_UPS = {
    "more ratings": lambda study: change(study, ratings_per_hit=9),
    "a higher reward": lambda study: change(study, reward=Decimal("3.50")),
    "a lower budget": lambda study: change(study, budget=Decimal(1)),
    "more people": lambda study: set_up(study, "open-link", most_people=3),
    "a new channel": lambda study: set_up(study, "panel", person_parameter="pid"),
    "an open channel": lambda study: reopen_channel(channel=study.channels.get(provider="panel")),
}


@pytest.mark.sampled(2)
@pytest.mark.parametrize("top_up", TOP_UPS)
def test_nothing_exceeds_the_budget(top_up):
    study = opened(**PAYING)
    person = enter(study, "open-link", "a")
    answer_all(take_place(participation=person))
    if top_up == "an open channel":
        set_up(study, "panel", person_parameter="pid")
        close_channel(channel=study.channels.get(provider="panel"))
    change(study, budget=maximum(study).total)
    with refused("over_budget"):
        TOP_UPS[top_up](study)
    change(study, guidelines="Something else.")
    finish_participation(participation=person)
    pay_awaiting(study=study, total=ledger(study).owed.amount)  # what is reserved can be paid


def test_what_was_agreed_outlives_every_change():
    study = opened(["prolific"], test=True, **PAYING | {"hits_per_annotator": 1})
    failed, passed = (enter(study, "prolific", name) for name in "ab")
    answer_all(begin_stage(participation=failed), right=False)
    answer_all(begin_stage(participation=passed))
    answer_all(take_place(participation=passed))
    set_up(study, "prolific", screen_out_reward=None)
    change(study, hits_per_annotator=20, reward=Decimal("1.00"))
    people = study.participations.order_by("pk")
    assert [owed(person) for person in people] == [Decimal("0.40"), Decimal("3.00")]
    with refused("limit_reached"):
        take_place(participation=passed)


def test_the_maximum_has_bonuses_and_people_whose_link_was_replaced():
    study = opened([], **PAYING)
    bonus = {"kind": Payment.Kind.BONUS, "status": "paid", "amount": Decimal(2), "created_at": NOW}
    store_payment(Payment(participation=enter(study, "open-link", "a"), **bonus))
    assert maximum(study).total == Decimal("1.80") + 2
    set_up(study, "panel", person_parameter="pid")
    amounts = {one.channel.provider: one.amount for one in maximum(study).channels}
    assert amounts["open-link"] == Decimal("0.90") + 2


def test_a_draft_can_cost_what_it_can_cost_once_it_is_planned():
    draft = make_study(**PAYING)
    before = maximum(draft)
    plan_hits(study=draft)
    for most in (before, maximum(draft)):
        assert (most.total, most.channels[0].most_people) == (Decimal("1.80"), 2)


def test_a_draft_has_no_costs_beside_its_forecast():
    """Nothing is committed, but a total of nothing would contradict what Size & pay says."""
    draft = a_study(**PAYING)
    assert accounts(draft).costs is None
    assert accounts(open_knowingly(draft)).costs.total == Decimal("0.90")


def test_a_draft_that_cannot_be_planned_yet_has_no_maximum_of_people():
    assert maximum(make_study(**PAYING | {"instances": 0})).channels[0].most_people is None


def test_a_study_beyond_its_budget_does_not_open_and_admits_nobody():
    study = a_study(**PAYING, budget=Decimal("1.79"))
    assert forecast(study, hits=6).is_over_budget
    with refused("over_budget"):
        open_knowingly(study)
    Study.objects.update(budget=Decimal("1.80"))
    study = open_knowingly(Study.objects.get())
    Study.objects.update(budget=Decimal("0.89"))
    with refused("over_budget"):
        enter(study, "open-link", "a")


@pytest.mark.parametrize(
    ("provider", "settings", "design", "warns"),
    [
        ("panel", {}, {"hits_per_annotator": 6}, False),
        ("panel", {}, {}, True),  # twenty tasks for the reward, of which six exist
        ("panel", {"most_people": 9}, {"hits_per_annotator": 6}, True),
        ("open-link", {"most_people": 9}, {}, False),
    ],
)
def test_a_payment_for_tasks_that_do_not_exist_is_warned_of(provider, settings, design, warns):
    study = a_study(**PAYING | design)
    Channel.objects.create(study=study, provider=provider, settings=settings)
    codes = {check.code for check in launch_checks(study)}
    assert ("pays_for_missing_tasks" in codes) == warns


def test_an_hour_counts_everything_that_is_asked():
    study = a_study(test=True, gold=True, **PAYING, comparisons_per_hit=2)
    study.guidelines, study.consent = "word " * 500, "word " * 300
    Screening.objects.update(training_units=3, check_rate=0.5)
    study.comprehension.create(text="?", choices="a\nb")
    cost = forecast(study, hits=3)
    assert cost.asked.minutes == 4 + 0.5 + 3 * 2 + (3 + 1 + 0.5 * 3) * 1
    assert cost.hourly_rate == (Decimal("0.45") * 60 / 16).quantize(Decimal("0.01"))


@pytest.mark.parametrize("reward", [Decimal(3), None])
def test_every_channel_names_the_test_and_what_who_fails_it_gets(admin_client, reward):
    """As a preview, for which no link has to be signed."""
    study = opened([], test=True, **PAYING | {"reward": reward})
    address = reverse("recruitment:preview", args=[study.pk])
    for provider in platforms():
        channel = Channel.objects.create(study=study, provider=provider)
        for stated in ({}, {"screen_out_reward": "0.40"}):
            Channel.objects.filter(pk=channel.pk).update(settings=stated)
            page = admin_client.get(address, {"page": "welcome", "via": provider}).text
            (told,) = re.findall(r"<li data-test>(.*?)</li>", page, re.S)
            assert numbers_in(told) == {"1", *(["0.40"] if stated else [])}, provider  # 1 of 1 item


@pytest.mark.parametrize("has_test", [True, False])
def test_the_guidelines_say_whether_a_test_follows(has_test):
    study = opened(["open-link"], test=has_test, **PAYING)
    person, version = Annotator(study), study.versions.count()
    person.client.post(f"/s/{study.pk}/", {"choice": "agree", "version": version})
    assert ("data-test-follows" in person.here().text) == has_test


@pytest.mark.parametrize(("opened", "has_pace"), [(120, True), (60, False)])
def test_an_import_has_no_pace(opened, has_pace):
    """Its responses were given before the study was opened here."""
    first = NOW - timedelta(minutes=90)
    counts = NO_PLACES.__class__(20, 7, 0, 7, first, NOW, None)
    study = Study(status="open", opened_at=NOW - timedelta(minutes=opened))
    shown = progress_figure(study, counts, [(first, 0), (NOW, 7)])
    assert bool(numbers_in(shown.finding)) == has_pace


def test_a_report_beyond_the_budget_is_recorded_said_and_counted(admin_client):
    study = opened(["prolific"], most_people=1, **PAYING)
    person = enter(study, "prolific", "a")
    answer_all(take_place(participation=person))
    change(study, budget=maximum(study).total)
    ledger_page = reverse("recruitment:ledger", args=[study.pk])
    report = PlatformReport("visit", "ghost", "APPROVED", SubmissionStatus.APPROVED)
    for n, says in ((0, set()), (1, {"beyond_budget"})):
        apply_reports(channel=study.channels.get(), reports=[report] * n, now=NOW)
        assert Payment.objects.count() == n
        assert codes_on(admin_client.get(ledger_page)) & {"beyond_budget"} == says
        needs = needs_of(Study.objects.get())
        assert {need.code for need in needs} & {"beyond_budget"} == says
    with refused("over_budget"):
        note_payment(participation=person, amount=Decimal("3.01"))
    note_payment(participation=person, amount=Decimal("3.00"))  # as owed as before


@pytest.mark.parametrize(
    ("status", "reward", "total"),
    [
        ("finished", "3.00", "0.50 + 5 × 1.50"),
        ("active", "3.00", "2 × 0.50 + 4 × 1.50"),
        ("active", "0.20", "2 × 0.50 + 4 × 0.10"),
    ],
)
def test_a_forecast_has_what_each_person_agreed_to(status, reward, total):
    study = opened(**PAYING | {"hits_per_annotator": 2, "reward": Decimal(1)})
    answer_all(take_place(participation=enter(study, "open-link", "a")))
    change(study, reward=Decimal(reward))
    answer_all(take_place(participation=enter(study, "open-link", "b")))
    Participation.objects.update(status=status)
    study = Study.objects.annotate(**plan_counts()).get()
    parts = (part.split(" × ") for part in total.split(" + "))
    total = sum(prod(map(Decimal, part)) for part in parts)
    cost = forecast(study, hits=6)
    assert cost.total == accounts(study).costs.total == total <= cost.maximum.total
    assert spending_of([study])[study.pk].committed.total == total
    newcomer = study.participations.order_by("pk").last()
    note_payment(participation=newcomer, amount=Decimal(reward) / 2)
    assert forecast(study, hits=6).total == accounts(study).costs.total == total


@pytest.mark.parametrize("status", ["active", "finished"])
def test_one_payment_is_forecast_whole_although_tasks_run_out(status):
    """Twenty tasks for 3.00 and a third in fees, of which six exist."""
    study = opened(["prolific"], **PAYING)
    whole = Decimal("4.00")
    assert forecast(study, hits=6).total == accounts(study).costs.total == whole
    person = enter(study, "prolific", "a")
    for _ in range(6):
        answer_all(take_place(participation=person))
        assert accounts(study).costs.total >= whole
    Participation.objects.update(status=status)
    assert forecast(study, hits=6).total == accounts(study).costs.total == whole
    note_payment(participation=person, amount=Decimal(3))
    assert forecast(study, hits=6).total == accounts(study).costs.total == whole


def test_the_currency_of_what_was_agreed_stays():
    study = opened(**PAYING)
    with refused("frozen_design", naming="currency"):
        change(study, currency="EUR")


def test_an_amount_with_fees_has_one_rounding_wherever_it_stands():
    pay = Pay(Decimal("1.00"), tasks=3, planned=9, fee_percent=Decimal("33.3"))
    for cents in range(1, 400):
        amount = Decimal(cents) / 100
        cost = Cost.of(amount, pay.fee_percent)
        assert pay.with_fees(amount) == cost.total == amount + in_cents(cost.fees)
        assert money(cost.fees) == str(cost.in_cents.fees)
    assert (money(Decimal("22.025")), money(22.025)) == ("22.03", "22.03")


def test_every_share_is_a_whole_number_of_cents_and_never_less_than_its_part():
    pay = Pay(Decimal("1.00"), tasks=3, planned=9, fee_percent=Decimal("33.3"))
    assert [pay.for_tasks(done) for done in (1, 2, 3, 4)] == [
        *(Decimal("0.34"), Decimal("0.67"), Decimal("1.00"), Decimal("1.00"))
    ]
    assert (pay.is_rounded, pay.with_fees(Decimal("0.34"))) == (True, Decimal("0.45"))
    assert pay.expected(Collection(hits=9, places=9)) == Decimal("3.00")
    assert Cost.of(Decimal("0.335"), Decimal("50")).total == Decimal("0.51")


@pytest.mark.parametrize("abandoned", ["whole_hit", "units"])
def test_a_task_that_was_answered_after_the_end_is_paid(abandoned):
    study = opened(**PAYING, abandoned=abandoned)
    person = enter(study, "open-link", "a")
    task = take_place(participation=person)
    close_study(study=study)
    answer_all(Assignment.objects.get(pk=task.pk))
    later = timezone.now() + timedelta(days=1)
    assert ledger(study, later).rows[0].hits == 1


def test_bots_are_owed_nothing():
    study = opened(**PAYING)
    answer_all(take_place(participation=enter(study, "open-link", "a")))
    Participation.objects.update(simulated=True, status="finished")
    assert (ledger(study).rows_on("awaiting_payment"), ledger(study).owed.amount) == ([], 0)
    with refused("bots_unpaid"):
        amount_for(study.participations.get())
    Study.objects.update(dry_run_of=study.pk)
    assert accounts(Study.objects.get()).costs is None


@pytest.mark.parametrize(("minutes", "n", "expected"), [(30, 11, 20), (5, 11, None), (90, 7, 7)])
def test_the_pace_of_the_first_hour_is_of_the_time_that_has_passed(minutes, n, expected):
    first = NOW - timedelta(minutes=minutes)
    counts = NO_PLACES.__class__(20, n, 0, n, first, NOW, None)
    assert pace(counts, NOW) == expected


def test_every_channel_can_have_a_maximum_of_people():
    assert all("most_people" in one.settings_form.base_fields for one in platforms().values())


@pytest.mark.parametrize(
    ("total", "limited"),
    [("-1", ("0", "0")), ("0", ("0", "0")), ("6", ("5.00", "1.00")), ("99", ("10", "2"))],
)
def test_a_cost_is_limited_in_its_proportion_and_never_below_nothing(total, limited):
    assert Cost(Decimal(10), Decimal(2)).at_most(Decimal(total)) == Cost(*map(Decimal, limited))
    assert Cost().at_most(Decimal(total)) == Cost()


@pytest.mark.parametrize("minutes_per_task", [1.13, 1.5, 3.7])
def test_the_minutes_that_are_shown_are_those_of_the_hourly_pay(minutes_per_task):
    asked = Asked(minutes_per_task, 1, tasks=14, words=333, questions=3, test=4, check_rate=0.15)
    assert all(round(minutes, 1) == minutes for minutes in asked.parts.values())
    assert asked.minutes == round(sum(asked.parts.values()), 1)


def test_what_is_about_paid_for_a_task_promises_no_more_than_is_paid():
    pay = Pay(reward=Decimal("3.67"), tasks=14, planned=14)
    assert pay.about_per_task == Decimal("0.26")
    assert all(pay.about_per_task * n <= pay.for_tasks(n) for n in range(1, 15))
