"""What a study will cost, and what studies have cost: for the steps and the list of studies."""

from collections.abc import Collection
from dataclasses import dataclass
from decimal import Decimal
from math import ceil

from django.db.models import Sum

from recruitment.ledger import CENT, PAID
from recruitment.models import Channel, Payment
from studies.models import Study


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

    `committed` is None if the study does not say what a response costs.
    """

    spent: Decimal
    committed: Decimal | None


def spending_of(studies: Collection[Study]) -> dict[str, Spending]:
    """Return the spending of studies that have the counts `places` and `completed`, by key."""
    channels = Channel.objects.filter(study__in=[study.pk for study in studies])
    by_study: dict[str, list[Channel]] = {study.pk: [] for study in studies}
    for channel in channels:
        by_study[channel.study_id].append(channel)
    paid = _paid(list(by_study), {channel.pk: channel for channel in channels})
    return {
        study.pk: Spending(
            paid.get(study.pk, Decimal(0)).quantize(CENT),
            _committed(study, paid.get(study.pk, Decimal(0)), highest_fee(by_study[study.pk])),
        )
        for study in studies
    }


def _paid(studies: list[str], channels: dict[int, Channel]) -> dict[str, Decimal]:
    rows = (
        Payment.objects.filter(participation__study__in=studies, status__in=PAID)
        .order_by()
        .values_list("participation__study", "participation__submission__channel")
        .annotate(amount=Sum("amount"))
    )
    totals: dict[str, Decimal] = {}
    for study, channel, amount in rows:
        stated = channels[channel].settings.get("fee_percent") if channel in channels else None
        share = 1 + Decimal(str(stated or 0)) / 100
        totals[study] = totals.get(study, Decimal(0)) + Decimal(str(amount)) * share
    return totals


def _committed(study: Study, spent: Decimal, fee_percent: Decimal) -> Decimal | None:
    """Return the cost of what is still to be paid; a closed study collects nothing more."""
    if study.status == Study.Status.DRAFT:
        return Decimal(0).quantize(CENT)
    reward = per_response(study)
    if reward is None:
        return None
    is_closed = study.status == Study.Status.CLOSED
    responses = study.completed if is_closed else study.places_total  # type: ignore[attr-defined]
    total: Decimal = reward * responses * (1 + fee_percent / 100)
    return max(Decimal(0), total - spent).quantize(CENT)
