"""The researcher's page *Participants & payments*: the ledger."""

from typing import Any, cast

from django.contrib import messages
from django.core.paginator import Paginator
from django.db.models import QuerySet
from django.http import Http404, HttpRequest, HttpResponse
from django.shortcuts import redirect, render
from django.views.decorators.http import require_POST

from annotation.models import Participation
from annotation.services.screening import check_records
from recruitment.costs import accounts
from recruitment.ledger import (
    FirstRows,
    Ledger,
    LedgerRow,
    pays_by_platform,
    platform_title,
    search_for,
)
from recruitment.models import Payment
from recruitment.services.payments import settle_payment
from recruitment.terms import owed
from studies.access import Right, held_right, of_study, shows_study
from studies.models import Study

PER_PAGE = 40
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
# What is told in one line of the lists that are empty.
NOBODY = {
    "paid_without_data": "nobody was paid without data",
    "awaiting_payment": "nobody waits to be paid",
    "surplus": "no work is surplus",
    "late": "no answers came late",
    "screened_out": "nobody is owed pay for a failed test",
    "stuck": "nobody is stuck in a task",
}
LABELS = {
    "settle": "Mark as settled",
    "release": "Free the place",
    "ask-to-return": "Ask to return submission",
}


@shows_study
def ledger_page(request: HttpRequest, study: Study) -> HttpResponse:
    search, status = request.GET.get("search", "").strip(), request.GET.get("status", "")
    status = status if status in Participation.Status else ""
    accounting = accounts(study, search_for(search, status))
    entries = accounting.ledger
    paginator = Paginator(entries.matches, PER_PAGE)
    paginator.count = entries.totals.matching
    page = paginator.get_page(request.GET.get("page_number"))
    rows = entries.first_rows(cast(QuerySet[Participation], page.object_list))
    raters = [row.participation.rater_id for row in rows.page]
    records = check_records(study.pk, raters=raters)
    unknown = Payment.objects.filter(participation__study=study, status=Payment.Status.ASKED)
    context = {
        "study": study,
        "money": entries.money,
        "costs": accounting.costs,
        "beyond_budget": accounting.beyond_budget,
        "lists": _lists(entries, rows),
        # The lists that are empty, each of which has its own sentence if it is not.
        "nothing_waits": ", ".join(
            NOBODY[name] for name, n in entries.totals.listed.items() if not n
        ),
        "unknown": unknown.select_related("participation__rater"),
        "participants": [
            _row(row) | {"checks": records.get(row.participation.rater_id)} for row in rows.page
        ],
        "page": page,
        "search": search,
        "status": status,
        "statuses": Participation.Status.choices,
        "is_unverified": bool(entries.totals.unverified),
        "is_owner": held_right(request.user, study) >= Right.OWN,
    }
    return render(request, "recruitment/ledger.html", context)


def _lists(entries: Ledger, rows: FirstRows) -> list[tuple[str, str, str, int, list[Any]]]:
    """Return each list that has rows, with their number; the page shows the first of them."""
    currency = entries.study.currency
    return [
        (
            name,
            title,
            sentence,
            entries.totals.listed[name],
            [_row(row) | _row_action(row, action, currency) for row in rows.lists.get(name, ())],
        )
        for name, title, sentence, action in LISTS
        if entries.totals.listed[name]
    ]


def _row_action(row: LedgerRow, action: str, currency: str) -> dict[str, str]:
    """Return a row's action and label. Participants without work are asked to return."""
    channel = row.participation.submission.channel
    if action == "release" and not row.hits and pays_by_platform(channel):
        action = "ask-to-return"
    if action == "approve":
        return {"action": action, "label": _pay_label(row, currency), "pays": "yes"}
    return {"action": action, "label": LABELS[action]}


def _pay_label(row: LedgerRow, currency: str) -> str:
    amount = f"{owed(row.participation)} {currency}"
    if not pays_by_platform(row.participation.submission.channel):
        return f"Mark {amount} as paid"
    return f"Pay {amount} via {platform_title(row.participation)}"


def _row(row: LedgerRow) -> dict[str, Any]:
    return {
        "ledger_row": row,
        "participation": row.participation,
        "source": platform_title(row.participation),
        "name": row.participation.rater.pseudonym,
    }


@require_POST
@of_study(Right.OWN)
def record_payment_outcome(
    request: HttpRequest, study: Study, payment_id: str, outcome: str
) -> HttpResponse:
    """Record what the researcher found on the platform about an unconfirmed payment."""
    payment = Payment.objects.filter(
        participation__study=study, public_id=payment_id, status=Payment.Status.ASKED
    ).first()
    if payment is None or outcome not in {"paid", "unpaid"}:
        raise Http404("This study has no such unconfirmed payment.")
    settle_payment(payment=payment, was_paid=outcome == "paid")
    messages.success(request, "The outcome of the payment was recorded.")
    return redirect("recruitment:ledger", study.pk)
