"""The researcher's page *Participants & payments*: the ledger and the actions on its rows."""

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
from recruitment.ledger import LedgerRow, ledger, owed, pays_by_platform, platform_title
from recruitment.messages import AMOUNT_NOT_A_NUMBER, NO_PLATFORM, NO_REWARD
from recruitment.models import Payment
from recruitment.services.payments import note_payment, settle, settle_payment
from recruitment.services.platform_actions import enqueue_action
from studies.access import Right, researchers_only, study_for
from studies.confirming import Question, ask, is_confirmed
from studies.models import StudyEvent
from studies.services import record_event
from tiebreak.errors import DomainError

Status = Participation.Status


MAX_ROWS = 1000
# Lists of submissions that need a decision, each with the one action that settles a row.
LISTS = (
    (
        "awaiting_payment",
        "Awaiting payment",
        "These participants completed work that has not been paid yet.",
        "approve",
    ),
    (
        "screened_out",
        "Failed the test, awaiting payment",
        "These participants failed the qualification test and were promised payment for taking it.",
        "approve",
    ),
    (
        "paid_without_data",
        "Paid without data",
        "These participants were paid but have no completed work here. Payments cannot be undone.",
        "settle",
    ),
    (
        "surplus",
        "Surplus",
        "This work was completed after all responses had been collected. Pay for it; it is left out"
        " of the statistics.",
        "settle",
    ),
    (
        "late",
        "Late",
        "These participants sent answers after the study was closed.",
        "settle",
    ),
    (
        "stuck",
        "Stuck",
        "The time for these participants' task has run out, or they submitted on the platform"
        " without finishing here. Free their places so that others can take them.",
        "release",
    ),
)
LABELS = {
    "settle": "Mark as settled",
    "release": "Free the place",
    "ask-to-return": "Ask to return submission",
}


@require_safe
@researchers_only
def ledger_page(request: HttpRequest, study_id: str) -> HttpResponse:
    study = study_for(request.user, study_id, Right.READ)
    study_ledger = ledger(study)
    lists = [
        (
            name,
            title,
            sentence,
            [
                _row(row) | _row_action(row, action, study.currency)
                for row in getattr(study_ledger, name)
            ],
        )
        for name, title, sentence, action in LISTS
    ]
    unknown = Payment.objects.filter(participation__study=study, status=Payment.Status.ASKED)
    records = check_records(study.pk)
    participants = [
        _row(row) | {"checks": records.get(row.participation.rater_id)}
        for row in study_ledger.rows[:MAX_ROWS]
    ]
    context = {
        "study": study,
        "money": study_ledger.money,
        "lists": lists,
        "unknown": unknown.select_related("participation__rater"),
        "participants": participants,
        "counted": study_ledger.counted,
        "more": max(0, len(study_ledger.rows) - MAX_ROWS),
        "is_unverified": any(row.participation.address for row in study_ledger.rows),
        "has_reward": study.reward is not None,
    }
    return render(request, "recruitment/ledger.html", context)


def _row_action(row: LedgerRow, action: str, currency: str) -> dict[str, str]:
    """Return a row's action and label. Participants without work are asked to return."""
    channel = row.participation.submission.channel
    if action == "release" and not row.hits and pays_by_platform(channel):
        action = "ask-to-return"
    if action == "approve":
        return {"action": action, "label": _pay_label(row, currency)}
    return {"action": action, "label": LABELS[action]}


def _pay_label(row: LedgerRow, currency: str) -> str:
    """Return the label, with the amount if the annotator left early and may get less."""
    submission = row.participation.submission
    title = platform_title(row.participation)
    if not pays_by_platform(submission.channel):
        is_partial = submission.owed is not None
        return f"Mark {submission.owed} {currency} as paid" if is_partial else "Mark as paid"
    if submission.owed is None:
        return f"Pay via {title}"
    return f"Pay {submission.owed} {currency} via {title}"


def _row(row: LedgerRow) -> dict[str, Any]:
    return {
        "ledger_row": row,
        "participation": row.participation,
        "source": platform_title(row.participation),
        "name": row.participation.rater.pseudonym,
    }


@require_POST
@researchers_only
def act(request: HttpRequest, study_id: str, participation_id: str, action: str) -> HttpResponse:
    study = study_for(request.user, study_id, Right.OWN if action in PAYS else Right.CHANGE)
    matches = Participation.objects.filter(study=study, public_id=participation_id)
    participation = matches.select_related("study", "submission__channel", "rater").first()
    if participation is None or action not in ACTIONS:
        raise Http404("This study has no such participant or action.")
    try:
        question = QUESTIONS[action](participation, request) if action in QUESTIONS else None
        if question is not None and not is_confirmed(request, [question]):
            back, amount = (
                reverse("recruitment:ledger", args=[study_id]),
                request.POST.get("amount"),
            )
            return ask(request, [question], back=back, carry=[("amount", amount)] if amount else [])
        messages.success(request, ACTIONS[action](participation, request))
    except DomainError as refusal:
        messages.error(request, refusal.message, extra_tags=refusal.code)
    return redirect("recruitment:ledger", study_id)


