"""The researcher's pages of participants and payments."""

from dataclasses import replace
from datetime import timedelta
from decimal import Decimal

import pytest
from django.contrib.auth.models import User
from django.db import IntegrityError, transaction
from django.urls import reverse
from django.utils import timezone
from lxml.html import fromstring

from annotation.counts import study_counts
from annotation.models import Participation, Place, Rating
from annotation.participant_evidence import Sign
from annotation.selectors import worksheet
from annotation.services.exclusion import exclude_work
from annotation.services.participations import finish_participation
from annotation.services.ratings import Answer
from annotation.services.screening import begin_stage
from metrics.exports.document.study_facts import limitations
from recruitment import confirmations, people_table
from recruitment.costs import accounts
from recruitment.ledger import ledger
from recruitment.models import Channel, Payment, Submission
from recruitment.people_table import first_people, people_on
from recruitment.platforms import platforms
from recruitment.platforms.pay_claims import PayClaim
from recruitment.services.entry import get_or_create_participation
from recruitment.services.lifecycle import close_study
from recruitment.services.payments import approve, note_payment, settle
from studies.models import Study
from tests.annotation.annotators import annotator, form_of
from tests.annotation.answers import submit_rating
from tests.annotation.places import take_place
from tests.annotation.services.test_screening import answer_all, study_with
from tests.architecture.test_roles import member
from tests.confirming import post_confirmed
from tests.pages import codes_on, levels_on
from tests.refusals import refused
from tests.studies.factories import make_open_study, make_participation, make_study
from tiebreak.errors import DomainError

pytestmark = [pytest.mark.django_db, pytest.mark.both_databases]

NOON = timezone.now().replace(hour=12)


def paying_study(member=None, **design) -> Study:
    terms = {"reward": Decimal("2.00"), "promised_hourly_rate": Decimal("9.00")}
    size = {"instances": 4, "comparisons_per_hit": 1, "ratings_per_hit": 2}
    return make_open_study(member=member, **(terms | size | design))


def complete(participation: Participation, *, now=None) -> None:
    assignment = take_place(participation=participation, now=now)
    sheet = worksheet(assignment)
    for hit_unit in sheet.hit_units.values():
        submit_rating(
            assignment=assignment,
            hit_unit=hit_unit,
            criterion=sheet.criteria[0],
            answer=Answer("0", client_key=f"k{hit_unit.pk}"),
            now=now,
        )


def names(entries) -> list[str]:
    return [entry.participation.rater.external_id for entry in entries]


def test_who_is_worth_a_look_for_most_reasons_comes_first(monkeypatch):
    study = paying_study()
    pks = [make_participation(study, f"ann{n}").pk for n in range(4)]
    sign = Sign("checks", 0.5, 4, is_unusual=True)
    unusual = {pks[1]: [sign], pks[2]: [sign] * 3}
    for name in ("worth_a_look", "unusual_signs"):
        monkeypatch.setattr(people_table, name, lambda people: unusual)
    entries = ledger(study, timezone.now())
    for listed in (first_people(entries, 2), people_on(entries, entries.people)[:2]):
        assert [one.participation.pk for one in listed] == [pks[2], pks[1]]


def test_of_those_who_wait_for_payment_the_longest_comes_first(monkeypatch):
    monkeypatch.setattr(people_table, "worth_a_look", lambda people: {})
    study = paying_study()
    begun, people = timezone.now(), [make_participation(study, f"ann{n}") for n in range(3)]
    for person, minutes in zip(people, (2, 1, 3), strict=True):
        complete(person, now=begun + timedelta(minutes=minutes))
        finish_participation(participation=person)
    note_payment(participation=people[2], amount=Decimal("2.00"))
    entries = ledger(study, timezone.now())
    listed = [one.participation for one in people_on(entries, entries.people)]
    assert listed == [people[1], people[0], people[2]]


