"""The researcher's page *Participants & payments*: the ledger."""

from typing import Any

from django.contrib import messages
from django.http import Http404, HttpRequest, HttpResponse
from django.shortcuts import redirect, render
from django.views.decorators.http import require_POST, require_safe

from annotation.services.screening import check_records
from recruitment.costs import spending
from recruitment.ledger import LedgerRow, ledger, pays_by_platform, platform_title
from recruitment.models import Payment
from recruitment.services.payments import settle_payment
from studies.access import Right, held_right, researchers_only, study_for

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
        "The time for these participants' HIT has run out, or they submitted on the platform"
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
        "spending": spending(study),
        "owed": study_ledger.owed,
        "lists": lists,
        "unknown": unknown.select_related("participation__rater"),
        "participants": participants,
        "counted": study_ledger.counted,
        "more": max(0, len(study_ledger.rows) - MAX_ROWS),
        "is_unverified": any(row.participation.address for row in study_ledger.rows),
        "has_reward": study.reward is not None,
        "is_owner": held_right(request.user, study) >= Right.OWN,
    }
    return render(request, "recruitment/ledger.html", context)


def _row_action(row: LedgerRow, action: str, currency: str) -> dict[str, str]:
    """Return a row's action and label. Participants without work are asked to return."""
    channel = row.participation.submission.channel
    if action == "release" and not row.hits and pays_by_platform(channel):
        action = "ask-to-return"
    if action == "approve":
        return {"action": action, "label": _pay_label(row, currency), "pays": "yes"}
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
