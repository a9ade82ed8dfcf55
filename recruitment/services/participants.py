"""What researchers do about participants: pay, give a bonus, reject, exclude, reinstate, release.

Pages, programs and commands call these functions. What a platform has to do is handed to a worker,
which asks it at most once.
"""

from contextlib import suppress
from dataclasses import dataclass
from decimal import Decimal

from django.contrib.auth.models import User

from annotation.models import Participation
from annotation.services.exclusion import exclude_work, reinstate_work, stop_work
from recruitment.admission import keep_maximum
from recruitment.ledger import LedgerRow, is_submitted, payable, pays_by_platform
from recruitment.messages import (
    AMOUNT_IS_FIXED,
    BOTS_UNPAID,
    NO_BONUS_REASON,
    NO_PLATFORM,
    NO_REQUEST_KEY,
    NO_REWARD,
    NOBODY_AWAITS_PAYMENT,
    NOBODY_SELECTED,
    NOT_AWAITING_PAYMENT,
    NOT_SUBMITTED,
    PAID_NOT_REJECTED,
    PLATFORM_CANNOT,
    TOTAL_DIFFERS,
)
from recruitment.models import Channel, Payment
from recruitment.platforms import Platform, get_platform
from recruitment.platforms.base import MAX_MESSAGE
from recruitment.services.payments import (
    AlreadyPaid,
    check_amount,
    check_room_for,
    note_payment,
)
from recruitment.services.platform_actions import PAID_APART, enqueue_action, write_payees
from recruitment.terms import owed
from studies.models import Study, StudyEvent
from studies.services import record_event
from tiebreak.errors import DomainError

Status = Participation.Status


@dataclass(frozen=True)
class Chosen:
    """Which participants are to be paid: these, or all who await payment for one of two reasons."""

    public_ids: tuple[str, ...] | None = None
    screened_out: bool | None = None

    def is_in_list(self, row: LedgerRow) -> bool:
        return self.screened_out in {None, row.participation.status == Status.SCREENED_OUT}


ALL_AWAITING = Chosen()


@dataclass(frozen=True)
class Paid:
    """The number of payments that were recorded here, and of those asked of platforms."""

    recorded: int = 0
    requested: int = 0


def pay_participant(
    *, participation: Participation, amount: Decimal | None = None, by: User | None = None
) -> Paid:
    """Pay one participant what is owed, or another amount where the platform does not fix it."""
    amounts = {participation: amount_for(participation, amount)}
    return _pay(participation.study, amounts, by)


def pay_awaiting(
    *, study: Study, chosen: Chosen = ALL_AWAITING, total: Decimal, by: User | None = None
) -> Paid:
    """Pay what is owed to the chosen ones of the participants who await payment.

    ``total`` is the sum that the researcher has seen: if the payments add up to another one,
    nobody is paid. Each payment is made once, however often this is called.
    """
    amounts = {one: amount_for(one) for one in awaiting_payment(study, chosen)}
    due = sum(amounts.values(), Decimal(0))
    if due != total:
        raise DomainError("total_differs", TOTAL_DIFFERS.format(due, study.currency, total))
    return _pay(study, amounts, by)


def awaiting_payment(study: Study, chosen: Chosen = ALL_AWAITING) -> list[Participation]:
    """Return the chosen participants, or refuse if nobody is or if one awaits no payment."""
    rows = [row.participation for row in payable(study) if chosen.is_in_list(row)]
    awaiting = {participation.public_id: participation for participation in rows}
    public_ids = awaiting if chosen.public_ids is None else dict.fromkeys(chosen.public_ids)
    if chosen.public_ids == ():
        raise DomainError("nobody_selected", NOBODY_SELECTED, status=400)
    unknown = len(public_ids.keys() - awaiting.keys())
    if unknown:
        raise DomainError("not_awaiting_payment", NOT_AWAITING_PAYMENT.format(unknown))
    if not public_ids:
        raise DomainError("nobody_awaits_payment", NOBODY_AWAITS_PAYMENT)
    return [awaiting[public_id] for public_id in public_ids]


def amount_for(participation: Participation, amount: Decimal | None = None) -> Decimal:
    """Return what a participant is paid, or refuse an amount that cannot be paid."""
    if participation.simulated:
        raise DomainError("bots_unpaid", BOTS_UNPAID)
    promised = owed(participation)
    if amount is None and promised is None:
        raise DomainError("no_reward", NO_REWARD)
    amount = promised if amount is None else amount
    assert amount is not None
    check_amount(amount)
    channel = participation.submission.channel
    is_approved = participation.status not in PAID_APART
    if channel is not None and pays_by_platform(channel) and is_approved and amount != promised:
        title = get_platform(channel.provider).title
        raise DomainError("amount_is_fixed", AMOUNT_IS_FIXED.format(title), status=400)
    kind = PAID_APART.get(participation.status, Payment.Kind.REWARD)
    check_room_for(kind, {participation: amount})
    return amount


def _pay(study: Study, amounts: dict[Participation, Decimal], by: User | None) -> Paid:
    """Record the payments that no platform makes, and have each platform make the others.

    A refusal keeps nobody else from being paid; it is raised at the end.
    """
    recorded = requested = 0
    refusal = None
    for channel, group in by_platform(amounts):
        try:
            if channel is None:
                paid = _record_payments(group)
                recorded += len(paid)
            else:
                payees = {one.public_id: amount for one, amount in group.items()}
                enqueue_action(channel=channel, action="pay-many", payees=write_payees(payees))
                requested += len(group)
                paid = group
        except DomainError as error:
            refusal = error
        else:
            names = [participation.rater.pseudonym for participation in paid]
            details = {"annotator": names, "amount": str(sum(paid.values()))}
            record_event(study=study, verb=StudyEvent.Verb.PAY, by=by, details=details)
    if refusal is not None:
        raise refusal
    return Paid(recorded, requested)


