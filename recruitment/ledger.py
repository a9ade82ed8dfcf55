"""The ledger: the work, the platform status and the payments of every submission."""

from collections.abc import Iterable
from dataclasses import dataclass, field
from datetime import datetime, timedelta
from decimal import Decimal
from statistics import median

from django.db.models import Count, DecimalField, OuterRef, Q, Subquery, Sum
from django.db.models.functions import Coalesce

from annotation.counts import ParticipationCounts, RatingCounts, counts_by_participation
from annotation.models import HIT, Assignment, Participation, Place
from jobs.clock import database_now
from recruitment.models import Channel, Payment
from recruitment.platforms import get_platform
from studies.models import Study
from tiebreak.errors import DomainError

Status = Participation.Status
CENT = Decimal("0.01")
PAID = (Payment.Status.PAID, Payment.Status.ASKED)
# Set by the platform or the researcher. Work with these statuses is payable only if complete.
ENDED = (Status.RETURNED, Status.REJECTED, Status.TIMED_OUT, Status.EXCLUDED)


@dataclass(frozen=True)
class LedgerRow:
    """One submission: the work, and what was paid for it."""

    participation: Participation
    hits: int
    ratings: RatingCounts
    paid: Decimal
    last_at: datetime | None
    came_late: int = 0

    @property
    def counted(self) -> int:
        """Number of this submission's ratings in the statistics."""
        return self.ratings.counted

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
        if not self.paid or not self.time:
            return None
        hours = Decimal(self.time.total_seconds()) / 3600
        return (self.paid / hours).quantize(CENT) if hours else None


@dataclass(frozen=True)
class Money:
    """The cost so far with fees, the estimated remaining cost, and the hourly pay."""

    currency: str
    rewards: Decimal
    fees: Decimal
    remaining_cost: Decimal | None
    median_hourly_rate: Decimal | None
    promised_hourly_rate: Decimal | None

    @property
    def spent(self) -> Decimal:
        return self.rewards + self.fees

    @property
    def is_under_promise(self) -> bool:
        rate, promise = self.median_hourly_rate, self.promised_hourly_rate
        return rate is not None and promise is not None and rate < promise


@dataclass(frozen=True)
class Ledger:
    """All submissions, the lists of those that need a decision, and the payments."""

    rows: list[LedgerRow]
    money: Money
    paid_without_data: list[LedgerRow] = field(default_factory=list)
    awaiting_payment: list[LedgerRow] = field(default_factory=list)
    surplus: list[LedgerRow] = field(default_factory=list)
    late: list[LedgerRow] = field(default_factory=list)
    screened_out: list[LedgerRow] = field(default_factory=list)
    stuck: list[LedgerRow] = field(default_factory=list)

    @property
    def counted(self) -> int:
        """Number of all submissions' ratings in the statistics."""
        return sum(row.counted for row in self.rows)


def ledger(study: Study, now: datetime | None = None) -> Ledger:
    """Return the current ledger of a study."""
    now = now or database_now()
    rows = list(_rows(study))
    unsettled = [row for row in rows if row.participation.submission.settled_at is None]
    is_paying = study.reward is not None
    silent, holding = _silent(study, unsettled, now), _holding(study)
    idle = silent - holding
    return Ledger(
        rows=rows,
        money=_money(study, rows),
        paid_without_data=[
            row for row in unsettled if row.paid and not row.hits and not _is_screened_out(row)
        ],
        awaiting_payment=[row for row in unsettled if is_paying and _awaits_payment(row, idle)],
        surplus=[row for row in unsettled if row.ratings.surplus],
        late=[row for row in unsettled if row.came_late],
        screened_out=[row for row in unsettled if _awaits_screen_out_payment(row)],
        stuck=[row for row in unsettled if _is_stuck(row, holding, silent)],
    )


def payable(study: Study) -> list[LedgerRow]:
    """Return the submissions that await payment, for completed work or for taking the test."""
    study_ledger = ledger(study)
    return [*study_ledger.awaiting_payment, *study_ledger.screened_out]


def _rows(study: Study) -> Iterable[LedgerRow]:
    """Yield one row per submission, with a fixed number of queries."""
    paid = (
        Payment.objects.filter(participation=OuterRef("pk"), status__in=PAID)
        .order_by()
        .values("participation")
        .annotate(sum=Sum("amount"))
        .values("sum")
    )
    done = Q(
        assignments__status__in=[Assignment.Status.COMPLETED, Assignment.Status.EXCLUDED],
        assignments__completed_at__isnull=False,
        assignments__hit__kind=HIT.Kind.MAIN,
    )
    rows = (
        Participation.objects.filter(study=study)
        .select_related("rater", "submission__channel")
        .annotate(
            hits=Count("assignments", filter=done, distinct=True),
            paid=Coalesce(Subquery(paid), Decimal(0), output_field=DecimalField()),
        )
        .order_by("pk")
    )
    counts_by_pk = counts_by_participation(study)
    for row in rows:
        counts = counts_by_pk.get(row.pk, ParticipationCounts())
        # SQLite sums money as floats.
        paid_so_far = row.paid.quantize(CENT)
        yield LedgerRow(
            row, row.hits, counts.ratings, paid_so_far, counts.last_at, counts.came_late
        )