@pytest.mark.parametrize("query", ["", "?status=excluded", "?search=nobody"])
def test_the_page_leads_with_who_waits_for_how_much_in_the_whole_study(researcher_client, query):
    study = paying_study(member=researcher_client.researcher)
    address = reverse("recruitment:ledger", args=[study.pk]) + query

    def found() -> list[str]:
        page = fromstring(researcher_client.get(address).text)
        return [
            page.xpath("string(//*[@id='finding'])"),
            *page.xpath("//button[contains(@class, 'primary')]/text()"),
        ]

    assert found() == ["Nobody waits for payment"]
    people = [make_participation(study, f"ann{n}") for n in range(2)]
    for n, person in enumerate(people, 1):
        complete(person)
        finish_participation(participation=person)
        assert found()[0] == ["1 person waits for 2.00 GBP", "2 people wait for 4.00 GBP"][n - 1]
    assert found()[1:] == ["Mark all 2 as paid…"]
    for person in people:
        note_payment(participation=person, amount=Decimal("2.00"))
    assert found() == ["Nobody waits for payment"]
    Study.objects.update(reward=None)
    assert found() == ["No pay is stated"]
    Study.objects.update(reward=2, status="draft")
    assert found() == ["Nothing is paid before the study opens"]
    Study.objects.update(dry_run_of=make_study())
    assert found() == ["Only bots work on a dry run, and nobody pays them"]


def test_it_works():
    study = paying_study()
    ann, bob = make_participation(study, "ann"), make_participation(study, "bob")
    complete(ann)
    complete(bob)
    for participation in (ann, bob):
        finish_participation(participation=participation)
    note_payment(participation=bob, amount=Decimal("2.00"))
    study_ledger = ledger(study)
    assert names(study_ledger.rows_on("awaiting_payment")) == ["ann"]
    assert study_ledger.money.spent == Decimal("2.00")
    assert study_ledger.owed.amount == Decimal("2.00")
    assert [
        study_ledger.rows_on("paid_without_data"),
        study_ledger.rows_on("surplus"),
        study_ledger.rows_on("late"),
        study_ledger.rows_on("stuck"),
    ] == [[], [], [], []]
    assert [str(entry.paid) for entry in study_ledger.rows] == [
        "0.00",
        "2.00",
    ]  # as money is written


def test_paid_without_data_is_listed_until_somebody_lets_it_be():
    study = paying_study()
    channel = Channel.objects.create(study=study, provider="panel")
    ghost = get_or_create_participation(
        study=study, channel=channel, external_id="ghost", submission_id="s", now=timezone.now()
    )
    note_payment(participation=ghost, amount=Decimal("2.00"))
    assert names(ledger(study).rows_on("paid_without_data")) == ["ghost"]
    settle(participation=ghost)
    assert not ledger(study).rows_on("paid_without_data")
    with refused("paid_already"):
        note_payment(participation=ghost, amount=Decimal("2.00"))
    assert Payment.objects.count() == 1


def test_late_and_surplus_work_is_listed():
    study = paying_study(instances=1, ratings_per_hit=1)
    ann, bob = make_participation(study, "ann"), make_participation(study, "bob")
    slow = take_place(participation=ann)
    complete(bob, now=timezone.now() + timedelta(hours=1))
    sheet = worksheet(slow)
    submit_rating(
        assignment=slow,
        hit_unit=sheet.hit_units[1],
        criterion=sheet.criteria[0],
        answer=Answer("1", client_key="slow"),
    )
    assert names(ledger(study).rows_on("surplus")) == ["ann"]
    other = paying_study(instances=1)
    eve = make_participation(other, "eve")
    held = take_place(participation=eve)
    close_study(study=other)
    sheet = worksheet(held)
    submit_rating(
        assignment=held,
        hit_unit=sheet.hit_units[1],
        criterion=sheet.criteria[0],
        answer=Answer("1", client_key="late"),
    )
    assert names(ledger(other).rows_on("late")) == ["eve"]


def test_a_study_without_a_reward_has_lists():
    study = paying_study(instances=1, reward=None)
    take_place(participation=make_participation(study, "ann"))
    complete(make_participation(study, "bob"))
    later = timezone.now() + timedelta(minutes=study.lease_minutes + 1)
    entries = ledger(Study.objects.get(), later)
    assert entries.totals.participants == 2
    assert {name: n for name, n in entries.totals.listed.items() if n} == {"stuck": 1}
    assert entries.rows_on("awaiting_payment") == []


