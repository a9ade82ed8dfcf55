"""The ledger: the work, the platform status and the payments of every submission."""

from bisect import bisect_left
from collections import Counter, defaultdict
from collections.abc import Collection, Iterable, Mapping
from dataclasses import dataclass, field, replace
from datetime import datetime, timedelta
from decimal import Decimal
from functools import cached_property, reduce
from operator import or_
from statistics import median
from types import MappingProxyType
from typing import Any, NamedTuple

from django.db.models import (
    BooleanField,
    Case,
    Count,
    DurationField,
    ExpressionWrapper,
    F,
    FilteredRelation,
    Min,
    OuterRef,
    Q,
    QuerySet,
    Subquery,
    Sum,
    Value,
    When,
)
from django.db.models.fields.json import KeyTextTransform
from django.db.models.functions import Coalesce

from annotation.counts import counts_by_participation, first_flag
from annotation.models import Assignment, Participation, Place, Rating
from annotation.models.rating import MAIN_FIRST
from annotation.selectors import PAID_TASK, has_any
from annotation.services.screening import unanswered_checks
from jobs.clock import database_now
from recruitment.admission import PAID, sum_of
from recruitment.models import Channel, Payment
from recruitment.pay import Cost, Pay
from recruitment.platforms import get_platform, platforms
from recruitment.terms import (
    AGREED,
    PAYS_SCREEN_OUT,
    Agreed,
    amount_in,
    paid_per,
    pay_of,
)
from studies.design.steps import count_of
from studies.models import Study
from tiebreak.digits import in_cents
from tiebreak.errors import DomainError

Status = Participation.Status


@dataclass(frozen=True)
class LedgerRow:
    """One submission: the work, and what was paid for it. `ratings` are those in the statistics."""

    participation: Participation
    hits: int
    ratings: int
    paid: Decimal
    last_at: datetime | None

    @property
    def lists(self) -> list[str]:
        """The lists that the submission is on, if it was read for a page."""
        return [name for name in LISTS if getattr(self.participation, f"on_{name}", False)]

    @property
    def time(self) -> timedelta | None:
        """Time from consent to the last answer; reading the guidelines is work too."""
        start = self.participation.consented_at
        return self.last_at - start if start and self.last_at else None

    @property
    def minutes(self) -> float | None:
        return self.time.total_seconds() / 60 if self.time is not None else None

    @property
    def hourly_rate(self) -> Decimal | None:
        """The pay for an hour until the last completed task, as `Money` has it of everybody."""
        start, end = self.participation.consented_at, vars(self.participation).get("until")
        cents = _per_hour(self.paid, end - start if start and end else None)
        return None if cents is None else Decimal(cents).scaleb(-2)

    @property
    def is_under_promise(self) -> bool:
        promise = self.participation.study.promised_hourly_rate
        is_judged = self.participation.status not in _NOT_JUDGED
        return is_judged and _is_under(self.hourly_rate, promise)


# Whose time says nothing about the pay for an hour.
_NOT_JUDGED = (Status.EXCLUDED.value, Status.REJECTED.value)


def _per_hour(paid: Decimal, worked: timedelta | None) -> int | None:
    """Return the cents for an hour, a half rounded up, in whole numbers, which take least time."""
    time = worked // _MOMENT if worked else 0
    return (2 * round(100 * paid) * _HOUR + time) // (2 * time) if paid and time > 0 else None


_MOMENT = timedelta(microseconds=1)
_HOUR = timedelta(hours=1) // _MOMENT


def _is_under(rate: Decimal | None, promise: Decimal | None) -> bool:
    return rate is not None and promise is not None and rate < promise


@dataclass(frozen=True)
class Money:
    """What was paid, the fees on it, and the hourly pay. `recruitment.costs` has what is to come.

    The hourly pay is that of the `timed` people whose ratings were not excluded; `under_promise` of
    them got less than was promised.
    """

    currency: str
    rewards: Decimal
    fees: Decimal
    median_hourly_rate: Decimal | None
    promised_hourly_rate: Decimal | None
    timed: int = 0
    under_promise: int = 0

    @property
    def spent(self) -> Decimal:
        return self.rewards + self.fees

    @property
    def is_under_promise(self) -> bool:
        return _is_under(self.median_hourly_rate, self.promised_hourly_rate)


