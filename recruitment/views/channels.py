"""The researcher's page of channels: who can enter now, and what each channel still needs."""

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

from django.contrib import messages
from django.db import transaction
from django.forms import Form
from django.http import Http404, HttpRequest, HttpResponse
from django.shortcuts import redirect, render
from django.urls import reverse
from django.utils.http import urlencode
from django.views.decorators.http import require_POST

from recruitment.admission import OPEN_LINK, Maximum, is_open_to_all
from recruitment.confirmations import paying_all, publishing, starting, stopping
from recruitment.costs import channel_cost
from recruitment.launch.channels import channel_needs, is_pay_unclaimed
from recruitment.messages import (
    CHANNEL_GONE,
    NOT_TESTED,
    OPEN_BY_DEFAULT,
    OPEN_LINK_NOW_CLOSED,
    PENDING,
)
from recruitment.models import Channel
from recruitment.pay import Cost
from recruitment.platforms import Platform, get_platform
from recruitment.platforms.invitation import invitations
from recruitment.services.channels import (
    ChannelState,
    ChannelStatus,
    channel_for,
    channel_statuses,
    close_channel,
    remove_channel,
    renew_signing_key,
    reopen_channel,
    store_channel,
    try_token,
)
from recruitment.services.eligibility import eligible_people, filters_in_words
from recruitment.services.platform_actions import PAYS, act_on_channel, participants_wanted
from recruitment.step_pages import cost_context
from studies import confirming
from studies.access import (
    Right,
    changes_study,
    held_right,
    researchers_only,
    shows_study,
    study_for,
    user_of,
)
from studies.design.opened_forms import take_turn
from studies.design.steps import place_of, study_frame
from studies.models import Study
from studies.public_address import public_url
from studies.refusals import as_not_found, told
from tiebreak.errors import DomainError


@shows_study
def channel_list(request: HttpRequest, study: Study) -> HttpResponse:
    return _page(request, study)


@changes_study
def save(request: HttpRequest, study: Study, provider: str) -> HttpResponse:
    """Set up a channel or change its settings. Its token can be replaced but never read."""
    platform = _platform(provider)
    refused = _save_settings(request, study, platform)
    if refused is not None:
        return refused
    if "_next" in request.POST:
        frame = study_frame(study, request.user, place_of("recruit"))
        return redirect((frame.next_step or frame.steps[-1]).url)
    participants = request.POST.get("participants", "")
    query = f"?{urlencode({_participants_key(platform): participants})}" if participants else ""
    return redirect(reverse("recruitment:channels", args=[study.pk]) + query)


def _save_settings(request: HttpRequest, study: Study, platform: Platform) -> HttpResponse | None:
    """Store the posted settings; return the page with the typed values if they are refused."""
    was_open_to_all = is_open_to_all(study)
    token = request.POST.get("token", "").strip()
    try:
        refusal = try_token(platform=platform, token=token)
        form = _store(request, study, platform, token)
        if not form.is_valid():
            return _page(request, study, refused={platform.name: form}, status=400)
    except DomainError as refused:
        form = _posted(request, study, platform)
        return _page(
            request,
            study,
            refused={platform.name: form},
            tokens_refused={platform.name: refused},
            status=400,
        )
    messages.success(request, f"{platform.title}: saved.")
    if refusal is not None:
        sentence = NOT_TESTED.format(platform.title, refusal.message)
        messages.warning(request, sentence, extra_tags=refusal.code)
    if was_open_to_all and platform.name != OPEN_LINK and not is_open_to_all(study):
        messages.success(request, OPEN_LINK_NOW_CLOSED, extra_tags="open_link_closed")
    return None


@transaction.atomic
def _store(request: HttpRequest, study: Study, platform: Platform, token: str) -> Form:
    take_turn(request, study.pk)
    form = _posted(request, study, platform)
    if form.is_valid():
        store_channel(study=study, platform=platform, settings=form.cleaned_data, token=token)
    return form


def _posted(request: HttpRequest, study: Study, platform: Platform) -> Form:
    stored = Channel.objects.filter(study=study, provider=platform.name).first()
    return _form(stored, platform, request.POST)


