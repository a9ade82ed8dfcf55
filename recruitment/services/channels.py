"""A study's ways in: set up, closed to newcomers, opened again, removed; and which lead in."""

from dataclasses import dataclass
from datetime import datetime
from enum import StrEnum
from typing import Any

from django.db import transaction
from django.utils import timezone

from annotation.models import Participation
from recruitment.models import Channel, encrypted
from recruitment.platforms import Platform, get_platform, platforms
from studies.models import Study
from tiebreak.errors import DomainError

# The way in of a study for which nobody set up any.
OPEN_LINK = "open-link"


@dataclass(frozen=True)
class ChannelStatus:
    """One way as it stands, in words for the researcher; no recruitment where none was set up."""

    provider: Platform
    channel: Channel | None
    state: "ChannelState"
    sentence: str
    # Why it can only be closed, and not removed.
    why_kept: DomainError | None = None

    @property
    def is_open(self) -> bool:
        return self.state == ChannelState.OPEN


class ChannelState(StrEnum):
    """Whether a way lets newcomers in, as the page says it before its sentence."""

    OPEN = "Open"
    CLOSED = "Closed"
    NOBODY_SENT = "Nobody is sent"
    NOT_READY = "Not ready"
    NOT_SET_UP = "Not set up"


def channel_statuses(study: Study) -> list[ChannelStatus]:
    """Every way there is: those that lead in first, then those that were set up."""
    existing = {channel.provider: channel for channel in study.channels.all()}
    found = [_channel_status(study, name, existing.get(name)) for name in platforms()]
    return sorted(
        found,
        key=lambda channel: (not channel.is_open, channel.channel is None, channel.provider.title),
    )


def channel_for(study: Study, provider: str) -> Channel:
    """A study's way in by this provider; that of the open link may not be stored yet."""
    found = Channel.objects.filter(study=study, provider=provider).first()
    if found is not None:
        return found
    if provider == OPEN_LINK and is_open_to_all(study):
        return Channel(study=study, provider=provider)
    raise DomainError("no_such_entry", WRONG_LINK, status=404)


def is_open_to_all(study: Study) -> bool:
    """Whether the open link leads in though nobody set it up: until another way can.

    What is still being prepared leaves it open, or nobody could enter. A way that was ready does
    not, also when it was closed: closing a door opens no other.
    """
    return all(_missing(channel) for channel in study.channels.all())


def has_open_link(study: Study) -> bool:
    """Whether whoever has the study's own address may come in."""
    own = study.channels.filter(provider=OPEN_LINK)
    return own.filter(closed_at__isnull=True).exists() or is_open_to_all(study)


def check_accepts_newcomers(channel: Channel) -> None:
    """Of newcomers only: who agreed before goes on, whatever became of their way in."""
    if channel.closed_at is not None:
        raise DomainError("way_closed", CLOSED, status=409)
    if _missing(channel):
        raise DomainError("way_not_ready", NOT_READY, status=409)


WRONG_LINK = (
    "This study is not entered by this link. Please use the link of the page or the message that"
    " invited you."
)
CLOSED = (
    "Nobody new is let into this study by this link any more. If a platform sent you, please"
    " return your submission there: that costs you nothing."
)
NOT_READY = (
    "This study cannot be entered by this link yet. Please come back when you are invited, and"
    " tell who sent you."
)


def save_channel(*, channel: Channel, token: str = "") -> Channel:
    """Keep a way in with its settings; an empty token leaves the stored one as it is."""
    if token:
        channel.secret = encrypted(token)
    # What a worker writes meanwhile, such as the study's id on the platform, stays.
    channel.save(update_fields=["settings", "secret"] if channel.pk else None)
    return channel


def renew_signing_key(*, channel: Channel) -> None:
    """Make another key: what was signed with the former is worth nothing from now on."""
    key = get_platform(channel.provider).own_secret(channel)
    if not key:
        raise DomainError("no_signed_links", NO_SIGNED_LINKS, status=400)
    save_channel(channel=channel, token=key)


