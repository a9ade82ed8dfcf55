"""The books: what every submission brought, what the platform says of it, and what it cost."""

from collections.abc import Iterable
from dataclasses import dataclass, field
from datetime import datetime, timedelta
from decimal import Decimal
from statistics import median

from django.db.models import Count, DecimalField, OuterRef, Q, Subquery, Sum
from django.db.models.functions import Coalesce

from annotation.counts import ParticipationCounts, RatingCounts, counts_by_participation
from annotation.models import HIT, Assignment, Participation, Place
from recruitment.models import Payment
from recruitment.platforms import get_platform
from studies.clock import database_now
from studies.models import Study
from tiebreak.errors import DomainError

Status = Participation.Status
CENT = Decimal("0.01")
PAID = (Payment.Status.PAID, Payment.Status.ASKED)
# Left by the platform's or the researcher's word, so that nothing here waits for pay.
GONE = (Status.RETURNED, Status.REJECTED, Status.TIMED_OUT, Status.EXCLUDED)


@dataclass(frozen=True)
class LedgerRow:
    """One submission: what it brought, and what was paid for it."""

    participation: Participation
    hits: int
    ratings: RatingCounts
    paid: Decimal
    last_at: datetime | None
    came_late: int = 0

    @property
    def counted(self) -> int:
        """Ratings in the statistics."""
        return self.ratings.counted

    @property
    def time(self) -> timedelta | None:
        """From agreeing to the last answer: reading the guidelines is work too."""
        begun = self.participation.consented_at
        return self.last_at - begun if begun and self.last_at else None

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
    """Spent so far, fees included; what is still to come; what an hour's work was paid."""

    currency: str
    rewards: Decimal
    fees: Decimal
    to_go: Decimal | None
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
    """Every submission, those that do not add up by what is wrong with them, and the money."""

    entries: list[LedgerRow]
    money: Money
    paid_without_data: list[LedgerRow] = field(default_factory=list)
    data_without_payment: list[LedgerRow] = field(default_factory=list)
    surplus: list[LedgerRow] = field(default_factory=list)
    late: list[LedgerRow] = field(default_factory=list)
    screened_out: list[LedgerRow] = field(default_factory=list)
    stuck: list[LedgerRow] = field(default_factory=list)

    @property
    def counted(self) -> int:
        """Ratings in the statistics that these submissions brought."""
        return sum(entry.counted for entry in self.entries)


def ledger(study: Study, now: datetime | None = None) -> Ledger:
    """The books of a study as they stand."""
    now = now or database_now()
    entries = list(_rows(study))
    open_ones = [entry for entry in entries if entry.participation.submission.settled_at is None]
    is_paying = study.reward is not None
    silent, holding = _silent(study, open_ones, now), _holding(study)
    gone = silent - holding
    return Ledger(
        entries=entries,
        money=_money(study, entries),
        paid_without_data=[e for e in open_ones if e.paid and not e.hits and not _is_out(e)],
        data_without_payment=[e for e in open_ones if is_paying and _awaits_pay(e, gone)],
        surplus=[e for e in open_ones if e.ratings.surplus],
        late=[e for e in open_ones if e.came_late],
        screened_out=[e for e in open_ones if _awaits_screen_out_pay(e)],
        stuck=[e for e in open_ones if _is_stuck(e, holding, silent)],
    )


def _rows(study: Study) -> Iterable[LedgerRow]:
    """In few statements, however many submissions there are."""
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
    answers = counts_by_participation(study)
    for row in rows:
        found = answers.get(row.pk, ParticipationCounts())
        # SQLite sums money as floats.
        paid_so_far = row.paid.quantize(CENT)
        yield LedgerRow(row, row.hits, found.ratings, paid_so_far, found.last_at, found.came_late)


def _awaits_pay(entry: LedgerRow, gone: set[int]) -> bool:
    """Work that is complete, and nobody who was paid or left for it."""
    participation = entry.participation
    is_here = participation.status == Status.ACTIVE and participation.pk not in gone
    has_ended = not is_here or _is_submitted(participation)
    is_rejected = Status.REJECTED in {
        participation.status,
        participation.submission.platform_status.lower(),
    }
    is_out = is_rejected or (participation.status in GONE and not entry.hits)
    return bool(entry.hits) and has_ended and not is_out and not entry.paid


