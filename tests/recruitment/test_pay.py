"""What is announced, admitted and owed, case by case; `test_money` lets people do as they like."""

from datetime import timedelta
from decimal import Decimal

import pytest
from django.urls import reverse
from django.utils import timezone

from annotation.counts import NO_PLACES
from annotation.models import Assignment, Participation
from annotation.services.exclusion import exclude_work
from annotation.services.participations import finish_participation
from annotation.services.places import take_place
from annotation.services.planning import plan_hits
from annotation.services.screening import begin_stage
from metrics.figures.collection import pace
from recruitment.admission import maximum
from recruitment.costs import accounts, forecast
from recruitment.launch.money import tasks_for_each_payment
from recruitment.ledger import ledger
from recruitment.models import Channel, Payment
from recruitment.pay import Asked
from recruitment.platforms import get_platform, platforms
from recruitment.services.channels import close_channel, reopen_channel, set_up_channel
from recruitment.services.lifecycle import close_study
from recruitment.services.participants import (
    amount_for,
    pay_awaiting,
    pay_bonus,
    pay_participant,
    reinstate_participant,
)
from recruitment.services.payments import note_payment, store_payment
from recruitment.services.platform_actions import ACTIONS
from recruitment.services.settings import save_settings
from recruitment.terms import owed
from studies.models import Study
from tests.annotation.services.test_screening import answer_all
from tests.pages import codes_on
from tests.recruitment.test_money import a_study, enter, opened
from tests.refusals import refused
from tests.studies.factories import make_study, open_knowingly

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
    awaiting = [row.participation for row in ledger(study).awaiting_payment]
    assert [owed(participation) for participation in awaiting] == [Decimal("0.15")] * 6
    assert ledger(study).owed.amount == forecast(study, hits=6).total == Decimal("0.90")
    assert maximum(study).total == Decimal("5.40")


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


def change(study: Study, **values) -> None:
    study = Study.objects.get(pk=study.pk)
    for name, value in values.items():
        setattr(study, name, value)
    save_settings(study=study)


def set_up(study: Study, provider: str, **settings) -> None:
    set_up_channel(study=study, platform=get_platform(provider), settings=settings)


def pay(study: Study, verb: str) -> None:
    """Pay somebody by this verb more than anybody announced."""
    person, amount = study.participations.get(), Decimal("9.00")
    bonus = {"reason": "Well done.", "request_key": "once"}
    asked = {"kind": "bonus", "amount": str(amount), "participation": person.public_id}
    {
        "amount": lambda: pay_participant(participation=person, amount=amount),
        "mark": lambda: note_payment(participation=person, amount=amount),
        "bonus": lambda: pay_bonus(participation=person, amount=amount, **bonus),
        "worker": lambda: ACTIONS["pay"](person.submission.channel, asked),
    }[verb]()


TOP_UPS = {
    "another amount": lambda study: pay(study, "amount"),
    "an amount paid elsewhere": lambda study: pay(study, "mark"),
    "a bonus": lambda study: pay(study, "bonus"),
    "a bonus whose request waited": lambda study: pay(study, "worker"),
    "more ratings": lambda study: change(study, ratings_per_hit=9),
    "a higher reward": lambda study: change(study, reward=Decimal("3.50")),
    "a lower budget": lambda study: change(study, budget=Decimal(1)),
    "more people": lambda study: set_up(study, "open-link", most_people=3),
    "a new channel": lambda study: set_up(study, "panel", person_parameter="pid"),
    "an open channel": lambda study: reopen_channel(channel=study.channels.get(provider="panel")),
}


@pytest.mark.parametrize("top_up", TOP_UPS)
def test_nothing_exceeds_the_budget(top_up):
    study = opened(**PAYING)
    person = enter(study, "open-link", "a")
    answer_all(take_place(participation=person))
    if "bonus" in top_up:
        channel = Channel.objects.create(study=study, provider="prolific", secret="x")
        person.submission.__class__.objects.update(channel=channel)
    if top_up == "an open channel":
        set_up(study, "panel", person_parameter="pid")
        close_channel(channel=study.channels.get(provider="panel"))
    change(study, budget=maximum(study).total)
    with refused("over_budget"):
        TOP_UPS[top_up](study)
    assert not Payment.objects.exists()
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
    codes = {check.code for check in tasks_for_each_payment(study)}
    assert codes == ({"pays_for_missing_tasks"} if warns else set())


def test_an_hour_counts_everything_that_is_asked():
    tasks = {"minutes_per_task": 4.0, "items_per_task": 2, "tasks": 5}
    assert Asked(**tasks).minutes == 20
    asked = Asked(**tasks, words=400, questions=2, practice=2, test=3, check_rate=0.4)
    assert asked.minutes == 20 + 2 + 1 + 2 * (2 + 3 + 2)


@pytest.mark.parametrize(("provider", "amount"), [("open-link", None), ("prolific", "0.40")])
def test_the_welcome_page_names_the_test_and_what_who_fails_it_gets(client, provider, amount):
    study = opened([provider], test=True, **PAYING)
    Channel.objects.update(provider="open-link")  # whose page needs no signature
    page = client.get(reverse("recruitment:welcome", args=[study.pk]))
    assert "data-test" in page.text
    assert ("0.40" in page.text) == (amount is not None)


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
    assert (ledger(study).awaiting_payment, ledger(study).owed.amount) == ([], 0)
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
