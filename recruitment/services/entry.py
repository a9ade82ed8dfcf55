"""Entering a study: consent, re-entry, and participations that a platform reports."""

from dataclasses import dataclass, field
from datetime import datetime
from decimal import Decimal

from django.db import transaction

from annotation.messages import CLOSED_TO_NEWCOMERS
from annotation.models import Participation, Rater
from annotation.services.addresses import check_entry
from annotation.services.screening import check_screening_can_be_passed
from jobs.clock import database_now
from recruitment.admission import OPEN_LINK, reserve
from recruitment.identities import check_not_erased
from recruitment.models import Channel, Payment, Submission
from recruitment.platforms import PlatformEntry, get_platform
from recruitment.services.reentry import Browser, is_allowed_reentry
from recruitment.terms import amount_in
from studies.models import Study
from tiebreak.errors import DomainError


@dataclass(frozen=True, kw_only=True)
class Entrant:
    """Someone who agrees to take part, as the platform's link and the browser describe them.

    Unless `is_confirmed` is true, the person gets no place before the platform confirms the
    submission. `address` is a keyed hash that limits how many people enter from one address.
    """

    provider: str
    external_id: str
    submission_id: str
    channel: Channel | None = None
    is_confirmed: bool = True
    address: str = ""
    return_params: dict[str, str] = field(default_factory=dict)
    paid_per: str = Participation.PaidPer.HIT
    simulated: bool = False
    browser: Browser = field(default_factory=Browser)

    def is_allowed_reentry(self) -> bool:
        """Whether a known person uses another browser; raises `DomainError` if that is refused."""
        entry = PlatformEntry(self.external_id, self.submission_id)
        return self.channel is not None and is_allowed_reentry(
            channel=self.channel, entry=entry, browser=self.browser
        )


@transaction.atomic
def give_consent(*, study: Study, entrant: Entrant, now: datetime | None = None) -> Participation:
    """Enter a study. Nothing about the person is stored before this.

    The same submission always returns the participation that it created first. Raises
    `DomainError` if the study, the channel or the limits for the address admit nobody new.
    """
    now = now or database_now()
    check_not_erased(study.pk, entrant.provider, entrant.external_id)
    is_reentry = entrant.is_allowed_reentry()
    existing = _existing_participation(study, entrant)
    if existing is not None:
        if existing.consented_at is None:
            _reserve(study, entrant, now)
        if is_reentry:
            # For the ledger: another person may have given the answers from now on.
            submissions = Submission.objects.filter(participation=existing)
            submissions.filter(reentered_at__isnull=True).update(reentered_at=now)
        return _record_consent(existing, entrant, now)
    if study.status != Study.Status.OPEN:
        raise DomainError(f"{study.status}_to_newcomers", CLOSED_TO_NEWCOMERS[study.status])
    check_screening_can_be_passed(study)
    check_entry(study, entrant.address, external_id=entrant.external_id, now=now)
    rater, _ = Rater.objects.get_or_create(
        provider=entrant.provider, external_id=entrant.external_id
    )
    rater = Rater.objects.select_for_update(no_key=True).get(pk=rater.pk)
    if _existing_participation(study, entrant) is None:
        _reserve(study, entrant, now)
    # If two browsers agree together, the second sees the first one's participation only now.
    is_reentry = entrant.is_allowed_reentry()
    return _create_participation(
        study, entrant, rater, now, reentered_at=now if is_reentry else None
    )


def _reserve(study: Study, entrant: Entrant, now: datetime) -> None:
    if not entrant.simulated:
        reserve(entrant.channel or Channel(study=study, provider=OPEN_LINK), now)


def _create_participation(
    study: Study, entrant: Entrant, rater: Rater, now: datetime, *, reentered_at: datetime | None
) -> Participation:
    participation, is_new = Participation.objects.get_or_create(
        study=study,
        rater=rater,
        submission_id=entrant.submission_id,
        defaults={
            "provider": entrant.provider,
            "consented_version": study.versions.order_by("-number").first(),
            "consented_at": now,
            "confirmed_at": now if entrant.is_confirmed else None,
            "paid_per": entrant.paid_per,
            "address": entrant.address,
            "simulated": entrant.simulated,
        },
    )
    if is_new:
        Submission.objects.create(
            participation=participation,
            channel=entrant.channel,
            browser=entrant.browser.digest,
            reentered_at=reentered_at,
            return_params=entrant.return_params,
            screen_out_reward=_screen_out_reward(entrant),
        )
    return participation


def _screen_out_reward(entrant: Entrant) -> Decimal | None:
    return (
        amount_in(entrant.channel.settings if entrant.channel else {}, "screen_out_reward") or None
    )


def _existing_participation(study: Study, entrant: Entrant) -> Participation | None:
    """Return this person's participation with this submission, whoever else claims the same."""
    participations = Participation.objects.filter(
        study=study,
        provider=entrant.provider,
        rater__external_id=entrant.external_id,
        submission_id=entrant.submission_id,
    )
    return participations.select_related("rater", "study").first()


def _record_consent(participation: Participation, entrant: Entrant, now: datetime) -> Participation:
    """Add what an existing participation lacks: the consent, the confirmation, or both."""
    if entrant.is_confirmed:
        participation.confirmed_at = participation.confirmed_at or now
    if participation.consented_at is None:
        participation.consented_at = now
        participation.consented_version = participation.study.versions.order_by("-number").first()
        submission = Submission.objects.filter(participation=participation)
        promised = _screen_out_reward(entrant)
        submission.update(browser=entrant.browser.digest, screen_out_reward=promised)
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
    """Return the participation of a reported submission; a new participation has no consent yet.

    Raises `DomainError` if the person was erased from the study.
    """
    check_not_erased(study.pk, channel.provider, external_id)
    rater, _ = Rater.objects.get_or_create(provider=channel.provider, external_id=external_id)
    participation, is_new = Participation.objects.get_or_create(
        study=study,
        rater=rater,
        submission_id=submission_id,
        defaults={
            "provider": channel.provider,
            "paid_per": get_platform(channel.provider).paid_per,
            "created_at": now,
        },
    )
    if is_new:
        Submission.objects.create(participation=participation, channel=channel)
    return participation


def is_paid(participation: Participation) -> bool:
    """Whether the reward was paid or requested, which ends the participation."""
    return participation.payments.filter(kind=Payment.Kind.REWARD).exists()


def resume_participation(*, participation: Participation) -> None:
    """Make a finished, unpaid participation active again, because a place may have become free."""
    finished = Participation.objects.filter(
        pk=participation.pk,
        status=Participation.Status.FINISHED,
        study__status=Study.Status.OPEN,
    ).exclude(payments__kind=Payment.Kind.REWARD)
    finished.update(status=Participation.Status.ACTIVE, finished_at=None)
