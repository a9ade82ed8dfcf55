"""Set up, close, reopen and remove a study's recruitment channels, and say which are open."""

from collections.abc import Mapping
from dataclasses import dataclass, replace
from datetime import datetime
from decimal import Decimal
from enum import StrEnum
from typing import Any

from django.db import transaction

from annotation.models import Participation
from jobs.clock import database_now
from recruitment.admission import (
    OPEN_LINK,
    ChannelLimit,
    Maximum,
    is_full,
    is_open_to_all,
    maximum,
    within_budget,
)
from recruitment.identities import UnusableId
from recruitment.messages import (
    ACTION_PENDING,
    CHANNEL_CLOSED,
    CHANNEL_CLOSED_STATUS,
    CHANNEL_FULL_STATUS,
    CHANNEL_NOT_READY,
    HAS_PARTICIPANTS,
    IS_ON_PLATFORM,
    LINK_REFUSED,
    NO_SIGNED_LINKS,
    NOT_SET_UP,
    OPEN_BY_DEFAULT,
    OPEN_LINK_REPLACED,
    OPEN_LINK_STAYS,
    STILL_ON_PLATFORM,
    WRONG_LINK,
)
from recruitment.models import Channel, encrypted
from recruitment.platforms import Platform, get_platform, platforms
from studies.models import Study
from tiebreak.errors import DomainError

# With these codes the platform rejected the token; with others, the token could not be tested.
TOKEN_REFUSED = {"platform_token_refused", "platform_forbidden", "bad_token"}


@dataclass(frozen=True)
class ChannelStatus:
    """The status of a channel as shown to the researcher; `channel` is None if none is stored."""

    platform: Platform
    channel: Channel | None
    state: "ChannelState"
    sentence: str
    # Why the channel cannot be removed; None if it can.
    why_kept: DomainError | None = None

    @property
    def is_open(self) -> bool:
        return self.state == ChannelState.OPEN

    @property
    def is_used(self) -> bool:
        """Whether it is set up, or is the open link in its place, which may be full."""
        return self.channel is not None or self.state in {ChannelState.OPEN, ChannelState.FULL}

    @property
    def is_draft_there(self) -> bool:
        """Whether people can enter once the study on the platform is published."""
        channel = self.channel
        is_made = channel is not None and bool(channel.external_id) and channel.is_unpublished
        return is_made and self.state == ChannelState.NOT_SENDING


class ChannelState(StrEnum):
    """Whether new participants can enter; the page shows the value before the sentence."""

    OPEN = "Open"
    CLOSED = "Closed"
    NOT_SENDING = "The platform sends nobody"
    NOT_READY = "Not ready"
    NOT_SET_UP = "Not set up"
    FULL = "Full"


def channel_statuses(study: Study, most: Maximum | None = None) -> list[ChannelStatus]:
    """Return the status of every possible channel: open ones first, then others that are set up.

    ``most`` is what the study can cost at most, if it is known.
    """
    stored = {channel.provider: channel for channel in study.channels.all()}
    is_open = is_open_to_all(study, stored.values())
    statuses = [
        _channel_status(study, name, stored.get(name), is_open=is_open) for name in platforms()
    ]
    if study.opened_at is not None:
        limits = {one.channel.provider: one for one in (most or maximum(study)).channels}
        statuses = [_full_or_as_it_is(one, limits.get(one.platform.name)) for one in statuses]
    return sorted(
        statuses,
        key=lambda status: (not status.is_open, status.channel is None, status.platform.title),
    )


def channel_for(study: Study, provider: str) -> Channel:
    """Return the study's channel of this platform; an implied open link is not stored yet.

    Raises `DomainError` if the study has no such channel.
    """
    channel = Channel.objects.filter(study=study, provider=provider).first()
    if channel is not None:
        return channel
    if provider == OPEN_LINK and is_open_to_all(study):
        return Channel(study=study, provider=provider)
    raise DomainError("no_such_channel", WRONG_LINK, status=404)


def has_open_link(study: Study) -> bool:
    """Whether anyone who has the study's own address can enter."""
    channels = list(study.channels.all())
    stored = [channel for channel in channels if channel.provider == OPEN_LINK]
    return any(channel.closed_at is None for channel in stored) or is_open_to_all(study, channels)


def check_accepts_newcomers(channel: Channel) -> None:
    """Raise `DomainError` if new participants cannot enter through this channel.

    This is not asked of participants who agreed before: they may continue in any case.
    """
    if channel.closed_at is not None:
        raise DomainError("channel_closed", CHANNEL_CLOSED, status=409)
    if _missing(channel):
        raise DomainError("channel_not_ready", CHANNEL_NOT_READY, status=409)


def save_channel(*, channel: Channel, token: str = "") -> Channel:
    """Store a channel with its settings; an empty token keeps the stored one.

    Raises `DomainError` if the study could then cost more than its budget.
    """
    if token:
        channel.secret = encrypted(token)
    channel.link_problem = ""
    # Fields that a worker may write at the same time, such as the study's id, stay as they are.
    with within_budget(channel.study_id):
        channel.save(update_fields=["settings", "secret", "link_problem"] if channel.pk else None)
    return channel


def set_up_channel(
    *, study: Study, platform: Platform, settings: Mapping[str, Any], token: str = ""
) -> tuple[Channel, DomainError | None]:
    """Store a channel with settings that its platform's form has checked.

    Settings that are not given stay as they are, and so does the token if none is given. Returns
    also why a token could not be tested. Raises `DomainError` if the platform refuses the token.
    """
    refusal = try_token(platform=platform, token=token)
    return store_channel(study=study, platform=platform, settings=settings, token=token), refusal


