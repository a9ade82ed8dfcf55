"""What pages count and sum over all people of a study is what one finds who looks at each of them."""

from collections import Counter
from dataclasses import replace
from datetime import datetime, timedelta
from decimal import ROUND_HALF_UP, Decimal
from random import Random
from statistics import median

import pytest
from django.db.models import Q
from django.utils import timezone

from annotation.models import HIT, Assignment, Participation, Place, Rater, Rating
from recruitment.admission import maximum
from recruitment.ledger import LISTS, SUBMITTED, WITHOUT_RATINGS, due, ledger, listed_by_study
from recruitment.models import Channel, Payment, Submission
from recruitment.pay import Cost, Pay
from recruitment.terms import Agreed, paid_per, pay_of
from studies.models import Study, StudyVersion
from tests.studies.factories import make_open_study
from tiebreak.digits import in_cents

pytestmark = [pytest.mark.django_db, pytest.mark.both_databases, pytest.mark.sampled(2)]

NOW, PEOPLE = timezone.now(), 40
CHANNELS = {
    "panel": {},
    "prolific": {"fee_percent": "20", "screen_out_reward": "0.40"},
    "invitation": {"fee_percent": "33.3"},
}
PLATFORM_STATUSES = ["", "", "active", "Submitted", "AWAITING REVIEW", "rejected"]


def a_study(rng: Random) -> Study:
    """Return a study with people of any kind: how they came, what they were promised, did, and got."""
    reward = rng.choice([None, Decimal("3.00")])
    study = make_open_study(
        instances=6,
        ratings_per_hit=rng.randint(1, 3),
        hits_per_annotator=rng.choice([None, 2, 4]),
        reward=reward,
        promised_hourly_rate=Decimal("5.00"),
        lease_minutes=30,
    )
    HIT.objects.create(study=study, number=1, kind=HIT.Kind.TRAINING)
    channels = [None] + [
        Channel.objects.create(study=study, provider=provider, settings=settings)
        for provider, settings in CHANNELS.items()
    ]
    versions = [None] + [
        StudyVersion.objects.create(study=study, number=10 + n, reward=paid, hits_per_annotator=n)
        for n, paid in enumerate([None, Decimal("2.00"), Decimal("5.00")], start=1)
    ]
    for n in range(PEOPLE):
        person = enter(study, rng, n, rng.choice(channels), rng.choice(versions))
        work(study, rng, person)
        pay(rng, person)
    return study


def enter(study: Study, rng: Random, n: int, channel, version) -> Participation:
    person = Participation.objects.create(
        study=study,
        rater=Rater.objects.create(
            provider=study.pk, external_id=str(n), pseudonym=f"{study.pk}{n}"
        ),
        provider="panel",
        submission_id=str(n),
        status=rng.choice([*Participation.Status.values, *["active", "screened_out"] * 4]),
        consented_version=version,
        consented_at=rng.choice([None, NOW - timedelta(hours=2), NOW - timedelta(hours=1)]),
        paid_per=rng.choice(Participation.PaidPer.values),
        simulated=rng.random() < 0.1,
    )
    Participation.objects.filter(pk=person.pk).update(
        created_at=NOW - timedelta(minutes=rng.choice([1, 90]))
    )
    Submission.objects.create(
        participation=person,
        channel=channel,
        platform_status=rng.choice(PLATFORM_STATUSES),
        screen_out_reward=rng.choice([None, None, Decimal("0.70")]),
        settled_at=rng.choice([None] * 5 + [NOW]),
    )
    return Participation.objects.select_related("submission__channel", "consented_version").get(
        pk=person.pk
    )


def work(study: Study, rng: Random, person: Participation) -> None:
    """Let somebody do some tasks, the training, or none, and hold one task perhaps."""
    hits = [*study.hits.filter(kind=HIT.Kind.MAIN)[: rng.choice([0, 0, 1, 3])]]
    hits += study.hits.filter(kind=HIT.Kind.TRAINING)[: rng.randint(0, 1)]
    given = {"rater": person.rater, "participation": person}
    for hit in hits:
        run = "" if hit.kind == HIT.Kind.MAIN else "training:1"
        ended = NOW - timedelta(minutes=rng.randint(0, 90))
        Assignment.objects.create(hit=hit, run=run, status="completed", completed_at=ended, **given)
    if free := rng.random() < 0.3 and study.places.filter(assignment=None).last():
        held = Assignment.objects.create(hit=free.hit, run="", order="held", **given)
        Place.objects.filter(pk=free.pk).update(
            assignment=held, lease_until=NOW, completed_at=rng.choice([None, None, NOW])
        )
        answer(study, held, NOW - timedelta(minutes=rng.choice([5, 80])))


def answer(study: Study, assignment: Assignment, at: datetime) -> None:
    Rating.objects.create(
        assignment=assignment,
        rater=assignment.rater,
        unit=assignment.hit.hit_units.first().unit,
        criterion=study.criteria.get(),
        label="1",
        side_a="left",
        duration_ms=3000,
        client_key=str(assignment.pk),
        created_at=at,
    )