@changes_study
def change_state(request: HttpRequest, study: Study, provider: str, action: str) -> HttpResponse:
    """Close, reopen or remove a channel, or replace its signing key."""
    if action not in STATE_CHANGES:
        raise Http404("There is no such action for a channel.")
    platform = _platform(provider)
    refused = None
    if "has_settings" in request.POST and action != "remove":
        # Refused settings must not keep a channel open; they stay on the page.
        refused = _save_settings(request, study, platform)
    try:
        do, sentence = STATE_CHANGES[action]
        do(channel=channel_for(study, provider))
    except DomainError as refusal:
        # Double submit: the second POST finds the channel already deleted.
        is_gone = refusal.code == "no_such_channel"
        sentence = CHANNEL_GONE.format(platform.title) if is_gone else refusal.message
        messages.error(request, sentence, extra_tags=refusal.code)
    else:
        messages.success(request, f"{platform.title}: {sentence}")
    if refused is not None:
        form = _posted(request, study, platform)
        return _page(request, study, refused={provider: form}, status=400)
    return redirect("recruitment:channels", study.pk)


# What is done to the channel, and what the page then says.
STATE_CHANGES: dict[str, tuple[Callable[..., object], str]] = {
    "close": (
        close_channel,
        "No new participants can enter. Participants who already entered can continue.",
    ),
    "reopen": (reopen_channel, "New participants are allowed again."),
    "remove": (remove_channel, "The channel and its settings were removed."),
    "new-key": (
        renew_signing_key,
        "A new signing key was created. Links that were signed with the old key no longer work.",
    ),
}


@require_POST
@researchers_only
def act(request: HttpRequest, study_id: str, provider: str, action: str) -> HttpResponse:
    """Save the form that the button belongs to, ask for confirmation, and enqueue the action."""
    study = study_for(request.user, study_id, Right.OWN if action in PAYS else Right.CHANGE)
    channel = Channel.objects.filter(study=study, provider=provider).first()
    if channel is None:
        raise Http404("The study has no such channel.")
    if "has_settings" in request.POST:
        refused = _save_settings(request, study, _platform(provider))
        if refused is not None:
            return refused
        channel.refresh_from_db()
    participants = request.POST.get("participants", "")
    with told(request):
        question = _question(channel, action, participants)
        if question is not None and not confirming.is_confirmed(request, question):
            back = reverse("recruitment:channels", args=[study_id])
            return confirming.ask(
                request, question, back=back, carry=[("participants", participants)]
            )
        act_on_channel(
            channel=channel,
            action=action,
            participants=participants,
            email=request.POST.get("email", ""),
            addresses=addresses_of(request, channel),
            by=user_of(request),
        )
    return redirect("recruitment:channels", study_id)


def _question(channel: Channel, action: str, participants: str) -> confirming.Question | None:
    """Return the confirmation of an action that costs money or stops the study, otherwise None."""
    if action == "publish":
        return publishing(channel, participants_wanted(participants))
    questions = {"start": starting, "stop": stopping, "approve-all": paying_all}
    return questions[action](channel) if action in questions else None


def _page(
    request: HttpRequest,
    study: Study,
    *,
    refused: dict[str, Form] | None = None,
    tokens_refused: dict[str, DomainError] | None = None,
    status: int = 200,
) -> HttpResponse:
    cost = cost_context(study).get("cost")
    statuses = channel_statuses(study, cost.maximum if cost else None)
    people = cost.people if cost else None
    can_change = held_right(request.user, study) in {Right.CHANGE, Right.OWN}
    is_first = not any(status.channel for status in statuses)
    unclaimed = any(one.channel is None and is_pay_unclaimed(study, one) for one in statuses)
    context = {
        "study": study,
        "here": "recruit",
        "channels": [
            _status_context(request, study, channel_status, (refused or {}).get(name))
            | (_secrets(request, study, channel_status) if can_change else {})
            | {"token_refused": (tokens_refused or {}).get(name)}
            | {"cost": _cost(channel_status.channel, people)}
            for channel_status in statuses
            for name in [channel_status.platform.name]
        ],
        "open_channels": [status for status in statuses if status.is_open],
        "full_channels": [s.platform.title for s in statuses if s.state == ChannelState.FULL],
        "by_default": study.status == Study.Status.DRAFT and is_first,
        "keep_open": OPEN_BY_DEFAULT,
        "drafts": [status.platform.title for status in statuses if status.is_draft_there],
        "people_needed": people,
        # Until people know how they get their pay, that is what the page is for, and saving it goes on.
        "can_save": unclaimed,
        "goes_on_by_saving": unclaimed and study.status == Study.Status.DRAFT,
        "is_waiting": any(status.channel and status.channel.pending for status in statuses),
    }
    return render(request, "recruitment/channels.html", context, status=status)


@dataclass(frozen=True)
class ChannelLink:
    """How many people came by a channel, how many may, and where; `url` is "" if nobody can enter."""

    name: str
    title: str
    state: str
    people: int
    most_people: int | None
    url: str