def test_who_is_silent_longer_than_a_lease_is_stuck():
    study = paying_study()
    ann = make_participation(study)
    take_place(participation=ann)
    assert not ledger(study).rows_on("stuck")
    later = timezone.now() + timedelta(minutes=study.lease_minutes + 1)
    assert names(ledger(study, later).rows_on("stuck")) == ["ann"]


def test_who_answers_in_an_open_task_is_not_silent():
    study = paying_study(comparisons_per_hit=2)
    sheet = worksheet(take_place(participation=make_participation(study)))
    later = timezone.now() + timedelta(minutes=study.lease_minutes + 1)
    assert names(ledger(study, later).rows_on("stuck")) == ["ann"]
    hit_unit, *_ = sheet.hit_units.values()
    submit_rating(
        assignment=sheet.assignment,
        hit_unit=hit_unit,
        criterion=sheet.criteria[0],
        answer=Answer("0", client_key="k"),
        now=later - timedelta(minutes=5),
    )
    assert not ledger(study, later).rows_on("stuck")


def test_the_hourly_rate_is_what_was_really_paid_for_the_time_it_took():
    study = paying_study()
    for name, minutes in (("ann", 10), ("bob", 20), ("eve", 40)):
        ann = make_participation(study, name)
        begun = timezone.now()
        Participation.objects.filter(pk=ann.pk).update(consented_at=begun)
        complete(ann, now=begun + timedelta(minutes=minutes))
        note_payment(participation=ann, amount=Decimal("2.00"))
    money = ledger(study).money
    assert money.median_hourly_rate == Decimal("6.00")
    assert money.is_under_promise
    assert (money.under_promise, money.timed) == (2, 3)
    rows = {row.participation.rater.external_id: row for row in ledger(study).rows}
    assert {name for name, row in rows.items() if row.is_under_promise} == {"bob", "eve"}
    Participation.objects.filter(rater__external_id="eve").update(status="excluded")
    money = ledger(study).money  # whose time says nothing about the pay for an hour
    assert (money.median_hourly_rate, money.under_promise, money.timed) == (9, 1, 2)
    assert sum(row.is_under_promise for row in ledger(study).rows) == 1


@pytest.mark.parametrize("claim", [*PayClaim, None])
def test_how_people_were_paid_is_said_when_all_are(client, claim):
    study = paying_study(User.objects.create_superuser("ruth"))
    client.force_login(User.objects.get())
    settings = {"pay_claim": claim, "pay_contact": "pay@n.org", "pay_instruction": "Send a bill."}
    settings = settings if claim else {}
    channel = Channel.objects.create(study=study, provider="open-link", settings=settings)
    close_study(study=study)
    page = client.get(reverse("recruitment:ledger", args=[study.pk]))
    said = page.context["by_hand"]
    assert len(said) == (claim is not None)
    assert all(platforms()["open-link"].claim_at_the_start(channel) in one for one in said)


@pytest.mark.parametrize("claim", [*PayClaim, None])
def test_the_page_says_how_people_of_each_channel_are_paid_by_hand(client, claim):
    study = paying_study(User.objects.create_superuser("ruth"))
    client.force_login(User.objects.get())
    settings = {"pay_claim": claim, "pay_contact": "pay@n.org", "pay_instruction": "Send a bill."}
    Channel.objects.create(study=study, provider="open-link", settings=settings if claim else {})
    Channel.objects.create(study=study, provider="prolific")
    html = client.get(reverse("recruitment:ledger", args=[study.pk])).content.decode()
    assert html.count("data-by-hand") == 1
    said = {PayClaim.SEND: "pay@n.org", PayClaim.OWN: "Send a bill."}
    assert all((words in html) == (one == claim) for one, words in said.items())
    assert "fees" not in html[html.index("data-costs") : html.index("</dl>")]