@dataclass(frozen=True)
class Totals:
    """How many participants a study has, how many of them a search found, and what they are."""

    participants: int
    matching: int
    unverified: int
    listed: Mapping[str, int]


class Due(NamedTuple):
    """What is due to people under what each agreed to: once they stop, and for the work so far.

    The two differ for people who still work for one payment that covers all tasks. `owed` is the part
    of those who await payment, `waiting` how many are on each list of those, and `since` when the first
    of them completed their last task. `working` has those who may do more tasks: how many people, what they agreed to for each
    task, and how many tasks they did.
    """

    once_they_stop: Cost = Cost()
    so_far: Cost = Cost()
    owed: Cost = Cost()
    working: tuple[tuple[int, Pay, int], ...] = ()
    waiting: Counter[str] = Counter()
    since: Mapping[str, datetime] = MappingProxyType({})

    def __add__(self, other: "Due") -> "Due":  # type: ignore[override]
        first = dict(self.since)
        for name, since in other.since.items():
            first[name] = min(since, first.get(name, since))
        return Due(
            self.once_they_stop + other.once_they_stop,
            self.so_far + other.so_far,
            self.owed + other.owed,
            self.working + other.working,
            self.waiting + other.waiting,
            first,
        )


@dataclass(frozen=True)
class Ledger:
    """The submissions of a study, those that need a decision, and the payments.

    Everything is read when it is asked for, so a page of a large study reads only its rows.
    """

    study: Study
    now: datetime
    # Which participants a search wants.
    wanted: Q = field(default_factory=Q)

    @cached_property
    def people(self) -> QuerySet[Participation]:
        """All participations, in the order in which they began."""
        conditions = _conditions(self.study, self.now)
        return Participation.objects.filter(study=self.study).alias(**conditions).order_by("pk")

    @property
    def matches(self) -> QuerySet[Participation]:
        """The participations that the search wants, those that need a decision first."""
        listed = self._with_people.values()
        waiting = [_is(reduce(or_, listed)).desc()] if listed else []
        return self.people.filter(self.wanted).order_by(*waiting, "pk")

    def page(self, start: int, stop: int) -> QuerySet[Participation]:
        """Return a slice of `matches`. Where a list has as many people, only these are looked at."""
        if self.wanted or stop > max(self.totals.listed.values()):
            return self.matches[start:stop]
        return self.people.filter(reduce(or_, self._with_people.values()))[start:stop]

    def waiting_since(self, name: str) -> datetime | None:
        """Return when the first who await payment on a list completed their last task; None if none did."""
        return self.due.since.get(name)

    @cached_property
    def _lists(self) -> dict[str, Q]:
        return _lists(self.study)

    @cached_property
    def _with_people(self) -> dict[str, Q]:
        """The lists that somebody is on: to look for nobody takes as long."""
        return {name: which for name, which in self._lists.items() if self.totals.listed[name]}

    def listed(self, name: str) -> QuerySet[Participation]:
        """Return the participations that are on a list."""
        which = self._lists.get(name)
        return self.people.none() if which is None else self.people.filter(which)

    @cached_property
    def totals(self) -> Totals:
        # Where the study pays, what is due says who waits for it.
        known = () if self.study.reward is None else _AWAITING
        lists = {name: which for name, which in self._lists.items() if name not in known}
        on_list = {f"on_{name}": Count("pk", filter=which) for name, which in lists.items()}
        unverified = Count("pk", filter=~Q(address=""))
        matching = Count("pk", filter=self.wanted) if self.wanted else Count("pk")
        row = self.people.order_by().aggregate(
            n=Count("pk"), matching=matching, unverified=unverified, **on_list
        )
        waiting = {name: self.due.waiting[name] for name in known}
        listed = waiting | {name: row[f"on_{name}"] for name in lists}
        return Totals(row["n"], row["matching"], row["unverified"], listed)

    def rows_of(self, people: QuerySet[Participation]) -> list[LedgerRow]:
        """Return one row per submission, with a fixed number of statements."""
        return list(_rows(people, self.study))

    def rows_on_page(self, page: QuerySet[Participation]) -> list[LedgerRow]:
        """Return the rows of a page of `matches`, each with its lists, in two statements."""
        flags = {f"on_{name}": _is(which) for name, which in self._with_people.items()}
        shown = self.people.filter(pk__in=page.values("pk")).annotate(
            **flags, unanswered=unanswered_checks()
        )
        return sorted(_rows(shown, self.study), key=lambda row: not row.lists)

    @property
    def unpaid(self) -> int:
        """Number of those who await payment."""
        return self.totals.listed["awaiting_payment"] + self.totals.listed["screened_out"]

    @cached_property
    def due(self) -> Due:
        return _due_to(self.people, [self.study], self.awaiting)[self.study.pk]

    @property
    def awaiting(self) -> dict[str, Q]:
        """The lists of those who await payment."""
        return {name: self._lists[name] for name in _AWAITING}

    @property
    def owed(self) -> Cost:
        """What is owed to all who await payment."""
        return self.due.owed

    @property
    def owed_once_they_stop(self) -> Decimal:
        """What is owed in addition, with fees, to those who still work, for what they have done."""
        return self.due.once_they_stop.total - self.owed.total

    @cached_property
    def rows(self) -> list[LedgerRow]:
        return self.rows_of(self.people)

    @cached_property
    def money(self) -> Money:
        return _money(self.study, self._payments)

    @cached_property
    def excluded(self) -> tuple[int, Cost]:
        """How many people were paid although their ratings do not count, and what that cost."""
        paid = self._payments.filter(participation__status=Status.EXCLUDED, amount__gt=0)
        money = _money(self.study, paid)
        return paid.values("participation").distinct().count(), Cost(money.rewards, money.fees)

    @property
    def _payments(self) -> QuerySet[Payment]:
        payments = Payment.objects.filter(participation__study=self.study, status__in=PAID)
        return payments.order_by()

    def rows_on(self, name: str) -> list[LedgerRow]:
        return self.rows_of(self.listed(name))


