"""What platforms are asked to do, by a worker: no page waits for one, and nothing is asked twice."""

import logging
from collections.abc import Callable
from datetime import timedelta
from decimal import Decimal

from django.db.models import Q

from annotation.models import Participation
from annotation.services.exclusion import OUT
from jobs.queue import enqueue
from recruitment.ledger import LedgerRow, ledger
from recruitment.models import Channel, Payment
from recruitment.services.payments import approve, ask_to_return, pay, reject
from recruitment.services.platform_sync import (
    publish,
    subscribe_webhook,
    sync_channel,
    transition_platform_study,
)
from studies.clock import database_now
from tiebreak.errors import DomainError
from tiebreak.identifiers import new_public_id

log = logging.getLogger(__name__)

# A worker that has been silent for so long has died.
STALE_AFTER = timedelta(minutes=10)


def enqueue_action(*, channel: Channel, verb: str, **arguments: str) -> None:
    """Hand something that needs the platform to a worker; the recruitment says what it waits for.

    One thing at a time for each way in: a second press of the button is refused.
    """
    if verb not in VERBS:
        raise DomainError("no_such_verb", f"A platform is never asked to {verb!r}.", status=404)
    key, now = new_public_id(), database_now()
    free = Q(pending="") | Q(pending_at__lt=now - STALE_AFTER)
    own = Channel.objects.filter(free, pk=channel.pk)
    if not own.update(pending=verb, pending_key=key, pending_at=now, problem=""):
        raise DomainError(
            "already_asking",
            "The platform is being asked something already: wait until that is answered.",
        )
    try:
        enqueue("recruitment.tasks.platform_verb_task", channel.pk, verb, arguments, key)
    except DomainError:
        Channel.objects.filter(pk=channel.pk, pending_key=key).update(pending="")
        raise


def run_action(*, channel: Channel, verb: str, arguments: dict[str, str], key: str) -> None:
    """Do what `ask_for` was asked, at most once, and say on the recruitment how it went.

    A queue may bring a message again when its worker died. The key is used up before the platform
    is asked, so that the second time nothing is paid or made again.
    """
    own, used = Channel.objects.filter(pk=channel.pk, pending=verb), f"used:{key}"
    if not key or not own.filter(pending_key=key).update(pending_key=used, problem=DIED):
        return
    problem = ""
    try:
        VERBS[verb](channel, arguments)
    except DomainError as error:
        problem = error.message
    except Exception as error:
        log.exception("%s of recruitment %s", verb, channel.pk)
        problem = UNFORESEEN.format(type(error).__name__)
    # Whoever took too long finds the place taken, and leaves what was asked since alone.
    own.filter(pending_key=used).update(pending="", pending_key="", problem=problem)


UNFORESEEN = (
    "Something went wrong that nobody foresaw ({}); the worker's log says where. Compare with the"
    " platform before asking again."
)
# Stands until the platform has answered: whoever still reads it later knows that it did not.
DIED = (
    "The platform was asked, and nothing came back yet. If this stays, the worker died on the way:"
    " compare with the platform before asking again."
)


def _own(channel: Channel, arguments: dict[str, str]) -> Participation:
    found = Participation.objects.filter(
        submission__channel=channel, public_id=arguments.get("participation", "")
    ).select_related("study", "submission__channel__study", "rater")
    participation = found.first()
    if participation is None:
        raise DomainError("no_such_participation", "Nobody of that id came this way.", status=404)
    return participation


def _approve_one(channel: Channel, arguments: dict[str, str]) -> None:
    approve(participations=[_own(channel, arguments)])


def rows_awaiting_payment(*, channel: Channel) -> list[LedgerRow]:
    """Everybody with complete work that counts, who is not paid yet."""
    return [
        entry
        for entry in ledger(channel.study).data_without_payment
        if entry.participation.submission.channel_id == channel.pk
        and entry.counted
        and entry.participation.status not in OUT
    ]


def _approve_all(channel: Channel, _arguments: dict[str, str]) -> None:
    approve(participations=[e.participation for e in rows_awaiting_payment(channel=channel)])


def _pay_one(channel: Channel, arguments: dict[str, str]) -> None:
    pay(
        participation=_own(channel, arguments),
        kind=Payment.Kind(arguments["kind"]),
        amount=Decimal(arguments["amount"]),
        reason=arguments.get("reason", ""),
    )


VERBS: dict[str, Callable[[Channel, dict[str, str]], object]] = {
    "publish": lambda r, a: publish(channel=r, places=int(a["places"]), entry_url=a["entry_url"]),
    "start": lambda r, _: transition_platform_study(
        channel=r, verb="publish" if r.is_unpublished else "start"
    ),
    "pause": lambda r, _: transition_platform_study(channel=r, verb="pause"),
    "stop": lambda r, _: transition_platform_study(channel=r, verb="stop"),
    "sync": lambda r, _: sync_channel(channel=r),
    "listen": lambda r, a: subscribe_webhook(channel=r, events_url=a["events_url"]),
    "approve": _approve_one,
    "approve-all": _approve_all,
    "reject": lambda r, a: reject(
        participation=_own(r, a), message=a["message"], category=a["category"]
    ),
    "ask-to-return": lambda r, a: ask_to_return(
        participation=_own(r, a), reason=a.get("reason") or NOTHING_CAME
    ),
    "pay": _pay_one,
}
NOTHING_CAME = "No completed work of yours arrived in the study."