def try_token(*, platform: Platform, token: str) -> DomainError | None:
    """Return why a token could not be tested. Raises `DomainError` if the platform refuses it.

    Asks the platform, so it is called outside the transaction that stores the token.
    """
    try:
        if token and platform.has_token:
            platform.try_token(token)
    except DomainError as refusal:
        if refusal.code in TOKEN_REFUSED:
            raise
        return refusal
    return None


@transaction.atomic
def store_channel(
    *, study: Study, platform: Platform, settings: Mapping[str, Any], token: str = ""
) -> Channel:
    """Store checked settings and a tested token, as `set_up_channel` does. Locks the study."""
    Study.objects.select_for_update().get(pk=study.pk)
    channel = Channel.objects.filter(study=study, provider=platform.name).first()
    channel = channel or Channel(study=study, provider=platform.name)
    channel.settings |= {  # JSON has no decimals
        name: str(value) if isinstance(value, Decimal) else value
        for name, value in settings.items()
    }
    new = "" if channel.secret else platform.own_secret(channel)
    token = token if platform.has_token else ""
    return save_channel(channel=channel, token=token or new)


def note_refused_link(*, channel: Channel, refusal: UnusableId) -> None:
    """Tell the researcher which parameter of a link had no ID, and nothing of what it had."""
    problem = LINK_REFUSED.format(refusal.parameter)
    # One write for a problem, however often the same link is followed.
    Channel.objects.filter(pk=channel.pk).exclude(link_problem=problem).update(link_problem=problem)


def renew_signing_key(*, channel: Channel) -> None:
    """Replace the signing key: links that were signed with the old key stop working."""
    key = get_platform(channel.provider).own_secret(channel)
    if not key:
        raise DomainError("no_signed_links", NO_SIGNED_LINKS, status=400)
    save_channel(channel=channel, token=key)


def close_channel(*, channel: Channel, now: datetime | None = None) -> None:
    """Accept no new participants. Those who agreed before can continue, are synced and are paid."""
    key: dict[str, Any] = {"study": channel.study, "provider": channel.provider}
    Channel.objects.get_or_create(**key)  # the open link may not be stored yet
    channel.closed_at = channel.closed_at or now or database_now()
    Channel.objects.filter(**key, closed_at=None).update(closed_at=channel.closed_at)


def reopen_channel(*, channel: Channel) -> None:
    """Accept new participants again; refused as by `save_channel`."""
    with within_budget(channel.study_id):
        Channel.objects.filter(pk=channel.pk).update(closed_at=None)
    channel.closed_at = None


@transaction.atomic
def remove_channel(*, channel: Channel, now: datetime | None = None) -> None:
    """Delete a channel through which nobody entered. An open link that was closed stays closed.

    Raises `DomainError` if participants entered through it or the platform has a study for it.
    """
    stored = Channel.objects.select_for_update().filter(pk=channel.pk).first()
    if stored is None:  # another request removed it first
        return
    channel = stored
    if (why := _why_kept(channel)) is not None:
        raise why
    study = channel.study
    was_open = is_open_to_all(study)
    channel.delete()
    if is_open_to_all(study) and not was_open:
        close_channel(channel=Channel(study=study, provider=OPEN_LINK), now=now)


def _channel_status(
    study: Study, name: str, channel: Channel | None, *, is_open: bool
) -> ChannelStatus:
    platform = get_platform(name)
    if channel is not None:
        return ChannelStatus(platform, channel, *_state(channel, platform), _why_kept(channel))
    if name != OPEN_LINK:
        return ChannelStatus(platform, None, ChannelState.NOT_SET_UP, NOT_SET_UP)
    if not is_open:
        return ChannelStatus(platform, None, ChannelState.CLOSED, OPEN_LINK_REPLACED)
    audience = platform.audience(Channel(study=study, provider=name))
    return ChannelStatus(platform, None, ChannelState.OPEN, f"{audience} {OPEN_BY_DEFAULT}")


def _state(channel: Channel, platform: Platform) -> tuple[ChannelState, str]:
    """Return the channel's state, and a sentence that says who can enter or why nobody can."""
    if channel.closed_at is not None:
        rest = STILL_ON_PLATFORM.format(platform.title) if channel.external_id else ""
        return ChannelState.CLOSED, CHANNEL_CLOSED_STATUS + rest
    if missing := _missing(channel):
        return ChannelState.NOT_READY, missing
    if why := platform.why_not_sending(channel):
        return ChannelState.NOT_SENDING, why
    return ChannelState.OPEN, platform.audience(channel)


def _full_or_as_it_is(status: ChannelStatus, limit: ChannelLimit | None) -> ChannelStatus:
    if not status.is_open or limit is None or not is_full(limit):
        return status
    sentence = CHANNEL_FULL_STATUS.format(limit.people, limit.most_people)
    return replace(status, state=ChannelState.FULL, sentence=sentence)


def _missing(channel: Channel) -> str:
    return get_platform(channel.provider).missing(channel)


def _why_kept(channel: Channel) -> DomainError | None:
    """Return why this channel cannot be removed; None if it can."""
    if channel.provider == OPEN_LINK:
        return DomainError("is_open_link", OPEN_LINK_STAYS)
    if Participation.objects.filter(study=channel.study_id, provider=channel.provider).exists():
        return DomainError("has_participants", HAS_PARTICIPANTS)
    if channel.external_id:
        title = get_platform(channel.provider).title
        return DomainError("is_on_platform", IS_ON_PLATFORM.format(title))
    if channel.pending:
        return DomainError("action_pending", ACTION_PENDING)
    return None