def ledger(study: Study, now: datetime | None = None, wanted: Q | None = None) -> Ledger:
    """Return the current ledger of a study; ``wanted`` is what `search_for` returns."""
    return Ledger(study, now or database_now(), wanted or Q())


def payable(study: Study) -> list[LedgerRow]:
    """Return the submissions that await payment, for completed work or for taking the test."""
    study_ledger = ledger(study)
    return [*study_ledger.rows_on("awaiting_payment"), *study_ledger.rows_on("screened_out")]


def awaits_payment(participation: Participation) -> bool:
    """Return whether a participant is one of those who await payment."""
    entries = ledger(participation.study)
    on_either = reduce(or_, entries.awaiting.values())
    return entries.people.filter(on_either, pk=participation.pk).exists()


def search_for(study: Study, search: str, status: str, on_list: str = "") -> Q:
    """Return the condition of this status and list, and a matching pseudonym, code or submission."""
    wanted = Q(status=status) if status else Q()
    if on_list:
        wanted &= _lists(study)[on_list]
    if search:
        codes = Q(submission__completion_code__iexact=search) | Q(submission_id__iexact=search)
        wanted &= codes | Q(rater__pseudonym__icontains=search)
    return wanted


def _is(condition: Q) -> Case:
    return Case(When(condition, then=True), default=False, output_field=BooleanField())


def _conditions(study: Study, now: datetime) -> dict[str, Any]:
    """Return the conditions on participations of which the lists are made."""
    since = now - timedelta(minutes=study.lease_minutes)
    done = Assignment.objects.filter(participation=OuterRef("pk"), completed_at__gte=since)
    # To look at the answers of all tasks would take longer the more somebody has done.
    in_open_task = {"assignment__participation": OuterRef("pk"), "assignment__completed_at": None}
    answers = Rating.objects.filter(created_at__gte=since, **in_open_task)
    held = Place.objects.filter(
        completed_at__isnull=True,
        assignment__status=Assignment.Status.ACTIVE,
        assignment__participation=OuterRef("pk"),
    )
    # Looking for recent answers takes the time, so it is done only for those who may be silent.
    may_be_silent = Q(status=Status.ACTIVE, created_at__lt=since)
    return {
        **_OF_MONEY,
        "holds": has_any(held),
        "is_silent": Case(
            When(may_be_silent, then=~Q(has_any(done)) & ~Q(has_any(answers))),
            default=False,
            output_field=BooleanField(),
        ),
    }


