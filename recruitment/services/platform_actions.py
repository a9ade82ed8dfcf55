"""What platforms are asked to do, by a worker: no page waits for one, and nothing is asked twice."""

import logging
from collections.abc import Callable
from datetime import timedelta
from decimal import Decimal

from django.db.models import Q

from annotation.models import Participation
from annotation.services.exclusion import OUT
from jobs.queue import enqueue
from recruitment.ledger import Entry, ledger
from recruitment.models import Payment, Recruitment
from recruitment.services.payments import approve, ask_to_return, pay, reject
from recruitment.services.platform_sync import listen, publish, steer, sync_recruitment
from studies.clock import database_now
from tiebreak.errors import DomainError
from tiebreak.identifiers import new_public_id

log = logging.getLogger(__name__)

# A worker that has been silent for so long has died.
PATIENCE = timedelta(minutes=10)


def ask_for(*, recruitment: Recruitment, verb: str, **arguments: str) -> None:
    """Hand something that needs the platform to a worker; the recruitment says what it waits for.

    One thing at a time for each way in: a second press of the button is refused.
    """
    if verb not in VERBS:
        raise DomainError("no_such_verb", f"A platform is never asked to {verb!r}.", status=404)
    key, now = new_public_id(), database_now()
    free = Q(pending="") | Q(pending_at__lt=now - PATIENCE)
    own = Recruitment.objects.filter(free, pk=recruitment.pk)
    if not own.update(pending=verb, pending_key=key, pending_at=now, problem=""):
        raise DomainError(
            "already_asking",
            "The platform is being asked something already: wait until that is answered.",
        )
    try:
        enqueue("recruitment.tasks.platform_verb_task", recruitment.pk, verb, arguments, key)
    except DomainError:
        Recruitment.objects.filter(pk=recruitment.pk, pending_key=key).update(pending="")
        raise


def carry_out(*, recruitment: Recruitment, verb: str, arguments: dict[str, str], key: str) -> None:
    """Do what `ask_for` was asked, at most once, and say on the recruitment how it went.

    A queue may bring a message again when its worker died. The key is used up before the platform
    is asked, so that the second time nothing is paid or made again.
    """
    own, used = Recruitment.objects.filter(pk=recruitment.pk, pending=verb), f"used:{key}"
    if not key or not own.filter(pending_key=key).update(pending_key=used, problem=DIED):
        return
    problem = ""
    try:
        VERBS[verb](recruitment, arguments)
    except DomainError as error:
        problem = error.message
    except Exception as error:
        log.exception("%s of recruitment %s", verb, recruitment.pk)
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


def _own(recruitment: Recruitment, arguments: dict[str, str]) -> Participation:
    found = Participation.objects.filter(
        submission__recruitment=recruitment, public_id=arguments.get("participation", "")
    ).select_related("study", "submission__recruitment__study", "rater")
    participation = found.first()
    if participation is None:
        raise DomainError("no_such_participation", "Nobody of that id came this way.", status=404)
    return participation


def _approve_one(recruitment: Recruitment, arguments: dict[str, str]) -> None:
    approve(participations=[_own(recruitment, arguments)])


def awaiting_pay(*, recruitment: Recruitment) -> list[Entry]:
    """Everybody with complete work that counts, who is not paid yet."""
    return [
        entry
        for entry in ledger(recruitment.study).data_without_payment
        if entry.participation.submission.recruitment_id == recruitment.pk
        and entry.counted
        and entry.participation.status not in OUT
    ]


def _approve_all(recruitment: Recruitment, _arguments: dict[str, str]) -> None:
    approve(participations=[e.participation for e in awaiting_pay(recruitment=recruitment)])


def _pay_one(recruitment: Recruitment, arguments: dict[str, str]) -> None:
    pay(
        participation=_own(recruitment, arguments),
        kind=Payment.Kind(arguments["kind"]),
        amount=Decimal(arguments["amount"]),
        reason=arguments.get("reason", ""),
    )


VERBS: dict[str, Callable[[Recruitment, dict[str, str]], object]] = {
    "publish": lambda r, a: publish(
        recruitment=r, places=int(a["places"]), entry_url=a["entry_url"]
    ),
    "start": lambda r, _: steer(recruitment=r, verb="publish" if r.is_unpublished else "start"),
    "pause": lambda r, _: steer(recruitment=r, verb="pause"),
    "stop": lambda r, _: steer(recruitment=r, verb="stop"),
    "sync": lambda r, _: sync_recruitment(recruitment=r),
    "listen": lambda r, a: listen(recruitment=r, events_url=a["events_url"]),
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
