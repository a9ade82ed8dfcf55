"""Payments: each is requested from a platform once, or recorded when the platform reports it."""

from collections.abc import Callable, Iterable, Mapping, Sequence
from contextlib import suppress
from datetime import datetime
from decimal import Decimal

from django.db import IntegrityError, transaction

from annotation.models import Participation
from annotation.services.exclusion import exclude_work
from jobs.clock import database_now
from recruitment.admission import within_budget
from recruitment.messages import BAD_AMOUNT, NO_PLATFORM, PAID_ALREADY, SETTLED_ALREADY
from recruitment.models import Channel, Payment, Submission
from recruitment.platforms import get_platform
from recruitment.platforms.errors import PlatformError
from recruitment.terms import earned, screen_out_reward
from tiebreak.errors import DomainError

MAX_AMOUNT = Decimal(100_000)


class AlreadyPaid(DomainError):
    """The same payment was made or requested before."""

    def __init__(self) -> None:
        super().__init__("paid_already", PAID_ALREADY)


def approve(*, participations: Sequence[Participation], now: datetime | None = None) -> int:
    """Have the platforms approve these submissions, which pays them. Return how many were approved.

    If a platform refuses some, the others are still approved and recorded; the refusal is raised
    at the end.
    """
    now = now or database_now()
    n_approved, refusal = 0, None
    for channel, group in _by_channel(participations):
        platform = get_platform(channel.provider)
        batches = [group] if platform.approves_together else [[single] for single in group]
        for batch in batches:
            try:
                rewards = {one: one.agreed.reward or Decimal(0) for one in batch}
                check_room_for(Payment.Kind.REWARD, rewards)
                platform.approve(channel, batch)
            except DomainError as error:
                refusal = error
                continue
            for participation in batch:
                note_reward(participation, Payment.Kind.REWARD, now)
            n_approved += len(batch)
    if refusal is not None:
        raise refusal
    return n_approved


def reject(
    *, participation: Participation, message: str, category: str, now: datetime | None = None
) -> None:
    """Have the platform reject the submission, and exclude the work.

    The platform is asked first: if it refuses, nothing changes here.
    """
    now = now or database_now()
    channel = _channel(participation)
    get_platform(channel.provider).reject(channel, participation, message, category)
    exclude_work(participation=participation, status=Participation.Status.REJECTED, now=now)


def pay(
    *,
    participation: Participation,
    kind: Payment.Kind,
    amount: Decimal,
    reason: str = "",
    request_key: str = "",
    now: datetime | None = None,
) -> Payment:
    """Pay a bonus or a screen-out reward once: the row is stored before the platform is asked.

    ``request_key`` tells a bonus that is requested again from a second bonus.

    If the payment certainly failed, the row becomes refused and the payment can be repeated. If the
    result is unknown, the row stays asked, counts as spent, and the ledger asks the researcher to
    check.
    """
    channel = _channel(participation)
    payment = Payment(participation=participation, kind=kind, amount=amount, reason=reason)
    payment.request_key, payment.created_at = request_key, now or database_now()
    store_payment(payment)
    return _request_payment(payment, lambda: get_platform(channel.provider).pay(channel, payment))


def check_amount(amount: Decimal) -> None:
    is_valid = amount.is_finite() and 0 < amount < MAX_AMOUNT and amount == round(amount, 2)
    if not is_valid:
        raise DomainError("no_amount", BAD_AMOUNT.format(MAX_AMOUNT), status=400)


def _request_payment(payment: Payment, request: Callable[[], str]) -> Payment:
    try:
        payment.external_id = request()
    except DomainError as error:
        if not (isinstance(error, PlatformError) and error.may_be_done):
            payment.status = Payment.Status.REFUSED
            payment.save(update_fields=["status"])
        raise
    payment.status = Payment.Status.PAID
    payment.save(update_fields=["status", "external_id"])
    return payment