def _awaits_payment(row: LedgerRow, idle: set[int]) -> bool:
    """Whether the annotator has stopped working on the study and has unpaid completed work."""
    participation = row.participation
    is_here = participation.status == Status.ACTIVE and participation.pk not in idle
    has_ended = not is_here or is_submitted(participation)
    is_rejected = Status.REJECTED in {
        participation.status,
        participation.submission.platform_status.lower(),
    }
    is_unpaid_ending = is_rejected or (participation.status in ENDED and not row.hits)
    return bool(row.hits) and has_ended and not is_unpaid_ending and not row.paid


def _is_screened_out(row: LedgerRow) -> bool:
    """Whether the annotator failed the test, which may be paid without completed work."""
    return row.participation.status == Status.SCREENED_OUT


def _awaits_screen_out_payment(row: LedgerRow) -> bool:
    owed = screen_out_reward(row.participation)
    return _is_screened_out(row) and not row.paid and owed is not None


def is_submitted(participation: Participation) -> bool:
    """Whether the platform waits for the researcher's review of the submission."""
    return participation.submission.platform_status.upper() in {"AWAITING REVIEW", "SUBMITTED"}


def screen_out_reward(participation: Participation) -> Decimal | None:
    """Return what the channel pays participants who fail the test; None if it pays nothing."""
    channel = participation.submission.channel
    stated = channel.settings.get("screen_out_reward") if channel else None
    return Decimal(str(stated)) if stated else None


def owed(participation: Participation) -> Decimal | None:
    """Return the promised payment for a participation; None if the study promises none."""
    if participation.status == Status.SCREENED_OUT:
        return screen_out_reward(participation)
    owed_on_leaving = participation.submission.owed
    return participation.study.reward if owed_on_leaving is None else owed_on_leaving


def _silent(study: Study, rows: list[LedgerRow], now: datetime) -> set[int]:
    """Return active participations whose lease has run out."""
    since = now - timedelta(minutes=study.lease_minutes)
    return {
        row.participation.pk
        for row in rows
        if row.participation.status == Status.ACTIVE
        and (row.last_at or row.participation.created_at) < since
    }


def _holding(study: Study) -> set[int]:
    """Return the participations that hold a place in a HIT."""
    held = Place.objects.filter(
        study=study, completed_at__isnull=True, assignment__status=Assignment.Status.ACTIVE
    )
    return {pk for pk in held.values_list("assignment__participation", flat=True) if pk}


def _is_stuck(row: LedgerRow, holding: set[int], silent: set[int]) -> bool:
    """Whether an annotator is silent but holds a place, or submitted without finishing here."""
    participation = row.participation
    holds = participation.pk in holding
    is_idle = is_submitted(participation) and (holds or not row.hits)
    is_silent = holds and participation.pk in silent
    return participation.status == Status.ACTIVE and (is_silent or is_idle)


def _money(study: Study, rows: list[LedgerRow]) -> Money:
    rewards = sum((row.paid for row in rows), Decimal(0))
    fees = sum((row.paid * fee_share(row.participation) for row in rows), Decimal(0))
    rates = [row.hourly_rate for row in rows if row.hourly_rate is not None]
    return Money(
        currency=study.currency,
        rewards=rewards.quantize(CENT),
        fees=fees.quantize(CENT),
        remaining_cost=_remaining_cost(study, rows, rewards + fees),
        median_hourly_rate=median(rates).quantize(CENT) if rates else None,
        promised_hourly_rate=study.promised_hourly_rate,
    )


def fee_share(participation: Participation) -> Decimal:
    channel = participation.submission.channel
    stated = channel.settings.get("fee_percent") if channel else None
    return Decimal(str(stated or 0)) / 100


def _remaining_cost(study: Study, rows: list[LedgerRow], spent: Decimal) -> Decimal | None:
    """Estimate the cost of the remaining places from the average paid so far, or the reward."""
    if study.reward is None:
        return None
    remaining = study.places.filter(completed_at__isnull=True).count()
    if study.most_answers is not None:
        done = study.places.filter(completed_at__isnull=False).count()
        remaining = min(remaining, max(0, study.most_answers - done))
    paid_hits = sum(row.hits for row in rows if row.paid)
    if paid_hits:
        cost_per_hit = spent / paid_hits
    elif study.hits_per_annotator:
        cost_per_hit = study.reward / study.hits_per_annotator
    else:
        return None
    return (remaining * cost_per_hit).quantize(CENT)


def pays_by_platform(channel: Channel | None) -> bool:
    """Whether the platform can be asked to pay. A panel cannot: its secret only signs links."""
    return channel is not None and bool(channel.secret) and get_platform(channel.provider).has_token


def platform_title(participation: Participation) -> str:
    try:
        return get_platform(participation.provider).title
    except DomainError:
        return participation.provider
