"""Synchronisation with platforms: confirmations, statuses of submissions, webhooks, publishing."""

from collections.abc import Iterable
from contextlib import suppress
from datetime import datetime, timedelta

from django.db import IntegrityError, transaction
from django.db.models import Q

from annotation.models import Participation
from annotation.services.exclusion import exclude_work, reinstate_work
from annotation.services.screening import clear_participation
from jobs.clock import database_now
from jobs.queue import enqueue
from recruitment.admission import keep_maximum
from recruitment.identities import is_usable
from recruitment.messages import (
    IDS_REFUSED,
    NO_REHEARSAL_NOW,
    NOT_OPEN_FOR_REHEARSAL,
    PUBLISHED_STAYS,
)
from recruitment.models import Channel, Payment, PlatformEvent, Submission, encrypted
from recruitment.platforms import PlatformEntry, PlatformReport, SubmissionStatus, get_platform
from recruitment.platforms.errors import PlatformError
from recruitment.services.entry import get_or_create_participation
from recruitment.services.payments import note_reward, settle
from studies.models import Study
from tiebreak.digits import counted
from tiebreak.errors import DomainError

# A platform is asked about one waiting participant at most this often.
ASK_AGAIN = timedelta(seconds=5)
# The keys of signed links are fetched at most this often, whatever keys the links name.
ASK_KEYS_AGAIN = timedelta(seconds=15)

# The status that excludes the work of a submission.
EXCLUDED_BY = {
    SubmissionStatus.RETURNED: Participation.Status.RETURNED,
    SubmissionStatus.REJECTED: Participation.Status.REJECTED,
    SubmissionStatus.TIMED_OUT: Participation.Status.TIMED_OUT,
}
REINSTATED_BY = {SubmissionStatus.WORKING, SubmissionStatus.SUBMITTED, SubmissionStatus.APPROVED}
ENDED_BY_PLATFORM = set(EXCLUDED_BY.values())


def enqueue_confirmation(*, participation: Participation) -> None:
    """Have a worker ask the platform about a waiting participant, at most every few seconds."""
    now = database_now()
    if participation.confirmed_at is not None:
        return
    due = Q(asked_platform_at__isnull=True) | Q(asked_platform_at__lte=now - ASK_AGAIN)
    submission = Submission.objects.filter(participation=participation)
    if submission.filter(due).update(asked_platform_at=now):
        try:
            enqueue("recruitment.tasks.confirm_participation_task", participation.pk)
        except DomainError:
            # The participant keeps waiting, and the page asks again.
            submission.update(asked_platform_at=None)


def confirm_participation(*, participation: Participation) -> bool:
    """Confirm the participation if its submission is active. Slow, so only for tasks."""
    channel = participation.submission.channel
    if participation.confirmed_at is not None or channel is None:
        return True
    if not get_platform(channel.provider).is_submission_active(channel, participation):
        return False
    mark_confirmed(participation=participation, now=database_now())
    return True


def mark_confirmed(*, participation: Participation, now: datetime) -> None:
    unconfirmed = Participation.objects.filter(pk=participation.pk, confirmed_at__isnull=True)
    unconfirmed.update(confirmed_at=now)
    participation.refresh_from_db()
    clear_participation(participation=participation, now=now)


def sync_channel(*, channel: Channel, now: datetime | None = None) -> int:
    """Update every submission from the platform's reports, and return how many changed.

    If the platform cannot be asked, nothing changes and the channel stores the reason.
    """
    now = now or database_now()
    try:
        platform = get_platform(channel.provider)
        reports = list(platform.submission_reports(channel))
        status = platform.platform_status(channel)
    except DomainError as error:
        channel.sync_problem = error.message
        channel.save(update_fields=["sync_problem"])
        raise
    usable = [one for one in reports if is_usable(one.external_id) and is_usable(one.submission_id)]
    changed = apply_reports(channel=channel, reports=usable, now=now)
    ignored = counted(len(reports) - len(usable), "submission")
    channel.sync_problem = IDS_REFUSED.format(ignored) if len(usable) < len(reports) else ""
    channel.synced_at = now
    channel.external_status = status or channel.external_status
    channel.save(update_fields=["sync_problem", "synced_at", "external_status"])
    return changed


def apply_reports(*, channel: Channel, reports: Iterable[PlatformReport], now: datetime) -> int:
    return sum(_apply(channel, report, now) for report in reports)


def _apply(channel: Channel, report: PlatformReport, now: datetime) -> bool:
    """Update one submission; returns whether anything changed.

    A submission that never entered the study gets a participation without consent so that the
    ledger shows it. A person who was erased stays erased.
    """
    try:
        participation = get_or_create_participation(
            study=channel.study,
            channel=channel,
            external_id=report.external_id,
            submission_id=report.submission_id,
            now=report.started_at or now,
        )
    except DomainError:  # the person was erased
        return False
    submission = participation.submission
    before = (submission.platform_status, submission.entered_code, participation.status)
    submission.platform_status = report.status
    submission.entered_code = report.entered_code
    submission.platform_seen_at = now
    submission.save(update_fields=["platform_status", "entered_code", "platform_seen_at"])
    if report.submission_status in EXCLUDED_BY and participation.status not in ENDED_BY_PLATFORM:
        exclude_work(
            participation=participation, status=EXCLUDED_BY[report.submission_status], now=now
        )
    elif report.submission_status in REINSTATED_BY and participation.status in ENDED_BY_PLATFORM:
        reinstate_work(participation=participation, now=now)
        keep_maximum(participation=participation, now=now)
    if report.submission_status == SubmissionStatus.APPROVED:
        note_reward(participation, Payment.Kind.REWARD, now)
    elif report.submission_status == SubmissionStatus.SCREENED_OUT:
        note_reward(participation, Payment.Kind.SCREEN_OUT, now)
    participation.refresh_from_db()
    return before != (report.status, report.entered_code, participation.status)


