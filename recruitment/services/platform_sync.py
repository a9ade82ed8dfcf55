"""What passes between a study and the platforms its annotators come from."""

from collections.abc import Iterable
from contextlib import suppress
from datetime import datetime, timedelta

from django.db import IntegrityError, transaction
from django.db.models import Q

from annotation.models import Participation
from annotation.services.exclusion import exclude_work, reinstate_work
from annotation.services.screening import clear_participation
from jobs.queue import enqueue
from recruitment.models import Channel, Payment, PlatformEvent, Submission, encrypted
from recruitment.platforms import PlatformEntry, PlatformReport, SubmissionStatus, get_platform
from recruitment.platforms.errors import PlatformError
from recruitment.services.entry import get_or_create_participation
from recruitment.services.payments import note_reward
from studies.clock import database_now
from tiebreak.errors import DomainError

# How often a platform is asked about one person who waits at the door.
ASK_AGAIN = timedelta(seconds=5)
# How often the keys of signed links are fetched at most, whoever comes with whatever key.
ASK_KEYS_AGAIN = timedelta(seconds=15)

# What a platform's word does to the work behind it.
OUT_BY = {
    SubmissionStatus.RETURNED: Participation.Status.RETURNED,
    SubmissionStatus.REJECTED: Participation.Status.REJECTED,
    SubmissionStatus.TIMED_OUT: Participation.Status.TIMED_OUT,
}
BACK_BY = {SubmissionStatus.WORKING, SubmissionStatus.SUBMITTED, SubmissionStatus.APPROVED}
BY_PLATFORM = set(OUT_BY.values())


def enqueue_confirmation(*, participation: Participation, now: datetime | None = None) -> None:
    """Have a worker ask whether somebody who waits is there; once in a while for each."""
    now = now or database_now()
    if participation.confirmed_at is not None:
        return
    due = Q(asked_platform_at__isnull=True) | Q(asked_platform_at__lte=now - ASK_AGAIN)
    own = Submission.objects.filter(participation=participation)
    if own.filter(due).update(asked_platform_at=now):
        try:
            enqueue("recruitment.tasks.confirm_participation_task", participation.pk)
        except DomainError:
            # They go on waiting, and the page asks again.
            own.update(asked_platform_at=None)


def confirm_participation(*, participation: Participation, now: datetime | None = None) -> bool:
    """Ask the platform whether a submission is active, and let it on if so. Slow: for tasks."""
    now = now or database_now()
    channel = participation.submission.channel
    if participation.confirmed_at is not None or channel is None:
        return True
    if not get_platform(channel.provider).is_submission_active(channel, participation):
        return False
    mark_confirmed(participation=participation, now=now)
    return True


def mark_confirmed(*, participation: Participation, now: datetime) -> None:
    unconfirmed = Participation.objects.filter(pk=participation.pk, confirmed_at__isnull=True)
    unconfirmed.update(confirmed_at=now)
    participation.refresh_from_db()
    clear_participation(participation=participation, now=now)


def sync_channel(*, channel: Channel, now: datetime | None = None) -> int:
    """Bring every submission in line with the platform's word. Returns how many changed.

    What a platform can't tell now stays as it was, and the recruitment says why.
    """
    now = now or database_now()
    try:
        provider = get_platform(channel.provider)
        reports = list(provider.submission_reports(channel))
        status = provider.platform_status(channel)
    except DomainError as error:
        channel.sync_problem = error.message
        channel.save(update_fields=["sync_problem"])
        raise
    changed = apply_reports(channel=channel, reports=reports, now=now)
    channel.sync_problem, channel.synced_at = "", now
    channel.external_status = status or channel.external_status
    channel.save(update_fields=["sync_problem", "synced_at", "external_status"])
    return changed


def apply_reports(*, channel: Channel, reports: Iterable[PlatformReport], now: datetime) -> int:
    return sum(_apply(channel, report, now) for report in reports)


