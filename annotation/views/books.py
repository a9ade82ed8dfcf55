"""The researcher's pages of people and money: ways in, and the ledger."""

from collections.abc import Callable
from decimal import Decimal, InvalidOperation
from typing import Any

from django.contrib import messages
from django.contrib.admin.views.decorators import staff_member_required
from django.http import Http404, HttpRequest, HttpResponse
from django.shortcuts import redirect, render
from django.urls import reverse
from django.utils.http import urlencode
from django.views.decorators.http import require_POST, require_safe

from annotation.crowd import Provider, provider_named, providers
from annotation.crowd.invitation import invitations
from annotation.ledger import Entry, ledger, platform_title, screen_out_reward
from annotation.models import Participation, Payment, Recruitment
from annotation.services.asking import ask_for
from annotation.services.paying import note_payment, settle, settle_payment
from annotation.services.recruiting import save_recruitment
from annotation.services.screening import check_records
from annotation.services.withdrawing import reinstate_work, stop_work, withdraw_work
from studies.access import study_for
from studies.errors import DomainError
from studies.models import Study

Status = Participation.Status


@require_safe
@staff_member_required
def recruitment(request: HttpRequest, study_id: str) -> HttpResponse:
    study = study_for(request.user, study_id)
    return _ways(request, study)


@require_POST
@staff_member_required
def save(request: HttpRequest, study_id: str, provider: str) -> HttpResponse:
    """Open a way in, or change what it was told. Its secret is only ever written."""
    study = study_for(request.user, study_id)
    source = _provider(provider)
    form = source.settings_form(request.POST, auto_id=f"{source.name}_%s")
    if not form.is_valid():
        return _ways(request, study, refused={provider: form}, status=400)
    way = Recruitment.objects.filter(study=study, provider=provider).first()
    way = way or Recruitment(study=study, provider=provider)
    stated = {name: _plain(value) for name, value in form.cleaned_data.items()}
    way.settings = {**way.settings, **stated}
    token = request.POST.get("token", "").strip() if source.has_token else ""
    save_recruitment(recruitment=way, token=token)
    messages.success(request, f"{source.title} is a way into this study.")
    return redirect("annotation:recruitment", study_id)


@require_POST
@staff_member_required
def ask(request: HttpRequest, study_id: str, provider: str, verb: str) -> HttpResponse:
    study = study_for(request.user, study_id)
    way = Recruitment.objects.filter(study=study, provider=provider).first()
    if way is None:
        raise Http404("No such way in.")
    arguments = {
        "places": request.POST.get("places", ""),
        "entry_url": entry_url(request, way),
        "events_url": _absolute(request, "annotation:event", way),
    }
    try:
        if verb == "publish" and not arguments["places"].isdecimal():
            raise DomainError("no_places", "Say how many people are wanted.", status=400)
        ask_for(recruitment=way, verb=verb, **arguments)
    except DomainError as refusal:
        messages.error(request, refusal.message)
    return redirect("annotation:recruitment", study_id)


def _ways(
    request: HttpRequest,
    study: Study,
    *,
    refused: dict[str, Any] | None = None,
    status: int = 200,
) -> HttpResponse:
    existing = {way.provider: way for way in study.recruitments.all()}
    ways = [
        _way(request, study, source, existing.get(name), (refused or {}).get(name))
        for name, source in sorted(
            providers().items(), key=lambda item: (item[0] not in existing, item[1].title)
        )
    ]
    context = {
        "study": study,
        "ways": ways,
        "is_open_to_all": not existing,
        "is_waiting": any(way.pending for way in existing.values()),
    }
    return render(request, "annotation/recruitment.html", context, status=status)


def _way(
    request: HttpRequest,
    study: Study,
    source: Provider,
    existing: Recruitment | None,
    refused: Any,
) -> dict[str, Any]:
    way = existing or Recruitment(study=study, provider=source.name)
    invited = source.name == "invitation" and existing is not None
    link = entry_url(request, way)
    return {
        "provider": source,
        "recruitment": existing,
        "form": refused
        or source.settings_form(auto_id=f"{source.name}_%s", initial=way.settings or None),
        "link": link,
        "has_token": bool(way.secret),
        "can_publish": type(source).publish is not Provider.publish,
        "can_listen": type(source).listen is not Provider.listen,
        "invitations": [
            (person, f"{link}?{urlencode({'invitation': token})}")
            for person, token in invitations(way)
        ]
        if invited
        else [],
    }


def entry_url(request: HttpRequest, way: Recruitment) -> str:
    """What to give to the platform, or to people."""
    if way.provider == "open-link":
        return request.build_absolute_uri(reverse("annotation:welcome", args=[way.study_id]))
    parameters = provider_named(way.provider).entry_parameters
    url = _absolute(request, "annotation:arrive", way)
    return f"{url}?{parameters}" if parameters else url


def _absolute(request: HttpRequest, name: str, way: Recruitment) -> str:
    return request.build_absolute_uri(reverse(name, args=[way.study_id, way.provider]))


