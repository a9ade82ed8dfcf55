"""The researcher's page of the ways into a study: who can enter now, and what each way still needs."""

from collections.abc import Callable
from decimal import Decimal
from typing import Any, cast

from django.contrib import messages
from django.contrib.auth.models import User
from django.http import Http404, HttpRequest, HttpResponse
from django.shortcuts import redirect, render
from django.urls import reverse
from django.utils.http import urlencode
from django.views.decorators.http import require_POST, require_safe

from recruitment.confirmations import paying_all, publishing, starting, stopping
from recruitment.models import Recruitment
from recruitment.platforms import Provider, provider_named
from recruitment.platforms.invitation import invitations
from recruitment.public_address import public_url
from recruitment.services.channels import (
    OPEN_LINK,
    WayIn,
    close_way_in,
    is_open_to_all,
    recruitment_for,
    remove_way_in,
    renew_signing_key,
    reopen_way_in,
    save_recruitment,
    ways_in,
)
from recruitment.services.platform_actions import ask_for
from studies import confirming
from studies.access import researchers_only, study_for
from studies.models import Study, StudyEvent
from studies.services import record_event
from tiebreak.errors import DomainError


@require_safe
@researchers_only
def recruitment(request: HttpRequest, study_id: str) -> HttpResponse:
    study = study_for(request.user, study_id)
    return _page(request, study)


@require_POST
@researchers_only
def save(request: HttpRequest, study_id: str, provider: str) -> HttpResponse:
    """Set up a way in, or change what it was told. Its secret is only ever written."""
    study = study_for(request.user, study_id)
    source = _provider(provider)
    refused = _saved(request, study, source)
    if refused is not None:
        return refused
    places = request.POST.get("places", "")
    query = f"?{urlencode({f'places-{source.name}': places})}" if places else ""
    return redirect(reverse("recruitment:recruitment", args=[study_id]) + query)


def _saved(request: HttpRequest, study: Study, source: Provider) -> HttpResponse | None:
    """Keep the settings that were sent; the page once more, as typed, where they are refused."""
    provider = source.name
    form = source.settings_form(request.POST, auto_id=f"{source.name}_%s")
    if not form.is_valid():
        return _page(request, study, refused={provider: form}, status=400)
    way = Recruitment.objects.filter(study=study, provider=provider).first()
    way = way or Recruitment(study=study, provider=provider)
    stated = {name: _plain(value) for name, value in form.cleaned_data.items()}
    way.settings = {**way.settings, **stated}
    token = request.POST.get("token", "").strip() if source.has_token else ""
    refusal = _tried(source, token)
    if refusal is not None and refusal.code in TOKEN_REFUSED:
        told = {provider: refusal}
        return _page(request, study, refused={provider: form}, tokens_refused=told, status=400)
    if not way.secret and not token:
        token = source.own_secret(way)
    was_open_to_all = is_open_to_all(study)
    save_recruitment(recruitment=way, token=token)
    messages.success(request, f"{source.title}: saved.")
    if refusal is not None:
        said = NOT_TRIED.format(source.title, refusal.message)
        messages.warning(request, said, extra_tags=refusal.code)
    if was_open_to_all and provider != OPEN_LINK and not is_open_to_all(study):
        messages.success(request, OPEN_LINK_CLOSED, extra_tags="open_link_closed")
    return None


def _tried(source: Provider, token: str) -> DomainError | None:
    """What the platform says against a token that was typed, or that it could not be asked."""
    try:
        if token:
            source.try_token(token)
    except DomainError as refusal:
        return refusal
    return None


TOKEN_REFUSED = {"platform_token_refused", "platform_forbidden", "bad_token"}
NOT_TRIED = "{}: the token is saved, and could not be tried yet. {}"
OPEN_LINK_CLOSED = (
    "With this way ready, the open link leads in no more. Set it up as well if it is to stay open."
)


@require_POST
@researchers_only
def turn(request: HttpRequest, study_id: str, provider: str, verb: str) -> HttpResponse:
    """Close a way in, open it again, remove it, or give it another signing key."""
    study = study_for(request.user, study_id)
    if verb not in TURNS:
        raise Http404("No such thing can be done to a way in.")
    source = _provider(provider)
    refused = None
    if "has_settings" in request.POST and verb != "remove":
        # A door is closed whatever else was typed; that stays on the page.
        refused = _saved(request, study, source)
    try:
        sentence = TURNS[verb](recruitment_for(study, provider))
    except DomainError as refusal:
        # Of two presses the second finds it gone.
        gone = f"{source.title} is no way into this study any more."
        said = gone if refusal.code == "no_such_entry" else refusal.message
        messages.error(request, said, extra_tags=refusal.code)
    else:
        messages.success(request, f"{source.title}: {sentence}")
    if refused is not None:
        form = source.settings_form(request.POST, auto_id=f"{source.name}_%s")
        return _page(request, study, refused={provider: form}, status=400)
    return redirect("recruitment:recruitment", study_id)


def _close(way: Recruitment) -> str:
    close_way_in(recruitment=way)
    return "closed. Nobody new enters by it; who is at work goes on."


def _reopen(way: Recruitment) -> str:
    reopen_way_in(recruitment=way)
    return "no longer closed."