_PAID_TO = Payment.objects.filter(participation=OuterRef("pk"), status__in=PAID, amount__gt=0)
_OF_MONEY = {
    "has_work": has_any(Assignment.objects.filter(PAID_TASK, participation=OuterRef("pk"))),
    "is_paid": has_any(_PAID_TO),
    # A bonus comes on top of what is owed.
    "is_rewarded": has_any(_PAID_TO.exclude(kind=Payment.Kind.BONUS)),
}
SUBMITTED = ("awaiting review", "submitted")
_SUBMITTED = Q(submission__platform_status__iexact=SUBMITTED[0]) | Q(
    submission__platform_status__iexact=SUBMITTED[1]
)
_REJECTED = Q(status=Status.REJECTED) | Q(submission__platform_status__iexact="rejected")
# Databases stop at the first part that decides, so what is looked up for each person stands last, and what
# most people are not stands first. (The arguments of one `Q` would be sorted by name.)
_UNPAID = Q(is_rewarded=False)
_UNPAID_WORK = ~_REJECTED & _UNPAID & Q(has_work=True)
_HAS_BEGUN = Q(status=Status.ACTIVE, consented_at__isnull=False) & _UNPAID & Q(has_work=False)
_UNPAID_TEST = Q(status=Status.SCREENED_OUT) & PAYS_SCREEN_OUT & _UNPAID
# Who did no task and has not begun is due nothing, which their number of tasks says as well: only
# where it does not, work is looked for.
_IS_ENTERING = Q(status=Status.ACTIVE, consented_at__isnull=True)
_MAY_BE_DUE = (
    (~_REJECTED & _UNPAID & (~_IS_ENTERING | Q(has_work=True))) | _UNPAID_TEST | _HAS_BEGUN
)
# Bots are owed nothing, and nobody has to decide about their work.
_OPEN_TO_DECIDE = Q(submission__settled_at=None, simulated=False)


def _lists(study: Study) -> dict[str, Q]:
    """Return the lists of unsettled submissions that need a decision; unpaid work awaits no payment.

    People await payment if they have unpaid completed work and no longer work. They are stuck if
    they are silent and hold a place, or submitted on the platform without finishing here. Silent is who
    neither completed a task nor answered in an open one for the length of a lease.
    """
    is_active = Q(status=Status.ACTIVE)
    has_ended = ~is_active | _SUBMITTED | Q(is_silent=True, holds=False)
    is_promised = Q() if study.reward is not None else Q(consented_version__reward__isnull=False)
    holds_or_did_nothing = Q(holds=True) | Q(has_work=False)
    lists = {
        "paid_without_data": ~Q(status=Status.SCREENED_OUT) & Q(has_work=False) & Q(is_paid=True),
        "awaiting_payment": is_promised & has_ended & _UNPAID_WORK,
        "surplus": Q(pk__in=_with_ratings(study, first_flag("surplus"))),
        "late": Q(pk__in=_with_ratings(study, MAIN_FIRST & Q(late=True))),
        "screened_out": _UNPAID_TEST,
        "stuck": is_active & (Q(holds=True, is_silent=True) | (_SUBMITTED & holds_or_did_nothing)),
    }
    return {name: _OPEN_TO_DECIDE & which for name, which in lists.items()}


_AWAITING = ("awaiting_payment", "screened_out")


# The lists that every page of a study's money leads with, and that need no look at single ratings.
WITHOUT_RATINGS = ("awaiting_payment", "screened_out", "stuck", "paid_without_data")


