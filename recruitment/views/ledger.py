"""The researcher's page of people and money: the ledger, and what settles each of its rows."""

from collections.abc import Callable
from decimal import Decimal, InvalidOperation
from typing import Any, cast

from django.contrib import messages
from django.contrib.auth.models import User
from django.http import Http404, HttpRequest, HttpResponse
from django.shortcuts import redirect, render
from django.urls import reverse
from django.views.decorators.http import require_POST, require_safe

from annotation.models import Participation
from annotation.services.exclusion import exclude_work, reinstate_work, stop_work
from annotation.services.screening import check_records
from recruitment.confirmations import asking_to_return, excluding, paying, releasing
from recruitment.ledger import LedgerRow, ledger, owed, platform_title
from recruitment.models import Channel, Payment
from recruitment.platforms import get_platform
from recruitment.services.payments import note_payment, settle, settle_payment
from recruitment.services.platform_actions import enqueue_action
from studies.access import researchers_only, study_for
from studies.confirming import Question, ask, is_confirmed
from studies.models import Study, StudyEvent
from studies.services import record_event
from tiebreak.errors import DomainError

Status = Participation.Status


@require_safe
@researchers_only
def ledger_page(request: HttpRequest, study_id: str) -> HttpResponse:
    study = study_for(request.user, study_id)
    found = ledger(study)
    lists = [
        (
            name,
            title,
            sentence,
            [_row(e) | _way_out(e, verb, label, study) for e in getattr(found, name)],
        )
        for name, title, sentence, verb, label in LISTS
    ]
    unknown = Payment.objects.filter(participation__study=study, status=Payment.Status.ASKED)
    records = check_records(study.pk)
    people = [
        _row(entry) | {"checks": records.get(entry.participation.rater_id)}
        for entry in found.entries
    ]
    context = {
        "study": study,
        "money": found.money,
        "lists": lists,
        "unknown": unknown.select_related("participation__rater"),
        "people": people[:MAX_ROWS],
        "counted": found.counted,
        "more": max(0, len(people) - MAX_ROWS),
        "is_unverified": any(entry.participation.address for entry in found.entries),
        "has_reward": study.reward is not None,
    }
    return render(request, "recruitment/ledger.html", context)


MAX_ROWS = 1000
# What does not add up, and the one thing that settles each.
LISTS = (
    (
        "data_without_payment",
        "Data without payment",
        "Complete work, and nobody was paid for it.",
        "approve",
        "Pay",
    ),
    (
        "screened_out",
        "Screened out and not paid",
        "They did not pass the test, and were promised pay for taking it.",
        "approve",
        "Pay",
    ),
    (
        "paid_without_data",
        "Paid without data",
        "Paid, and no complete work is here. Money that is paid stays paid.",
        "settle",
        "Let it be",
    ),
    (
        "surplus",
        "Surplus",
        "Complete work that found every place taken. It is paid, and enters no statistic.",
        "settle",
        "Let it be",
    ),
    (
        "late",
        "Late",
        "Answers that came after the study was closed.",
        "settle",
        "Let it be",
    ),
    (
        "stuck",
        "Stuck",
        "Silent for longer than a place is held, or submitted there and not finished here.",
        "release",
        "Free the place",
    ),
)


def _way_out(entry: LedgerRow, verb: str, label: str, study: Study) -> dict[str, Any]:
    """The one action of a row. Who submitted there and did nothing here is asked to return it."""
    channel = entry.participation.submission.channel
    if verb == "release" and not entry.hits and _can_be_asked(channel):
        return {"verb": "ask-to-return", "label": "Ask to return it"}
    if verb == "approve" and entry.participation.submission.owed is not None:
        # It may be less than the others get: whoever pays has to know how much.
        return {
            "verb": verb,
            "label": f"{label} {entry.participation.submission.owed} {study.currency}",
        }
    return {"verb": verb, "label": label}


def _can_be_asked(channel: Channel | None) -> bool:
    """Whether there is a platform with a token; a panel's secret is the key of its links."""
    return channel is not None and bool(channel.secret) and get_platform(channel.provider).has_token


def _row(entry: LedgerRow) -> dict[str, Any]:
    return {
        "entry": entry,
        "participation": entry.participation,
        "platform": platform_title(entry.participation),
        "name": entry.participation.rater.pseudonym,
    }