def _remove(way: Recruitment) -> str:
    remove_way_in(recruitment=way)
    return "removed, with its settings."


def _renew_key(way: Recruitment) -> str:
    renew_signing_key(recruitment=way)
    return "a new signing key was made. Links that were signed with the former lead in no more."


TURNS: dict[str, Callable[[Recruitment], str]] = {
    "close": _close,
    "reopen": _reopen,
    "remove": _remove,
    "new-key": _renew_key,
}


@require_POST
@researchers_only
def ask(request: HttpRequest, study_id: str, provider: str, verb: str) -> HttpResponse:
    study = study_for(request.user, study_id)
    way = Recruitment.objects.filter(study=study, provider=provider).first()
    if way is None:
        raise Http404("No such way in.")
    if "has_settings" in request.POST:  # the button was in the form: what was typed comes first
        refused = _saved(request, study, _provider(provider))
        if refused is not None:
            return refused
        way.refresh_from_db()
    arguments = {
        "places": request.POST.get("places", ""),
        "entry_url": entry_url(request, way),
        "events_url": _absolute(request, "recruitment:event", way),
    }
    try:
        asked = _question(way, verb, arguments["places"])
        if asked is not None and not confirming.is_confirmed(request, [asked]):
            back = reverse("recruitment:recruitment", args=[study_id])
            carry = [("places", arguments["places"])]
            return confirming.ask(request, [asked], back=back, carry=carry)
        ask_for(recruitment=way, verb=verb, **arguments)
        if verb in LOGGED:
            record_event(
                study=study,
                verb=LOGGED[verb],
                by=cast(User, request.user),
                details={"way": way.provider, "asked": verb, "places": arguments["places"]},
            )
    except DomainError as refusal:
        messages.error(request, refusal.message, extra_tags=refusal.code)
    return redirect("recruitment:recruitment", study_id)


LOGGED = {
    "publish": StudyEvent.Verb.PUBLISH,
    "start": StudyEvent.Verb.PUBLISH,
    "approve-all": StudyEvent.Verb.PAY,
}


def _question(way: Recruitment, verb: str, places: str) -> confirming.Question | None:
    """What is asked before the platform is: what costs money, or ends the study there."""
    if verb != "publish":
        ask_about = {"start": starting, "stop": stopping, "approve-all": paying_all}.get(verb)
        return ask_about(way) if ask_about else None
    if not places.isdecimal() or not 0 < int(places) <= MOST_PLACES:
        sentence = f"Say how many people are wanted: a number from 1 to {MOST_PLACES}."
        raise DomainError("no_places", sentence, status=400)
    return publishing(way, int(places))


MOST_PLACES = 100_000


def _page(
    request: HttpRequest,
    study: Study,
    *,
    refused: dict[str, Any] | None = None,
    tokens_refused: dict[str, DomainError] | None = None,
    status: int = 200,
) -> HttpResponse:
    found = ways_in(study)
    context = {
        "study": study,
        "ways": [
            _shown(request, study, way, (refused or {}).get(way.provider.name))
            | {"token_refused": (tokens_refused or {}).get(way.provider.name)}
            for way in found
        ],
        "open_ways": [way for way in found if way.is_open],
        "is_waiting": any(way.recruitment and way.recruitment.pending for way in found),
    }
    return render(request, "recruitment/channels.html", context, status=status)


def _shown(request: HttpRequest, study: Study, found: WayIn, refused: Any) -> dict[str, Any]:
    source = found.provider
    way = found.recruitment or Recruitment(study=study, provider=source.name)
    link = entry_url(request, way) if found.is_open else ""
    initial = way.settings or None
    return {
        "provider": source,
        "recruitment": found.recruitment,
        "is_open": found.is_open,
        "state": found.state.value,
        "sentence": found.sentence,
        "why_kept": found.why_kept,
        "form": refused or source.settings_form(auto_id=f"{source.name}_%s", initial=initial),
        "link": link if source.has_one_link else "",
        "has_token": bool(way.secret),
        "signing_key": source.shown_secret(way),
        "places": request.POST.get("places", "")
        if refused
        else request.GET.get(f"places-{source.name}", ""),
        "can_publish": type(source).publish is not Provider.publish,
        "can_listen": type(source).listen is not Provider.listen,
        "invitations": [] if source.has_one_link or not link else _invitations(way, link),
    }


def _invitations(way: Recruitment, link: str) -> list[tuple[str, str]]:
    return [
        (person, f"{link}?{urlencode({'invitation': token})}") for person, token in invitations(way)
    ]


def entry_url(request: HttpRequest, way: Recruitment) -> str:
    """What to give to the platform, or to people."""
    if way.provider == OPEN_LINK:
        return public_url(request, reverse("recruitment:welcome", args=[way.study_id]))
    parameters = provider_named(way.provider).entry_parameters
    url = _absolute(request, "recruitment:arrive", way)
    return f"{url}?{parameters}" if parameters else url


def _absolute(request: HttpRequest, name: str, way: Recruitment) -> str:
    return public_url(request, reverse(name, args=[way.study_id, way.provider]))


def _provider(name: str) -> Provider:
    try:
        return provider_named(name)
    except DomainError as refusal:
        raise Http404(refusal.message) from refusal


def _plain(value: Any) -> Any:
    return str(value) if isinstance(value, Decimal) else value