def channel_links(request: HttpRequest, study: Study, most: Maximum) -> list[ChannelLink]:
    """Return the channels that a study uses."""
    limits = {one.channel.provider: one for one in most.channels}
    return [
        ChannelLink(
            platform.name,
            platform.title,
            status.state.value,
            limits[platform.name].people,
            limits[platform.name].most_people,
            entry_url(request, limits[platform.name].channel) if is_shown else "",
        )
        for status in channel_statuses(study, most)
        for platform in [status.platform]
        if platform.name in limits
        for is_shown in [status.is_open and platform.has_one_link]
    ]


def _cost(channel: Channel | None, people: int | None) -> Cost | None:
    """Return what the people that the plan needs cost on this platform."""
    if channel is None or not people or not get_platform(channel.provider).supports("publish"):
        return None
    return channel_cost(channel, people)


def _status_context(
    request: HttpRequest, study: Study, status: ChannelStatus, refused: Form | None
) -> dict[str, Any]:
    platform = status.platform
    channel = status.channel or Channel(study=study, provider=platform.name)
    link = entry_url(request, channel) if status.is_open else ""
    typed = request.POST.get("participants", "")
    needs = list(channel_needs(study, status))
    return {
        "platform": platform,
        "channel": status.channel,
        "is_open": status.is_open,
        "is_used": status.is_used,
        "state": status.state.value,
        "sentence": status.sentence,
        "needs": needs,
        "is_in_needs": any(need.sentence == status.sentence for need in needs),
        "why_kept": status.why_kept,
        "pay_unclaimed": is_pay_unclaimed(study, status),
        "pending": PENDING.get(channel.pending, ""),
        "form": refused or _form(status.channel, platform),
        "link": link if platform.has_one_link else "",
        "has_token": bool(channel.secret),
        "participants": typed if refused else request.GET.get(_participants_key(platform), ""),
        "can_publish": platform.supports("publish"),
        "can_subscribe": platform.supports("subscribe_webhook"),
        "can_rehearse": platform.supports("rehearse") and channel.is_unpublished,
        "rehearsal": platform.rehearsal(channel),
        **_choice_of_people(channel),
    }


def _choice_of_people(channel: Channel) -> dict[str, Any]:
    """Return who may take part, as far as the platform lets a study choose."""
    platform = get_platform(channel.provider)
    if not platform.supports("offered_filters") or not channel.pk:
        return {}
    return {
        "can_choose": True,
        "filters": filters_in_words(channel),
        "eligible": eligible_people(channel),
    }


def _secrets(request: HttpRequest, study: Study, status: ChannelStatus) -> dict[str, Any]:
    """Return what lets people enter as someone else, which is only for those who may recruit."""
    platform = status.platform
    channel = status.channel or Channel(study=study, provider=platform.name)
    has_links = status.is_open and not platform.has_one_link
    return {
        "signing_key": platform.shown_secret(channel),
        "invitations": _invitations(channel, entry_url(request, channel)) if has_links else [],
    }


def _form(channel: Channel | None, platform: Platform, data: Any = None) -> Form:
    initial = _stored(platform, channel) if channel is not None else None
    return platform.settings_form(data, auto_id=f"{platform.name}_%s", initial=initial)


def _stored(platform: Platform, channel: Channel) -> dict[str, Any] | None:
    """Return the stored settings; what was left empty stays empty, whatever the form proposes."""
    return (
        {**dict.fromkeys(platform.settings_form.base_fields), **channel.settings}
        if channel.settings
        else None
    )


def _participants_key(platform: Platform) -> str:
    """Return the query parameter that keeps the typed number of participants over a redirect."""
    return f"participants-{platform.name}"


def _invitations(channel: Channel, link: str) -> list[tuple[str, str]]:
    return [
        (person, f"{link}?{urlencode({'invitation': token})}")
        for person, token in invitations(channel)
    ]


def addresses_of(request: HttpRequest, channel: Channel) -> dict[str, str]:
    """Return the addresses on this server that a platform has to know."""
    events_url = _absolute(request, "recruitment:event", channel)
    return {"entry_url": entry_url(request, channel), "events_url": events_url}


def entry_url(request: HttpRequest, channel: Channel) -> str:
    """Return the link that the researcher gives to the platform or to participants."""
    if channel.provider == OPEN_LINK:
        return public_url(request, reverse("recruitment:welcome", args=[channel.study_id]))
    parameters = get_platform(channel.provider).entry_parameters
    url = _absolute(request, "recruitment:arrive", channel)
    return f"{url}?{parameters}" if parameters else url


def _absolute(request: HttpRequest, name: str, channel: Channel) -> str:
    return public_url(request, reverse(name, args=[channel.study_id, channel.provider]))


def _platform(name: str) -> Platform:
    with as_not_found():
        return get_platform(name)