def _is_out(entry: LedgerRow) -> bool:
    """Did not pass the test, and is paid for having taken it."""
    return entry.participation.status == Status.SCREENED_OUT


def _awaits_screen_out_pay(entry: LedgerRow) -> bool:
    owed = screen_out_reward(entry.participation)
    return _is_out(entry) and not entry.paid and owed is not None


def _is_submitted(participation: Participation) -> bool:
    return participation.submission.platform_status.upper() in {"AWAITING REVIEW", "SUBMITTED"}


def screen_out_reward(participation: Participation) -> Decimal | None:
    """What this way in pays who does not pass its screening; None where it pays nothing."""
    channel = participation.submission.channel
    stated = channel.settings.get("screen_out_reward") if channel else None
    return Decimal(str(stated)) if stated else None


def owed(participation: Participation) -> Decimal | None:
    """What a researcher promised for this part in the study; None where they promised nothing."""
    if participation.status == Status.SCREENED_OUT:
        return screen_out_reward(participation)
    owed_on_leaving = participation.submission.owed
    return participation.study.reward if owed_on_leaving is None else owed_on_leaving


def _silent(study: Study, entries: list[LedgerRow], now: datetime) -> set[int]:
    """Who is in work here and did not answer for longer than a place is held."""
    since = now - timedelta(minutes=study.lease_minutes)
    return {
        entry.participation.pk
        for entry in entries
        if entry.participation.status == Status.ACTIVE
        and (entry.last_at or entry.participation.created_at) < since
    }


def _holding(study: Study) -> set[int]:
    """Who has a HIT in work that nobody took over."""
    held = Place.objects.filter(
        study=study, completed_at__isnull=True, assignment__status=Assignment.Status.ACTIVE
    )
    return {pk for pk in held.values_list("assignment__participation", flat=True) if pk}


def _is_stuck(entry: LedgerRow, holding: set[int], silent: set[int]) -> bool:
    """Silent, and holds a place; or submitted there and not finished here."""
    participation = entry.participation
    holds = participation.pk in holding
    is_idle = _is_submitted(participation) and (holds or not entry.hits)
    is_silent = holds and participation.pk in silent
    return participation.status == Status.ACTIVE and (is_silent or is_idle)


def _money(study: Study, entries: list[LedgerRow]) -> Money:
    rewards = sum((entry.paid for entry in entries), Decimal(0))
    fees = sum((entry.paid * fee_share(entry.participation) for entry in entries), Decimal(0))
    rates = [entry.hourly_rate for entry in entries if entry.hourly_rate is not None]
    return Money(
        currency=study.currency,
        rewards=rewards.quantize(CENT),
        fees=fees.quantize(CENT),
        to_go=_to_go(study, entries, rewards + fees),
        median_hourly_rate=median(rates).quantize(CENT) if rates else None,
        promised_hourly_rate=study.promised_hourly_rate,
    )


def fee_share(participation: Participation) -> Decimal:
    channel = participation.submission.channel
    stated = channel.settings.get("fee_percent") if channel else None
    return Decimal(str(stated or 0)) / 100


def _to_go(study: Study, entries: list[LedgerRow], spent: Decimal) -> Decimal | None:
    """What the open places will cost at the price of those that were paid for; else as planned."""
    if study.reward is None:
        return None
    remaining = study.places.filter(completed_at__isnull=True).count()
    if study.most_answers is not None:
        done = study.places.filter(completed_at__isnull=False).count()
        remaining = min(remaining, max(0, study.most_answers - done))
    paid_hits = sum(entry.hits for entry in entries if entry.paid)
    if paid_hits:
        each = spent / paid_hits
    elif study.hits_per_annotator:
        each = study.reward / study.hits_per_annotator
    else:
        return None
    return (remaining * each).quantize(CENT)


def platform_title(participation: Participation) -> str:
    try:
        return get_platform(participation.provider).title
    except DomainError:
        return participation.provider