def note_payment(*, participation: Participation, amount: Decimal) -> Payment:
    """Record, once, a reward that the researcher paid outside of any platform."""
    payment = Payment(participation=participation, kind=Payment.Kind.REWARD, amount=amount)
    payment.status, payment.created_at = Payment.Status.PAID, database_now()
    return store_payment(payment)


def store_payment(payment: Payment, *, is_made: bool = False) -> Payment:
    """Store a payment once. Unless a platform has made it, the budget must have room for it."""
    participation = payment.participation
    payment.currency = participation.study.currency
    if not is_made:
        check_amount(payment.amount)
    is_free = is_made or _is_reserved(payment)
    try:
        with transaction.atomic() if is_free else within_budget(participation.study_id):
            payment.save(force_insert=True)
    except IntegrityError as error:
        raise AlreadyPaid from error
    return payment


def _is_reserved(payment: Payment) -> bool:
    """Whether a payment is for what was earned, for which the budget has had room since the entry."""
    is_bonus = payment.kind == Payment.Kind.BONUS
    return not is_bonus and payment.amount <= earned(payment.participation)


def check_room_for(kind: Payment.Kind, amounts: Mapping[Participation, Decimal]) -> None:
    """Raise what the budget has against all of these payments, without storing any."""
    now = database_now()
    payments = [
        Payment(participation=one, kind=kind, amount=amount, created_at=now)
        for one, amount in amounts.items()
    ]
    for_more = [payment for payment in payments if not _is_reserved(payment)]
    if not for_more:
        return
    with transaction.atomic():
        for payment in for_more:
            with suppress(AlreadyPaid):
                store_payment(payment)
        transaction.set_rollback(True)


def note_reward(participation: Participation, kind: Payment.Kind, now: datetime) -> None:
    """Record a payment that a platform reports, once even if it is reported repeatedly."""
    is_reward = kind == Payment.Kind.REWARD
    amount = participation.agreed.reward if is_reward else screen_out_reward(participation)
    if amount is None:
        return
    noted = Payment.objects.filter(participation=participation, kind=kind)
    if noted.exclude(status=Payment.Status.REFUSED).exists():
        noted.filter(status=Payment.Status.ASKED).update(status=Payment.Status.PAID)
        return
    payment = Payment(participation=participation, kind=kind, amount=amount, created_at=now)
    payment.status = Payment.Status.PAID
    with suppress(AlreadyPaid):  # a webhook and a sync may race
        store_payment(payment, is_made=True)


def settle_payment(*, payment: Payment, was_paid: bool) -> None:
    """Record what a researcher found on the platform about an unconfirmed payment."""
    status = Payment.Status.PAID if was_paid else Payment.Status.REFUSED
    unknown = Payment.objects.filter(pk=payment.pk, status=Payment.Status.ASKED)
    if not unknown.update(status=status):
        raise DomainError("settled_already", SETTLED_ALREADY)


def settle(*, participation: Participation, now: datetime | None = None) -> None:
    """Mark a submission as settled so that the ledger no longer asks for a decision on it."""
    submission = Submission.objects.filter(participation=participation)
    submission.update(settled_at=now or database_now())


def ask_to_return(*, participation: Participation, reason: str) -> None:
    """Ask a participant without completed work to return the submission."""
    channel = _channel(participation)
    get_platform(channel.provider).ask_to_return(channel, participation, reason)


def _channel(participation: Participation) -> Channel:
    channel = participation.submission.channel
    if channel is None:
        raise DomainError("no_platform", NO_PLATFORM)
    return channel


def _by_channel(
    participations: Sequence[Participation],
) -> Iterable[tuple[Channel, list[Participation]]]:
    groups: dict[int, tuple[Channel, list[Participation]]] = {}
    for participation in participations:
        channel = _channel(participation)
        groups.setdefault(channel.pk, (channel, []))[1].append(participation)
    return groups.values()
