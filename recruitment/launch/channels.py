"""Whether annotators can enter, and only through the intended channels."""

from collections.abc import Iterator, Sequence

from django.conf import settings

from recruitment.admission import OPEN_LINK, Maximum
from recruitment.launch.check import RECRUITMENT, SIZE, LaunchCheck, error, warning
from recruitment.models import Channel
from recruitment.platforms import Platform, get_platform
from recruitment.platforms.pay_claims import pay_claim
from recruitment.services.channels import (
    ChannelState,
    ChannelStatus,
    channel_statuses,
    has_open_link,
)
from studies.models import Study
from studies.public_address import address_problem
from tiebreak.errors import DomainError


def channel_needs(study: Study, status: ChannelStatus) -> Iterator[LaunchCheck]:
    """Yield everything that the channel lacks, even if nobody has begun to set it up."""
    platform = status.platform
    channel = status.channel or Channel(study=study, provider=platform.name)
    for code, sentence in platform.lacks(channel).items():
        yield error(code, sentence)
    for code, sentence in platform.study_lacks(channel).items():
        yield error(code, sentence, SIZE)
    if platform.is_platform and (problem := address_problem()):
        yield error("address_not_public", f"People cannot reach this server: {problem}.")


def somebody_can_enter(
    study: Study, most: Maximum | None = None, statuses: Sequence[ChannelStatus] = ()
) -> Iterator[LaunchCheck]:
    """Say why nobody can; what the study can cost at most and its channels' statuses may be known."""
    statuses = statuses or channel_statuses(study, most)
    if any(status.is_open for status in statuses):
        return
    drafts = [status.platform.title for status in statuses if status.is_draft_there]
    full = [status.platform.title for status in statuses if status.state == ChannelState.FULL]
    if full:
        yield warning(
            "channels_full",
            f"The maximum of people has entered through {' and '.join(full)}, and responses are missing."
            " Raise the channel's maximum of people to go on.",
            RECRUITMENT,
        )
    elif drafts and study.opened_at is not None:
        yield warning(
            "not_published",
            f"Nobody can enter until you publish the study on {' or '.join(drafts)}.",
            RECRUITMENT,
        )
    elif not drafts:  # a draft waits until the study is open
        yield warning(
            "no_open_channel",
            "Nobody can enter because no channel is open. Set one up, or reopen one.",
            RECRUITMENT,
        )


def nobody_else_can_enter(study: Study) -> Iterator[LaunchCheck]:
    """While another channel is being set up, the open link still works."""
    not_ready = [platform.title for _, platform in _known_channels(study)]
    is_set_up = any(channel.provider == OPEN_LINK for channel in study.channels.all())
    if not_ready and not is_set_up and has_open_link(study):
        yield warning(
            "open_to_all",
            f"{' and '.join(not_ready)} cannot be used yet, so anyone with the study's open link"
            " can enter. Finish the set-up first, or stop new entries through the open link.",
            RECRUITMENT,
        )


def platforms_know_enough(study: Study) -> Iterator[LaunchCheck]:
    for channel, platform in _known_channels(study):
        for code, sentence in platform.study_lacks(channel).items():
            yield error(f"{platform.name}_{code}", sentence, SIZE)


def is_pay_unclaimed(study: Study, status: ChannelStatus) -> bool:
    """Whether the study pays people of an open channel who are not told how they get it."""
    platform, channel = status.platform, status.channel
    # The open link is only a stopgap while another channel is being set up.
    is_meant = channel is not None or not study.channels.all()
    if not study.reward or not status.is_open or platform.pays_participants or not is_meant:
        return False
    return channel is None or pay_claim(channel) is None


def pay_can_be_claimed(study: Study) -> Iterator[LaunchCheck]:
    """Where nobody else pays the participants, they must learn how they get what is promised."""
    if not study.reward:
        return
    for status in channel_statuses(study):
        if is_pay_unclaimed(study, status):
            yield warning(
                "pay_not_claimable",
                f"The study pays {study.reward} {study.currency}, but no platform pays people who"
                f" come through “{status.platform.title}”. On the Recruit page, choose how they get their"
                " pay, or remove the reward.",
                RECRUITMENT,
            )


def public_address(study: Study) -> Iterator[LaunchCheck]:
    """Yield a problem if participants from a platform could not reach this server."""
    platforms = [platform for _, platform in _known_channels(study) if platform.is_platform]
    problem = address_problem()
    if not problem or not (platforms or settings.PRODUCTION):
        return
    severity = error if any(platform.has_token for platform in platforms) else warning
    yield severity(
        "address_not_public",
        f"Participants cannot reach this server: {problem}. Ask the server's administrator to set"
        " TIEBREAK_PUBLIC_URL to its https:// address.",
    )


def _known_channels(study: Study) -> list[tuple[Channel, Platform]]:
    """Return open channels except the open link, if their platforms are installed here."""
    known = []
    for channel in study.channels.all():
        if channel.closed_at is not None or channel.provider == OPEN_LINK:
            continue
        try:
            known.append((channel, get_platform(channel.provider)))
        except DomainError:
            continue
    return known
