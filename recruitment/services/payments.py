"""Money: what platforms are asked to pay, each once, and what they say they paid."""

from collections.abc import Callable, Iterable, Sequence
from contextlib import suppress
from datetime import datetime
from decimal import Decimal

from django.db import IntegrityError, transaction
from django.utils import timezone

from annotation.models import Participation
from annotation.services.exclusion import exclude_work
from recruitment.ledger import screen_out_reward
from recruitment.models import Channel, Payment, Submission
from recruitment.platforms import get_platform
from recruitment.platforms.errors import PlatformError
from tiebreak.errors import DomainError

MAX_AMOUNT = Decimal(100_000)


def approve(*, participations: Sequence[Participation], now: datetime | None = None) -> int:
    """Have the platform pay for these, and take its word that it did. Returns how many.

    Where it refuses some, the others are paid and noted; the refusal comes at the end.
    """
    now = now or timezone.now()
    done, refused = 0, None
    for channel, own in _by_channel(participations):
        provider = get_platform(channel.provider)
        lots = [own] if provider.approves_together else [[each] for each in own]
        for lot in lots:
            try:
                provider.approve(channel, lot)
            except DomainError as error:
                refused = error
                continue
            for participation in lot:
                note_reward(participation, Payment.Kind.REWARD, now)
            done += len(lot)
    if refused is not None:
        raise refused
    return done


def reject(
    *, participation: Participation, message: str, category: str, now: datetime | None = None
) -> None:
    """Have the platform refuse pay, and take the work out of the count.

    The platform is asked first: where it refuses, nothing changes here.
    """
    now = now or timezone.now()
    channel = _channel(participation)
    get_platform(channel.provider).reject(channel, participation, message, category)
    exclude_work(participation=participation, status=Participation.Status.REJECTED, now=now)


def pay(
    *,
    participation: Participation,
    kind: Payment.Kind,
    amount: Decimal,
    reason: str = "",
    now: datetime | None = None,
) -> Payment:
    """Pay a bonus or for having been screened out, once: the row stands before the platform acts.

    Where it surely was not paid, the row says refused and another may be made. Where nobody knows,
    it stays asked, counts as money spent, and the ledger asks the researcher to look it up.
    """
    now = now or timezone.now()
    check_amount(amount)
    channel = _channel(participation)
    try:
        with transaction.atomic():
            payment = Payment.objects.create(
                participation=participation,
                kind=kind,
                amount=amount,
                currency=participation.study.currency,
                reason=reason,
                created_at=now,
            )
    except IntegrityError as error:
        raise DomainError("paid_already", "This was paid already, or is being paid.") from error
    return _paid(payment, lambda: get_platform(channel.provider).pay(channel, payment))


def check_amount(amount: Decimal) -> None:
    is_money = amount.is_finite() and 0 < amount < MAX_AMOUNT and amount == round(amount, 2)
    if not is_money:
        raise DomainError(
            "no_amount",
            f"Give an amount greater than zero and under {MAX_AMOUNT}, with at most two decimals.",
            status=400,
        )


def _paid(payment: Payment, ask: Callable[[], str]) -> Payment:
    try:
        payment.external_id = ask()
    except DomainError as error:
        if not (isinstance(error, PlatformError) and error.may_be_done):
            payment.status = Payment.Status.REFUSED
            payment.save(update_fields=["status"])
        raise
    payment.status = Payment.Status.PAID
    payment.save(update_fields=["status", "external_id"])
    return payment


def note_payment(
    *, participation: Participation, amount: Decimal, now: datetime | None = None
) -> Payment:
    """Write down a reward that was paid outside of any platform known here, once."""
    check_amount(amount)
    try:
        with transaction.atomic():
            return Payment.objects.create(
                participation=participation,
                kind=Payment.Kind.REWARD,
                amount=amount,
                currency=participation.study.currency,
                status=Payment.Status.PAID,
                created_at=now or timezone.now(),
            )
    except IntegrityError as error:
        raise DomainError("paid_already", "This was paid already.") from error


def note_reward(participation: Participation, kind: Payment.Kind, now: datetime) -> None:
    """Write down what a platform says it paid by itself, once however often it says so."""
    study = participation.study
    amount = study.reward if kind == Payment.Kind.REWARD else screen_out_reward(participation)
    if amount is None:
        return
    noted = Payment.objects.filter(participation=participation, kind=kind)
    if noted.exclude(status=Payment.Status.REFUSED).exists():
        noted.filter(status=Payment.Status.ASKED).update(status=Payment.Status.PAID)
        return
    with suppress(IntegrityError), transaction.atomic():  # a webhook and a round may come at once
        Payment.objects.create(
            participation=participation,
            kind=kind,
            amount=amount,
            currency=study.currency,
            status=Payment.Status.PAID,
            created_at=now,
        )


def settle_payment(*, payment: Payment, was_paid: bool) -> None:
    """Write down what a researcher found on the platform about money that nobody knew of."""
    status = Payment.Status.PAID if was_paid else Payment.Status.REFUSED
    unknown = Payment.objects.filter(pk=payment.pk, status=Payment.Status.ASKED)
    if not unknown.update(status=status):
        raise DomainError("settled_already", "What became of this payment is known already.")


def settle(*, participation: Participation, now: datetime | None = None) -> None:
    """Note that a researcher looked at what does not add up, and let it be."""
    own = Submission.objects.filter(participation=participation)
    own.update(settled_at=now or timezone.now())


def ask_to_return(*, participation: Participation, reason: str) -> None:
    """Ask somebody who submitted nothing to return the submission, which costs them nothing."""
    channel = _channel(participation)
    get_platform(channel.provider).ask_to_return(channel, participation, reason)


def _channel(participation: Participation) -> Channel:
    channel = participation.submission.channel
    if channel is None:
        raise DomainError(
            "no_platform", "This annotator came by the open link: there is nobody to ask."
        )
    return channel


def _by_channel(
    participations: Sequence[Participation],
) -> Iterable[tuple[Channel, list[Participation]]]:
    groups: dict[int, tuple[Channel, list[Participation]]] = {}
    for participation in participations:
        channel = _channel(participation)
        groups.setdefault(channel.pk, (channel, []))[1].append(participation)
    return groups.values()
