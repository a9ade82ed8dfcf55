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
from recruitment.models import Channel
from recruitment.platforms import Platform, get_platform
from recruitment.platforms.invitation import invitations
from recruitment.public_address import public_url
from recruitment.services.channels import (
    OPEN_LINK,
    ChannelStatus,
    channel_for,
    channel_statuses,
    close_channel,
    is_open_to_all,
    remove_channel,
    renew_signing_key,
    reopen_channel,
    save_channel,
)
from recruitment.services.platform_actions import enqueue_action
from studies import confirming
from studies.access import researchers_only, study_for
from studies.models import Study, StudyEvent
from studies.services import record_event
from tiebreak.errors import DomainError


@require_safe
@researchers_only
def channel_list(request: HttpRequest, study_id: str) -> HttpResponse:
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
    return redirect(reverse("recruitment:channels", args=[study_id]) + query)


def _saved(request: HttpRequest, study: Study, source: Platform) -> HttpResponse | None:
    """Keep the settings that were sent; the page once more, as typed, where they are refused."""
    provider = source.name
    form = source.settings_form(request.POST, auto_id=f"{source.name}_%s")
    if not form.is_valid():
        return _page(request, study, refused={provider: form}, status=400)
    channel = Channel.objects.filter(study=study, provider=provider).first()
    channel = channel or Channel(study=study, provider=provider)
    stated = {name: _plain(value) for name, value in form.cleaned_data.items()}
    channel.settings = {**channel.settings, **stated}
    token = request.POST.get("token", "").strip() if source.has_token else ""
    refusal = _tried(source, token)
    if refusal is not None and refusal.code in TOKEN_REFUSED:
        told = {provider: refusal}
        return _page(request, study, refused={provider: form}, tokens_refused=told, status=400)
    if not channel.secret and not token:
        token = source.own_secret(channel)
    was_open_to_all = is_open_to_all(study)
    save_channel(channel=channel, token=token)
    messages.success(request, f"{source.title}: saved.")
    if refusal is not None:
        said = NOT_TRIED.format(source.title, refusal.message)
        messages.warning(request, said, extra_tags=refusal.code)
    if was_open_to_all and provider != OPEN_LINK and not is_open_to_all(study):
        messages.success(request, OPEN_LINK_CLOSED, extra_tags="open_link_closed")
    return None


def _tried(source: Platform, token: str) -> DomainError | None:
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
def change_state(request: HttpRequest, study_id: str, provider: str, verb: str) -> HttpResponse:
    """Close a way in, open it again, remove it, or give it another signing key."""
    study = study_for(request.user, study_id)
    if verb not in STATE_CHANGES:
        raise Http404("No such thing can be done to a way in.")
    source = _provider(provider)
    refused = None
    if "has_settings" in request.POST and verb != "remove":
        # A door is closed whatever else was typed; that stays on the page.
        refused = _saved(request, study, source)
    try:
        sentence = STATE_CHANGES[verb](channel_for(study, provider))
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
    return redirect("recruitment:channels", study_id)


def _close(channel: Channel) -> str:
    close_channel(channel=channel)
    return "closed. Nobody new enters by it; who is at work goes on."


def _reopen(channel: Channel) -> str:
    reopen_channel(channel=channel)
    return "no longer closed."


def _remove(channel: Channel) -> str:
    remove_channel(channel=channel)
    return "removed, with its settings."


def _renew_key(channel: Channel) -> str:
    renew_signing_key(channel=channel)
    return "a new signing key was made. Links that were signed with the former lead in no more."


STATE_CHANGES: dict[str, Callable[[Channel], str]] = {
    "close": _close,
    "reopen": _reopen,
    "remove": _remove,
    "new-key": _renew_key,
}