def listed_by_study(studies: Iterable[Study], now: datetime) -> dict[str, dict[str, int]]:
    """Return how many people are on some of the lists, for all studies with equal leases in one statement."""
    alike: dict[tuple[float, bool], list[Study]] = defaultdict(list)
    for study in studies:
        alike[study.lease_minutes, study.reward is None].append(study)
    found: dict[str, dict[str, int]] = {}
    for first, *others in alike.values():
        people = Participation.objects.filter(study__in=[first, *others]).order_by()
        lists = _lists(first)
        counted = {f"on_{name}": Count("pk", filter=lists[name]) for name in WITHOUT_RATINGS}
        grouped = people.alias(**_conditions(first, now)).values("study").annotate(**counted)
        rows = grouped.values_list("study", *counted)
        found |= {study: dict(zip(WITHOUT_RATINGS, n, strict=True)) for study, *n in rows}
    return found


LISTS = ("paid_without_data", "awaiting_payment", "surplus", "late", "screened_out", "stuck")


def _with_ratings(study: Study, which: Q) -> QuerySet[Any]:
    ratings = Rating.objects.filter(which, unit__study=study).order_by()
    return ratings.filter(assignment__participation__isnull=False).values(
        "assignment__participation"
    )


def due(studies: Collection[Study]) -> dict[str, Due]:
    """Return what is due by study, in one statement; here, it is unknown who awaits payment."""
    people = Participation.objects.filter(study__in=[study.pk for study in studies])
    return _due_to(people.alias(**_OF_MONEY), studies, {})


def _due_to(
    people: QuerySet[Participation], studies: Collection[Study], awaiting: Mapping[str, Q]
) -> dict[str, Due]:
    """Sum up what `owed` returns for each person. Whoever was promised nothing is not looked at.

    ``awaiting`` are the conditions of the lists of those who await payment, if they are asked for.
    """
    settings = "submission__channel__settings"
    without_reward = [study.pk for study in studies if study.reward is None]
    is_promised_nothing = Q(study__in=without_reward, consented_version__reward__isnull=True)
    concerned = ~is_promised_nothing | Q(status=Status.SCREENED_OUT)
    grouped = _unpaid(people).filter(concerned, _MAY_BE_DUE, _OPEN_TO_DECIDE).order_by()
    grouped = grouped.annotate(
        screen_out=KeyTextTransform("screen_out_reward", settings),
        fee_percent=KeyTextTransform("fee_percent", settings),
        done=_tasks_done(),
        **{f"on_{name}": _is(which) for name, which in awaiting.items()},
    )
    lists = [f"on_{name}" for name in awaiting]
    sums = {"n": Count("pk"), "first": Min(_until())}
    by_key, totals = {study.pk: study for study in studies}, {study.pk: Due() for study in studies}
    keys = ("study", "status", "screen_out", "fee_percent", "done", *AGREED)
    for row in grouped.values(*keys, *lists).annotate(**sums):
        found = _due_to_group(by_key[row["study"]], row)
        waiting = Counter({name: row["n"] for name in awaiting if row[f"on_{name}"]})
        since = dict.fromkeys(waiting, row["first"]) if row["first"] else {}
        owed = found.once_they_stop if waiting else Cost()
        totals[row["study"]] += found._replace(owed=owed, waiting=waiting, since=since)
    return totals


def _unpaid(people: QuerySet[Participation]) -> QuerySet[Participation]:
    """Return those without a payment but bonuses, found at once: to look for each person's takes longer."""
    made = Q(payments__status__in=PAID, payments__amount__gt=0)
    reward = FilteredRelation("payments", condition=made & ~Q(payments__kind=Payment.Kind.BONUS))
    unpaid = people.alias(reward=reward).filter(reward__isnull=True)
    return unpaid.alias(is_rewarded=Value(False))


def _due_to_group(study: Study, row: Mapping[str, Any]) -> Due:
    """Return what is due to ``n`` people who did as many tasks on the same terms."""
    status, done, n = row["status"], row["done"], row["n"]
    stated = {"screen_out_reward": row["screen_out"], "fee_percent": row["fee_percent"]}
    per, *promised = (row[name] for name in AGREED)
    pay = pay_of(study, stated, Agreed(paid_per(status, per), *promised))
    by_task = replace(pay, is_one_payment=False)
    amount = pay.for_tasks(done) if done else Decimal(0)
    amount = pay.screen_out if status == Status.SCREENED_OUT else amount
    so_far = by_task.for_tasks(done) if status == Status.ACTIVE else amount
    working = ((n, by_task, done),) if status == Status.ACTIVE else ()
    once_they_stop, by_now = (Cost.of(n * one, pay.fee_percent) for one in (amount, so_far))
    return Due(once_they_stop, by_now, working=working)