@require_POST
@researchers_only
def record_payment_outcome(
    request: HttpRequest, study_id: str, payment_id: str, outcome: str
) -> HttpResponse:
    """Record what the researcher found on the platform about an unconfirmed payment."""
    study = study_for(request.user, study_id, Right.OWN)
    payment = Payment.objects.filter(
        participation__study=study, public_id=payment_id, status=Payment.Status.ASKED
    ).first()
    if payment is None or outcome not in {"paid", "unpaid"}:
        raise Http404("This study has no such unconfirmed payment.")
    settle_payment(payment=payment, was_paid=outcome == "paid")
    messages.success(request, "The outcome of the payment was recorded.")
    return redirect("recruitment:ledger", study_id)


def _settle(participation: Participation, _: HttpRequest) -> str:
    settle(participation=participation)
    return "The submission was marked as settled and is no longer listed."


def _release(participation: Participation, _: HttpRequest) -> str:
    stop_work(participation=participation, status=Status.RELEASED)
    return "The place is free again. The answers in the unfinished task are kept as a partial set."


def _exclude(participation: Participation, request: HttpRequest) -> str:
    by = cast(User, request.user)
    n = exclude_work(participation=participation, status=Status.EXCLUDED, by=by)
    return f"The annotator was excluded. Tasks that no longer count: {n}."


def _reinstate(participation: Participation, _: HttpRequest) -> str:
    n = reinstate_work(participation=participation)
    return (
        "The annotator was reinstated. Tasks that count again, or are surplus because their place"
        f" was taken: {n}."
    )


def _pay(participation: Participation, request: HttpRequest) -> str:
    """Pay via the platform; without one, record that the researcher has paid."""
    channel = participation.submission.channel
    typed = _amount(request)
    amount = owed(participation) if typed is None else typed
    if amount is None:
        raise DomainError("no_reward", NO_REWARD)
    if channel is None or not pays_by_platform(channel):
        note_payment(participation=participation, amount=amount)
        _log_payment(participation, request, amount)
        return "The payment was recorded."
    if kind := PAID_APART.get(participation.status):
        enqueue_action(
            channel=channel,
            action="pay",
            participation=participation.public_id,
            kind=kind,
            amount=str(amount),
        )
    else:
        enqueue_action(channel=channel, action="approve", participation=participation.public_id)
    _log_payment(participation, request, amount)
    return "The payment was requested. The ledger shows it once the platform has answered."


def _log_payment(participation: Participation, request: HttpRequest, amount: Decimal) -> None:
    details = {"annotator": participation.rater.pseudonym, "amount": str(amount)}
    verb, by = StudyEvent.Verb.PAY, cast(User, request.user)
    record_event(study=participation.study, verb=verb, by=by, details=details)


# The platform has closed such a submission, so it cannot be approved; a bonus pays what is owed.
PAID_APART: dict[str, str] = {
    Status.RETURNED: Payment.Kind.OWED,
    Status.TIMED_OUT: Payment.Kind.OWED,
    Status.SCREENED_OUT: Payment.Kind.SCREEN_OUT,
}


def _amount(request: HttpRequest) -> Decimal | None:
    try:
        return Decimal(request.POST["amount"]) if request.POST.get("amount") else None
    except InvalidOperation as error:
        raise DomainError("amount_not_a_number", AMOUNT_NOT_A_NUMBER, status=400) from error


def _ask_to_return(participation: Participation, _: HttpRequest) -> str:
    channel = participation.submission.channel
    if channel is None:
        raise DomainError("no_platform", NO_PLATFORM)
    stop_work(participation=participation, status=Status.RELEASED)
    enqueue_action(channel=channel, action="ask-to-return", participation=participation.public_id)
    return (
        "The place is free again. The platform will ask the participant to return the submission."
    )


ACTIONS: dict[str, Callable[[Participation, HttpRequest], str]] = {
    "settle": _settle,
    "release": _release,
    "exclude": _exclude,
    "reinstate": _reinstate,
    "approve": _pay,
    "ask-to-return": _ask_to_return,
}
PAYS = {"approve"}
# Actions that end a participation or move money need a confirmation.
QUESTIONS: dict[str, Callable[[Participation, HttpRequest], Question]] = {
    "release": lambda participation, _: releasing(participation),
    "exclude": lambda participation, _: excluding(participation),
    "approve": lambda participation, request: paying(participation, _amount(request)),
    "ask-to-return": lambda participation, _: asking_to_return(participation),
}
