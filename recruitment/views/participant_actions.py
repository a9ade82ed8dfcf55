"""What researchers do about participants: one by one, or paying many of them together."""

from collections.abc import Callable
from decimal import Decimal, InvalidOperation
from typing import TypedDict

from django.contrib import messages
from django.http import Http404, HttpRequest, HttpResponse
from django.shortcuts import redirect
from django.urls import reverse
from django.views.decorators.http import require_POST

from annotation.models import Participation
from recruitment.messages import AMOUNT_NOT_A_NUMBER
from recruitment.participant_confirmations import (
    asking_to_return,
    erasing,
    excluding,
    giving_bonus,
    paying,
    paying_awaiting,
    rejecting,
    releasing,
)
from recruitment.people_table import WAITING
from recruitment.services.erasure import erase_participant
from recruitment.services.participants import (
    Chosen,
    Paid,
    amount_for,
    awaiting_payment,
    exclude_participant,
    pay_awaiting,
    pay_bonus,
    pay_participant,
    reinstate_participant,
    reject_submission,
    release_participant,
    request_return,
)
from recruitment.services.payments import settle
from recruitment.views.participant import check_owns_all
from studies.access import Right, of_study, researchers_only, study_for, user_of
from studies.bound_fields import with_point
from studies.confirming import Question, ask, is_confirmed
from studies.models import Study
from studies.refusals import told
from tiebreak.digits import counted
from tiebreak.errors import DomainError

# What a person has typed, which the confirmation page sends again.
TYPED = ("amount", "reason", "category", "message", "request_key", "page")


class BonusFields(TypedDict):
    amount: Decimal
    reason: str
    request_key: str


@require_POST
@researchers_only
def act(request: HttpRequest, study_id: str, participation_id: str, action: str) -> HttpResponse:
    study = study_for(request.user, study_id, Right.OWN if action in NEEDS_OWNER else Right.CHANGE)
    matches = Participation.objects.filter(study=study, public_id=participation_id)
    participation = matches.select_related("study", "submission__channel", "rater").first()
    if participation is None or action not in ACTIONS:
        raise Http404("This study has no such participant or action.")
    with told(request):
        question = QUESTIONS[action](participation, request) if action in QUESTIONS else None
        if question is not None and not is_confirmed(request, question):
            typed = [(name, request.POST[name]) for name in TYPED if request.POST.get(name)]
            return ask(request, question, back=_back(request, participation), carry=typed)
        messages.success(request, ACTIONS[action](participation, request))
    participation.refresh_from_db(fields=["public_id"])  # whoever is erased has another
    return redirect(_back(request, participation))


def _back(request: HttpRequest, participation: Participation) -> str:
    """Return the page that the button is on."""
    if request.POST.get("page") == "participant":
        return reverse(
            "recruitment:participant", args=[participation.study_id, participation.public_id]
        )
    return reverse("recruitment:ledger", args=[participation.study_id])


@require_POST
@of_study(Right.OWN)
def pay_many(request: HttpRequest, study: Study) -> HttpResponse:
    """Pay the selected participants of a list, or the whole list."""
    back, (chosen, carry) = reverse("recruitment:ledger", args=[study.pk]), _chosen(request)
    if (shown := request.POST.get("shown")) in WAITING:
        back, carry = f"{back}?list={shown}", [*carry, ("shown", str(shown))]
    with told(request):
        awaiting = awaiting_payment(study, chosen)
        question = paying_awaiting(study, awaiting)
        if not is_confirmed(request, question):
            return ask(request, question, back=back, carry=carry)
        total = sum((amount_for(one) for one in awaiting), Decimal(0))
        paid = pay_awaiting(study=study, chosen=chosen, total=total, by=user_of(request))
        messages.success(request, _told(paid))
    return redirect(back)


def _chosen(request: HttpRequest) -> tuple[Chosen, list[tuple[str, str]]]:
    """Return which participants were chosen, and the fields that say so again."""
    if name := request.POST.get("list"):
        return Chosen(screened_out=name == "screened_out"), [("list", name)]
    public_ids = tuple(request.POST.getlist("participant"))
    return Chosen(public_ids), [("participant", public_id) for public_id in public_ids]


