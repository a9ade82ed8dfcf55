"""What one channel still needs before people can come through it, for the step *Recruit*."""

from collections.abc import Iterator

from recruitment.launch.check import SIZE, LaunchCheck, error
from recruitment.models import Channel
from recruitment.public_address import address_problem
from recruitment.services.channels import ChannelStatus
from studies.models import Study


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