@require_POST
@researchers_only
def act(request: HttpRequest, study_id: str, participation_id: str, verb: str) -> HttpResponse:
    study = study_for(request.user, study_id)
    found = Participation.objects.filter(study=study, public_id=participation_id)
    participation = found.select_related("study", "submission__channel", "rater").first()
    if participation is None or verb not in ACTS:
        raise Http404("Nobody of that id is in this study.")
    try:
        asked = QUESTIONS[verb](participation, request) if verb in QUESTIONS else None
        if asked is not None and not is_confirmed(request, [asked]):
            back, amount = (
                reverse("recruitment:ledger", args=[study_id]),
                request.POST.get("amount"),
            )
            return ask(request, [asked], back=back, carry=[("amount", amount)] if amount else [])
        messages.success(request, ACTS[verb](participation, request))
    except DomainError as refusal:
        messages.error(request, refusal.message, extra_tags=refusal.code)
    return redirect("recruitment:ledger", study_id)


@require_POST
@researchers_only
def settle_money(request: HttpRequest, study_id: str, payment_id: str, word: str) -> HttpResponse:
    """A researcher looked on the platform whether money went out that nobody knows of."""
    study = study_for(request.user, study_id)
    payment = Payment.objects.filter(
        participation__study=study, public_id=payment_id, status=Payment.Status.ASKED
    ).first()
    if payment is None or word not in {"paid", "unpaid"}:
        raise Http404("No such payment waits to be looked up.")
    settle_payment(payment=payment, was_paid=word == "paid")
    messages.success(request, "Noted.")
    return redirect("recruitment:ledger", study_id)


def _settle(participation: Participation, _: HttpRequest) -> str:
    settle(participation=participation)
    return "Noted: it is listed no more."


def _release(participation: Participation, _: HttpRequest) -> str:
    stop_work(participation=participation, status=Status.RELEASED)
    return "The place is free again; what was answered is kept as a fragment."


def _exclude(participation: Participation, request: HttpRequest) -> str:
    by = cast(User, request.user)
    n = exclude_work(participation=participation, status=Status.EXCLUDED, by=by)
    return f"Excluded: {n} HIT{'' if n == 1 else 's'} left the count and will be replaced."


def _reinstate(participation: Participation, _: HttpRequest) -> str:
    n = reinstate_work(participation=participation)
    return f"{n} HIT{'' if n == 1 else 's'} came back; what found its place taken is surplus."


def _pay(participation: Participation, request: HttpRequest) -> str:
    """By the platform where there is one; else the researcher pays, and this notes it."""
    channel = participation.submission.channel
    amount = owed(participation) if (stated := _amount(request)) is None else stated
    if amount is None:
        raise DomainError("no_reward", "Say in the study what annotators are paid.")
    if channel is None or not _can_be_asked(channel):
        note_payment(participation=participation, amount=amount)
        _log_payment(participation, request, amount)
        return "Noted as paid."
    person = participation.public_id
    if kind := PAID_APART.get(participation.status):
        enqueue_action(
            channel=channel, verb="pay", participation=person, kind=kind, amount=str(amount)
        )
    else:
        enqueue_action(channel=channel, verb="approve", participation=person)
    _log_payment(participation, request, amount)
    return "The platform is being asked; the ledger shows it when it is done."


def _log_payment(participation: Participation, request: HttpRequest, amount: Decimal) -> None:
    details = {"annotator": participation.rater.pseudonym, "amount": str(amount)}
    verb, by = StudyEvent.Verb.PAY, cast(User, request.user)
    record_event(study=participation.study, verb=verb, by=by, details=details)


# Whose submission the platform closed cannot be approved any more: what is owed is a bonus.
PAID_APART: dict[str, str] = {
    Status.RETURNED: Payment.Kind.OWED,
    Status.TIMED_OUT: Payment.Kind.OWED,
    Status.SCREENED_OUT: Payment.Kind.SCREEN_OUT,
}


def _amount(request: HttpRequest) -> Decimal | None:
    try:
        return Decimal(request.POST["amount"]) if request.POST.get("amount") else None
    except InvalidOperation as error:
        raise DomainError(
            "amount_not_a_number", "Give the amount as a number.", status=400
        ) from error


def _ask_to_return(participation: Participation, _: HttpRequest) -> str:
    channel = participation.submission.channel
    if channel is None:
        raise DomainError("no_platform", "This annotator came by the open link.")
    stop_work(participation=participation, status=Status.RELEASED)
    enqueue_action(channel=channel, verb="ask-to-return", participation=participation.public_id)
    return "The place is free again, and the platform asks them to return the submission."


ACTS: dict[str, Callable[[Participation, HttpRequest], str]] = {
    "settle": _settle,
    "release": _release,
    "exclude": _exclude,
    "reinstate": _reinstate,
    "approve": _pay,
    "ask-to-return": _ask_to_return,
}
# What is asked first: it ends somebody's part, or moves money.
QUESTIONS: dict[str, Callable[[Participation, HttpRequest], Question]] = {
    "release": lambda participation, _: releasing(participation),
    "exclude": lambda participation, _: excluding(participation),
    "approve": lambda participation, request: paying(participation, _amount(request)),
    "ask-to-return": lambda participation, _: asking_to_return(participation),
}