def _provider(name: str) -> Provider:
    try:
        return provider_named(name)
    except DomainError as refusal:
        raise Http404(refusal.message) from refusal


def _plain(value: Any) -> Any:
    return str(value) if isinstance(value, Decimal) else value


@require_safe
@staff_member_required
def books(request: HttpRequest, study_id: str) -> HttpResponse:
    study = study_for(request.user, study_id)
    found = ledger(study)
    lists = [
        (title, sentence, [_row(e) | _way_out(e, verb, label) for e in getattr(found, name)])
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
        "people": people[:MOST_ROWS],
        "more": max(0, len(people) - MOST_ROWS),
        "is_unverified": any(entry.participation.address for entry in found.entries),
        "has_reward": study.reward is not None,
    }
    return render(request, "annotation/ledger.html", context)


MOST_ROWS = 1000
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


def _way_out(entry: Entry, verb: str, label: str) -> dict[str, Any]:
    """The one action of a row. Who submitted there and did nothing here is asked to return it."""
    way = entry.participation.recruitment
    if verb == "release" and not entry.hits and way is not None and way.secret:
        return {"verb": "ask-to-return", "label": "Ask to return it"}
    return {"verb": verb, "label": label}


def _row(entry: Entry) -> dict[str, Any]:
    return {
        "entry": entry,
        "participation": entry.participation,
        "platform": platform_title(entry.participation),
        "name": entry.participation.rater.pseudonym,
    }


@require_POST
@staff_member_required
def act(request: HttpRequest, study_id: str, participation_id: str, verb: str) -> HttpResponse:
    study = study_for(request.user, study_id)
    found = Participation.objects.filter(study=study, public_id=participation_id)
    participation = found.select_related("study", "recruitment", "rater").first()
    if participation is None or verb not in ACTS:
        raise Http404("Nobody of that id is in this study.")
    try:
        messages.success(request, ACTS[verb](participation, request))
    except DomainError as refusal:
        messages.error(request, refusal.message)
    return redirect("annotation:ledger", study_id)


@require_POST
@staff_member_required
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
    return redirect("annotation:ledger", study_id)


def _settle(participation: Participation, _: HttpRequest) -> str:
    settle(participation=participation)
    return "Noted: it is listed no more."


def _release(participation: Participation, _: HttpRequest) -> str:
    stop_work(participation=participation, status=Status.RELEASED)
    return "The place is free again; what was answered is kept as a fragment."


def _exclude(participation: Participation, _: HttpRequest) -> str:
    n = withdraw_work(participation=participation, status=Status.EXCLUDED)
    return f"Excluded: {n} HIT{'' if n == 1 else 's'} left the count and will be replaced."


def _reinstate(participation: Participation, _: HttpRequest) -> str:
    n = reinstate_work(participation=participation)
    return f"{n} HIT{'' if n == 1 else 's'} came back; what found its place taken is surplus."


def _pay(participation: Participation, request: HttpRequest) -> str:
    """By the platform where there is one; else the researcher pays, and this notes it."""
    way = participation.recruitment
    amount = _owed(participation) if (stated := _amount(request)) is None else stated
    if amount is None:
        raise DomainError("no_reward", "Say in the study what annotators are paid.")
    if way is None or not way.secret:
        note_payment(participation=participation, amount=amount)
        return "Noted as paid."
    person = participation.public_id
    if kind := PAID_APART.get(participation.status):
        ask_for(recruitment=way, verb="pay", participation=person, kind=kind, amount=str(amount))
    else:
        ask_for(recruitment=way, verb="approve", participation=person)
    return "The platform is being asked; the ledger shows it when it is done."


# Whose submission the platform closed cannot be approved any more: what is owed is a bonus.
PAID_APART: dict[str, str] = {
    Status.RETURNED: Payment.Kind.OWED,
    Status.TIMED_OUT: Payment.Kind.OWED,
    Status.SCREENED_OUT: Payment.Kind.SCREEN_OUT,
}


def _owed(participation: Participation) -> Decimal | None:
    if participation.status == Status.SCREENED_OUT:
        return screen_out_reward(participation)
    return participation.study.reward


def _amount(request: HttpRequest) -> Decimal | None:
    try:
        return Decimal(request.POST["amount"]) if request.POST.get("amount") else None
    except InvalidOperation as error:
        raise DomainError("no_amount", "Give the amount as a number.", status=400) from error


def _ask_to_return(participation: Participation, _: HttpRequest) -> str:
    way = participation.recruitment
    if way is None:
        raise DomainError("no_platform", "This annotator came by the open link.")
    stop_work(participation=participation, status=Status.RELEASED)
    ask_for(recruitment=way, verb="ask-to-return", participation=participation.public_id)
    return "The place is free again, and the platform asks them to return the submission."


ACTS: dict[str, Callable[[Participation, HttpRequest], str]] = {
    "settle": _settle,
    "release": _release,
    "exclude": _exclude,
    "reinstate": _reinstate,
    "approve": _pay,
    "ask-to-return": _ask_to_return,
}