def test_a_confirmation_names_the_study_and_leads_back_to_where_it_was_asked(client):
    study = paying_study(User.objects.create_superuser("ruth"))
    client.force_login(User.objects.get())
    complete(person := make_participation(study))
    finish_participation(participation=person)
    url, home = reverse("recruitment:pay-many", args=[study.pk]), "http://testserver/admin/"
    page = client.post(url, {"list": "awaiting_payment"}, headers={"referer": home})
    assert (page.context["study"], page.context["back"]) == (study, home)
    again = {"list": "awaiting_payment", "confirmed": "outdated", "back": home}
    page = client.post(url, again, headers={"referer": f"http://testserver{url}"})
    assert page.context["back"] == home
    page = client.post(url, {"list": "awaiting_payment"}, headers={"referer": "https://evil.org/"})
    assert page.context["back"] == reverse("recruitment:ledger", args=[study.pk])


def test_a_confirmation_of_payments_repeats_who_is_worth_a_look(client, monkeypatch):
    study = paying_study(User.objects.create_superuser("ruth"))
    client.force_login(User.objects.get())
    people = [make_participation(study, f"ann{n}") for n in range(2)]
    for person in people:
        complete(person)
        finish_participation(participation=person)
    unusual = {people[1].pk: [Sign("checks", 0.5, 4, is_unusual=True)]}
    monkeypatch.setattr(confirmations, "worth_a_look", lambda people: unusual)
    pay, one = (
        {"list": "awaiting_payment"},
        {"choice": "selected", "participant": people[1].public_id},
    )
    for chosen, is_unusual in ((pay, [False, True]), (one, [True])):
        page = client.post(reverse("recruitment:pay-many", args=[study.pk]), chosen)
        assert ["worth a look" in line for line in page.context["question"].listed] == is_unusual


def test_no_two_buttons_of_payments_mean_the_same_and_the_list_stays(client):
    study = paying_study(User.objects.create_superuser("ruth"))
    client.force_login(User.objects.get())
    address, pay = (
        reverse(f"recruitment:{name}", args=[study.pk]) for name in ("ledger", "pay-many")
    )
    shown = {"list": "awaiting_payment"}
    for n in (1, 2):
        complete(person := make_participation(study, f"ann{n}"))
        finish_participation(participation=person)
        page = fromstring(client.get(address, shown).text)
        assert len(page.xpath("//form[@id='pay']//button[@name='list']")) == (n > 1)
        assert len(page.xpath("//form[@id='pay']//button[@name='choice']")) == 1
    (kept,) = page.xpath("//form[@id='pay']//input[@name='shown']/@value")
    refused_ = client.post(pay, {"choice": "selected", "shown": kept}, follow=True)
    assert codes_on(refused_) == {"nobody_selected"}
    assert refused_.redirect_chain[-1][0] == f"{address}?list=awaiting_payment"


def test_fees_are_counted():
    study = paying_study()
    channel = Channel.objects.create(
        study=study, provider="prolific", settings={"fee_percent": "25"}
    )
    ann = make_participation(study)
    Submission.objects.update(channel=channel)
    note_payment(participation=ann, amount=Decimal("2.00"))
    assert ledger(study).money.fees == Decimal("0.50")


def test_the_ledger_takes_as_few_statements_for_many_as_for_one(django_assert_max_num_queries):
    study = paying_study(instances=6, ratings_per_hit=6)
    for n in range(6):
        complete(make_participation(study, f"p{n}"))
    with django_assert_max_num_queries(8):
        ledger(study)


@pytest.fixture
def researcher_client(client, django_user_model):
    researcher = django_user_model.objects.create_user("rea", password="x", is_staff=True)
    client.force_login(researcher)
    client.researcher = researcher
    return client


def test_only_of_two_people_may_one_be_the_other(researcher_client):
    study, sentence = paying_study(member=researcher_client.researcher), "same person"
    addresses = [reverse("recruitment:ledger", args=[study.pk]), f"/studies/{study.pk}/"]
    for n in (1, 2):
        annotator(study).choose()
        limits = " ".join(limitations(study, study_counts(study)))
        assert ("more than once" in limits) == (n > 1)
        for address in addresses:
            assert (sentence in researcher_client.get(address).text) == (n > 1), (n, address)