NO_SIGNED_LINKS = (
    "This way in has no signed links of its own, so it needs no key: choose signed links first."
)


def close_channel(*, channel: Channel, now: datetime | None = None) -> None:
    """Let nobody new in. Who agreed before goes on, is compared with the platform and paid."""
    own: dict[str, Any] = {"study": channel.study, "provider": channel.provider}
    Channel.objects.get_or_create(**own)  # the open link may not be stored yet
    channel.closed_at = channel.closed_at or now or timezone.now()
    Channel.objects.filter(**own, closed_at=None).update(closed_at=channel.closed_at)


def reopen_channel(*, channel: Channel) -> None:
    channel.closed_at = None
    Channel.objects.filter(pk=channel.pk).update(closed_at=None)


@transaction.atomic
def remove_channel(*, channel: Channel, now: datetime | None = None) -> None:
    """Forget a way by which nobody ever came. It opens no other: the open link stays closed.

    Raises `DomainError` where somebody came, or the platform knows of it.
    """
    stored = Channel.objects.select_for_update().filter(pk=channel.pk).first()
    if stored is None:  # somebody was quicker
        return
    channel = stored
    if (why := _why_kept(channel)) is not None:
        raise why
    study = channel.study
    was_open = is_open_to_all(study)
    channel.delete()
    if is_open_to_all(study) and not was_open:
        close_channel(channel=Channel(study=study, provider=OPEN_LINK), now=now)


def _channel_status(study: Study, name: str, channel: Channel | None) -> ChannelStatus:
    provider = get_platform(name)
    if channel is not None:
        return ChannelStatus(provider, channel, *_state(channel, provider), _why_kept(channel))
    if name != OPEN_LINK:
        return ChannelStatus(provider, None, ChannelState.NOT_SET_UP, "Nobody can enter by it.")
    if not is_open_to_all(study):
        return ChannelStatus(provider, None, ChannelState.CLOSED, AWAY)
    audience = provider.audience(Channel(study=study, provider=name))
    return ChannelStatus(provider, None, ChannelState.OPEN, f"To {audience}. {BY_ITSELF}")


BY_ITSELF = (
    "That is because no other way in is ready: as soon as one is, this one closes. Set it up, and"
    " it stays open beside them."
)
AWAY = "Another way was set up. Set this one up too if whoever has the link may come as well."


def _state(channel: Channel, provider: Platform) -> tuple[ChannelState, str]:
    """Whether it lets somebody new in, and whom or why not."""
    if channel.closed_at is not None:
        there = STILL_THERE.format(provider.title) if channel.external_id else ""
        return ChannelState.CLOSED, f"Nobody new enters by it. {GOING_ON}{there}"
    if missing := _missing(channel):
        return ChannelState.NOT_READY, f"Nobody can enter by it yet. {missing}"
    if why := provider.why_nobody_comes(channel):
        return ChannelState.NOBODY_SENT, why
    return ChannelState.OPEN, f"To {provider.audience(channel)}."


GOING_ON = "Who entered before goes on, and is paid as before."
STILL_THERE = (
    " Its study on {} was not stopped by this: press “Stop” below, or people are still sent and"
    " turned away here. Until everybody is paid, “Compare now” and “Pay all complete work” go on"
    " working."
)


def _missing(channel: Channel) -> str:
    return get_platform(channel.provider).missing(channel)


def _why_kept(channel: Channel) -> DomainError | None:
    if channel.provider == OPEN_LINK:
        return DomainError("is_open_link", "The open link cannot be removed: close it.")
    if Participation.objects.filter(study=channel.study_id, provider=channel.provider).exists():
        return DomainError(
            "somebody_came",
            "Somebody came by it, and their work and pay belong to it: close it instead.",
        )
    if channel.external_id:
        title = get_platform(channel.provider).title
        return DomainError(
            "is_on_platform",
            f"Its study is on {title}: stop it there, and close this way in instead.",
        )
    if channel.pending:
        return DomainError(
            "already_asking", "The platform is being asked something: wait until that is answered."
        )
    return None
