"""Actions on platforms. A worker runs each at most once, so no page waits."""

import logging
from collections.abc import Callable, Mapping
from datetime import timedelta
from decimal import Decimal
from functools import partial

from django.contrib.auth.models import User
from django.db.models import Q

from annotation.models import Participation
from annotation.services.exclusion import OUT
from jobs.clock import database_now
from jobs.queue import enqueue
from recruitment.admission import collection_of, limit_of
from recruitment.ledger import LedgerRow, ledger
from recruitment.messages import (
    ACTION_PENDING,
    NO_RESULT,
    NO_SUCH_PARTICIPATION,
    NOTHING_ARRIVED,
    OVER_MAXIMUM,
    PARTICIPANTS_NEEDED,
    UNEXPECTED_ERROR,
)
from recruitment.models import Channel, Payment
from recruitment.services.eligibility import ask_about_eligibility
from recruitment.services.payments import approve, ask_to_return, pay, reject
from recruitment.services.platform_sync import (
    publish,
    rehearse,
    subscribe_webhook,
    sync_channel,
    transition_platform_study,
    update_draft,
)
from studies.models import StudyEvent
from studies.services import record_event
from tiebreak.errors import DomainError
from tiebreak.identifiers import new_public_id

log = logging.getLogger(__name__)

# The platform has closed such a submission, so it cannot be approved; a bonus pays what is owed.
PAID_APART = {
    Participation.Status.RETURNED.value: Payment.Kind.OWED,
    Participation.Status.TIMED_OUT.value: Payment.Kind.OWED,
    Participation.Status.SCREENED_OUT.value: Payment.Kind.SCREEN_OUT,
}
# After this time without a result, the worker is considered dead.
STALE_AFTER = timedelta(minutes=10)
MAX_PARTICIPANTS = 100_000
# The actions of a whole channel that pay people, which only owners may ask for.
PAYS = {"approve-all"}
# The actions that are recorded in the study's log.
LOGGED = {
    "publish": StudyEvent.Verb.PUBLISH,
    "start": StudyEvent.Verb.PUBLISH,
    "approve-all": StudyEvent.Verb.PAY,
}


def act_on_channel(
    *,
    channel: Channel,
    action: str,
    participants: str,
    addresses: dict[str, str],
    by: User,
    email: str = "",
) -> None:
    """Hand an action on a whole channel to a worker, and note in the log what costs money."""
    if action == "publish":
        wanted = participants_wanted(participants)
        most = limit_of(channel, collection_of(channel.study)).most_people
        if most is not None and wanted > most:
            raise DomainError("over_maximum", OVER_MAXIMUM.format(most))
    typed = {"participants": participants, "email": email}
    enqueue_action(channel=channel, action=action, **typed, **addresses)
    if action in LOGGED:
        details = {"channel": channel.provider, "asked": action, "participants": participants}
        record_event(study=channel.study, verb=LOGGED[action], by=by, details=details)


def participants_wanted(text: str) -> int:
    """Return the number of participants to ask for. Raises `DomainError` if it is none."""
    if not text.isdecimal() or not 0 < int(text) <= MAX_PARTICIPANTS:
        sentence = PARTICIPANTS_NEEDED.format(MAX_PARTICIPANTS)
        raise DomainError("no_participants", sentence, status=400)
    return int(text)


def enqueue_action(*, channel: Channel, action: str, **arguments: str) -> None:
    """Hand an action to a worker; the channel shows it as pending meanwhile.

    A channel has one pending action at a time, so a double submit is refused.
    """
    if action not in ACTIONS:
        raise DomainError("no_such_action", f"Platforms have no action {action!r}.", status=404)
    key, now = new_public_id(), database_now()
    free = Q(pending="") | Q(pending_at__lt=now - STALE_AFTER)
    unclaimed = Channel.objects.filter(free, pk=channel.pk)
    if not unclaimed.update(pending=action, pending_key=key, pending_at=now, problem=""):
        raise DomainError("action_pending", ACTION_PENDING)
    try:
        enqueue("recruitment.tasks.platform_action_task", channel.pk, action, arguments, key)
    except DomainError:
        Channel.objects.filter(pk=channel.pk, pending_key=key).update(pending="")
        raise