def test_the_page_lists_and_acts(researcher_client):
    study = paying_study(member=researcher_client.researcher)
    page = annotator(study)
    page.choose()
    finish_participation(participation=page.participation)
    address = reverse("recruitment:ledger", args=[study.pk])
    shown = researcher_client.get(address)
    assert [(one.name, n) for one, n in shown.context["lists"]] == [("awaiting_payment", 1)]
    (person,) = shown.context["people"]
    assert (person.due, list(person.actions)) == ("2.00 GBP", ["approve"])
    assert shown.context["unverified"]
    acted = reverse(
        "recruitment:ledger-action", args=[study.pk, page.participation.public_id, "approve"]
    )
    assert levels_on(post_confirmed(researcher_client, acted)) == ["success"]
    assert Payment.objects.get().amount == Decimal("2.00")
    excluded = reverse(
        "recruitment:ledger-action", args=[study.pk, page.participation.public_id, "exclude"]
    )
    assert levels_on(post_confirmed(researcher_client, excluded)) == ["success"]
    assert Rating.objects.filter(excluded=True, excluded_reason="excluded").count() == 1
    assert not Place.objects.filter(completed_at__isnull=False).exists()
    back = reverse(
        "recruitment:ledger-action", args=[study.pk, page.participation.public_id, "reinstate"]
    )
    assert levels_on(researcher_client.post(back, follow=True)) == ["success"]
    assert Rating.objects.counted().count() == 1


def test_a_stuck_place_is_freed(researcher_client):
    study = paying_study(member=researcher_client.researcher)
    page = annotator(study)
    assert form_of(page.here()).choices
    address = reverse(
        "recruitment:ledger-action", args=[study.pk, page.participation.public_id, "release"]
    )
    assert levels_on(post_confirmed(researcher_client, address)) == ["success"]
    assert not Place.objects.filter(lease_until__isnull=False).exists()
    assert codes_on(page.here()) == {"released"}


def test_people_of_another_researchers_study_do_not_exist(researcher_client):
    study = paying_study()
    page = annotator(study)
    for name, args in (
        ("ledger", []),
        ("channels", []),
    ):
        assert (
            researcher_client.get(
                reverse(f"recruitment:{name}", args=[study.pk, *args])
            ).status_code
            == 404
        )
    own_study = paying_study(member=researcher_client.researcher)
    for target in (study, own_study):
        act = reverse(
            "recruitment:ledger-action", args=[target.pk, page.participation.public_id, "exclude"]
        )
        assert researcher_client.post(act).status_code == 404
    save = reverse("recruitment:save-channel", args=[study.pk, "panel"])
    assert researcher_client.post(save, {"person_parameter": "pid"}).status_code == 404
    assert Participation.objects.get().status == "active"


def test_a_channel_is_set_up_and_closes_the_open_link(researcher_client, client):
    study = paying_study(member=researcher_client.researcher)
    save = reverse("recruitment:save-channel", args=[study.pk, "panel"])
    bad = researcher_client.post(
        save, {"person_parameter": "1 2", "completed_url": "javascript:alert(1)"}
    )
    assert bad.status_code == 400
    (form,) = [
        channel["form"]
        for channel in bad.context["channels"]
        if channel["platform"].name == "panel"
    ]
    assert set(form.errors) == {"person_parameter", "completed_url"}
    researcher_client.post(
        save, {"person_parameter": "pid", "completed_url": "https://panel.example/done"}
    )
    html = researcher_client.get(reverse("recruitment:channels", args=[study.pk])).content.decode()
    assert f"/s/{study.pk}/via/panel/" in html
    assert client.get(reverse("recruitment:welcome", args=[study.pk])).status_code == 404


def test_a_token_is_stored_encrypted_and_never_shown(researcher_client):
    study = paying_study(member=researcher_client.researcher)
    save = reverse("recruitment:save-channel", args=[study.pk, "prolific"])
    researcher_client.post(
        save, {"description": "Compare.", "token": "very-secret-token", "is_secure": "on"}
    )
    assert "very-secret-token" not in Channel.objects.get().secret
    page = researcher_client.get(reverse("recruitment:channels", args=[study.pk]))
    assert "very-secret-token" not in page.content.decode()
    assert [
        channel["platform"].name for channel in page.context["channels"] if channel["has_token"]
    ] == ["prolific"]
    researcher_client.post(save, {"description": "Compare more.", "token": ""})
    assert Channel.objects.get().secret


