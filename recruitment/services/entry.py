"""An annotator's entry to a study, and their way out of it."""

from datetime import datetime

from django.db import transaction

from annotation.messages import CLOSED_TO_NEWCOMERS
from annotation.models import Participation, Rater
from annotation.services.addresses import check_entry
from annotation.services.screening import check_screening_can_be_passed
from recruitment.models import Channel, Payment, Submission
from recruitment.platforms import get_platform
from recruitment.services.reentry import Browser, check_reentry
from studies.clock import database_now
from studies.models import Study
from tiebreak.errors import DomainError


@transaction.atomic
def give_consent(
    *,
    study: Study,
    provider: str,
    external_id: str,
    submission_id: str,
    channel: Channel | None = None,
    is_confirmed: bool = True,
    address: str = "",
    return_params: dict[str, str] | None = None,
    paid_per: str = Participation.PaidPer.HIT,
    simulated: bool = False,
    browser: Browser | None = None,
    now: datetime | None = None,
) -> Participation:
    """Enter a study. Nothing about the person is kept before this.

    The same submission again returns the participation it made. One that is not confirmed gets
    no place before its platform says that it is there. ``address`` is a keyed hash that limits
    how many people come and work from one place. Raises `DomainError` where the study, or this
    way into it, takes nobody new in, or nobody from there.
    """
    now = now or database_now()
    browser = browser or Browser()
    is_reentry = _check_at_door(channel, external_id, submission_id, browser)
    existing = _own(study, provider, submission_id, external_id)
    if existing is not None:
        if is_reentry:
            _flag_reentry(existing, now)
        return _now_consenting(existing, study, now, is_confirmed=is_confirmed, browser=browser)
    if study.status != Study.Status.OPEN:
        raise DomainError(f"{study.status}_to_newcomers", CLOSED_TO_NEWCOMERS[study.status])
    check_screening_can_be_passed(study)
    check_entry(study, address, external_id=external_id, now=now)
    rater = _locked_rater(provider, external_id)
    # Of two browsers that agree at once, the second finds the first one's part only now.
    is_reentry = _check_at_door(channel, external_id, submission_id, browser)
    participation, is_new = Participation.objects.get_or_create(
        study=study,
        provider=provider,
        submission_id=submission_id,
        defaults={
            "rater": rater,
            "consented_version": study.versions.order_by("-number").first(),
            "consented_at": now,
            "confirmed_at": now if is_confirmed else None,
            "paid_per": paid_per,
            "address": address,
            "simulated": simulated,
        },
    )
    if is_new:
        Submission.objects.create(
            participation=participation,
            channel=channel,
            browser=browser.digest,
            reentered_at=now if is_reentry else None,
            return_params=return_params or {},
        )
    return participation


def _check_at_door(
    channel: Channel | None, external_id: str, submission_id: str, browser: Browser
) -> bool:
    return channel is not None and check_reentry(
        channel=channel,
        external_id=external_id,
        submission_id=submission_id,
        browser=browser,
    )


def _locked_rater(provider: str, external_id: str) -> Rater:
    rater, _ = Rater.objects.get_or_create(provider=provider, external_id=external_id)
    return Rater.objects.select_for_update(no_key=True).get(pk=rater.pk)


def _flag_reentry(participation: Participation, now: datetime) -> None:
    """Whose answers come from here on is not certain: the ledger says so."""
    first = Submission.objects.filter(participation=participation, reentered_at__isnull=True)
    first.update(reentered_at=now)


def _own(study: Study, provider: str, submission_id: str, external_id: str) -> Participation | None:
    """What this submission made before, if it is this person's."""
    found = Participation.objects.filter(
        study=study, provider=provider, submission_id=submission_id
    )
    existing = found.select_related("rater").first()
    if existing is not None and existing.rater.external_id != external_id:
        raise DomainError("other_person", OTHER_PERSON, status=403)
    return existing


OTHER_PERSON = (
    "This link names a submission that belongs to somebody else. Please open the study from the"
    " platform's own page."
)


def _now_consenting(
    participation: Participation,
    study: Study,
    now: datetime,
    *,
    is_confirmed: bool,
    browser: Browser,
) -> Participation:
    """Of somebody known by the platform's word alone, their own comes now; or its word of them."""
    if is_confirmed:
        participation.confirmed_at = participation.confirmed_at or now
    if participation.consented_at is None:
        participation.consented_at = now
        participation.consented_version = study.versions.order_by("-number").first()
        Submission.objects.filter(participation=participation).update(browser=browser.digest)
    participation.save(update_fields=["consented_at", "consented_version", "confirmed_at"])
    return participation


@transaction.atomic
def get_or_create_participation(
    *,
    study: Study,
    channel: Channel,
    external_id: str,
    submission_id: str,
    now: datetime,
) -> Participation:
    """The participation of a submission that a platform tells of; without consent if it is new."""
    rater, _ = Rater.objects.get_or_create(provider=channel.provider, external_id=external_id)
    participation, is_new = Participation.objects.get_or_create(
        study=study,
        provider=channel.provider,
        submission_id=submission_id,
        defaults={
            "rater": rater,
            "paid_per": get_platform(channel.provider).paid_per,
            "created_at": now,
        },
    )
    if is_new:
        Submission.objects.create(participation=participation, channel=channel)
    return participation


def is_paid(participation: Participation) -> bool:
    """Whether the reward was given or asked for: then their part in the study is over."""
    return participation.payments.filter(kind=Payment.Kind.REWARD).exists()


def resume_participation(*, participation: Participation) -> None:
    """Somebody who was done looks for more: a place may have become free meanwhile."""
    done = Participation.objects.filter(
        pk=participation.pk,
        status=Participation.Status.FINISHED,
        study__status=Study.Status.OPEN,
    ).exclude(payments__kind=Payment.Kind.REWARD)
    done.update(status=Participation.Status.ACTIVE, finished_at=None)
