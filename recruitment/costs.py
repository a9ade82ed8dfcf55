"""What a study will cost, and what studies have cost: for the steps and the list of studies."""

from collections.abc import Collection, Sequence
from dataclasses import dataclass
from decimal import Decimal
from functools import cached_property
from typing import Any

from django.db.models import DecimalField, Max, OuterRef, Q, Subquery, Sum
from django.db.models.fields.json import KeyTextTransform
from django.db.models.functions import Cast, Coalesce, Now

from annotation.models import Participation, Place
from recruitment.admission import PAID, Maximum, collection_of, maximum
from recruitment.ledger import Ledger, ledger
from recruitment.models import Channel, Payment
from recruitment.pay import CENT, Asked, Pay
from recruitment.terms import Agreed, asked_of_one, pay_of
from studies.models import Study
from studies.steps import count_of

_PERCENT = DecimalField(max_digits=8, decimal_places=4)


@dataclass(frozen=True)
class Forecast:
    """What a study is expected to cost, and at most. A value is None if `missing` says what it needs."""

    currency: str
    responses: int
    people: int | None
    rewards: Decimal | None
    fees: Decimal | None
    maximum: Maximum
    budget: Decimal | None
    hourly_rate: Decimal | None
    minutes: float | None
    promised_hourly_rate: Decimal | None
    fee_percent: Decimal
    missing: tuple[str, ...] = ()

    @property
    def total(self) -> Decimal | None:
        if self.rewards is None or self.fees is None:
            return None
        return self.rewards + self.fees

    @property
    def is_over_budget(self) -> bool:
        return self.budget is not None and self.maximum.total > self.budget

    @property
    def is_under_promise(self) -> bool:
        rate, promise = self.hourly_rate, self.promised_hourly_rate
        return rate is not None and promise is not None and rate < promise


def forecast(study: Study, *, hits: int) -> Forecast:
    """Return what collecting all responses to this number of HITs costs with the study's settings."""
    needs = {
        "the tasks per annotator": study.hits_per_annotator,
        "the reward": study.reward,
        "the minutes per task": study.minutes_per_hit,
    }
    collection, most = collection_of(study, hits), maximum(study, hits)
    pays = [one.pay for one in most.channels if not one.channel.closed_at]
    pays = pays or [pay_of(study, {}, Agreed(Participation.PaidPer.HIT), hits)]
    expected = [pay.expected(collection) for pay in pays] if study.reward is not None else []
    rewards = max((amount for amount in expected if amount is not None), default=None)
    fee_percent, asked = highest_fee(study.channels.all()), asked_of_one(study, hits)
    return Forecast(
        currency=study.currency,
        responses=collection.responses,
        people=collection.people if study.hits_per_annotator else None,
        rewards=rewards,
        fees=None if rewards is None else (rewards * fee_percent / 100).quantize(CENT),
        maximum=most,
        budget=study.budget,
        hourly_rate=_hourly_rate(pays, asked) if study.reward is not None else None,
        minutes=asked.minutes if asked else None,
        promised_hourly_rate=study.promised_hourly_rate,
        fee_percent=fee_percent,
        missing=tuple(name for name, value in needs.items() if value is None),
    )


def _hourly_rate(pays: Sequence[Pay], asked: Asked | None) -> Decimal | None:
    """Return the pay for an hour of all that is asked, on the channel that pays least."""
    if asked is None:
        return None
    hours = Decimal(asked.minutes) / 60
    return (min(pay.for_tasks(asked.tasks) for pay in pays) / hours).quantize(CENT)


@dataclass(frozen=True)
class ChannelCost:
    """What a number of participants costs on one platform, if all of them are paid the reward."""

    participants: int
    reward: Decimal
    fee_percent: Decimal
    currency: str

    @property
    def rewards(self) -> Decimal:
        return self.participants * self.reward

    @property
    def fees(self) -> Decimal:
        return (self.rewards * self.fee_percent / 100).quantize(CENT)

    @property
    def total(self) -> Decimal:
        return self.rewards + self.fees


def channel_cost(channel: Channel, participants: int) -> ChannelCost | None:
    """Return what participants of a channel cost; None if the study states no reward."""
    study = channel.study
    if study.reward is None:
        return None
    fee = Decimal(str(channel.settings.get("fee_percent") or 0))
    return ChannelCost(participants, study.reward, fee, study.currency)


def per_response(study: Study) -> Decimal | None:
    """Return the reward for one response without fees; None if the settings do not say."""
    if study.reward is None or not study.hits_per_annotator:
        return None
    return study.reward / study.hits_per_annotator


def highest_fee(channels: Collection[Channel]) -> Decimal:
    """Return the highest fee of the channels that are not closed, in percent."""
    fees = [
        channel.settings.get("fee_percent") or 0 for channel in channels if not channel.closed_at
    ]
    return max((Decimal(str(fee)) for fee in fees), default=Decimal(0))


@dataclass(frozen=True)
class Spending:
    """What was paid with fees, and what the other responses of the plan will cost with fees.

    `committed` is None if the study does not say what a response costs. `to_collect` is the part of it
    for responses that nobody has given yet.
    """

    paid: Decimal
    fees: Decimal
    committed: Decimal | None
    to_collect: Decimal = Decimal("0.00")

    @property
    def spent(self) -> Decimal:
        """What was paid so far, with fees."""
        return self.paid + self.fees