def pay(rng: Random, person: Participation) -> None:
    kinds = rng.sample(Payment.Kind.values, rng.choice([0, 0, 1, 2, 3]))
    for kind in kinds + rng.choice([[], [], ["bonus", "bonus"]]):
        Payment.objects.create(
            participation=person,
            kind=kind,
            amount=rng.choice([Decimal(0), Decimal("1.25"), Decimal("40.00")]),
            status=rng.choice(Payment.Status.values),
            created_at=NOW,
        )


class Seen:
    """One person, looked at alone."""

    def __init__(self, study: Study, person: Participation):
        self.status, self.simulated = person.status, person.simulated
        self.submission, self.agreed = person.submission, person.consented_version
        self.consented, self.start = person.consented_at is not None, person.consented_at
        done = person.assignments.filter(completed_at__isnull=False).select_related("hit")
        self.done = sum(one.hit.kind == HIT.Kind.MAIN for one in done)
        self.until = max((one.completed_at for one in done), default=None)
        payments = [one for one in person.payments.all() if one.status in ("paid", "asked")]
        self.bonus = sum((one.amount for one in payments if one.kind == "bonus"), Decimal(0))
        self.paid = sum((one.amount for one in payments), Decimal(0)) - self.bonus
        self.was_paid = bool(payments)
        self.holds = Place.objects.filter(
            completed_at=None, assignment__participation=person, assignment__status="active"
        ).exists()
        answers = Rating.objects.filter(assignment__participation=person)
        signs = [person.created_at, *(one.completed_at for one in done)]
        signs += answers.values_list("created_at", flat=True)
        self.is_silent = person.status == "active" and max(signs) < NOW - timedelta(minutes=30)
        settings = self.submission.channel.settings if self.submission.channel else {}
        self.pays_test = "screen_out_reward" in settings or bool(self.submission.screen_out_reward)
        self.settings, self.per, self.study = settings, person.paid_per, study

    def terms(self, per: str, planned: int = 0) -> Pay:
        version = self.agreed
        reward, tasks = (version.reward, version.hits_per_annotator) if version else (None, None)
        agreed = Agreed(per, reward, tasks, self.submission.screen_out_reward)
        return pay_of(self.study, self.settings, agreed, planned)

    @property
    def is_promised(self) -> bool:
        return self.study.reward is not None or bool(self.agreed and self.agreed.reward is not None)

    @property
    def lists(self) -> set[str]:
        if self.submission.settled_at or self.simulated:
            return set()
        status = self.submission.platform_status.lower()
        works, submitted = self.status == "active", status in SUBMITTED
        has_ended = not works or (self.is_silent and not self.holds) or submitted
        rejected = self.status == "rejected" or status == "rejected"
        is_on = {
            "paid_without_data": (self.paid + self.bonus) > 0 and not self.done,
            "awaiting_payment": bool(self.done) and not self.paid and not rejected and has_ended,
            "screened_out": self.status == "screened_out" and self.pays_test and not self.paid,
            "stuck": works
            and ((self.holds and self.is_silent) or (submitted and (self.holds or not self.done))),
        }
        is_on["paid_without_data"] &= self.status != "screened_out"
        is_on["awaiting_payment"] &= self.is_promised
        return {name for name, it_is in is_on.items() if it_is}

    @property
    def spent(self) -> Cost:
        return Cost.of(self.paid + self.bonus, Decimal(self.settings.get("fee_percent", 0)))

    @property
    def hourly(self) -> Decimal | None:
        """The pay for an hour until the last task, training included; None of those who are not judged."""
        has_worked = self.start and self.until and self.until > self.start
        if not has_worked or not self.spent.amount or self.status in ("excluded", "rejected"):
            return None
        hours = Decimal((self.until - self.start).total_seconds()) / 3600
        return (self.spent.amount / hours).quantize(Decimal("0.01"), ROUND_HALF_UP)

    @property
    def is_due(self) -> bool:
        """Whether something is due for work or a test, or may become so."""
        rejected = "rejected" in (self.status, self.submission.platform_status)
        has_work = bool(self.done) and not rejected
        tested = self.status == "screened_out" and self.pays_test
        has_begun = self.status == "active" and self.consented and not self.done
        is_open = not (self.submission.settled_at or self.simulated)
        return is_open and not self.paid and (has_work or tested or has_begun)

    @property
    def due(self) -> tuple[Cost, Cost, Cost]:
        """What is due once they stop, for the work so far, and to those who await payment."""
        terms = self.terms(paid_per(self.status, self.per))
        amount = terms.for_tasks(self.done) if self.done else Decimal(0)
        amount = terms.screen_out if self.status == "screened_out" else amount
        by_task = replace(terms, is_one_payment=False).for_tasks(self.done) if self.done else 0
        so_far = by_task if self.status == "active" else amount
        waits = bool(self.lists & {"awaiting_payment", "screened_out"})
        amounts = (amount, so_far, amount * waits)
        return tuple(Cost.of(Decimal(one), terms.fee_percent) for one in amounts)

    @property
    def may_earn(self) -> bool:
        goes_on = self.status in ("active", "finished") or bool(self.done)
        return (self.consented and goes_on) or (self.status == "screened_out" and self.pays_test)

    def reserved(self, planned: int) -> Decimal:
        most = self.terms(self.per, planned).most
        return max(most if self.may_earn else self.paid, self.paid) + self.bonus


