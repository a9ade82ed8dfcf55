"""Whether people can come, and whether those can who should."""

from collections.abc import Iterator

from django.conf import settings

from recruitment.launch.check import RECRUITMENT, LaunchCheck, error, warning
from recruitment.models import Channel
from recruitment.platforms import Platform, get_platform
from recruitment.public_address import address_problem
from recruitment.services.channels import OPEN_LINK, channel_statuses, has_open_link
from studies.models import Study
from tiebreak.errors import DomainError


def somebody_can_enter(study: Study) -> Iterator[LaunchCheck]:
    if not any(channel.is_open for channel in channel_statuses(study)):
        yield warning(
            "no_way_in",
            "Nobody can enter: no way in is open. Set one up, or reopen one.",
            RECRUITMENT,
        )


def nobody_else_can_enter(study: Study) -> Iterator[LaunchCheck]:
    """While another way is being set up, the open link leads in."""
    prepared = [provider.title for _, provider in _known_channels(study)]
    is_set_up = study.channels.filter(provider=OPEN_LINK).exists()
    if prepared and not is_set_up and has_open_link(study):
        yield warning(
            "open_to_all",
            f"{' and '.join(prepared)} is not ready, so whoever has the study's own link can enter"
            " by it. Finish setting it up first, or close the open link.",
            RECRUITMENT,
        )


def platforms_know_enough(study: Study) -> Iterator[LaunchCheck]:
    for channel, provider in _known_channels(study):
        for code, sentence in provider.study_lacks(channel).items():
            yield error(f"{provider.name}_{code}", sentence)


def public_address(study: Study) -> Iterator[LaunchCheck]:
    """People whom a platform sends would be sent nowhere."""
    platforms = [provider for _, provider in _known_channels(study) if provider.is_platform]
    problem = address_problem()
    if not problem or not (platforms or settings.PRODUCTION):
        return
    make = error if any(each.has_token for each in platforms) else warning
    yield make(
        "address_not_public",
        f"People outside cannot come: {problem}. Whoever runs this server sets"
        " TIEBREAK_PUBLIC_URL to its https:// address.",
    )


def _known_channels(study: Study) -> list[tuple[Channel, Platform]]:
    """Those that are not closed, of providers that this installation has, but for the open link."""
    found = []
    for channel in study.channels.filter(closed_at__isnull=True).exclude(provider=OPEN_LINK):
        try:
            found.append((channel, get_platform(channel.provider)))
        except DomainError:
            continue
    return found