def _rows(people: QuerySet[Participation], study: Study) -> Iterable[LedgerRow]:
    related = ("rater", "submission__channel", "consented_version")
    rows = list(_with_sums(people).select_related(*related))
    counts_by_pk = counts_by_participation([row.pk for row in rows])
    for row in rows:
        row.study = study
        ratings, last_at = counts_by_pk.get(row.pk, (0, None))
        # SQLite sums money as floats.
        yield LedgerRow(row, row.hits, ratings, in_cents(row.paid), last_at)


def _with_sums(people: QuerySet[Participation]) -> QuerySet[Any]:
    """Annotate the number of completed HITs, when the last was completed, and what was paid."""
    paid = sum_of(Payment.objects.all())
    return people.annotate(hits=_tasks_done(), paid=paid, until=_until())


def _until(participation: str = "pk") -> Subquery:
    """Return as an expression when a participant completed the last task."""
    of_person = {"participation": OuterRef(participation)}
    done = Assignment.objects.filter(completed_at__isnull=False, **of_person)
    return Subquery(done.order_by("-completed_at").values("completed_at")[:1])


def _tasks_done() -> Coalesce:
    """Return as an expression how many tasks of a participant are paid."""
    return count_of(Assignment.objects.filter(PAID_TASK, participation=OuterRef("pk")))


def is_submitted(participation: Participation) -> bool:
    """Whether the platform waits for the researcher's review of the submission."""
    return participation.submission.platform_status.lower() in SUBMITTED


def _money(study: Study, payments: QuerySet[Payment]) -> Money:
    """Sum up payments. The time of someone's work ends with the last completed HIT."""
    by_fee: dict[str | None, Decimal] = defaultdict(Decimal)
    rates = []
    for percent, status, worked, paid in _paid_to_each(payments):
        by_fee[percent] += paid
        if status not in _NOT_JUDGED:
            rates.append(_per_hour(paid, worked))
    total = sum((Cost.of(paid, Decimal(str(fee or 0))) for fee, paid in by_fee.items()), Cost())
    known = sorted(rate for rate in rates if rate is not None)
    promised = study.promised_hourly_rate
    return Money(
        currency=study.currency,
        rewards=in_cents(total.amount),
        fees=in_cents(total.fees),
        median_hourly_rate=in_cents(Decimal(median(known)) / 100) if known else None,
        promised_hourly_rate=promised,
        timed=len(known),
        under_promise=0 if promised is None else bisect_left(known, 100 * promised),
    )


def _paid_to_each(payments: QuerySet[Payment]) -> QuerySet[Payment, tuple[Any, ...]]:
    """Return of each person who was paid the fee in percent, the status, the time and the sum."""
    worked = ExpressionWrapper(
        _until("participation") - F("participation__consented_at"), output_field=DurationField()
    )
    settings = "participation__submission__channel__settings"
    people = payments.values("participation").annotate(
        fee_percent=KeyTextTransform("fee_percent", settings), worked=worked, paid=Sum("amount")
    )
    return people.values_list("fee_percent", "participation__status", "worked", "paid")


def fee_share(participation: Participation) -> Decimal:
    channel = participation.submission.channel
    return amount_in(channel.settings if channel else {}, "fee_percent") / 100


def pays_by_platform(channel: Channel | None) -> bool:
    """Whether the platform can be asked to pay. A panel cannot: its secret only signs links."""
    return channel is not None and bool(channel.secret) and get_platform(channel.provider).has_token


def is_on_platform(participation: Participation) -> bool:
    """Whether somebody has an identity on a platform, and no pseudonym from a link."""
    name = participation.provider
    return name in platforms() and get_platform(name).is_platform


def platform_title(participation: Participation) -> str:
    try:
        return get_platform(participation.provider).title
    except DomainError:
        return participation.provider
