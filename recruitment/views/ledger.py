"""The researcher's page *Participants & payments*: the ledger."""

from django.contrib import messages
from django.core.paginator import Paginator
from django.http import Http404, HttpRequest, HttpResponse
from django.shortcuts import redirect, render
from django.views.decorators.http import require_POST

from annotation.models import Participation
from recruitment.admission import OPEN_LINK
from recruitment.costs import Accounts, accounts, highest_fee
from recruitment.ledger import pays_by_platform, search_for
from recruitment.models import Channel, Payment
from recruitment.people_table import WAITING, lists_with_people, people_on
from recruitment.platforms import platforms
from recruitment.platforms.pay_claims import pay_by_hand
from recruitment.services.payments import settle_payment
from studies.access import Right, held_right, of_study, shows_study
from studies.models import Study
from tiebreak.digits import counted, money

PER_PAGE = 40
# What is shown of payments that the platform did not confirm.
UNKNOWN = (
    *("public_id", "kind", "amount", "currency", "created_at"),
    "participation__rater__pseudonym",
)


@shows_study
def ledger_page(request: HttpRequest, study: Study) -> HttpResponse:
    search, status = request.GET.get("search", "").strip(), request.GET.get("status", "")
    status = status if status in Participation.Status else ""
    chosen = WAITING.get(request.GET.get("list", ""))
    on_list = chosen.name if chosen else ""
    accounting = accounts(study, search_for(study, search, status, on_list))
    entries = accounting.ledger
    emptied = chosen if chosen and not entries.totals.listed[chosen.name] else None
    if emptied:
        chosen, accounting = None, accounts(study, search_for(study, search, status))
        entries = accounting.ledger
    paginator = Paginator(entries.matches, PER_PAGE)
    paginator.count = entries.totals.matching
    page = paginator.get_page(request.GET.get("page_number"))
    first = PER_PAGE * (page.number - 1)
    unknown = Payment.objects.filter(participation__study=study, status=Payment.Status.ASKED)
    context = {
        "study": study,
        "finding": _finding(accounting),
        "money": entries.money,
        "costs": accounting.costs,
        "beyond_budget": accounting.beyond_budget,
        "under_promise": accounting.under_promise,
        "by_platform": any(map(pays_by_platform, accounting.plan.channels.all())),
        "by_hand": _by_hand(accounting) if accounting.costs else [],
        "has_fees": highest_fee(accounting.plan.channels.all()) > 0,
        "most": accounting.maximum if accounting.costs else None,
        "lists": lists_with_people(entries),
        "chosen": chosen,
        "emptied": emptied,
        "total": entries.totals.participants,
        "unknown": unknown.select_related("participation__rater").only(*UNKNOWN),
        "per_page": PER_PAGE,
        "people": people_on(entries, entries.page(first, first + PER_PAGE)),
        "page": page,
        "search": search,
        "status": status,
        "statuses": Participation.Status.choices,
        "unverified": entries.totals.unverified,
        "is_owner": held_right(request.user, study) >= Right.OWN,
        "can_select": True,
    }
    return render(request, "recruitment/ledger.html", context)


def _finding(accounting: Accounts) -> str:
    """Return who waits for how much, or why nobody does, in the whole study, whatever is searched."""
    entries, study = accounting.ledger, accounting.plan
    if n := entries.unpaid:
        people = counted(n, "person waits", "people wait")
        return f"{people} for {money(entries.owed.amount)} {study.currency}"
    if study.dry_run_of_id is not None:
        return "Only bots work on a dry run, and nobody pays them"
    if accounting.costs is not None:
        return "Nobody waits for payment"
    return "No pay is stated" if study.reward is None else "Nothing is paid before the study opens"


def _may_owe(accounting: Accounts) -> bool:
    costs, study = accounting.costs, accounting.plan
    return costs is not None and bool(costs.owed or study.status != Study.Status.CLOSED)


def _by_hand(accounting: Accounts) -> list[str]:
    """Return what the researcher does to pay people of each channel that does not pay them itself.

    Once all are paid, it is what people read of their pay.
    """
    study, may_owe = accounting.plan, _may_owe(accounting)
    channels = list(study.channels.all()) or [Channel(study=study, provider=OPEN_LINK)]
    known = [(platforms().get(one.provider), one) for one in channels]
    said = [
        (platform.title, pay_by_hand(one) if may_owe else platform.claim_at_the_start(one))
        for platform, one in known
        if platform and not platform.pays_participants
    ]
    read = "" if may_owe else "People read: "
    return [f"{title}: {read}{how}" for title, how in said if how]


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
