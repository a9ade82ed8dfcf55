"""The welcome page with consent and privacy notice. Nothing is stored before someone agrees."""

import hashlib
from typing import Any

from django.conf import settings
from django.http import HttpRequest, HttpResponse
from django.shortcuts import redirect, render
from django.urls import reverse
from django.views.decorators.http import require_http_methods

from annotation.messages import CLOSED_TO_NEWCOMERS
from annotation.models import Participation
from annotation.services.screening import check_screening_can_be_passed, screening_of
from annotation.views.participation_cookie import (
    SeeOther,
    annotator_page,
    current_participation,
    remember,
    study_at,
)
from jobs.clock import database_now
from recruitment.admission import check_room, collection_of, newcomers_pay
from recruitment.forms import ConsentForm
from recruitment.messages import CHOOSE, CONSENT_CHANGED, DRY_RUN_ONLY
from recruitment.models import Channel
from recruitment.platforms import Ending, PlatformEntry, Reentry, get_platform
from recruitment.platforms.open_link import new_entry_token
from recruitment.platforms.pay_claims import contact_of
from recruitment.services.entry import Entrant, give_consent
from recruitment.services.platform_sync import enqueue_confirmation
from recruitment.services.reentry import Browser, is_allowed_reentry
from recruitment.simulation.raters import is_simulated
from recruitment.terms import asked_of_one, can_fail, checks_can_end_work, pass_mark_of
from recruitment.views.arrival import address_of, browser_of, entry_or_open_link
from studies.markdown import render_markdown
from studies.models import Study
from tiebreak.errors import DomainError


@require_http_methods(["GET", "HEAD", "POST"])
@annotator_page
def welcome(request: HttpRequest, study_id: str) -> HttpResponse:
    study = study_at(study_id)
    participation = current_participation(request, study_id)
    if participation is not None:
        return _resumed(request, participation)
    channel, entry = entry_or_open_link(request, study)
    if study.status != Study.Status.OPEN:
        raise DomainError(f"{study.status}_to_newcomers", CLOSED_TO_NEWCOMERS[study.status])
    if study.dry_run_of_id is not None and not is_simulated(request, study.pk):
        raise DomainError("dry_run", DRY_RUN_ONLY)
    is_allowed_reentry(channel=channel, entry=entry, browser=browser_of(request, study_id))
    check_screening_can_be_passed(study)
    if not is_simulated(request, study.pk):
        check_room(channel, database_now())
    if request.method == "POST":
        return _decide(request, study, channel, entry)
    return _welcome(request, study, channel)


def _resumed(request: HttpRequest, participation: Participation) -> HttpResponse:
    """Continue an existing participation, as soon as the platform has confirmed it."""
    is_active = participation.status == Participation.Status.ACTIVE
    if not is_active or participation.confirmed_at is not None:
        return redirect("annotation:rate", participation.study_id)
    enqueue_confirmation(participation=participation)
    return render(request, "recruitment/waiting.html", {"study": participation.study})


def _decide(
    request: HttpRequest, study: Study, channel: Channel, entry: PlatformEntry
) -> HttpResponse:
    form = ConsentForm(request.POST)
    if not form.is_valid():
        refusal = DomainError("no_choice", CHOOSE, status=400)
        return _welcome(request, study, channel, refusal=refusal)
    if not form.agrees:
        return _declined(request, study, channel)
    agreed = form.cleaned_data
    if agreed["version"] != _version_number(study) or agreed["terms"] not in {"", _terms(channel)}:
        refusal = DomainError("consent_changed", CONSENT_CHANGED)
        return _welcome(request, study, channel, refusal=refusal)
    participation = give_consent(study=study, entrant=_entrant(request, channel, entry))
    response = SeeOther(reverse("annotation:rate", args=[study.pk]))
    if not hasattr(request, "arrival"):
        remember(response, participation)
    return response


def _entrant(request: HttpRequest, channel: Channel, entry: PlatformEntry) -> Entrant:
    platform = get_platform(channel.provider)
    simulated = is_simulated(request, channel.study_id)
    is_verified = platform.confirms(channel) or entry.is_confirmed or simulated
    is_bound = platform.reentry(channel) != Reentry.FREE
    return Entrant(
        provider=channel.provider,
        external_id=entry.external_id,
        submission_id=entry.submission_id,
        channel=channel if channel.pk else None,
        is_confirmed=entry.is_confirmed or not platform.confirms(channel),
        address="" if is_verified else address_of(request),
        return_params=entry.extra,
        paid_per=platform.paid_per,
        simulated=simulated,
        browser=browser_of(request, channel.study_id) if is_bound else Browser(),
    )


def _declined(request: HttpRequest, study: Study, channel: Channel) -> HttpResponse:
    platform = get_platform(channel.provider)
    context = {
        "study": study,
        "return_instructions": platform.return_instructions(channel, None, Ending.NO_CONSENT),
        "privacy_notice": platform.privacy_notice(channel),
    }
    return render(request, "recruitment/declined.html", context)


def _welcome(
    request: HttpRequest,
    study: Study,
    channel: Channel,
    *,
    refusal: DomainError | None = None,
) -> HttpResponse:
    context = {
        "study": study,
        "consent": render_markdown(study.consent),
        "criteria": study.criteria.all(),
        **about_channel(channel),
        "version": _version_number(study),
        "terms": _terms(channel),
        "refusal": refusal,
        "entry": new_entry_token(),
    }
    status = refusal.status if refusal else 200
    return render(request, "recruitment/welcome.html", context, status=status)


def about_channel(channel: Channel) -> dict[str, Any]:
    """Return the part of the welcome page that depends on how someone came."""
    platform, study = get_platform(channel.provider), channel.study
    collection, screening = collection_of(study), screening_of(study)
    return {
        "privacy_notice": platform.privacy_notice(channel),
        "pay_claim": platform.claim_at_the_start(channel),
        # Where the consent names an address, that of the pay is for the pay alone.
        "contact": "" if "@" in study.consent else contact_of(channel),
        "ids_kept_days": settings.TIEBREAK_KEEP.get("ids"),
        "pay": newcomers_pay(channel, collection.hits),
        "promised": study.promised_hourly_rate if study.reward else None,
        "asked": asked_of_one(study, collection.hits, screening),
        "can_fail": can_fail(study, screening),
        "needed": pass_mark_of(screening),
        "checks_can_end_work": checks_can_end_work(screening),
    }


def _terms(channel: Channel) -> str:
    """Return a digest of what the page says that no version has, such as the pay for a failed test."""
    return hashlib.sha256(repr(about_channel(channel)).encode()).hexdigest()


def _version_number(study: Study) -> int:
    latest = study.versions.order_by("-number").values_list("number", flat=True).first()
    return latest or 0