def receive_event(
    *, channel: Channel, headers: dict[str, str], body: bytes, now: datetime | None = None
) -> bool:
    """Process a webhook once, by fetching the submission that it names from the platform again.

    Neither the order nor the age of events matters, therefore. Returns whether the event was new.
    Raises `DomainError` if the platform did not sign it, or signed it too long ago.
    """
    now = now or database_now()
    platform = get_platform(channel.provider)
    event, submission = platform.submission_in_event(channel, headers, body, now)
    try:
        with transaction.atomic():
            stored_event = PlatformEvent.objects.create(channel=channel, event_id=event)
    except IntegrityError:
        return False
    try:
        if submission:
            enqueue("recruitment.tasks.sync_submission_task", channel.pk, submission)
    except DomainError:
        stored_event.delete()  # so that a repeated delivery is processed
        raise
    return True


def enqueue_key_renewal(*, channel: Channel) -> None:
    """Have a worker fetch the keys of signed links, at most every few seconds per channel."""
    now = database_now()
    with transaction.atomic():
        stored = Channel.objects.select_for_update().get(pk=channel.pk)
        asked_at = stored.settings.get("keys_asked_at", "")
        if asked_at and datetime.fromisoformat(asked_at) > now - ASK_KEYS_AGAIN:
            return
        stored.settings["keys_asked_at"] = now.isoformat()
        stored.save(update_fields=["settings"])
    with suppress(DomainError):  # the page asks again
        enqueue("recruitment.tasks.renew_keys_task", channel.pk)


def renew_keys(*, channel: Channel) -> None:
    """Fetch the keys of signed links. Slow, so only for tasks."""
    get_platform(channel.provider).renew_keys(channel)


def confirm_by_signature(*, channel: Channel, entry: PlatformEntry) -> None:
    """Confirm a waiting participant who agreed before coming through a signed link."""
    matches = Participation.objects.filter(
        study=channel.study_id,
        provider=channel.provider,
        submission_id=entry.submission_id,
        rater__external_id=entry.external_id,
    )
    waiting = matches.filter(consented_at__isnull=False, confirmed_at__isnull=True).first()
    if entry.is_confirmed and waiting is not None:
        mark_confirmed(participation=waiting, now=database_now())


def sync_submission(*, channel: Channel, submission_id: str) -> bool:
    """Update one submission from the platform; returns whether anything changed."""
    report = get_platform(channel.provider).report_on(channel, submission_id)
    if report is None or not is_usable(report.external_id):
        return False
    return _apply(channel, report, database_now())


def publish(*, channel: Channel, participants: int, entry_url: str) -> str:
    """Create the study on the platform, or raise its number of participants."""
    platform = get_platform(channel.provider)
    channel.external_id = platform.publish(channel, participants, entry_url)
    channel.save(update_fields=["external_id"])
    with suppress(PlatformError):  # the next sync fetches the status
        channel.external_status = platform.platform_status(channel)
        channel.save(update_fields=["external_status"])
    return channel.external_id


def rehearse(*, channel: Channel, email: str) -> None:
    """Have the platform run the draft for a test participant, who enters the open study."""
    if not channel.is_unpublished:
        raise DomainError("is_published", NO_REHEARSAL_NOW)
    if channel.study.status != Study.Status.OPEN:
        raise DomainError("not_open", NOT_OPEN_FOR_REHEARSAL)
    get_platform(channel.provider).rehearse(channel, email)


def end_rehearsal(*, channel: Channel) -> int:
    """Take out test participants' work so that their places are free for real participants."""
    person = get_platform(channel.provider).rehearsal(channel).participant
    rehearsed = Participation.objects.filter(submission__channel=channel)
    rehearsed = rehearsed.filter(rater__external_id=person) if person else rehearsed.none()
    for participation in rehearsed.select_related("study", "rater"):
        excluded = Participation.Status.EXCLUDED
        exclude_work(participation=participation, status=excluded, reason="rehearsal")
        settle(participation=participation)
    return len(rehearsed)


def update_draft(*, channel: Channel) -> None:
    """Send the channel's settings to the draft, which nobody can see before it is published."""
    if not channel.is_unpublished:
        raise DomainError("is_published", PUBLISHED_STAYS)
    get_platform(channel.provider).update_draft(channel)


def subscribe_webhook(*, channel: Channel, events_url: str) -> None:
    """Subscribe to the platform's events; the secret that signs them is stored encrypted."""
    secret = get_platform(channel.provider).subscribe_webhook(channel, events_url)
    channel.webhook_secret = encrypted(secret)
    channel.save(update_fields=["webhook_secret"])


def transition_platform_study(*, channel: Channel, action: str) -> str:
    """Publish, start, pause or stop the study on the platform; returns its new status."""
    if action == "publish":
        end_rehearsal(channel=channel)
    channel.external_status = get_platform(channel.provider).transition_platform_study(
        channel, action
    )
    channel.save(update_fields=["external_status"])
    return channel.external_status