def test_money_that_nobody_knows_of_is_listed_until_somebody_looked(researcher_client):
    study, other = paying_study(member=researcher_client.researcher), paying_study()
    for payer in (study, other):
        Payment.objects.create(
            participation=make_participation(payer, f"ann-{payer.pk}"),
            kind="bonus",
            amount=Decimal("0.70"),
            currency="GBP",
            created_at=timezone.now(),
        )
    ledger_page = reverse("recruitment:ledger", args=[study.pk])
    assert len(researcher_client.get(ledger_page).context["unknown"]) == 1
    payment, foreign = (Payment.objects.get(participation__study=payer) for payer in (study, other))
    paid = reverse("recruitment:settle-payment", args=[study.pk, payment.public_id, "paid"])
    assert not researcher_client.post(paid, follow=True).context["unknown"]
    assert Payment.objects.get(pk=payment.pk).status == "paid"
    for target in (study, other):
        address = reverse("recruitment:settle-payment", args=[target.pk, foreign.public_id, "paid"])
        assert researcher_client.post(address).status_code == 404
    assert Payment.objects.get(pk=foreign.pk).status == "asked"


def test_what_is_owed_after_a_closed_submission_is_paid_once(researcher_client, monkeypatch):
    study = paying_study(member=researcher_client.researcher)
    channel = Channel.objects.create(study=study, provider="prolific", secret="x")
    ann = make_participation(study, "ann")
    complete(ann)
    Participation.objects.update(status="timed_out")
    Submission.objects.update(channel=channel)
    asked = []
    monkeypatch.setattr(
        "recruitment.services.participants.enqueue_action",
        lambda **arguments: asked.append(arguments),
    )
    post_confirmed(
        researcher_client,
        reverse("recruitment:ledger-action", args=[study.pk, ann.public_id, "approve"]),
    )
    assert (asked[0]["action"], asked[0]["payees"]) == ("pay-many", f"{ann.public_id}=2.00")
    owed = {"participation": ann, "kind": "owed", "amount": Decimal("1.50"), "currency": "GBP"}
    Payment.objects.create(**owed, created_at=timezone.now())
    with pytest.raises(IntegrityError), transaction.atomic():
        Payment.objects.create(**owed, created_at=timezone.now())


@pytest.mark.sampled(2)
@pytest.mark.parametrize("amount", ["NaN", "Infinity", "-5", "0", "1e30", "0.001"])
def test_an_odd_amount_is_not_paid(researcher_client, amount):
    study = paying_study(member=researcher_client.researcher)
    ann = make_participation(study, "ann")
    complete(ann)
    finish_participation(participation=ann)
    pay = reverse("recruitment:ledger-action", args=[study.pk, ann.public_id, "approve"])
    response = researcher_client.post(pay, {"amount": amount}, follow=True)
    assert codes_on(response) == {"no_amount"}
    assert not Payment.objects.exists()


def test_who_came_back_finished_waits_for_pay_and_is_not_stuck():
    study = paying_study()
    ann = make_participation(study, "ann")
    complete(ann)
    Submission.objects.update(platform_status="AWAITING REVIEW")
    study_ledger = ledger(study)
    assert names(study_ledger.rows_on("awaiting_payment")) == ["ann"]
    assert study_ledger.rows_on("stuck") == []


def test_paid_for_a_test_is_not_paid_without_data():
    study = paying_study()
    ann = make_participation(study, "ann")
    Participation.objects.update(status="screened_out")
    note_payment(participation=ann, amount=Decimal("0.20"))
    assert ledger(study).rows_on("paid_without_data") == []


def test_training_is_not_work_that_counts():
    study = study_with(training=2)
    Study.objects.filter(pk=study.pk).update(reward=Decimal("2.00"))
    ann = make_participation(study, "ann")
    answer_all(begin_stage(participation=ann))
    answer_all(take_place(participation=ann))
    exclude_work(participation=ann, status="excluded")
    (entry,) = ledger(Study.objects.get()).rows
    assert entry.ratings == 0