def _saying(
    sentence: str, do: Callable[..., object]
) -> Callable[[Participation, HttpRequest], str]:
    def act(participation: Participation, _: HttpRequest) -> str:
        do(participation=participation)
        return sentence

    return act


def _exclude(participation: Participation, request: HttpRequest) -> str:
    reason = request.POST.get("reason", "")
    n = exclude_participant(participation=participation, reason=reason, by=user_of(request))
    return f"The annotator was excluded. Tasks that no longer count: {n}."


def _reinstate(participation: Participation, request: HttpRequest) -> str:
    n = reinstate_participant(participation=participation, by=user_of(request))
    return (
        "The annotator was reinstated. Tasks that count again, or are surplus because their place"
        f" was taken: {n}."
    )


def _ask_to_erase(participation: Participation, request: HttpRequest) -> Question:
    check_owns_all(request.user, participation.rater)
    return erasing(participation)


def _erase(participation: Participation, request: HttpRequest) -> str:
    studies = erase_participant(rater=participation.rater, by=user_of(request))
    return f"The person was erased from {counted(len(studies), 'study', 'studies')}."


def _pay(participation: Participation, request: HttpRequest) -> str:
    """Pay via the platform; without one, record that the researcher has paid."""
    amount, by = _amount(request), user_of(request)
    return _told(pay_participant(participation=participation, amount=amount, by=by))


def _told(paid: Paid) -> str:
    recorded = f"{counted(paid.recorded, 'payment was', 'payments were')} recorded."
    requested = (
        f"{counted(paid.requested, 'payment was', 'payments were')} requested. The Participants & payments page"
        f" shows {'it' if paid.requested == 1 else 'them'} once the platform has answered."
    )
    return " ".join([recorded] * bool(paid.recorded) + [requested] * bool(paid.requested))


def _bonus(participation: Participation, request: HttpRequest) -> str:
    pay_bonus(participation=participation, **_bonus_of(request), by=user_of(request))
    return "The bonus was requested. The page shows it once the platform has answered."


def _reject(participation: Participation, request: HttpRequest) -> str:
    category, message = _rejection_of(request)
    by = user_of(request)
    reject_submission(participation=participation, category=category, message=message, by=by)
    return "The rejection was requested. The page shows it once the platform has answered."


def _rejection_of(request: HttpRequest) -> tuple[str, str]:
    return request.POST.get("category", ""), request.POST.get("message", "")


def _bonus_of(request: HttpRequest) -> BonusFields:
    amount = _amount(request)
    if amount is None:
        raise DomainError("amount_not_a_number", AMOUNT_NOT_A_NUMBER, status=400)
    return {
        "amount": amount,
        "reason": request.POST.get("reason", ""),
        "request_key": request.POST.get("request_key", ""),
    }


def _amount(request: HttpRequest) -> Decimal | None:
    typed = request.POST.get("amount", "")
    try:
        return Decimal(with_point(typed)) if typed else None
    except InvalidOperation as error:
        raise DomainError("amount_not_a_number", AMOUNT_NOT_A_NUMBER, status=400) from error


ACTIONS: dict[str, Callable[[Participation, HttpRequest], str]] = {
    "settle": _saying("The submission was marked as settled and is no longer listed.", settle),
    "release": _saying(
        "The place is free again. The answers in the unfinished task are kept as a partial set.",
        release_participant,
    ),
    "exclude": _exclude,
    "reinstate": _reinstate,
    "erase": _erase,
    "approve": _pay,
    "ask-to-return": _saying(
        "The place is free again. The platform will ask the participant to return the submission.",
        request_return,
    ),
    "bonus": _bonus,
    "reject": _reject,
}
# Only owners may decide about money, or erase people.
NEEDS_OWNER = {"approve", "bonus", "reject", "erase"}
# Actions that end a participation or move money need a confirmation.
QUESTIONS: dict[str, Callable[[Participation, HttpRequest], Question]] = {
    "release": lambda participation, _: releasing(participation),
    "exclude": lambda participation, _: excluding(participation),
    "erase": _ask_to_erase,
    "approve": lambda participation, request: paying(participation, _amount(request)),
    "ask-to-return": lambda participation, _: asking_to_return(participation),
    "bonus": lambda participation, request: giving_bonus(participation, **_bonus_of(request)),
    "reject": lambda participation, request: rejecting(participation, *_rejection_of(request)),
}