def seen_in(study: Study) -> list[Seen]:
    people = study.participations.select_related("submission__channel", "consented_version")
    return [Seen(study, one) for one in people.order_by("pk")]


def summed(costs) -> Cost:
    return sum(costs, Cost()).in_cents


@pytest.fixture(params=range(4))
def rng(request) -> Random:
    return Random(request.param)


def test_what_is_due_to_everybody_is_the_sum_of_what_is_due_to_each(rng):
    study, other = a_study(rng), a_study(rng)
    for one, sums in due([study, other]).items():
        people = [each for each in seen_in(Study.objects.get(pk=one)) if each.is_due]
        assert sums.once_they_stop.in_cents == summed(each.due[0] for each in people)
        assert sums.so_far.in_cents == summed(each.due[1] for each in people)
        working = Counter()
        for n, terms, done in sums.working:
            working[terms, done] += n
        expected = Counter(
            (replace(each.terms(each.per), is_one_payment=False), each.done)
            for each in people
            if each.status == "active"
        )
        # To whom no reward was promised, no task costs anything.
        assert {key: n for key, n in working.items() if key[0].reward} == {
            key: n for key, n in expected.items() if key[0].reward
        }
    people = [each for each in seen_in(study) if each.is_due]
    assert ledger(study, NOW).owed.in_cents == summed(each.due[2] for each in people)


def test_people_have_waited_since_the_first_of_a_list_completed_the_last_task(rng):
    study = a_study(rng)
    assert_waiting_since(study)
    Participation.objects.update(status="finished", paid_per="hit", consented_version=None)
    Submission.objects.update(channel=None, screen_out_reward=None)
    Study.objects.update(reward=1)
    Payment.objects.all().delete()
    # Now many did as much on the same terms.
    assert_waiting_since(Study.objects.get(pk=study.pk))


def assert_waiting_since(study: Study) -> None:
    people, entries = seen_in(study), ledger(study, NOW)
    for name in ("awaiting_payment", "screened_out"):
        ends = [each.until for each in people if name in each.lists and each.until]
        assert entries.waiting_since(name) == min(ends, default=None)


def test_what_was_paid_is_the_sum_of_what_each_got_and_of_what_each_earned_in_an_hour(rng):
    study = a_study(rng)
    people, entries = seen_in(study), ledger(study, NOW)
    paid, rates = entries.money, [each.hourly for each in people if each.hourly is not None]
    assert Cost(paid.rewards, paid.fees) == summed(each.spent for each in people)
    assert paid.timed == len(rates) > 0
    assert paid.under_promise == sum(rate < study.promised_hourly_rate for rate in rates)
    assert paid.median_hourly_rate == in_cents(median(rates))
    excluded = [each for each in people if each.status == "excluded" and each.spent.amount]
    assert entries.excluded == (len(excluded), summed(each.spent for each in excluded))


def test_the_lists_have_everybody_who_belongs_there_and_they_come_first(rng):
    study = a_study(rng)
    people, entries = seen_in(study), ledger(study, NOW)
    counted = Counter(name for each in people for name in each.lists)
    assert {name: counted[name] for name in LISTS} == entries.totals.listed
    assert listed_by_study([study], NOW) == {
        study.pk: {name: counted[name] for name in WITHOUT_RATINGS}
    }
    on_a_list = [bool(row.lists) for row in entries.rows_on_page(entries.matches)]
    assert on_a_list == sorted(on_a_list, reverse=True)
    assert len(on_a_list) == PEOPLE
    Submission.objects.update(settled_at=NOW)
    entries = ledger(study, NOW)
    rows = [row.participation.pk for row in entries.rows_on_page(entries.matches)]
    assert rows == sorted(rows)
    assert not any(entries.totals.listed.values())


def test_the_most_that_people_can_get_is_the_sum_of_what_each_can_get(rng):
    study = a_study(rng)
    people = [each for each in seen_in(study) if not each.simulated]
    planned = study.hits.main().count()
    for limit in maximum(study).channels:
        came = [one for one in people if one.submission.channel_id == limit.channel.pk]
        came = [one for one in came if one.may_earn or one.was_paid]
        assert limit.people == len(came)
        assert limit.reserved == sum((one.reserved(planned) for one in came), Decimal(0))


def test_a_page_is_a_slice_of_those_who_need_a_decision_first(rng):
    entries = ledger(a_study(rng), NOW)
    longest = max(entries.totals.listed.values())
    assert longest > 1
    for start, stop in [(0, 1), (1, longest), (0, longest + 1), (longest, PEOPLE), (0, PEOPLE + 9)]:
        assert [*entries.page(start, stop)] == [*entries.matches[start:stop]]
    some = ledger(entries.study, NOW, Q(status="active"))
    assert [*some.page(0, 1)] == [*some.matches[:1]]