@require_POST
@researchers_only
def act(request: HttpRequest, study_id: str, provider: str, verb: str) -> HttpResponse:
    study = study_for(request.user, study_id)
    channel = Channel.objects.filter(study=study, provider=provider).first()
    if channel is None:
        raise Http404("No such way in.")
    if "has_settings" in request.POST:  # the button was in the form: what was typed comes first
        refused = _saved(request, study, _provider(provider))
        if refused is not None:
            return refused
        channel.refresh_from_db()
    arguments = {
        "places": request.POST.get("places", ""),
        "entry_url": entry_url(request, channel),
        "events_url": _absolute(request, "recruitment:event", channel),
    }
    try:
        asked = _question(channel, verb, arguments["places"])
        if asked is not None and not confirming.is_confirmed(request, [asked]):
            back = reverse("recruitment:channels", args=[study_id])
            carry = [("places", arguments["places"])]
            return confirming.ask(request, [asked], back=back, carry=carry)
        enqueue_action(channel=channel, verb=verb, **arguments)
        if verb in LOGGED:
            record_event(
                study=study,
                verb=LOGGED[verb],
                by=cast(User, request.user),
                details={"channel": channel.provider, "asked": verb, "places": arguments["places"]},
            )
    except DomainError as refusal:
        messages.error(request, refusal.message, extra_tags=refusal.code)
    return redirect("recruitment:channels", study_id)


LOGGED = {
    "publish": StudyEvent.Verb.PUBLISH,
    "start": StudyEvent.Verb.PUBLISH,
    "approve-all": StudyEvent.Verb.PAY,
}


def _question(channel: Channel, verb: str, places: str) -> confirming.Question | None:
    """What is asked before the platform is: what costs money, or ends the study there."""
    if verb != "publish":
        ask_about = {"start": starting, "stop": stopping, "approve-all": paying_all}.get(verb)
        return ask_about(channel) if ask_about else None
    if not places.isdecimal() or not 0 < int(places) <= MAX_PLACES:
        sentence = f"Say how many people are wanted: a number from 1 to {MAX_PLACES}."
        raise DomainError("no_places", sentence, status=400)
    return publishing(channel, int(places))


MAX_PLACES = 100_000


def _page(
    request: HttpRequest,
    study: Study,
    *,
    refused: dict[str, Any] | None = None,
    tokens_refused: dict[str, DomainError] | None = None,
    status: int = 200,
) -> HttpResponse:
    found = channel_statuses(study)
    context = {
        "study": study,
        "channels": [
            _shown(request, study, channel, (refused or {}).get(channel.provider.name))
            | {"token_refused": (tokens_refused or {}).get(channel.provider.name)}
            for channel in found
        ],
        "open_ways": [channel for channel in found if channel.is_open],
        "is_waiting": any(channel.channel and channel.channel.pending for channel in found),
    }
    return render(request, "recruitment/channels.html", context, status=status)


def _shown(
    request: HttpRequest, study: Study, found: ChannelStatus, refused: Any
) -> dict[str, Any]:
    source = found.provider
    channel = found.channel or Channel(study=study, provider=source.name)
    link = entry_url(request, channel) if found.is_open else ""
    initial = channel.settings or None
    return {
        "provider": source,
        "channel": found.channel,
        "is_open": found.is_open,
        "state": found.state.value,
        "sentence": found.sentence,
        "why_kept": found.why_kept,
        "form": refused or source.settings_form(auto_id=f"{source.name}_%s", initial=initial),
        "link": link if source.has_one_link else "",
        "has_token": bool(channel.secret),
        "signing_key": source.shown_secret(channel),
        "places": request.POST.get("places", "")
        if refused
        else request.GET.get(f"places-{source.name}", ""),
        "can_publish": type(source).publish is not Platform.publish,
        "can_listen": type(source).subscribe_webhook is not Platform.subscribe_webhook,
        "invitations": [] if source.has_one_link or not link else _invitations(channel, link),
    }


def _invitations(channel: Channel, link: str) -> list[tuple[str, str]]:
    return [
        (person, f"{link}?{urlencode({'invitation': token})}")
        for person, token in invitations(channel)
    ]


def entry_url(request: HttpRequest, channel: Channel) -> str:
    """What to give to the platform, or to people."""
    if channel.provider == OPEN_LINK:
        return public_url(request, reverse("recruitment:welcome", args=[channel.study_id]))
    parameters = get_platform(channel.provider).entry_parameters
    url = _absolute(request, "recruitment:arrive", channel)
    return f"{url}?{parameters}" if parameters else url


def _absolute(request: HttpRequest, name: str, channel: Channel) -> str:
    return public_url(request, reverse(name, args=[channel.study_id, channel.provider]))


def _provider(name: str) -> Platform:
    try:
        return get_platform(name)
    except DomainError as refusal:
        raise Http404(refusal.message) from refusal


def _plain(value: Any) -> Any:
    return str(value) if isinstance(value, Decimal) else value