def run_action(*, channel: Channel, action: str, arguments: dict[str, str], key: str) -> None:
    """Run an action at most once, and store on the channel what went wrong, if anything.

    A queue may deliver a message twice. The key is used up before the platform is asked so that a
    second delivery pays or creates nothing again.
    """
    pending, used = Channel.objects.filter(pk=channel.pk, pending=action), f"used:{key}"
    if not key or not pending.filter(pending_key=key).update(pending_key=used, problem=NO_RESULT):
        return
    problem = ""
    try:
        ACTIONS[action](channel, arguments)
    except DomainError as error:
        problem = error.message
    except Exception as error:
        log.exception("action %s of channel %s failed", action, channel.pk)
        problem = UNEXPECTED_ERROR.format(type(error).__name__)
    # If this took too long, a newer action has another key, and is left unchanged.
    pending.filter(pending_key=used).update(pending="", pending_key="", problem=problem)


def _participation(channel: Channel, arguments: dict[str, str]) -> Participation:
    matches = Participation.objects.filter(
        submission__channel=channel, public_id=arguments.get("participation", "")
    ).select_related("study", "submission__channel__study", "rater")
    participation = matches.first()
    if participation is None:
        raise DomainError("no_such_participation", NO_SUCH_PARTICIPATION, status=404)
    return participation


def rows_awaiting_payment(*, channel: Channel) -> list[LedgerRow]:
    """Return the unpaid submissions with completed work that counts."""
    return [
        row
        for row in ledger(channel.study).rows_on("awaiting_payment")
        if row.participation.submission.channel_id == channel.pk
        and row.ratings
        and row.participation.status not in OUT
    ]


def _pay_one(channel: Channel, arguments: dict[str, str]) -> None:
    pay(
        participation=_participation(channel, arguments),
        kind=Payment.Kind(arguments["kind"]),
        amount=Decimal(arguments["amount"]),
        reason=arguments.get("reason", ""),
        request_key=arguments.get("request_key", ""),
    )


def _pay_many(channel: Channel, arguments: dict[str, str]) -> None:
    """Approve these submissions, and pay what is owed for those that cannot be approved.

    A refusal keeps nobody else from being paid; it is raised at the end.
    """
    amounts = read_payees(arguments["payees"])
    payees = Participation.objects.filter(submission__channel=channel, public_id__in=amounts)
    payees = payees.select_related("study", "submission__channel__study", "rater").order_by("pk")
    approvable = [payee for payee in payees if payee.status not in PAID_APART]
    requests: list[Callable[[], object]] = []
    if approvable:
        requests.append(partial(approve, participations=approvable))
    for payee in payees:
        if kind := PAID_APART.get(payee.status):
            amount = amounts[payee.public_id]
            requests.append(partial(pay, participation=payee, kind=kind, amount=amount))
    refusal = None
    for request in requests:
        try:
            request()
        except DomainError as error:
            refusal = error
    if refusal is not None:
        raise refusal


def write_payees(amounts: Mapping[str, Decimal]) -> str:
    """Return participations with amounts as the text that is the argument of `pay-many`."""
    return ",".join(f"{public_id}={amount}" for public_id, amount in amounts.items())


def read_payees(text: str) -> dict[str, Decimal]:
    pairs = (pair.split("=") for pair in text.split(","))
    return {public_id: Decimal(amount) for public_id, amount in pairs}


ACTIONS: dict[str, Callable[[Channel, dict[str, str]], object]] = {
    "publish": lambda channel, arguments: publish(
        channel=channel,
        participants=int(arguments["participants"]),
        entry_url=arguments["entry_url"],
    ),
    "start": lambda channel, _: transition_platform_study(
        channel=channel, action="publish" if channel.is_unpublished else "start"
    ),
    "pause": lambda channel, _: transition_platform_study(channel=channel, action="pause"),
    "stop": lambda channel, _: transition_platform_study(channel=channel, action="stop"),
    "check-eligibility": lambda channel, _: ask_about_eligibility(channel=channel),
    "rehearse": lambda channel, arguments: rehearse(
        channel=channel, email=arguments.get("email", "")
    ),
    "update-draft": lambda channel, _: update_draft(channel=channel),
    "sync": lambda channel, _: sync_channel(channel=channel),
    "subscribe-webhook": lambda channel, arguments: subscribe_webhook(
        channel=channel, events_url=arguments["events_url"]
    ),
    "approve-all": lambda channel, _: approve(
        participations=[row.participation for row in rows_awaiting_payment(channel=channel)]
    ),
    "reject": lambda channel, arguments: reject(
        participation=_participation(channel, arguments),
        message=arguments["message"],
        category=arguments["category"],
    ),
    "ask-to-return": lambda channel, arguments: ask_to_return(
        participation=_participation(channel, arguments),
        reason=arguments.get("reason") or NOTHING_ARRIVED,
    ),
    "pay": _pay_one,
    "pay-many": _pay_many,
}
