"""The researcher's page that chooses who may take part, by the filters that the platform offers."""

import json
from typing import Any

from django.contrib import messages
from django.db import transaction
from django.http import Http404, HttpRequest, HttpResponse
from django.shortcuts import redirect, render
from django.urls import reverse
from django.utils.http import urlencode

from recruitment.messages import PENDING
from recruitment.models import Channel
from recruitment.platforms import get_platform
from recruitment.platforms.base import OfferedFilter
from recruitment.services.eligibility import (
    Chosen,
    choose_filters,
    chosen_filters,
    eligible_people,
    filters_in_words,
    offered_filters,
)
from recruitment.services.platform_actions import enqueue_action
from studies.access import of_study
from studies.design.opened_forms import check_opened, digest_of, take_turn
from studies.models import Study
from tiebreak.errors import DomainError


@of_study()
def eligibility(request: HttpRequest, study: Study, provider: str) -> HttpResponse:
    """Show the filters, or save them and have the platform count who passes them."""
    channel = Channel.objects.filter(study=study, provider=provider).first()
    if channel is None or not get_platform(provider).supports("offered_filters"):
        raise Http404("The study has no channel that offers filters.")
    if request.method != "POST":
        return _page(request, channel, chosen_filters(channel))
    offered = {one.id: one for one in offered_filters(channel)}
    shown = [offered[name] for name in request.POST.getlist("filter") if name in offered]
    # Without those in which nothing was chosen.
    typed = [chosen for one in shown if (chosen := _typed_filter(request, one))]
    try:
        _save(request, channel, typed)
        enqueue_action(channel=channel, action="check-eligibility")
    except DomainError as refusal:
        if refusal.code != "action_pending":
            return _page(request, channel, typed, refusal)
        messages.error(request, refusal.message, extra_tags=refusal.code)
    added = request.POST.get("add", "")
    query = f"?{urlencode({'add': added})}#filter-{added}" if added else ""
    return redirect(reverse("recruitment:eligibility", args=[study.pk, provider]) + query)


@transaction.atomic
def _save(request: HttpRequest, channel: Channel, typed: list[Chosen]) -> None:
    take_turn(request, channel.study_id)
    channel.refresh_from_db()
    stored = json.dumps(chosen_filters(channel))
    words = "\n".join(f"{title}: {told}" for title, told in filters_in_words(channel))
    if "filter" in request.POST or "load" not in request.POST:
        check_opened(request, stored=stored, typed=json.dumps(typed), words=words)
        choose_filters(channel=channel, chosen=typed)


def _typed_filter(request: HttpRequest, one: OfferedFilter) -> Chosen | None:
    if one.is_range:
        ends = {end: request.POST.get(f"{end}:{one.id}", "") for end in ("lower", "upper")}
        return {"filter_id": one.id, "selected_range": ends} if any(ends.values()) else None
    values = request.POST.getlist(f"values:{one.id}")
    return {"filter_id": one.id, "selected_values": values} if values else None


def _page(
    request: HttpRequest,
    channel: Channel,
    chosen: list[Chosen],
    refusal: DomainError | None = None,
) -> HttpResponse:
    offered = {one.id: one for one in offered_filters(channel)}
    by_id = {one["filter_id"]: one for one in chosen if one["filter_id"] in offered}
    names = dict.fromkeys((*by_id, request.GET.get("add", "")))
    shown = [_shown(offered[name], by_id.get(name, {})) for name in names if name in offered]
    platform = get_platform(channel.provider)
    rest = [one for one in offered.values() if one.id not in names]
    context = {
        "study": channel.study,
        "here": "recruit",
        "platform": platform,
        "channel": channel,
        "shown": shown,
        "usual": [one for one in rest if one.id in platform.usual_filters],
        "others": [one for one in rest if one.id not in platform.usual_filters],
        "is_loaded": bool(offered),
        "people": eligible_people(channel),
        "pending": PENDING.get(channel.pending, ""),
        "is_waiting": bool(channel.pending),
        "refusal": refusal,
        "opened": digest_of(json.dumps(chosen_filters(channel))),
    }
    status = 200 if refusal is None else refusal.status
    return render(request, "recruitment/eligibility.html", context, status=status)


def _shown(one: OfferedFilter, chosen: Chosen) -> dict[str, Any]:
    ends = chosen.get("selected_range", {})
    values = set(chosen.get("selected_values", ()))
    choices = [(key, words, key in values) for key, words in one.choices.items()]
    return {
        "filter": one,
        "choices": sorted(choices, key=lambda choice: not choice[2]),
        "lower": ends.get("lower", ""),
        "upper": ends.get("upper", ""),
    }