def by_platform(
    amounts: dict[Participation, Decimal],
) -> list[tuple[Channel | None, dict[Participation, Decimal]]]:
    """Group payments by the channel whose platform makes them, None for those made elsewhere."""
    groups: dict[int | None, tuple[Channel | None, dict[Participation, Decimal]]] = {}
    for participation, amount in amounts.items():
        channel = participation.submission.channel
        payer = channel if pays_by_platform(channel) else None
        key = payer.pk if payer else None
        groups.setdefault(key, (payer, {}))[1][participation] = amount
    return list(groups.values())


def _record_payments(amounts: dict[Participation, Decimal]) -> dict[Participation, Decimal]:
    """Record payments, and return those that had not been recorded meanwhile."""
    recorded = {}
    for participation, amount in amounts.items():
        with suppress(AlreadyPaid):
            note_payment(participation=participation, amount=amount)
            recorded[participation] = amount
    if not recorded:
        raise AlreadyPaid
    return recorded


def pay_bonus(
    *,
    participation: Participation,
    amount: Decimal,
    reason: str,
    request_key: str,
    by: User | None = None,
) -> None:
    """Have the platform pay a bonus, once for each key."""
    channel = check_bonus(participation, amount, reason, request_key)
    enqueue_action(
        channel=channel,
        action="pay",
        participation=participation.public_id,
        kind=Payment.Kind.BONUS.value,
        amount=str(amount),
        reason=reason.strip(),
        request_key=request_key,
    )
    _log(participation, StudyEvent.Verb.BONUS, by, amount=str(amount), reason=reason.strip())


def check_bonus(
    participation: Participation, amount: Decimal, reason: str, request_key: str
) -> Channel:
    """Return the channel whose platform can pay this bonus, or refuse."""
    channel, _ = _platform_for(participation, "pay")
    check_amount(amount)
    if not 0 < len(reason.strip()) <= MAX_MESSAGE:
        raise DomainError("no_reason", NO_BONUS_REASON.format(MAX_MESSAGE), status=400)
    if not 0 < len(request_key) <= 64:
        raise DomainError("no_request_key", NO_REQUEST_KEY, status=400)
    requested = participation.payments.filter(request_key=request_key)
    if requested.exclude(status=Payment.Status.REFUSED).exists():
        raise AlreadyPaid
    check_room_for(Payment.Kind.BONUS, {participation: amount})
    return channel


def reject_submission(
    *, participation: Participation, category: str, message: str, by: User | None = None
) -> None:
    """Have the platform reject a submission, which is then not paid and does not count."""
    channel = check_rejection(participation, category, message)
    enqueue_action(
        channel=channel,
        action="reject",
        participation=participation.public_id,
        category=category,
        message=message.strip(),
    )
    _log(participation, StudyEvent.Verb.REJECT, by, category=category, message=message.strip())


def check_rejection(participation: Participation, category: str, message: str) -> Channel:
    """Return the channel whose platform can reject this submission, or refuse."""
    channel, platform = _platform_for(participation, "reject")
    paid = participation.payments.exclude(kind=Payment.Kind.BONUS)
    if paid.exclude(status=Payment.Status.REFUSED).exists():
        raise DomainError("paid_not_rejected", PAID_NOT_REJECTED)
    if not is_submitted(participation):
        state = participation.submission.platform_status.lower() or "unknown"
        raise DomainError("not_submitted", NOT_SUBMITTED.format(platform.title, state))
    platform.check_rejection(message, category)
    return channel


def _platform_for(participation: Participation, action: str) -> tuple[Channel, Platform]:
    """Return the participant's channel and platform, or refuse if it cannot do this."""
    channel = participation.submission.channel
    if channel is None:
        raise DomainError("no_platform", NO_PLATFORM)
    platform = get_platform(channel.provider)
    if not pays_by_platform(channel) or not platform.supports(action):
        raise DomainError("platform_cannot", PLATFORM_CANNOT.format(platform.title))
    return channel, platform


def exclude_participant(
    *, participation: Participation, reason: str = "", by: User | None = None
) -> int:
    """Exclude an annotator, and return how many HITs no longer count."""
    reason = reason.strip()[:MAX_MESSAGE]
    return exclude_work(participation=participation, status=Status.EXCLUDED, by=by, reason=reason)


def reinstate_participant(*, participation: Participation, by: User | None = None) -> int:
    """Undo an exclusion, and return how many HITs count again or are surplus."""
    n = reinstate_work(participation=participation)
    keep_maximum(participation=participation)
    _log(participation, StudyEvent.Verb.REINSTATE, by, hits=n)
    return n


def _log(
    participation: Participation, verb: StudyEvent.Verb, by: User | None, **details: object
) -> None:
    about = {"annotator": participation.rater.pseudonym, **details}
    record_event(study=participation.study, verb=verb, by=by, details=about)


def release_participant(*, participation: Participation) -> bool:
    """Free the place of an annotator who does not answer; False if there was nothing to end."""
    return stop_work(participation=participation, status=Status.RELEASED)


def request_return(*, participation: Participation) -> None:
    """Free the place, and have the platform ask the participant to return the submission."""
    channel, _ = _platform_for(participation, "ask_to_return")
    release_participant(participation=participation)
    enqueue_action(channel=channel, action="ask-to-return", participation=participation.public_id)