def test_a_status_is_a_chip_beside_those_who_did_not_finish(researcher_client):
    study = paying_study(member=researcher_client.researcher, instances=9)
    people = {status: make_participation(study, status) for status in Participation.Status.values}
    for status, person in people.items():
        Participation.objects.filter(pk=person.pk).update(status=status)
    for name in ("metrics:dashboard", "recruitment:ledger"):
        page = fromstring(researcher_client.get(reverse(name, args=[study.pk])).text)
        rows = page.xpath("//tr[@data-person]")
        chips = {
            row.get("data-status"): row.xpath("count(.//*[@class='state-chip'])") for row in rows
        }
        assert chips == {status: status != "finished" for status in people}
        (heads,) = {len(row.xpath("./th | ./td")) for row in rows}
        assert heads == len(page.xpath("//table[contains(@class, 'people')]/thead//th"))


def test_one_refusal_keeps_nobody_else_from_being_paid(monkeypatch):
    study = paying_study(ratings_per_hit=3)
    channel = Channel.objects.create(study=study, provider="mturk", external_id="H")
    for name in ("a", "b", "c"):
        person = make_participation(study, name)
        complete(person)
        finish_participation(participation=person)
    Submission.objects.update(channel=channel)
    asked = []

    class Client:
        def approve(self, assignment_id):
            asked.append(assignment_id)
            if assignment_id == second:
                raise DomainError("mturk_refused", "That one was never submitted.")

    _, second, _ = Participation.objects.order_by("pk").values_list("submission_id", flat=True)
    monkeypatch.setattr("recruitment.platforms.mturk._client", lambda channel: Client())
    with refused("mturk_refused"):
        approve(participations=list(Participation.objects.order_by("pk")))
    assert len(asked) == 3
    assert Payment.objects.filter(status="paid").count() == 2


def test_participants_are_searched_and_listed_page_by_page(researcher_client, monkeypatch):
    monkeypatch.setattr("recruitment.views.ledger.PER_PAGE", 2)
    study = paying_study(member=researcher_client.researcher)
    people = [make_participation(study, name) for name in ("ann", "bob", "eve")]
    address = reverse("recruitment:ledger", args=[study.pk])

    def listed(**query):
        people = researcher_client.get(address, query).context["people"]
        return [person.participation for person in people]

    assert listed() == people[:2]
    assert listed(page_number=2) == people[2:]
    assert listed(search=people[2].rater.pseudonym) == people[2:]
    assert listed(search=people[1].submission.completion_code) == [people[1]]
    assert listed(status="excluded") == []
    assert listed(status="active", page_number=2) == people[2:]


def test_who_waits_comes_first_and_is_one_list(researcher_client, monkeypatch):
    monkeypatch.setattr("recruitment.views.ledger.PER_PAGE", 2)
    study = paying_study(member=researcher_client.researcher)
    people = [make_participation(study, name) for name in ("ann", "bob", "eve")]
    address = reverse("recruitment:ledger", args=[study.pk])
    assert "data-nothing-waits" in researcher_client.get(address).text
    complete(people[2])
    finish_participation(participation=people[2])

    def listed(**query):
        answer = researcher_client.get(address, query)
        return [person.participation for person in answer.context["people"]]

    assert "data-nothing-waits" not in researcher_client.get(address).text
    assert listed() == [people[2], people[0]]
    assert listed(page_number=2) == [people[1]]
    assert listed(list="awaiting_payment") == [people[2]]
    assert listed(list="stuck") == listed()  # nobody is on it
    assert listed(list="no such list", page_number=2) == [people[1]]


@pytest.mark.parametrize(
    ("role", "offers"), [("owner", True), ("editor", False), ("analyst", False)]
)
def test_only_owners_are_offered_to_pay(role, offers):
    study = paying_study()
    complete(ann := make_participation(study, "ann"))
    finish_participation(participation=ann)
    page = member(study, role).get(reverse("recruitment:ledger", args=[study.pk])).text
    pay = reverse("recruitment:ledger-action", args=[study.pk, ann.public_id, "approve"])
    assert "data-waits" in page
    assert {pay in page, reverse("recruitment:pay-many", args=[study.pk]) in page} == {offers}