@dataclass(frozen=True)
class StudyCosts:
    """What a study has cost and will cost, each with fees.

    `to_come` is for responses of the plan that nobody has to be paid for yet. It is None if the
    study does not say what a response costs.
    """

    currency: str
    spent: Decimal
    fees: Decimal
    owed: Decimal
    owed_to: int
    to_come: Decimal | None

    @property
    def total(self) -> Decimal | None:
        """The forecast of what the study will have cost once everything is collected and paid."""
        return None if self.to_come is None else self.spent + self.owed + self.to_come


@dataclass(frozen=True)
class Accounts:
    """A study's ledger with its costs, which is what pages about money show.

    `plan` is the study as read with `plan_counts`, if it states a reward.
    """

    ledger: Ledger
    plan: Study

    @cached_property
    def costs(self) -> StudyCosts | None:
        """What the study has cost and will cost; None if it states no reward, or only bots work.

        A draft has cost nothing; what it will cost is the forecast of its step Size & pay.
        """
        has_none = self.plan.dry_run_of_id is not None or self.plan.status == Study.Status.DRAFT
        if self.plan.reward is None or has_none:
            return None
        money, owed = self.ledger.money, self.ledger.owed
        so_far = _spending(self.plan, _Paid(money.rewards, money.fees, money.for_plan))
        with_fees = (owed.amount + owed.fees).quantize(CENT)
        committed = so_far.committed
        return StudyCosts(
            currency=self.plan.currency,
            spent=so_far.spent,
            fees=so_far.fees,
            owed=with_fees,
            owed_to=self.ledger.unpaid,
            to_come=None if committed is None else max(so_far.to_collect, committed - with_fees),
        )


def accounts(study: Study, wanted: Q | None = None) -> Accounts:
    """Return the current ledger of a study, in which `wanted` searches, with what it costs."""
    counts = {} if study.reward is None else plan_counts()
    plan: Any = Study.objects.filter(pk=study.pk).annotate(**counts, read_at=Now()).get()
    return Accounts(ledger(study, plan.read_at, wanted), plan)


def plan_counts() -> dict[str, Any]:
    """Return what `spending_of` needs to know about studies, as expressions of a query."""
    places = Place.objects.filter(study=OuterRef("pk"))
    open_channels = Channel.objects.filter(study=OuterRef("pk"), closed_at=None).order_by()
    stated = Cast(KeyTextTransform("fee_percent", "settings"), _PERCENT)
    fees = open_channels.values("study").annotate(highest=Max(stated)).values("highest")
    return {
        "places_total": count_of(places),
        # Few places are open while a study is large, and an index finds them.
        "places_open": count_of(places.filter(completed_at__isnull=True)),
        "fee_percent": Coalesce(Subquery(fees), Decimal(0), output_field=_PERCENT),
    }


def spending_of(studies: Collection[Study]) -> dict[str, Spending]:
    """Return the spending of studies that were read with `plan_counts`, by key."""
    paid = _paid([study.pk for study in studies])
    return {study.pk: _spending(study, paid.get(study.pk, _Paid())) for study in studies}


@dataclass(frozen=True)
class _Paid:
    """What was paid, the fees, and the part with fees that is no bonus and pays for the plan."""

    amount: Decimal = Decimal(0)
    fees: Decimal = Decimal(0)
    for_plan: Decimal = Decimal(0)


def _spending(study: Any, paid: _Paid) -> Spending:
    """Return the spending; a closed study collects nothing more."""
    so_far, reward = (paid.amount.quantize(CENT), paid.fees.quantize(CENT)), per_response(study)
    if study.status == Study.Status.DRAFT or study.dry_run_of_id is not None:
        return Spending(*so_far, committed=Decimal("0.00"))
    if reward is None:
        return Spending(*so_far, committed=None)
    each, responses = reward * (1 + study.fee_percent / 100), _responses(study)
    to_collect = (each * (responses - completed_places(study))).quantize(CENT)
    # One payment may have been for fewer responses than it was planned for.
    committed = max(to_collect, (each * responses - paid.for_plan).quantize(CENT))
    return Spending(*so_far, committed, to_collect)


def _paid(studies: list[str]) -> dict[str, _Paid]:
    of_channel = "participation__submission__channel__settings"
    rows = (
        Payment.objects.filter(participation__study__in=studies, status__in=PAID)
        .order_by()
        .annotate(fee_percent=KeyTextTransform("fee_percent", of_channel))
        .values_list("participation__study", "fee_percent", "kind")
        .annotate(amount=Sum("amount"))
    )
    totals: dict[str, _Paid] = {}
    for study, stated, kind, summed in rows:
        amount = Decimal(str(summed))
        fees = amount * Decimal(str(stated or 0)) / 100
        earlier = totals.get(study, _Paid())
        for_plan = Decimal(0) if kind == Payment.Kind.BONUS else amount + fees
        totals[study] = _Paid(
            earlier.amount + amount, earlier.fees + fees, earlier.for_plan + for_plan
        )
    return totals


def completed_places(study: Any) -> int:
    """Return the number of completed places of a study that was read with `plan_counts`."""
    return int(study.places_total) - int(study.places_open)


def _responses(study: Any) -> int:
    """Return how many responses the study will have."""
    completed, planned = completed_places(study), int(study.places_total)
    if study.status == Study.Status.CLOSED:
        return completed
    return (
        planned if study.most_answers is None else max(completed, min(planned, study.most_answers))
    )
