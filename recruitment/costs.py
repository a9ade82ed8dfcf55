"""What a study will cost, and what studies have cost: for the steps and the list of studies."""

from collections.abc import Collection
from dataclasses import dataclass
from decimal import ROUND_UP, Decimal
from math import ceil
from typing import Any

from django.db.models import OuterRef, Sum

from annotation.models import Place
from recruitment.ledger import CENT, PAID
from recruitment.models import Channel, Payment
from studies.models import Study
from studies.steps import count_of


@dataclass(frozen=True)
class Forecast:
    """What responses will cost. A value is None if `missing` names a setting that it needs."""

    currency: str
    responses: int
    people: int | None
    rewards: Decimal | None
    fees: Decimal | None
    hourly_rate: Decimal | None
    promised_hourly_rate: Decimal | None
    fee_percent: Decimal
    missing: tuple[str, ...] = ()

    @property
    def total(self) -> Decimal | None:
        if self.rewards is None or self.fees is None:
            return None
        return self.rewards + self.fees

    @property
    def is_under_promise(self) -> bool:
        rate, promise = self.hourly_rate, self.promised_hourly_rate
        return rate is not None and promise is not None and rate < promise


def forecast(study: Study, *, responses: int, fee_percent: Decimal) -> Forecast:
    """Return what this number of responses will cost with the study's settings."""
    tasks, reward, minutes = study.hits_per_annotator, study.reward, study.minutes_per_hit
    needs = {
        "the tasks per annotator": tasks,
        "the reward": reward,
        "the minutes per task": minutes,
    }
    rewards = per_response(study)
    rewards = None if rewards is None else (rewards * responses).quantize(CENT)
    hours = Decimal(minutes * tasks) / 60 if minutes and tasks else None
    return Forecast(
        currency=study.currency,
        responses=responses,
        people=max(study.ratings_per_hit, ceil(responses / tasks)) if tasks else None,
        rewards=rewards,
        fees=None if rewards is None else (rewards * fee_percent / 100).quantize(CENT),
        hourly_rate=(reward / hours).quantize(CENT) if reward is not None and hours else None,
        promised_hourly_rate=study.promised_hourly_rate,
        fee_percent=fee_percent,
        missing=tuple(name for name, value in needs.items() if value is None),
    )


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


def share_of_reward(reward: Decimal, completed: int, total: int) -> Decimal:
    """Return the pay of somebody who stops after some of their tasks, rounded up to a cent."""
    return (reward * completed / total).quantize(CENT, ROUND_UP)


@dataclass(frozen=True)
class TaskPay:
    """What somebody who stops early is paid for each completed task."""

    amount: Decimal
    is_rounded: bool


def pay_per_task(study: Study, tasks: int) -> TaskPay | None:
    """Return the share of the reward for one task; None if nobody can complete only some tasks."""
    total = min(study.hits_per_annotator or 0, tasks)
    if not study.reward or total < 2:
        return None
    amount = share_of_reward(study.reward, 1, total)
    return TaskPay(amount, is_rounded=amount * total != study.reward)


def highest_fee(channels: Collection[Channel]) -> Decimal:
    """Return the highest fee of the channels that are not closed, in percent."""
    fees = [
        channel.settings.get("fee_percent") or 0 for channel in channels if not channel.closed_at
    ]
    return max((Decimal(str(fee)) for fee in fees), default=Decimal(0))


@dataclass(frozen=True)
class Spending:
    """What was paid with fees, and what the other responses of the plan will cost with fees.

    `committed` is None if the study does not say what a response costs.
    """

    paid: Decimal
    fees: Decimal
    committed: Decimal | None

    @property
    def spent(self) -> Decimal:
        """What was paid so far, with fees."""
        return self.paid + self.fees

    @property
    def forecast(self) -> Decimal | None:
        """What the study will have cost once all responses of the plan are collected and paid."""
        return None if self.committed is None else self.spent + self.committed


def plan_counts() -> dict[str, Any]:
    """Return what `spending_of` needs to know about studies, as expressions of a query."""
    places = Place.objects.filter(study=OuterRef("pk"))
    return {
        "places_total": count_of(places),
        "completed": count_of(places.filter(completed_at__isnull=False)),
    }


def spending(study: Study) -> Spending:
    """Return the spending of one study."""
    return spending_of(Study.objects.filter(pk=study.pk).annotate(**plan_counts()))[study.pk]


def spending_of(studies: Collection[Study]) -> dict[str, Spending]:
    """Return the spending of studies that were read with `plan_counts`, by key."""
    studies = list(studies)
    channels = Channel.objects.filter(study__in=[study.pk for study in studies])
    by_study: dict[str, list[Channel]] = {study.pk: [] for study in studies}
    for channel in channels:
        by_study[channel.study_id].append(channel)
    paid = _paid(list(by_study), {channel.pk: channel for channel in channels})
    return {
        study.pk: _spending(study, paid.get(study.pk, _Paid()), highest_fee(by_study[study.pk]))
        for study in studies
    }


@dataclass(frozen=True)
class _Paid:
    """What was paid, the fees, and the part with fees that is no bonus and pays for the plan."""

    amount: Decimal = Decimal(0)
    fees: Decimal = Decimal(0)
    for_plan: Decimal = Decimal(0)


def _spending(study: Study, paid: _Paid, fee_percent: Decimal) -> Spending:
    committed = _committed(study, paid.for_plan, fee_percent)
    return Spending(paid.amount.quantize(CENT), paid.fees.quantize(CENT), committed)


def _paid(studies: list[str], channels: dict[int, Channel]) -> dict[str, _Paid]:
    rows = (
        Payment.objects.filter(participation__study__in=studies, status__in=PAID)
        .order_by()
        .values_list("participation__study", "participation__submission__channel", "kind")
        .annotate(amount=Sum("amount"))
    )
    totals: dict[str, _Paid] = {}
    for study, channel, kind, summed in rows:
        stated = channels[channel].settings.get("fee_percent") if channel in channels else None
        amount = Decimal(str(summed))
        fees = amount * Decimal(str(stated or 0)) / 100
        earlier = totals.get(study, _Paid())
        for_plan = Decimal(0) if kind == Payment.Kind.BONUS else amount + fees
        totals[study] = _Paid(
            earlier.amount + amount, earlier.fees + fees, earlier.for_plan + for_plan
        )
    return totals


def _committed(study: Study, paid: Decimal, fee_percent: Decimal) -> Decimal | None:
    """Return the cost of what is still to be paid; a closed study collects nothing more."""
    if study.status == Study.Status.DRAFT:
        return Decimal(0).quantize(CENT)
    reward = per_response(study)
    if reward is None:
        return None
    total: Decimal = reward * _responses(study) * (1 + fee_percent / 100)
    return max(Decimal(0), total - paid).quantize(CENT)


def _responses(study: Any) -> int:
    """Return how many responses the study will have."""
    completed, planned = int(study.completed), int(study.places_total)
    if study.status == Study.Status.CLOSED:
        return completed
    return (
        planned if study.most_answers is None else max(completed, min(planned, study.most_answers))
    )