def _apply(channel: Channel, report: PlatformReport, now: datetime) -> bool:
    """One submission. Who is unknown here came, or was paid, without ever entering the study.

    Such a one gets a participation without consent, so that the ledger shows it.
    """
    participation = get_or_create_participation(
        study=channel.study,
        channel=channel,
        external_id=report.external_id,
        submission_id=report.submission_id,
        now=report.started_at or now,
    )
    submission = participation.submission
    before = (submission.platform_status, submission.entered_code, participation.status)
    submission.platform_status = report.status
    submission.entered_code = report.entered_code
    submission.platform_seen_at = now
    submission.save(update_fields=["platform_status", "entered_code", "platform_seen_at"])
    if report.submission_status in OUT_BY and participation.status not in BY_PLATFORM:
        exclude_work(participation=participation, status=OUT_BY[report.submission_status], now=now)
    elif report.submission_status in BACK_BY and participation.status in BY_PLATFORM:
        reinstate_work(participation=participation, now=now)
    if report.submission_status == SubmissionStatus.APPROVED:
        note_reward(participation, Payment.Kind.REWARD, now)
    elif report.submission_status == SubmissionStatus.SCREENED_OUT:
        note_reward(participation, Payment.Kind.SCREEN_OUT, now)
    participation.refresh_from_db()
    return before != (report.status, report.entered_code, participation.status)


def receive_event(
    *, channel: Channel, headers: dict[str, str], body: bytes, now: datetime | None = None
) -> bool:
    """Let a genuine webhook in, once. It only says where to look: the platform is asked anew.

    So neither the order of events nor their age matters. Returns whether it was new. Raises
    `DomainError` for one that the platform did not sign, or signed too long ago.
    """
    now = now or database_now()
    provider = get_platform(channel.provider)
    event, submission = provider.submission_in_event(channel, headers, body, now)
    try:
        with transaction.atomic():
            noted = PlatformEvent.objects.create(channel=channel, event_id=event)
    except IntegrityError:
        return False
    try:
        if submission:
            enqueue("recruitment.tasks.sync_submission_task", channel.pk, submission)
    except DomainError:
        noted.delete()  # so that it is heard when the platform sends it again
        raise
    return True


def enqueue_key_renewal(*, channel: Channel, now: datetime | None = None) -> None:
    """Have a worker fetch what signed links are checked with; once in a while for everybody."""
    now = now or database_now()
    with transaction.atomic():
        own = Channel.objects.select_for_update().get(pk=channel.pk)
        asked_at = own.settings.get("keys_asked_at", "")
        if asked_at and datetime.fromisoformat(asked_at) > now - ASK_KEYS_AGAIN:
            return
        own.settings["keys_asked_at"] = now.isoformat()
        own.save(update_fields=["settings"])
    with suppress(DomainError):  # the page asks again
        enqueue("recruitment.tasks.renew_keys_task", channel.pk)


def renew_keys(*, channel: Channel) -> None:
    """Slow: for tasks."""
    get_platform(channel.provider).renew_keys(channel)


def confirm_by_signature(*, channel: Channel, arrival: PlatformEntry) -> None:
    """Let on whom the platform signs now, and who agreed when nobody did."""
    own = Participation.objects.filter(
        study=channel.study_id,
        provider=channel.provider,
        submission_id=arrival.submission_id,
        rater__external_id=arrival.external_id,
    )
    waiting = own.filter(consented_at__isnull=False, confirmed_at__isnull=True).first()
    if arrival.is_confirmed and waiting is not None:
        mark_confirmed(participation=waiting, now=database_now())


def sync_submission(*, channel: Channel, submission_id: str, now: datetime | None = None) -> bool:
    """The same as `sync_channel` for one submission."""
    now = now or database_now()
    report = get_platform(channel.provider).report_on(channel, submission_id)
    return report is not None and _apply(channel, report, now)


def publish(*, channel: Channel, places: int, entry_url: str) -> str:
    """Make the study on the platform with so many places, or give it more."""
    provider = get_platform(channel.provider)
    channel.external_id = provider.publish(channel, places, entry_url)
    channel.save(update_fields=["external_id"])
    with suppress(PlatformError):  # the next round tells
        channel.external_status = provider.platform_status(channel)
        channel.save(update_fields=["external_status"])
    return channel.external_id


def subscribe_webhook(*, channel: Channel, events_url: str) -> None:
    """Have the platform tell of changes; what it signs with is kept encrypted."""
    secret = get_platform(channel.provider).subscribe_webhook(channel, events_url)
    channel.webhook_secret = encrypted(secret)
    channel.save(update_fields=["webhook_secret"])


def transition_platform_study(*, channel: Channel, verb: str) -> str:
    channel.external_status = get_platform(channel.provider).transition_platform_study(
        channel, verb
    )
    channel.save(update_fields=["external_status"])
    return channel.external_status