def test_a_list_with_nobody_left_shows_everybody_and_says_one_thing(researcher_client):
    study = paying_study(member=researcher_client.researcher)
    people = [make_participation(study, f"ann{n}") for n in range(2)]
    for person in people:
        complete(person)
        finish_participation(participation=person)
        note_payment(participation=person, amount=Decimal("2.00"))
    address, shown = reverse("recruitment:ledger", args=[study.pk]), {"list": "awaiting_payment"}
    page = researcher_client.get(address, shown)
    assert len(page.context["people"]) == 2
    assert "has not been paid" not in page.text
    assert ("data-nothing-waits" in page.text, "data-emptied" in page.text) == (True, False)
    ghost = make_participation(study, "ghost")
    note_payment(participation=ghost, amount=Decimal("2.00"))
    page = researcher_client.get(address, shown)  # another list has somebody
    assert len(page.context["people"]) == 3
    assert ("data-nothing-waits" in page.text, "data-emptied" in page.text) == (False, True)
    assert len(researcher_client.get(address, {"list": "paid_without_data"}).context["people"]) == 1


def test_of_whom_some_got_less_is_said_wherever_their_number_is(researcher_client):
    study = paying_study(member=researcher_client.researcher)
    for name, minutes in (("ann", 10), ("bob", 20), ("eve", 40)):
        begun = timezone.now()
        person = make_participation(study, name)
        Participation.objects.filter(pk=person.pk).update(consented_at=begun)
        complete(person, now=begun + timedelta(minutes=minutes))
        note_payment(participation=person, amount=Decimal("2.00"))
    for name in ("recruitment:ledger", "metrics:dashboard"):
        page = fromstring(researcher_client.get(reverse(name, args=[study.pk])).text)
        assert "2 of 3 paid people got less" in page.text_content(), name


@pytest.mark.parametrize(("minutes", "says"), [(5, "5 min"), (130, "2 h"), (60 * 72, "3 days")])
def test_what_is_due_says_since_when_and_only_that_stands_out(researcher_client, minutes, says):
    study = paying_study(member=researcher_client.researcher)
    complete(ann := make_participation(study, "ann"))
    finish_participation(participation=ann)
    (person,) = first_people(ledger(study), 5)
    assert replace(person, now=person.row.last_at + timedelta(minutes=minutes)).waited == says
    page = fromstring(researcher_client.get(reverse("recruitment:ledger", args=[study.pk])).text)
    (pay,) = page.xpath("//td[@data-label='Pay']")
    assert pay.xpath("string(strong[@class='due'])") == "waits 1 min"
    assert "GBP" in pay.text


def test_launch_of_an_open_study_leads_with_what_was_paid_and_is_owed(researcher_client):
    study = paying_study(member=researcher_client.researcher)
    people = [make_participation(study, name) for name in ("ann", "bob", "eve")]
    for one in people[:2]:
        complete(one)
        finish_participation(participation=one)
    note_payment(participation=people[0], amount=Decimal("2.00"))
    page = fromstring(researcher_client.get(reverse("recruitment:launch", args=[study.pk])).text)
    costs = accounts(study).costs
    assert costs.spent == costs.owed > 0
    assert page.xpath("string(//*[@data-paid])") == f"{costs.spent} {study.currency}"
    assert page.xpath("string(//*[@data-owed])") == f"{costs.owed} {study.currency}"
    assert "3 of at most 9 people" in page.xpath("string(//section[@id='cost']//p[@class='n'])")
    # What was planned is folded below.
    assert page.xpath("//section[@id='cost']//details//dl[@class='lines']")


def test_of_many_unconfirmed_payments_a_page_is_shown(client, django_user_model, monkeypatch):
    ruth = django_user_model.objects.create_user("ruth", is_staff=True)
    study = paying_study(member=ruth)
    asked = {"status": Payment.Status.ASKED, "currency": "GBP", "amount": 1, "created_at": NOON}
    for name in "abc":
        Payment.objects.create(participation=make_participation(study, name), **asked)
    client.force_login(ruth)
    for most in (3, 2):
        monkeypatch.setattr("recruitment.views.ledger.PER_PAGE", most)
        page = client.get(reverse("recruitment:ledger", args=[study.pk])).text
        assert "Unconfirmed payments: 3" in page
        assert page.count("It was not paid") == most
        assert ("the others follow" in page) == (most == 2)
